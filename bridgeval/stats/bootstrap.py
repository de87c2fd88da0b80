"""Resampling of users: means of many resamples as matrix products, BCa intervals, the sign-flip test.

Intervals of many means of many users, as slices ask for, need no resamples: see `expand_intervals`.

n users, m columns (metric values), B resamples. A resample is a row of integers: how often each user is drawn, or the
sign of each user. So all means of a block of resamples are one product `[b, n] @ [n, m]`. Each block is drawn from a
random stream of its own: the numbers depend on the seed alone, not on threads, and memory does not grow with B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.parallel import count_threads, map_ordered

Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.integer[Any]]

# Resamples in a block; fewer if there are so many users that the block would have more cells than this.
ROWS_PER_BLOCK = 128
CELLS_PER_BLOCK = 1 << 23
# Users in one product, so that its operands stay in the caches.
USERS_PER_PRODUCT = 1 << 12
# Means that differ by less than this, relative to the observed one, are ties: sums of one set in two orders.
TIE = 1e-13
# The largest last term of an expansion, in standard errors, that is taken in place of resamples: the end of an interval
# of 2,000 resamples has an error of 0.06 itself.
LAST_TERM = 0.02


def resample_means(values: Floats, blocks: Iterable[Callable[[], Draws]]) -> Floats:
    """`[B, m]`: the mean of every column in every resample.

    Args:
        values: `[n, m]` without NaN.
        blocks: functions that draw `[b, n]` integers, which multiply the users' values.

    >>> draws = np.array([[2, 0], [1, 1], [-1, 1]])
    >>> resample_means(np.array([[1.0], [5.0]]), [lambda: draws]).ravel().tolist()
    [1.0, 3.0, 2.0]
    """
    # Drawing takes most of the time, and numpy draws outside the interpreter lock.
    sums = map_ordered(partial(_sum_block, values), blocks, count_threads())
    return np.concatenate(list(sums)) / len(values)


def user_draws(users: int, resamples: int, seed: int) -> Iterator[Callable[[], Draws]]:
    """Draws how often each of n users occurs in each bootstrap resample."""

    def draw(rows: int, stream: np.random.SeedSequence) -> Draws:
        rng = np.random.default_rng(stream)
        counts = np.empty((rows, users), dtype=np.int16)
        for row in counts:
            row[:] = np.bincount(rng.integers(0, users, users), minlength=users)
        return counts

    return _blocks(draw, users, resamples, seed)


def sign_draws(users: int, resamples: int, seed: int) -> Iterator[Callable[[], Draws]]:
    """Draws a sign, -1 or 1, for each of n users in each resample."""

    def draw(rows: int, stream: np.random.SeedSequence) -> Draws:
        width = -(-users // 8)
        noise = np.frombuffer(np.random.default_rng(stream).bytes(rows * width), dtype=np.uint8)
        signs = np.unpackbits(noise.reshape(rows, width), axis=1, count=users).view(np.int8)
        signs *= 2
        signs -= 1
        return signs

    return _blocks(draw, users, resamples, seed)


def all_signs(users: int) -> Draws:
    """`[2^n, n]`: every pattern of signs once.

    >>> all_signs(2).tolist()
    [[-1, -1], [1, -1], [-1, 1], [1, 1]]
    """
    return (((np.arange(1 << users)[:, None] >> np.arange(users)) & 1) * 2 - 1).astype(np.int8)


def bca_intervals(values: Floats, means: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Bias-corrected and accelerated bootstrap intervals of means (Efron 1987), `[m]` each.

    With z0 = Phi^-1(share of resampled means below the observed one, ties half) and a = sum d^3 / (6 (sum d^2)^1.5)
    for deviations d from the mean, the ends are the quantiles Phi(z0 + (z0 + z) / (1 - a (z0 + z))) of the resampled
    means. A column without spread has the interval [mean, mean].

    Args:
        values: `[n, m]`.
        means: `[B, m]` resampled means.
        confidence: e.g. 0.95.
    """
    observed = values.mean(axis=0)
    deviations = values - observed
    return bca_ends(observed, np.square(deviations).sum(axis=0), (deviations**3).sum(axis=0), means, confidence)


def bca_ends(
    observed: Floats, squares: Floats, cubes: Floats, means: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """The same from sums: the observed means, and the squared and cubed deviations from them, `[m]` each."""
    from scipy.special import ndtr, ndtri

    slack = np.abs(TIE * observed)
    below = ((means < observed - slack).mean(axis=0) + (means <= observed + slack).mean(axis=0)) / 2
    z = ndtri((1 + confidence) / 2)
    low, high = observed.copy(), observed.copy()
    for column in np.flatnonzero((below > 0) & (below < 1) & (squares > 0)):
        bias = ndtri(below[column])
        skew = cubes[column] / (6 * squares[column] ** 1.5)
        shifted = bias + np.array([-z, z])
        ends = ndtr(bias + shifted / (1 - skew * shifted))
        low[column], high[column] = np.quantile(means[:, column], ends)
    return low, high


def expand_intervals(values: Floats, confidence: float) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
    """BCa intervals of means without resamples, from the moments of the values (Hall 1992, section 2.5).

    The quantiles of the resampled means are those of the Cornish-Fisher expansion: with standard error s, skewness g
    and excess kurtosis c of n users, mean + s (z + g (z^2 - 1) / (6 sqrt(n)) + last), where
    last = c (z^3 - 3 z) / (24 n) - g^2 (2 z^3 - 5 z) / (36 n). For a mean z0 = a = g / (6 sqrt(n)).

    Args:
        values: `[n, m]` without NaN.
        confidence: e.g. 0.95.

    Returns:
        The low and high ends, and for which columns the last term is small enough, `[m]` each. A column without spread
        has the interval [mean, mean].

    >>> low, high, sure = expand_intervals(np.arange(1000.0)[:, None] % 2, 0.95)
    >>> round(low.item(), 3), round(high.item(), 3), sure.item()
    (0.469, 0.531, True)
    """
    from scipy.special import ndtri

    users, mean = len(values), values.mean(axis=0)
    deviations = values - mean
    squares = np.square(deviations)
    second, third, fourth = (np.mean(one, axis=0) for one in (squares, squares * deviations, np.square(squares)))
    flat = np.abs(deviations).max(axis=0) <= np.abs(TIE * mean)
    spread = np.where(flat, 1.0, second)
    skewness, kurtosis = third / spread**1.5, fourth / spread**2 - 3
    bias = skewness / (6 * np.sqrt(users))
    ends, sure = [], np.ones(len(mean), dtype=bool)
    for z in (ndtri((1 - confidence) / 2), ndtri((1 + confidence) / 2)):
        shifted = bias + z
        at = bias + shifted / (1 - bias * shifted)
        last = kurtosis * (at**3 - 3 * at) / (24 * users) - skewness**2 * (2 * at**3 - 5 * at) / (36 * users)
        ends.append(mean + np.where(flat, 0.0, np.sqrt(spread / users) * (at + bias * (at**2 - 1) + last)))
        sure &= flat | (np.abs(last) < LAST_TERM)
    return ends[0], ends[1], sure


def sign_flip_p(differences: Floats, flipped: Floats, exact: bool) -> Floats:
    """Two-sided p of the paired permutation test on means, `[m]`.

    Under the null hypothesis a user's two values could be swapped, which flips the sign of the difference. p is twice
    the smaller share of resamples as extreme as the observed mean; unless all patterns were tried, the observed one
    counts among them, so p is never 0 (Phipson and Smyth 2010).

    Args:
        differences: `[n, m]`.
        flipped: `[B, m]` means under random signs.
        exact: whether `flipped` holds every pattern of signs.
    """
    return flipped_p(differences.mean(axis=0), flipped, exact)


def flipped_p(observed: Floats, flipped: Floats, exact: bool) -> Floats:
    """The same from the observed mean differences, `[m]`."""
    slack = np.abs(TIE * observed)
    own = 0 if exact else 1
    tries = len(flipped) + own
    low = ((flipped <= observed + slack).sum(axis=0) + own) / tries
    high = ((flipped >= observed - slack).sum(axis=0) + own) / tries
    return np.minimum(1.0, 2 * np.minimum(low, high))


def _sum_block(values: Floats, draw: Callable[[], Draws]) -> Floats:
    draws = draw()
    total = np.zeros((len(draws), values.shape[1]))
    for start in range(0, len(values), USERS_PER_PRODUCT):
        some = slice(start, start + USERS_PER_PRODUCT)
        total += draws[:, some].astype(np.float64) @ values[some]
    return total


def _blocks(
    draw: Callable[[int, np.random.SeedSequence], Draws], users: int, resamples: int, seed: int
) -> Iterator[Callable[[], Draws]]:
    rows = min(ROWS_PER_BLOCK, max(1, CELLS_PER_BLOCK // users))
    sizes = [min(rows, resamples - start) for start in range(0, resamples, rows)]
    for size, stream in zip(sizes, np.random.SeedSequence(seed).spawn(len(sizes)), strict=True):
        yield partial(draw, size, stream)
