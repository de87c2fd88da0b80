"""Loading: chooses the reader of a file and the loader of objects, and blames the plugin that they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from bridgeval.errors import AmbiguousLoaderError, InputError, NoLoaderError, PluginFailedError
from bridgeval.io.places import open_place
from bridgeval.plugin_info import PluginInfo, blame

if TYPE_CHECKING:
    from bridgeval.engine.source import Source, Sources
    from bridgeval.hookspecs import Loader, Reader
    from bridgeval.plugins import Plugins

# The reader of files that no other one claims; its files stay paths, which the loader of frames can stream.
TABLES = "table"
# The loaders of what readers read; any other loader that is chosen gets paths as they are.
OF_READERS = ("frames", "scores")


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


def load(
    known: Plugins, recommendations: Any, relevance: Any, choice: str | Loader | None = None, /, **extras: Any
) -> Loaded:
    """Loads objects; files of a kind that a reader claims are read first, unless the loader chosen reads files.

    Args:
        known: the plugins whose readers and loaders there are.
        recommendations, relevance, **extras: as for `Loader.load`.
        choice: a loader or its name; None takes the only one that recognizes the objects.
    """
    if not gets_paths(choice):
        recommendations = read_file(known, recommendations, "recommendations")
        relevance = read_file(known, relevance, "relevance")
        extras = {role: read_file(known, value, role) for role, value in extras.items()}
        if isinstance(context := extras.get("context"), Mapping):
            opened = {name: open_place(value) for name, value in context.items()}
            extras["context"] = {name: read_file(known, value, "context") for name, value in opened.items()}
    # Only here: the commands that list plugins need nothing of the engine.
    from bridgeval.engine.source import Sources

    loader = choose_loader(known, recommendations, relevance, choice)
    owner = known.find_owner("loaders", loader.name) if known.loaders.get(loader.name) is loader else None
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


def gets_paths(choice: str | Loader | None) -> bool:
    """Whether a loader was chosen that gets paths as they are, and reads the files itself."""
    return choice is not None and choice not in OF_READERS


def read_file(known: Plugins, value: Any, role: str, **options: Any) -> Any:
    """The content of a file, if `value` is the path of a kind of file that is no table; else `value`."""
    if not isinstance(value, str | os.PathLike):
        return value
    path = os.fspath(value)
    reader = choose_reader(known, path)
    return value if reader.name == TABLES else read_with(known, reader, path, role, **options)


def read_with(known: Plugins, reader: Reader, path: str, role: str, **options: Any) -> Any:
    """The content of a file, as its reader returns it."""
    with blame(known.find_owner("readers", reader.name), f"reader {reader.name!r} with {path!r}"):
        return reader.read(path, role, **options)


def choose_reader(known: Plugins, path: str) -> Reader:
    """The reader with the longest suffix that a file's name ends with; else that of tables."""
    ends = {suffix: one for one in known.readers.values() for suffix in one.suffixes if path.endswith(suffix)}
    return ends[max(ends, key=len)] if ends else known.readers[TABLES]


def choose_loader(known: Plugins, recommendations: Any, relevance: Any, choice: str | Loader | None = None) -> Loader:
    """The loader chosen, by name or as an object; without a choice the only one that recognizes the objects."""
    if choice is not None and not isinstance(choice, str):
        return choice
    if choice is not None:
        if choice not in known.loaders:
            raise NoLoaderError(
                f"there is no loader {choice!r}",
                f"loaders {', '.join(known.loaders)}",
                known.explain_absence() or "see `bridgeval plugins`",
            )
        return known.loaders[choice]
    fitting = [
        loader
        for name, loader in known.loaders.items()
        if known.attempt(
            known.find_owner("loaders", name),
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
            f"{_suggest_form(recommendations, relevance)}; loaders: {', '.join(known.loaders)}",
        )
    names = [loader.name for loader in fitting]
    raise AmbiguousLoaderError(
        f"several loaders recognize these objects: {', '.join(names)}",
        kinds,
        "choose one with {argument}",
        argument="loader",
        value=names[0],
    )


def _recognizes(loader: Loader, recommendations: Any, relevance: Any) -> bool:
    return bool(loader.recognizes(recommendations, relevance))


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
