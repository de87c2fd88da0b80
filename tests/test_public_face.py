"""The names that `import bridgeval` gives, and the modules that it imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bridgeval


def loaded_after(code: str) -> set[str]:
    """Modules in a fresh interpreter after running some code."""
    script = f"{code}\nimport sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_is_light():
    heavy = {"torch", "pandas", "pyarrow", "pyspark", "numpy", "polars", "scipy", "matplotlib", "pydantic"}
    assert not heavy & loaded_after("import bridgeval")


def test_evaluating_mappings_imports_no_library_that_is_not_used():
    used = loaded_after("import bridgeval; bridgeval.evaluate({1: ['a']}, {1: ['a']}, 'Recall@1')")
    assert not {"polars", "pyspark", "matplotlib", "pydantic"} & used


def test_evaluating_frames_imports_neither_statistics_nor_charts():
    code = (
        "import pandas as pd, bridgeval; recs = pd.DataFrame({'user_id': [1, 1], 'item_id': ['a', 'b']});"
        "str(bridgeval.evaluate(recs, recs[:1], ['nDCG@2', 'Recall@2'], per_user=True))"
    )
    # 0.6 s and 0.3 s of a user's time.
    assert not {"scipy.stats", "matplotlib", "jinja2"} & loaded_after(code)


def test_exports_are_exact_and_importable():
    for name in bridgeval.__all__:
        assert getattr(bridgeval, name) is not None
    assert set(dir(bridgeval)) == set(bridgeval.__all__)


def test_type_checkers_see_the_same_names_from_the_same_modules():
    tree = ast.parse(Path(bridgeval.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.asname: node.module for node in block.body for alias in node.names}
    assert seen == bridgeval._HOMES | dict.fromkeys(bridgeval._MODULES, "bridgeval")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nosuch"):
        _ = bridgeval.nosuch


def test_evaluate_stays_a_function_whatever_is_imported_first():
    code = "from bridgeval.evaluation import evaluate; import bridgeval; assert bridgeval.evaluate is evaluate"
    subprocess.run([sys.executable, "-c", code], check=True)
