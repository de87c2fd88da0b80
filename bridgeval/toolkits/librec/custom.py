"""Custom metric classes as metrics of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from bridgeval.errors import BadParameterError, MetricFailedError
from bridgeval.plugin import Blocks, Ids, Lists, Metric, Needs, Result, UserTable
from bridgeval.toolkits.librec.bases import (
    Array,
    Compat,
    CustomBase,
    ListBasedMetric,
    RowBasedMetric,
    Visited,
    build,
    evaluate_custom,
    match_arguments,
    number_ids,
    stack_columns,
    to_numbers,
)

# The need of metrics that take `original_data`, and the table by user that answers it: rows `[n, 3]`.
ORIGINAL_LISTS = "original lists"


@dataclass(frozen=True)
class CollectedRows:
    """Test and result rows, in pieces. Grows with the data: custom metrics may read everything."""

    grows: ClassVar[bool] = True
    pieces: tuple[tuple[Array, Array], ...] = ()

    def merge(self, other: CollectedRows) -> CollectedRows:
        return CollectedRows(self.pieces + other.pieces)


class Measured(NamedTuple):
    """The value of a metric that reads all rows; for lists also the users visited and the value of each."""

    value: Any
    users: list[Any] | None = None
    values: list[Any] | None = None
    rows: int | None = None


@dataclass(frozen=True)
class RowCollector(Metric):
    """A metric that reads all test and result rows at once, as librec-auto's scripts do.

    Subclasses define `measure(test, result)`; rows are as the base classes of custom metrics have them.

    Attributes:
        collect: returns the values of users instead of the value of all.
    """

    collect: bool = field(default=False, repr=False, kw_only=True)

    def measure(self, test: Array, result: Array) -> Measured:
        raise NotImplementedError(f"{type(self).__name__} must define measure(test, result)")

    def start(self) -> CollectedRows:
        return CollectedRows()

    def update(self, blocks: Blocks) -> CollectedRows:
        return CollectedRows(((self.read_test(blocks), _read_rows(blocks, blocks.batch.slates.shown, "score")),))

    def read_test(self, blocks: Blocks) -> Array:
        """Reads the rows that results are compared with."""
        return _read_rows(blocks, blocks.batch.slates.relevant, "gain")

    def compute(self, state: CollectedRows) -> Result:
        pieces = state.pieces or ((np.empty((0, 3), dtype=object),) * 2,)
        value, users, values, rows = self.measure(*map(np.concatenate, zip(*pieces, strict=True)))
        if users is None:
            return Result(self._to_number(value), notes={} if rows is None else {"rows": rows})
        if not self.collect:
            return Result(self._to_number(value), users=len(users))
        table = UserTable(Ids.of(users) if users else None, np.array(values, dtype=np.float64))
        return Result(None, per_user=table, users=len(users))

    def per_user(self) -> Self | None:
        return replace(self, collect=True)

    def _to_number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise MetricFailedError(f"{self} must return a number", f"{value!r}", "return one value") from None


@dataclass(frozen=True)
class CustomMetric(RowCollector):
    """A librec-auto metric class as a metric of `bridgeval.evaluate`. Built by `custom`.

    Attributes:
        metric: the class.
        params: name and value of each parameter.
        compat: "librec-auto" calls `evaluate_row(result, test)` and converts ids to numbers as that package does.
        visit: which users a list metric visits; None is "test", and under compat "both".
        conf: the configuration, for constructors that take one.
    """

    name = "CustomMetric"

    metric: type[CustomBase] = RowBasedMetric
    params: tuple[tuple[str, Any], ...] = ()
    compat: Compat = None
    visit: Visited | None = None
    conf: Any = field(default=None, compare=False)

    def needs(self) -> Needs:
        scores = {"score"} if issubclass(self.metric, RowBasedMetric) else ()
        lists = {ORIGINAL_LISTS} if self._is_about_original else ()
        return Needs(pairs=frozenset(scores), context=frozenset(lists))

    def read_test(self, blocks: Blocks) -> Array:
        return _read_original(blocks) if self._is_about_original else super().read_test(blocks)

    def measure(self, test: Array, result: Array) -> Measured:
        as_there = self.compat == "librec-auto"
        numbered = (to_numbers(test), to_numbers(result)) if as_there else number_ids(test, result)
        metric = build(self.metric, dict(self.params), *numbered, self.conf)
        metric._compat, metric._visited = self.compat, self.visit or ("both" if as_there else "test")
        value = evaluate_custom(metric)
        if self._has_user_values:
            return Measured(value, restore_users(metric._users, numbered, (test, result)), metric._values)
        return Measured(value, rows=len(metric._scores) if self.metric.evaluate is RowBasedMetric.evaluate else None)

    def per_user(self) -> Self | None:
        return super().per_user() if self._has_user_values else None

    @property
    def _is_about_original(self) -> bool:
        return "original_data" in match_arguments(self.metric).values()

    @property
    def _has_user_values(self) -> bool:
        """Whether its value is made of users' values; a metric with an `evaluate` of its own may do anything."""
        return self.metric.evaluate is ListBasedMetric.evaluate


def custom(
    metric: type[CustomBase],
    params: Mapping[str, Any] | None = None,
    *,
    compat: Compat = None,
    users: Visited | None = None,
    conf: Any = None,
    label: str | None = None,
) -> CustomMetric:
    """Makes a metric for `evaluate` from a custom metric class.

    Args:
        metric: a subclass of RowBasedMetric or ListBasedMetric, in any of the three dialects.
        params: returned by `get_params()`; librec-auto passes text.
        compat: "librec-auto" passes rows as that package does, see CustomMetric.
        users: which users a list metric visits: those with "test" rows, with "results", "both" or "any". By default
            "test"; under compat "both", because librec-auto fails on the others (PyPI 0.2.13 visits "test").
        conf: passed to constructors that take `conf`.
        label: its name in reports; the class and its parameters by default.

    >>> import bridgeval
    >>> class Bias(RowBasedMetric):
    ...     def evaluate_row(self, test, result):
    ...         return result[2] - test[2]
    >>> dict(bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, custom(Bias)))
    {'Bias': -0.5}
    """
    if not (isinstance(metric, type) and issubclass(metric, RowBasedMetric | ListBasedMetric)):
        raise BadParameterError(
            "a custom metric must extend RowBasedMetric or ListBasedMetric",
            f"{metric!r}",
            "see docs/librec.md",
        )
    match_arguments(metric)
    given = tuple((params or {}).items())
    arguments = f"({', '.join(f'{name}={value}' for name, value in given)})" if given else ""
    return CustomMetric(metric, given, compat, users, conf, label=label or f"{metric.__name__}{arguments}")


def restore_users(users: list[Any], numbered: tuple[Array, ...], rows: tuple[Array, ...]) -> list[Any]:
    """Returns the ids of users as they came, given both sides with ids as numbers and as they came."""
    numbers, ids = (np.concatenate([side[:, 0] for side in sides]) for sides in (numbered, rows))
    known = dict(zip(numbers, ids, strict=True))
    return [known[user] for user in users]


def _read_rows(blocks: Blocks, lists: Lists, column: str) -> Array:
    """`[n, 3]` of objects: the rows of the users of a batch, in the order they came."""
    batch = blocks.batch
    offsets = lists.offsets[batch.start : batch.stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    users = np.repeat(batch.slates.users.slice(batch.start, batch.stop).to_numpy().astype(object), np.diff(offsets))
    items = batch.slates.items.take(lists.items[rows]).to_numpy().astype(object)
    numbers = lists.columns[column][rows] if column in lists.columns else np.full(len(items), math.nan)
    return stack_columns(users, items, numbers)


def _read_original(blocks: Blocks) -> Array:
    """`[n, 3]` of objects: the lists before re-ranking of the users of a batch."""
    table = blocks.context.users[ORIGINAL_LISTS]
    users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop)
    places = users.positions_in(table.ids)
    return np.concatenate([np.empty((0, 3), dtype=object), *table.values[places[places >= 0]]])
