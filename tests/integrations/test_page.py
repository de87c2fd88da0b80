"""Every example of docs/integrations.md and docs/gpu.md runs with the real packages."""

from __future__ import annotations

import re

import pytest

from tests.test_docs import ROOT, run_examples

EXAMPLE = re.compile(r"^```python(?: integration)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.integration
@pytest.mark.parametrize(("name", "least"), [("integrations.md", 4), ("gpu.md", 1)])
def test_all_examples_of_the_page_run(name, least, tmp_path, monkeypatch):
    page = ROOT / "docs" / name
    assert page.read_text(encoding="utf-8").count("```python integration\n") >= least
    run_examples(page, tmp_path, monkeypatch, EXAMPLE)
