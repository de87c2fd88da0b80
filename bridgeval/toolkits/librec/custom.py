"""Custom metric classes inside an evaluation, and scripts that come with a study."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from bridgeval.errors import BadParameterError, MetricFailedError, PluginFailedError
from bridgeval.plugin import Blocks, Ids, Lists, Metric, Needs, Result, Slates, UserTable
from bridgeval.toolkits.librec.bases import (
    Array,
    Compat,
    CustomBase,
    ListBasedMetric,
    RowBasedMetric,
    Visited,
    as_numbers,
    joined_columns,
    made,
)

PACKAGE = "librec_auto.core.eval"


@dataclass(frozen=True)
class CollectedRows:
    """Test and result rows, in pieces. Grows with the data: custom metrics may look at everything."""

    pieces: tuple[tuple[Array, Array], ...] = ()

    def merge(self, other: CollectedRows) -> CollectedRows:
        return CollectedRows(self.pieces + other.pieces)


@dataclass(frozen=True)
class CustomMetric(Metric):
    """A librec-auto metric class as a metric of `bridgeval.evaluate`. Made by `custom`.

    Attributes:
        metric: the class.
        params: name and value of each parameter.
        compat: "librec-auto" calls `evaluate_row(result, test)` and gives numeric ids as floats.
        visit: which users a list metric visits; None is "test", and under compat "both".
        collect: whether to give the values of users and not the one of all.
    """

    name = "CustomMetric"

    metric: type[CustomBase] = RowBasedMetric
    params: tuple[tuple[str, Any], ...] = ()
    compat: Compat = None
    visit: Visited | None = None
    collect: bool = field(default=False, repr=False)

    def needs(self) -> Needs:
        return Needs(pairs=frozenset({"score"} if issubclass(self.metric, RowBasedMetric) else ()))

    def start(self) -> CollectedRows:
        return CollectedRows()

    def update(self, blocks: Blocks) -> CollectedRows:
        batch = blocks.batch
        test, result = (
            _rows(batch.slates, lists, column, batch.start, batch.stop)
            for lists, column in ((batch.slates.relevant, "gain"), (batch.slates.shown, "score"))
        )
        return CollectedRows(((test, result),))

    def compute(self, state: CollectedRows) -> Result:
        test, result = (
            np.concatenate([piece[side] for piece in state.pieces] or [np.empty((0, 3), dtype=object)])
            for side in (0, 1)
        )
        if self.compat == "librec-auto":
            test, result = as_numbers(test), as_numbers(result)
        metric = made(self.metric, dict(self.params), test, result)
        if isinstance(metric, RowBasedMetric):
            value = metric.evaluate(self.compat)
            return Result(self._number(value), notes={"rows": len(metric._scores)})
        value = metric.evaluate(self.visit or ("both" if self.compat == "librec-auto" else "test"))
        if self.collect:
            return Result(None, per_user=_user_table(metric), users=len(metric._users))
        return Result(self._number(value), users=len(metric._users))

    def per_user(self) -> CustomMetric | None:
        return replace(self, collect=True) if issubclass(self.metric, ListBasedMetric) else None

    def _number(self, value: Any) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            raise MetricFailedError(f"{self} must give a number", f"{value!r}", "return one value") from None


def custom(
    metric: type[CustomBase],
    params: Mapping[str, Any] | None = None,
    *,
    compat: Compat = None,
    users: Visited | None = None,
    label: str | None = None,
) -> CustomMetric:
    """A custom metric class, ready for `evaluate`.

    Args:
        metric: a subclass of RowBasedMetric or ListBasedMetric, in any of the three dialects.
        params: what `get_params()` gives; librec-auto passes text.
        compat: "librec-auto" hands over rows as that package does, see CustomMetric.
        users: which users a list metric visits: those with "test" rows, with "results", "both" or "any". By default
            "test"; under compat "both", because librec-auto fails on the others (PyPI 0.2.13 visits "test").
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
    given = tuple((params or {}).items())
    written = f"({', '.join(f'{name}={value}' for name, value in given)})" if given else ""
    return CustomMetric(metric, given, compat, users, label=label or f"{metric.__name__}{written}")


def script_class(path: Path) -> type[CustomBase]:
    """The metric class that a script defines. This runs the script's top level: only for scripts one trusts."""
    name = f"bridgeval_study_script_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginFailedError(f"{path} cannot be imported", hint="a metric script is a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with librec_auto_replaced(path.parent):
            spec.loader.exec_module(module)
    except Exception as error:
        raise PluginFailedError(
            f"the metric script {path} could not be imported",
            f"{type(error).__name__}: {error}",
            f"of librec-auto only {PACKAGE} is there, with RowBasedMetric and ListBasedMetric",
        ) from error
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, RowBasedMetric | ListBasedMetric) and one.__module__ == name
    ]
    if len(found) != 1:
        raise PluginFailedError(
            f"the metric script {path} must define one metric class",
            f"{[one.__name__ for one in found]}",
            "extend RowBasedMetric or ListBasedMetric once",
        )
    return found[0]


@contextmanager
def librec_auto_replaced(folder: Path) -> Iterator[None]:
    """`librec_auto.core.eval` holds our classes, and a script's folder is searched, for as long as this lasts."""
    parts = PACKAGE.split(".")
    names = [".".join(parts[: n + 1]) for n in range(len(parts))]
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == parts[0]}
    for name in before:
        del sys.modules[name]
    for name in names:
        module = ModuleType(name)
        module.__path__ = []
        sys.modules[name] = module
    vars(sys.modules[PACKAGE]).update(RowBasedMetric=RowBasedMetric, ListBasedMetric=ListBasedMetric)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [one for one in sys.modules if one.split(".")[0] == parts[0]]:
            del sys.modules[name]
        sys.modules.update(before)


def _rows(slates: Slates, lists: Lists, column: str, start: int, stop: int) -> Array:
    """`[n, 3]` of objects: the rows of users `start` to `stop`, in the order they came."""
    offsets = lists.offsets[start : stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    users = np.repeat(slates.users.slice(start, stop).to_numpy().astype(object), np.diff(offsets))
    items = slates.items.take(lists.items[rows]).to_numpy().astype(object)
    numbers = lists.columns[column][rows] if column in lists.columns else np.full(len(items), math.nan)
    return joined_columns(users, items, numbers)


def _user_table(metric: ListBasedMetric) -> UserTable:
    users = metric._users
    if users and isinstance(users[0], float):
        users = [f"{user:g}" for user in users]
    return UserTable(Ids.of(users) if users else None, np.array(metric._values, dtype=np.float64))
