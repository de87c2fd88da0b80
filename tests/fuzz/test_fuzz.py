"""The first cases of every target; `make fuzz` makes many more."""

from __future__ import annotations

import pytest

from tests.fuzz import calls, faults, harness, interruptions, laws, names, own_files, readers, streams  # noqa: F401

# Cases that take longer have fewer.
FEW = {"studies": 3, "shrinking": 3, "threads": 3, "laws": 6, "forks": 3, "disks": 6, "spawns": 3, "histories": 6}


@pytest.mark.parametrize("name", list(harness.TARGETS))
def test_no_hostile_case_gets_through(name):
    found = {f"{name}:{number}": harness.run_case(name, number) for number in range(FEW.get(name, 15))}
    assert {seed: failure for seed, failure in found.items() if failure} == {}


def test_a_failure_is_found_and_told_with_its_seed(monkeypatch, capsys):
    monkeypatch.setitem(harness.TARGETS, "broken", lambda rng, folder: 1 // 0)
    harness.run_child(["broken"], 7, 8)
    assert "failed broken:7 ZeroDivisionError" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_interrupted_at_random_instants_leaves_nothing(name):
    assert interruptions.run(20, seed=1, names=(name,)) == 0
