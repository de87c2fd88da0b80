"""Convention: a toolkit's names for native metrics with the parameters that give that toolkit's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Convention:
    """A table.

    Attributes:
        toolkit: the prefix: `replay` in `replay:NDCG@10`.
        metrics: the toolkit's name -> the native metric class and its parameters; or a function that makes the
            metric of the parameters given, where the toolkit's own parameters differ from the native ones.
        description: in a sentence, what it reproduces.
    """

    toolkit: str
    metrics: Mapping[str, Entry | Callable[..., Any]]
    description: str = ""

    def find(self, name: str) -> tuple[str, Callable[..., Any]] | None:
        """The toolkit's own spelling and a maker of the metric; None for a name it does not have."""
        for own, maker in self.metrics.items():
            if own.lower() == name.lower():
                return own, maker
        return None


@dataclass(frozen=True)
class Entry:
    """A native metric class with parameters filled in."""

    metric: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **parameters: Any) -> Any:
        return self.metric(**{**self.parameters, **parameters})


def entry(metric: Callable[..., Any], **parameters: Any) -> Entry:
    """A line of a convention table."""
    return Entry(metric, parameters)
