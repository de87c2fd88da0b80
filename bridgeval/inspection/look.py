"""Look: the data that the checks of an inspection look at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from bridgeval.engine.census import Census
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.plan import Execution, Plan, fold
from bridgeval.engine.summary import Result
from bridgeval.tables.slates import Slates


class Look:
    """Lists, relevance and what is known beside them, with the headline metric.

    Attributes:
        headline: the metric for which effects are computed.
        k: its cutoff; 0 if it has none.
        value: its value; None if it cannot be computed.
        users: how many are "recommended to", "with relevance", "in both".
        counts: of the Census, by name.
        chunks: the lists, as Slates.
        has_lists: whether they are lists; a score matrix has none until it is ranked.
        context: what is known beside the lists.
        has_history: whether a history was given.
    """

    def __init__(self, headline: Metric, source: Any) -> None:
        self.headline = headline
        self.k = headline.cutoff or 0
        self.context = source.context
        self.has_history = "seen" in source.offers
        headline.needs().check(str(headline), source.offers)
        self.chunks: list[Slates] = list(source.slates(list_needs(headline)))
        self.has_lists = all(hasattr(slates.shown, "offsets") for slates in self.chunks)
        census, found = self.evaluate([Census(headline.needs().depth), headline])
        self.counts: Mapping[str, Any] = census.notes
        self.value = found.value
        self.users = {
            "recommended to": self.count_lists(lambda s: s.shown.lengths > 0),
            "with relevance": self.count_lists(lambda s: s.relevant.lengths > 0),
            "in both": self.count_lists(lambda s: (s.shown.lengths > 0) & (s.relevant.lengths > 0)),
        }

    def count(self, what: str) -> int:
        """A count of the census; 0 if it has none."""
        return int(self.counts.get(what, 0))

    def count_lists(self, flags: Callable[[Slates], Any]) -> int:
        """The number of lists, or rows, for which `flags` of their Slates is true."""
        return sum(int(np.count_nonzero(flags(slates))) for slates in self.chunks)

    @property
    def is_scored(self) -> bool:
        """Whether scores rank all lists."""
        return all("score" in slates.shown.columns and not slates.shown.ranked for slates in self.chunks)

    def describe_change(self, when: str, **parameters: Any) -> str:
        """The value of the headline metric with other parameters, as a sentence."""
        if not parameters.keys() <= self.headline.parameters.keys():
            return f"{self.headline} may differ {when}"
        (found,) = self.evaluate([self.headline.with_parameters(**parameters)])
        return f"{self.headline} is {_format(self.value)}, and {_format(found.value)} {when}"

    def evaluate_changed(self, change: Callable[[Slates], Slates]) -> float | None:
        """The value of the headline metric on changed lists."""
        return self.evaluate([self.headline], change)[0].value

    def evaluate(self, metrics: list[Metric], change: Callable[[Slates], Slates] = lambda same: same) -> list[Result]:
        """The results of metrics."""
        plan = Plan(tuple(metrics))
        states = fold(plan, map(change, self.chunks), self.context, Execution(torch.device("cpu")))
        return [metric.compute(state) for metric, state in zip(metrics, states, strict=True)]


def list_needs(headline: Metric) -> Needs:
    """The needs of the headline metric and of the checks."""
    return headline.needs() | Needs(depth=None, optional=frozenset({"seen"}))


def _format(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"
