"""`bridgeval evaluate --resume`: the command goes on where it was interrupted."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import bridgeval


@pytest.fixture
def interrupted(folder, monkeypatch):
    """A folder with the saved states of a run that did not end."""
    monkeypatch.chdir(folder)
    users = np.repeat(np.arange(300), 3)
    pd.DataFrame({"user": users, "item": np.tile([1, 2, 3], 300), "score": 1.0}).to_parquet("recs.parquet")
    pd.DataFrame({"user": np.arange(300), "item": 2}).to_parquet("truth.parquet")
    chunks = iter([None, None])
    with pytest.raises(StopIteration):
        bridgeval.evaluate(
            "recs.parquet", "truth.parquet", "MRR@3", memory="60kB", resume="states", progress=lambda _: next(chunks)
        )
    return folder


COMMAND = ("evaluate", "recs.parquet", "truth.parquet", "--memory", "60kB", "--resume", "states", "--format", "json")


def test_the_command_goes_on_and_removes_what_was_saved(interrupted, run):
    done = run(*COMMAND, "-m", "MRR@3")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert "--resume streams the files, so they were not inspected" in done.stderr
    assert not (interrupted / "states").exists()


def test_states_of_another_question_are_refused(interrupted, run):
    done = run(*COMMAND, "-m", "MRR@2")
    assert done.returncode != 0
    assert "saved by another evaluation" in done.stderr
    assert (interrupted / "states").exists()
