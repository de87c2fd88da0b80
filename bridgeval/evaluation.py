"""evaluate: the straight line from objects to a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import torch

from bridgeval import loading, plugins, spec
from bridgeval.arguments import checked
from bridgeval.engine.census import Census
from bridgeval.engine.distributed import merge_over_ranks
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan, States, pick_device
from bridgeval.errors import InputError, warn_caller
from bridgeval.io.frames import is_spark_frame
from bridgeval.io.origin import Origin
from bridgeval.progress import Watchers, show_progress
from bridgeval.report import Report, build_report
from bridgeval.saved_states import Terms, prepare_states, save_states
from bridgeval.stats.item_slice_metric import ByItems, ItemSlice
from bridgeval.tables.slice_labels import Labels, read_slice_labels

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    from bridgeval.hookspecs import Loader

T = TypeVar("T")


@checked
def evaluate(
    recommendations: Any,
    relevance: Any = None,
    metrics: str | Metric | Iterable[str | Metric] = ("nDCG@10", "Recall@10"),
    *,
    history: Any = None,
    catalogue: Any = None,
    item_groups: Any = None,
    user_groups: Any = None,
    item_features: Any = None,
    prev_scores: Any = None,
    baseline: Any = None,
    users: Any = None,
    context: Mapping[str, Any] | None = None,
    mask_seen: bool | None = None,
    loader: str | Loader | None = None,
    columns: Mapping[str, str | None] | None = None,
    convention: str | None = None,
    per_user: bool = False,
    by: Any = None,
    device: str | torch.device = "auto",
    batch_size: int | None = None,
    memory: int | str | None = None,
    progress: bool | Callable[[int], None] | None = None,
    group: ProcessGroup | None = None,
    state: str | os.PathLike[str] | None = None,
) -> Report:
    """Evaluates recommendations against what proved relevant.

    Args:
        recommendations: a frame (pandas, polars, also lazy, Arrow, duckdb, narwhals, Hugging Face, anything with
            `__arrow_c_stream__`), with a row for each item or with lists in its cells; a path of Parquet, CSV or TSV
            files; a mapping user -> items, (item, score) pairs or {item: score}; a Series of lists; arrays
            (items, scores) or (users, items, scores); a sparse matrix, or `Scores`.
        relevance: the same, with gains in place of scores; without gains every row counts 1. None where the
            recommendations bring it along, as a study or one of its folds does.
        metrics: names such as "nDCG@5,10" or "replay:NDCG@10", or metric objects.
        history: training interactions (user, item): for novelty, popularity, masking, and the default catalogue.
        catalogue: all item ids that could have been shown.
        item_groups: item -> label, for fairness between items.
        user_groups: user -> label.
        item_features: item -> labels.
        prev_scores: the logging policy's scores by (user, item) or by item, for counterfactual metrics.
        baseline: another system's recommendations, for unexpectedness.
        users: the users that count under users="given", and all there are under users="known".
        context: further tables for metrics that ask for them by name, {"price": item -> number}: mappings, frames or
            paths with the id of items or users and the column; values are numbers or labels.
        mask_seen: whether items that a user has in the history are dropped. None drops them from score matrices, where
            they would fill the top, leaves lists as they are, and warns if these show any.
        loader: a loader or its name, where several fit.
        columns: which column plays which part: {"user": ..., "item": ..., "score": ..., "gain": ..., "rank": ...};
            None in place of a column leaves the part out.
        convention: the toolkit whose names and definitions are meant where a name has no prefix.
        per_user: whether to keep every user's value, see `Report.per_user`.
        by: slices, see `Report.slices`: a mapping user -> label, or a frame with the id of users or of items and a
            column of labels for each kind of slice, or a list of these. Keeps every user's value.
        device: "auto" takes a GPU, where there is one, for scores that are on it, for many scores and for models; lists
            are evaluated on the CPU. `Report.device` says where it ran.
        batch_size: users in a batch; None picks a size that fits a budget of memory.
        memory: bytes to hold at once, or text such as "2GB"; larger files are streamed. None is a quarter of what is
            free.
        progress: None shows a bar for long work on a terminal; True or False decides; a function is called with the
            number of users done.
        group: merges the states of all ranks of a `torch.distributed` group; each rank gives its own users.
        state: a file for the states, of which `merge` makes a report together with those of other users or days.

    Returns:
        A Report. Users with at least one relevant item count, unless a metric says otherwise. Where a loader finds
        several evaluations, as in a study folder, what it makes of their reports, e.g. a StudyReport.

    >>> report = evaluate({7: {"a": 0.9, "b": 0.5}, 8: {}}, {7: {"b": 1}, 8: {"a": 1}}, "Recall@2")
    >>> report["Recall@2"], report.population.counted, report.population.shown_nothing
    (0.5, 2, 1)
    """
    known = plugins.installed()
    asked = spec.name_all(metrics, convention, known)
    labels = () if by is None else read_slice_labels(by)
    plan = make_plan(list(asked.values()), per_user, labels, watch_seen=mask_seen is not False)
    how = Execution(pick_device(device, False, recommendations), batch_size, memory)
    extras = {
        "history": history,
        "catalogue": catalogue,
        "item_groups": item_groups,
        "user_groups": user_groups,
        "item_features": item_features,
        "prev_scores": prev_scores,
        "baseline": baseline,
        "users": users,
        "context": context,
        "mask_seen": mask_seen,
        "columns": columns,
    }
    given = {name: value for name, value in extras.items() if value is not None}
    loaded = loading.load(known, recommendations, relevance, loader, **given)
    for source in loaded.sources.members.values():
        plan.check(source.offers)
        if mask_seen:
            check_mask(source.offers)
    if state is not None:
        in_spark = is_spark_frame(recommendations) or is_spark_frame(relevance)
        inputs = (recommendations, relevance, *given.values())
        plan = prepare_states(state, plan, loaded.sources, per_user or not in_spark, inputs)
    if history is not None:
        _compare_times(relevance, history, columns)
    reports = {}
    for key, source in loaded.sources.members.items():
        with loaded.blame():
            states = run_shown(partial(source.run, plan), how, progress)
        if group is not None:
            states = merge_over_ranks(plan, states, group)
        report = build_report(
            asked, plan.compute(states), loaded.loader.name, source.label, state is not None, str(how.device)
        )
        if report.collected:
            report = replace(report, origin=Origin.of(recommendations, columns))
        reports[key] = add_slices(report, labels, plan, states) if labels else report
        if state is not None:
            terms = Terms(asked, per_user, labels, mask_seen, columns or {}, source.label)
            save_states(state, terms, plan, states, report)
    return cast("Report", loaded.sources.together(reports))


def check_mask(offers: frozenset[str]) -> None:
    """Refuses to mask seen items where neither the caller nor the loader has a history."""
    if "seen" not in offers:
        raise InputError(
            "seen items cannot be masked",
            "no history",
            "give {argument}, the training interactions",
            argument="history",
        )


def _compare_times(relevance: Any, history: Any, columns: Mapping[str, str | None] | None) -> None:
    from bridgeval.inspection.time_leakage import find_early_truth

    if alarm := find_early_truth(relevance, history, columns):
        warn_caller(f"{alarm.what}: {alarm.effect}", alarm.category)


def make_plan(asked: list[Metric], per_user: bool, labels: Sequence[Labels], watch_seen: bool) -> Plan:
    """The metrics asked for, the census, and the metrics that keep every user's value where these are wanted."""
    census = Census(Plan.of(asked).needs.depth, watch_seen)
    keeping = keep_values(asked, labels) if per_user or labels else []
    return Plan.of([census, *asked, *keeping])


def keep_values(asked: Iterable[Metric], labels: Sequence[Labels]) -> list[Metric]:
    """The metrics that keep every user's value of those asked for, also in slices of items."""
    collecting = [one for metric in asked if (one := metric.per_user()) is not None]
    if labels and not collecting:
        raise InputError(
            "none of the metrics has a value for each user, so there is nothing to slice",
            f"metrics {', '.join(map(str, asked))}",
            "leave out {argument}, or add e.g. Recall@10",
            argument="by",
        )
    by_items = [one for one in labels if one.side == "item"]
    return [*collecting, *([ByItems.of(collecting, by_items)] if by_items else [])]


def run_shown(run: Callable[[Execution], T], how: Execution, progress: bool | Callable[[int], None] | None) -> T:
    """Calls `run` with progress shown as the caller of `evaluate` asked for."""
    quiet = progress is False or (progress is None and not sys.stderr.isatty())
    with nullcontext(Watchers()) if quiet else show_progress(progress) as watch:
        try:
            return run(replace(how, progress=watch.users, rows=watch.rows))
        except (RuntimeError, AssertionError):
            pick_device(how.device)  # raises a better error if the device is the reason
            raise


def add_slices(report: Report, labels: tuple[Labels, ...], plan: Plan, states: States) -> Report:
    """The report with the slices that a plan was made with."""
    names = {name: one for name, metric in report.metrics.items() if (one := metric.per_user()) is not None}
    items: list[ItemSlice] = []
    for metric, state in zip(plan.metrics, states, strict=True):
        if isinstance(metric, ByItems):
            items += metric.slices(state, names)
    return replace(report, by=labels, item_slices=tuple(items))


def evaluate_one(recommendations: Any, *arguments: Any, **options: Any) -> Report:
    """Calls `evaluate` and raises if the objects hold several evaluations."""
    report = evaluate(recommendations, *arguments, **options)
    if not isinstance(report, Report):
        raise InputError(
            "these recommendations hold several evaluations, but only one can be used here",
            f"{recommendations!r}",
            "give one of them, e.g. one fold of one experiment",
        )
    return report
