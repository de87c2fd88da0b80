"""Metric: a question asked of the data. The engine sees this contract and nothing else.

`UserMetric` fills it in for metrics that give every user a value, `TotalMetric` for those that have one value for
all lists together. The bases for plain Python functions are in `bases.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property, singledispatch
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from bridgeval.batch.ranking import Duplicates, Masked, Order, Ranking, Relevance, Ties
from bridgeval.batch.tensors import array_of
from bridgeval.engine import summary
from bridgeval.engine.blocks import Block, Blocks, Counted, Users
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Moments, State, Tally
from bridgeval.engine.summary import Lone, Over, Result
from bridgeval.errors import BadParameterError

POPULATION_NEEDS = {
    "history": "users of the history",
    "baseline": "users of the baseline",
    "given": "users given",
    "known": "all users",
}


@dataclass(frozen=True)
class Metric:
    """A frozen dataclass, so that equality, hash, pickle and repr come free; its fields are its parameters.

    Class attributes:
        name: how it is asked for, without regard to case.
        family: the group it is listed in.
        higher_is_better: None where neither direction is better.
        made_of: the parameters that hold other metrics.

    Attributes:
        label: the name it was asked for by, when that was a toolkit's; not part of what it computes.
    """

    name: ClassVar[str] = ""
    family: ClassVar[str] = "other"
    higher_is_better: ClassVar[bool | None] = True
    made_of: ClassVar[tuple[str, ...]] = ()

    label: str | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for parameter, choices in _choices(type(self)).items():  # type: ignore[arg-type]
            value = getattr(self, parameter)
            if value not in choices:
                raise BadParameterError(
                    f"{self.name} has no {parameter}={value!r}",
                    hint=f"choose one of {', '.join(map(repr, choices))}",
                )

    def __init_subclass__(cls) -> None:
        """Gives a subclass the hash below, which `dataclass` then leaves alone, unless it has its own."""
        super().__init_subclass__()
        if "__hash__" not in vars(cls):
            cls.__hash__ = Metric.__hash__  # type: ignore[method-assign]

    def __hash__(self) -> int:
        """Taken once: a metric is looked up several times in every batch."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), *(getattr(self, f.name) for f in fields(self) if f.compare)))

    def __getstate__(self) -> dict[str, Any]:
        """The parameters alone: a hash holds only in the process that took it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def needs(self) -> Needs:
        """What it reads; checked before any data is."""
        return Needs()

    def start(self) -> State:
        """The state of no data; neutral in `merge`."""
        raise NotImplementedError(f"{type(self).__name__} must define start()")

    def update(self, blocks: Blocks) -> State:
        """The state of one batch alone."""
        raise NotImplementedError(f"{type(self).__name__} must define update(blocks)")

    def compute(self, state: Any) -> Result:
        """The result of all that was merged."""
        raise NotImplementedError(f"{type(self).__name__} must define compute(state)")

    def per_user(self) -> Metric | None:
        """The metric that collects this one's value of every user; None where users have no values."""
        return None

    def __str__(self) -> str:
        """What you would type to get it back."""
        return self._text

    @cached_property
    def _text(self) -> str:
        cutoff = getattr(self, "k", None)
        head = self.label or f"{self.name}{self._arguments()}"
        return head if cutoff is None else f"{head}@{cutoff}"

    def _arguments(self) -> str:
        given = [
            f"{f.name}={literal(getattr(self, f.name), getattr(self, 'k', None))}"
            for f in fields(self)
            if f.name not in ("k", "label") and getattr(self, f.name) != f.default
        ]
        return f"({', '.join(given)})" if given else ""


# Equal policies are one object, and blocks that hold them are told apart at a glance.
_ranking, _relevance = cache(Ranking), cache(Relevance)


@dataclass(frozen=True)
class PolicyMetric(Metric):
    """A metric of lists and truth. Whose they are, how lists are ranked and what is relevant are parameters.

    Attributes:
        users: who counts, see `Counted`: "relevant" (users with a relevant item), "shown", "both", "any", "truth",
            "history", "baseline", "given", "known", "listed", "judged".
        order, ties, duplicates, masked, cut: the ranking policy, see `Ranking`.
        above: gains above this are relevant; None takes every row of the truth.
        truth_duplicates: what a repeated relevant item counts, see `Relevance`.
    """

    users: Users = field(default="relevant", kw_only=True)
    order: Order = field(default="score", kw_only=True)
    ties: Ties = field(default="item_descending", kw_only=True)
    duplicates: Duplicates = field(default="best", kw_only=True)
    masked: Masked = field(default="drop", kw_only=True)
    cut: int | None = field(default=None, kw_only=True)
    above: float | None = field(default=0.0, kw_only=True)
    truth_duplicates: Literal["best", "first", "all"] = field(default="best", kw_only=True)

    @cached_property
    def ranking(self) -> Ranking:
        return _ranking(self.order, self.ties, self.duplicates, self.masked, self.cut)

    @cached_property
    def relevance(self) -> Relevance:
        return _relevance(self.above, self.truth_duplicates)

    @property
    def policies(self) -> dict[str, Any]:
        """The parameters above, for a metric that this one is made of."""
        return {f.name: getattr(self, f.name) for f in fields(PolicyMetric) if f.name != "label"}

    def needs(self) -> Needs:
        needed = POPULATION_NEEDS.get(self.users)
        named = f"users {self.users}" if self.users in ("listed", "judged") else None
        return Needs(
            depth=None,
            users=frozenset({needed} if needed else ()),
            optional=frozenset({named} if named else ()),
        )

    def counted(self, blocks: Blocks) -> Tensor:
        """`[B]` bool: who counts."""
        return blocks[self.population]

    @cached_property
    def population(self) -> Counted:
        """The block of who counts."""
        return Counted(self.users, self.ranking, self.relevance)


@dataclass(frozen=True)
class TotalMetric(PolicyMetric):
    """A metric of the first k places of everyone's lists taken together: it adds up a `Tally`.

    Every list counts, whether its user has a relevant item or not, unless `users` says otherwise.
    """

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
class UserMetric(PolicyMetric):
    """A metric that gives every user a value.

    Subclasses define `values(blocks)`: `[B]` float64, NaN where undefined. Who counts is a question apart.

    Attributes:
        over: the summary: "mean", "median", "lower_median", "max", "half_width" (of the mean's interval), "per_user".
        confidence: of "half_width".
        lone: the half width where one user has a value: "undefined", or "zero".
    """

    over: Over = field(default="mean", kw_only=True)
    confidence: float = field(default=0.95, kw_only=True)
    lone: Lone = field(default="undefined", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.confidence < 1:
            raise BadParameterError(
                f"{self.name} needs a confidence between 0 and 1", f"{self.confidence}", "0.95 is usual"
            )

    def values(self, blocks: Blocks) -> Tensor:
        """`[B]` float64: the value of each user, NaN where undefined."""
        raise NotImplementedError(f"{type(self).__name__} must define values(blocks)")

    def start(self) -> State:
        return summary.start(self.over)

    def update(self, blocks: Blocks) -> State:
        counted = blocks.rows_of(self.counted(blocks))
        values = array_of(blocks[UserValues(self._unsummarised())])[counted]
        if self.over in summary.OF_MOMENTS:
            return Moments.of(values)
        users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop)
        return summary.state_of(self.over, users.take(np.arange(len(blocks))[counted]), values)

    def compute(self, state: Any) -> Result:
        return summary.result_of(self.over, state, self.confidence, self.lone)

    def per_user(self) -> Self:
        return replace(self, over="per_user")

    def _unsummarised(self) -> Self:
        plain = (self.over, self.confidence, self.lone) == ("mean", 0.95, "undefined")
        return self if plain else replace(self, over="mean", confidence=0.95, lone="undefined")


@dataclass(frozen=True)
class TopKMetric(UserMetric):
    """A per-user metric over the first k places of the ranked list."""

    k: int

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k)

    def needs(self) -> Needs:
        return replace(super().needs(), depth=self.k, cutoffs=frozenset({self.k}))


@dataclass(frozen=True)
class UserValues(Block[Tensor]):
    """The per-user values of a metric, made once for its mean, its median, and all metrics made of it."""

    metric: UserMetric

    def make(self, blocks: Blocks) -> Tensor:
        values = self.metric.values(blocks)
        return values if values.dtype == torch.float64 else values.double()


def check_cutoff(name: str, k: object) -> None:
    """Raises unless k is a whole number from 1 up."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise BadParameterError(f"the cutoff of {name} must be a whole number from 1 up", f"{k!r}", f"e.g. {name}@10")


@cache
def _choices(metric: type[Metric]) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(metric)
    return {f.name: get_args(hints[f.name]) for f in fields(metric) if get_origin(hints[f.name]) is Literal}


@singledispatch
def literal(value: object, k: int | None = None) -> str:
    """A value as it is typed in a metric's name; metrics inside a metric leave its own cutoff out.

    >>> literal("mean"), literal((1, 2.5)), literal(None)
    ('"mean"', '[1, 2.5]', 'None')
    """
    return repr(value)


@literal.register
def _(value: str, k: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False)


@literal.register(tuple)
@literal.register(list)
def _(value: Sequence[object], k: int | None = None) -> str:
    return f"[{', '.join(literal(one, k) for one in value)}]"


@literal.register
def _(value: Metric, k: int | None = None) -> str:
    text = str(value)
    return literal(text if k is None else text.removesuffix(f"@{k}"))
