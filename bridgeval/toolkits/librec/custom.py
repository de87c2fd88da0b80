"""Custom metric classes as metrics of an evaluation, and the scripts that come with a study."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Self

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
    build,
    stack_columns,
    to_numbers,
)

PACKAGE = "librec_auto.core.eval"


@dataclass(frozen=True)
class CollectedRows:
    """Test and result rows, in pieces. Grows with the data: custom metrics may read everything."""

    pieces: tuple[tuple[Array, Array], ...] = ()

    def merge(self, other: CollectedRows) -> CollectedRows:
        return CollectedRows(self.pieces + other.pieces)


class Measured(NamedTuple):
    """The value of a metric that reads all rows; for lists also the users visited and the value of each."""

    value: Any
    users: list[Any] | None = None
    values: list[Any] | None = None
    rows: int = 0


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
        batch = blocks.batch
        test, result = (
            _read_rows(batch.slates, lists, column, batch.start, batch.stop)
            for lists, column in ((batch.slates.relevant, "gain"), (batch.slates.shown, "score"))
        )
        return CollectedRows(((test, result),))

    def compute(self, state: CollectedRows) -> Result:
        pieces = state.pieces or ((np.empty((0, 3), dtype=object),) * 2,)
        value, users, values, rows = self.measure(*map(np.concatenate, zip(*pieces, strict=True)))
        if users is None:
            return Result(self._to_number(value), notes={"rows": rows})
        if not self.collect:
            return Result(self._to_number(value), users=len(users))
        names = [f"{user:.17g}" if isinstance(user, float) else user for user in users]
        table = UserTable(Ids.of(names) if names else None, np.array(values, dtype=np.float64))
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
        compat: "librec-auto" calls `evaluate_row(result, test)` and passes numeric ids as floats.
        visit: which users a list metric visits; None is "test", and under compat "both".
    """

    name = "CustomMetric"

    metric: type[CustomBase] = RowBasedMetric
    params: tuple[tuple[str, Any], ...] = ()
    compat: Compat = None
    visit: Visited | None = None

    def needs(self) -> Needs:
        return Needs(pairs=frozenset({"score"} if issubclass(self.metric, RowBasedMetric) else ()))

    def measure(self, test: Array, result: Array) -> Measured:
        if self.compat == "librec-auto":
            test, result = to_numbers(test), to_numbers(result)
        metric = build(self.metric, dict(self.params), test, result)
        if isinstance(metric, RowBasedMetric):
            value = metric.evaluate(self.compat)
            return Measured(value, rows=len(metric._scores))
        value = metric.evaluate(self.visit or ("both" if self.compat == "librec-auto" else "test"))
        return Measured(value, metric._users, metric._values)

    def per_user(self) -> Self | None:
        return super().per_user() if issubclass(self.metric, ListBasedMetric) else None


def custom(
    metric: type[CustomBase],
    params: Mapping[str, Any] | None = None,
    *,
    compat: Compat = None,
    users: Visited | None = None,
    label: str | None = None,
) -> CustomMetric:
    """Makes a metric for `evaluate` from a custom metric class.

    Args:
        metric: a subclass of RowBasedMetric or ListBasedMetric, in any of the three dialects.
        params: returned by `get_params()`; librec-auto passes text.
        compat: "librec-auto" passes rows as that package does, see CustomMetric.
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
    arguments = f"({', '.join(f'{name}={value}' for name, value in given)})" if given else ""
    return CustomMetric(metric, given, compat, users, label=label or f"{metric.__name__}{arguments}")


def import_script(path: Path) -> type[CustomBase]:
    """Imports the metric class that a script defines. This runs the script: only for scripts that you trust."""
    name = f"bridgeval_study_script_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginFailedError(f"{path} cannot be imported", hint="a metric script is a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        with replace_librec_auto(path.parent):
            spec.loader.exec_module(module)
    except Exception as error:
        raise PluginFailedError(
            f"the metric script {path} could not be imported",
            f"{type(error).__name__}: {error}",
            f"of librec-auto only {PACKAGE} is available, with RowBasedMetric and ListBasedMetric",
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
def replace_librec_auto(folder: Path) -> Iterator[None]:
    """Inside it, `librec_auto.core.eval` holds our base classes and modules of the script's folder can be imported.

    Afterwards `sys.modules` and `sys.path` are as before, so a real librec-auto stays usable.
    """
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


def _read_rows(slates: Slates, lists: Lists, column: str, start: int, stop: int) -> Array:
    """`[n, 3]` of objects: the rows of users `start` to `stop`, in the order they came."""
    offsets = lists.offsets[start : stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    users = np.repeat(slates.users.slice(start, stop).to_numpy().astype(object), np.diff(offsets))
    items = slates.items.take(lists.items[rows]).to_numpy().astype(object)
    numbers = lists.columns[column][rows] if column in lists.columns else np.full(len(items), math.nan)
    return stack_columns(users, items, numbers)
