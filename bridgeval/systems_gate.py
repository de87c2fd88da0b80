"""A gate for pipelines: may this system take the place of the old one?

Non-inferiority on paired users. For each metric a margin is given, the largest drop that would be borne. The gate
holds when the one-sided paired t test shows, for every metric, that the true drop is smaller than its margin; with
several metrics all must pass, so that nothing has to be corrected (intersection-union test).

In slices the burden of proof is the other way round, for a slice of a few users could rule out no drop at all: the gate
does not hold where a slice is shown to drop by more than the limit, by the one-sided test in the other direction, with
Holm's correction over all slices and metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from bridgeval import spec
from bridgeval.baselines import Baseline, baseline_of
from bridgeval.engine.metric import Metric
from bridgeval.engine.state import Floats, UserTable
from bridgeval.errors import BadParameterError, InputError, MisalignedError
from bridgeval.evaluation import one_report
from bridgeval.report import Report
from bridgeval.slices import members
from bridgeval.stats import tests as st
from bridgeval.stats.gate import Check, Gate, Verdict
from bridgeval.stats.paired_values import Panel, is_mean_of_users
from bridgeval.tables.slice_labels import Labels, read_slice_labels


@dataclass(frozen=True)
class Limit:
    """The largest drop of a metric that would be borne: absolute, or a share of the baseline's value.

    >>> Limit.of("nDCG@10=1%"), Limit.of("MRR@5=0.002").drop
    (Limit(metric='nDCG@10', drop=0.01, relative=True), 0.002)
    """

    metric: str
    drop: float
    relative: bool

    @staticmethod
    def of(text: str, convention: str | None = None) -> Limit:
        """A limit as it is typed."""
        name, equals, limit = text.rpartition("=")
        try:
            drop = float(limit.strip().removesuffix("%"))
        except ValueError:
            drop = math.nan
        if not equals or not math.isfinite(drop) or drop < 0:
            raise BadParameterError(
                "a limit is a metric, = and a drop from 0 up",
                f"{text!r}",
                "e.g. nDCG@10=1% or nDCG@10=0.002",
            )
        relative = limit.strip().endswith("%")
        metric = spec.parse(name.strip(), convention)[0]
        return Limit(str(metric), drop / 100 if relative else drop, relative)

    def margin(self, baseline: float) -> float:
        return self.drop * abs(baseline) if self.relative else self.drop

    def __str__(self) -> str:
        return f"{100 * self.drop:g}%" if self.relative else f"{self.drop:g}"


def check(
    recommendations: Any,
    relevance: Any,
    baseline: Any,
    max_drop: str | Iterable[str | Limit],
    *,
    alpha: float = 0.05,
    by: Any = None,
    **evaluation: Any,
) -> Gate:
    """Checks that recommendations are not worse than a baseline by more than is borne.

    Args:
        recommendations: as `evaluate` takes them, or a Report made with per_user=True.
        relevance: what proved relevant.
        baseline: a Report made with per_user=True, a Parquet file of per-user values, or a JSON file that
            `save_baseline` or `bridgeval evaluate --format json` wrote, with its per-user values beside it, or with
            what it was made of where it was.
        max_drop: limits such as "nDCG@10=1%" (of the baseline's value) or "nDCG@10=0.002".
        alpha: how often a drop of just the margin may pass; in slices, how often any of them may be called worse though
            its drop is just the margin.
        by: slices to be checked too, as in `evaluate`. Slices of items need a baseline whose lists are known: a Report
            made with the same by=, or a JSON file whose inputs are still there.
        **evaluation: any further argument of `evaluate`.

    >>> truth = {user: ["x"] for user in range(40)}
    >>> old = {user: ["x", "y"] if user % 4 else ["y", "x"] for user in range(40)}
    >>> from bridgeval import evaluate
    >>> report = evaluate(old, truth, "MRR@2", per_user=True)
    >>> print(check(old, truth, report, "MRR@2=1%"))
    MRR@2 0.8750 -> 0.8750 over 40 users: holds, a drop of 1% is ruled out (p = 0)
    >>> check({**old, **{user: ["y", "x"] for user in range(9)}}, truth, report, "MRR@2=1%").holds
    False
    """
    given = [max_drop] if isinstance(max_drop, str) else max_drop
    limits = [Limit.of(one, evaluation.get("convention")) if isinstance(one, str) else one for one in given]
    if not limits:
        raise BadParameterError("no limit was given", hint="give e.g. nDCG@10=1%")
    if not 0 < alpha < 0.5:
        raise BadParameterError("alpha must be between 0 and 0.5", f"{alpha}", "0.05 is usual")
    labels = () if by is None else read_slice_labels(by)
    names = [limit.metric for limit in limits]
    old = baseline_of(baseline, names, labels)
    report = recommendations
    if not isinstance(report, Report):
        report = one_report(recommendations, relevance, names, **{**evaluation, "per_user": True, "by": labels or None})
    missing = [name for name in names if name not in old.values or name not in report.collected]
    if missing:
        raise InputError(
            f"there are no per-user values of {', '.join(missing)} to pair",
            f"the baseline has {', '.join(old.values)}; now there are {', '.join(report.collected)}",
            "make the baseline with the metrics that are checked, per user (--save, or per_user=True)",
        )
    pooled = [name for name in names if not is_mean_of_users(report, name)]
    if pooled:
        raise InputError(
            f"{', '.join(pooled)} is not a mean over users, so that pairs of users cannot test it",
            hint='choose a metric that is; a rating error is with average="users"',
        )
    panel = _paired(old.values, report.collected, names)
    checks = tuple(_checked(panel, limit, report.metrics[limit.metric], alpha) for limit in limits)
    slices = _slices(panel, labels, old, report, limits, alpha)
    return Gate(checks, alpha, (*old.notes, *panel.notes()), slices)


def _paired(old: Mapping[str, UserTable], now: Mapping[str, UserTable], names: Sequence[str]) -> Panel:
    return Panel.of({"baseline": {name: old[name] for name in names}, "now": {name: now[name] for name in names}})


def _slices(
    panel: Panel, labels: Sequence[Labels], old: Baseline, now: Report, limits: Sequence[Limit], alpha: float
) -> tuple[Check, ...]:
    """Every slice of users, then of items, with p adjusted over all of them."""
    names = [limit.metric for limit in limits]
    parts = [(f"{kind} = {label}", panel.of_users(where)) for kind, label, where in members(labels, panel.users)]
    kinds = [one.kind for one in labels if one.side == "item"]
    before = {(one.kind, one.label): one.values for one in old.item_slices}
    if kinds and not all(any(kind == own for own, _ in before) for kind in kinds):
        raise InputError(
            "the baseline cannot be sliced by items: its lists are needed, and per-user values do not have them",
            f"no slices by {', '.join(kinds)}",
            "give a report whose inputs are still where they were, or leave out slices of items",
        )
    parts += [
        (f"{one.kind} = {one.label}", _paired(before[one.kind, one.label], one.values, names))
        for one in now.item_slices
        if one.kind in kinds and (one.kind, one.label) in before
    ]
    found = [
        _checked_slice(part, limit, now.metrics[limit.metric], alpha, title)
        for title, part in parts
        for limit in limits
    ]
    tested = [check for check in found if check is not None]
    adjusted = st.holm(np.array([check.p_worse for check in tested])).tolist()
    return tuple(
        replace(check, p_worse=p, verdict="worse" if p < alpha else check.verdict)
        for check, p in zip(tested, adjusted, strict=True)
    )


def _checked(panel: Panel, limit: Limit, metric: Metric, alpha: float) -> Check:
    count = int(panel.complete[:, panel.metrics.index(limit.metric)].sum())
    if count < 2:
        raise MisalignedError(
            f"{count} user(s) have a value of {limit.metric} in the baseline and now; that is too few to test",
            f"{len(panel.users)} users on both sides together",
            "check that both were evaluated on the same users, and that ids are written the same way",
        )
    old, new, gain = _gains(panel, limit, metric)
    mean, margin = float(gain.mean()), limit.margin(old)
    spread = float(st.deviations(gain)[0])
    bound = mean - float(stats.t.ppf(1 - alpha, count - 1)) * spread / math.sqrt(count)
    if spread > 0:
        p = float(st.t_test(gain, -margin, "greater")[1][0])
        holds = p < alpha
    else:
        # Every user moved by the same amount: there is nothing to be unsure about.
        holds = mean >= -margin
        p = 0.0 if holds else 1.0
    verdict: Verdict = "holds" if holds else "worse" if -mean > margin else "unsure"
    return Check(limit.metric, old, new, count, mean, bound, str(limit), margin, p, verdict)


def _checked_slice(panel: Panel, limit: Limit, metric: Metric, alpha: float, title: str) -> Check | None:
    """A slice before the correction; None below two users, who can show nothing."""
    if panel.complete[:, panel.metrics.index(limit.metric)].sum() < 2:
        return None
    found = _checked(panel, limit, metric, alpha)
    _, _, gain = _gains(panel, limit, metric)
    p = float(st.t_test(gain, -found.margin, "less")[1][0])
    if math.isnan(p):
        # All moved by the same amount: as likely as all n signs falling on one side.
        p = 0.5**found.users if -found.gain > found.margin else 1.0
    return replace(found, slice=title, p_worse=p, verdict="holds" if found.verdict == "holds" else "unsure")


def _gains(panel: Panel, limit: Limit, metric: Metric) -> tuple[float, float, Floats]:
    """The mean of the baseline, the mean now, and how much better each user fares, `[n, 1]`."""
    column = panel.metrics.index(limit.metric)
    old, new = panel.values[:, panel.complete[:, column], column]
    gain = st.differences(new, old)[:, None] * (-1 if metric.higher_is_better is False else 1)
    return float(old.mean()), float(new.mean()), gain
