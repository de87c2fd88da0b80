"""Sorted rows, and what is told from them, beside plain Python."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bridgeval.batch import tensors
from bridgeval.batch.ranking import repeats
from bridgeval.batch.score_order import sorted_index
from bridgeval.batch.sorting import (
    count_repeats,
    order_of_small,
    repeats_and_shared,
    shared_cells,
    sorted_rows,
    sorted_with_columns,
)

PAD = 30
WIDE = 1 << 27


def rectangle(draw, rows: int, unique: bool) -> torch.Tensor:
    """Lists of different lengths, filled up with PAD."""
    lists = [draw(st.lists(st.integers(0, PAD - 1), max_size=9, unique=unique)) for _ in range(rows)]
    width = max(map(len, lists))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in lists], dtype=torch.int32).view(rows, width)


@st.composite
def several_rectangles(draw, most):
    """One without repeats, then up to so many others with repeats, in order."""
    rows, others = draw(st.integers(1, 5)), draw(st.integers(1, most))
    right = [rectangle(draw, rows, unique=False).sort(dim=1).values for _ in range(others)]
    return rectangle(draw, rows, unique=True), *right


@settings(max_examples=120, deadline=None)
@given(several_rectangles(3), st.sampled_from([PAD, WIDE]))
def test_shared_cells_are_those_that_a_loop_finds(rectangles, largest):
    left, *others = (cells.where(cells != PAD, torch.tensor(largest, dtype=torch.int32)) for cells in rectangles)
    repeats, together = repeats_and_shared(left, others, largest)
    assert repeats == 0
    for right, shared in zip(others, together, strict=True):
        expected = [
            (row, column, right[row].tolist().index(item))
            for row, items in enumerate(left.tolist())
            for column, item in enumerate(items)
            if item != largest and item in right[row].tolist()
        ]
        for matches in (shared, shared_cells(left, right, largest)):
            assert list(zip(*(part.tolist() for part in matches), strict=True)) == expected


@settings(max_examples=80, deadline=None)
@given(several_rectangles(1))
def test_repeats_are_those_that_a_loop_finds(rectangles):
    items = rectangles[1]
    lengths = (items != PAD).sum(1)
    expected = [[item != PAD and item in row[:at] for at, item in enumerate(row)] for row in items.tolist()]
    assert repeats(items, PAD).tolist() == expected
    assert count_repeats(sorted_rows(items), lengths) == sum(map(sum, expected))
    assert repeats_and_shared(items, [rectangles[0]], PAD)[0] == sum(map(sum, expected))


def test_rows_that_are_searched_a_few_at_a_time_are_all_searched(monkeypatch):
    random = np.random.default_rng(3)
    left, right = (torch.from_numpy(random.permuted(np.tile(np.arange(9), (50, 1)), axis=1)[:, :n]) for n in (5, 4))
    at_once = shared_cells(left, right, 9)
    monkeypatch.setattr(tensors, "BYTES_NEAR", 100)
    assert [part.tolist() for part in shared_cells(left, right, 9)] == [part.tolist() for part in at_once]
    assert len(at_once[0]) > 50


def test_equal_cells_keep_their_order():
    items = torch.tensor([[4, 1, 4, 1]], dtype=torch.int32)
    assert [part.tolist() for part in sorted_with_columns(items, 4)] == [[[1, 1, 4, 4]], [[1, 3, 0, 2]]]


@pytest.mark.parametrize("largest", [9, 70_000])
def test_the_order_of_numbers_keeps_equals_in_theirs(largest):
    draw = np.random.default_rng(0).integers(0, 9, 200) * (largest // 9)
    expected = sorted(range(200), key=lambda at: draw[at])
    assert order_of_small(torch.from_numpy(draw), largest).tolist() == expected


NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, float("-inf"), 5e-324, -5e-324, 1e308, -1e308]),
    st.floats(allow_nan=False, allow_infinity=False),
    # Neighbours, which differ in the lowest bits alone.
    st.integers(-3, 3).map(lambda n: 1.0 + n * float(np.spacing(1.0))),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBERS, min_size=2, max_size=9), st.integers(0, 9), st.randoms())
@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
@pytest.mark.parametrize("ties", ["item_descending", "item_ascending", "given"])
def test_rows_are_sorted_by_score_then_by_the_order_among_equals(kind, ties, scores, length, random):
    cells = torch.tensor([scores], dtype=torch.float64).clamp(-3e38, 3e38).to(kind)
    items = torch.tensor([random.sample(range(100), len(scores))])
    length = min(length, len(scores))
    valid = torch.arange(len(scores))[None] < length
    second = {"item_descending": lambda at: -items[0, at], "item_ascending": lambda at: items[0, at]}.get(ties, int)
    expected = sorted(range(length), key=lambda at: (-cells[0, at].item(), second(at)))
    assert sorted_index(cells, items, valid, ties)[0, :length].tolist() == expected


def test_rows_that_are_sorted_a_few_at_a_time_are_all_sorted(monkeypatch):
    monkeypatch.setattr(tensors, "BYTES_NEAR", 64)
    random = np.random.default_rng(5)
    scores, items = random.integers(-2, 3, (7, 4)).astype(float), random.permuted(np.tile(np.arange(9), (7, 1)), axis=1)
    index = sorted_index(torch.from_numpy(scores), torch.from_numpy(items[:, :4]), None, "item_ascending")
    expected = [sorted(range(4), key=lambda at, row=row: (-scores[row, at], items[row, at])) for row in range(7)]
    assert index.tolist() == expected
