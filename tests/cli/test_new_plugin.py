"""`bridgeval new-plugin`: a package that is whole or absent, passes its own tests, and is found by its entry point."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from bridgeval.cli import new_plugin
from bridgeval.cli.new_plugin import write_plugin
from bridgeval.errors import ConfigError
from tests.cli.conftest import Run
from tests.test_house import DOORS


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_plugin("two-towers", tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def python(package: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of a fresh environment that has the package, built from its pyproject.toml.

    Nothing is downloaded: bridgeval, its dependencies and the build tools are those of this environment.
    """
    fresh = tmp_path_factory.mktemp("fresh")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", fresh], check=True)
    interpreter = str(fresh / "bin" / "python")
    site = sysconfig.get_path("purelib", vars={"base": str(fresh), "platbase": str(fresh)})
    ours = sysconfig.get_path("purelib")
    (Path(site) / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, *offline, package], check=True, env={**os.environ, "PIP_NO_CACHE_DIR": "1"})
    return interpreter


def test_it_is_found_by_its_entry_point_in_a_fresh_environment(python: str, tmp_path: Path) -> None:
    answer = subprocess.run(
        [python, "-m", "bridgeval", "plugins", "--json"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    (found,) = (one for one in json.loads(answer.stdout) if one["name"] == "two-towers")
    assert (found["package"], found["version"], found["problems"]) == ("bridgeval-two-towers", "0.1.0", [])
    assert found["offers"] == {
        "metrics": ["TwoTowersGain"],
        "loaders": ["two-towers"],
        "conventions": ["two-towers"],
        "commands": ["two-towers"],
        "sinks": ["two-towers"],
    }


def test_it_passes_its_own_tests_at_once(python: str, package: Path) -> None:
    # Its own package is the installed one: the tests do not see the folder that they lie in.
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "--import-mode=importlib", "tests"],
        cwd=package,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "7 passed" in ran.stdout


def test_it_imports_nothing_but_the_public_doors(package: Path) -> None:
    imported = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                imported.add(str(node.module))
    ours = {module for module in imported if module.partition(".")[0] == "bridgeval"}
    assert (
        {"bridgeval", "bridgeval.plugin", "bridgeval.metrics", "bridgeval.errors", "bridgeval.testing"} == ours <= DOORS
    )


@pytest.mark.parametrize(
    ("name", "into", "words"),
    [
        ("two-towers", ".", "bridgeval-two-towers is there already"),
        ("bridgeval-two-towers", ".", "bridgeval-two-towers is there already"),
        ("replay", ".", "the name 'replay' is taken; found: one of the conventions of plugin"),
        ("evaluate", ".", "the name 'evaluate' is taken"),
        ("My Towers", ".", "take small letters, digits and hyphens, e.g. my-towers"),
        ("towers", "nowhere", "there is no folder to put the package into"),
    ],
)
def test_a_name_or_a_place_that_is_taken_is_refused(package: Path, name: str, into: str, words: str) -> None:
    written = {path: path.read_bytes() for path in package.parent.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError, match=words):
        write_plugin(name, package.parent / into)
    assert {path: path.read_bytes() for path in package.parent.rglob("*") if path.is_file()} == written


def test_the_command_says_what_to_do_next(run: Run, folder: Path) -> None:
    assert "pytest bridgeval-acme" in run("new-plugin", "acme").stdout
    assert (folder / "bridgeval-acme" / "pyproject.toml").exists()
    refused = run("new-plugin", "acme")
    assert (refused.returncode, "bridgeval-acme is there already" in refused.stderr) == (2, True)


def test_nothing_is_left_of_a_package_that_could_not_be_written_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file where a folder must be: the last of the files cannot be written.
    monkeypatch.setattr(new_plugin, "FILES", {**new_plugin.FILES, "README.md/more.md": "README.md"})
    with pytest.raises(ConfigError, match="bridgeval-towers cannot be written"):
        write_plugin("towers", tmp_path)
    assert list(tmp_path.iterdir()) == []
