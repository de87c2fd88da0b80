"""The whole extension surface: three hooks, each offering things. Entry-point group: `bridgeval`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    from bridgeval.convention import Convention
    from bridgeval.engine.metric import Metric
    from bridgeval.engine.source import Source, Sources

hookspec = pluggy.HookspecMarker("bridgeval")
hookimpl = pluggy.HookimplMarker("bridgeval")


class Loader(Protocol):
    """Turns objects of some kind into a Source of Slates."""

    name: str

    def recognizes(self, recommendations: Any, relevance: Any, /) -> bool:
        """Whether it can load these two. Cheap; imports nothing."""
        ...

    def load(self, recommendations: Any, relevance: Any, /, **extras: Any) -> Source | Sources:
        """A Source, or Sources where these objects hold several evaluations.

        `extras` are the arguments of `evaluate` from `history` to `columns`; `mask_seen` only if the caller gives it.
        """
        ...


@hookspec
def bridgeval_metrics() -> Iterable[type[Metric]]:
    """Offer metric classes."""
    return ()


@hookspec
def bridgeval_loaders() -> Iterable[Loader]:
    """Offer loaders."""
    return ()


@hookspec
def bridgeval_conventions() -> Iterable[Convention]:
    """Offer a toolkit's names for native metrics with that toolkit's parameters."""
    return ()
