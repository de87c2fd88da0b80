"""PairedResults: differences, tests, intervals and slices of a comparison, from merged sums over users."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bridgeval.engine.metric import Metric
from bridgeval.stats import tests as st
from bridgeval.stats.bootstrap import bca_ends, flipped_p
from bridgeval.stats.column_spread import ColumnSpread
from bridgeval.stats.differences import Difference, Mean, higher_is_better, make_difference
from bridgeval.stats.hashed_draws import poisson_sums, sign_sums
from bridgeval.stats.paired_state import GroupedSums, PairedState, PairedUsers, SliceSums
from bridgeval.stats.paired_values import explain_absent
from bridgeval.stats.slice_results import TOGETHER, SliceChange, SliceMean, Slices
from bridgeval.tables.slice_labels import Labels, Side

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairedResults:
    """The results of a comparison from merged sums.

    Attributes:
        asked: what the sums are of.
        known: name -> metric, for its direction.
        left_out: metrics that are not compared by paired users.
    """

    asked: PairedUsers
    state: PairedState
    known: Mapping[str, Metric]
    left_out: frozenset[str] = frozenset()

    @property
    def metrics(self) -> list[tuple[int, str]]:
        """Place and name of every metric that is compared."""
        return [(at, name) for at, name in enumerate(self.asked.metrics) if name not in self.left_out]

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of systems, pairs and metrics."""
        return len(self.asked.systems), len(self.asked.pairs), len(self.asked.metrics)

    def own_mean(self, system: str, metric: str) -> float:
        """The mean over all users that a system has a value for; NaN if there are none."""
        place = self.asked.systems.index(system) * self.shape[2] + list(self.asked.metrics).index(metric)
        return float(self.state.own.mean[place]) if self.state.own.count[place] else math.nan

    def differences(self) -> list[Difference]:
        _, pairs, metrics = self.shape
        means, moved = self._of_all_users
        tests = {name: column.reshape(pairs, metrics) for name, column in self._test().items()}
        users = self.state.sums.change.count.reshape(pairs, metrics)
        places = [[self.asked.systems.index(one) for one in pair] for pair in self.asked.pairs]
        return [
            make_difference(
                name,
                pair,
                means[0, places[row], at],
                moved[:, row, at],
                (int(users[row, at]), int(self.state.signs[0, row, at]), int(self.state.signs[1, row, at])),
                {test: numbers[row, at] for test, numbers in tests.items()},
                higher_is_better(name, self.known),
                self.asked.how,
            )
            for at, name in self.metrics
            for row, pair in enumerate(self.asked.pairs)
        ]

    def means(self) -> list[Mean]:
        found = self._of_all_users[0]
        return [
            Mean(system, name, *found[:, row, at].tolist())
            for at, name in self.metrics
            for row, system in enumerate(self.asked.systems)
        ]

    def notes(self) -> list[str]:
        chosen = [at for at, _ in self.metrics]
        missing, lost = self.state.absent[:, :, chosen]
        return explain_absent(self.asked.systems, [name for _, name in self.metrics], missing, lost)

    def friedman(self) -> dict[str, st.Friedman]:
        """Friedman's test of each metric that two users or more have from every system, of more than two systems."""
        from scipy import stats

        systems, _, metrics = self.shape
        found = {}
        for at, name in self.metrics:
            users = int(self.state.sums.values.count.reshape(systems, metrics)[0, at])
            if systems < 3 or users < 2:
                continue
            ranks = self.state.ranks[:, at]
            correction = 1 - self.state.tied[at] / (systems * (systems**2 - 1) * users)
            statistic = p = math.nan
            if correction > 0:
                squares = 12 / (systems * users * (systems + 1)) * float(ranks @ ranks)
                statistic = (squares - 3 * users * (systems + 1)) / correction
                p = float(stats.chi2.sf(statistic, systems - 1))
            mean = ranks / users
            # Rank 1 is the best system's.
            mean = mean if higher_is_better(name, self.known) is False else systems + 1 - mean
            found[name] = st.nemenyi(users, mean, statistic, p, self.asked.how.alpha)
        return found

    def slices(self) -> Slices | None:
        if not self.asked.labels:
            return None
        rows = [row for kind in self.asked.labels for row in self._slice_rows(kind)]
        means = tuple(row for row in rows if isinstance(row, SliceMean))
        changes = tuple(row for row in rows if isinstance(row, SliceChange))
        compared = [name for _, name in self.metrics]
        return Slices(means, changes, tuple(name for name in self.known if name not in compared))

    def _slice_rows(self, kind: Labels) -> Iterator[SliceMean | SliceChange]:
        added = np.zeros(self.shape[1:])
        for _, label in kind.codes:
            part = self.state.slices.get((kind.kind, label))
            if part is not None:
                added += part.adds
                yield from self._label_rows(kind.kind, label, part, kind.side)
        if kind.side == "item":
            yield from self._items_together(kind.kind, added)

    def _label_rows(self, kind: str, label: str, part: SliceSums, side: Side) -> Iterator[SliceMean | SliceChange]:
        systems, _, metrics = self.shape
        means, moved = self._estimate(part.sums)
        totals = self.state.sums.values.count.reshape(systems, metrics)[0]
        users = part.sums.values.count.reshape(systems, metrics)[0]
        for at, name in self.metrics:
            count, total = int(users[at]), max(int(totals[at]), 1)
            if not count:
                continue
            better = higher_is_better(name, self.known)
            for row, system in enumerate(self.asked.systems):
                value, low, high = means[:, row, at].tolist()
                yield SliceMean(kind, label, name, system, count, count / total, value, low, high, better, side)
            for row, (old, new) in enumerate(self.asked.pairs):
                value, low, high = moved[:, row, at].tolist()
                adds, share = float(part.adds[row, at]) / total, float(part.share[at]) / total
                yield SliceChange(kind, label, name, new, old, count, share, value, low, high, adds, side)

    def _items_together(self, kind: str, added: Floats) -> Iterator[SliceChange]:
        """The part of the difference that belongs to no single slice of items."""
        metrics = len(self.asked.metrics)
        whole = self.state.sums.change
        for at, name in self.metrics:
            for row, (old, new) in enumerate(self.asked.pairs):
                place = row * metrics + at
                count = int(whole.count[place])
                if count:
                    rest = float(whole.mean[place]) - float(added[row, at]) / count
                    nan = math.nan
                    yield SliceChange(kind, TOGETHER, name, new, old, count, 0.0, nan, nan, nan, rest, "item")

    @cached_property
    def _of_all_users(self) -> tuple[Floats, Floats]:
        return self._estimate(self.state.sums)

    def _estimate(self, sums: GroupedSums) -> tuple[Floats, Floats]:
        """`[3, k, m]` and `[3, p, m]`: mean, low and high end of the values and of the differences.

        A resample without any user counts as the observed mean.
        """
        systems, pairs, metrics = self.shape
        count = sums.values.count.reshape(systems, metrics)[:1]
        observed = np.where(count > 0, sums.values.mean.reshape(systems, metrics), math.nan)
        sampled = poisson_sums(sums.groups, self.asked.how.resamples, self.asked.how.seed)
        totals, users = sampled[:, : systems * metrics], sampled[:, None, systems * metrics :]
        drawn = np.where(users > 0, totals.reshape(-1, systems, metrics) / np.maximum(users, 1), observed)
        changed = np.zeros((len(drawn), pairs, metrics))
        for row, pair in enumerate(self.asked.pairs):
            old, new = map(self.asked.systems.index, pair)
            changed[:, row] = drawn[:, new] - drawn[:, old]
        return self._find_ends(sums.values, drawn), self._find_ends(sums.change, changed)

    def _find_ends(self, spread: ColumnSpread, drawn: Floats) -> Floats:
        """`[3, rows, m]`: means and the ends of their BCa intervals; NaN below one and two users."""
        found = np.full((3, len(spread.mean)), math.nan)
        some, enough = spread.count > 0, spread.count > 1
        found[0, some] = spread.mean[some]
        found[1:, enough] = bca_ends(
            spread.mean[enough],
            spread.squares[enough],
            spread.cubes[enough],
            drawn.reshape(len(drawn), -1)[:, enough],
            1 - self.asked.how.alpha,
        )
        return found.reshape(3, *drawn.shape[1:])

    def _test(self) -> dict[str, Floats]:
        """The tests of the differences, `[p * m]` each; NaN below two users."""
        from scipy import stats

        change = self.state.sums.change
        spread, count = change.deviation, np.maximum(change.count, 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(spread > 0, change.mean / spread, math.nan)
        t = size * np.sqrt(count)
        flipped = sign_sums(self.state.changes, self.asked.how.resamples, self.asked.how.seed)
        ranked = np.array([one.test() for one in self.state.magnitudes]).reshape(-1, 2)
        columns = {
            "t": t,
            "p_t": 2 * stats.t.sf(np.abs(t), count - 1),
            "wilcoxon": ranked[:, 0],
            "p_wilcoxon": ranked[:, 1],
            "p_permutation": flipped_p(change.mean, flipped / count, exact=False),
            "d_z": size,
            "spread": spread,
        }
        return {name: np.where(change.count > 1, column, math.nan) for name, column in columns.items()}
