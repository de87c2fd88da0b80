"""`pytest --bridgeval-plugin` in a pytest of its own, on a plugin that is found by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridgeval.testing.loader_laws import LOADER_LAWS
from bridgeval.testing.metric_laws import METRIC_LAWS

PLUGIN = """
import json
from dataclasses import dataclass
from bridgeval.metrics import Precision
from bridgeval.plugin import Convention, DeferredSource, ListMetric, TypedLoader, entry, hookimpl
from bridgeval.plugin import list_offers, make_source

@dataclass(frozen=True)
class Length(ListMetric):
    name = "AcmeLength"

    def value(self, slate):
        return float(len(slate.items))

@dataclass(frozen=True)
class Drifting(Length):
    name = "AcmeDrifting"
    calls = []

    def value(self, slate):
        self.calls.append(1)
        return float(len(self.calls))

class Lists:
    def __init__(self, path):
        self.path = path

    def read(self):
        with open(self.path) as file:
            return {user: [tuple(pair) for pair in pairs] for user, pairs in json.load(file)}

class Loader(TypedLoader):
    name, reads = "acme", ((Lists, dict),)

    def load(self, shown, relevance, /, **extras):
        offers = list_offers({}, **extras) | {"score"}
        return DeferredSource(offers, lambda needs: make_source(shown.read(), relevance, **extras))

@hookimpl
def bridgeval_metrics(): return [Length, Drifting]

@hookimpl
def bridgeval_loaders(): return [Loader()]

@hookimpl
def bridgeval_conventions(): return [Convention("acme", {"P": entry(Precision)})]
"""
CONFTEST = """
import json
from acme_plugin import Lists
from bridgeval.testing import world

def pytest_bridgeval_loader(loader, folder):
    data, path = world(), folder / "lists.json"
    path.write_text(json.dumps(list(data.recommendations.items())))
    return {"recommendations": Lists(path), "relevance": data.relevance, "world": data, **data.extras}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a test and a conftest, beside an installed package."""
    site = tmp_path / "site"
    (site / "acme-1.0.dist-info").mkdir(parents=True)
    (site / "acme-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (site / "acme-1.0.dist-info" / "entry_points.txt").write_text("[bridgeval]\nacme = acme_plugin\n")
    (site / "acme_plugin.py").write_text(PLUGIN)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_own.py").write_text("def test_own(): pass\n")
    return folder


def run(project: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "--strict-markers", "-W", "error", "-p", "no:cacheprovider", *options]
    paths = os.pathsep.join([str(project.parent / "site"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_law_is_a_test_beside_those_of_the_folder(project):
    (project / "conftest.py").write_text(CONFTEST)
    code, printed = run(project, "--bridgeval-plugin", "acme", "-rA")
    assert code == 1
    for law in METRIC_LAWS:
        assert f"PASSED bridgeval-plugin acme::AcmeLength: {law.name}\n" in printed
    for law in LOADER_LAWS:
        assert f"PASSED bridgeval-plugin acme::loader 'acme': {law.name}\n" in printed
    assert "PASSED bridgeval-plugin acme::convention 'acme': every name answers\n" in printed
    assert "PASSED test_own.py::test_own" in printed
    assert "FAILED bridgeval-plugin acme::AcmeDrifting: it answers alike for the same data" in printed
    assert "AcmeDrifting breaks the law that it answers alike for the same data: evaluated again: value" in printed
    # A broken law prints its message alone.
    assert "Traceback" not in printed
    assert "def runtest" not in printed


def test_the_marker_selects_a_loader_without_data_is_skipped_aloud_and_a_metric_can_be_named(project):
    chosen = ("-m", "bridgeval_laws", "-k", "loader or (acme:P and pickles)")
    code, printed = run(project, "--bridgeval-plugin", "acme", "--bridgeval-metric", "acme:P@3", *chosen, "-rA")
    assert code == 0, printed
    assert "PASSED bridgeval-plugin acme::acme:P@3: it pickles\n" in printed
    assert "3 passed, 1 skipped" in printed
    assert "define pytest_bridgeval_loader in conftest.py" in printed


def test_a_plugin_that_is_not_there_is_a_usage_error(project):
    code, printed = run(project, "--bridgeval-plugin", "acne")
    assert (code, "no plugin is called 'acne'; found: " in printed) == (4, True), printed
