"""Discovery: does the list show what the user, the crowd or another system would not have come up with?

None of these looks at relevance, so users who were shown something count. H_u = items of the user in the history,
n = min(k, items shown). B users, D depth of the ranked lists, V items of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.ranking import Ranking, repeats
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    Ranked,
    ShownColumn,
    ShownCount,
    ShownWithin,
    Users,
    at_cutoff,
)
from bridgeval.engine.metric import TopKMetric
from bridgeval.engine.needs import Needs, baseline_column
from bridgeval.metrics.blocks.feature_bits import LabelBits, label_count
from bridgeval.metrics.blocks.hits import PlaceList, Repeated
from bridgeval.metrics.blocks.listed_items import ListedItems, bits_over_places
from bridgeval.metrics.blocks.place_sums import place_sums, sums_needed


@dataclass(frozen=True)
class Surprisal(TopKMetric):
    """Mean self-information of the items shown, scaled to 0..1: `w_i = log2(N / N_i) / log2(N)`.

    N users are in the history, N_i of them have item i; an item that nobody has weighs 1, as one that a single user has
    (self-information as in Zhou et al. 2010, "Solving the apparent diversity-accuracy dilemma"). With one user in the
    history the scale is 0 / 0, so that items of the history have no value.

    Undefined for users who were shown nothing.

    Attributes:
        divide_by: "shown", n; or "k", which counts missing places as no surprise.

    >>> import bridgeval
    >>> history = {1: ["a"], 2: ["a", "b"], 3: ["a"], 4: ["a"]}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "Surprisal@2", history=history)["Surprisal@2"]
    0.5
    """

    name = "Surprisal"
    family = "novelty"

    users: Users = field(default="shown", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        popularity = Needs(context=frozenset({"item popularity"}))
        return super().needs() | popularity | sums_needed(self.ranking, ItemSurprisal())

    def values(self, blocks: Blocks) -> Tensor:
        total = place_sums(blocks, self.ranking, ItemSurprisal(), self.k)
        return total / _places(blocks, self.ranking, self.k, self.divide_by)


@dataclass(frozen=True)
class Novelty(TopKMetric):
    """The share of the items shown that the user does not have in the history: `|P[:k] - H_u| / n`.

    Undefined for users who were shown nothing.

    Attributes:
        divide_by: "shown", n; or "k".
        empty: what users who were shown nothing get: "undefined", or "one", nothing old was shown to them.
        repeated: an old item that is shown several times, where duplicates are kept, is old "once", or "each" time.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "Novelty@2", history={1: ["a"]})["Novelty@2"]
    0.5
    """

    name = "Novelty"
    family = "novelty"

    users: Users = field(default="shown", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    empty: Literal["undefined", "one"] = field(default="undefined", kw_only=True)
    repeated: Repeated = field(default="once", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"seen"}))

    def values(self, blocks: Blocks) -> Tensor:
        old = blocks[SeenPlaces(self.ranking, self.repeated)].count(self.k)
        shown = blocks[ShownWithin(self.k, self.ranking)]
        value = (shown - old) / _places(blocks, self.ranking, self.k, self.divide_by)
        return torch.where(shown == 0, 1.0, value) if self.empty == "one" else value


@dataclass(frozen=True)
class Unexpectedness(TopKMetric):
    """The share of the items shown that another system does not show in its own first k places.

    `1 - |P[:k] & B[:k]| / n` with the baseline's list B, ranked by the same policy (after Murakami, Mori and Orihara
    2008, who measure against a primitive predictor).

    Undefined for users who were shown nothing, or to whom the baseline shows nothing.

    Attributes:
        divide_by: "shown", n; or "k", which counts missing places as unexpected.
        empty: what users with an empty list on either side get: "undefined" or "zero".
        baseline: the name of the baseline, where several were given.

    >>> import bridgeval
    >>> lists = {1: ["a", "b"]}
    >>> bridgeval.evaluate(lists, {1: ["b"]}, "Unexpectedness@2", baseline={1: ["c", "a"]})["Unexpectedness@2"]
    0.5
    """

    name = "Unexpectedness"
    family = "novelty"

    users: Users = field(default="shown", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    empty: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)
    baseline: str = field(default="", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(
            pairs=frozenset({baseline_column(self.baseline)}),
            baselines=frozenset({(self.baseline, self._baseline_ranking)}),
        )

    def values(self, blocks: Blocks) -> Tensor:
        column = baseline_column(self.baseline, self._baseline_ranking)
        place = blocks[ShownColumn(column, self.ranking)][:, : self.k]
        expected = ((place <= self.k) & blocks[FirstShown(self.ranking)][:, : self.k]).sum(1).double()
        value = 1 - expected / _places(blocks, self.ranking, self.k, self.divide_by)
        has_baseline = blocks.batch.user_column(f"in_baseline {self.baseline}".strip())
        both = has_baseline & (blocks[ShownCount(self.ranking)] > 0)
        return torch.where(both, value, 0.0 if self.empty == "zero" else torch.nan)

    @property
    def _baseline_ranking(self) -> Ranking:
        """The policy, but for the cut, which is about the lists that are evaluated."""
        return replace(self.ranking, cut=None)


@dataclass(frozen=True)
class CategoricalDiversity(TopKMetric):
    """How many different categories the first k places show, for each item shown.

    Items of several categories show all of them, so that the value may exceed 1; items without one show none.

    Undefined for users who were shown nothing.

    Attributes:
        of: the categories of "items", given as item_features; or of "rows", each with its own, which lists
            that RePlay's class reads have.
        divide_by: "shown", n; or "k".

    >>> import bridgeval
    >>> genres = {"a": "rock", "b": "rock", "c": "jazz"}
    >>> report = bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "CategoricalDiversity@2", item_features=genres)
    >>> report["CategoricalDiversity@2"]
    0.5
    """

    name = "CategoricalDiversity"
    family = "diversity"

    users: Users = field(default="shown", kw_only=True)
    of: Literal["items", "rows"] = field(default="items", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        if self.of == "rows":
            return super().needs() | Needs(pairs=frozenset({"category"}))
        return super().needs() | Needs(context=frozenset({"item features"}))

    def values(self, blocks: Blocks) -> Tensor:
        if self.of == "items":
            cutoffs = blocks.together_with(self.k)
            different = blocks[ListedLabels(self.ranking, cutoffs)][cutoffs.index(self.k)]
        else:
            different = at_cutoff(blocks[CategoryCounts(self.ranking)], self.k).double()
        return different / _places(blocks, self.ranking, self.k, self.divide_by)


def _places(blocks: Blocks, ranking: Ranking, k: int, divide_by: Literal["shown", "k"]) -> Tensor | int:
    """What a share of the list is taken of; 0 / 0 leaves users without a list undefined."""
    return k if divide_by == "k" else blocks[ShownWithin(k, ranking)]


@dataclass(frozen=True)
class FirstShown(Block[Tensor]):
    """Cells with an item that does not stand further up in its list: `[B, D]` bool."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        shown = blocks[Ranked(self.ranking)]
        if self.ranking.duplicates == "best" or not blocks.batch.shown.repeated:
            return shown.valid
        return shown.valid & ~repeats(shown.items.contiguous(), blocks.batch.shown.pad)


@dataclass(frozen=True)
class SeenPlaces(Block[PlaceList]):
    """Where items of the history are shown; a repeated one "once" or "each" time."""

    ranking: Ranking = Ranking()
    repeated: Repeated = "once"

    def make(self, blocks: Blocks) -> PlaceList:
        ranked = blocks[Ranked(self.ranking)]
        rows, places = blocks.batch.shown.marked_places("seen", ranked, self.ranking)
        if self.repeated == "once" and ranked.repeated:
            first = blocks[FirstShown(self.ranking)][rows, places]
            rows, places = rows[first], places[first]
        return PlaceList(rows, places + 1, len(blocks), ranked.items.shape[1], blocks.cutoffs)


@dataclass(frozen=True)
class ItemSurprisal(Block[Tensor]):
    """Scaled self-information of each item, 0 for no item: `[V + 1]` float64."""

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._weights(blocks))

    def _weights(self, blocks: Blocks) -> Tensor:
        everyone = torch.tensor(float(blocks.context.history_users), dtype=torch.float64, device=blocks.device)
        holders = blocks.lookup.items("popularity")
        weights = torch.where(holders > 0, torch.log2(everyone / holders) / torch.log2(everyone), 1.0)
        weights[-1] = 0
        return weights


@dataclass(frozen=True)
class ListedLabels(Block[Tensor]):
    """How many features the items in the first places of each list have between them: `[cutoffs, B]` float64."""

    ranking: Ranking
    cutoffs: tuple[int, ...]

    def make(self, blocks: Blocks) -> Tensor:
        items = blocks[ListedItems(self.ranking)]
        return label_count(bits_over_places(items, words, self.cutoffs) for words in blocks[LabelBits()]).double()


@dataclass(frozen=True)
class CategoryCounts(Block[Tensor]):
    """Different categories, of the column `category`, in the first 1, 2, ... places: `[B, D]` int64."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        none = -1
        codes = blocks[ShownColumn("category", self.ranking)].long()
        codes = codes.masked_fill(~blocks[Ranked(self.ranking)].valid, none)
        return ((codes != none) & ~repeats(codes, none)).cumsum(1)
