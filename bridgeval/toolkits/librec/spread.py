"""Spread: which items are shown, and how often, over all lists together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from bridgeval.data.ids import Ids
from bridgeval.data.needs import Needs
from bridgeval.data.ranking import Order, Ranking
from bridgeval.engine.blocks import Blocks, Ranked, ShownColumn, Users
from bridgeval.engine.metric import Metric, TotalMetric
from bridgeval.engine.state import Floats, ItemSums, Sums, Tally
from bridgeval.engine.summary import Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.totals import item_counts, population
from bridgeval.toolkits.librec.protected import item_state, summed_by_item


@dataclass(frozen=True)
class ListInformation(TotalMetric):
    """The self-information of a list: `sum_j -log2(s_j)`, s_j the share of users who have the item at place j in the
    history or the truth. A sum over the list, not a mean; then the mean over users.

    Items that nobody has add nothing. LibRec: NoveltyEvaluator.

    >>> import bridgeval
    >>> ratings = {"history": {1: ["a"], 2: ["a"], 3: ["b"], 4: ["c"]}, "metrics": "ListInformation@2"}
    >>> bridgeval.evaluate({1: ["a", "b"], 2: ["c"], 3: [], 4: []}, {1: ["b"]}, **ratings)["ListInformation@2"]
    1.0
    """

    name = "ListInformation"
    family = "novelty"

    users: Users = field(default="known", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(lists=frozenset({"history lists"}))

    def update(self, blocks: Blocks) -> Tally:
        counted = self.counted(blocks)
        rated = rated_items(blocks, torch.ones_like(counted))
        shown = item_counts(blocks, self).values
        return Tally(Sums({"users": int(counted.sum())}), item_state(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        users = state.sums["users"]
        if not users:
            return Result(math.nan, users=0)
        shown, rated = state.items.values[(state.items.values > 0).all(axis=1)].T
        return Result(float((shown * -np.log2(rated / users)).sum() / users), users=users)


@dataclass(frozen=True)
class ShowingEntropy(TotalMetric):
    """`sum_i -p_i log2 p_i`, p_i the share of users whose first k places hold item i.

    These shares add up to the length of the lists and not to 1: `ShannonEntropy` is an entropy in the strict sense.
    LibRec: EntropyEvaluator, over all known users.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"], 2: ["b"]}, {1: ["a"]}, "ShowingEntropy@1")["ShowingEntropy@1"]
    1.0
    """

    name = "ShowingEntropy"
    family = "diversity"

    def update(self, blocks: Blocks) -> Tally:
        return Tally(Sums({"users": population(blocks, self)}), item_counts(blocks, self))

    def compute(self, state: Tally) -> Result:
        users = state.sums["users"]
        shares = state.items.values[state.items.values > 0] / max(users, 1)
        return Result(float(-(shares * np.log2(shares)).sum()) if users else math.nan, users=users)


@dataclass(frozen=True)
class RatedCoverage(TotalMetric):
    """Different items shown in the first k places, over the different items these users have in history and truth.

    LibRec: ItemCoverageEvaluator, over users with test rows.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a"]}, {1: ["b"]}, "RatedCoverage@1", history={1: ["c"], 2: ["d"]})["RatedCoverage@1"]
    0.5
    """

    name = "RatedCoverage"
    family = "coverage"

    users: Users = field(default="relevant", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(lists=frozenset({"history lists"}))

    def update(self, blocks: Blocks) -> Tally:
        rated = rated_items(blocks, self.counted(blocks))
        shown = item_counts(blocks, self).values
        return Tally(Sums({"users": population(blocks, self)}), item_state(blocks, shown, rated))

    def compute(self, state: Tally) -> Result:
        if not state.sums["users"]:
            return Result(math.nan, users=0)
        shown, rated = (state.items.values > 0).sum(axis=0)
        return Result(float(shown / rated) if rated else math.nan, users=state.sums["users"])


@dataclass(frozen=True)
class AlphaCoverage(TotalMetric):
    """The share of the catalogue that is shown at least `alpha` times, in the first k places of all lists.

    What librec-auto's alpha-IA sets out to measure.

    >>> import bridgeval
    >>> lists = {1: ["a"], 2: ["a"], 3: ["b"]}
    >>> bridgeval.evaluate(lists, lists, "AlphaCoverage(alpha=2)@1", catalogue=["a", "b"]).values
    {'AlphaCoverage(alpha=2)@1': 0.5}
    """

    name = "AlphaCoverage"
    family = "coverage"

    alpha: int = field(default=1, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def update(self, blocks: Blocks) -> Tally:
        facts = {"items": len(blocks.lookup.catalogue)}
        return Tally(Sums({"users": population(blocks, self)}), item_counts(blocks, self, "catalogue"), facts)

    def compute(self, state: Tally) -> Result:
        items = state.facts.get("items", 0)
        often = int((state.items.values >= self.alpha).sum())
        return Result(often / items if items else math.nan, users=state.sums["users"])


def rated_items(blocks: Blocks, users: Tensor) -> Floats:
    """`[V]`: how many of some users `[B]` have each item in the history or the truth."""
    both = (blocks.batch.history, blocks.batch.relevant)
    counts = [summed_by_item(blocks, rows.items, rows.valid & users[:, None]) for rows in both]
    return counts[0] + counts[1]


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
        numbers = _numbers(users) if _numbers(slates.items) is not None else None
        at = len(rows) - 1 if numbers is None else int(np.argmax(numbers))
        by_text = (str(users.tolist()[-1]), self._list(blocks, rows[-1]))
        if numbers is None:
            return LastList(False, by_text=by_text)
        return LastList(True, (float(numbers[at]), self._list(blocks, rows[at])), by_text)

    def _list(self, blocks: Blocks, row: int) -> tuple[Any, ...]:
        lists = blocks[Ranked(Ranking(self.order, duplicates="all"))]
        codes = lists.items[row][lists.valid[row]].cpu().numpy()
        return tuple(blocks.batch.slates.items.take(codes).tolist())

    def compute(self, state: Visits) -> Result:
        if not state.users or state.counts.ids is None:
            return Result(math.nan, users=0)
        items = (state.last.by_number if state.last.numeric else state.last.by_text)[1]
        at = Ids.of(list(items), "item id").positions_in(state.counts.ids) if items else np.zeros(0, np.int64)
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
