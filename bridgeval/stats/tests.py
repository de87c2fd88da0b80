"""Paired statistics on per-user values: tests, effect sizes, power, corrections, Friedman and Nemenyi.

n users, m columns (metrics, or pairs of systems), k systems. All functions take float64 arrays without NaN and use
scipy where it has the test. A statistic that does not exist (no spread, fewer than two users) is NaN.

`scipy.stats` takes 0.6 s to import, so the functions that need it import it: a plain `evaluate` does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Alternative = Literal["two-sided", "less", "greater"]
Floats = npt.NDArray[np.float64]


def subtract(values: Floats, baseline: Floats) -> Floats:
    """Values minus baseline; a difference below the precision of the engine (1e-12) is a tie.

    >>> subtract(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5])).tolist()
    [0.0, 0.5]
    """
    change = values - baseline
    noise = 1e-12 * np.maximum(np.abs(values), np.abs(baseline))
    return np.where(np.abs(change) <= noise, 0.0, change)


def t_test(change: Floats, null: float = 0.0, alternative: Alternative = "two-sided") -> tuple[Floats, Floats]:
    """Student's paired t test on differences `[n, m]`: statistic and p, `[m]` each.

    NaN where every user differs by the same amount: without spread there is no t.

    >>> statistic, p = t_test(np.array([[1.0], [2.0], [3.0]]))
    >>> round(float(statistic[0]), 6), round(float(p[0]), 6)
    (3.464102, 0.07418)
    """
    from scipy import stats

    statistic, p = np.full((2, change.shape[1]), math.nan)
    for column in np.flatnonzero(deviations(change) > 0):
        result = stats.ttest_1samp(change[:, column], null, alternative=alternative)
        statistic[column], p[column] = result.statistic, result.pvalue
    return statistic, p


def wilcoxon_test(change: Floats) -> tuple[Floats, Floats]:
    """Wilcoxon's signed-rank test on differences `[n, m]`: statistic and p, `[m]` each.

    Ties between the systems are excluded from the ranking (Wilcoxon's own rule); p is exact for few users without ties.
    Where no user differs the statistic is 0, a sum of no ranks, and p is NaN.
    """
    from scipy import stats

    statistic, p = np.zeros(change.shape[1]), np.full(change.shape[1], math.nan)
    for column in np.flatnonzero((change != 0).any(axis=0)):
        result = stats.wilcoxon(change[:, column])
        statistic[column], p[column] = result.statistic, result.pvalue
    return statistic, p


def deviations(change: Floats) -> Floats:
    """`[m]` sample standard deviations; 0 where the spread is nothing but rounding, NaN below two users."""
    if len(change) < 2:
        return np.full(change.shape[1], math.nan)
    spread = change.std(axis=0, ddof=1)
    return np.where(spread <= 1e-12 * np.abs(change).max(axis=0), 0.0, spread)


def effect_sizes(change: Floats) -> Floats:
    """d_z = mean / standard deviation of the differences, `[m]`; NaN without spread (Cohen 1988; Lakens 2013)."""
    spread = deviations(change)
    return np.divide(change.mean(axis=0), spread, out=np.full(len(spread), math.nan), where=spread > 0)


def detectable_difference(spread: float, users: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided paired t test of this many users finds with this power.

    Solves P(T > t) = power for the noncentrality of T, and scales it by spread / sqrt(n). The other tail, a significant
    difference of the wrong sign, does not count as a success.

    >>> round(detectable_difference(1.0, 100), 4)
    0.2829
    """
    if users < 2 or not spread > 0:
        return math.nan
    from scipy import optimize, stats

    freedom = users - 1
    critical = stats.t.ppf(1 - alpha / 2, freedom)

    def shortfall(noncentrality: float) -> float:
        return power - float(stats.nct.sf(critical, freedom, noncentrality))

    enough = critical
    while shortfall(enough) > 0:
        enough *= 2
    return float(optimize.brentq(shortfall, 0.0, enough)) * spread / math.sqrt(users)


def holm(p: Floats) -> Floats:
    """Holm's adjusted p values (1979); NaN ones are no tests and stay NaN.

    The i-th smallest of n is multiplied by n - i + 1, and none may be smaller than the one before it: once a
    hypothesis is kept, all with larger p are kept.

    >>> holm(np.array([0.020, 0.021, 0.022])).round(6).tolist()
    [0.06, 0.06, 0.06]
    """
    return _adjust(p, lambda n: np.arange(n, 0.0, -1), np.maximum.accumulate)


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's adjusted p values (1995), for the false discovery rate; NaN ones stay NaN.

    The i-th smallest of n is multiplied by n / i, and none may be larger than the one after it: once a hypothesis is
    rejected, all with smaller p are rejected.

    >>> benjamini_hochberg(np.array([0.020, 0.021, 0.022])).round(6).tolist()
    [0.022, 0.022, 0.022]
    """

    def step_up(values: Floats) -> Floats:
        return np.minimum.accumulate(values[::-1])[::-1]

    return _adjust(p, lambda n: n / np.arange(1.0, n + 1), step_up)


def _adjust(p: Floats, factors: Callable[[int], Floats], step: Callable[[Floats], Floats]) -> Floats:
    adjusted = np.full(len(p), math.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    adjusted[order] = np.minimum(1.0, step(p[order] * factors(len(order))))
    return adjusted


@dataclass(frozen=True)
class Friedman:
    """Friedman's test (do k systems differ at all?) and Nemenyi's (which of them do?).

    Attributes:
        users: how many have a value from every system.
        ranks: `[k]` mean rank of each system over the users; 1 is best.
        statistic: chi squared, corrected for ties; NaN where every user ties all systems.
        p: of the statistic.
        critical_difference: mean ranks further apart than this differ at `alpha`.
        pairwise: `[k, k]` Nemenyi's p of each pair.
    """

    users: int
    ranks: Floats
    statistic: float
    p: float
    critical_difference: float
    pairwise: Floats


def friedman(values: Floats, alpha: float = 0.05) -> Friedman:
    """Friedman's test and Nemenyi's on `[n, k]` values of k > 2 systems, higher is better.

    Nemenyi: q sqrt(k (k + 1) / (6 n)) with q the studentized range of k groups and infinite freedom over sqrt(2)
    (Demsar 2006).
    """
    from scipy import stats

    users = len(values)
    ranks = stats.rankdata(-values, axis=1).mean(axis=0)
    ties_all = bool((values == values[:, :1]).all())
    test = (math.nan, math.nan) if ties_all else stats.friedmanchisquare(*values.T)
    return nemenyi(users, ranks, float(test[0]), float(test[1]), alpha)


def nemenyi(users: int, ranks: Floats, statistic: float, p: float, alpha: float) -> Friedman:
    """Friedman's test, whose statistic and p are known, with Nemenyi's, from the mean ranks `[k]` of n users."""
    from scipy import stats

    systems = len(ranks)
    scale = math.sqrt(systems * (systems + 1) / (6 * users)) / math.sqrt(2)
    gaps = np.abs(ranks[:, None] - ranks)
    pairwise = stats.studentized_range.sf(gaps / scale, systems, np.inf)
    critical = stats.studentized_range.ppf(1 - alpha, systems, np.inf) * scale
    return Friedman(users, ranks, statistic, p, float(critical), np.where(gaps > 0, pairwise, 1.0))
