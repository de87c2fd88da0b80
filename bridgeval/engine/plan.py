"""Plan: the metrics of one evaluation, moving together over the data in a single pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import Any

import torch

from bridgeval.batch.batch import Batch, batches, lay_out, warn_of_memory
from bridgeval.batch.scores import Scores
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.lookup import Lookup
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.returned import check_results, check_states
from bridgeval.engine.state import State, fetch_states
from bridgeval.engine.summary import Result
from bridgeval.errors import BadParameterError, BridgevalError, MetricFailedError
from bridgeval.io.datasets import parse_bytes
from bridgeval.parallel import count_threads, map_ordered
from bridgeval.tables.context import Context
from bridgeval.tables.slates import Slates

States = tuple[State, ...]


@dataclass(frozen=True)
class Plan:
    """The metrics of one evaluation, without repeats."""

    metrics: tuple[Metric, ...]

    @staticmethod
    def of(metrics: Iterable[Metric]) -> Plan:
        return Plan(tuple(dict.fromkeys(metrics)))

    @cached_property
    def needs(self) -> Needs:
        """The needs of all metrics together."""
        return _join_needs(self.metrics)

    def check(self, offered: Collection[str]) -> None:
        """Raises NeedError, naming the metric, if one needs something that was not given."""
        if self.needs.required <= frozenset(offered):
            return
        for metric in self.metrics:
            metric.needs().check(str(metric), offered)

    def start(self) -> States:
        return tuple(_call(metric, metric, "start") for metric in self.metrics)

    def update(self, blocks: Blocks) -> States:
        """The states of one batch alone."""
        states = []
        for metric in self.metrics:
            try:
                states.append(metric.update(blocks))
            except (BridgevalError, torch.OutOfMemoryError):
                raise
            except FAILURES as error:
                fetch_states(blocks.checks)
                raise MetricFailedError(
                    f"{metric} failed for {_name_users(blocks)}", f"{type(error).__name__}: {error}"
                ) from error
        check_states(self.metrics, states)
        return fetch_states([*blocks.checks, *states])[len(blocks.checks) :]

    def merge(self, first: States, second: States) -> States:
        """The states of both, metric by metric."""
        parts = zip(self.metrics, first, second, strict=True)
        return tuple(_call(metric, one, "merge", other) for metric, one, other in parts)

    def compute(self, states: States) -> dict[Metric, Result]:
        """The result of each metric."""
        results: dict[Metric, Result] = {}
        for metric, state in zip(self.metrics, states, strict=True):
            results[metric] = _call(metric, metric, "compute", state)
        check_results(results)
        return results


# What an author's code may raise: an exit too, which must not end the process that evaluates.
FAILURES = (Exception, SystemExit)


def merge_states(first: States, second: States) -> States:
    """Merges the states of the same metrics, place by place."""
    return tuple(one.merge(other) for one, other in zip(first, second, strict=True))


# A metric builds its Needs at each call, and an evaluation asks for those of its plan several times.
@lru_cache(maxsize=1024)
def _join_needs(metrics: tuple[Metric, ...]) -> Needs:
    return reduce(or_, (_call(metric, metric, "needs") for metric in metrics), Needs())


def _call(metric: Metric, owner: Metric | State, method: str, *arguments: Any) -> Any:
    """What a method of a metric, or of its state, returns; what it raises names the metric."""
    try:
        return getattr(owner, method)(*arguments)
    except BridgevalError:
        raise
    except FAILURES as error:
        raise MetricFailedError(f"{metric} failed in {method}", f"{type(error).__name__}: {error}") from error


def _name_users(blocks: Blocks) -> str:
    users = blocks.batch.slates.users.slice(blocks.batch.start, blocks.batch.stop).tolist()
    if len(users) == 1:
        return f"user {users[0]!r}"
    return f"a batch of {len(users)} users, {users[0]!r} to {users[-1]!r}"


@dataclass(frozen=True)
class Execution:
    """Settings of a run: device, batches, memory, progress.

    Attributes:
        device: where tensors live.
        batch_size: users in a batch; None picks a size that fits a budget of memory.
        memory: bytes to hold at once, or text such as "2GB"; None is a quarter of the free memory.
        progress: called with the number of users done since the last call.
        rows: called with the stage, the number of rows done, the total, and the unit if it is not rows.
    """

    device: torch.device
    batch_size: int | None = None
    memory: int | str | None = None
    progress: Callable[[int], None] | None = None
    rows: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        # Types and ranges are checked at the public doors; text about memory is read here, before any data is.
        if self.memory is not None:
            parse_bytes(self.memory)

    @property
    def budget(self) -> int:
        """Bytes that a source may hold at once, if it can choose."""
        return parse_bytes(self.memory)


def pick_device(name: str | torch.device, here: bool = True, shown: Any = None) -> torch.device:
    """The device of that name; "auto" takes that of scores on a GPU, and a GPU for many scores of the host and for the
    answers of a model. Lists stay on the CPU.

    Args:
        name: as torch spells it.
        here: whether this process must be able to use it; Spark's executors may have devices that the driver lacks.
        shown: the recommendations, for "auto".

    >>> pick_device("cpu"), pick_device("auto", shown={1: ["a"]})
    (device(type='cpu'), device(type='cpu'))
    """
    if name == "auto":
        gpu = torch.cuda.is_available() and isinstance(shown, Scores)
        return shown.best_device if gpu else torch.device("cpu")
    try:
        device = torch.device(name)
        if here:
            torch.zeros(1, dtype=torch.float64, device=device).item()
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        usable = ["auto", "cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        raise BadParameterError(
            f"the device {str(name)!r} cannot be used",
            str(error).splitlines()[0],
            f"here there are {', '.join(usable)}; auto takes a GPU for scores, where there is one",
        ) from error
    return device


def fold(
    plan: Plan, chunks: Iterable[Slates], context: Context, how: Execution, states: States | None = None
) -> States:
    """Runs a plan over Slates: the same on one machine and inside a Spark task.

    Args:
        states: of chunks that were folded before; None at the beginning.
    """
    depth = plan.needs.depth if plan.needs.depth is None else max(plan.needs.depth, 1)
    # Users whose batch is not known to be too large for the memory of the device.
    most = sys.maxsize
    for slates in chunks:
        lookup = Lookup(context, slates, how.device)
        # A GPU takes its batches one after the other.
        workers = count_threads() if how.device.type == "cpu" else 1

        def answer(batch: Batch, lookup: Lookup = lookup) -> tuple[States, int]:
            return update(lookup, batch.start, batch.stop, batch), batch.stop - batch.start

        def update(lookup: Lookup, start: int, stop: int, batch: Batch | None = None) -> States:
            nonlocal most
            if stop - start <= most:
                try:
                    if batch is None:
                        batch = lay_out(lookup.slates, start, stop, how.device)
                    return plan.update(Blocks(batch, lookup, depth, plan.needs))
                except torch.OutOfMemoryError:
                    if stop - start == 1:
                        raise
                    most = warn_of_memory(stop - start, how.device)
            batch, middle = None, (start + stop) // 2
            return plan.merge(update(lookup, start, middle), update(lookup, middle, stop))

        # Closed also after an error, so that the thread pool ends.
        with closing(map_ordered(answer, batches(slates, how.device, how.batch_size, workers), workers)) as answers:
            for partial, users in answers:
                states = partial if states is None else plan.merge(states, partial)
                if how.progress is not None:
                    how.progress(users)
    return plan.start() if states is None else states


def merge_all(plan: Plan, parts: Sequence[Any]) -> States:
    """Merges the states of several partitions, in the order given."""
    return reduce(plan.merge, parts, plan.start())
