"""Files that do not fit the budget give the numbers of those that do, and leave nothing behind."""

from __future__ import annotations

import tempfile
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bridgeval
from bridgeval.engine import streaming
from bridgeval.errors import BadParameterError, InputError
from bridgeval.io import chunks, datasets

METRICS = ["nDCG@3,10", "MAP@5", "Recall@10", "MRR(over='median')@10", "RMSE"]


@pytest.fixture(params=["int", "string"])
def world(request):
    """300 users, some on one side only; one user with a third of all rows."""
    rng = np.random.default_rng(7)
    shown = [(u, i, s) for u in range(0, 300, 2) for i, s in zip(rng.permutation(40)[:8], rng.random(8), strict=True)]
    shown += [(77, i, float(s)) for i, s in zip(range(600), rng.random(600), strict=True)]
    relevant = [(u, i, g) for u in range(0, 300, 3) for i, g in zip(rng.permutation(40)[:4], (1, 2, 0, 3), strict=True)]
    relevant += [(77, 5, 1)]
    recs = pd.DataFrame(shown, columns=["user_id", "item_id", "score"]).sort_values("user_id", kind="stable")
    truth = pd.DataFrame(relevant, columns=["user_id", "item_id", "relevance"]).sort_values("user_id", kind="stable")
    if request.param == "string":
        for frame in (recs, truth):
            frame["user_id"] = frame["user_id"].map("user {:03d}".format)
            frame["item_id"] = frame["item_id"].map("item {}".format)
    return recs, truth


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 50)


@pytest.fixture
def calls(monkeypatch):
    """Which of the two ways was gone."""
    gone = []
    for name in ("merge_streams", "partition_streams"):
        real = getattr(chunks, name)
        monkeypatch.setattr(streaming, name, lambda *a, n=name, r=real: (gone.append(n), r(*a))[1])
    return gone


def written(folder, frames, kind="parquet"):
    paths = []
    for name, frame in zip(("recs", "truth"), frames, strict=True):
        path = folder / f"{name}.{kind}"
        if kind == "parquet":
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=64)
        else:
            frame.to_csv(path, index=False)
        paths.append(path)
    return paths


def same(streamed, held):
    assert dict(streamed) == pytest.approx(dict(held), abs=1e-12)
    assert streamed.population == held.population


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_sorted_files_are_merged_as_they_come(world, tmp_path, calls, kind):
    held = bridgeval.evaluate(*world, METRICS)
    same(bridgeval.evaluate(*written(tmp_path, world, kind), METRICS, memory="20kB"), held)
    assert calls == ["merge_streams"]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_shuffled_files_are_partitioned_into_temporary_files_that_are_deleted(
    world, tmp_path, calls, kind, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    held = bridgeval.evaluate(*world, METRICS)
    shuffled = [frame.sample(frac=1, random_state=3) for frame in world]
    same(bridgeval.evaluate(*written(tmp_path, shuffled, kind), METRICS, memory="20kB"), held)
    assert calls == ["merge_streams", "partition_streams"]
    assert not list((tmp_path / "scratch").iterdir())


def test_temporary_files_are_deleted_after_a_failure_too(world, tmp_path, monkeypatch):
    from dataclasses import dataclass

    from bridgeval.errors import MetricFailedError

    @dataclass(frozen=True)
    class Broken(bridgeval.ListMetric):
        name = "Broken"

        def value(self, slate):
            raise KeyboardInterrupt if slate.user is None else ValueError("no")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    paths = written(tmp_path, [frame.sample(frac=1, random_state=3) for frame in world])
    with pytest.raises(MetricFailedError):
        bridgeval.evaluate(*paths, Broken(), memory="20kB")
    assert not list((tmp_path / "scratch").iterdir())


def test_history_and_catalogue_stay_with_every_chunk(world, tmp_path):
    recs, truth = world
    history = recs.groupby("user_id").tail(2)
    arguments = {"history": history, "catalogue": sorted(set(recs["item_id"]) | set(truth["item_id"]))}
    held = bridgeval.evaluate(recs, truth, METRICS, **arguments)
    same(bridgeval.evaluate(*written(tmp_path, world), METRICS, memory="20kB", **arguments), held)


def test_files_that_fit_are_held_at_once(world, tmp_path, calls):
    same(bridgeval.evaluate(*written(tmp_path, world), METRICS), bridgeval.evaluate(*world, METRICS))
    assert calls == []


def test_no_more_than_a_chunk_is_held(world, tmp_path, monkeypatch):
    sizes = []
    real = chunks.merge_streams

    def watched(*streams):
        for shown, relevant in real(*streams):
            sizes.append(len(shown) + len(relevant))
            yield shown, relevant

    monkeypatch.setattr(streaming, "merge_streams", watched)
    bridgeval.evaluate(*written(tmp_path, world), "MRR@5", memory="20kB")
    recs, truth = world
    largest_user = recs["user_id"].value_counts().max()
    assert sum(sizes) == len(recs) + len(truth)
    assert max(sizes) < largest_user + 4 * 64


def _allocated():
    """Bytes in Arrow's hands, once whoever reads ahead has stopped."""
    before = -1
    while (now := pa.total_allocated_bytes()) != before:
        before = now
        time.sleep(0.05)
    return now


def test_text_is_read_ahead_by_a_bounded_number_of_blocks(tmp_path, monkeypatch):
    path = tmp_path / "long.csv"
    path.write_text("user_id,item_id\n" + "".join(f"{row},{row}\n" for row in range(100_000)))
    monkeypatch.setattr(datasets, "BLOCK", 1 << 12)
    before = _allocated()
    batches = datasets.read_batches(datasets.open_dataset(str(path)), ["user_id", "item_id"], 50)
    first = next(batches)
    ahead = _allocated() - before
    assert len(first) + sum(map(len, batches)) == 100_000
    # Each row takes 16 bytes; a batch of a block is some 6 kB.
    assert first.nbytes < ahead < 100_000 * 16 / 4


TEXT = "user_id,item_id,gain\n" + "7,3,1\n" * 300_000
LATE = {
    "an id that is missing": (",4,1\n", "user ids in the relevance are missing (null)", "row 300000"),
    "a gain that is missing": ("8,4,\n", "the column 'gain' of the relevance has missing value(s)", "row 300000"),
    "text among numbers": ("x,4,1\n", "cannot be read to its end", "invalid value 'x'"),
    "a line cut short": ("8,4\n", "cannot be read to its end", "got 2"),
}


@pytest.mark.parametrize("case", LATE)
def test_an_error_far_down_a_streamed_file_names_column_and_row(tmp_path, case, monkeypatch):
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 1 << 18)
    line, wrong, found = LATE[case]
    recs, truth = tmp_path / "recs.csv", tmp_path / "truth.csv"
    recs.write_text("user_id,item_id\n7,3\n")
    truth.write_text(TEXT + line)
    with pytest.raises(InputError) as caught:
        bridgeval.evaluate(recs, truth, "Recall@2", memory="1MB")
    assert wrong in caught.value.wrong
    assert found in caught.value.found


def test_streamed_numbers_need_not_stay_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 1 << 18)
    recs, truth = tmp_path / "recs.csv", tmp_path / "truth.csv"
    recs.write_text("user_id,item_id\n7,3\n8,4\n")
    # What columns hold is told from the first megabyte.
    truth.write_text("user_id,item_id,gain\n" + "".join(f"7,{row},1\n" for row in range(150_000)) + "8,4,0.5\n")
    report = bridgeval.evaluate(recs, truth, "Recall@2", memory="1MB")
    assert report["Recall@2"] == pytest.approx((1 / 150_000 + 1) / 2)


def test_a_user_is_in_one_part_whatever_the_table():
    for users in (pa.chunked_array([pa.array([5, 6, 5])]), pa.chunked_array([pa.array(["a", "b", "a"])])):
        parts = chunks.assign_parts(users, 97)
        assert parts[0] == parts[2]
        assert parts[0] == chunks.assign_parts(users.slice(0, 1), 97)[0]
    spread = chunks.assign_parts(pa.chunked_array([pa.array(range(10_000))]), 10)
    assert np.bincount(spread).min() > 800


@pytest.mark.parametrize("memory", ["lots", "-1", 0, "0GB"])
def test_a_budget_that_is_none(memory):
    with pytest.raises(BadParameterError, match="memory"):
        datasets.parse_bytes(memory)
