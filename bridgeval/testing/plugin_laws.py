"""The laws on everything that an installed plugin offers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from typing import Any

from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.errors import PluginWarning
from bridgeval.hookspecs import LazyCommand
from bridgeval.plugin_info import PluginInfo
from bridgeval.plugins import Plugins
from bridgeval.spec import parse
from bridgeval.testing.convention_laws import CONVENTION_LAWS, CUTOFF, ConventionTrial
from bridgeval.testing.law import Law, describe_error, keep_laws, law, refuse
from bridgeval.testing.loader_laws import LOADER_LAWS, LoaderTrial, it_has_a_name, it_leaves_others_alone
from bridgeval.testing.metric_laws import METRIC_LAWS
from bridgeval.testing.trial import make_trial, name_metric
from bridgeval.testing.world import world

# The laws of loaders that need no data in the loader's form.
WITHOUT_DATA = (it_has_a_name, it_leaves_others_alone)

# The name of a loader -> the arguments of `check_loader` after the loader; None if there are none.
FindData = Callable[[str], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Case:
    """Something that a plugin offers, and the laws that are tested on it.

    Attributes:
        who: its name in messages.
        laws: those that can be tested.
        trial: what they are tested on.
        lacks_data: whether it is a loader, and there is no data in its form to test the other laws on.
    """

    who: str
    laws: tuple[Law, ...]
    trial: Any
    lacks_data: bool = False


def check_plugin(name: str, *, metrics: Iterable[str] = ()) -> None:
    """Tests an installed plugin: it loads without a problem, and what it offers keeps the laws.

    Metrics are tested at the cutoff 5 and with their defaults. Of a loader only those laws are tested that need no data
    in its form; `check_loader` tests the rest.

    Args:
        name: the name of its entry point.
        metrics: names of metrics to test besides, such as `"Alpha(x=2)@5"`; needed for a class whose parameters have no
            defaults.

    Raises:
        AssertionError: what is wrong, and what to do.

    >>> check_plugin("nosuch")
    Traceback (most recent call last):
    AssertionError: no plugin is called 'nosuch'; ...
    """
    for case in list_cases(name, metrics):
        keep_laws(case.who, case.laws, case.trial)


def list_cases(name: str, metrics: Iterable[str] = (), find_data: FindData = lambda loader: None) -> list[Case]:
    """Everything that an installed plugin offers and that has laws.

    Raises:
        AssertionError: there is no such plugin, it is left out, or a metric cannot be made without parameters.
    """
    # The error of _find reports the problems.
    with warnings.catch_warnings(action="ignore", category=PluginWarning):
        known = plugins.installed()
        known.look_up_all()
    found = _find(known, name)
    tested = [metric for text in metrics for metric in parse(text, plugins=known)]
    for one in found.offers.get("metrics", ()):
        tested += _make_metrics(known.metrics[one], tested)
    cases = [Case(name_metric(metric), METRIC_LAWS, make_trial(metric)) for metric in tested]
    for one in found.offers.get("conventions", ()):
        cases.append(Case(f"convention {one!r}", CONVENTION_LAWS, ConventionTrial(known.conventions[one])))
    for one in found.offers.get("loaders", ()):
        cases += _list_loader_cases(known, one, find_data(one))
    for one in found.offers.get("commands", ()):
        cases.append(Case(f"command {one!r}", COMMAND_LAWS, known.commands[one]))
    return cases


def _find(known: Plugins, name: str) -> PluginInfo:
    """The plugin of a name, which is loaded and has no problem."""
    named = [info for info in known.infos if info.name == name and not info.is_builtin]
    if not named:
        others = ", ".join(info.name for info in known.infos if not info.is_builtin) or "none"
        raise AssertionError(
            f"no plugin is called {name!r}; found: {others}; hint: install its package; pyproject.toml names it "
            "under [project.entry-points.bridgeval]"
        )
    for info in named:
        if info.problems or info.state != "loaded":
            raise AssertionError(f"{info} is {info.state}: {'; '.join(info.problems) or 'see `bridgeval plugins`'}")
    return named[0]


def _make_metrics(kind: type[Metric], given: Iterable[Metric]) -> list[Metric]:
    """A metric of a class with its defaults; none if parameters are required and one is given already."""
    required = {one for one, default in kind.default_parameters().items() if default is MISSING}
    if more := sorted(required - {"k"}):
        if any(isinstance(metric, kind) for metric in given):
            return []
        raise AssertionError(
            f"{kind.name} has no default for {more[0]!r}, so it cannot be tested; hint: name one with all its "
            f"parameters, metrics=['{kind.name}({more[0]}=...)'] or --bridgeval-metric"
        )
    parameters: dict[str, Any] = dict.fromkeys(required, CUTOFF)
    return [kind(**parameters)]


def _list_loader_cases(known: Plugins, name: str, data: Mapping[str, Any] | None) -> Iterator[Case]:
    loader, who = known.loaders[name], f"loader {name!r}"
    if data is None:
        yield Case(who, WITHOUT_DATA, LoaderTrial(loader, None, None, world()), lacks_data=True)
        return
    extras = {one: value for one, value in data.items() if one not in ("recommendations", "relevance", "world")}
    made = data.get("world") or world()
    yield Case(who, LOADER_LAWS, LoaderTrial(loader, data["recommendations"], data["relevance"], made, extras))


@law(
    "it can be imported",
    cause="a module or an attribute of another name",
    remedy='write LazyCommand(name, "module:attribute") as it can be imported',
)
def a_command_can_be_imported(command: object) -> None:
    """A command that is imported when it is run is where its target says."""
    if isinstance(command, LazyCommand):
        module, _, attribute = command.target.partition(":")
        try:
            getattr(importlib.import_module(module), attribute)
        except Exception as error:
            refuse(f"{command.target!r}: {describe_error(error)}")


COMMAND_LAWS: tuple[Law, ...] = (a_command_can_be_imported,)
