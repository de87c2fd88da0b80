"""Progress that a terminal shows during an evaluation."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

import bridgeval
from bridgeval import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def shown_for(monkeypatch, clock):
    """What a terminal has been sent when rows were told: (seconds later, stage, rows done) of 1000, one by one."""

    def run(asked, *told):
        # Set here and not before the test: pytest sets its own between a fixture and the test.
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        sent = []
        with progress.show_progress(asked) as watchers:
            for seconds, stage, done in told:
                clock[0] += seconds
                watchers.rows(stage, done, 1000)
                sent.append(terminal.getvalue())
        return [*sent, terminal.getvalue()]

    return run


def test_rows_and_the_time_left_are_shown_after_two_seconds(shown_for):
    *too_early, shown, _ = shown_for(None, (0, "evaluated", 0), (1, "evaluated", 100), (3, "evaluated", 400))
    assert too_early == ["", ""]
    assert shown == "\revaluated 400 of 1,000 rows, 0:06 left\x1b[K"


def test_the_line_is_wiped_at_the_end(shown_for):
    *_, before, after = shown_for(True, (0, "evaluated", 0), (3, "evaluated", 400))
    assert after == before + "\r\x1b[K"


def test_rows_that_were_done_before_do_not_make_it_look_faster(shown_for):
    *_, shown = shown_for(True, (0, "evaluated", 900), (10, "evaluated", 950))
    assert "evaluated 950 of 1,000 rows, 0:10 left" in shown


def test_each_stage_has_its_own_time(shown_for):
    *_, shown = shown_for(True, (0, "partitioned", 0), (100, "evaluated", 0), (1, "evaluated", 500))
    assert shown.split("\r")[-2].startswith("evaluated 500 of 1,000 rows, 0:01 left")


def test_nothing_is_shown_unless_stderr_is_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.show_progress(None) as watchers:
        assert watchers == (None, None)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_streamed_files_report_their_rows(tmp_path, order, monkeypatch):
    import pandas as pd

    from bridgeval.engine import streaming

    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 30)
    shown = pd.DataFrame({"user_id": [u for u in range(100) for _ in range(3)], "item_id": [1, 2, 3] * 100})
    truth = pd.DataFrame({"user_id": range(100), "item_id": 2})
    for name, frame in (("recs", shown), ("truth", truth)):
        (frame.sample(frac=1, random_state=0) if order == "shuffled" else frame).to_parquet(tmp_path / name)
    told = []
    monkeypatch.setattr(progress._Line, "rows", lambda line, *row: told.append(row))
    bridgeval.evaluate(tmp_path / "recs", tmp_path / "truth", "MRR@2", memory="10kB", progress=True)
    assert told[-1] == ("evaluated", 400, 400)
    assert (("partitioned", 400, 400) in told) is (order == "shuffled")
    assert re.fullmatch(r"(evaluated )*(partitioned )*(evaluated )+", " ".join(row[0] for row in told) + " ")
