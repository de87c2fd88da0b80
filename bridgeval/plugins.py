"""Plugins: finds them, looks up what they offer by name, and isolates their failures. Built-ins use the same hooks."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pluggy

from bridgeval import hookspecs
from bridgeval.errors import (
    AmbiguousLoaderError,
    BridgevalError,
    DuplicateNameError,
    InputError,
    NoLoaderError,
    PluginFailedError,
    PluginWarning,
    warn_caller,
)
from bridgeval.io.places import open_place
from bridgeval.offers import KINDS

if TYPE_CHECKING:
    from click import Command

    from bridgeval.convention import Convention
    from bridgeval.engine.metric import Metric
    from bridgeval.engine.source import Source, Sources
    from bridgeval.hookspecs import Check, LazyCommand, Loader, MakeSection, Reader, Sink

T = TypeVar("T")

GROUP = "bridgeval"
DISABLE = "BRIDGEVAL_DISABLE_PLUGINS"
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
# The reader of files that no other one claims; its files stay paths, which the loader of frames can stream.
TABLES = "table"
# The loaders of what readers read; any other loader that is chosen gets paths as they are.
OF_READERS = ("frames", "scores")


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


@dataclass(frozen=True)
class Loaded:
    """Objects that a loader has loaded.

    Attributes:
        loader: the loader.
        sources: what it found; a single source has the key "".
        owner: the plugin that offers the loader; None if the caller brought it along.
    """

    loader: Loader
    sources: Sources
    owner: PluginInfo | None

    @property
    def source(self) -> Source:
        """The only source; an error if the objects hold several evaluations."""
        if len(self.sources.members) != 1:
            raise InputError(
                "these recommendations hold several evaluations, but only one can be used here",
                ", ".join(map(str, self.sources.members)) or "none",
                "give one of them, e.g. one fold of one experiment",
            )
        return next(iter(self.sources.members.values()))

    def blame(self) -> Any:
        """Blames the loader's plugin for what goes wrong while its data is read."""
        return blame(self.owner, f"loader {self.loader.name!r}, reading the data")


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

    def load(
        self, recommendations: Any, relevance: Any, choice: str | Loader | None = None, /, **extras: Any
    ) -> Loaded:
        """Loads objects; files of a kind that a reader claims are read first, unless the loader chosen reads files.

        Args:
            recommendations, relevance, **extras: as for `Loader.load`.
            choice: a loader or its name; None takes the only one that recognizes the objects.
        """
        if not self.gets_paths(choice):
            recommendations = self.read_file(recommendations, "recommendations")
            relevance = self.read_file(relevance, "relevance")
            extras = {role: self.read_file(value, role) for role, value in extras.items()}
            if isinstance(context := extras.get("context"), Mapping):
                opened = {name: open_place(value) for name, value in context.items()}
                extras["context"] = {name: self.read_file(value, "context") for name, value in opened.items()}
        # Only here: the commands that list plugins need nothing of the engine.
        from bridgeval.engine.source import Sources

        loader = self.loader_for(recommendations, relevance, choice)
        owner = self.find_owner("loaders", loader.name) if self.loaders.get(loader.name) is loader else None
        with blame(owner, f"loader {loader.name!r}"):
            found: Any = loader.load(recommendations, relevance, **extras)
        if hasattr(found, "offers") and hasattr(found, "run"):
            found = Sources({"": found}, itemgetter(""))
        if not isinstance(found, Sources):
            raise PluginFailedError(
                f"the loader {loader.name!r}{f' of {owner}' if owner else ''} loads no source",
                f"{found!r}",
                "return a Source, e.g. that of make_source",
            )
        return Loaded(loader, found, owner)

    def gets_paths(self, choice: str | Loader | None) -> bool:
        """Whether a loader was chosen that gets paths as they are, and reads the files itself."""
        return choice is not None and choice not in OF_READERS

    def read_file(self, value: Any, role: str, **options: Any) -> Any:
        """The content of a file, if `value` is the path of a kind of file that is no table; else `value`."""
        if not isinstance(value, str | os.PathLike):
            return value
        path = os.fspath(value)
        reader = self.reader_for(path)
        return value if reader.name == TABLES else self.read_with(reader, path, role, **options)

    def read_with(self, reader: Reader, path: str, role: str, **options: Any) -> Any:
        """The content of a file, as its reader returns it."""
        with blame(self.find_owner("readers", reader.name), f"reader {reader.name!r} with {path!r}"):
            return reader.read(path, role, **options)

    def reader_for(self, path: str) -> Reader:
        """The reader with the longest suffix that a file's name ends with; else that of tables."""
        ends = {suffix: one for one in self.readers.values() for suffix in one.suffixes if path.endswith(suffix)}
        return ends[max(ends, key=len)] if ends else self.readers[TABLES]

    def loader_for(self, recommendations: Any, relevance: Any, choice: str | Loader | None = None) -> Loader:
        """The loader chosen, by name or as an object; without a choice the only one that recognizes the objects."""
        if choice is not None and not isinstance(choice, str):
            return choice
        if choice is not None:
            if choice not in self.loaders:
                raise NoLoaderError(
                    f"there is no loader {choice!r}",
                    f"loaders {', '.join(self.loaders)}",
                    self.explain_absence() or "see `bridgeval plugins`",
                )
            return self.loaders[choice]
        fitting = [
            loader
            for name, loader in self.loaders.items()
            if self.attempt(
                self._owners.get(("loaders", name)),
                f"recognizes of its loader {name!r}",
                False,
                _recognizes,
                loader,
                recommendations,
                relevance,
            )
        ]
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


def _recognizes(loader: Loader, recommendations: Any, relevance: Any) -> bool:
    return bool(loader.recognizes(recommendations, relevance))


def _list_offers(implementation: Callable[[], Iterable[Any]]) -> list[Any]:
    return list(implementation())


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
