"""check_plugin and check_convention: what they accept, and what they say of what they refuse."""

from __future__ import annotations

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.metrics import Precision
from bridgeval.testing import check_convention, check_plugin
from tests.test_plugins import plugin  # noqa: F401  (a fixture)

WHOLE = """
from dataclasses import dataclass
import bridgeval
from bridgeval.plugin import LazyCommand, TypedLoader
from bridgeval.metrics import Precision

@dataclass(frozen=True)
class Own(bridgeval.ListMetric):
    name = "Own"

    def value(self, slate):
        return float(len(slate.items){fault})

class Data: pass

class Loader(TypedLoader):
    name = "own"
    reads = (({kind}, {kind}),)

    def load(self, recommendations, relevance, /, **extras):
        raise NotImplementedError

@bridgeval.hookimpl
def bridgeval_metrics():
    return [Own]

@bridgeval.hookimpl
def bridgeval_loaders():
    return [Loader()]

@bridgeval.hookimpl
def bridgeval_conventions():
    return [bridgeval.Convention("own", {{"P": bridgeval.entry(Precision, {parameter}="shown")}})]

@bridgeval.hookimpl
def bridgeval_commands():
    return [LazyCommand("own", {target!r})]
"""
SOUND = {"fault": "", "kind": "Data", "parameter": "divide_by", "target": "bridgeval.cli:main"}


@pytest.fixture
def install(plugin, monkeypatch):  # noqa: F811
    def make(source: str) -> None:
        found = plugins.load_plugins(entry_points=[plugin(source)])
        monkeypatch.setattr(plugins, "installed", lambda: found)

    return make


def test_a_sound_plugin_passes(install):
    install(WHOLE.format(**SOUND))
    check_plugin("own")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"fault": " * float('inf')"}, "Own breaks the law that"),
        ({"kind": "dict"}, "loader 'own' breaks the law that it leaves to others what is theirs"),
        (
            {"parameter": "divide"},
            r"plugin 'own' of own-package 1.0 .*own:P sets 'divide', which Precision",
        ),
        ({"target": "bridgeval.nosuch:main"}, "command 'own' breaks the law that it can be imported.*nosuch"),
    ],
)
def test_a_fault_of_anything_offered_is_named(install, fault, said):
    install(WHOLE.format(**{**SOUND, **fault}))
    with pytest.raises(AssertionError, match=said):
        check_plugin("own")


def test_a_plugin_that_fails_to_import_is_told_with_its_package(install):
    with pytest.warns(bridgeval.errors.PluginWarning):
        install("raise SystemExit(3)")
    with pytest.raises(AssertionError, match=r"plugin 'own' of own-package 1.0 is left out: .*SystemExit: 3"):
        check_plugin("own")


def test_a_metric_whose_parameters_have_no_defaults_is_asked_for(install):
    install(WHOLE.format(**SOUND).replace('    name = "Own"\n', '    size: int\n    name = "Own"\n'))
    with pytest.raises(AssertionError, match=r"Own has no default for 'size'.*metrics=\['Own\(size=...\)'\]"):
        check_plugin("own")
    check_plugin("own", metrics=["Own(size=2)"])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ({"P": bridgeval.entry(Precision), "p": bridgeval.entry(Precision)}, "differ by more than case: 'P' and 'p'"),
        ({"P": lambda k: 7}, "every name gives a metric"),
        ({"P-1": bridgeval.entry(Precision)}, "'P-1' in 'house' cannot be typed"),
    ],
)
def test_a_convention_with_a_fault_is_told(lines, said):
    with pytest.raises(AssertionError, match=said):
        check_convention(bridgeval.Convention("house", lines))


@pytest.mark.parametrize("name", ["recbole", "replay", "librec"])
def test_conventions_of_ours_keep_the_laws(name):
    check_convention(plugins.installed().conventions[name])
