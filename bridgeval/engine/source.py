"""Source: where Slates live and how a plan runs there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch

from bridgeval.engine.inputs import Inputs, list_offers
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, States, fold
from bridgeval.engine.state import State
from bridgeval.engine.summary import Result
from bridgeval.tables.context import Context
from bridgeval.tables.rows import open_rows
from bridgeval.tables.slates import Slates


class Source(Protocol):
    """Data that a plan can run on; a loader returns one."""

    @property
    def offers(self) -> frozenset[str]:
        """Names of pair columns, context and populations that metrics may need; told without reading data."""
        ...

    @property
    def label(self) -> str:
        """A mark for every number, e.g. "sampled n=99"; usually empty."""
        ...

    def run(self, plan: Plan, how: Execution) -> States:
        """Folds the plan over all users."""
        ...


@dataclass(frozen=True)
class Sources:
    """Several sources, which a loader returns for objects such as the folds of a study.

    Attributes:
        members: key -> Source. Each is evaluated by itself, with the same metrics.
        together: makes the result of all out of key -> Report.
    """

    members: Mapping[Any, Source]
    together: Callable[[Mapping[Any, Any]], Any]


class Pairing(Protocol):
    """A question to the states that several systems have of the same users, such as a comparison of their values."""

    def start(self) -> State:
        """The state of no users; neutral in `merge`."""
        ...

    def update(self, plan: Plan, states: Mapping[str, States], /) -> State:
        """The state of some users alone; `states` are those of the plan for them, by system."""
        ...


class JointSource(Protocol):
    """Several systems whose users lie together, so that what they have of a user can be paired there."""

    @property
    def offers(self) -> frozenset[str]:
        """Names that metrics may need of every system, see `Source`."""
        ...

    def run_together(
        self, plan: Plan, inner: Plan, pairing: Pairing, how: Execution
    ) -> tuple[dict[str, States], State]:
        """Folds the plan for every system, and the pairing over all.

        Args:
            plan: its states are returned, by system.
            inner: further metrics, whose states only the pairing sees.
            pairing: gets the states of the metrics of both plans, for some users at a time.
            how: as for any run.
        """
        ...


@runtime_checkable
class JointLoader(Protocol):
    """A loader that can load several systems as one source."""

    name: str

    def load_systems(self, systems: Mapping[str, Any], relevance: Any, /, **extras: Any) -> JointSource:
        """A source of all systems; `extras` as for `Loader.load`."""
        ...


# A type, or a test of a value such as `is_frame`.
Kind = type[Any] | Callable[[Any], bool]


class TypedLoader:
    """A base for loaders that recognize objects by their types.

    Class attributes:
        reads: pairs (kind of recommendations, kind of relevance) that it can load.

    >>> class ListLoader(TypedLoader):
    ...     reads = ((list, list), (list, callable))
    >>> ListLoader().recognizes([], []), ListLoader().recognizes([], 7)
    (True, False)
    """

    reads: ClassVar[tuple[tuple[Kind, Kind], ...]]
    # The same as tests of one of the two, by place. Types come first: they are quick to ask, and decide most cases.
    _tests: ClassVar[list[list[tuple[int, Callable[[Any], bool]]]]]

    def __init_subclass__(cls) -> None:
        cls._tests = [
            [(place, kind.__instancecheck__ if isinstance(kind, type) else kind) for place, kind in ordered]
            for ordered in (sorted(enumerate(pair), key=lambda one: not isinstance(one[1], type)) for pair in cls.reads)
        ]

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        given = (recommendations, relevance)
        for (a, first), (b, second) in self._tests:  # noqa: SIM110  (every evaluation asks every loader: no generators)
            if first(given[a]) and second(given[b]):
                return True
        return False


@dataclass(frozen=True)
class LocalSource:
    """Slates in this process.

    Attributes:
        slates: given the needs of a plan, yields the chunks that answer them.
        context: what is known beside the lists.
        offers: names of pair columns, context and populations that can be had.
        label: a mark for every number, e.g. "sampled n=99".
    """

    slates: Callable[[Needs], Iterable[Slates]]
    context: Context = field(default_factory=Context)
    offers: frozenset[str] = frozenset()
    label: str = ""

    def run(self, plan: Plan, how: Execution) -> States:
        return fold(plan, self.slates(plan.needs), self.context, how)


@dataclass(frozen=True)
class DeferredSource:
    """A source whose data is read when a plan runs, and so not before its needs have been checked.

    Attributes:
        offers: as of any source.
        open: reads what these needs ask for.
    """

    offers: frozenset[str]
    open: Callable[[Needs], Source]
    label: str = ""

    def run(self, plan: Plan, how: Execution) -> States:
        return self.open(plan.needs).run(plan, how)


def make_source(recommendations: Any, relevance: Any, **given: Any) -> DeferredSource:
    """A source of objects in memory: frames, mappings, Rows; `given` are the arguments of `Inputs.of`."""
    shown = open_rows(recommendations, "recommendations", given.get("columns"))
    offers = list_offers(shown, **given)

    def open_inputs(needs: Needs) -> LocalSource:
        inputs = Inputs.of(shown, relevance, **given)
        return LocalSource(inputs.slates, inputs.context, offers)

    return DeferredSource(offers, open_inputs)


def run_metrics(metrics: Iterable[Metric], source: Source) -> dict[Metric, Result]:
    """The results of metrics on a source, on the CPU: `evaluate` without names, warnings and a report.

    Raises NeedError if the source does not offer what a metric needs.
    """
    plan = Plan.of(metrics)
    plan.check(source.offers)
    return plan.compute(source.run(plan, Execution(torch.device("cpu"))))
