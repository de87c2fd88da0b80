"""The commands of this package, offered by the hook that plugins use."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.cli import COMMANDS
from bridgeval.hookspecs import LazyCommand, hookimpl


@hookimpl
def bridgeval_commands() -> Iterable[LazyCommand]:
    return [LazyCommand(name, target) for name, target in COMMANDS.items()]
