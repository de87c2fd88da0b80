"""Faults that authors make, planted one by one: which law tells of each, and in which words."""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bridgeval.testing import check_loader, check_metric, world
from tests.testing.planted_fault import NOT_CAUGHT, Fault
from tests.testing.planted_loaders import LOADER_FAULTS, EagerList, Lazy, Own, Wrapped, Written, WrittenList
from tests.testing.planted_metrics import METRIC_FAULTS, Counting, K, Sound

PAGE = Path(__file__).parents[2] / "docs" / "laws.md"


def check_planted_loader(planted: Any) -> None:
    # A copy: some faults write to it.
    data = world(fractions=True)
    small = deepcopy(data)
    check_loader(planted, Wrapped(small.recommendations), small.relevance, world=data, **small.extras)


def check_planted_reader(planted: Any) -> None:
    small = world(fractions=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lists.json")
        path.write_text(json.dumps(list(small.recommendations.items())))
        shown = WrittenList([path]) if isinstance(planted, EagerList) else Written(path)
        check_loader(planted, shown, small.relevance, world=small, **small.extras)
        assert path.exists()


@pytest.fixture(autouse=True)
def _leave_the_process_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some faults change the process."""
    monkeypatch.setenv("PLANTED", "")
    python, numpy, ours = random.getstate(), np.random.get_state(), torch.get_rng_state()
    monkeypatch.chdir(os.getcwd())
    with warnings.catch_warnings(), torch.enable_grad():
        yield
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(ours)


def test_what_is_planted_in_is_sound() -> None:
    check_metric(Sound(K))
    check_metric(Counting())
    check_planted_loader(Own())
    check_planted_reader(Lazy())


CASES = [
    *((check_metric, fault) for fault in METRIC_FAULTS),
    *((check_planted_reader if isinstance(one.planted, Lazy) else check_planted_loader, one) for one in LOADER_FAULTS),
]


@pytest.mark.parametrize(("check", "fault"), [pytest.param(*case, id=case[1].what) for case in CASES])
def test_a_planted_fault_is_told_by_its_law(check: Any, fault: Fault) -> None:
    if fault.law == NOT_CAUGHT:
        check(fault.planted)
        return
    with pytest.raises(AssertionError) as caught:
        check(fault.planted)
    assert re.search(f"breaks the law that ({fault.law}).*: .*({fault.phrase})", str(caught.value), re.DOTALL)


def test_the_page_names_the_faults_that_no_law_catches() -> None:
    section = PAGE.read_text(encoding="utf-8").split("## Not caught")[1]
    listed = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert listed == [fault.what for _, fault in CASES if fault.law == NOT_CAUGHT]


@pytest.mark.parametrize(("faults", "number", "caught"), [(METRIC_FAULTS, 60, 57), (LOADER_FAULTS, 25, 23)])
def test_nearly_all_of_many_faults_are_caught(faults: list[Fault], number: int, caught: int) -> None:
    assert len(faults) == len({fault.what for fault in faults}) >= number
    assert sum(fault.law != NOT_CAUGHT for fault in faults) >= len(faults) * caught / number
