"""bridgeval: any recommender toolkit's output in, any toolkit's numbers out, from one engine.

>>> import bridgeval
>>> report = bridgeval.evaluate({"ann": ["tea", "rum"]}, {"ann": ["rum"]}, metrics=["Recall@1,2", "MRR@2"])
>>> report.values
{'Recall@1': 0.0, 'Recall@2': 1.0, 'MRR@2': 0.5}
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridgeval import errors, metrics, testing
    from bridgeval.batch.candidates import Candidates, sample_candidates
    from bridgeval.batch.scores import Scores
    from bridgeval.convention import Convention, entry
    from bridgeval.engine.bases import ListMetric, RowMetric, Slate
    from bridgeval.engine.blocks import Block, Blocks
    from bridgeval.engine.metric import Metric, TopKMetric, UserMetric
    from bridgeval.engine.summary import Result
    from bridgeval.evaluation import evaluate
    from bridgeval.explanation import explain
    from bridgeval.hookspecs import hookimpl
    from bridgeval.inspection import Inspection, inspect
    from bridgeval.metrics.blocks.policy_weights import NcisMetric
    from bridgeval.report import Report, Reports
    from bridgeval.slices import sliced
    from bridgeval.spec import parse
    from bridgeval.systems import compare
    from bridgeval.systems_gate import check

__version__ = "0.1.0"

# The public names, and where each lives. They are imported when first used, so that `import bridgeval` is quick.
_HOMES = {
    "Block": "bridgeval.engine.blocks",
    "Blocks": "bridgeval.engine.blocks",
    "Candidates": "bridgeval.batch.candidates",
    "Convention": "bridgeval.convention",
    "Inspection": "bridgeval.inspection",
    "ListMetric": "bridgeval.engine.bases",
    "Metric": "bridgeval.engine.metric",
    "NcisMetric": "bridgeval.metrics.blocks.policy_weights",
    "Report": "bridgeval.report",
    "Reports": "bridgeval.report",
    "Result": "bridgeval.engine.summary",
    "RowMetric": "bridgeval.engine.bases",
    "Scores": "bridgeval.batch.scores",
    "Slate": "bridgeval.engine.bases",
    "TopKMetric": "bridgeval.engine.metric",
    "UserMetric": "bridgeval.engine.metric",
    "check": "bridgeval.systems_gate",
    "compare": "bridgeval.systems",
    "entry": "bridgeval.convention",
    "errors": "",
    "evaluate": "bridgeval.evaluation",
    "explain": "bridgeval.explanation",
    "hookimpl": "bridgeval.hookspecs",
    "inspect": "bridgeval.inspection",
    "metrics": "",
    "parse": "bridgeval.spec",
    "sample_candidates": "bridgeval.batch.candidates",
    "sliced": "bridgeval.slices",
    "testing": "",
}

__all__ = [
    "Block",
    "Blocks",
    "Candidates",
    "Convention",
    "Inspection",
    "ListMetric",
    "Metric",
    "NcisMetric",
    "Report",
    "Reports",
    "Result",
    "RowMetric",
    "Scores",
    "Slate",
    "TopKMetric",
    "UserMetric",
    "check",
    "compare",
    "entry",
    "errors",
    "evaluate",
    "explain",
    "hookimpl",
    "inspect",
    "metrics",
    "parse",
    "sample_candidates",
    "sliced",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bridgeval' has no attribute {name!r}")
    home = _HOMES[name]
    if not home:
        return importlib.import_module(f"bridgeval.{name}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


class _Face(ModuleType):
    """Keeps `bridgeval.evaluate` the function: importing the module of that name would put itself in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        hides = isinstance(value, ModuleType) and _HOMES.get(name) == value.__name__
        super().__setattr__(name, getattr(value, name) if hides else value)


sys.modules[__name__].__class__ = _Face
