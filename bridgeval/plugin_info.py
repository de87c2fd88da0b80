"""Plugin info: what one plugin is, and whose fault it is when its code fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from bridgeval.errors import BridgevalError, PluginFailedError

DISABLE = "BRIDGEVAL_DISABLE_PLUGINS"


@dataclass
class PluginInfo:
    """One plugin as `bridgeval plugins` lists it.

    Attributes:
        name: the entry point's name; the module for built-ins.
        distribution: its package and version.
        state: "left out" if it could not be loaded at all.
        problems: why it, or one of its offers, was left out.
        ignored: hooks that this version does not have.
        offers: kind -> names that can be asked for, as far as they were looked up.
    """

    name: str
    distribution: str
    state: Literal["loaded", "left out", "switched off"] = "loaded"
    problems: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    offers: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.is_builtin = self.distribution == "bridgeval"

    @property
    def is_used(self) -> bool:
        """Whether it comes from another package and is loaded."""
        return not self.is_builtin and self.state == "loaded"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        package, _, version = self.distribution.rpartition(" ")
        return {
            "name": self.name,
            "package": package or self.distribution,
            "version": version if package else "",
            "state": self.state,
            "offers": {kind: list(names) for kind, names in self.offers.items()},
            "problems": list(self.problems),
            "ignored_hooks": list(self.ignored),
        }

    def __str__(self) -> str:
        return f"plugin {self.name!r} of {self.distribution}"


@contextmanager
def blame(owner: PluginInfo | None, action: str) -> Iterator[None]:
    """Turns whatever a plugin raises, SystemExit too, into a PluginFailedError that names its package.

    Ctrl-C and the errors of this package, by which a plugin says what is wrong with the data, pass.

    Args:
        owner: the plugin; None or a built-in is not blamed.
        action: what it was doing.
    """
    try:
        yield
    except BaseException as error:
        passes = isinstance(error, KeyboardInterrupt | GeneratorExit | BridgevalError)
        if owner is None or owner.is_builtin or passes:
            raise
        raise PluginFailedError(
            f"{owner} failed in {action}",
            " ".join(f"{type(error).__name__}: {error}".split()),
            f"tell its authors; {DISABLE}={owner.name} switches it off",
        ) from error
