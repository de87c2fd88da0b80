"""bridgeval: any recommender toolkit's output in, any toolkit's numbers out, from one engine.

>>> import bridgeval
>>> report = bridgeval.evaluate({"ann": ["tea", "rum"]}, {"ann": ["rum"]}, metrics=["Recall@1,2", "MRR@2"])
>>> dict(report)
{'Recall@1': 0.0, 'Recall@2': 1.0, 'MRR@2': 0.5}
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Public names are imported when they are first used, so that `import bridgeval` does not import torch and Arrow.
# Type checkers read only import statements and Python only the table below, so each name is written in both;
# a test compares them. `x as x` marks a public name for type checkers.
if TYPE_CHECKING:
    from bridgeval import errors as errors, metrics as metrics, plugin as plugin, testing as testing
    from bridgeval.baselines import check as check, save_baseline as save_baseline
    from bridgeval.batch.candidates import Candidates as Candidates, sample_candidates as sample_candidates
    from bridgeval.batch.ranking import Ranking as Ranking, Relevance as Relevance
    from bridgeval.batch.scores import Scores as Scores
    from bridgeval.convention import Convention as Convention, entry as entry
    from bridgeval.engine.bases import ListMetric as ListMetric, RowMetric as RowMetric, Slate as Slate
    from bridgeval.engine.blocks import Block as Block, Blocks as Blocks
    from bridgeval.engine.metric import Metric as Metric, TopKMetric as TopKMetric, UserMetric as UserMetric
    from bridgeval.engine.summary import Result as Result
    from bridgeval.evaluation import evaluate as evaluate
    from bridgeval.examples import find_examples as find_examples
    from bridgeval.explanation import explain as explain
    from bridgeval.hookspecs import hookimpl as hookimpl
    from bridgeval.identification import identify as identify
    from bridgeval.inspection import Inspection as Inspection, inspect as inspect
    from bridgeval.merging import merge as merge
    from bridgeval.metrics.blocks.policy_weights import NcisMetric as NcisMetric
    from bridgeval.online import OnlineEvaluator as OnlineEvaluator
    from bridgeval.report import Report as Report, Reports as Reports
    from bridgeval.report.comparison import Comparison as Comparison
    from bridgeval.report.example_lists import Examples as Examples
    from bridgeval.run_history import Runs as Runs, read_runs as read_runs
    from bridgeval.slices import sliced as sliced
    from bridgeval.spec import parse as parse
    from bridgeval.systems import compare as compare

__version__ = "0.1.0"

_MODULES = ("errors", "metrics", "plugin", "testing")
_HOMES = {
    "Block": "bridgeval.engine.blocks",
    "Blocks": "bridgeval.engine.blocks",
    "Candidates": "bridgeval.batch.candidates",
    "Comparison": "bridgeval.report.comparison",
    "Convention": "bridgeval.convention",
    "Examples": "bridgeval.report.example_lists",
    "Inspection": "bridgeval.inspection",
    "ListMetric": "bridgeval.engine.bases",
    "Metric": "bridgeval.engine.metric",
    "NcisMetric": "bridgeval.metrics.blocks.policy_weights",
    "OnlineEvaluator": "bridgeval.online",
    "Ranking": "bridgeval.batch.ranking",
    "Relevance": "bridgeval.batch.ranking",
    "Report": "bridgeval.report",
    "Reports": "bridgeval.report",
    "Result": "bridgeval.engine.summary",
    "RowMetric": "bridgeval.engine.bases",
    "Runs": "bridgeval.run_history",
    "Scores": "bridgeval.batch.scores",
    "Slate": "bridgeval.engine.bases",
    "TopKMetric": "bridgeval.engine.metric",
    "UserMetric": "bridgeval.engine.metric",
    "check": "bridgeval.baselines",
    "compare": "bridgeval.systems",
    "entry": "bridgeval.convention",
    "evaluate": "bridgeval.evaluation",
    "explain": "bridgeval.explanation",
    "find_examples": "bridgeval.examples",
    "hookimpl": "bridgeval.hookspecs",
    "identify": "bridgeval.identification",
    "inspect": "bridgeval.inspection",
    "merge": "bridgeval.merging",
    "parse": "bridgeval.spec",
    "read_runs": "bridgeval.run_history",
    "sample_candidates": "bridgeval.batch.candidates",
    "save_baseline": "bridgeval.baselines",
    "sliced": "bridgeval.slices",
}

__all__ = [*_MODULES, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"bridgeval.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'bridgeval' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
