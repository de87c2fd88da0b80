"""States: small immutable values with one operation, `merge`.

`merge` is associative, no result depends on the order of merging, and `start()` of a metric is neutral. So batches,
threads, Spark partitions and `torch.distributed` ranks are one and the same case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.kernels import measure_rows
from bridgeval.batch.transfer import Pending, PendingMoments, download
from bridgeval.errors import MisalignedError
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.ids import Ids

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


class State(Protocol):
    """Anything that merges with its own kind."""

    def merge(self, other: Self, /) -> Self: ...


class Numbers:
    """A state whose fields may be tensors, or mappings to tensors, while it is made; the plan turns them into numbers
    and arrays of the host, those of all metrics in one copy.
    """


def fetch_states(states: Sequence[Any]) -> tuple[Any, ...]:
    """The states with numbers and arrays in place of tensors, which come from a device in one copy.

    >>> import torch
    >>> fetch_states([Sums({"users": torch.tensor(3)})])
    (Sums(values={'users': 3}),)
    """
    waiting: list[Tensor | PendingMoments] = []
    for state in states:
        _find_waiting(state, waiting)
    if not waiting:
        return tuple(states)
    measured = _measure_together([one for one in waiting if isinstance(one, PendingMoments)])
    tensors = [one for one in waiting if isinstance(one, Tensor)]
    tensors += [tensor for _, numbers in measured for tensor in numbers]
    made: dict[int, Any] = {id(one): array for one, array in zip(tensors, download(tensors), strict=True)}
    for pending, numbers in measured:
        for one, row in zip(pending, zip(*(made[id(number)].tolist() for number in numbers), strict=True), strict=True):
            made[id(one)] = Moments.from_row(*row)
    return tuple(_replace(state, made) for state in states)


def _measure_together(pending: Sequence[PendingMoments]) -> list[tuple[list[PendingMoments], tuple[Tensor, ...]]]:
    """Values of the same length, and the moments of all of them."""
    by_length: dict[int, list[PendingMoments]] = {}
    for one in pending:
        by_length.setdefault(len(one.values), []).append(one)
    return [
        (some, measure_rows(torch.stack([one.values for one in some]), torch.stack([one.counted for one in some])))
        for some in by_length.values()
    ]


def _find_waiting(state: Any, waiting: list[Tensor | PendingMoments]) -> None:
    """Adds what is not on the host yet of a state, in the places where `_replace` puts it."""
    match state:
        case Tensor() | PendingMoments():
            waiting.append(state)
        case Pending():
            waiting.extend(state.tensors)
        case Mapping():
            waiting.extend([one for one in state.values() if isinstance(one, Tensor)])
        case tuple():
            for one in state:
                _find_waiting(one, waiting)
        case Numbers():
            for one in vars(state).values():
                _find_waiting(one, waiting)


def _replace(state: Any, made: Mapping[int, Any]) -> Any:
    """The state with what was made of its tensors in their place."""
    match state:
        case Tensor():
            array = made[id(state)]
            return array if array.ndim else array.item()
        case PendingMoments():
            return made[id(state)]
        case Pending():
            return state.finish(*(made[id(tensor)] for tensor in state.tensors))
        case Mapping():
            here = {key: _replace(one, made) for key, one in state.items() if isinstance(one, Tensor)}
            return {**state, **here}
        case tuple():
            return tuple(_replace(one, made) for one in state)
        case Numbers():
            changed: Any = state
            return replace(changed, **{name: _replace(one, made) for name, one in vars(state).items()})
    return state


@dataclass(frozen=True)
class Moments:
    """Count, mean and squared deviation of values; NaN values are counted apart.

    Constant size, and spread merges exactly (Chan, Golub and LeVeque 1979).

    >>> both = Moments.of(np.array([1.0, 2.0])).merge(Moments.of(np.array([6.0, float("nan")])))
    >>> both.count, both.mean, both.deviation, both.undefined
    (3, 3.0, 2.6457513110645907, 1)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    undefined: int = 0

    @staticmethod
    def of(values: Floats) -> Moments:
        missing = np.isnan(values)
        defined = values[~missing] if missing.any() else values
        undefined = len(values) - len(defined)
        if not len(defined):
            return Moments(undefined=undefined)
        mean = float(defined.mean())
        # A mean that is infinite has no spread: inf - inf is NaN, with a warning.
        squares = float(np.square(defined - mean).sum()) if math.isfinite(mean) else math.nan
        return Moments(len(defined), mean, squares, undefined)

    @staticmethod
    def from_row(count: int, mean: float, squares: float, undefined: int) -> Moments:
        """The moments that were taken on a device: there the mean of no values is NaN, and an infinite one has some
        spread.
        """
        if not count:
            return Moments(undefined=undefined)
        return Moments(count, mean, squares if math.isfinite(mean) else math.nan, undefined)

    def merge(self, other: Moments) -> Moments:
        undefined = self.undefined + other.undefined
        if not self.count or not other.count:
            full = self if self.count else other
            return Moments(full.count, full.mean, full.squares, undefined)
        count = self.count + other.count
        gap = other.mean - self.mean
        if not math.isfinite(gap):
            return Moments(count, self.mean + other.mean, math.nan, undefined)
        mean = self.mean + gap * other.count / count
        squares = self.squares + other.squares + gap * gap * self.count * other.count / count
        return Moments(count, mean, squares, undefined)

    @property
    def deviation(self) -> float:
        """Sample standard deviation; NaN below two values."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else math.nan


@dataclass(frozen=True)
class UserTable:
    """Per-user values, in the order of the user ids, which are None if there is no user at all."""

    users: Ids | None
    values: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def undefined(self) -> int:
        """Users that count but have no value."""
        return int(np.isnan(self.values).sum())

    @property
    def defined(self) -> int:
        return len(self) - self.undefined

    def median(self, lower: bool = False) -> float:
        """The median of the defined values (of two in the middle the mean, or the lower one); NaN if there are none."""
        defined = self.values[~np.isnan(self.values)]
        if not len(defined):
            return math.nan
        return float(np.quantile(defined, 0.5, method="lower") if lower else np.median(defined))

    def quantile(self, share: float) -> float:
        """The value that this share of the defined ones lie below, interpolated; NaN if there are none."""
        return float(np.nanquantile(self.values, share)) if self.defined else math.nan

    def smallest(self) -> float:
        """The smallest defined value; NaN if there are none."""
        return float(np.nanmin(self.values)) if self.defined else math.nan

    def largest(self) -> float:
        """The largest defined value; NaN if there are none."""
        return float(np.nanmax(self.values)) if self.defined else math.nan

    def frame(self, name: str, k: int | None) -> pd.DataFrame:
        """A frame (user, metric, k, value)."""
        import pandas as pd

        users = self.users.tolist() if self.users is not None else []
        return pd.DataFrame({"user": users, "metric": name, "k": k, "value": self.values})

    @staticmethod
    def together(tables: Mapping[tuple[str, int | None], UserTable]) -> pd.DataFrame:
        """A frame (user, metric, k, value) of several metrics."""
        import pandas as pd

        return pd.concat([table.frame(*name) for name, table in tables.items()], ignore_index=True)

    @staticmethod
    def side_by_side(tables: Mapping[tuple[str, int | None], UserTable]) -> pd.DataFrame:
        """A frame with a row for each user and a column for each metric, NaN where a metric leaves a user out."""
        import pandas as pd

        columns = {name: pd.Series(table.to_dict(), dtype=np.float64) for (name, _), table in tables.items()}
        repeated = next((name for (name, _), table in tables.items() if len(columns[name]) != len(table)), None)
        if repeated is not None:
            raise MisalignedError(
                f"users have several values of {repeated}", hint="ask for rows: a user has one place in a wide frame"
            )
        return pd.DataFrame(columns).rename_axis("user").sort_index().reset_index()

    def to_dict(self) -> dict[Any, float]:
        return dict(zip(self.users.tolist() if self.users else [], self.values.tolist(), strict=True))


@dataclass(frozen=True)
class Collected:
    """Values with the ids of their users. It grows with the number of users: 8 bytes and an id for each."""

    grows: ClassVar[bool] = True
    chunks: tuple[tuple[Ids, Floats], ...] = ()

    def merge(self, other: Collected) -> Collected:
        return Collected(self.chunks + other.chunks)

    def table(self) -> UserTable:
        """All values in the order of the user ids."""
        if not self.chunks:
            return UserTable(None, np.zeros(0))
        vocabulary, codes = encode_ids([ids for ids, _ in self.chunks], "user ids")
        joined = np.concatenate(codes)
        order = np.argsort(joined, kind="stable")
        # A user who comes again, e.g. on another day, has an entry for each time.
        users = vocabulary if len(vocabulary) == len(joined) else vocabulary.take(joined[order])
        return UserTable(users, np.concatenate([values for _, values in self.chunks])[order])

    def to_plain(self) -> tuple[Ids | None, Floats]:
        """All values in one chunk, in the order of the user ids."""
        table = self.table()
        return table.users, table.values

    @staticmethod
    def from_plain(plain: tuple[Ids | None, Floats]) -> Collected:
        users, values = plain
        if len(values) != (0 if users is None else len(users)):
            raise ValueError("values and users differ in number")
        return Collected() if users is None else Collected(((users, values),))


@dataclass(frozen=True)
class Sums(Numbers):
    """Named numbers, or arrays of one shape, that add up. An absent name is zero.

    >>> Sums({"hits": 2.0}).merge(Sums({"hits": 1.0, "shown": 5.0})).values
    {'hits': 3.0, 'shown': 5.0}
    """

    values: Mapping[str, Any] = field(default_factory=dict)

    def merge(self, other: Sums) -> Sums:
        names = {**self.values, **other.values}
        return Sums({name: self[name] + other[name] for name in names})

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, 0)


@dataclass(frozen=True)
class ItemSums(Numbers):
    """Numbers by item that add up; merged by id, so that vocabularies may differ.

    Attributes:
        ids: `[n]` sorted item ids; None when there is no item yet.
        values: `[n]` or `[n, F]` float64.
    """

    ids: Ids | None = None
    values: Floats = field(default_factory=lambda: np.zeros(0))

    @staticmethod
    def of(ids: Ids, values: Any) -> ItemSums:
        """The sums of one batch, whose values may be a tensor until they are fetched."""
        return ItemSums(ids, values)

    def merge(self, other: ItemSums) -> ItemSums:
        if self.ids is None or other.ids is None:
            return other if self.ids is None else self
        if self.ids is other.ids:
            return ItemSums(self.ids, self.values + other.values)
        vocabulary, (first, second) = encode_ids([self.ids, other.ids], "item ids")
        values = np.zeros((len(vocabulary), *self.values.shape[1:]))
        values[first] += self.values
        values[second] += other.values
        return ItemSums(vocabulary, values)

    def __getstate__(self) -> dict[str, Any]:
        """Leaves out items with nothing but zeros: most of a vocabulary in one partition."""
        if self.ids is None:
            return {"ids": None, "values": self.values}
        kept = np.flatnonzero(self.values.any(axis=tuple(range(1, self.values.ndim))))
        return {"ids": self.ids.take(kept), "values": self.values[kept]}

    def to_plain(self) -> dict[str, Any]:
        return self.__getstate__()

    @staticmethod
    def from_plain(plain: Mapping[str, Any]) -> ItemSums:
        found = ItemSums(**plain)
        if found.ids is not None and len(found.ids) != len(found.values):
            raise ValueError("values and items differ in number")
        return found


@dataclass(frozen=True)
class Tally(Numbers):
    """Sums of a metric over everyone's lists.

    Attributes:
        sums: named numbers or arrays.
        items: numbers by item.
        facts: constants of the data that `compute` needs, e.g. the size of the catalogue.

    >>> Tally(Sums({"users": 2}), facts={"catalogue": 9}).merge(Tally(Sums({"users": 1}))).sums["users"]
    3
    """

    sums: Sums = field(default_factory=Sums)
    items: ItemSums = field(default_factory=ItemSums)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def merge(self, other: Tally) -> Tally:
        return Tally(self.sums.merge(other.sums), self.items.merge(other.items), {**self.facts, **other.facts})


@dataclass(frozen=True)
class Joint(Numbers):
    """The states of a metric that is made of several."""

    parts: tuple[Any, ...]

    def merge(self, other: Joint) -> Joint:
        return Joint(tuple(one.merge(two) for one, two in zip(self.parts, other.parts, strict=True)))
