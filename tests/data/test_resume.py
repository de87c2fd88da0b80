"""An interrupted run over files goes on where it stopped, and comes to the same digits."""

from __future__ import annotations

import json
import os
import pickle
import tempfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bridgeval
from bridgeval.data import chunks, datasets
from bridgeval.engine import savepoint
from bridgeval.errors import BadParameterError, SavepointError
from bridgeval.toolkits.frames import streaming

METRICS = ["nDCG@3,10", "MAP@5", "MRR(over='median')@10", "RMSE"]
USERS = 400


class InterruptedError(Exception):
    """As Ctrl-C would."""


@pytest.fixture(autouse=True)
def every_chunk_is_saved(monkeypatch):
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 150)
    monkeypatch.setattr(savepoint, "SHARE_OF_TIME", float("inf"))


@pytest.fixture(params=["sorted", "shuffled"])
def order(request):
    return request.param


@pytest.fixture(params=["parquet", "csv"])
def paths(request, order, tmp_path):
    """Users with 5 shown and 3 relevant rows; ids are integers in Parquet and strings in CSV."""
    rng = np.random.default_rng(3)
    shown = [(u, i, s) for u in range(USERS) for i, s in zip(rng.permutation(30)[:5], rng.random(5))]
    relevant = [(u, i, g) for u in range(USERS) for i, g in zip(rng.permutation(30)[:3], (1, 2, 1))]
    frames = {
        "recs": pd.DataFrame(shown, columns=["user_id", "item_id", "score"]),
        "truth": pd.DataFrame(relevant, columns=["user_id", "item_id", "relevance"]),
    }
    written = []
    for name, frame in frames.items():
        if order == "shuffled":
            frame = frame.sample(frac=1, random_state=1)
        written.append(tmp_path / f"{name}.{request.param}")
        if request.param == "parquet":
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), written[-1], row_group_size=64)
        else:
            named = frame.assign(
                user_id=frame["user_id"].map("u{:03}".format), item_id="i" + frame["item_id"].astype(str)
            )
            named.to_csv(written[-1], index=False)
    return written


@pytest.fixture
def chunks_made(monkeypatch):
    """How many chunks were cut."""
    made = []

    def counted(real):
        def cut(*arguments):
            for chunk in real(*arguments):
                made.append(chunk)
                yield chunk

        return cut

    for name in ("merged", "spread"):
        monkeypatch.setattr(streaming, name, counted(getattr(chunks, name)))
    return made


def evaluated(paths, **more):
    return bridgeval.evaluate(*paths, METRICS, memory="60kB", per_user=True, **more)


def interrupted(paths, saved, after=150):
    """A run that is stopped once so many users are done."""
    done = 0

    def stop(users):
        nonlocal done
        done += users
        if done > after:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        evaluated(paths, resume=saved, progress=stop)
    assert saved.exists()


def same_digits(one, other):
    assert one.values == other.values
    assert one.population == other.population
    pd.testing.assert_frame_equal(one.per_user("nDCG@3"), other.per_user("nDCG@3"), check_exact=True)


def test_the_resumed_run_gives_the_digits_of_one_that_was_never_interrupted(paths, tmp_path):
    whole = evaluated(paths)
    saved = tmp_path / "run.states"
    interrupted(paths, saved)
    same_digits(evaluated(paths, resume=saved), whole)
    assert not list(tmp_path.glob("run.states*"))


def test_a_run_may_be_interrupted_again_and_again(paths, tmp_path):
    saved = tmp_path / "run.states"
    for _ in range(2):
        interrupted(paths, saved, after=70)
    same_digits(evaluated(paths, resume=saved), evaluated(paths))


def test_chunks_that_were_done_are_not_cut_again(paths, tmp_path, chunks_made):
    evaluated(paths)
    whole = len(chunks_made)
    chunks_made.clear()
    interrupted(paths, tmp_path / "run.states")
    before = len(chunks_made)
    chunks_made.clear()
    evaluated(paths, resume=tmp_path / "run.states")
    # The chunk that the interruption fell into is cut twice.
    assert before + len(chunks_made) == whole + 1
    assert before >= 3
    assert len(chunks_made) >= 3


def test_sorted_parquet_files_are_read_from_where_the_run_stopped(stopped, monkeypatch):
    files, saved = stopped
    read = []
    real = datasets.batches_from

    def counted(*arguments):
        for batch in real(*arguments):
            read.append(len(batch))
            yield batch

    monkeypatch.setattr(streaming, "batches_from", counted)
    bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=saved)
    assert 0 < sum(read) < 0.75 * 200 * 4


def test_users_done_before_are_not_told_again(paths, tmp_path):
    interrupted(paths, tmp_path / "run.states")
    done = []
    evaluated(paths, resume=tmp_path / "run.states", progress=done.append)
    assert 0 < sum(done) < USERS


def test_temporary_files_go_away_though_the_run_may_go_on(paths, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    interrupted(paths, tmp_path / "run.states")
    assert not list(scratch.iterdir())


@pytest.fixture
def stopped(tmp_path):
    """A run over a small sorted file, interrupted; gives its paths and its saved states."""
    shown = pd.DataFrame({"user_id": np.repeat(np.arange(200), 3), "item_id": np.tile([1, 2, 3], 200), "score": 0.5})
    truth = pd.DataFrame({"user_id": np.arange(200), "item_id": 2})
    files = [tmp_path / "recs.parquet", tmp_path / "truth.parquet"]
    for path, frame in zip(files, (shown, truth), strict=True):
        frame.to_parquet(path)
    stop = iter([None, None])
    with pytest.raises(StopIteration):
        bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=tmp_path / "s", progress=lambda _: next(stop))
    return files, tmp_path / "s"


def test_states_of_other_metrics_are_refused(stopped):
    files, saved = stopped
    with pytest.raises(SavepointError, match="the metrics differ"):
        bridgeval.evaluate(*files, "MRR@3", memory="60kB", resume=saved)
    assert saved.exists()


def test_states_of_files_that_have_changed_are_refused(stopped):
    files, saved = stopped
    os.utime(files[1], (1, 1))
    with pytest.raises(SavepointError, match=r"the relevance differ.*delete the file"):
        bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=saved)


def test_another_budget_goes_on_with_the_chunks_that_were_begun(stopped):
    files, saved = stopped
    whole = bridgeval.evaluate(*files, "MRR@2", memory="60kB")
    assert bridgeval.evaluate(*files, "MRR@2", memory="2GB", resume=saved).values == whole.values
    assert not saved.exists()


@pytest.mark.parametrize("content", [b"", b"ARROW1 and no more", pickle.dumps({"states": ()})])
def test_a_file_of_something_else_is_refused_and_kept(stopped, content):
    files, saved = stopped
    saved.write_bytes(content)
    with pytest.raises(SavepointError, match="holds no saved states"):
        bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=saved)
    assert saved.read_bytes() == content


def test_a_file_cannot_name_a_class_that_the_states_do_not_have(stopped):
    files, saved = stopped
    with pa.OSFile(str(saved)) as file:
        table = pa.ipc.open_file(file).read_all()
    head = json.loads(table.schema.metadata[b"bridgeval"])
    head["states"] = {"tuple": [{"class": "subprocess.Popen", "fields": {"args": "true"}}]}
    schema = table.schema.with_metadata({"bridgeval": json.dumps(head)})
    with pa.OSFile(str(saved), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        writer.write_table(table.cast(schema))
    with pytest.raises(SavepointError, match="subprocess"):
        bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=saved)


def test_what_is_held_in_memory_cannot_be_resumed(stopped, tmp_path):
    files, _ = stopped
    with pytest.raises(BadParameterError, match="files that are streamed"):
        bridgeval.evaluate({1: [2]}, {1: [2]}, "MRR@2", resume=tmp_path / "other")
    with pytest.raises(BadParameterError, match="give history as a file"):
        bridgeval.evaluate(*files, "MRR@2", history={1: [2]}, memory="60kB", resume=tmp_path / "other")


def test_the_history_may_be_a_file(stopped, tmp_path):
    files, _ = stopped
    more = {"history": files[1], "memory": "60kB"}
    resumed = bridgeval.evaluate(*files, "MRR@2", resume=tmp_path / "other", **more)
    assert resumed.values == bridgeval.evaluate(*files, "MRR@2", **more).values


def test_saving_takes_a_bounded_share_of_the_time(stopped, tmp_path, monkeypatch):
    files, _ = stopped
    monkeypatch.setattr(savepoint, "SHARE_OF_TIME", 1e-9)
    saves = []
    real = savepoint.Savepoint._write
    monkeypatch.setattr(savepoint.Savepoint, "_write", lambda *a: (saves.append(a), real(*a)))
    bridgeval.evaluate(*files, "MRR@2", memory="60kB", resume=tmp_path / "other")
    assert len(saves) == 1
