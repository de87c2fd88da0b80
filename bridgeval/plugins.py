"""Plugins: finds them, looks up what they offer by name, and isolates their failures. Built-ins use the same hooks."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import pluggy

from bridgeval import hookspecs
from bridgeval.errors import (
    AmbiguousLoaderError,
    DuplicateNameError,
    NoLoaderError,
    PluginFailedError,
    PluginWarning,
)

if TYPE_CHECKING:
    from bridgeval.convention import Convention
    from bridgeval.engine.metric import Metric
    from bridgeval.hookspecs import Loader

GROUP = "bridgeval"
DISABLE = "BRIDGEVAL_DISABLE_PLUGINS"
BUILTIN = (
    "bridgeval.metrics",
    "bridgeval.spark",
    "bridgeval.toolkits.frames",
    "bridgeval.toolkits.librec",
    "bridgeval.toolkits.mapping",
    "bridgeval.toolkits.peers",
    "bridgeval.toolkits.replay",
    "bridgeval.toolkits.scores",
    "bridgeval.toolkits.warprec",
)


@dataclass(frozen=True)
class PluginInfo:
    """One plugin as `bridgeval plugins` lists it.

    Attributes:
        name: the entry point's name; the module for built-ins.
        distribution: its package and version.
        error: why it, or one of its offers, was left out.
    """

    name: str
    distribution: str
    error: str = ""


@dataclass(frozen=True, eq=False)
class Plugins:
    """The plugins of an environment and their offers.

    Attributes:
        manager: the manager of pluggy.
        infos: every plugin, also those that were left out.
    """

    manager: pluggy.PluginManager
    infos: list[PluginInfo] = field(default_factory=list)

    @cached_property
    def metrics(self) -> dict[str, type[Metric]]:
        """Metric classes by their name."""
        return self._collect("bridgeval_metrics", lambda metric: metric.name, "metric")

    @cached_property
    def loaders(self) -> dict[str, Loader]:
        return self._collect("bridgeval_loaders", lambda loader: loader.name, "loader")

    @cached_property
    def conventions(self) -> dict[str, Convention]:
        return self._collect("bridgeval_conventions", lambda table: table.toolkit, "convention")

    def loader_for(self, recommendations: Any, relevance: Any, choice: str | Loader | None = None) -> Loader:
        """The loader chosen, by name or as an object; without a choice the only one that recognizes the objects."""
        if choice is not None and not isinstance(choice, str):
            return choice
        if choice is not None:
            if choice not in self.loaders:
                raise NoLoaderError(
                    f"there is no loader {choice!r}",
                    f"loaders {', '.join(self.loaders)}",
                    "see `bridgeval plugins`",
                )
            return self.loaders[choice]
        fitting = []
        for name, loader in self.loaders.items():
            try:
                if loader.recognizes(recommendations, relevance):
                    fitting.append(loader)
            except Exception as error:
                problem = PluginFailedError(f"the loader {name!r} failed in recognizes and is not used", repr(error))
                warnings.warn(str(problem), PluginWarning, stacklevel=3)
        if len(fitting) == 1:
            return fitting[0]
        kinds = f"{type(recommendations).__name__} and {type(relevance).__name__}"
        if not fitting:
            raise NoLoaderError(
                "no loader recognizes these recommendations and relevance",
                kinds,
                f"{_suggest_form(recommendations, relevance)}; loaders: {', '.join(self.loaders)}",
            )
        names = [loader.name for loader in fitting]
        raise AmbiguousLoaderError(
            f"several loaders recognize these objects: {', '.join(names)}",
            kinds,
            "choose one with {argument}",
            argument="loader",
            value=names[0],
        )

    def _collect(self, hook: str, name_of: Callable[[Any], str], what: str) -> dict[str, Any]:
        """Offers of all plugins by name. A plugin that fails, or offers a taken name, is reported and left out."""
        offers: dict[str, Any] = {}
        owners: dict[str, str] = {}
        implementations = getattr(self.manager.hook, hook).get_hookimpls()
        # Built-ins come first, so that no plugin can take a name of theirs, whatever its options of pluggy.
        for implementation in sorted(implementations, key=lambda one: one.plugin_name not in BUILTIN):
            plugin = implementation.plugin_name
            try:
                offered = {name_of(offer): offer for offer in implementation.function()}
            except Exception as error:
                self._report(plugin, PluginFailedError(f"plugin {plugin!r} failed in {hook}", repr(error)))
                continue
            # Names differ by more than case, since users may type them in any case.
            spelled = {name.lower(): name for name in offers}
            for name, offer in offered.items():
                taken = spelled.get(name.lower())
                if taken is None:
                    offers[name], owners[name] = offer, plugin
                    continue
                problem = DuplicateNameError(
                    f"{what} {name!r} of plugin {plugin!r} is left out because the name is taken",
                    f"{owners[taken]!r} offers it already",
                    f"rename it, or switch one off with {DISABLE}={plugin}",
                )
                self._report(plugin, problem)
        return offers

    def _report(self, plugin: str, problem: Exception) -> None:
        """Warns of a problem and notes it in the list of plugins."""
        for at, info in enumerate(self.infos):
            if info.name == plugin:
                self.infos[at] = replace(info, error=str(problem))
        warnings.warn(str(problem), PluginWarning, stacklevel=4)


def _suggest_form(recommendations: Any, relevance: Any) -> str:
    """A hint for objects that no loader reads."""
    for value in (recommendations, relevance):
        if len(getattr(value, "shape", ())) == 2 and not hasattr(value, "columns"):
            return "a matrix of scores belongs in bridgeval.Scores(matrix), rows of users and items in a data frame"
        if type(value).__name__ in ("DatasetDict", "IterableDatasetDict"):
            return f"give one of its splits, e.g. datasets[{next(iter(value), 'test')!r}]"
        if isinstance(value, list):
            return "rows belong in a data frame, e.g. pandas.DataFrame(rows, columns=['user_id', 'item_id'])"
    if relevance is None:
        return "give the relevance too: evaluate(recommendations, relevance, metrics)"
    return "give data frames, mappings by user or file paths"


def load_plugins(
    disabled: Iterable[str] = (),
    builtin: Sequence[str] = BUILTIN,
    entry_points: Iterable[tuple[str, EntryPoint]] | None = None,
) -> Plugins:
    """Builds a manager with the built-ins and every entry point of the group `bridgeval`.

    Args:
        disabled: names of entry points to leave out; "all" leaves out every one.
        builtin: modules that implement hooks.
        entry_points: (distribution, entry point) pairs; None finds those of installed packages.
    """
    manager = pluggy.PluginManager("bridgeval")
    manager.add_hookspecs(hookspecs)
    plugins = Plugins(manager)
    for module in builtin:
        manager.register(importlib.import_module(module), name=module)
        plugins.infos.append(PluginInfo(module, "bridgeval"))
    off = {name.strip() for name in disabled}
    for distribution, point in entry_points if entry_points is not None else installed_entry_points():
        if "all" in off or point.name in off:
            plugins.infos.append(PluginInfo(point.name, distribution, "switched off"))
            continue
        try:
            _register(manager, point)
        except Exception as error:
            problem = PluginFailedError(
                f"plugin {point.name!r} of {distribution} could not be loaded",
                repr(error),
                "the other plugins work without it",
            )
            plugins.infos.append(PluginInfo(point.name, distribution, str(problem)))
            warnings.warn(str(problem), PluginWarning, stacklevel=2)
            continue
        plugins.infos.append(PluginInfo(point.name, distribution))
    return plugins


def _register(manager: pluggy.PluginManager, point: EntryPoint) -> None:
    """Loads and registers a plugin; unregisters it if it implements an unknown hook, or one with wrong arguments."""
    if manager.has_plugin(point.name):
        raise DuplicateNameError(f"another plugin is called {point.name!r}", hint="rename the entry point")
    try:
        manager.register(point.load(), name=point.name)
        manager.check_pending()
    except Exception:
        if manager.has_plugin(point.name):
            manager.unregister(name=point.name)
        raise


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
