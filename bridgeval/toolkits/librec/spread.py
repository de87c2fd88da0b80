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
from bridgeval.engine.blocks import Blocks, ItemValues, Ranked, ShownColumn
from bridgeval.engine.metric import Metric, TopKMetric
from bridgeval.engine.state import ItemSums
from bridgeval.engine.summary import Result
from bridgeval.errors import BadParameterError
from bridgeval.toolkits.librec.whole import Known, WholeMetric, item_state, summed_by_item

KNOWN_USERS = frozenset({"users of the history"})


@dataclass(frozen=True)
class ListInformation(TopKMetric):
    """The self-information of a list: `sum_j -log2(s_j)`, s_j the share of users who rated the item at place j, in the
    training or the test data. A sum over the list, not a mean; all users count. LibRec: NoveltyEvaluator.

    Items that nobody rated add nothing.
    """

    name = "ListInformation"
    family = "novelty"

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item rated_share"}), users=KNOWN_USERS)

    def counted(self, blocks: Blocks) -> Tensor:
        return Known.of(blocks)

    def values(self, blocks: Blocks) -> Tensor:
        shares = blocks[ItemValues("rated_share", self.ranking)][:, : self.k]
        return torch.where(shares > 0, -torch.log2(shares.clamp(min=1e-300)), 0.0).sum(1)


@dataclass(frozen=True)
class Showings:
    """How often each item was shown.

    Attributes:
        counts: by item.
        users: users that count.
        size: items that could have been shown, known to every batch alike.
    """

    counts: ItemSums = field(default_factory=ItemSums)
    users: int = 0
    size: int = 0

    def merge(self, other: Showings) -> Showings:
        return Showings(self.counts.merge(other.counts), self.users + other.users, max(self.size, other.size))


@dataclass(frozen=True)
class ShowingsMetric(WholeMetric):
    """A function of how often each item is shown in the first k places."""

    family = "diversity"

    def start(self) -> Showings:
        return Showings()

    def update(self, blocks: Blocks) -> Showings:
        items, valid = self.shown(blocks)
        kept = self.kept(blocks)
        counts = item_state(blocks, summed_by_item(blocks, items, valid & kept[:, None]))
        return Showings(counts, int(kept.sum()), self.size(blocks))

    def kept(self, blocks: Blocks) -> Tensor:
        """`[B]` bool: whose lists count; by default everybody's."""
        return torch.ones(len(blocks), dtype=torch.bool, device=blocks.device)

    def size(self, blocks: Blocks) -> int:
        catalogue = blocks.context.catalogue
        return 0 if catalogue is None else len(catalogue)

    def compute(self, state: Showings) -> Result:
        counts = state.counts.values.ravel()
        return Result(self.value(counts[counts > 0], state) if state.users else math.nan)

    def value(self, counts: Any, state: Showings) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define value(counts, state)")


@dataclass(frozen=True)
class ShowingEntropy(ShowingsMetric):
    """`sum_i -p_i log2 p_i`, p_i the share of users whose first k places hold item i. These shares add up to the
    length of the lists and not to 1, so this is not an entropy in the strict sense. LibRec: EntropyEvaluator.
    """

    name = "ShowingEntropy"

    def needs(self) -> Needs:
        return super().needs() | Needs(users=KNOWN_USERS)

    def kept(self, blocks: Blocks) -> Tensor:
        return Known.of(blocks)

    def value(self, counts: Any, state: Showings) -> float:
        shares = counts / state.users
        return float(-(shares * np.log2(shares)).sum())


@dataclass(frozen=True)
class ShowingGini(ShowingsMetric):
    """Gini index of how often each of the N items of the catalogue is shown:
    `sum_i (2 i - N - 1) p_i / (N - 1)`, p_i the shares of all showings in ascending order, i from 1.

    0 when all items are shown alike, 1 when a single one is. LibRec: GiniIndexEvaluator.
    """

    name = "ShowingGini"
    higher_is_better = False

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"catalogue"}))

    def value(self, counts: Any, state: Showings) -> float:
        size = max(state.size, len(counts))
        if size < 2 or not len(counts):
            return math.nan
        shares = np.sort(counts) / counts.sum()
        places = np.arange(size - len(counts) + 1, size + 1)
        return float(((2 * places - size - 1) * shares).sum() / (size - 1))


@dataclass(frozen=True)
class RatedCoverage(ShowingsMetric):
    """Different items shown to users with test rows, over the different items that these users have in the training and
    the test data. LibRec: ItemCoverageEvaluator.
    """

    name = "RatedCoverage"
    family = "coverage"

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item rated_by_tested"}))

    def kept(self, blocks: Blocks) -> Tensor:
        return self.tested(blocks)

    def size(self, blocks: Blocks) -> int:
        return int(blocks.context.items["rated_by_tested"].values.sum())

    def value(self, counts: Any, state: Showings) -> float:
        return len(counts) / state.size if state.size else math.nan


@dataclass(frozen=True)
class AlphaCoverage(ShowingsMetric):
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

    def value(self, counts: Any, state: Showings) -> float:
        return float((counts >= self.alpha).sum() / state.size) if state.size else math.nan


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
    """How often each item was shown, and the list of the last user."""

    showings: Showings = field(default_factory=Showings)
    last: LastList = field(default_factory=LastList)

    def merge(self, other: Visits) -> Visits:
        return Visits(self.showings.merge(other.showings), self.last.merge(other.last))


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
        lists = blocks[Ranked(Ranking(self.order))]
        counts = item_state(blocks, summed_by_item(blocks, lists.items, lists.valid & kept[:, None]))
        rows = np.flatnonzero(kept.cpu().numpy())
        return Visits(Showings(counts, len(rows)), self._last(blocks, rows))

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
        lists = blocks[Ranked(Ranking(self.order))]
        codes = lists.items[row][lists.valid[row]].cpu().numpy()
        return tuple(blocks.batch.slates.items.take(codes).tolist())

    def compute(self, state: Visits) -> Result:
        showings = state.showings
        if not showings.users or showings.counts.ids is None:
            return Result(math.nan, users=0)
        items = (state.last.by_number if state.last.numeric else state.last.by_text)[1]
        at = Ids.of(list(items), "item id").positions_in(showings.counts.ids) if items else np.zeros(0, np.int64)
        often = int((showings.counts.values.ravel()[at[at >= 0]] >= self.alpha).sum())
        return Result(often / showings.users, users=showings.users)


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
        lists, relevant = blocks[Ranked(Ranking(self.order))], blocks.batch.relevant
        scores = blocks[ShownColumn("score", Ranking(self.order))]
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
