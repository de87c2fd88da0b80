"""The wheel in a fresh environment: the README's first screen and its commands. `make wheel` builds and runs it."""

from __future__ import annotations

import doctest
import os
import shlex
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from pathlib import Path

import pytest

from tests.cli.test_readme import read_commands

pytestmark = pytest.mark.install
ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
# Paths and settings of the checkout must not reach the fresh environment.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BRIDGEVAL", "VIRTUAL"))}


def find_one(pattern):
    (found,) = (ROOT / "dist").glob(pattern)
    return found


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """An environment with the wheel and what it depends on, and an empty folder; prints how long it took."""
    place = tmp_path_factory.mktemp("fresh")
    started = time.monotonic()
    venv.create(place / "env", with_pip=True)
    pip = [place / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    # torch is pinned first, so that its CPU build is taken where one is offered.
    for what in ("torch==2.13.0", find_one("*.whl")):
        subprocess.run([*pip, what], check=True, env=CLEAN, cwd=place)
    print(f"\ninstalled in {time.monotonic() - started:.0f} s", file=sys.stderr)
    packages = next((place / "env" / "lib").glob("python*")) / "site-packages"
    sizes = {name: measure(packages / name) for name in ("", "torch", "bridgeval")}
    print(", ".join(f"{name or 'all'} {size / 1e6:,.0f} MB" for name, size in sizes.items()), file=sys.stderr)
    return place


def measure(folder):
    """The bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def run(fresh, *command):
    started = time.monotonic()
    binary = fresh / "env" / "bin" / command[0]
    done = subprocess.run([binary, *command[1:]], cwd=fresh, env=CLEAN, capture_output=True, text=True, check=False)
    print(f"{' '.join(command)[:60]}: {time.monotonic() - started:.2f} s", file=sys.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_the_package_alone_and_all_of_it():
    with zipfile.ZipFile(find_one("*.whl")) as wheel:
        names = set(wheel.namelist())
    package = {str(path.relative_to(ROOT)) for path in (ROOT / "bridgeval").rglob("*") if path.is_file()}
    package = {name for name in package if "__pycache__" not in name}
    assert package <= names
    assert {name.split("/")[0] for name in names - package} == {"bridgeval-0.1.0.dist-info"}


def test_the_source_distribution_can_be_built_from():
    with tarfile.open(find_one("*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "bridgeval/__init__.py", "bridgeval/py.typed"} <= names
    assert not {name for name in names if name.startswith((".venv", ".envs", "dist"))}


def test_the_first_screen_prints_what_the_readme_shows(fresh):
    (fresh / "README.md").write_text(README, encoding="utf-8")
    flags = "doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS"
    code = f"import doctest, sys; sys.exit(doctest.testfile('README.md', False, optionflags={flags})[0])"
    run(fresh, "python", "-c", code)


def test_the_commands_of_the_readme_print_what_it_shows(fresh):
    commands = read_commands(README)
    assert len(commands) == 3
    for command, shown in commands:
        printed = run(fresh, *shlex.split(command))
        assert doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert (fresh / "shop" / "report.html").stat().st_size > 10_000


def test_the_version_is_the_one_of_the_package(fresh):
    assert run(fresh, "bridgeval", "--version") == "bridgeval 0.1.0\n"
