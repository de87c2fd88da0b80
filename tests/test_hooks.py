"""Each hook by its name: what a plugin offers is used, and what fails breaks nothing else."""

from __future__ import annotations

import json

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.errors import BadParameterError, PluginFailedError, PluginWarning
from bridgeval.loading import choose_reader
from tests.test_plugins import info, plugin  # noqa: F401  (a fixture)

SHOWN, RELEVANT = {"ann": ["tea", "rum"], "bob": ["gin", "tea"]}, {"ann": ["rum"], "bob": ["ale"]}


@pytest.fixture
def install(plugin, monkeypatch):  # noqa: F811
    """Makes a plugin of some source the only one that is installed."""

    def make(source: str, **named: str) -> plugins.Plugins:
        found = plugins.load_plugins(entry_points=[plugin("from bridgeval.plugin import *\n" + source, **named)])
        monkeypatch.setattr(plugins, "installed", lambda: found)
        return found

    return make


def test_bridgeval_metrics(install):
    install(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Length(ListMetric):\n"
        "    name = 'Length'\n"
        "    def value(self, slate): return len(slate.items)\n"
        "@hookimpl\ndef bridgeval_metrics(): return [Length]"
    )
    assert bridgeval.evaluate(SHOWN, RELEVANT, "Length")["Length"] == 2.0


def test_bridgeval_loaders(install):
    install(
        "class Pairs(TypedLoader):\n"
        "    name, reads = 'pairs', ((tuple, tuple),)\n"
        "    def load(self, shown, relevant, /, **extras): return make_source(dict(shown), dict(relevant), **extras)\n"
        "@hookimpl\ndef bridgeval_loaders(): return [Pairs()]"
    )
    report = bridgeval.evaluate(tuple(SHOWN.items()), tuple(RELEVANT.items()), "Recall@2")
    assert (report["Recall@2"], report.loader) == (0.5, "pairs")


def test_bridgeval_conventions(install):
    install(
        "from bridgeval.metrics import Precision\n"
        "@hookimpl\ndef bridgeval_conventions(): return [Convention('house', {'P': entry(Precision)})]"
    )
    # One of two places is right for ann, none for bob.
    assert bridgeval.evaluate(SHOWN, RELEVANT, "house:P@2")["house:P@2"] == 0.25


READER = """
class Colons:
    name, suffixes = "colons", (".colons",)
    def read(self, path, role, /, **options):
        with open(path) as file:
            pairs = [line.strip().split(":") for line in file]
        return {user: items.split(" ") for user, items in pairs}
@hookimpl
def bridgeval_readers(): return [Colons()]
"""


@pytest.fixture
def colons(tmp_path):
    (tmp_path / "shown.colons").write_text("ann:tea rum\nbob:gin tea\n")
    (tmp_path / "relevant.colons").write_text("ann:rum\nbob:ale\n")
    return tmp_path


def test_bridgeval_readers(install, colons):
    install(READER)
    shown, relevant = str(colons / "shown.colons"), str(colons / "relevant.colons")
    assert bridgeval.evaluate(shown, relevant, "Recall@2")["Recall@2"] == 0.5
    assert bridgeval.inspect(shown, relevant, "Recall@2").value == 0.5


def test_a_reader_is_used_by_the_command_too(install, colons, monkeypatch, capsys):
    from bridgeval.cli import program

    install(READER)
    monkeypatch.chdir(colons)
    program.main(["evaluate", "shown.colons", "relevant.colons", "-m", "Recall@2"], standalone_mode=False)
    assert "0.5000" in capsys.readouterr().out


def test_no_reader_takes_a_suffix_of_a_built_in(install):
    found = install(READER.replace('".colons"', '".colons", ".csv"'))
    with pytest.warns(PluginWarning, match=r"reader 'colons' of plugin 'own'.* \.csv files are read by 'table'"):
        assert choose_reader(found, "a.csv").name == "table"


def test_a_reader_that_fails_is_named(install, colons):
    install(READER.replace("with open", "raise ZeroDivisionError('no')\n        with open"))
    with pytest.raises(PluginFailedError, match=r"'own' of own-package 1\.0 failed in reader 'colons'.*ZeroDivision"):
        bridgeval.evaluate(str(colons / "shown.colons"), RELEVANT, "Recall@2")


SINK = """
class Memory:
    name = "memory"
    written = []
    def write(self, results, /, run="", **options):
        self.written.append((run, {name: dict(report) for name, report in results.systems.items()}))
@hookimpl
def bridgeval_sinks(): return [Memory()]
"""


def test_bridgeval_sinks(install):
    sink = install(SINK).sinks["memory"]
    report = bridgeval.evaluate(SHOWN, RELEVANT, "Recall@2")
    report.log("memory", run="one")
    bridgeval.Reports({"a": report}).log("memory")
    bridgeval.compare({"a": SHOWN, "b": SHOWN}, RELEVANT, "Recall@2").log("memory", run="compared")
    numbers = {"Recall@2": 0.5}
    assert sink.written == [("one", {"": numbers}), ("", {"a": numbers}), ("compared", {"a": numbers, "b": numbers})]


def test_a_sink_that_is_not_there_or_gets_a_wrong_option_is_an_error_that_says_so(install, tmp_path):
    install(SINK.replace(', run="", **options', ', run=""'))
    report = bridgeval.evaluate(SHOWN, RELEVANT, "Recall@2")
    with pytest.raises(BadParameterError, match=r"no sink 'memori'; found: sinks .*jsonl, memory"):
        report.log("memori")
    with pytest.raises(BadParameterError, match=r"'memory' cannot be given these options.*'rum'.*it takes run"):
        report.log("memory", rum="one")
    with pytest.raises(bridgeval.errors.ConfigError, match="cannot be written"):
        report.log("jsonl", path=tmp_path / "no folder" / "runs.jsonl")


def test_the_command_logs_to_a_sink(tmp_path, monkeypatch):
    from bridgeval.cli import program

    monkeypatch.chdir(tmp_path)
    (tmp_path / "recs.csv").write_text("user,item,score\nann,tea,1\nann,rum,0.5\n")
    (tmp_path / "truth.csv").write_text("user,item\nann,rum\n")
    asked = ["evaluate", "recs.csv", "truth.csv", "-m", "MRR@2", "--log", "jsonl:path=runs.jsonl,run=7"]
    program.main(asked, standalone_mode=False)
    line = json.loads((tmp_path / "runs.jsonl").read_text())
    assert (line["run"], line["system"], line["metrics"], line["users"]) == ("7", "recs", {"MRR@2": 0.5}, 1)
    with pytest.raises(BadParameterError, match="no sink 'nowhere'"):
        program.main([*asked[:-1], "nowhere"], standalone_mode=False)


COMMAND = """
import click
@click.command()
@click.argument("name")
def greet(name):
    if name == "nobody": raise LookupError(name)
    click.echo(f"hello {name}")
@hookimpl
def bridgeval_commands(): return [greet, LazyCommand("later", "json:no_such_command")]
"""


def test_bridgeval_commands(install, capsys):
    from bridgeval.cli import COMMANDS, program

    found = install(COMMAND)
    assert {"merge", "identify", "librec", "spark", *COMMANDS} < set(found.commands)
    program.main(["greet", "ann"], standalone_mode=False)
    assert capsys.readouterr().out == "hello ann\n"
    for asked in (["greet", "nobody"], ["later"]):
        with pytest.raises(PluginFailedError, match=f"'own' of own-package 1.0 failed in the command '{asked[0]}'"):
            program.main(asked, standalone_mode=False)


def test_no_command_replaces_a_built_in(install, capsys):
    from bridgeval.cli import program

    found = install(COMMAND.replace("def greet", "def evaluate").replace("[greet", "[evaluate"))
    with pytest.warns(PluginWarning, match="command 'evaluate' of plugin 'own'.*the name is taken"):
        assert found.commands["evaluate"].target == "bridgeval.cli.evaluate:evaluate"
    program.main(["evaluate", "--help"], standalone_mode=False)
    assert "Evaluate recommendations" in capsys.readouterr().out


def test_bridgeval_report_sections(install):
    install(
        "from markupsafe import Markup\n"
        "def shop(data): return Section('shop', 'From the shop', Markup('<p>open</p>'))\n"
        "def nothing(data): return None\n"
        "def broken(data): return data.no_such_thing\n"
        "def text(data): return 'text'\n"
        "@hookimpl\ndef bridgeval_report_sections(): return [shop, nothing, broken, text]"
    )
    report = bridgeval.evaluate(SHOWN, RELEVANT, "Recall@2")
    with pytest.warns(PluginWarning) as warned:
        page = report.to_html()
    places = [page.index(title) for title in (">Results<", "From the shop", ">Definitions<")]
    assert places == sorted(places)
    assert ["'broken'" in str(warned[0].message), "'text' is no Section" in str(warned[1].message)] == [True, True]


def test_bridgeval_checks(install):
    install(
        "def check_shop(look):\n"
        "    yield Finding('shop', 'note', f'{look.headline} is {look.value}', count=look.users['in both'])\n"
        "def check_badly(look): yield look.no_such_thing\n"
        "@hookimpl\ndef bridgeval_checks(): return [check_shop, check_badly]"
    )
    with pytest.warns(PluginWarning, match="check 'check_badly'.*no_such_thing"):
        found = bridgeval.inspect(SHOWN, RELEVANT, "Recall@2")
    assert (found["shop"].what, found["shop"].count) == ("Recall@2 is 0.5", 2)


def test_every_hook_has_a_test_of_its_name():
    assert {f"test_{hook}" for hook in plugins.BUILTIN} <= set(globals())


def test_a_hook_of_a_newer_version_is_ignored_and_listed(install):
    found = install("@hookimpl\ndef bridgeval_dashboards(port): return []\n" + SINK)
    assert info(found, "own").ignored == ["bridgeval_dashboards"]
    assert info(found, "own").problems == []
    assert "memory" in found.sinks


def test_a_misspelled_hook_is_told(install):
    with pytest.warns(PluginWarning, match=r"bridgeval_metricks, which is no hook.* mean bridgeval_metrics"):
        install("@hookimpl\ndef bridgeval_metricks(): return []")
