"""Executors: whether they can load the metrics, and their errors raised on the driver as what they were."""

from __future__ import annotations

import base64
import io
import pickle
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import bridgeval
from bridgeval import errors
from bridgeval.errors import BridgevalError, MetricFailedError, MissingDependencyError

if TYPE_CHECKING:
    from bridgeval.engine.plan import Plan

T = TypeVar("T")

# Spark passes on nothing of an exception but its text, so the exception itself travels inside the text.
ENVELOPE = re.compile(r"<bridgeval-error ([A-Za-z0-9+/=]+)>")

# Spark's words when it lost rows that it cannot compute again in the order they had.
UNREPEATABLE = "indeterminate output"

# How often such a job is run.
ATTEMPTS = 4

# Session -> modules that its executors can load.
_CHECKED: MutableMapping[Any, set[str]] = WeakKeyDictionary()


class ExecutorError(Exception):
    """An error on its way from an executor to the driver."""

    def __init__(self, error: Exception) -> None:
        ours = error
        # The driver may not have the class of any other error.
        if type(error).__module__ != errors.__name__:
            ours = MetricFailedError("the evaluation failed on an executor", f"{type(error).__name__}: {error}")
        ours.add_note("On the executor:\n" + "".join(traceback.format_exception(error)))
        super().__init__(f"{error} <bridgeval-error {base64.b64encode(pickle.dumps(ours)).decode()}>")


def send_errors(rows: Iterable[Any]) -> Iterator[Any]:
    """Yields rows on an executor; an error among them is raised as an ExecutorError."""
    try:
        yield from rows
    except Exception as error:
        raise ExecutorError(error) from error


@contextmanager
def restore_errors() -> Iterator[None]:
    """Raises an executor's error as what it was there, with the executor's traceback as a note."""
    try:
        yield
    except Exception as error:
        envelope = ENVELOPE.search(str(error))
        if envelope is None:
            raise
        restored: BridgevalError = pickle.loads(base64.b64decode(envelope.group(1)))
        raise restored from None


def retry_lost_job(job: Callable[[], T]) -> T:
    """Runs a job; runs it again if an executor was lost and Spark cannot recover.

    Rows out of a shuffle come in any order, and a metric may leave ties "as given". Spark gives such a job up if a part
    of the result is there already. That part has not been used, so the job can be run again.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return job()
        except Exception as error:
            if UNREPEATABLE not in str(error):
                raise
    return job()


def check_executors(session: Any, plan: Plan) -> None:
    """Raises MissingDependencyError if executors cannot load the plan; asks once per session and module."""
    from pyspark import cloudpickle

    pickled, version = cloudpickle.dumps(plan), bridgeval.__version__
    modules = _modules_in(pickled)
    checked = _CHECKED.setdefault(session, set())
    if modules <= checked:
        return

    # Nested, so that it is pickled by value: an executor without bridgeval can run it too.
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

    answer = session.range(1, numPartitions=1).mapInArrow(attempt, "problem string, python string").toArrow()
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
    """The modules that must be importable to unpickle this."""
    found: set[str] = set()

    class Loading(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(module)
            return super().find_class(module, name)

    Loading(io.BytesIO(pickled)).load()
    return frozenset(found)
