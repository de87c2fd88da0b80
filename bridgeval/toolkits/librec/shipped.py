"""Two scripts of librec-auto as they are, kept to reproduce its numbers; each names the sound measure beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bridgeval.errors import BadParameterError
from bridgeval.plugin import Blocks, Ids, ItemSums, Metric, Needs, Order, Ranked, Ranking, Result, ShownColumn
from bridgeval.toolkits.librec.protected import item_state, summed_by_item


@dataclass(frozen=True)
class LastList:
    """The list of the user who comes last, by number and by text.

    Attributes:
        numeric: whether all ids so far are numbers, so that the order of numbers is the one that counts.
    """

    numeric: bool = True
    by_number: tuple[float, tuple[Any, ...]] = (-math.inf, ())
    by_text: tuple[str, tuple[Any, ...]] = ("", ())

    def merge(self, other: LastList) -> LastList:
        return LastList(
            self.numeric and other.numeric,
            max(self.by_number, other.by_number, key=lambda last: last[0]),
            max(self.by_text, other.by_text, key=lambda last: last[0]),
        )


@dataclass(frozen=True)
class Visits:
    """How often each item was shown, to how many users, and the list of the last."""

    counts: ItemSums = field(default_factory=ItemSums)
    users: int = 0
    last: LastList = field(default_factory=LastList)

    def merge(self, other: Visits) -> Visits:
        return Visits(self.counts.merge(other.counts), self.users + other.users, self.last.merge(other.last))


@dataclass(frozen=True)
class AlphaIA(Metric):
    """librec-auto's `alpha-IA.py`: items of the last user shown at least `alpha` times, over the number of users.

    It goes through the users in order, so only the last one's list enters; the last is the highest id, as numbers
    where all ids are numbers, else as text. Kept to reproduce that package's numbers; `AlphaCoverage` is what was
    meant.

    Attributes:
        alpha: how often.
        users: those who were "shown" a list (git version), or those with "relevant" rows (PyPI 0.2.13).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["a"]}, {1: ["a"]}, "AlphaIA(alpha=2)")["AlphaIA(alpha=2)"]
    0.5
    """

    name = "AlphaIA"
    family = "diversity"

    alpha: int = field(default=1, kw_only=True)
    users: Literal["shown", "relevant"] = field(default="shown", kw_only=True)
    order: Order = field(default="score", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha < 1:
            raise BadParameterError("alpha must be a whole number from 1 up", f"{self.alpha}", "e.g. 3")

    def needs(self) -> Needs:
        return Needs(depth=None)

    def start(self) -> Visits:
        return Visits()

    def update(self, blocks: Blocks) -> Visits:
        batch = blocks.batch
        kept = (batch.shown if self.users == "shown" else batch.relevant).lengths > 0
        lists = blocks[Ranked(Ranking(self.order, duplicates="all"))]
        counts = item_state(blocks, summed_by_item(blocks, lists.items, lists.valid & kept[:, None]))
        rows = np.flatnonzero(kept.cpu().numpy())
        return Visits(counts, len(rows), self._last(blocks, rows))

    def _last(self, blocks: Blocks, rows: Any) -> LastList:
        if not len(rows):
            return LastList()
        slates = blocks.batch.slates
        users = slates.users.take(rows + blocks.batch.start)
        names = users.to_arrow().cast(pa.large_string())
        last = pc.sort_indices(names)[-1].as_py()
        by_text = (names[last].as_py(), self._list(blocks, rows[last]))
        numbers = _numbers(users) if _numbers(slates.items) is not None else None
        if numbers is None:
            return LastList(False, by_text=by_text)
        highest = int(np.argmax(numbers))
        return LastList(True, (float(numbers[highest]), self._list(blocks, rows[highest])), by_text)

    def _list(self, blocks: Blocks, row: int) -> tuple[Any, ...]:
        lists = blocks[Ranked(Ranking(self.order, duplicates="all"))]
        codes = lists.items[row][lists.valid[row]].cpu().numpy()
        return tuple(blocks.batch.slates.items.take(codes).tolist())

    def compute(self, state: Visits) -> Result:
        if not state.users or state.counts.ids is None:
            return Result(math.nan, users=0)
        items = (state.last.by_number if state.last.numeric else state.last.by_text)[1]
        at = Ids.of(list(items), "item ids").positions_in(state.counts.ids) if items else np.zeros(0, np.int64)
        often = int((state.counts.values.ravel()[at[at >= 0]] >= self.alpha).sum())
        return Result(often / state.users, users=state.users)


def _numbers(ids: Ids) -> Any:
    """Ids as float64; None where one is not a number."""
    try:
        return pc.cast(ids.to_arrow(), pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


@dataclass(frozen=True)
class Exposures:
    """Scores and ratings of each item, and the range of the ratings.

    Attributes:
        sums: by item: scores, how many, ratings, how many.
        low, high: the range of all ratings.
    """

    sums: ItemSums = field(default_factory=ItemSums)
    low: float = math.inf
    high: float = -math.inf

    def merge(self, other: Exposures) -> Exposures:
        return Exposures(self.sums.merge(other.sums), min(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True)
class ScoreExposure(Metric):
    """librec-auto's `expected_exposure_metric.py` (PyPI 0.2.13): `mean over items shown of (s_i - t_i)^2`.

    s_i is the mean score of item i in the lists, t_i its mean rating in the test data (0 when it has none), both
    scaled by the range of the test ratings. Scores stand for exposure and two scales are mixed; `ExposureLoss` is the
    measure by rank. Undefined when all ratings are equal.

    >>> import bridgeval
    >>> lists, ratings = {1: {"a": 3.0, "b": 1.0}}, {1: {"a": 5.0, "c": 1.0}}
    >>> bridgeval.evaluate(lists, ratings, "ScoreExposure")["ScoreExposure"]  # ((0.5 - 1)^2 + (0 - 0)^2) / 2
    0.125
    """

    name = "ScoreExposure"
    family = "fairness"
    higher_is_better = False

    order: Order = field(default="score", kw_only=True)

    def needs(self) -> Needs:
        return Needs(depth=None, pairs=frozenset({"score"}))

    def start(self) -> Exposures:
        return Exposures()

    def update(self, blocks: Blocks) -> Exposures:
        lists, relevant = blocks[Ranked(Ranking(self.order, duplicates="all"))], blocks.batch.relevant
        scores = blocks[ShownColumn("score", Ranking(self.order, duplicates="all"))]
        gains = relevant.column("gain")
        sums = item_state(
            blocks,
            summed_by_item(blocks, lists.items, lists.valid, scores),
            summed_by_item(blocks, lists.items, lists.valid),
            summed_by_item(blocks, relevant.items, relevant.valid, gains),
            summed_by_item(blocks, relevant.items, relevant.valid),
        )
        rated = gains[relevant.valid]
        if not len(rated):
            return Exposures(sums)
        return Exposures(sums, float(rated.min()), float(rated.max()))

    def compute(self, state: Exposures) -> Result:
        if not state.high > state.low or state.sums.ids is None:
            return Result(math.nan)
        scores, shown, ratings, rated = state.sums.values[state.sums.values[:, 1] > 0].T
        span = state.high - state.low
        exposure = (scores / shown - state.low) / span
        target = np.where(rated > 0, (ratings / np.maximum(rated, 1) - state.low) / span, 0)
        return Result(float(np.square(exposure - target).mean()), notes={"items": len(shown)})
