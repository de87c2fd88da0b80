"""ColumnSpread: count, mean, squared and cubed deviations and largest magnitude of columns, which merge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ColumnSpread:
    """Five numbers of each of c columns, `[c]` each; they merge exactly (Pebay 2008).

    >>> one, two = (ColumnSpread.of(np.array([[v] for v in part])) for part in ([1.0, 2.0], [6.0]))
    >>> both = one.merge(two)
    >>> both.count.tolist(), both.mean.tolist(), both.squares.tolist(), both.cubes.tolist(), both.peak.tolist()
    ([3.0], [3.0], [14.0], [18.0], [6.0])
    """

    count: Floats
    mean: Floats
    squares: Floats
    cubes: Floats
    peak: Floats

    @staticmethod
    def zero(columns: int) -> ColumnSpread:
        return ColumnSpread(*np.zeros((5, columns)))

    @staticmethod
    def of(values: Floats, counted: npt.NDArray[np.bool_] | None = None) -> ColumnSpread:
        """Of values `[n, c]`, as far as they are counted."""
        counted = np.ones(values.shape, dtype=bool) if counted is None else counted
        if not len(values):
            return ColumnSpread.zero(values.shape[1])
        values = np.where(counted, values, 0.0)
        count = counted.sum(axis=0).astype(np.float64)
        mean = values.sum(axis=0) / np.maximum(count, 1)
        deviations = np.where(counted, values - mean, 0.0)
        squares = np.square(deviations)
        cubes = (squares * deviations).sum(axis=0)
        return ColumnSpread(count, mean, squares.sum(axis=0), cubes, np.abs(values).max(axis=0))

    def merge(self, other: ColumnSpread) -> ColumnSpread:
        count = self.count + other.count
        n, gap = np.maximum(count, 1), other.mean - self.mean
        squares = self.squares + other.squares + gap**2 * self.count * other.count / n
        cubes = self.cubes + other.cubes + gap**3 * self.count * other.count * (self.count - other.count) / n**2
        cubes += 3 * gap * (self.count * other.squares - other.count * self.squares) / n
        # Where one side is empty, the other's mean stays to the last digit.
        mean = np.where(self.count > 0, self.mean + gap * other.count / n, other.mean)
        return ColumnSpread(count, mean, squares, cubes, np.maximum(self.peak, other.peak))

    @property
    def deviation(self) -> Floats:
        """`[c]` sample standard deviations; 0 where the spread is nothing but rounding, NaN below two values."""
        spread = np.sqrt(self.squares / np.maximum(self.count - 1, 1))
        return np.where(self.count > 1, np.where(spread <= 1e-12 * self.peak, 0.0, spread), np.nan)
