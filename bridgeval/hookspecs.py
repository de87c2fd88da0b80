"""The whole extension surface: eight hooks, each offering things. Entry-point group: `bridgeval`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    from click import Command

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

        `extras` are those of the arguments of `evaluate` from `history` to `columns` that the caller gives.
        """
        ...


class Reader(Protocol):
    """Reads files of one kind, told by the ending of their names, such as `.inter`."""

    name: str

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The endings, each with its dot."""
        ...

    def read(self, path: str, role: str, /, **options: Any) -> Any:
        """Reads the file into a form that a loader takes: a table, a mapping, `Scores`.

        Args:
            path: the file, or a glob.
            role: the argument of `evaluate` that it was given for, e.g. "history".
            **options: `names` and `text_ids`, if the user asks for them (`--recs-columns`, `--text-ids`).
        """
        ...


class Sink(Protocol):
    """Writes results somewhere: to a tracker, a table, a file."""

    name: str

    def write(self, results: Any, /, **options: Any) -> None:
        """Writes `Reports` (a single report has the name "" there) or a `Comparison`.

        Options come from `report.log(name, **options)`; those of `--log NAME:key=value` are text.
        """
        ...


@dataclass(frozen=True)
class LazyCommand:
    """A command that is imported when it is run.

    Attributes:
        name: as it is typed.
        target: "module:attribute" of the click command.
    """

    name: str
    target: str


# PageData -> Section, or None if there is nothing to show; Look -> findings. Both live in layers above this one.
MakeSection = Callable[[Any], Any]
Check = Callable[[Any], Iterable[Any]]


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


@hookspec
def bridgeval_readers() -> Iterable[Reader]:
    """Offer readers of kinds of files."""
    return ()


@hookspec
def bridgeval_sinks() -> Iterable[Sink]:
    """Offer places that results can be written to."""
    return ()


@hookspec
def bridgeval_commands() -> Iterable[Command | LazyCommand]:
    """Offer commands of `bridgeval`."""
    return ()


@hookspec
def bridgeval_report_sections() -> Iterable[MakeSection]:
    """Offer sections of the report page."""
    return ()


@hookspec
def bridgeval_checks() -> Iterable[Check]:
    """Offer checks of `inspect`."""
    return ()
