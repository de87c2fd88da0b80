"""Accuracy: are the right items high in the list?

Notation: h_j = 1 if the item at place j (from 1) is relevant, P = number of relevant items of the user, k = cutoff,
n = number of items shown. B users, D depth of the ranked lists. Asked for without a cutoff, a metric takes the whole
list: k is n. The areas under the ROC curve are in `auc.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import sum_by_code, sum_first
from bridgeval.batch.ranking import SHARED_TIES
from bridgeval.engine.blocks import WHOLE, Block, Blocks, HitIndex, RelevantCount, ShownCount
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import PrefixMetric, RatioMetric, RelevanceMetric, TopKMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Joint, State
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds, Result
from bridgeval.errors import BadParameterError
from bridgeval.metrics.blocks.composite import PartValues, check_parts
from bridgeval.metrics.blocks.gains import (
    Discount,
    FoundDCG,
    GainOrTable,
    GainSums,
    IdealDCG,
    ListDCG,
    RelevantGains,
    check_discount,
    check_gain,
    is_never_negative,
    weigh_places,
)
from bridgeval.metrics.blocks.hit_sums import HarmonicSums, PrecisionSums, ReciprocalSums, harmonic
from bridgeval.metrics.blocks.hits import (
    DistinctRelevantCount,
    EarlyHits,
    ExpectedHits,
    FirstHit,
    HitCounts,
    HitPlaces,
    JudgedPlaces,
    Repeated,
    early_places,
    sum_places,
)


@dataclass(frozen=True)
class CutoffRatio(RatioMetric):
    """A numerator over a denominator, at all cutoffs together.

    Subclasses define `ratios(blocks)`: `[cutoffs, B]` each, or what broadcasts to it.
    """

    def ratios(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        raise NotImplementedError(f"{type(self).__name__} must define ratios(blocks)")

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        above, below = self.ratios(blocks)
        return above / below

    def values(self, blocks: Blocks) -> Tensor:
        return TopKMetric.values(self, blocks)

    def ratio(self, blocks: Blocks) -> tuple[Tensor, Tensor | float]:
        above, below = self.ratios(blocks)
        below = below.expand(above.shape)
        return Cumulative(blocks.cutoffs, above).up_to(self.k), Cumulative(blocks.cutoffs, below).up_to(self.k)


@dataclass(frozen=True)
class Precision(CutoffRatio):
    """The share of the first k places that hold a relevant item: `sum(h_1..h_k) / k`.

    A list shorter than k is still divided by k (Manning, Raghavan and Schütze 2008, 8.4).

    Attributes:
        divide_by: "k"; "shown", the length of the cut list; "relevant", min(k, P), which RecTools calls R-precision:
            `RPrecision` is what the literature calls so; "judged", the items of the first k places that the truth
            judges, relevant or not, undefined without any: with over="pooled" it is a click-through rate.
        gain: a hit is worth 1 ("binary"), or its gain as in nDCG: with "linear" and divide_by="shown" it is the mean
            gain of the list.
        repeated: an item that is shown several times, where duplicates are kept, is found "once", or "each" time.
        missed: what a user without a hit gets: "zero"; "one"; or none ("drop").

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "Precision@4")["Precision@4"]
    0.25
    """

    name = "Precision"
    family = "accuracy"

    shared_ties = SHARED_TIES

    divide_by: Literal["k", "shown", "relevant", "judged"] = field(default="k", kw_only=True)
    gain: GainOrTable = field(default="binary", kw_only=True)
    repeated: Repeated = field(default="once", kw_only=True)
    missed: Literal["zero", "one", "drop"] = field(default="zero", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)
        if self.missed != "zero" and self.over == "pooled":
            raise BadParameterError(
                "Precision that is pooled has no value of a user", f"missed={self.missed!r}", "leave missed or over out"
            )

    @property
    def bounds(self) -> Bounds:
        if self.gain != "binary":
            return gain_bounds(self)
        # One relevant item that is shown several times is more hits than there are relevant items.
        again = self.repeated == "each" and self.ranking.duplicates == "all"
        return (0.0, float(self.k)) if self.divide_by == "relevant" and again else SHARE

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        values = super().at_cutoffs(blocks)
        if self.missed == "zero":
            return values
        return values.masked_fill(sum_hits(blocks, self) == 0, 1.0 if self.missed == "one" else torch.nan)

    def ratios(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        hits = sum_hits(blocks, self)
        if self.divide_by == "k":
            return hits, self.all_places(blocks)
        if self.divide_by == "judged":
            # 0 / 0 for a user of whose list nothing is judged.
            return hits, sum_places(blocks, blocks[JudgedPlaces(self.ranking)].double()).sums
        block: Block[Tensor] = ShownCount(self.ranking) if self.divide_by == "shown" else RelevantCount(self.relevance)
        return hits, torch.minimum(blocks[block].clamp(min=1), blocks.ends[:, None])


def sum_hits(blocks: Blocks, metric: Precision | Recall) -> Tensor:
    """`[cutoffs, B]` float64: what the hits of the first places are worth."""
    if metric.gain == "binary":
        return blocks[HitCounts(metric.ranking, metric.relevance, metric.repeated)].sums
    return blocks[GainSums(metric.gain, metric.ranking, metric.relevance)].sums


def gain_bounds(metric: Precision | Recall) -> Bounds:
    return NEVER_NEGATIVE if is_never_negative(metric.gain, metric.relevance) else UNBOUNDED


@dataclass(frozen=True)
class RPrecision(RelevanceMetric):
    """The share of the first P places that hold a relevant item: `sum(h_1..h_P) / P`.

    Precision and recall at place P are this same number (Manning, Raghavan and Schütze 2008, 8.4). It takes no cutoff:
    every user has a cutoff of his own. A list shorter than P is still divided by P. Users without a relevant item,
    where they count, get 0.

    Attributes:
        multiple: the cutoff is this multiple of P, `floor(multiple * P + 0.9)`, and so is the denominator (trec_eval's
            `Rprec_mult`).
        cut_at: hits beyond this place do not count; None counts all.
        missed: a user without a hit there scores "zero", or has no value ("drop"), as in recommenders.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b", "c"]}, "RPrecision")["RPrecision"]
    0.5
    """

    name = "RPrecision"
    family = "accuracy"

    multiple: float = field(default=1.0, kw_only=True)
    cut_at: int | None = field(default=None, kw_only=True)
    missed: Literal["zero", "drop"] = field(default="zero", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.multiple > 0:
            raise BadParameterError("RPrecision needs a multiple above 0", f"{self.multiple}", "1 is usual")

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0)

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[EarlyHits(self.ranking, self.relevance, self.multiple, self.cut_at)]
        places = early_places(blocks[RelevantCount(self.relevance)], self.multiple)
        value = hits / places.clamp(min=1)
        return value if self.missed == "zero" else value.masked_fill(hits == 0, torch.nan)


@dataclass(frozen=True)
class Recall(CutoffRatio):
    """The share of the relevant items that stand in the first k places: `sum(h_1..h_k) / P`.

    Attributes:
        divide_by: "relevant", all P (Manning, Raghavan and Schütze 2008, 8.3); "reachable", min(k, P); "listed",
            min(n, k, P).
        gain: every item is worth 1 ("binary"), or its gain as in nDCG: the share of all gains that was found, with
            divide_by="relevant".
        repeated: an item that is shown, or relevant, several times, where duplicates are kept, counts "once", or
            "each" time.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "Recall@2")["Recall@2"]
    0.5
    """

    name = "Recall"
    family = "accuracy"

    shared_ties = SHARED_TIES

    divide_by: Literal["relevant", "reachable", "listed"] = field(default="relevant", kw_only=True)
    gain: GainOrTable = field(default="binary", kw_only=True)
    repeated: Repeated = field(default="once", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)
        if self.gain != "binary" and self.divide_by != "relevant":
            raise BadParameterError(
                f"Recall of gains is divided by all gains, not by divide_by={self.divide_by!r}",
                hint="leave divide_by or gain out",
            )

    @property
    def bounds(self) -> Bounds:
        if self.gain != "binary":
            return gain_bounds(self)
        again = self.repeated == "each" and self.ranking.duplicates == "all"
        return (0.0, float(self.k)) if again else SHARE

    def ratios(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        hits = sum_hits(blocks, self)
        if self.gain != "binary":
            total = blocks[RelevantGains(self.gain, self.relevance)]
            return hits, total.masked_fill(total == 0, 1)
        relevant = blocks[(DistinctRelevantCount if self.repeated == "once" else RelevantCount)(self.relevance)]
        if self.divide_by == "listed":
            relevant = torch.minimum(relevant, blocks[ShownCount(self.ranking)])
        relevant = relevant.clamp(min=1)
        return hits, relevant if self.divide_by == "relevant" else torch.minimum(relevant, blocks.ends[:, None])


@dataclass(frozen=True)
class HitRate(PrefixMetric):
    """1 if any of the first k places holds a relevant item, else 0 (Deshpande and Karypis 2004).

    Attributes:
        count: "any", 0 or 1; "hits", how many.
        targets: users may have "any" number of relevant items; or "one", and others are worth what `empty` says.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "HitRate@1,2"))
    {'HitRate@1': 0.0, 'HitRate@2': 1.0}
    """

    name = "HitRate"
    family = "accuracy"

    shared_ties = SHARED_TIES

    count: Literal["any", "hits"] = field(default="any", kw_only=True)
    targets: Literal["any", "one"] = field(default="any", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if self.count == "any" else (0.0, float(self.k))

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        values = self._hit(blocks)
        if self.targets == "any":
            return values
        worth = {"zero": 0.0, "match": 0.0, "one": 1.0, "drop": torch.nan}[self.empty]
        return values.masked_fill(blocks[RelevantCount(self.relevance)] != 1, worth)

    def _hit(self, blocks: Blocks) -> Tensor:
        if self.ranking.ties == "average" and self.count == "any":
            return sum_places(blocks, blocks[ExpectedHits(self.ranking, self.relevance)].first).sums
        hits = blocks[HitCounts(self.ranking, self.relevance)].sums
        return (hits > 0).double() if self.count == "any" else hits


@dataclass(frozen=True)
class MRR(PrefixMetric):
    """Reciprocal rank: 1 / place of the first relevant item within k, 0 if there is none (Voorhees 1999).

    Attributes:
        mean_of: 1 / place of the "first" hit; or the mean of 1 / place over all "relevant" items, 0 for those that are
            not found (MIND); or over the "hits".
        missed: what a user without a hit gets: "zero", or none ("drop").

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "MRR@2")["MRR@2"]
    0.5
    """

    name = "MRR"
    family = "accuracy"
    bounds = SHARE
    shared_ties = SHARED_TIES

    mean_of: Literal["first", "relevant", "hits"] = field(default="first", kw_only=True)
    missed: Literal["zero", "drop"] = field(default="zero", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean_of == "hits":
            refuse_average(self, "mean_of='hits'")

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        values = self._mean(blocks)
        return values if self.missed == "zero" else values.masked_fill(values == 0, torch.nan)

    def _mean(self, blocks: Blocks) -> Tensor:
        if self.mean_of == "first" and self.ranking.ties != "average":
            first = blocks[FirstHit(self.ranking, self.relevance)]
            return first.reciprocal() * (first <= blocks.ends[:, None])
        total = blocks[ReciprocalSums(self.ranking, self.relevance, first=self.mean_of == "first")].sums
        if self.mean_of == "first":
            return total
        if self.mean_of == "hits":
            return total / blocks[HitCounts(self.ranking, self.relevance)].sums.clamp(min=1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1)


@dataclass(frozen=True)
class MAP(PrefixMetric):
    """Average precision: `sum_j h_j * (h_1 + ... + h_j) / j`, over the first k places, divided by min(k, P).

    With this denominator a list that shows nothing but relevant items reaches 1 for every k.

    Attributes:
        divide_by: "reachable", min(k, P); "relevant", P (trec_eval); "k"; "hits", the hits within k; "listed",
            min(n, k, P); "found", the hits of the whole list, undefined without any; "places", another sum over k,
            that of precision at 1 to k, at hits and misses alike (Elliot).
        repeated: a place whose item is relevant several times, where each of them is a hit, adds precision "each"
            time, or "once".

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "MAP@2")["MAP@2"]
    0.25
    """

    name = "MAP"
    family = "accuracy"

    shared_ties = SHARED_TIES

    divide_by: Literal["reachable", "relevant", "k", "hits", "listed", "found", "places"] = field(
        default="reachable", kw_only=True
    )
    repeated: Repeated = field(default="each", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.divide_by in ("hits", "found"):
            refuse_average(self, f"divide_by={self.divide_by!r}")

    @property
    def bounds(self) -> Bounds:
        # Each of k places adds at most 1; without repeats no more places are hits than the denominator has.
        return SHARE if self.divide_by == "k" or self.ranking.duplicates == "best" else (0.0, float(self.k))

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        if self.divide_by == "places":
            return self._mean_precision(blocks)
        total = blocks[PrecisionSums(self.ranking, self.relevance, self.repeated)].sums
        if self.divide_by == "k":
            return total / self.all_places(blocks)
        if self.divide_by == "hits":
            return total / blocks[HitCounts(self.ranking, self.relevance)].sums.clamp(min=1)
        if self.divide_by == "found":
            return total / count_found(blocks, self)
        relevant = blocks[RelevantCount(self.relevance)]
        if self.divide_by == "listed":
            relevant = torch.minimum(relevant, blocks[ShownCount(self.ranking)])
        relevant = relevant.clamp(min=1)
        return total / (relevant if self.divide_by == "relevant" else torch.minimum(relevant, blocks.ends[:, None]))

    def _mean_precision(self, blocks: Blocks) -> Tensor:
        """The mean of precision at 1..k: a hit at place p adds 1/p + ... + 1/k."""
        hits = blocks[HitCounts(self.ranking, self.relevance)].sums
        missed = blocks[HarmonicSums(self.ranking, self.relevance)].sums
        places = self.all_places(blocks)
        return (hits * harmonic(blocks, places) - missed) / places


@dataclass(frozen=True)
class MAR(PrefixMetric):
    """Average recall: `sum_j h_j * (h_1 + ... + h_j) / P`, over the first k places, divided by min(k, P).

    Recall is summed where a hit is, so a perfect list of P items reaches (P + 1) / 2P, not 1.

    Attributes:
        divide_by: "reachable", min(k, P); or recall is summed at "places" 1 to k, at hits and misses alike, and divided
            by k (Elliot).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["b", "c"]}, {1: ["b", "c"]}, "MAR@2")["MAR@2"]
    0.75
    """

    name = "MAR"
    family = "accuracy"
    bounds = SHARE

    divide_by: Literal["reachable", "places"] = field(default="reachable", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        if self.divide_by == "places":
            return self._mean_recall(blocks)
        # The j-th hit adds j / P, so c hits add up to c (c + 1) / 2P.
        hits = blocks[HitCounts(self.ranking, self.relevance)].up_to(self.k)
        relevant = blocks[RelevantCount(self.relevance)].clamp(min=1).double()
        return hits * (hits + 1) / (2 * relevant) / relevant.clamp(max=self.k)

    def _mean_recall(self, blocks: Blocks) -> Tensor:
        """The mean of recall at 1..k: a hit at place p counts at k - p + 1 places."""
        hits, places = blocks[HitPlaces(self.ranking, self.relevance, "once")], self.places(blocks)
        counted = (places + 1) * hits.sum().up_to(self.k) - hits.sum(hits.ranks).up_to(self.k)
        return counted / places / blocks[RelevantCount(self.relevance)].clamp(min=1)


@dataclass(frozen=True)
class DCG(PrefixMetric):
    """Discounted gain of the list: `sum_j g(r_j) / log2(j + 1)` over the first k places.

    Järvelin and Kekäläinen 2002; exponential gain: Burges et al. 2005. Nothing normalizes it: users with many relevant
    items weigh more.

    Attributes:
        gain: "exponential", 2^r - 1; "linear", r; "binary", 1; "threshold", 2^(r - t + 1) - 1, t being `at_least`;
            "shifted", WarpRec's 2^(r + 1) - 1, where an item with a gain below 0, though it is not relevant, takes r
            away; or a list with the gains of grades 0, 1, 2, ...
        discount: "log2", 1 / log2(j + 1); "ln", 1 / ln(j + 1); "jarvelin", 1 / max(1, log2 j), which leaves places 1
            and 2 alone; "position", 1 / j; or a number p, p^(j - 1).

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "DCG@2")["DCG@2"], 4)
    0.6309
    """

    name = "DCG"
    family = "accuracy"
    shared_ties = SHARED_TIES

    gain: GainOrTable = field(default="exponential", kw_only=True)
    discount: Discount = field(default="log2", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)
        check_discount(self.name, self.discount)

    @property
    def bounds(self) -> Bounds:
        return NEVER_NEGATIVE if is_never_negative(self.gain, self.relevance) else UNBOUNDED

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        return blocks[ListDCG(self.gain, self.discount, self.ranking, self.relevance)].sums


@dataclass(frozen=True)
class nDCG(PrefixMetric):
    """Discounted gain of the list over that of the best possible list of k places.

    `DCG = sum_j g(r_j) / log2(j + 1)`, divided by the DCG of the k highest gains (Järvelin and Kekäläinen 2002;
    exponential gain: Burges et al. 2005). Where every relevant item has a gain of 1, "exponential", "linear" and
    "binary" agree to the digit, and "shifted", under which it is worth 3, to rounding: the factor cancels, unless
    ideal="k".

    Attributes:
        gain: "exponential", 2^r - 1; "linear", r; "binary", 1; "threshold", 2^(r - t + 1) - 1, t being `at_least`;
            "shifted", WarpRec's 2^(r + 1) - 1, where an item with a gain below 0, though it is not relevant, takes r
            away; or a list with the gains of grades 0, 1, 2, ...
        ideal: what the list is measured against: "reachable", the min(k, P) highest gains; "k", a list of k items
            with gain 1 whatever P is; "listed", the min(k, P, n) highest gains; "all", all P gains, not cut at k;
            "found", the k highest gains of the list itself; "hits", those of its first k places.
        discount: "log2", 1 / log2(j + 1); "ln", 1 / ln(j + 1); "jarvelin", 1 / max(1, log2 j), which leaves places 1
            and 2 alone; "position", 1 / j; or a number p, p^(j - 1).

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "nDCG@2")["nDCG@2"], 4)
    0.6309
    """

    name = "nDCG"
    family = "accuracy"
    shared_ties = SHARED_TIES

    gain: GainOrTable = field(default="exponential", kw_only=True)
    ideal: Literal["reachable", "k", "listed", "all", "found", "hits"] = field(default="reachable", kw_only=True)
    discount: Discount = field(default="log2", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)
        check_discount(self.name, self.discount)
        if self.ideal in ("found", "hits"):
            refuse_average(self, f"ideal={self.ideal!r}")
        if self.ideal == "k" and self.k == WHOLE:
            raise BadParameterError(
                f"{self.name} with ideal='k' needs a cutoff", hint=f"e.g. {self.name}(ideal='k')@10"
            )

    @property
    def bounds(self) -> Bounds:
        if not is_never_negative(self.gain, self.relevance):
            return UNBOUNDED
        # The ideal list of "k" items has gains of 1; the other ideal lists show no item twice.
        within = self.gain == "binary" if self.ideal == "k" else self.ranking.duplicates == "best"
        # Where equal scores share a place, the list can have more gain there than the best list.
        placed = self.ranking.ties in SHARED_TIES and self.ranking.ties != "average"
        return SHARE if within and not placed else NEVER_NEGATIVE

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        found = blocks[ListDCG(self.gain, self.discount, self.ranking, self.relevance)].sums
        if self.ideal == "k":
            return found / sum_first(weigh_places(blocks, self.discount)[None], blocks.cutoffs, dim=1)
        if self.ideal in ("found", "hits"):
            best = FoundDCG(self.gain, self.discount, self.ranking, self.relevance, cut=self.ideal == "hits")
            return found / blocks[best].sums
        listed = self.ranking if self.ideal == "listed" else None
        ideal = IdealDCG(self.gain, self.discount, self.relevance, listed, self.ideal == "all")
        return found / blocks[ideal].sums


@dataclass(frozen=True)
class nDCGRendle2020(nDCG):
    """nDCG with binary relevance, as in Rendle et al., "Neural collaborative filtering vs. matrix factorization
    revisited" (2020): `sum_j h_j / log2(j + 1)` over the sum of the first min(k, P) discounts.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "b"]}, {1: {"b": 5}}, "nDCGRendle2020@2")["nDCGRendle2020@2"], 4)
    0.6309
    """

    name = "nDCGRendle2020"

    gain: GainOrTable = field(default="binary", kw_only=True)


@dataclass(frozen=True)
class F1(PrefixMetric):
    """The weighted harmonic mean of two metrics, user by user: `(1 + b^2) x y / (b^2 x + y)`, 0 where both are 0.

    Attributes:
        metric_1: x, by default Precision at the same cutoff; any metric that gives per-user values.
        divide_by: of this default Precision: "k", or "shown".
        metric_2: y, by default Recall.
        beta: weight of y; above 1 it counts more than x (van Rijsbergen 1979, chapter 7).
        undefined: users for whom one of the two has no value have none ("nan"); or 0 ("zero"), as in WarpRec, which
            also counts every user it knows.
        mean_of: the mean of every user's value ("users"); or, for all together, the harmonic mean of the two "means" of
            x and y (Evidently).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "F1@2")["F1@2"]
    0.6666666666666666
    """

    name = "F1"
    family = "accuracy"
    made_of: ClassVar[tuple[str, ...]] = ("metric_1", "metric_2")
    # The mean over all orders of equal scores is not made of the means of its parts.
    shared_ties = ("first", "last", "middle")

    metric_1: UserMetric | None = field(default=None, kw_only=True)
    metric_2: UserMetric | None = field(default=None, kw_only=True)
    beta: float = field(default=1.0, kw_only=True)
    undefined: Literal["nan", "zero"] = field(default="nan", kw_only=True)
    mean_of: Literal["users", "means"] = field(default="users", kw_only=True)
    divide_by: Literal["k", "shown"] = field(default="k", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self.name, [m for m in (self.metric_1, self.metric_2) if m is not None])
        if not self.beta > 0:
            raise BadParameterError("F1 needs a beta above 0", f"{self.beta}", "1 weighs both metrics alike")

    @property
    def parts(self) -> tuple[UserMetric, UserMetric]:
        return (
            self.metric_1 or Precision(self.k, divide_by=self.divide_by, **self.policies),
            self.metric_2 or Recall(self.k, **self.policies),
        )

    @property
    def bounds(self) -> Bounds:
        # A mean of two numbers that are not negative lies between them.
        (low_x, high_x), (low_y, high_y) = (part.bounds for part in self.parts)
        return (0.0, max(high_x, high_y)) if min(low_x, low_y) >= 0 else UNBOUNDED

    def needs(self) -> Needs:
        first, second = self.parts
        return super().needs() | first.needs() | second.needs()

    def values(self, blocks: Blocks) -> Tensor:
        values = self._mix(*(blocks[PartValues(part)] for part in self.parts))
        return values.nan_to_num(nan=0.0) if self.undefined == "zero" else values

    def _mix(self, x: Tensor, y: Tensor) -> Tensor:
        weight = self.beta**2
        below = weight * x + y
        return ((1 + weight) * x * y / below).masked_fill(below == 0, 0)

    @property
    def _mixes_means(self) -> bool:
        return self.mean_of == "means" and self.over == "mean"

    def start(self) -> State:
        return Joint(tuple(part.start() for part in self.parts)) if self._mixes_means else super().start()

    def update(self, blocks: Blocks) -> State:
        return Joint(tuple(part.update(blocks) for part in self.parts)) if self._mixes_means else super().update(blocks)

    def compute(self, state: Any) -> Result:
        if not self._mixes_means:
            return super().compute(state)
        first, second = (part.compute(one) for part, one in zip(self.parts, state.parts, strict=True))
        means = [math.nan if one.value is None else one.value for one in (first, second)]
        mixed = self._mix(*torch.tensor(means, dtype=torch.float64, device="cpu"))
        return Result(float(mixed), users=first.users)


def count_found(blocks: Blocks, metric: PrefixMetric) -> Tensor:
    """`[B]` float64: the hits of the whole list."""
    rows, _, _ = blocks[HitIndex(metric.ranking, metric.relevance, whole=True)]
    return sum_by_code(rows, len(blocks))


def refuse_average(metric: PrefixMetric, given: str) -> None:
    """Raises BadParameterError for ties="average" where the denominator depends on the order of equal scores too."""
    if metric.ranking.ties == "average":
        raise BadParameterError(
            f"{metric.name} has no mean over the orders of equal scores with {given}",
            hint="the denominator would depend on the order too; leave it out, or take ties='random'",
        )
