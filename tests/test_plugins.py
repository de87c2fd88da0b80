"""Plugins: found by entry point, left out if they fail, distinguished by name."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import bridgeval
from bridgeval import hookspecs, plugins
from bridgeval.errors import AmbiguousLoaderError, NoLoaderError, PluginWarning, UnknownMetricError
from bridgeval.loading import choose_loader
from bridgeval.offers import KINDS
from bridgeval.plugin_info import DISABLE, PluginInfo

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "plugins.md"

METRIC = """
from dataclasses import dataclass
import bridgeval

@dataclass(frozen=True)
class Own(bridgeval.TopKMetric):
    name = {name!r}

    def values(self, blocks):
        raise NotImplementedError

@bridgeval.hookimpl
def bridgeval_metrics():
    return [Own]
"""
LOADER = """
import bridgeval

class Own:
    name = {name!r}

    def recognizes(self, recommendations, relevance, /):
        return isinstance(recommendations, dict)

    def load(self, recommendations, relevance, /, **extras):
        raise NotImplementedError

@bridgeval.hookimpl
def bridgeval_loaders():
    return [Own()]
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Makes a module and gives the pair (distribution, entry point) that an installed package would have."""
    monkeypatch.syspath_prepend(tmp_path)
    made = []

    def make(source: str, name: str = "own", distribution: str = "own-package 1.0"):
        module = f"plugin_under_test_{len(made)}_{abs(hash(str(tmp_path)))}"
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        made.append(module)
        return distribution, EntryPoint(name, module, plugins.GROUP)

    yield make
    for module in made:
        sys.modules.pop(module, None)


def info(found: plugins.Plugins, name: str) -> PluginInfo:
    (one,) = [info for info in found.infos if info.name == name]
    return one


def test_a_metric_of_a_plugin_is_found_by_name(plugin):
    found = plugins.load_plugins(entry_points=[plugin(METRIC.format(name="OwnMetric"))])

    assert [str(metric) for metric in bridgeval.parse("ownmetric@3", plugins=found)] == ["OwnMetric@3"]
    assert info(found, "own") == PluginInfo("own", "own-package 1.0", offers={"metrics": ["OwnMetric"]})
    assert found.find_owner("metrics", "OwnMetric") is info(found, "own")


def test_built_ins_come_through_the_same_hooks_and_are_listed():
    found = plugins.load_plugins(entry_points=())

    found.look_up_all()
    assert {info.name for info in found.infos} == {one for modules in plugins.BUILTIN.values() for one in modules}
    assert all(info.offers and not info.problems for info in found.infos)
    assert "nDCG" in found.metrics
    assert "mapping" in found.loaders
    assert "ranx" in found.conventions


def test_the_table_of_built_ins_names_every_module_that_implements_a_hook():
    named = {(hook, module) for hook, modules in plugins.BUILTIN.items() for module in modules}
    written = {
        (node.name, ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        for path in (ROOT / "bridgeval").rglob("*.py")
        if path.name != "hookspecs.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name in plugins.BUILTIN
    }
    assert named == written
    assert set(plugins.BUILTIN) == {kind.hook for kind in KINDS.values()}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import no_such_package", "no_such_package"),
        ("1 / 0", "ZeroDivisionError"),
        ("import bridgeval\n@bridgeval.hookimpl\ndef bridgeval_metrics(extra): return []", "extra"),
    ],
    ids=["cannot import", "raises", "unknown argument"],
)
def test_a_plugin_that_cannot_be_loaded_is_reported_with_its_distribution_and_the_rest_goes_on(plugin, source, reason):
    points = [plugin(source, "broken", "broken-package 2.1"), plugin(METRIC.format(name="OwnMetric"))]

    with pytest.warns(PluginWarning, match=f"plugin 'broken' of broken-package 2.1 failed in its import.*{reason}"):
        found = plugins.load_plugins(entry_points=points)

    assert info(found, "broken").state == "left out"
    assert reason in info(found, "broken").problems[0]
    assert "OwnMetric" in found.metrics
    assert "nDCG" in found.metrics


def test_a_hook_that_raises_is_reported_and_the_rest_goes_on(plugin):
    source = "import bridgeval\n@bridgeval.hookimpl\ndef bridgeval_metrics():\n    raise RuntimeError('not today')"
    found = plugins.load_plugins(entry_points=[plugin(source, "moody"), plugin(METRIC.format(name="OwnMetric"))])

    with pytest.warns(PluginWarning, match=r"plugin 'moody' of own-package 1.0 failed in bridgeval_metrics.*not today"):
        assert "OwnMetric" in found.metrics
    assert "not today" in info(found, "moody").problems[0]


def test_a_name_that_is_taken_is_left_out_and_both_owners_are_named(plugin):
    found = plugins.load_plugins(entry_points=[plugin(METRIC.format(name="NDCG"), "late")])

    with pytest.warns(PluginWarning, match=r"metric 'NDCG' of plugin 'late' of own-.*'bridgeval.metrics' of bridgeval"):
        assert found.metrics["nDCG"] is bridgeval.metrics.nDCG
    assert "NDCG" not in found.metrics


def test_no_plugin_takes_a_name_of_a_built_in_by_its_order(plugin):
    source = METRIC.format(name="NDCG").replace("@bridgeval.hookimpl", "@bridgeval.hookimpl(trylast=True)")
    found = plugins.load_plugins(entry_points=[plugin(source, "last")])

    with pytest.warns(PluginWarning, match=r"metric 'NDCG' of plugin 'last'"):
        assert found.metrics["nDCG"] is bridgeval.metrics.nDCG


def test_a_loader_that_fails_to_recognize_is_reported_and_the_rest_goes_on(plugin):
    source = LOADER.format(name="moody").replace("return isinstance(recommendations, dict)", "raise KeyError('mood')")
    found = plugins.load_plugins(entry_points=[plugin(source)])

    with pytest.warns(
        PluginWarning, match=r"'own' of own-package 1.0 failed in recognizes of its loader 'moody'.*mood"
    ):
        assert choose_loader(found, {}, {}).name == "mapping"


def test_two_loaders_of_one_name_are_reported_and_the_first_stays(plugin):
    found = plugins.load_plugins(entry_points=[plugin(LOADER.format(name="mapping"), "late")])

    with pytest.warns(PluginWarning, match=r"loader 'mapping' of plugin 'late'.*bridgeval\.toolkits\.mapping"):
        assert type(found.loaders["mapping"]).__name__ == "MappingLoader"


def test_two_plugins_of_one_name_leave_the_first_in_place(plugin):
    points = [
        plugin(METRIC.format(name="First"), "same", "one 1.0"),
        plugin(METRIC.format(name="Second"), "same", "two 1.0"),
    ]
    with pytest.warns(PluginWarning, match="'same' of two 1.0 failed in its import.*another plugin"):
        found = plugins.load_plugins(entry_points=points)

    assert "First" in found.metrics
    assert "Second" not in found.metrics


def test_two_loaders_that_fit_are_an_error_that_names_both(plugin):
    found = plugins.load_plugins(entry_points=[plugin(LOADER.format(name="greedy"))])

    with pytest.raises(AmbiguousLoaderError, match=r"mapping, greedy.*loader='mapping'"):
        choose_loader(found, {}, {})
    assert choose_loader(found, {}, {}, "greedy").name == "greedy"


def test_no_loader_that_fits_is_an_error_that_lists_them():
    with pytest.raises(NoLoaderError, match=r"object and object.*mapping"):
        choose_loader(plugins.installed(), object(), object())


@pytest.mark.parametrize("off", ["own", "all", "other, own"])
def test_plugins_can_be_switched_off(plugin, off):
    found = plugins.load_plugins(off.split(","), entry_points=[plugin("raise SystemExit('imported all the same')")])

    assert info(found, "own").state == "switched off"
    assert "nDCG" in found.metrics


@pytest.fixture(scope="module")
def installed_at(tmp_path_factory) -> Path:
    """A folder with the packages of `plugins/` installed in it, so that the environment stays as it is."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    packages = sorted(str(path.parent) for path in ROOT.glob("plugins/*/pyproject.toml"))
    subprocess.run([*command, "--no-deps", "--no-build-isolation", "--target", str(target), *packages], check=True)
    return target


@pytest.fixture
def on_path(installed_at, monkeypatch):
    before = set(sys.modules)
    monkeypatch.syspath_prepend(installed_at)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("bridgeval_"):
            del sys.modules[name]


@pytest.mark.usefixtures("on_path")
def test_an_installed_package_is_found_by_its_entry_point():
    found = plugins.load_plugins()

    assert info(found, "hello").distribution == "bridgeval-hello 0.1.0"
    (metric,) = bridgeval.parse("FirstHitPlace@3", plugins=found)
    assert bridgeval.evaluate({1: ["a", "b", "c"]}, {1: ["c"]}, metric)["FirstHitPlace@3"] == 3.0
    assert {"jsonlines", "recbole"} <= found.loaders.keys()
    assert found.readers["recbole"].suffixes == (".inter", ".item", ".user")
    assert info(found, "recbole").problems == []


@pytest.mark.usefixtures("on_path")
def test_the_variable_switches_an_installed_package_off(monkeypatch):
    monkeypatch.setenv(DISABLE, "hello")
    plugins._installed.cache_clear()
    try:
        assert info(plugins.installed(), "hello").state == "switched off"
        with pytest.raises(UnknownMetricError, match=r"hello.* is switched off"):
            bridgeval.parse("FirstHitPlace@3")
    finally:
        plugins._installed.cache_clear()


def test_every_hook_has_a_heading_with_its_signature():
    headings = re.findall(r"^### `(.+)`$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    tree = ast.parse(inspect.getsource(hookspecs))
    hooks = [node for node in tree.body if isinstance(node, ast.FunctionDef)]

    assert headings == [
        f"{hook.name}({ast.unparse(hook.args)}) -> {ast.unparse(hook.returns)}" for hook in hooks if hook.returns
    ]


def test_the_plugin_of_the_tutorial_is_found_and_passes_its_tests(plugin, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "tutorials" / "plugin.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|py)\n(.*?)^```", page, re.M | re.S)
    module = "\n".join(text for kind, text in blocks if kind == "python" and ">>>" not in text)
    (tests,) = (text for kind, text in blocks if kind == "py")
    distribution, point = plugin(module, "radio")
    found = plugins.load_plugins(entry_points=[(distribution, point)])
    found.look_up_all()
    radio = info(found, "radio")
    assert radio.problems == []
    assert radio.offers == {"metrics": ["Surprise"], "loaders": ["radio"], "conventions": ["radio"]}
    monkeypatch.setattr(plugins, "installed", lambda: found)
    monkeypatch.setitem(sys.modules, "bridgeval_radio", sys.modules[point.value])
    names = {}
    exec(compile(tests, "test_bridgeval_radio.py", "exec"), names)
    names["test_the_metric_keeps_the_laws"]()
    names["test_the_loader_keeps_the_laws"](tmp_path)
    names["test_the_convention_divides_by_the_songs_shown"](tmp_path)


@pytest.mark.parametrize("file", ["bridgeval_hello.py", "pyproject.toml", "test_bridgeval_hello.py"])
def test_the_tutorial_shows_the_package_as_it_is(file):
    text = DOCUMENT.read_text(encoding="utf-8")
    assert (ROOT / "plugins" / "bridgeval-hello" / file).read_text(encoding="utf-8") in text


def test_the_loader_in_the_document_is_the_protocol():
    text = DOCUMENT.read_text(encoding="utf-8")
    for method in ("recognizes", "load"):
        signature = str(inspect.signature(getattr(hookspecs.Loader, method))).replace("'", "")
        assert f"def {method}{signature}: ..." in text
