"""Novelty: does the list show items that the user, the crowd or another system would not have found anyway?

EFD and EPC weigh relevant items, in the framework of Vargas and Castells (2011), with popularity in the history as the
chance that a user knows an item: `sum_j w_j * novelty(i_j) / log2(j + 1)` over the first k places, divided by the sum
of the k discounts. The others do not look at relevance: users who were shown something count.

H_u = items of the user in the history, n = min(k, items shown). B users, D depth of the ranked lists, V items.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.kernels import find_repeats
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Ranked, ShownColumn, ShownCount, Users, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import TopKMetric
from bridgeval.engine.needs import Needs, baseline_column
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.gains import DiscountedGains, Gain, is_never_negative, weigh_places
from bridgeval.metrics.blocks.hits import HitPlaces, Repeated
from bridgeval.metrics.blocks.listed_items import ListedItems, ListSums, list_length

Weight = Literal["binary", "linear", "exponential", "shifted", "none"]
OutOf = Literal["history", "known"]


@dataclass(frozen=True)
class ItemNovelty(Block[Tensor]):
    """The novelty of each item of the vocabulary, 0 for no item: `[V + 1]` float64.

    Attributes:
        kind: "surprisal", -log2 of the item's share of all interactions; "scaled", -log2 of the share of users who
            have it, from 0 to 1; "frequency", the same without a scale; "complement", the share of users who do not
            have it.
        floor: items of less popularity count as having this much.
        out_of: which users "complement" is a share of.
    """

    kind: Literal["surprisal", "scaled", "frequency", "complement"]
    floor: float = 0.0
    out_of: OutOf = "history"

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._novelty(blocks))

    def _novelty(self, blocks: Blocks) -> Tensor:
        context = blocks.context
        popularity = blocks.lookup.items("popularity").clamp(min=self.floor)
        if self.kind == "surprisal":
            novelty = -torch.log2(popularity / max(context.history_pairs, 1))
        elif self.kind == "frequency":
            novelty = torch.log2(context.history_users / popularity.clamp(min=1))
        elif self.kind == "scaled":
            everyone = torch.tensor(float(context.history_users), dtype=torch.float64, device=blocks.device)
            novelty = torch.where(popularity > 0, torch.log2(everyone / popularity) / torch.log2(everyone), 1.0)
        else:
            users = context.history_users if self.out_of == "history" else context.known_users
            novelty = 1 - popularity / max(users, 1)
        novelty[-1] = 0
        return novelty


@dataclass(frozen=True)
class HitNovelty(Block[Cumulative]):
    """Weighted, discounted novelty of the hits in the first k places: `[B]` float64."""

    novelty: ItemNovelty
    gain: Gain
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Cumulative:
        hits, gains = blocks[DiscountedGains(self.gain, "log2", self.ranking, self.relevance)]
        return hits.sum(gains * by_item(blocks[self.novelty], hits.items))


@dataclass(frozen=True)
class ListNovelty(Block[Cumulative]):
    """Discounted novelty of all items in the first k places: `[B]` float64."""

    novelty: ItemNovelty
    ranking: Ranking

    def make(self, blocks: Blocks) -> Cumulative:
        items = blocks[ListedItems(self.ranking)]
        cells = by_item(blocks[self.novelty], items) * weigh_places(blocks, "log2")[: len(items), None]
        return Cumulative.of_cells(blocks.cutoffs, cells, dim=0)


def expected_novelty(blocks: Blocks, metric: EFD | EPC, novelty: ItemNovelty) -> Tensor:
    """`[B]`: the weighted novelty of the first k places, over the sum of k discounts."""
    if metric.gain == "none":
        total = blocks[ListNovelty(novelty, metric.ranking)].up_to(metric.k)
    else:
        total = blocks[HitNovelty(novelty, metric.gain, metric.ranking, metric.relevance)].up_to(metric.k)
    sums = blocks.lookup.once(("sum of discounts", metric.k), lambda: weigh_places(blocks, "log2")[: metric.k].sum())
    return total / sums


def _is_never_negative(metric: EFD | EPC) -> bool:
    return metric.gain == "none" or is_never_negative(metric.gain, metric.relevance)


@dataclass(frozen=True)
class EFD(TopKMetric):
    """Expected free discovery: how surprising are the relevant items of the list?

    The novelty of an item is its self-information `-log2(pop / T)`, with pop the users of the history who have it and T
    all pairs of the history (Vargas and Castells 2011). Users count as in Precision; one without hits scores 0.

    Attributes:
        gain: the weight w_j: "binary", 1 for a relevant item and 0 for others; a gain as in nDCG; "none" weighs all
            items alike. WarpRec's relevance="discounted" is "shifted", which has no upper bound.
        floor: items of less popularity count as having this much; without it a new item is infinitely surprising.
        unknown: an item that the catalogue lacks is as new as can be ("rare"); or its user has no value
            ("undefined"), as in WarpRec where padding reaches the list.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"]}
    >>> bridgeval.evaluate({4: ["b"]}, {4: ["b"]}, "EFD@1", history=history)["EFD@1"]
    2.0
    """

    name = "EFD"
    family = "novelty"

    gain: Weight = field(default="binary", kw_only=True)
    floor: float = field(default=1.0, kw_only=True)
    unknown: Literal["rare", "undefined"] = field(default="rare", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.floor > 0:
            raise BadParameterError("EFD needs a floor above 0", f"{self.floor}", "1 counts a new item as seen once")

    @property
    def bounds(self) -> Bounds:
        # An item cannot have more than all pairs of the history; a floor above 1 may exceed them.
        return NEVER_NEGATIVE if self.floor <= 1 and _is_never_negative(self) else UNBOUNDED

    def needs(self) -> Needs:
        context = {"item popularity"} if self.unknown == "rare" else {"item popularity", "catalogue"}
        return super().needs() | Needs(context=frozenset(context))

    def values(self, blocks: Blocks) -> Tensor:
        values = expected_novelty(blocks, self, ItemNovelty("surprisal", self.floor))
        if self.unknown == "rare":
            return values
        shown = blocks[Ranked(self.ranking)]
        items, valid = shown.items[:, : self.k], shown.valid[:, : self.k]
        return values.masked_fill((valid & ~by_item(blocks.lookup.in_catalogue, items)).any(1), torch.nan)


@dataclass(frozen=True)
class EPC(TopKMetric):
    """Expected popularity complement: how many users do not have the relevant items of the list?

    The novelty of an item is `1 - pop / U`, with pop the users of the history who have it and U all users of the
    history (Vargas and Castells 2011).

    Attributes:
        gain: the weight w_j, as in EFD.
        floor: items of less popularity count as having this much; WarpRec takes 1.
        out_of: U: users of the "history", or, as in WarpRec, all that are "known", with or without history.

    >>> import bridgeval
    >>> history = {1: ["a", "b"], 2: ["a"], 3: ["a"], 4: ["a"]}
    >>> bridgeval.evaluate({5: ["b"]}, {5: ["b"]}, "EPC@1", history=history)["EPC@1"]
    0.75
    """

    name = "EPC"
    family = "novelty"

    gain: Weight = field(default="binary", kw_only=True)
    floor: float = field(default=0.0, kw_only=True)
    out_of: OutOf = field(default="history", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        # The users that are known may be fewer than those of the history, who make up the popularity.
        if self.floor > 1 or self.out_of == "known" or not _is_never_negative(self):
            return UNBOUNDED
        return SHARE if self.gain in ("binary", "none") else NEVER_NEGATIVE

    def needs(self) -> Needs:
        users = frozenset({"all users"} if self.out_of == "known" else ())
        return super().needs() | Needs(context=frozenset({"item popularity"}), users=users)

    def values(self, blocks: Blocks) -> Tensor:
        return expected_novelty(blocks, self, ItemNovelty("complement", self.floor, self.out_of))


@dataclass(frozen=True)
class Surprisal(TopKMetric):
    """Mean self-information of the items shown, scaled to 0..1: `w_i = log2(N / N_i) / log2(N)`.

    N users are in the history, N_i of them have item i; an item that nobody has weighs 1, as one that a single user has
    (self-information as in Zhou et al. 2010, "Solving the apparent diversity-accuracy dilemma"). With one user in the
    history the scale is 0 / 0, so that items of the history have no value.

    Undefined for users who were shown nothing.

    Attributes:
        divide_by: "shown", n; or "k", which counts missing places as no surprise.
        scaled: False leaves the scale out, `w_i = log2(N / N_i)`: mean inverse user frequency (Castells et al. 2011).

    >>> import bridgeval
    >>> history = {1: ["a"], 2: ["a", "b"], 3: ["a"], 4: ["a"]}
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "Surprisal@2", history=history)["Surprisal@2"]
    0.5
    """

    name = "Surprisal"
    family = "novelty"

    users: Users = field(default="shown", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    scaled: bool = field(default=True, kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.scaled else NEVER_NEGATIVE

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item popularity"}))

    def values(self, blocks: Blocks) -> Tensor:
        kind: Literal["scaled", "frequency"] = "scaled" if self.scaled else "frequency"
        total = blocks[ListSums(ItemNovelty(kind), self.ranking)].up_to(self.k)
        return total / list_length(blocks, self, self.divide_by)


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
    bounds = SHARE

    users: Users = field(default="shown", kw_only=True)
    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    empty: Literal["undefined", "one"] = field(default="undefined", kw_only=True)
    repeated: Repeated = field(default="once", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"seen"}))

    def values(self, blocks: Blocks) -> Tensor:
        old = blocks[SeenCounts(self.ranking, self.repeated)].up_to(self.k)
        shown = blocks[ShownCount(self.ranking)].clamp(max=self.k)
        value = (shown - old) / list_length(blocks, self, self.divide_by)
        return torch.where(shown == 0, 1.0, value) if self.empty == "one" else value


@dataclass(frozen=True)
class BaselineMetric(TopKMetric):
    """The base of metrics that compare each list with that of another system, the baseline.

    Attributes:
        baseline: the name of the baseline, where several were given.
    """

    users: Users = field(default="shown", kw_only=True)
    baseline: str = field(default="", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(
            pairs=frozenset({baseline_column(self.baseline)}),
            baselines=frozenset({(self.baseline, self._baseline_ranking)}),
        )

    def baseline_places(self, blocks: Blocks) -> Tensor:
        """`[B, D]` float64: the place of each item of the list in the baseline's list, from 1; NaN if it has none."""
        return blocks[ShownColumn(baseline_column(self.baseline, self._baseline_ranking), self.ranking)].double()

    def both_listed(self, blocks: Blocks) -> Tensor:
        """`[B]` bool: the users to whom both show something."""
        has_baseline = blocks.batch.user_column(f"in_baseline {self.baseline}".strip())
        return has_baseline & (blocks[ShownCount(self.ranking)] > 0)

    @property
    def _baseline_ranking(self) -> Ranking:
        """The policy, but for the cut, which is about the lists that are evaluated."""
        return replace(self.ranking, cut=None)


@dataclass(frozen=True)
class Unexpectedness(BaselineMetric):
    """The share of the items shown that another system does not show in its own first k places.

    `1 - |P[:k] & B[:k]| / n` with the baseline's list B, ranked by the same policy (after Murakami, Mori and Orihara
    2008, who measure against a primitive predictor).

    Undefined for users who were shown nothing, or to whom the baseline shows nothing.

    Attributes:
        divide_by: "shown", n; or "k", which counts missing places as unexpected.
        empty: what users with an empty list on either side get: "undefined" or "zero".
        count: the share of "unexpected" items, or of "expected" ones: how much the two lists have in common.

    >>> import bridgeval
    >>> lists = {1: ["a", "b"]}
    >>> bridgeval.evaluate(lists, {1: ["b"]}, "Unexpectedness@2", baseline={1: ["c", "a"]})["Unexpectedness@2"]
    0.5
    """

    name = "Unexpectedness"
    family = "novelty"
    bounds = SHARE

    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    empty: Literal["undefined", "zero"] = field(default="undefined", kw_only=True)
    count: Literal["unexpected", "expected"] = field(default="unexpected", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        place = self.baseline_places(blocks)[:, : self.k]
        expected = ((place <= self.k) & blocks[FirstShown(self.ranking)][:, : self.k]).sum(1).double()
        share = expected / list_length(blocks, self, self.divide_by)
        value = share if self.count == "expected" else 1 - share
        return torch.where(self.both_listed(blocks), value, 0.0 if self.empty == "zero" else torch.nan)


@dataclass(frozen=True)
class PopularityPlace(Block[Tensor]):
    """The place of each item among the items of the history by popularity, equal ones at one place: `[V + 1]` float64.

    0 for an item that nobody has.
    """

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._place(blocks))

    def _place(self, blocks: Blocks) -> Tensor:
        popularity = blocks.lookup.items("popularity").double()
        known = torch.from_numpy(np.unique(blocks.context.items["popularity"].values)).double()
        known = known[known > 0].to(blocks.device)
        return torch.where(popularity > 0, len(known) - torch.searchsorted(known, popularity), 0).double()


@dataclass(frozen=True)
class Serendipity(TopKMetric):
    """The gain in rank of relevant items over an order by popularity: `1/n sum_j h_j max(0, p_j - q_j)` (RecTools).

    `p_j = (N + 1 - j) / N` for place j, `q_j = (N + 1 - s) / N` for the place s that popularity in the history gives
    the item, 0 for one that nobody has; items of equal popularity share a place. N items in the catalogue.

    Undefined for users who were shown nothing.

    >>> import bridgeval
    >>> history, catalogue = {1: ["a", "b"], 2: ["a"]}, ["a", "b", "c", "d"]
    >>> lists, truth, name = {3: ["b"]}, {3: ["b"]}, "Serendipity@1"
    >>> bridgeval.evaluate(lists, truth, name, history=history, catalogue=catalogue)[name]
    0.25
    """

    name = "Serendipity"
    family = "novelty"
    bounds = SHARE

    users: Users = field(default="shown", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item popularity", "catalogue"}))

    def values(self, blocks: Blocks) -> Tensor:
        hits, size = blocks[HitPlaces(self.ranking, self.relevance)], len(blocks.lookup.catalogue)
        place = by_item(blocks[PopularityPlace()], hits.items)
        likely = torch.where(place > 0, (size + 1 - place) / size, 0.0)
        surprise = ((size + 1 - hits.ranks) / size - likely).clamp(min=0)
        return hits.sum(surprise).up_to(self.k) / list_length(blocks, self, "shown")


@dataclass(frozen=True)
class PropensityHits(TopKMetric):
    """Hits in the first k places, each weighed by how rare it is in the history: `sum_j h_j T / pop(i_j)`.

    pop is the number of users of the history who have an item, T the sum of it over all items: hits by the inverse of
    their propensity to be seen. An item that nobody has counts as one that a single user has. RecPack's IPSHitRateK.

    >>> import bridgeval
    >>> history, name = {1: ["a", "b"], 2: ["a"], 3: ["a"]}, "PropensityHits@1"
    >>> bridgeval.evaluate({4: ["b"]}, {4: ["b"]}, name, history=history)[name]
    4.0
    """

    name = "PropensityHits"
    family = "novelty"
    bounds = NEVER_NEGATIVE

    def needs(self) -> Needs:
        return super().needs() | Needs(context=frozenset({"item popularity"}))

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        popularity = by_item(blocks.lookup.items("popularity"), hits.items).clamp(min=1)
        return hits.sum(blocks.context.history_pairs / popularity.double()).up_to(self.k)


@dataclass(frozen=True)
class FirstShown(Block[Tensor]):
    """Cells with an item that does not stand further up in its list: `[B, D]` bool."""

    ranking: Ranking = Ranking()

    def make(self, blocks: Blocks) -> Tensor:
        shown = blocks[Ranked(self.ranking)]
        if self.ranking.duplicates == "best" or not blocks.batch.shown.repeated:
            return shown.valid
        return shown.valid & ~find_repeats(shown.items, shown.pad)


@dataclass(frozen=True)
class SeenCounts(Block[Cumulative]):
    """The number of the first k places that show an item of the history: `[B]` float64.

    Attributes:
        repeated: an item that a list shows several times counts "once", or "each" time.
    """

    ranking: Ranking = Ranking()
    repeated: Repeated = "once"

    def make(self, blocks: Blocks) -> Cumulative:
        ranked = blocks[Ranked(self.ranking)]
        rows, places = torch.nonzero(blocks[ShownColumn("seen", self.ranking)] & ranked.valid, as_tuple=True)
        if self.repeated == "once" and ranked.repeated:
            first = blocks[FirstShown(self.ranking)][rows, places]
            rows, places = rows[first], places[first]
        return Cumulative.of_entries(blocks.cutoffs, rows, places, len(blocks))
