"""Plugins: finds them, and looks up what they offer by name. Built-ins use the same hooks."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from bridgeval import hookspecs
from bridgeval.errors import BridgevalError, DuplicateNameError, PluginFailedError, PluginWarning, warn_caller
from bridgeval.offers import KINDS
from bridgeval.plugin_info import DISABLE, PluginInfo, blame

if TYPE_CHECKING:
    from click import Command

    from bridgeval.convention import Convention
    from bridgeval.engine.metric import Metric
    from bridgeval.hookspecs import Check, LazyCommand, Loader, MakeSection, Reader, Sink

T = TypeVar("T")

GROUP = "bridgeval"
# Hook -> the modules of this package that implement it. Each is imported when its hook is first asked for.
BUILTIN = {
    "bridgeval_metrics": ("bridgeval.metrics", "bridgeval.toolkits.librec"),
    "bridgeval_loaders": (
        "bridgeval.spark",
        "bridgeval.toolkits.frames",
        "bridgeval.toolkits.librec",
        "bridgeval.toolkits.mapping",
        "bridgeval.toolkits.scores",
        "bridgeval.toolkits.warprec",
    ),
    "bridgeval_conventions": (
        "bridgeval.toolkits.librec",
        "bridgeval.toolkits.peers",
        "bridgeval.toolkits.replay",
        "bridgeval.toolkits.warprec",
    ),
    "bridgeval_readers": ("bridgeval.toolkits.frames", "bridgeval.toolkits.scores"),
    "bridgeval_sinks": ("bridgeval.integrations", "bridgeval.report.sinks"),
    "bridgeval_commands": ("bridgeval.cli.builtin",),
    "bridgeval_report_sections": ("bridgeval.report.page.sections",),
    "bridgeval_checks": ("bridgeval.inspection.checks",),
}


@dataclass(frozen=True, eq=False)
class Plugins:
    """The plugins of an environment and their offers.

    Attributes:
        manager: the manager of pluggy, which knows the plugins that are not built in.
        infos: every plugin, also those that were left out.
    """

    manager: pluggy.PluginManager
    infos: list[PluginInfo] = field(default_factory=list)
    _owners: dict[tuple[str, str], PluginInfo] = field(default_factory=dict)

    @cached_property
    def metrics(self) -> dict[str, type[Metric]]:
        """Metric classes by their name."""
        return self._collect("metrics")

    @cached_property
    def loaders(self) -> dict[str, Loader]:
        return self._collect("loaders")

    @cached_property
    def conventions(self) -> dict[str, Convention]:
        return self._collect("conventions")

    @cached_property
    def readers(self) -> dict[str, Reader]:
        return self._collect("readers")

    @cached_property
    def sinks(self) -> dict[str, Sink]:
        return self._collect("sinks")

    @cached_property
    def commands(self) -> dict[str, Command | LazyCommand]:
        return self._collect("commands")

    @cached_property
    def report_sections(self) -> dict[str, MakeSection]:
        return self._collect("report_sections")

    @cached_property
    def checks(self) -> dict[str, Check]:
        return self._collect("checks")

    def look_up_all(self) -> None:
        """Asks every hook, so that the offers and problems of all plugins are known."""
        for kind in KINDS:
            getattr(self, kind)

    def find_owner(self, kind: str, name: str) -> PluginInfo | None:
        """The plugin that offers something; `kind` is one of KINDS."""
        getattr(self, kind)
        return self._owners.get((kind, name))

    def explain_absence(self) -> str:
        """A sentence about plugins that could offer what is missing; empty if all are loaded."""
        absent = [f"{info} is {info.state}" for info in self.infos if info.state != "loaded"]
        return f"{'; '.join(absent)}: see `bridgeval plugins`" if absent else ""

    def attempt(self, owner: PluginInfo | None, action: str, otherwise: T, act: Callable[..., T], *arguments: Any) -> T:
        """The result of something that a plugin does; if it fails, the plugin is reported and the rest goes on."""
        if owner is None or owner.is_builtin:
            return act(*arguments)
        try:
            with blame(owner, action):
                return act(*arguments)
        except PluginFailedError as error:
            self.report(owner, error)
        except BridgevalError as error:
            self.report(owner, PluginFailedError(f"{owner} failed in {action}", str(error)))
        return otherwise

    def report(self, owner: PluginInfo, problem: Exception) -> None:
        """Warns of a problem and notes it in the list of plugins."""
        if str(problem) not in owner.problems:
            owner.problems.append(str(problem))
        warn_caller(str(problem), PluginWarning)

    def _collect(self, what: str) -> dict[str, Any]:
        """Offers of all plugins by name. A plugin that fails, or offers a taken name, is reported and left out."""
        kind = KINDS[what]
        offers: dict[str, Any] = {}
        # Names differ by more than case, since users may type them in any case.
        spelled: dict[str, str] = {}
        for owner, implementation in self._find_implementations(kind.hook):
            offered: list[Any] = self.attempt(owner, kind.hook, [], _list_offers, implementation)
            for offer in offered:
                name = self.attempt(owner, kind.hook, None, self._check, owner, what, offer)
                if name is None:
                    continue
                if taken := self._find_taken(what, name, offer, spelled, offers):
                    problem = DuplicateNameError(
                        f"{kind.word} {name!r} of {owner} is left out because {taken}",
                        hint=f"rename it, or switch one off with {DISABLE}={owner.name}",
                    )
                    self.report(owner, problem)
                    continue
                spelled[name.lower()], offers[name], self._owners[what, name] = name, offer, owner
                owner.offers.setdefault(what, []).append(name)
        return offers

    def _check(self, owner: PluginInfo, what: str, offer: Any) -> str | None:
        """The name of an offer; None if something is wrong with it, which is reported."""
        if not owner.is_builtin:
            faults = list(KINDS[what].find_faults(offer))
            for fault in faults:
                self.report(owner, PluginFailedError(f"{owner} offers what cannot be used", fault))
            if faults:
                return None
        return str(KINDS[what].find_name(offer))

    def _find_taken(self, what: str, name: str, offer: Any, spelled: dict[str, str], offers: dict[str, Any]) -> str:
        """Who has the name, or a suffix of a reader, already, as a clause; empty if nobody has."""
        if taken := spelled.get(name.lower()):
            return f"the name is taken: {self._owners[what, taken]} offers it already"
        if what == "readers":
            for other, reader in offers.items():
                if shared := set(reader.suffixes).intersection(offer.suffixes):
                    return f"{min(shared)} files are read by {other!r} of {self._owners[what, other]}"
        return ""

    def _find_implementations(self, hook: str) -> Iterator[tuple[PluginInfo, Callable[[], Iterable[Any]]]]:
        """Owner and function of every implementation: built-ins, then plugins in the order they were found."""
        infos = {info.name: info for info in self.infos if info.state == "loaded"}
        for module in BUILTIN[hook]:
            yield infos[module], getattr(importlib.import_module(module), hook)
        # No option of pluggy, such as trylast, changes the order: nobody takes a name by it.
        found = {one.plugin_name: one.function for one in getattr(self.manager.hook, hook).get_hookimpls()}
        for name in sorted(found, key=lambda name: list(infos).index(name) if name in infos else len(infos)):
            if name not in infos:
                self.infos.append(PluginInfo(name, "no package"))
                infos[name] = self.infos[-1]
            yield infos[name], found[name]


def _list_offers(implementation: Callable[[], Iterable[Any]]) -> list[Any]:
    return list(implementation())


def load_plugins(disabled: Iterable[str] = (), entry_points: Iterable[tuple[str, EntryPoint]] | None = None) -> Plugins:
    """The built-ins and every entry point of the group `bridgeval`.

    Args:
        disabled: names of entry points to leave out; "all" leaves out every one.
        entry_points: (distribution, entry point) pairs; None finds those of installed packages.
    """
    manager = pluggy.PluginManager("bridgeval")
    manager.add_hookspecs(hookspecs)
    builtin = dict.fromkeys(module for modules in BUILTIN.values() for module in modules)
    plugins = Plugins(manager, [PluginInfo(module, "bridgeval") for module in builtin])
    off = {name.strip() for name in disabled}
    for distribution, point in entry_points if entry_points is not None else installed_entry_points():
        info = PluginInfo(point.name, distribution)
        plugins.infos.append(info)
        if "all" in off or point.name in off:
            info.state = "switched off"
            continue
        module = plugins.attempt(info, "its import", None, _register, manager, point)
        if module is None:
            info.state = "left out"
        else:
            plugins.attempt(info, "its import", None, _review, plugins, info, module)
    return plugins


def _register(manager: pluggy.PluginManager, point: EntryPoint) -> Any:
    """Loads and registers a plugin; unregisters it if it implements a hook with wrong arguments."""
    if manager.has_plugin(point.name):
        raise DuplicateNameError(f"another plugin is called {point.name!r}", hint="rename the entry point")
    module = point.load()
    try:
        manager.register(module, name=point.name)
    except Exception:
        if manager.has_plugin(point.name):
            manager.unregister(name=point.name)
        raise
    return module


def _review(plugins: Plugins, info: PluginInfo, module: Any) -> None:
    """Reports hooks that are not marked, or misspelled; notes those of newer versions, which are ignored."""
    hooks = []
    for name in dir(module):
        options = plugins.manager.parse_hookimpl_opts(module, name)
        hook = name if options is None else options.get("specname") or name
        if options is None and hook in BUILTIN and callable(getattr(module, name)):
            plugins.report(info, PluginFailedError(f"{info} has {hook}, but it is not marked", hint="add @hookimpl"))
        elif options is not None and hook not in BUILTIN:
            info.ignored.append(hook)
            if near := difflib.get_close_matches(hook, BUILTIN, n=1, cutoff=0.9):
                meant = f"did you mean {near[0]}?"
                plugins.report(info, PluginFailedError(f"{info} implements {hook}, which is no hook", hint=meant))
        elif options is not None:
            hooks.append(hook)
    if not hooks and not info.ignored and not info.problems:
        plugins.report(info, PluginFailedError(f"{info} implements no hook", hint="see docs/plugins.md"))


def installed_entry_points() -> list[tuple[str, EntryPoint]]:
    """Entry points of the group, each with its distribution."""
    found: dict[tuple[str, str], tuple[str, EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        label = f"{point.dist.metadata['Name']} {point.dist.version}" if point.dist else "unknown"
        found.setdefault((point.name, point.value), (label, point))
    return list(found.values())


def installed() -> Plugins:
    """The plugins of this environment, loaded once; `BRIDGEVAL_DISABLE_PLUGINS` lists those to switch off."""
    return _installed(os.environ.get(DISABLE, ""))


@cache
def _installed(disabled: str) -> Plugins:
    return load_plugins(disabled.split(",") if disabled else ())
