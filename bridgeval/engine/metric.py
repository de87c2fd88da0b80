"""Metric: a question asked of the data. The engine sees this contract and nothing else.

`UserMetric` fills it in for metrics that give every user a value, `TotalMetric` for those that have one value for
all lists together. The bases for plain Python functions are in `bases.py`.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.ranking import SHARED_TIES, Ranking, Relevance, Ties
from bridgeval.choices import check_choices
from bridgeval.engine.blocks import WHOLE, Block, Blocks, Counted, RelevantCount, ShownCount, Users
from bridgeval.engine.cumulative import Cumulative
from bridgeval.engine.needs import Needs
from bridgeval.engine.returned import check_ratio, check_values
from bridgeval.engine.state import Collected, Floats, Moments, State, Sums, Tally
from bridgeval.engine.summary import (
    LEAST_IN_PRODUCT,
    NEVER_NEGATIVE,
    OF_MOMENTS,
    UNBOUNDED,
    Bounds,
    Empty,
    Lone,
    Over,
    Result,
    half_width,
)
from bridgeval.errors import BadParameterError
from bridgeval.tables.ids import Ids

# Population -> what it needs.
POPULATION_NEEDS = {
    "history": "users of the history",
    "baseline": "users of the baseline",
    "given": "users given",
    "known": "all users",
}
# Population -> the sides on which users with an empty list belong to it.
NAMED_SIDES = {
    "listed": ("listed",),
    "judged": ("judged",),
    "answered": ("listed",),
    "measured": ("listed", "judged"),
}
# Parameter in names and convention tables -> the field of a metric that holds it, and its name there.
FLAT = {
    **{f.name: ("ranking", f.name) for f in fields(Ranking)},
    "above": ("relevance", "above"),
    "at_least": ("relevance", "at_least"),
    "truth_duplicates": ("relevance", "duplicates"),
}


@dataclass(frozen=True)
class Metric:
    """A frozen dataclass, so that equality, hash, pickle and repr come free; its fields are its parameters.

    Class attributes:
        name: in any case; users ask for it by this name.
        family: the group it is listed in.
        higher_is_better: None if neither direction is better.
        made_of: the parameters that hold other metrics.
        shared_ties: the rules that leave equal scores without an order (`SHARED_TIES`) and that it has a value under.
        in_words: the kind of metric, for messages.

    Attributes:
        label: the name of a toolkit under which it was asked for; not part of what it computes.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = "other"
    higher_is_better: ClassVar[bool | None] = True
    made_of: ClassVar[tuple[str, ...]] = ()
    shared_ties: ClassVar[tuple[Ties, ...]] = ()
    in_words: ClassVar[str] = "a metric"

    label: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if undeclared := find_undeclared(type(self)):  # type: ignore[arg-type]
            raise BadParameterError(
                f"{type(self).__name__} declares {undeclared!r}, which is no parameter of it",
                "a class without @dataclass(frozen=True)",
                "decorate the class",
            )
        check_choices(self, self.name or type(self).__name__)

    @classmethod
    def from_parameters(cls, **parameters: Any) -> Self:
        """A metric made of flat parameters, as in its name: `nDCG.from_parameters(k=10, ties="given")`."""
        return cls(**_nest({f.name: f.default for f in fields(cls)}, parameters))

    def with_parameters(self, **parameters: Any) -> Self:
        """The same metric with other values of some flat parameters."""
        return replace(self, **_nest(vars(self), parameters))

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters as its name gives them: those of `ranking` and `relevance` among the others."""
        return _flatten({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    @cache
    def default_parameters(cls) -> Mapping[str, Any]:
        """Flat parameter -> its default; `dataclasses.MISSING` if it must be given."""
        return _flatten({f.name: f.default for f in fields(cls)})

    @property
    def cutoff(self) -> int | None:
        """How many places it reads; None for whole lists."""
        k: int = getattr(self, "k", WHOLE)
        return None if k == WHOLE else k

    @property
    def bounds(self) -> Bounds:
        """The lowest and the highest value of a user, or of the whole where users have none; infinite if not known.

        A subclass whose bounds do not depend on parameters says `bounds = (0.0, 1.0)`.
        """
        return UNBOUNDED

    @property
    def number_bounds(self) -> Bounds:
        """The bounds of the metric's own number, which is a mean, a median, ... of users' values."""
        return self.bounds

    def needs(self) -> Needs:
        """The data that it reads besides the lists; checked before any data is read."""
        return Needs()

    def start(self) -> State:
        """The state of no data; neutral in `merge`."""
        raise NotImplementedError(f"{type(self).__name__} must define start()")

    def update(self, blocks: Blocks) -> State:
        """The state of one batch alone."""
        raise NotImplementedError(f"{type(self).__name__} must define update(blocks)")

    def compute(self, state: Any) -> Result:
        """The result of the merged states."""
        raise NotImplementedError(f"{type(self).__name__} must define compute(state)")

    def per_user(self) -> Metric | None:
        """The metric that keeps this one's value of every user; None if users have no values."""
        return None

    def __str__(self) -> str:
        """The name that `parse` turns into this metric."""
        parameters, defaults = self.parameters, self.default_parameters()
        k = parameters.pop("k", None)
        given = [f"{name}={literal(value, k)}" for name, value in parameters.items() if value != defaults[name]]
        head = self.label or (f"{self.name}({', '.join(given)})" if given else self.name)
        return head if k is None or k == WHOLE else f"{head}@{k}"


@cache
def find_undeclared(metric: type[Metric]) -> str:
    """A field that a metric class, or a parent, declares without being a dataclass; empty if there is none."""
    for one in metric.__mro__[: metric.__mro__.index(Metric)]:
        if "__dataclass_fields__" not in vars(one):
            for name, hint in inspect.get_annotations(one).items():
                if "ClassVar" not in str(hint):
                    return name
    return ""


def _flatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a metric as flat parameters."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Ranking | Relevance):
            for parameter, (owner, inner) in FLAT.items():
                if owner == name:
                    flat[parameter] = getattr(value, inner)
        elif name != "label":
            flat[name] = value
    return flat


def _nest(values: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Flat parameters as fields of a metric whose fields have these values."""
    nested: dict[str, Any] = {}
    for name, value in parameters.items():
        owner, inner = FLAT.get(name, ("", ""))
        # A metric without `ranking` may have a field of its own that is called `order`.
        if name in values or owner not in values:
            nested[name] = value
        else:
            nested[owner] = replace(nested.get(owner, values[owner]), **{inner: value})
    return nested


@dataclass(frozen=True)
class RankingMetric(Metric):
    """A metric of ranked lists and relevant items.

    Attributes:
        users: the population, see `Counted`: "relevant" (users with a relevant item), "shown", "both", "any", "truth",
            "history", "baseline", "given", "known", "listed", "judged", "answered", "measured".
        ranking: how lists are ranked.
        relevance: which rows of the truth are relevant.
    """

    users: Users = field(default="relevant", kw_only=True)
    ranking: Ranking = field(default=Ranking(), kw_only=True)
    relevance: Relevance = field(default=Relevance(), kw_only=True)

    @property
    def policies(self) -> dict[str, Any]:
        """The three values above, for a metric that this one is made of."""
        return {"users": self.users, "ranking": self.ranking, "relevance": self.relevance}

    def needs(self) -> Needs:
        needed = POPULATION_NEEDS.get(self.users)
        return Needs(
            depth=None,
            users=frozenset({needed} if needed else ()),
            optional=frozenset(f"users {side}" for side in NAMED_SIDES.get(self.users, ())),
        )

    def counted(self, blocks: Blocks) -> Tensor:
        """`[B]` bool: who counts."""
        return blocks[self.population]

    @property
    def population(self) -> Counted:
        """The block of who counts."""
        return Counted(self.users, self.ranking, self.relevance)


@dataclass(frozen=True)
class TotalMetric(RankingMetric):
    """A metric of the first k places of all lists together; its state is a `Tally`.

    Every list counts, whether or not its user has a relevant item, unless `users` says otherwise.
    """

    in_words: ClassVar[str] = "a metric with one value for all lists together"

    k: int
    users: Users = field(default="shown", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=self.k, cutoffs=frozenset({self.k}))

    def start(self) -> State:
        return Tally()


@dataclass(frozen=True)
class UserMetric(RankingMetric):
    """A metric that gives every user a value.

    Subclasses define `values(blocks)`: `[B]` float64, NaN where undefined. They need not care which users count.

    Attributes:
        over: the summary: "mean", "sum", "variance" (of all users, not of a sample), "median", "lower_median", "p90"
            (the 90th percentile, interpolated), "min", "max", "geometric" (mean, of values that are taken for 0.00001
            at least), "pooled" (all numerators over all denominators, of metrics that have them),
            "half_width" (of the mean's interval), "per_user".
        confidence: of "half_width".
        lone: the half width if only one user has a value: "undefined", or "zero".
    """

    in_words: ClassVar[str] = "a metric with a value for each user (such as nDCG, Recall or MRR)"

    over: Over = field(default="mean", kw_only=True)
    confidence: float = field(default=0.95, kw_only=True)
    lone: Lone = field(default="undefined", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ranking.ties in SHARED_TIES and self.ranking.ties not in self.shared_ties:
            raise BadParameterError(
                f"{self.name} has no value where equal scores have no order",
                f"ties={self.ranking.ties!r}",
                "nDCG, DCG, Precision, Recall, HitRate, MRR and MAP have one; ties='random' gives an order",
            )
        if not 0 < self.confidence < 1:
            raise BadParameterError(
                f"{self.name} needs a confidence between 0 and 1", f"{self.confidence}", "0.95 is usual"
            )
        if self.over == "pooled" and not isinstance(self, RatioMetric):
            raise BadParameterError(
                f"{self.name} is no ratio of two sums, so that it cannot be pooled",
                hint="Precision, Recall and metrics on RatioMetric can; over='mean' is usual",
            )

    @property
    def number_bounds(self) -> Bounds:
        if self.over in ("half_width", "variance"):
            return NEVER_NEGATIVE
        low, high = self.bounds
        # A sum may be of any number of users.
        return (math.copysign(math.inf, low) if low < 0 else 0.0, math.inf) if self.over == "sum" else (low, high)

    def values(self, blocks: Blocks) -> Tensor:
        """`[B]` float64: the value of each user, NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define values(blocks)")

    def start(self) -> State:
        return Moments() if self.over in OF_MOMENTS else Collected()

    def update(self, blocks: Blocks) -> State:
        counted, values = self.counted(blocks), blocks[UserValues(self._unsummarized())]
        if self.over == "geometric":
            values = values.clamp(min=LEAST_IN_PRODUCT).log()
        if self.over in OF_MOMENTS:
            return blocks.measure(counted, values)
        users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop)

        def collect(counted: npt.NDArray[np.bool_], values: Floats) -> State:
            rows = np.flatnonzero(counted)
            return Collected(((users.take(rows), values[rows]),)) if len(rows) else Collected()

        return blocks.finish(collect, counted, values)

    def compute(self, state: Any) -> Result:
        return summarize_state(self.over, state, self.confidence, self.lone)

    def per_user(self) -> Self:
        return replace(self, over="per_user")

    def _unsummarized(self) -> Self:
        plain = (self.over, self.confidence, self.lone) == ("mean", 0.95, "undefined")
        return self if plain else replace(self, over="mean", confidence=0.95, lone="undefined")


def summarize_state(over: Over, state: Any, confidence: float = 0.95, lone: Lone = "undefined") -> Result:
    """The result of merged values of users, see `UserMetric` for the parameters."""
    if over in OF_MOMENTS:
        value = state.mean if state.count else math.nan
        deviation = state.deviation
        if over == "geometric":
            value, deviation = math.exp(value), None
        if over == "sum":
            value, deviation = state.mean * state.count, None
        if over == "variance":
            value, deviation = state.squares / state.count if state.count else math.nan, None
        if over == "half_width":
            alone = lone == "zero" and state.count == 1
            value = 0.0 if alone else half_width(deviation, state.count, confidence)
            deviation = None
        return Result(value, users=state.count, undefined=state.undefined, deviation=deviation)
    table = state.table()
    result = Result(None, users=table.defined, undefined=table.undefined)
    if over == "per_user":
        return replace(result, per_user=table)
    if over in ("min", "max"):
        return replace(result, value=table.largest() if over == "max" else table.smallest())
    if over == "p90":
        return replace(result, value=table.quantile(0.9))
    return replace(result, value=table.median(lower=over == "lower_median"))


def summarize(over: Over, users: Ids, values: Floats) -> Result:
    """The result of values that users already have.

    >>> summarize("mean", Ids.of([1, 2], "users"), np.array([0.0, 1.0])).value
    0.5
    """
    collected = Collected(((users, values),)) if len(values) else Collected()
    return summarize_state(over, Moments.of(values) if over in OF_MOMENTS else collected)


@dataclass(frozen=True)
class TopKMetric(UserMetric):
    """A per-user metric over the first k places of the ranked list.

    Subclasses define `values`; or `at_cutoffs`, where all cutoffs cost hardly more than one.
    """

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k, whole=type(self).default_parameters()["k"] == WHOLE)

    def needs(self) -> Needs:
        depth = None if self.k == WHOLE else self.k
        return replace(super().needs(), depth=depth, cutoffs=frozenset({self.k}))

    def at_cutoffs(self, blocks: Blocks) -> Tensor:
        """`[cutoffs, B]` float64: the values at each of `blocks.cutoffs`, whatever `self.k` is."""
        raise NotImplementedError(f"{type(self).__name__} must define values(blocks)")

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[CutoffValues(self._at_one)].up_to(self.k)

    @cached_property
    def _at_one(self) -> Self:
        """The same metric at the cutoff 1: one key for all cutoffs."""
        return replace(self, k=1)


@dataclass(frozen=True)
class RelevanceMetric(UserMetric):
    """A per-user metric of the relevant items that were found; 0 for users who have none.

    Attributes:
        empty: the value of a user who counts and has no relevant item: "zero"; "one"; "match", 1 if nothing was shown
            either, else 0; "drop", none.
    """

    empty: Empty = field(default="zero", kw_only=True)


@dataclass(frozen=True)
class PrefixMetric(RelevanceMetric, TopKMetric):
    """A per-user metric over the first k places, or over the whole list where no cutoff is given."""

    k: int = WHOLE

    def places(self, blocks: Blocks) -> int | Tensor:
        """The number of places: k, or the length of each whole list, at least 1: `[B]` int64."""
        return self.k if self.k != WHOLE else blocks[ShownCount(self.ranking)].clamp(min=1)

    def all_places(self, blocks: Blocks) -> Tensor:
        """The same for every cutoff: `[cutoffs, 1]` int64, or `[cutoffs, B]` if one of them is that of whole lists."""
        ends = blocks.ends[:, None]
        if blocks.cutoffs[-1] != WHOLE:
            return ends
        return torch.where(ends == WHOLE, blocks[ShownCount(self.ranking)].clamp(min=1), ends)


@dataclass(frozen=True)
class RatioMetric(PrefixMetric):
    """A per-user metric that is a numerator over a denominator, so that users can also be pooled.

    Subclasses define `ratio(blocks)`: numerator and denominator, `[B]` each or numbers.
    """

    def ratio(self, blocks: Blocks) -> tuple[Tensor, Tensor | float]:
        raise NotImplementedError(f"{type(self).__name__} must define ratio(blocks)")

    def values(self, blocks: Blocks) -> Tensor:
        above, below = self._read_ratio(blocks)
        return above / below

    def _read_ratio(self, blocks: Blocks) -> tuple[Tensor, Tensor | float]:
        ratio = self.ratio(blocks)
        check_ratio(self, ratio, len(blocks))
        return ratio

    def start(self) -> State:
        return Sums() if self.over == "pooled" else super().start()

    def update(self, blocks: Blocks) -> State:
        if self.over != "pooled":
            return super().update(blocks)
        counted = self.counted(blocks)
        above, below = (one * counted.double() for one in self._read_ratio(blocks))
        return Sums({"above": above.sum(), "below": below.sum(), "users": counted.sum()})

    def compute(self, state: Any) -> Result:
        if self.over != "pooled":
            return super().compute(state)
        return Result(state["above"] / state["below"] if state["below"] else math.nan, users=state["users"])


@dataclass(frozen=True)
class CutoffValues(Block[Cumulative]):
    """The per-user values of a metric at every cutoff that is asked for."""

    metric: TopKMetric

    def make(self, blocks: Blocks) -> Cumulative:
        return Cumulative(blocks.cutoffs, self.metric.at_cutoffs(blocks))


@dataclass(frozen=True)
class UserValues(Block[Tensor]):
    """The per-user values of a metric, computed once for its mean, its median, and all metrics made of it."""

    metric: UserMetric

    def make(self, blocks: Blocks) -> Tensor:
        values = self.metric.values(blocks)
        check_values(self.metric, values, len(blocks))
        if isinstance(self.metric, RelevanceMetric) and self.metric.empty != "zero":
            values = fill_empty(blocks, self.metric, values)
        return values if values.dtype == torch.float64 else values.double()


def fill_empty(blocks: Blocks, metric: RelevanceMetric, values: Tensor) -> Tensor:
    """Values `[B]`, with what `empty` says for users without a relevant item."""
    empty = blocks[RelevantCount(metric.relevance)] == 0
    if metric.empty == "match":
        return torch.where(empty, (blocks[ShownCount(metric.ranking)] == 0).double(), values)
    return values.double().masked_fill(empty, 1.0 if metric.empty == "one" else torch.nan)


def check_cutoff(name: str, k: object, whole: bool = False) -> None:
    """Raises BadParameterError unless k is a whole number from 1 up; `WHOLE`, beyond every list, only if it may be."""
    most = WHOLE if whole else WHOLE - 1
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= most:
        raise BadParameterError(
            f"the cutoff of {name} must be a whole number from 1 to {WHOLE - 1:,}", f"{k!r}", f"e.g. {name}@10"
        )


def literal(value: object, k: int | None = None) -> str:
    """A value as it is typed in a metric's name; metrics inside a metric leave out the cutoff of the whole.

    >>> literal("mean"), literal((1, 2.5)), literal(None)
    ('"mean"', '[1, 2.5]', 'None')
    """
    if isinstance(value, Metric):
        return literal(str(value) if k is None else str(value).removesuffix(f"@{k}"))
    if isinstance(value, tuple | list):
        return f"[{', '.join(literal(one, k) for one in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
