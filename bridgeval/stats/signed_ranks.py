"""SignedCounts: Wilcoxon's signed-rank test by counting, so that the counts of parts of the users add up."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bridgeval.stats.tests import wilcoxon_test

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

# Binary digits of a magnitude that are kept, so that the table of distinct ones stays small.
DIGITS = 13
# Up to so many users that differ, scipy is asked: its p is exact for few users.
FEW = 50


def coarsen(magnitudes: Floats) -> Floats:
    """Rounds to 13 binary digits, by at most 1 / 8,192 of the magnitude.

    >>> coarsen(np.array([0.5, 1 / 3, 0.0])).tolist()
    [0.5, 0.33331298828125, 0.0]
    """
    mantissa, exponent = np.frexp(magnitudes)
    return np.ldexp(np.rint(np.ldexp(mantissa, DIGITS)), exponent - DIGITS)


@dataclass(frozen=True)
class SignedCounts:
    """The number of times that each magnitude of a difference occurs.

    Attributes:
        magnitudes: `[v]` above 0, sorted, without repeats.
        higher, lower: `[v]`: differences of this magnitude above, and below 0.
    """

    magnitudes: Floats
    higher: Counts
    lower: Counts

    @staticmethod
    def of(change: Floats) -> SignedCounts:
        """Of differences `[n]`, whose magnitudes are coarsened."""
        change = change[change != 0]
        return _count(coarsen(np.abs(change)), (change > 0).astype(np.int64), (change < 0).astype(np.int64))

    def merge(self, other: SignedCounts) -> SignedCounts:
        return _count(
            np.concatenate([self.magnitudes, other.magnitudes]),
            np.concatenate([self.higher, other.higher]),
            np.concatenate([self.lower, other.lower]),
        )

    def test(self) -> tuple[float, float]:
        """Wilcoxon's statistic and p, see `wilcoxon_test`: ranks of equal magnitudes are shared.

        T is the smaller of the sums of ranks above and below 0. For more than a few users p is that of the normal
        distribution with mean n (n + 1) / 4 and variance n (n + 1) (2 n + 1) / 24 - sum of (t^3 - t) / 48 over
        magnitudes that occur t times.
        """
        times = self.higher + self.lower
        count = int(times.sum())
        if count <= FEW:
            signed = np.concatenate([np.repeat(self.magnitudes, self.higher), -np.repeat(self.magnitudes, self.lower)])
            statistic, p = wilcoxon_test(signed[:, None])
            return float(statistic[0]), float(p[0])
        from scipy.special import ndtr

        ranks = np.cumsum(times) - (times - 1) / 2
        above, below = float(ranks @ self.higher), float(ranks @ self.lower)
        ties = float((times.astype(np.float64) ** 3 - times).sum()) / 48
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24 - ties)
        smaller = min(above, below)
        return smaller, float(min(1.0, 2 * ndtr((smaller - count * (count + 1) / 4) / deviation)))


def _count(magnitudes: Floats, higher: Counts, lower: Counts) -> SignedCounts:
    distinct, codes = np.unique(magnitudes, return_inverse=True)
    sums = [np.bincount(codes, weights=one, minlength=len(distinct)).astype(np.int64) for one in (higher, lower)]
    return SignedCounts(distinct, *sums)
