"""The laws on everything that an installed plugin offers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable
from dataclasses import MISSING
from typing import Any

from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.errors import PluginWarning
from bridgeval.hookspecs import LazyCommand
from bridgeval.plugins import PluginInfo, Plugins
from bridgeval.spec import parse
from bridgeval.testing.convention_laws import CUTOFF, check_convention
from bridgeval.testing.loader_laws import LOADER_LAWS, LoaderTrial, it_has_a_name, it_leaves_others_alone
from bridgeval.testing.metric_laws import check_metric
from bridgeval.testing.world import world


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
    # Problems are told by the error below.
    with warnings.catch_warnings(action="ignore", category=PluginWarning):
        known = plugins.installed()
        known.look_up_all()
    found = _find(known, name)
    given = [metric for text in metrics for metric in parse(text, plugins=known)]
    for one in found.offers.get("metrics", ()):
        given += _make_metrics(known.metrics[one], given)
    for metric in given:
        check_metric(metric)
    for one in found.offers.get("conventions", ()):
        check_convention(known.conventions[one])
    for one in found.offers.get("loaders", ()):
        trial = LoaderTrial(known.loaders[one], None, None, world())
        for law in LOADER_LAWS:
            if law.keep in (it_has_a_name, it_leaves_others_alone):
                law.test(f"loader {one!r}", trial)
    for one in found.offers.get("commands", ()):
        _import_command(known.commands[one])


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
            f"parameters, metrics=['{kind.name}({more[0]}=...)']"
        )
    parameters: dict[str, Any] = dict.fromkeys(required, CUTOFF)
    return [kind(**parameters)]


def _import_command(command: object) -> None:
    if isinstance(command, LazyCommand):
        module, _, attribute = command.target.partition(":")
        try:
            getattr(importlib.import_module(module), attribute)
        except Exception as error:
            raise AssertionError(
                f"the command {command.name!r} cannot be imported: {error!r}; hint: its target is {command.target!r}"
            ) from error
