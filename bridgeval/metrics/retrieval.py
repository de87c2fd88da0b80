"""Retrieval: metrics of readers who stop, and of lists that were judged in part.

Notation as in `accuracy`: h_j = 1 if the item at place j is relevant, P relevant items, n items shown. An item is
judged if the truth has a row of it, whatever its gain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from bridgeval.batch.kernels import cumulate
from bridgeval.batch.ranking import Ranking, Relevance
from bridgeval.engine.blocks import (
    Block,
    Blocks,
    GainRange,
    Hits,
    RelevantCount,
    ShownCount,
    ShownGains,
)
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.metric import PrefixMetric, RelevanceMetric
from bridgeval.engine.summary import NEVER_NEGATIVE, SHARE, UNBOUNDED, Bounds
from bridgeval.errors import BadParameterError, BadValueError
from bridgeval.metrics.blocks.gains import Gain, HitGains, apply_gain, is_never_negative
from bridgeval.metrics.blocks.hits import HitPlaces, JudgedPlaces, sum_places

# trec_eval's constant: no count is 0.
SMOOTHING = 1e-5
Patience = Literal["always", "log", "reciprocal", "geometric", "square", "target"]


@dataclass(frozen=True)
class ERR(PrefixMetric):
    """Expected reciprocal rank: 1 / place where a reader stops who reads from the top (Chapelle et al. 2009).

    `sum_j 1/j * R_j * (1 - R_1) ... (1 - R_{j-1})`: the item at place j satisfies with the probability R_j, which its
    grade r gives.

    Attributes:
        stop: R: "exponential", (2^r - 1) / 2^max_grade; "linear", r / max_grade.
        max_grade: the highest grade; one above it is an error.
        decay: None weighs place j by 1/j; a number d by d^(j - 1): PFound (Segalovich 2010), where d is 0.85.

    >>> import bridgeval
    >>> name = 'ERR(stop="linear", max_grade=1)@2'
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: {"b": 1}}, name)[name]
    0.5
    """

    name = "ERR"
    family = "retrieval"

    stop: Literal["exponential", "linear"] = field(default="exponential", kw_only=True)
    max_grade: float = field(default=4, kw_only=True)
    decay: float | None = field(default=None, kw_only=True)

    @property
    def bounds(self) -> Bounds:
        return SHARE if is_never_negative("linear", self.relevance) else UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[StopSums(self.stop, self.max_grade, self.decay, self.ranking, self.relevance)].up_to(self.k)


@dataclass(frozen=True)
class StopSums(Block[Cumulative]):
    """The weight of the place where a reader stops, added up over the first k places: `[B]` float64."""

    stop: Literal["exponential", "linear"]
    max_grade: float
    decay: float | None
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Cumulative:
        grades = blocks[ShownGains(self.ranking, self.relevance)]
        # The grades of the batch, read on the host, usually tell that none is above it.
        if grades.numel() and blocks[GainRange()][1] > self.max_grade and float(grades.max()) > self.max_grade:
            raise BadValueError(
                "a grade is above the highest one",
                f"{float(grades.max()):g}, max_grade={self.max_grade:g}",
                "give max_grade, the highest grade there is",
            )
        satisfied = grades / self.max_grade
        if self.stop == "exponential":
            satisfied = apply_gain(blocks, "exponential", grades) / 2**self.max_grade
        ranks = blocks.ranks[: grades.shape[1]]
        weights = 1 / ranks if self.decay is None else self.decay ** (ranks - 1)
        reads_on = torch.nn.functional.pad((1 - satisfied).cumprod(1), (1, 0), value=1.0)[:, : grades.shape[1]]
        return sum_places(blocks, weights * satisfied * reads_on)


@dataclass(frozen=True)
class RBP(PrefixMetric):
    """Rank-biased precision: `(1 - p) * sum_j h_j p^(j - 1)`; p is how likely a reader goes on (Moffat and Zobel 2008).

    Attributes:
        p: between 0 and 1.
        gain: what a relevant item is worth, see nDCG; 1 by default ("binary").
        normalize: whether it is divided by its highest value for min(k, n, P) relevant items (LensKit).

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: {"b": 1}}, "RBP(p=0.5)")["RBP(p=0.5)"]
    0.25
    """

    name = "RBP"
    family = "retrieval"

    p: float = field(default=0.8, kw_only=True)
    gain: Gain = field(default="binary", kw_only=True)
    normalize: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_persistence(self.name, self.p)

    @property
    def bounds(self) -> Bounds:
        if self.gain == "binary" and not self.normalize:
            return SHARE
        return NEVER_NEGATIVE if is_never_negative(self.gain, self.relevance) else UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        found = blocks[PersistenceSums(self.p, self.gain, self.ranking, self.relevance)].up_to(self.k)
        if not self.normalize:
            return (1 - self.p) * found
        best = torch.minimum(blocks[RelevantCount(self.relevance)], blocks[ShownCount(self.ranking)])
        return (1 - self.p) * found / (1 - self.p ** best.clamp(min=1, max=self.k).double())


@dataclass(frozen=True)
class RBPResidual(PrefixMetric):
    """What RBP could still rise by: the weight of unjudged places and of those beyond the end of the list.

    `1 - (1 - p) * sum_j J_j p^(j - 1)`, J_j = 1 if the item at place j is judged (Moffat and Zobel 2008). It says how
    much of RBP is not known, not how good a list is: neither direction is better.

    Attributes:
        p: as in RBP.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: {"b": 1}}, "RBPResidual(p=0.5)")["RBPResidual(p=0.5)"]
    0.75
    """

    name = "RBPResidual"
    family = "retrieval"
    higher_is_better = None
    bounds = SHARE

    p: float = field(default=0.8, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_persistence(self.name, self.p)

    def values(self, blocks: Blocks) -> Tensor:
        judged = blocks[JudgedPlaces(self.ranking)]
        weights = judged * self.p ** (blocks.ranks[: judged.shape[1]] - 1)
        return 1 - (1 - self.p) * sum_places(blocks, weights).up_to(self.k)


def check_persistence(name: str, p: float) -> None:
    """Raises BadParameterError unless a reader may go on and may stop."""
    if not 0 < p < 1:
        raise BadParameterError(f"{name} needs a p between 0 and 1", f"{p}", "0.8 is usual")


@dataclass(frozen=True)
class PersistenceSums(Block[Cumulative]):
    """The gain of each hit times p^(j - 1), added up over the first k places: `[B]` float64."""

    p: float
    gain: Gain
    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> Cumulative:
        hits, gains = blocks[HitGains(self.gain, self.ranking, self.relevance)]
        return hits.sum(gains * self.p ** hits.places.double())


@dataclass(frozen=True)
class Judged(PrefixMetric):
    """The share of the first k places whose item is judged: judged items / min(k, n).

    Attributes:
        divide_by: "shown", min(k, n); or "k".
        count: "judged" items, or those that are "unjudged": holes.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: {"b": 0, "c": 1}}, "Judged@2")["Judged@2"]
    0.5
    """

    name = "Judged"
    family = "retrieval"
    higher_is_better = None
    bounds = SHARE

    divide_by: Literal["shown", "k"] = field(default="shown", kw_only=True)
    count: Literal["judged", "unjudged"] = field(default="judged", kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        shown = blocks[ShownCount(self.ranking)].clamp(max=self.k)
        found = sum_places(blocks, blocks[JudgedPlaces(self.ranking)].double()).up_to(self.k)
        if self.count == "unjudged":
            found = shown - found
        return found / (self.places(blocks) if self.divide_by == "k" else shown.clamp(min=1))


@dataclass(frozen=True)
class JudgedAbove(Block[tuple[Tensor, Tensor, Tensor]]):
    """For each hit: its row, and the relevant and the judged irrelevant items above it: `[n]` each."""

    ranking: Ranking
    relevance: Relevance

    def make(self, blocks: Blocks) -> tuple[Tensor, Tensor, Tensor]:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        irrelevant = blocks[JudgedPlaces(self.ranking)] & ~blocks[Hits(self.ranking, self.relevance)]
        return hits.rows, (hits.ordinals - 1).double(), irrelevant.cumsum(1).double()[hits.rows, hits.places]


def _mean_over_relevant(blocks: Blocks, relevance: Relevance, rows: Tensor, values: Tensor) -> Tensor:
    """`[B]` float64: values `[n]` of hits, added up and divided by P."""
    total = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device).index_add_(0, rows, values)
    return total / blocks[RelevantCount(relevance)].clamp(min=1)


def _mean_bounds(metric: RelevanceMetric) -> Bounds:
    """The bounds of a mean over relevant items; a repeated one can be found more often than it is there."""
    once = metric.ranking.duplicates == "best" and metric.relevance.duplicates in ("best", "first")
    return SHARE if once else UNBOUNDED


@dataclass(frozen=True)
class BPref(RelevanceMetric):
    """A score that falls with the judged irrelevant items above each relevant one (Buckley and Voorhees 2004).

    Unjudged items do not count.

    `1/P sum_hits 1 - min(P, irrelevant above) / min(P, N)`, N being the judged irrelevant items of the user; relevant
    items that were not shown add 0. Over the whole list.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["x", "b", "a", "c"]}, {1: {"a": 1, "b": 0, "c": 1}}, "BPref")["BPref"]
    0.0
    """

    name = "BPref"
    family = "retrieval"

    @property
    def bounds(self) -> Bounds:
        return _mean_bounds(self)

    def values(self, blocks: Blocks) -> Tensor:
        rows, _, irrelevant = blocks[JudgedAbove(self.ranking, self.relevance)]
        relevant = blocks[RelevantCount(self.relevance)]
        judged = blocks[RelevantCount(replace(self.relevance, above=None, at_least=None))]
        most = torch.minimum(relevant, judged - relevant).clamp(min=1)
        above = torch.minimum(irrelevant, relevant[rows].double())
        return _mean_over_relevant(blocks, self.relevance, rows, 1 - above / most[rows])


@dataclass(frozen=True)
class InfAP(RelevanceMetric):
    """Inferred average precision: average precision estimated from judged items (Yilmaz and Aslam 2006).

    At a hit at place j with r relevant and s irrelevant judged items above it:
    `1/j + (r + s)/j * (r + e) / (r + s + 2e)`, e = 0.00001, divided by P. Over the whole list. The judged items are
    taken for the pool, as in trec_eval with qrels that have no unjudged rows.

    >>> import bridgeval
    >>> round(bridgeval.evaluate({1: ["a", "x", "b"]}, {1: {"a": 1, "b": 1}}, "InfAP")["InfAP"], 4)
    0.8333
    """

    name = "InfAP"
    family = "retrieval"

    @property
    def bounds(self) -> Bounds:
        return _mean_bounds(self)

    def values(self, blocks: Blocks) -> Tensor:
        rows, relevant, irrelevant = blocks[JudgedAbove(self.ranking, self.relevance)]
        places = blocks[HitPlaces(self.ranking, self.relevance)].ranks
        judged = relevant + irrelevant
        precision = (relevant + SMOOTHING) / (judged + 2 * SMOOTHING)
        return _mean_over_relevant(blocks, self.relevance, rows, (1 + judged * precision) / places)


@dataclass(frozen=True)
class InterpolatedPrecision(RelevanceMetric):
    """The highest precision at any place from which on recall is reached (Manning, Raghavan and Schütze 2008, 8.4).

    `max over j with h_1 + ... + h_j >= floor(recall * P + 0.9) of (h_1 + ... + h_j) / j`; 0 if recall is not reached.

    Attributes:
        recall: between 0 and 1; None is the mean over 0, 0.1, ..., 1.

    >>> import bridgeval
    >>> name = "InterpolatedPrecision(recall=1.0)"
    >>> bridgeval.evaluate({1: ["x", "a", "b"]}, {1: ["a", "b"]}, name)[name]
    0.6666666666666666
    """

    name = "InterpolatedPrecision"
    family = "retrieval"
    bounds = SHARE

    recall: float | None = field(default=None, kw_only=True)

    def values(self, blocks: Blocks) -> Tensor:
        levels = [step / 10 for step in range(11)] if self.recall is None else [self.recall]
        return torch.stack([self._at(blocks, level) for level in levels]).mean(0)

    def _at(self, blocks: Blocks, recall: float) -> Tensor:
        hits = blocks[HitPlaces(self.ranking, self.relevance)]
        wanted = (recall * blocks[RelevantCount(self.relevance)].double() + 0.9).floor()
        precision = torch.where(hits.ordinals >= wanted[hits.rows], hits.ordinals / hits.ranks, 0.0)
        best = torch.zeros(len(blocks), dtype=torch.float64, device=blocks.device)
        return best.scatter_reduce_(0, hits.rows, precision, "amax")


@dataclass(frozen=True)
class ExpectedUtility(PrefixMetric):
    """The gain of an item that a reader looks at, on average: `sum_j W_j g_j` (Moffat et al. 2017, C/W/L).

    At place j the reader goes on with the probability C_j, and never beyond place k. W_j is in proportion to
    `C_1 ... C_{j-1}` and sums to 1. The gain g is `grade / max_grade`, at most 1; a list that ends goes on with gains
    of 0 as far as `depth`.

    Attributes:
        patience: C_j as far as the place decides: "always", 1; "log", `log(j + 1) / log(j + 2)`; "reciprocal",
            `j / (j + 1)`; "geometric", p; "square", `((j + 2T - 1) / (j + 2T))^2`; "target", the same with the gain
            that is still missing, `T - g_1 - ... - g_j`, in place of one of the two T.
        stop: what else may end it: nothing ("never"); an item that satisfies, which multiplies C_j by `1 - g_j`
            ("satisfied"); or gains that have reached T ("target").
        p: of "geometric".
        target: T, the gain that the reader looks for.
        max_grade: the grade whose gain is 1; higher ones count as this one.
        depth: how many places there are to read.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "ExpectedUtility@2")["ExpectedUtility@2"]
    0.5
    """

    name = "ExpectedUtility"
    family = "retrieval"

    patience: Patience = field(default="always", kw_only=True)
    stop: Literal["never", "satisfied", "target"] = field(default="never", kw_only=True)
    p: float = field(default=0.9, kw_only=True)
    target: float = field(default=1.0, kw_only=True)
    max_grade: float = field(default=1.0, kw_only=True)
    depth: int = field(default=1000, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.p <= 1:
            raise BadParameterError("p must be between 0 and 1", f"{self.p}", "0.9 is usual")
        for name in ("target", "max_grade", "depth"):
            if not getattr(self, name) > 0:
                raise BadParameterError(f"{name} must be above 0", f"{getattr(self, name)}", f"e.g. {name}=1")

    @property
    def bounds(self) -> Bounds:
        return SHARE if is_never_negative("linear", self.relevance) else UNBOUNDED

    def values(self, blocks: Blocks) -> Tensor:
        grades = blocks[ShownGains(self.ranking, self.relevance)][:, : min(self.k, self.depth)]
        missing = min(self.k, self.depth) - grades.shape[1]
        gains = torch.nn.functional.pad((grades / self.max_grade).clamp(max=1), (0, missing))
        reads = torch.nn.functional.pad(self._go_on(gains)[:, :-1].cumprod(1), (1, 0), value=1.0)
        return (reads * gains).sum(1) / reads.sum(1)

    def _go_on(self, gains: Tensor) -> Tensor:
        """C_j: `[B, D]` float64."""
        j, collected = torch.arange(1, gains.shape[1] + 1, dtype=torch.float64, device=gains.device), cumulate(gains)
        if self.patience == "target":
            far = j + 2 * self.target - collected
        else:
            far = j + 2 * self.target
        chance = {
            "always": torch.ones_like(j),
            "log": (j + 1).log() / (j + 2).log(),
            "reciprocal": j / (j + 1),
            "geometric": torch.full_like(j, self.p),
        }.get(self.patience, ((far - 1) / far) ** 2)
        if self.stop == "satisfied":
            return chance * (1 - gains)
        if self.stop == "target":
            return chance * (collected < self.target)
        return chance.expand_as(gains)
