"""Non-inferiority: may a new system replace the old one?

A test on paired users. Each metric has a margin, the largest acceptable drop. A metric holds if the one-sided paired t
test shows that the true drop is smaller than its margin; with several metrics all must hold, so that no correction is
needed (intersection-union test).

In slices the burden of proof is reversed, because a slice of a few users could never rule out a drop: a slice fails if
it is shown to drop by more than the margin, by the one-sided test in the other direction, with Holm's correction over
all slices and metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bridgeval.engine.state import Floats
from bridgeval.engine.summary import UNBOUNDED, Bounds
from bridgeval.errors import BadParameterError, MisalignedError
from bridgeval.stats import tests as st
from bridgeval.stats.paired_values import Panel

Verdict = Literal["holds", "worse", "unsure"]


@dataclass(frozen=True)
class Limit:
    """The largest acceptable drop of a metric: absolute, or a share of the baseline's value.

    Attributes:
        bounds: of the metric; an absolute drop must be smaller than their distance.

    >>> Limit("nDCG@10", 0.01, relative=True).margin(0.5), Limit("nDCG@10", 0.01, relative=False).margin(0.5)
    (0.005, 0.01)
    """

    metric: str
    drop: float
    relative: bool
    higher_is_better: bool | None = True
    bounds: Bounds = UNBOUNDED

    def __post_init__(self) -> None:
        """Refuses a limit that no drop could exceed, such as 5 where 5% is meant."""
        low, high = self.bounds
        if not self.relative and self.drop >= high - low:
            raise BadParameterError(
                f"a drop of {self} is no limit: {self.metric} lies between {low:g} and {high:g}",
                f"{self.metric}={self}",
                f"did you mean {self.metric}={self}%?" if self.drop < 100 else "give a smaller drop",
                argument="max_drop",
            )
        if self.relative and self.drop >= 1 and self.higher_is_better is not False:
            raise BadParameterError(
                f"a drop of {self} is no limit: {self.metric} cannot lose more than all it has",
                f"{self.metric}={self}",
                f"give a smaller share, e.g. {self.metric}=1%",
                argument="max_drop",
            )

    def margin(self, baseline: float) -> float:
        """The largest acceptable drop from a baseline value."""
        return self.drop * abs(baseline) if self.relative else self.drop

    def __str__(self) -> str:
        return f"{100 * self.drop:g}%" if self.relative else f"{self.drop:g}"


@dataclass(frozen=True)
class Check:
    """The test of one metric, over all users or in one slice.

    Attributes:
        gain: how much better the new system is; negative if it is worse, whichever way the metric points.
        bound: the one-sided lower bound of the gain at confidence 1 - alpha.
        margin: the largest acceptable drop.
        p: of the test that the gain is above -margin.
        verdict: "holds"; "worse" if the drop itself exceeds the margin; "unsure" if it does not but could. In a
            slice "worse" is what the test shows, and everything in between is "unsure".
        slice: which one, e.g. "country = fr"; empty for all users.
        p_worse: in a slice, of the test that the gain is below -margin; Holm-adjusted over all slices and metrics.
    """

    metric: str
    baseline: float
    value: float
    users: int
    gain: float
    bound: float
    limit: str
    margin: float
    p: float
    verdict: Verdict
    slice: str = ""
    p_worse: float = math.nan

    @property
    def title(self) -> str:
        return f"{self.metric} · {self.slice}" if self.slice else self.metric

    @property
    def passes(self) -> bool:
        """Over all users a metric must be shown to hold; a slice must not be shown to be worse."""
        return self.verdict != "worse" if self.slice else self.verdict == "holds"


def check_limit(panel: Panel, limit: Limit, alpha: float) -> Check:
    """Tests one metric over all users of a panel of two systems, the baseline first."""
    from scipy import stats

    old, new = _pair(panel, limit)
    count = len(old)
    if count < 2:
        raise MisalignedError(
            f"{count} user(s) have a value of {limit.metric} in the baseline and now, too few for a test",
            f"{len(panel.users)} users in both together",
            "check that both were evaluated on the same users, and that ids are written the same way",
            argument="baseline",
        )
    gain = _gains(old, new, limit)
    mean, margin = float(gain.mean()), limit.margin(float(old.mean()))
    spread = float(st.deviations(gain)[0])
    bound = mean - float(stats.t.ppf(1 - alpha, count - 1)) * spread / math.sqrt(count)
    if spread > 0:
        p = float(st.t_test(gain, -margin, "greater")[1][0])
        holds = p < alpha
    else:
        # Every user moved by the same amount: nothing is uncertain.
        holds = mean >= -margin
        p = 0.0 if holds else 1.0
    verdict: Verdict = "holds" if holds else "worse" if -mean > margin else "unsure"
    return Check(limit.metric, float(old.mean()), float(new.mean()), count, mean, bound, str(limit), margin, p, verdict)


def refuse_any_drop(panel: Panel, limit: Limit) -> None:
    """Raises if no drop from the baseline's value could exceed the limit: such a gate would always hold.

    A metric whose lowest value is not known, but of which no user has a negative value, is taken to end at 0.
    """
    values = _pair(panel, limit)
    low, high = limit.bounds
    if math.isinf(low) and (values >= 0).all():
        low = 0.0
    baseline = float(values[0].mean())
    largest = high - baseline if limit.higher_is_better is False else baseline - low
    if 0 < limit.margin(baseline) >= largest:
        raise BadParameterError(
            f"a drop of {limit} is no limit: {limit.metric} of the baseline is {baseline:.4g}, and cannot drop by more",
            f"{limit.metric}={limit}",
            f"give a smaller drop, e.g. {limit.metric}=1%",
            argument="max_drop",
        )


def check_slices(slices: Iterable[tuple[str, Panel]], limits: Sequence[Limit], alpha: float) -> tuple[Check, ...]:
    """Tests every metric in every slice (title, panel) of at least two users; p is adjusted over all of them."""
    tested = [
        _check_slice(part, limit, alpha, title)
        for title, part in slices
        for limit in limits
        if len(_pair(part, limit)[0]) > 1
    ]
    adjusted = st.holm(np.array([check.p_worse for check in tested])).tolist()
    return tuple(
        replace(check, p_worse=p, verdict="worse" if p < alpha else check.verdict)
        for check, p in zip(tested, adjusted, strict=True)
    )


def _check_slice(panel: Panel, limit: Limit, alpha: float, title: str) -> Check:
    """The test of a slice before the correction."""
    found = check_limit(panel, limit, alpha)
    old, new = _pair(panel, limit)
    p = float(st.t_test(_gains(old, new, limit), -found.margin, "less")[1][0])
    if math.isnan(p):
        # All moved by the same amount: as likely as n equal signs.
        p = 0.5**found.users if -found.gain > found.margin else 1.0
    return replace(found, slice=title, p_worse=p, verdict="holds" if found.verdict == "holds" else "unsure")


def _pair(panel: Panel, limit: Limit) -> Floats:
    """`[2, n]`: the values in the baseline and now, of users who have both."""
    column = panel.metrics.index(limit.metric)
    return panel.values[:, panel.complete[:, column], column]


def _gains(old: Floats, new: Floats, limit: Limit) -> Floats:
    """`[n, 1]`: how much better each user fares now."""
    return st.subtract(new, old)[:, None] * (-1 if limit.higher_is_better is False else 1)
