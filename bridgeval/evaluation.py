"""evaluate: the straight line from objects to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import torch

from bridgeval import plugins, spec
from bridgeval.engine.census import Census
from bridgeval.engine.distributed import merged_over_ranks
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan, States
from bridgeval.engine.source import Source, Sources
from bridgeval.errors import BadParameterError, InputError
from bridgeval.io.datasets import parse_bytes
from bridgeval.progress import progress_for
from bridgeval.report import Report, report_of
from bridgeval.stats.item_slice_metric import ByItems
from bridgeval.tables.slice_labels import Labels, read_slice_labels

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

    from bridgeval.hookspecs import Loader


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
    loader: str | Loader | None = None,
    columns: Mapping[str, str] | None = None,
    convention: str | None = None,
    per_user: bool = False,
    by: Any = None,
    device: str | torch.device = "auto",
    batch_size: int | None = None,
    memory: int | str | None = None,
    progress: bool | Callable[[int], None] | None = None,
    group: ProcessGroup | None = None,
) -> Report:
    """Evaluates recommendations against what proved relevant.

    Args:
        recommendations: a frame (pandas, polars, Arrow, anything with `__arrow_c_stream__`), a path of Parquet, CSV or
            TSV files, a mapping user -> items, (item, score) pairs or {item: score}, or `Scores`.
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
        loader: a loader or its name, where several fit.
        columns: which column plays which part: {"user": ..., "item": ..., "score": ..., "gain": ..., "rank": ...}.
        convention: the toolkit whose names and definitions are meant where a name has no prefix.
        per_user: whether to keep every user's value, see `Report.per_user`.
        by: slices, see `Report.slices`: a mapping user -> label, or a frame with the id of users or of items and a
            column of labels for each kind of slice, or a list of these. Keeps every user's value.
        device: "auto" takes a GPU where there is one.
        batch_size: users in a batch; None picks a size that fits a budget of memory.
        memory: bytes to hold at once, or text such as "2GB"; larger files are streamed. None is a quarter of what is
            free.
        progress: None shows a bar for long work on a terminal; True or False decides; a function is called with the
            number of users done.
        group: merges the states of all ranks of a `torch.distributed` group; each rank gives its own users.

    Returns:
        A Report. Users with at least one relevant item count, unless a metric says otherwise. Where a loader finds
        several evaluations, as in a study folder, what it makes of their reports, e.g. a StudyReport.

    >>> report = evaluate({7: {"a": 0.9, "b": 0.5}, 8: {}}, {7: {"b": 1}, 8: {"a": 1}}, "Recall@2")
    >>> report["Recall@2"], report.population.counted, report.population.shown_nothing
    (0.5, 2, 1)
    """
    asked = spec.parse_all(metrics, convention)
    placed = device_of(device, here=False)
    labels = () if by is None else read_slice_labels(by)
    collecting = [one for metric in asked if (one := metric.per_user()) is not None] if per_user or labels else []
    if labels and not collecting:
        raise InputError(
            "none of the metrics has a value for each user, so that there is nothing to slice",
            f"metrics {', '.join(map(str, asked))}",
            "leave out {argument}, or add e.g. Recall@10",
            argument="by",
        )
    by_items = [one for one in labels if one.side == "item"]
    slicing = [ByItems.of(collecting, by_items)] if by_items else []
    depth = Plan.of(asked).needs.depth or 0
    plan = Plan.of([Census(depth), *asked, *collecting, *slicing])
    chosen = plugins.installed().loader_for(recommendations, relevance, loader)
    loaded = chosen.load(
        recommendations,
        relevance,
        history=history,
        catalogue=catalogue,
        item_groups=item_groups,
        user_groups=user_groups,
        item_features=item_features,
        prev_scores=prev_scores,
        baseline=baseline,
        users=users,
        columns=columns,
    )
    sources = Sources.of(loaded)
    for source in sources.members.values():
        plan.check(source.offers)
    reports = {}
    for key, source in sources.members.items():
        with progress_for(progress) as bar:
            how = Execution(placed, _checked(batch_size), bar.users, parse_bytes(memory), bar.rows)
            states = _run(source, plan, how)
        if group is not None:
            states = merged_over_ranks(plan, states, group)
        report = report_of(asked, plan.compute(states), loader=chosen.name, label=source.label)
        reports[key] = _with_slices(report, labels, plan, states, slicing) if labels else report
    return cast("Report", sources.together(reports))


def one_report(recommendations: Any, *arguments: Any, **options: Any) -> Report:
    """`evaluate` where the objects must hold one evaluation and not several."""
    report = evaluate(recommendations, *arguments, **options)
    if not isinstance(report, Report):
        raise InputError(
            "these recommendations hold several evaluations, and one is needed",
            f"{recommendations!r}",
            "give one of them, e.g. one fold of one experiment",
        )
    return report


def _with_slices(
    report: Report, labels: tuple[Labels, ...], plan: Plan, states: States, slicing: Sequence[ByItems]
) -> Report:
    names = {name: one for name, metric in report.metrics.items() if (one := metric.per_user()) is not None}
    state_of = dict(zip(plan.metrics, states, strict=True))
    items = tuple(one for by_items in slicing for one in by_items.slices(state_of[by_items], names))
    return replace(report, by=labels, item_slices=items)


def _run(source: Source, plan: Plan, how: Execution) -> States:
    try:
        return source.run(plan, how)
    except (RuntimeError, AssertionError):
        device_of(how.device)  # says so where the device is at fault
        raise


def device_of(name: str | torch.device, here: bool = True) -> torch.device:
    """The device of that name, where "auto" takes a GPU if there is one; an error that lists those there are.

    Args:
        name: as torch spells it.
        here: whether this process must be able to use it; Spark's executors may have what their driver has not.

    >>> device_of("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        if here:
            torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        usable = ["auto", "cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        raise BadParameterError(
            f"the device {str(name)!r} cannot be used",
            str(error).splitlines()[0],
            f"here there are {', '.join(usable)}; auto takes a GPU where there is one",
        ) from error
    return device


def _checked(batch_size: Any) -> int | None:
    if batch_size is None:
        return None
    if not isinstance(batch_size, Integral) or int(batch_size) < 1:
        raise BadParameterError("batch_size must be a whole number from 1 up", f"{batch_size!r}", "leave it out")
    return int(batch_size)
