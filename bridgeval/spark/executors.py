"""Executors: whether they can load the metrics, and their errors raised on the driver as what they were."""

from __future__ import annotations

import io
import json
import pickle
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import bridgeval
from bridgeval import errors
from bridgeval.errors import BridgevalError, MetricFailedError, MissingDependencyError, SparkFailedError

if TYPE_CHECKING:
    from bridgeval.engine.plan import Plan

T = TypeVar("T")

# Spark passes on nothing of an exception but its text, so the parts of the exception travel inside the text.
ENVELOPE = re.compile(r"<bridgeval-error (\{.*\})>")
NAMES = ("wrong", "found", "hint")

# Spark's words when it lost rows that it cannot compute again in the order they had.
UNREPEATABLE = "indeterminate output"

# Characters of Spark's own account of a failure that are kept.
NOTE = 2_000

# How often such a job is run.
ATTEMPTS = 4

# Session -> modules that its executors can load.
_CHECKED: MutableMapping[Any, set[str]] = WeakKeyDictionary()

# Spark's words -> the error to raise. A group of the words is what was found.
FAILURES: tuple[tuple[re.Pattern[str], type[BridgevalError], str, str], ...] = (
    (
        re.compile(r"bigger than (?:local )?(?:maxResultSize|spark\.driver\.maxResultSize) ?(\([^)]*\))?"),
        SparkFailedError,
        "the states of all partitions are larger than the driver accepts",
        "raise spark.driver.maxResultSize, or lower spark.sql.shuffle.partitions: each partition sends its states",
    ),
    (
        re.compile(r"(Cannot run program [^\n]*)"),
        MissingDependencyError,
        "the executors have no such Python interpreter",
        "set PYSPARK_PYTHON to one that every node has, e.g. that of an environment sent with --archives",
    ),
    (
        re.compile(r"(No module named 'pyarrow'|PyArrow >= [\d.]+ must be installed)"),
        MissingDependencyError,
        "the executors have no pyarrow, which Spark needs to send rows to Python",
        "send the packages along: spark-submit --archives with a packed environment",
    ),
    (
        re.compile(
            r"(Python worker exited unexpectedly[^\n]*|ExecutorLostFailure[^\n]*|Container killed[^\n]*"
            r"|OutOfMemoryError[^\n]*)"
        ),
        SparkFailedError,
        "an executor or its Python worker was killed, most often because its memory ran out",
        "give Python more room: spark.executor.memoryOverhead (1g for each core is ample), more partitions, or a "
        "smaller batch_size; a limit in spark.executor.pyspark.memory also ends workers, which need 0.6 GB for imports",
    ),
)


class ExecutorError(Exception):
    """An error on its way from an executor to the driver."""

    def __init__(self, error: Exception) -> None:
        parts: dict[str, str] = {"class": MetricFailedError.__name__, "wrong": "the evaluation failed on an executor"}
        # The driver may not have the class of any other error.
        if isinstance(error, BridgevalError) and type(error).__module__ == errors.__name__:
            parts = {"class": type(error).__name__, **{name: getattr(error, name) for name in NAMES}}
        else:
            parts["found"] = f"{type(error).__name__}: {error}"
        parts["note"] = "On the executor:\n" + "".join(traceback.format_exception(error))
        super().__init__(f"{error} <bridgeval-error {json.dumps(parts)}>")


def send_errors(rows: Iterable[Any]) -> Iterator[Any]:
    """Yields rows on an executor; an error among them is raised as an ExecutorError."""
    try:
        yield from rows
    except Exception as error:
        raise ExecutorError(error) from error


@contextmanager
def restore_errors() -> Iterator[None]:
    """Raises an executor's error as what it was there, and Spark's own failures as sentences.

    The executor's traceback, or the beginning of Spark's account, is a note of the error.
    """
    try:
        yield
    except BridgevalError:
        raise
    except Exception as error:
        restored = _restore(str(error))
        if restored is None:
            raise
        raise restored from None


def _restore(text: str) -> BridgevalError | None:
    if envelope := ENVELOPE.search(text):
        parts = json.loads(envelope.group(1))
        restored: BridgevalError = getattr(errors, parts["class"])(*(parts.get(name, "") for name in NAMES))
        restored.add_note(parts["note"])
        return restored
    for pattern, kind, wrong, hint in FAILURES:
        if match := pattern.search(text):
            failed = kind(wrong, (match.group(1) or match.group()).strip(), hint)
            failed.add_note("Spark said:\n" + text[:NOTE])
            return failed
    return None


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
