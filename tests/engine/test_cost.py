"""Cost grows as it should: measured by counting passes, blocks and bytes, never by a clock."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import bridgeval
from bridgeval.batch.batch import batches
from bridgeval.engine import streaming
from bridgeval.engine.blocks import Blocks
from bridgeval.engine.inputs import Inputs
from bridgeval.engine.needs import Needs
from bridgeval.io import chunks, datasets
from bridgeval.tables import ids

SHOWN, RELEVANT = 10, 4
METRICS = ("Precision", "Recall", "nDCG", "MAP", "MRR", "HitRate")


def tables(users, order="sorted"):
    """Users with 10 shown and 4 relevant items of 500."""
    rng = np.random.default_rng(0)
    made = []
    for count, name in ((SHOWN, "score"), (RELEVANT, "relevance")):
        items = (rng.integers(0, 500, (users, 1)) + np.arange(count)) % 500
        columns = {
            "user_id": np.repeat(np.arange(users), count),
            "item_id": items.ravel(),
            name: rng.random(items.size),
        }
        table = pa.table(columns)
        made.append(table.take(rng.permutation(len(table))) if order == "shuffled" else table)
    return made


def written(folder, users, order="sorted"):
    paths = []
    for name, table in zip(("recs", "truth"), tables(users, order), strict=True):
        paths.append(folder / f"{name}-{users}-{order}.parquet")
        pq.write_table(table, paths[-1], row_group_size=2000)
    return paths


@pytest.mark.parametrize(("order", "passes"), [("sorted", 1), ("shuffled", 2)])
def test_rows_of_files_are_read_once_and_once_more_if_they_must_be_partitioned(tmp_path, monkeypatch, order, passes):
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 1000)
    rows = Counter()
    for module, name, count in (
        (datasets, "read_batches", lambda batch: rows.update(read=len(batch))),
        (streaming, "partition_streams", lambda chunk: rows.update(read=len(chunk[0]) + len(chunk[1]))),
    ):
        real = getattr(module, name)

        def counted(*arguments, real=real, count=count):
            for one in real(*arguments):
                count(one)
                yield one

        monkeypatch.setattr(module, name, counted)
    users = 1000
    bridgeval.evaluate(*written(tmp_path, users, order), "MRR@5", memory="400kB")
    whole = users * (SHOWN + RELEVANT)
    # The heads of both files tell the types of their ids. A file that is not sorted shows it in its first piece.
    looked_at = 2 * streaming.LEAST_ROWS + (0 if order == "sorted" else 2 * 1000)
    assert passes * whole <= rows["read"] <= passes * whole + looked_at


def made_blocks(monkeypatch, metrics):
    """How many blocks of each kind were made for one batch; those of one cutoff, a number for each user, apart."""
    made = Counter()
    real = Blocks.__getitem__

    def counted(blocks, block):
        if block not in blocks._made:
            of_one_cutoff = hasattr(block, "k") or hasattr(block, "metric")
            made["of one cutoff" if of_one_cutoff else type(block).__name__] += 1
        return real(blocks, block)

    monkeypatch.setattr(Blocks, "__getitem__", counted)
    bridgeval.evaluate(*tables(50), metrics)
    monkeypatch.undo()
    return made


def test_more_cutoffs_make_no_more_blocks(monkeypatch):
    one = made_blocks(monkeypatch, [f"{name}@10" for name in METRICS])
    four = made_blocks(monkeypatch, [f"{name}@3,5,7,10" for name in METRICS])
    assert four.pop("of one cutoff") <= 4 * one.pop("of one cutoff")
    assert four == one
    assert sum(one.values()) > 3


class BytesMade(TorchDispatchMode):
    """Counts the operations of torch and the bytes of what they give."""

    def __init__(self):
        super().__init__()
        self.operations = self.bytes = 0

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        made = function(*arguments, **(keywords or {}))
        self.operations += 1
        for one in made if isinstance(made, tuple | list) else (made,):
            self.bytes += one.numel() * one.element_size() if isinstance(one, torch.Tensor) else 0
        return made


@pytest.mark.parametrize("users", [20_001, 20_002])
def test_users_are_shared_out_among_as_many_batches_as_workers(users):
    (slates,) = Inputs.of(*tables(users)).slates(Needs())
    sizes = [len(batch) for batch in batches(slates, torch.device("cpu"), workers=2)]
    assert len(sizes) == 2
    assert abs(sizes[0] - sizes[1]) <= 2


def test_a_long_history_makes_small_batches_where_its_lists_are_read():
    users, longest = 2_000, 100_000
    history = pa.table({"user_id": np.full(longest, 7), "item_id": np.arange(longest)})
    needs = Needs(lists=frozenset({"history lists"}))
    (slates,) = Inputs.of(*tables(users), history=history).slates(needs)
    widths = [len(batch) * batch.history.width for batch in batches(slates, torch.device("cpu"))]
    assert sum(len(batch) for batch in batches(slates, torch.device("cpu"))) == users
    assert longest <= max(widths) < users * longest / 10


def test_work_on_tensors_is_proportional_to_rows(set_threads):
    set_threads(1)
    found = []
    for users in (20_000, 160_000):
        shown, relevant = tables(users)
        with BytesMade() as counted:
            bridgeval.evaluate(shown, relevant, [f"{name}@5,10" for name in METRICS])
        found.append(counted)
    few, many = found
    assert many.bytes == pytest.approx(8 * few.bytes, rel=0.05)
    assert many.operations <= 8 * few.operations


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_memory_of_a_streamed_run_does_not_grow_with_rows(tmp_path, monkeypatch, order):
    """Peaks of what Python and numpy hold, and of what Arrow holds whenever a chunk is cut."""
    monkeypatch.setattr(streaming, "ROWS_PER_PIECE", 10_000)
    # The table that looks up codes of small ids has a bound of its own.
    monkeypatch.setattr(ids, "TABLE_ENTRIES", 500)
    arrow = []
    for name in ("merge_streams", "partition_streams"):
        real = getattr(chunks, name)

        def watched(*arguments, real=real):
            for chunk in real(*arguments):
                arrow.append(pa.total_allocated_bytes())
                yield chunk

        monkeypatch.setattr(streaming, name, watched)
    peaks = {}
    for users in (4_000, 32_000):
        paths = written(tmp_path, users, order)
        bridgeval.evaluate(*paths, "MRR@5", memory="4MB")
        arrow.clear()
        before = pa.total_allocated_bytes()
        tracemalloc.start()
        bridgeval.evaluate(*paths, "MRR@5", memory="4MB")
        peaks[users] = tracemalloc.get_traced_memory()[1], max(arrow) - before
        tracemalloc.stop()
    (numpy_few, arrow_few), (numpy_many, arrow_many) = peaks.values()
    assert numpy_many < 1.5 * numpy_few
    assert arrow_many < 1.5 * arrow_few + 2**20
