"""Metric scripts that come with a study, and what they import from librec-auto.

A script is imported, never run: its main block reads files and pickles a number, both of which happen elsewhere here.
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bridgeval.errors import PluginFailedError
from bridgeval.toolkits.librec.bases import CustomBase, ListBasedMetric, RowBasedMetric
from bridgeval.toolkits.librec.study_config import read_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

PathLike = str | os.PathLike[str]


class ConfigCmd:
    """A study's configuration, as librec-auto passes it to metrics: its XML and the folder of the study.

    Args:
        config_file: in the folder `conf` of the study.
        target: the folder of the study.
        log_filename: of no use here.
    """

    def __init__(self, config_file: PathLike, target: PathLike, log_filename: str | None = None) -> None:
        self._target = target
        self._xml = read_xml(Path(target) / "conf" / config_file)

    def get_xml(self) -> Element:
        """The root element."""
        return self._xml

    def get_target(self) -> PathLike:
        """The folder of the study."""
        return self._target

    def __repr__(self) -> str:
        return f"ConfigCmd({os.fspath(self._target)!r})"


def read_config_file(config_file: PathLike, target: PathLike, log_filename: str | None = None) -> ConfigCmd:
    """Reads the configuration of the study in the folder `target`."""
    return ConfigCmd(config_file, target, log_filename)


def single_xpath(element: Element, path: str) -> Element | None:
    """Finds the first element on a path from the root: `/librec-auto/data/data-dir`."""
    return element.find(path.removeprefix(f"/{element.tag}/"))


class NotAvailable:
    """A class of librec-auto that scripts import for their main blocks; it cannot be used here."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} of librec-auto is not available here")


def _list_absent(*names: str) -> dict[str, type[NotAvailable]]:
    return {name: type(name, (NotAvailable,), {}) for name in names}


# Module of librec-auto -> the names that scripts import from it.
PROVIDED: Mapping[str, Mapping[str, Any]] = {
    "librec_auto": {},
    "librec_auto.core": {"ConfigCmd": ConfigCmd, "read_config_file": read_config_file},
    "librec_auto.core.cmd": {},
    "librec_auto.core.cmd.rerank": _list_absent("Rerank_Helper", "Reranker", "User_Helper"),
    "librec_auto.core.eval": {"ListBasedMetric": ListBasedMetric, "RowBasedMetric": RowBasedMetric},
    "librec_auto.core.eval.metrics": {},
    "librec_auto.core.eval.metrics.list_based_metric": {"ListBasedMetric": ListBasedMetric},
    "librec_auto.core.eval.metrics.row_based_metric": {"RowBasedMetric": RowBasedMetric},
    "librec_auto.core.util": {"single_xpath": single_xpath},
    "librec_auto.core.util.protected_feature": _list_absent("ProtectedFeature"),
    "librec_auto.core.util.xml_utils": {"single_xpath": single_xpath},
}


def import_script(path: Path) -> type[CustomBase]:
    """Imports the metric class that a script defines. This executes the script: only for scripts that you trust."""
    name = f"bridgeval_study_script_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise PluginFailedError(f"{path} cannot be imported", hint="a metric script is a Python file")
    try:
        # Scripts of librec-auto silence all warnings.
        with warnings.catch_warnings():
            module = ScriptImporter(path.parent).execute(spec)
    except (Exception, SystemExit) as error:
        provided = ", ".join(name for name, contents in PROVIDED.items() if contents)
        missing = isinstance(error, ImportError)
        raise PluginFailedError(
            f"the metric script {path} could not be imported",
            f"{type(error).__name__}: {error}",
            f"install what it imports; of librec-auto there are {provided}" if missing else "is it complete?",
        ) from error
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, RowBasedMetric | ListBasedMetric) and one.__module__ == name
    ]
    if len(found) != 1:
        raise PluginFailedError(
            f"the metric script {path} must define one metric class",
            f"{[one.__name__ for one in found]}",
            "extend RowBasedMetric or ListBasedMetric once",
        )
    return found[0]


class ScriptImporter:
    """Imports a script and the modules of its folder, without a trace in this process.

    An `import` statement calls `__import__` of the builtins of its own module. Here it looks among the names that are
    provided, then in the folder, and only then among installed modules. So `sys.modules` and `sys.path` are never
    touched: other threads, and a librec-auto that is installed, notice nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._modules = _make_provided()
        # What a script prints is not part of the output of this process.
        printing = partial(print, file=sys.stderr)
        self._builtins = {**vars(builtins), "__import__": self._import, "print": printing}

    def execute(self, spec: ModuleSpec) -> ModuleType:
        """Executes a source file as a new module."""
        module = importlib.util.module_from_spec(spec)
        self._modules[spec.name] = module
        vars(module)["__builtins__"] = self._builtins
        origin = str(spec.origin)
        # Compiled here, because a loader would write a cache into the study.
        exec(compile(Path(origin).read_bytes(), origin, "exec", dont_inherit=True), vars(module))
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Does what `__import__` does."""
        package = (globals or {}).get("__package__") or ""
        absolute = importlib.util.resolve_name("." * level + name, package)
        module = self._find(absolute)
        if module is None:
            return __import__(name, globals, locals, fromlist or (), level)
        for child in fromlist or ():
            if not hasattr(module, child):
                self._find(f"{absolute}.{child}")
        return module if fromlist else self._modules[absolute.partition(".")[0]]

    def _find(self, name: str) -> ModuleType | None:
        """Finds a module that is provided or lies in the folder; None for any other."""
        if name in self._modules:
            return self._modules[name]
        parent, _, last = name.rpartition(".")
        package = self._find(parent) if parent else None
        places = [str(self._folder)] if not parent else getattr(package, "__path__", [])
        for place in places:
            spec = FileFinder(place, (SourceFileLoader, SOURCE_SUFFIXES)).find_spec(name)
            if spec is not None and spec.origin is not None:
                module = self.execute(spec)
                if package is not None:
                    setattr(package, last, module)
                return module
        return None


def _make_provided() -> dict[str, ModuleType]:
    """Makes modules with the names of librec-auto's, each an attribute of its parent."""
    modules: dict[str, ModuleType] = {}
    for name, contents in PROVIDED.items():
        modules[name] = module = ModuleType(name)
        vars(module).update(contents)
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, module)
    return modules
