from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from torch import Tensor

import bridgeval
from bridgeval.engine.blocks import Blocks, Ranked
from bridgeval.engine.metric import TopKMetric

HOSTILE = '"><img onerror=alert(1) src=x>'
SCRIPT = "<script>alert(document.title)</script>"
TRUTH = {"ann": ["rum"], "bob": ["tea", "bun"], SCRIPT: ["gin"]}
FIRST = {"ann": ["tea", "rum"], "bob": ["gin", "tea"], SCRIPT: ["rum", "ale"]}
SECOND = {"ann": ["rum", "tea"], "bob": ["bun", "tea"]}
HISTORY = {"ann": [HOSTILE, "ale"], "bob": ["ale"]}


@dataclass(frozen=True)
class Letters(TopKMetric):
    """A stand-in for novelty: the share of the first k places that are filled."""

    name = "Letters"
    family = "novelty"
    higher_is_better = False

    def values(self, blocks: Blocks) -> Tensor:
        return blocks[Ranked(self.ranking)].valid[:, : self.k].double().mean(1)


@pytest.fixture(scope="session")
def reports() -> bridgeval.Reports:
    asked = ["MRR@1,2", "Recall@2", "rectools:NDCG@2", Letters(2)]
    systems = {"first": FIRST, HOSTILE: SECOND}
    return bridgeval.Reports(
        {name: bridgeval.evaluate(lists, TRUTH, asked, per_user=True) for name, lists in systems.items()}
    )


@pytest.fixture(scope="session")
def examples() -> bridgeval.Examples:
    return bridgeval.find_examples({"first": FIRST, HOSTILE: SECOND}, TRUTH, "MRR@2", history=HISTORY)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium; without it the test is skipped."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs `pip install playwright`")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("needs Chromium, e.g. `apt-get install chromium`")
    with sync_api.sync_playwright() as driver:
        # Chromium refuses its sandbox to root, as which containers run tests.
        opened = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"] if os.getuid() == 0 else [])
        yield opened
        opened.close()
