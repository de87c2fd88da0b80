"""Several systems evaluated together where their users lie: one pass, and no user's value leaves it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from bridgeval import plugins, spec
from bridgeval.engine.metric import Metric, UserMetric
from bridgeval.engine.plan import Execution, Plan, pick_device
from bridgeval.engine.source import JointLoader
from bridgeval.engine.state import Collected
from bridgeval.evaluation import check_mask, keep_values, make_plan, run_shown
from bridgeval.report import Report, build_report
from bridgeval.report.report import is_same_mean
from bridgeval.stats.differences import Settings
from bridgeval.stats.half_sample import Dealt, Halves, draw_halves
from bridgeval.stats.paired_results import PairedResults
from bridgeval.stats.paired_state import PairedState, PairedUsers
from bridgeval.stats.paired_values import Pairs
from bridgeval.tables.slice_labels import Labels


@dataclass(frozen=True)
class JointEvaluation:
    """The reports of several systems, and the results of their paired users.

    Attributes:
        reports: system -> Report, without per-user values.
        paired: of the metrics that are means of users' values.
        halves: numbers of random halves of the users, of all other metrics; None if there are none.
    """

    reports: Mapping[str, Report]
    paired: PairedResults
    halves: Halves | None


def find_joint_loader(systems: Iterable[Any], relevance: Any, choice: Any = None) -> JointLoader | None:
    """The loader that can load several systems as one source, if it recognizes one of them; else None.

    Args:
        systems: their recommendations.
        relevance: as in `evaluate`.
        choice: a loader or its name; None for any.
    """
    known = plugins.installed().loaders
    offered = known.values() if choice is None else [known.get(choice) if isinstance(choice, str) else choice]
    joint: list[Any] = [one for one in offered if isinstance(one, JointLoader)]
    return next((one for one in joint for shown in systems if one.recognizes(shown, relevance)), None)


def evaluate_together(
    loader: JointLoader,
    systems: Mapping[str, Any],
    relevance: Any,
    metrics: Any,
    pairs: Pairs,
    how: Settings,
    labels: tuple[Labels, ...],
    *,
    convention: str | None = None,
    mask_seen: bool | None = None,
    device: str = "auto",
    batch_size: int | None = None,
    memory: int | str | None = None,
    progress: Any = None,
    **given: Any,
) -> JointEvaluation:
    """Evaluates systems in one pass, and pairs their users there.

    Args:
        loader: loads all of them.
        systems: name -> recommendations.
        pairs: (baseline, system).
        how: the settings of the comparison.
        labels: the kinds of slices.
        relevance, metrics, convention, mask_seen, device, batch_size, memory, progress, **given: as in `evaluate`.
    """
    asked = spec.name_all(metrics, convention, plugins.installed())
    paired = {name: one for name, metric in asked.items() if (one := _keep_by_user(metric)) is not None}
    others = Plan.of(metric for metric in asked.values() if not _is_mean(metric))
    told = make_plan(list(asked.values()), False, (), watch_seen=mask_seen is not False)
    plan = Plan.of([*told.metrics, *([Dealt(others, how.seed)] if others.metrics else [])])
    inner = Plan.of(keep_values([asked[name] for name in paired], labels))
    masked = {} if mask_seen is None else {"mask_seen": mask_seen}
    source = loader.load_systems(systems, relevance, **given, **masked)
    if mask_seen:
        check_mask(source.offers)
    for needing in (plan, inner):
        needing.check(source.offers)
    question = PairedUsers(tuple(systems), paired, pairs, how, labels)
    states, sums = run_shown(
        partial(source.run_together, plan, inner, question),
        Execution(pick_device(device, here=False), batch_size, memory),
        progress,
    )
    size = len(told.metrics)
    reports = {name: build_report(asked, told.compute(own[:size]), loader.name) for name, own in states.items()}
    results = PairedResults(question, cast(PairedState, sums), asked)
    pooled = frozenset(
        metric
        for metric in paired
        if not all(_is_own_mean(results, name, one, metric) for name, one in reports.items())
    )
    dealt: Any = {name: own[-1] for name, own in states.items()}
    halves = draw_halves(dealt, others, how) if others.metrics else None
    return JointEvaluation(reports, replace(results, left_out=pooled), halves)


def _keep_by_user(metric: Metric) -> Metric | None:
    """The metric that keeps every user's value, if it can tell that of some users alone; else None."""
    keeping = metric.per_user()
    return keeping if keeping is not None and isinstance(keeping.start(), Collected) else None


def _is_mean(metric: Metric) -> bool:
    """Whether its number is the mean of its users' values by definition."""
    return isinstance(metric, UserMetric) and metric.over == "mean" and type(metric).compute is UserMetric.compute


def _is_own_mean(results: PairedResults, system: str, report: Report, metric: str) -> bool:
    mean, value = results.own_mean(system, metric), report.results[metric].value
    return value is not None and (math.isnan(mean) or is_same_mean(mean, value))
