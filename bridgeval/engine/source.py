"""Source: where Slates live and how a plan runs there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from bridgeval.data.context import Context
from bridgeval.data.needs import Needs
from bridgeval.data.slates import Slates
from bridgeval.engine.plan import Execution, Plan, States, fold


class Source(Protocol):
    """What a loader returns."""

    @property
    def offers(self) -> frozenset[str]:
        """Names of pair columns, context and populations that metrics may need."""
        ...

    def run(self, plan: Plan, how: Execution) -> States:
        """Folds the plan over all users."""
        ...


@dataclass(frozen=True)
class LocalSource:
    """Slates in this process.

    Attributes:
        slates: given the needs of a plan, yields the chunks that answer them.
        context: what is known beside the lists.
        offers: names of pair columns and populations that `slates` can fill.
        size: how many users there are, when that is known beforehand; for progress.
        label: how every number has to be marked, e.g. "sampled n=99".
    """

    slates: Callable[[Needs], Iterable[Slates]]
    context: Context = field(default_factory=Context)
    offers: frozenset[str] = frozenset()
    size: int | None = None
    label: str = ""

    def run(self, plan: Plan, how: Execution) -> States:
        return fold(plan, self.slates(plan.needs), self.context, how)
