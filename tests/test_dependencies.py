"""What is imported is declared, and what is declared is imported: of the package and of the plugins."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Distribution -> the module that it is imported as, where that is another name.
MODULES = {"pyyaml": "yaml", "scikit-learn": "sklearn", "xgboost-cpu": "xgboost"}
# Needed at run time by what is imported, and never imported by us.
UNSEEN = {
    "aiohttp": "fsspec reads http with it",
    "datasets": "recognized by what its objects have",
    "duckdb": "recognized by what its objects have",
    "polars": "recognized by what its objects have",
    "tensorboard": "torch.utils.tensorboard writes with it",
}
# Imported where they are installed, named by an extra of nobody: their absence is handled where they are imported.
OPTIONAL = {"pytest", "narwhals", "pytorch_lightning"}


def read_imports(folder: Path) -> dict[str, set[str]]:
    """Module that is imported -> files; only the first part of its name."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        if "tests" in path.relative_to(folder).parts or path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                found.setdefault(name.partition(".")[0], set()).add(str(path.relative_to(ROOT)))
    return {name: files for name, files in found.items() if name not in sys.stdlib_module_names}


def read_declared(requirements: list[str]) -> set[str]:
    names = {re.match(r"[A-Za-z0-9._-]+", one)[0].lower() for one in requirements}  # type: ignore[index]
    return {MODULES.get(name, name).replace("-", "_") for name in names}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What tests, documents and benchmarks use is no matter of the package.
OF_USERS = [one for name, extra in EXTRAS.items() if name not in ("dev", "docs") for one in extra]


def test_every_import_of_the_package_is_declared():
    declared = read_declared([*PROJECT["dependencies"], *OF_USERS]) | {"bridgeval", *OPTIONAL}
    undeclared = {name: files for name, files in read_imports(ROOT / "bridgeval").items() if name not in declared}
    assert undeclared == {}


def test_every_dependency_of_the_package_is_imported():
    imported = set(read_imports(ROOT / "bridgeval"))
    assert read_declared(PROJECT["dependencies"]) - imported == set()
    extras = [one for name, extra in EXTRAS.items() if name not in ("dev", "docs", "integrations") for one in extra]
    assert read_declared(extras) - imported - {"bridgeval"} - set(UNSEEN) == set()


@pytest.mark.parametrize("plugin", sorted(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir()))
def test_a_plugin_declares_what_it_imports_and_imports_what_it_declares(plugin):
    folder = ROOT / "plugins" / plugin
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}
    imported = set(read_imports(folder)) - own
    extras = [one for extra in project.get("optional-dependencies", {}).values() for one in extra]
    assert imported - read_declared([*project["dependencies"], *extras]) == set()
    assert read_declared(project["dependencies"]) - imported == set()
