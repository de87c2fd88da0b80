"""Every example of docs/integrations.md runs with the real packages."""

from __future__ import annotations

import re

import pytest

from tests.test_docs import ROOT, run_examples

EXAMPLE = re.compile(r"^```python(?: integration)?\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.integration
def test_all_examples_of_the_page_run(tmp_path, monkeypatch):
    page = ROOT / "docs" / "integrations.md"
    assert page.read_text(encoding="utf-8").count("```python integration\n") >= 4
    run_examples(page, tmp_path, monkeypatch, EXAMPLE)
