"""Accuracy: are the right items high in the list?

Notation: h_j = 1 if the item at place j (from 1) is relevant, P = number of relevant items of the user, k = cutoff,
n = number of items shown. B users, D depth of the ranked lists. Asked for without a cutoff, a metric takes the whole
list: k is n.

AUC, GAUC and LAUC need the whole ranking of the candidates, that is of the catalogue without the user's history; a
shorter list is an error, not a guess. RocAuc reads the first k places alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import cumulate, sum_by_code, sum_first
from bridgeval.batch.ranking import SHARED_TIES, Ranking, Relevance
from bridgeval.engine.blocks import WHOLE, Block, Blocks, HitIndex, Matches, Ranked, RelevantCount, ShownCount
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import PrefixMetric, RatioMetric, RelevanceMetric, TopKMetric, UserMetric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import State, Sums
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
    Repeated,
    TieGroups,
    early_places,
    sum_places,
)
from bridgeval.metrics.blocks.ranked_pairs import MeanShare, Negatives, PairShares, Tied

CANDIDATES = Needs(context=frozenset({"catalogue"}), optional=frozenset({"seen"}))


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
        divide_by: "k"; "shown", the length of the cut list; "relevant", min(k, P), which RecTools calls R-precision.
            `RPrecision` is what the literature calls so.
        gain: a hit is worth 1 ("binary"), or its gain as in nDCG: with "linear" and divide_by="shown" it is the mean
            gain of the list.
        repeated: an item that is shown several times, where duplicates are kept, is found "once", or "each" time.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b", "c"]}, "Precision@4")["Precision@4"]
    0.25
    """

    name = "Precision"
    family = "accuracy"

    shared_ties = SHARED_TIES

    divide_by: Literal["k", "shown", "relevant"] = field(default="k", kw_only=True)
    gain: GainOrTable = field(default="binary", kw_only=True)
    repeated: Repeated = field(default="once", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_gain(self.name, self.gain)

    @property
    def bounds(self) -> Bounds:
        if self.gain != "binary":
            return gain_bounds(self)
        # One relevant item that is shown several times is more hits than there are relevant items.
        again = self.repeated == "each" and self.ranking.duplicates == "all"
        return (0.0, float(self.k)) if self.divide_by == "relevant" and again else SHARE

    def ratios(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        hits = sum_hits(blocks, self)
        if self.divide_by == "k":
            return hits, self.all_places(blocks)
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
        metric_2: y, by default Recall.
        beta: weight of y; above 1 it counts more than x (van Rijsbergen 1979, chapter 7).
        undefined: users for whom one of the two has no value have none ("nan"); or 0 ("zero"), as in WarpRec, which
            also counts every user it knows.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "F1@2")["F1@2"]
    0.6666666666666666
    """

    name = "F1"
    family = "accuracy"
    made_of: ClassVar[tuple[str, ...]] = ("metric_1", "metric_2")

    metric_1: UserMetric | None = field(default=None, kw_only=True)
    metric_2: UserMetric | None = field(default=None, kw_only=True)
    beta: float = field(default=1.0, kw_only=True)
    undefined: Literal["nan", "zero"] = field(default="nan", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_parts(self.name, [m for m in (self.metric_1, self.metric_2) if m is not None])
        if not self.beta > 0:
            raise BadParameterError("F1 needs a beta above 0", f"{self.beta}", "1 weighs both metrics alike")

    @property
    def parts(self) -> tuple[UserMetric, UserMetric]:
        return (
            self.metric_1 or Precision(self.k, **self.policies),
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
        x, y = (blocks[PartValues(part)] for part in self.parts)
        weight = self.beta**2
        below = weight * x + y
        values = ((1 + weight) * x * y / below).masked_fill(below == 0, 0)
        return values.nan_to_num(nan=0.0) if self.undefined == "zero" else values


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


def pair_bounds(metric: AUC | LAUC) -> Bounds:
    """The bounds of a mean of shares of irrelevant candidates; those of a catalogue that is estimated have none."""
    return SHARE if metric.negatives == "ranked" and metric.ranking.duplicates == "best" else UNBOUNDED


@dataclass(frozen=True)
class AUC(UserMetric):
    """The share of a user's irrelevant candidates that stand below a relevant item, averaged over all relevant items
    of all users (a micro average); ties count half.

    Undefined for users whose candidates are all relevant: their items do not enter.

    Attributes:
        tied: an irrelevant item of equal score counts "half"; or by the "order" that the ranking gives, as in WarpRec.
        negatives: how many a relevant item can stand above: the irrelevant ones that are "ranked"; or, as in WarpRec,
            what the "catalogue" has without masked and without relevant items, plus one. Then the worst item scores
            above 0, masked relevant items are taken off twice, and sampled candidates count as a whole catalogue.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "AUC", catalogue=["a", "b", "c"])["AUC"]
    0.5
    """

    name = "AUC"
    family = "accuracy"

    tied: Tied = field(default="half", kw_only=True)
    negatives: Negatives = field(default="ranked", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return pair_bounds(self)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=0) | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[MeanShare(PairShares(self.ranking, self.relevance, self.tied, self.negatives))]

    @property
    def pooled(self) -> bool:
        """Whether the mean is over all relevant items, not over users."""
        return self.over == "mean"

    def start(self) -> State:
        return Sums() if self.pooled else super().start()

    def update(self, blocks: Blocks) -> State:
        if not self.pooled:
            return super().update(blocks)
        defined, values = self.counted(blocks), self.values(blocks)
        if self.negatives == "ranked":
            defined = defined & (values == values)
        relevant = blocks[RelevantCount(self.relevance)] * defined
        total = torch.where(defined, values * relevant, 0.0).sum()
        return Sums({"total": total, "relevant": relevant.sum(), "users": defined.sum()})

    def compute(self, state: Any) -> Result:
        if not self.pooled:
            return super().compute(state)
        return Result(state["total"] / state["relevant"] if state["relevant"] else float("nan"), users=state["users"])


@dataclass(frozen=True)
class GAUC(AUC):
    """AUC of each user, averaged over users.

    Attributes:
        weight: "equal" users, or by the number of "relevant" items.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["c"]}, "GAUC", catalogue=["a", "b", "c"])["GAUC"]
    0.0
    """

    name = "GAUC"

    weight: Literal["equal", "relevant"] = field(default="equal", kw_only=True)

    @property
    def pooled(self) -> bool:
        return super().pooled and self.weight == "relevant"


@dataclass(frozen=True)
class LAUC(TopKMetric):
    """AUC limited to the first k places: relevant items beyond them score 0; divided by min(k, P).

    Attributes:
        tied, negatives: as in AUC.

    >>> import bridgeval
    >>> dict(bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "LAUC@1,2", catalogue=["a", "b", "c"]))
    {'LAUC@1': 0.0, 'LAUC@2': 0.5}
    """

    name = "LAUC"
    family = "accuracy"

    tied: Tied = field(default="half", kw_only=True)
    negatives: Negatives = field(default="ranked", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return pair_bounds(self)

    def needs(self) -> Needs:
        return super().needs() | CANDIDATES

    def values(self, blocks: Blocks) -> Tensor:
        pairs = blocks[PairShares(self.ranking, self.relevance, self.tied, self.negatives)]
        at = blocks[Matches(self.ranking, self.relevance)][:, : self.k]
        # A last column of zeros stands for the places without a hit.
        share = torch.nn.functional.pad(pairs.share, (0, 1))
        total = share.gather(1, at.masked_fill(at < 0, share.shape[1] - 1)).sum(1)
        return total / blocks[RelevantCount(self.relevance)].clamp(min=1, max=self.k)


@dataclass(frozen=True)
class RocAuc(PrefixMetric):
    """The share of (hit, miss) pairs of the first k places in which the hit stands higher (Hanley and McNeil 1982).

    Undefined for lists of hits only or of misses only: they have no such pair. Without a cutoff it reads the whole
    list, and only the list: relevant items that were not shown do not enter.

    Attributes:
        one_sided: what such lists get: "undefined"; "bounds", 1 for hits only and 0 without a hit; or "zero", "half",
            "one".
        tied: a pair of equal scores counts by the "order" of the ranking; "half"; as "lost"; or every item stands at
            the "last" place of its equals, so that hits of equal scores count against each other too (LightFM);
            then the value may be below 0.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["b"]}, "RocAuc@3")["RocAuc@3"]
    0.5
    """

    name = "RocAuc"
    family = "accuracy"

    one_sided: Literal["undefined", "bounds", "zero", "half", "one"] = field(default="undefined", kw_only=True)
    tied: Literal["order", "half", "lost", "last"] = field(default="order", kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return UNBOUNDED if self.tied == "last" else SHARE

    def values(self, blocks: Blocks) -> Tensor:
        hits = blocks[HitCounts(self.ranking, self.relevance, "each")].up_to(self.k)
        misses = blocks[ShownCount(self.ranking)].clamp(max=self.k) - hits
        inverted = blocks[Inversions(self.ranking, self.relevance)].up_to(self.k)
        if self.tied != "order":
            won, tied, alike = blocks[TiedPairs(self.ranking, self.relevance, self.k)]
            # Of tied pairs the order has decided some: they are taken back.
            inverted = inverted - won + (tied / 2 if self.tied == "half" else tied)
            if self.tied == "last":
                inverted = inverted + alike
        value = 1 - inverted / (hits * misses)
        if self.one_sided == "bounds":
            return torch.where(hits == 0, 0.0, torch.where(misses == 0, 1.0, value))
        filled = {"undefined": torch.nan, "zero": 0.0, "half": 0.5, "one": 1.0}[self.one_sided]
        return value.masked_fill((hits == 0) | (misses == 0), filled)


@dataclass(frozen=True)
class TiedPairs(Block[tuple[Tensor, Tensor, Tensor]]):
    """Pairs of equal scores in the first k places: (miss, hit) in this order, (hit, miss) in any, and of two hits.

    `[B]` float64 each.
    """

    ranking: Ranking
    relevance: Relevance
    k: int

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
        ranked = blocks[Ranked(self.ranking, whole=True)]
        hits = torch.zeros(ranked.items.shape, dtype=torch.float64, device=blocks.device)
        rows, places, _ = blocks[HitIndex(self.ranking, self.relevance, whole=True)]
        hits[rows, places] = 1
        hits[:, self.k :] = 0
        misses = ranked.valid.double() - hits
        misses[:, self.k :] = 0
        ties = blocks[TieGroups(self.ranking)]
        # Misses of the same group above each place: those from the top, without those above the group.
        first = torch.arange(hits.shape[1], device=blocks.device) == ties.start
        above_group = ties.sum(torch.where(first, cumulate(misses) - misses, 0.0))
        inside = cumulate(misses) - misses - above_group
        return (hits * inside).sum(1), (hits * ties.sum(misses)).sum(1), (hits * (ties.sum(hits) - 1)).sum(1) / 2


@dataclass(frozen=True)
class Inversions(Block[Cumulative]):
    """The misses above each hit in the first k places, added up: `[B]` float64."""

    ranking: Ranking = Ranking()
    relevance: Relevance = Relevance()

    def make(self, blocks: Blocks) -> Cumulative:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        return hits.sum(hits.ranks - hits.ordinals)
