"""Faults: what went wrong on an executor, said on the driver in its own words instead of a wall of Java."""

from __future__ import annotations

import base64
import gc
import io
import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import bridgeval
from bridgeval.errors import BridgevalError, MetricFailedError, MissingDependencyError

if TYPE_CHECKING:
    from bridgeval.engine.plan import Plan

T = TypeVar("T")

# Spark passes on an exception's text and nothing else; what the driver needs travels inside it.
ENVELOPE = re.compile(r"<bridgeval-fault ([A-Za-z0-9+/=]+)>")

# What Spark says where it lost rows that it cannot make again in the order they had.
UNREPEATABLE = "indeterminate output"

# How often a job is run where Spark says so.
ATTEMPTS = 4

# Session -> modules that its executors have loaded.
_CHECKED: MutableMapping[Any, set[str]] = WeakKeyDictionary()


class ExecutorFault(Exception):
    """An error on its way from an executor to the driver."""

    def __init__(self, error: Exception) -> None:
        ours: BridgevalError = (
            error
            if type(error).__module__ == BridgevalError.__module__ and isinstance(error, BridgevalError)
            else MetricFailedError("the evaluation failed on an executor", f"{type(error).__name__}: {error}")
        )
        ours.add_note("On the executor:\n" + "".join(traceback.format_exception(error)))
        letter = base64.b64encode(pickle.dumps(ours)).decode()
        super().__init__(f"{error} <bridgeval-fault {letter}>")


def telling(rows: Iterable[Any]) -> Iterator[Any]:
    """Passes rows on, on an executor; an error among them leaves as an ExecutorFault."""
    _spare_modules()
    try:
        yield from rows
    except Exception as error:
        raise ExecutorFault(error) from error


@cache
def _spare_modules() -> None:
    """Takes what is imported out of garbage collection, once in a worker.

    Spark collects garbage in a Python worker after every task: to walk over all of torch each time takes longer than a
    small task itself.
    """
    gc.freeze()


@contextmanager
def in_own_words() -> Iterator[None]:
    """Raises an executor's error as what it was there, with the executor's traceback as a note."""
    try:
        yield
    except Exception as error:
        envelope = ENVELOPE.search(str(error))
        if envelope is None:
            raise
        raise pickle.loads(base64.b64decode(envelope.group(1))) from None


def begun_again(job: Callable[[], T]) -> T:
    """What a job gives; run from its beginning where an executor was lost and Spark cannot mend that.

    Rows out of a shuffle come in any order, and a metric may leave ties "as given". Spark gives such a job up when a
    part of the result is there already. It has not been used, so the job can be run once more.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return job()
        except Exception as error:
            if UNREPEATABLE not in str(error):
                raise
    return job()


def check_executors(session: Any, plan: Plan) -> None:
    """Raises MissingDependencyError when executors cannot load the plan; asked once for a session and a module."""
    from pyspark import cloudpickle

    pickled, version = cloudpickle.dumps(plan), bridgeval.__version__
    modules = _modules_in(pickled)
    checked = _CHECKED.setdefault(session, set())
    if modules <= checked:
        return

    # Nested, so that it travels by value: an executor without bridgeval can run it too.
    def attempt(batches: Iterable[Any]) -> Iterator[Any]:
        import importlib
        import pickle
        import sys

        import pyarrow

        problem = ""
        try:
            importlib.import_module("bridgeval.spark.task")
            pickle.loads(pickled)
            found = sys.modules["bridgeval"].__version__
            if found != version:
                problem = f"bridgeval {found} on the executors, {version} on the driver"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        for batch in batches:
            if batch.num_rows:
                yield pyarrow.record_batch({"problem": [problem], "python": [sys.executable]})

    answer = mapped(session.range(1, numPartitions=1), attempt, "problem string, python string").toArrow()
    problem, python = (answer[name][0].as_py() for name in ("problem", "python"))
    if problem:
        packages = {module.partition(".")[0] for module in modules} - {"builtins", "pyspark"}
        raise MissingDependencyError(
            f"the executors cannot load what the metrics of {', '.join(sorted(packages))} need",
            f"{problem} (interpreter {python})",
            "send the packages along: spark-submit --archives with a packed environment, or --py-files",
        )
    checked |= modules


def _modules_in(pickled: bytes) -> frozenset[str]:
    """The modules that have to be there to load what is pickled, those of wrapped classes among them."""
    found: set[str] = set()

    class Loading(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(module)
            return super().find_class(module, name)

    Loading(io.BytesIO(pickled)).load()
    return frozenset(found)


def mapped(frame: Any, function: Callable[[Iterable[Any]], Iterator[Any]], schema: str) -> Any:
    """`frame.mapInArrow(function, schema)`. PySpark warns of a pandas that is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        return frame.mapInArrow(function, schema)
