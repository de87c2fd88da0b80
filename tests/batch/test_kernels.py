"""Every kernel against a plain loop, under both sets of implementations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from threading import Thread

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st

from bridgeval.batch import kernels
from bridgeval.engine.state import Moments

PAD = 30
# Codes that do not fit into 32 bits together with their column.
WIDE = 1 << 27
# One small rectangle, and one that is sorted in several pieces.
SHAPES = [(5, 9), (4000, 70)]

FAST = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True, params=["cpu", "portable"])
def chosen(request: pytest.FixtureRequest) -> Iterator[str]:
    with kernels.use(request.param):
        yield request.param


def random_lists(shape: tuple[int, int], seed: int, pad: int = PAD, unique: bool = False) -> torch.Tensor:
    """Lists of different lengths, filled up with `pad`."""
    rng = np.random.default_rng(seed)
    rows, width = shape
    if unique:
        codes = np.argsort(rng.random((rows, max(width + 3, 12))), axis=1)[:, :width]
    else:
        codes = rng.integers(0, min(pad, 2 * width), shape)
    lengths = rng.integers(0, width + 1, (rows, 1))
    return torch.from_numpy(np.where(np.arange(width) < lengths, codes, pad).astype(np.int32))


def test_the_largest_shape_is_sorted_in_pieces():
    assert math.prod(SHAPES[-1]) > 2 * kernels.CELLS_PER_PIECE


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0)])
@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.float64])
def test_rows_are_sorted(shape, kind):
    cells = torch.from_numpy(np.random.default_rng(0).integers(-9, 9, shape)).to(kind)
    assert kernels.sort_rows(cells).tolist() == [sorted(row) for row in cells.tolist()]


@pytest.mark.parametrize("shape", [(3, 1), (4, 7), (2, 16), (0, 3), (3, 0)])
def test_cells_are_added_up_along_rows(shape):
    cells = torch.arange(shape[0] * shape[1], dtype=torch.float64).view(shape) / 8
    expected = [[sum(row[: at + 1]) for at in range(len(row))] for row in cells.tolist()]
    assert kernels.cumulate(cells).tolist() == expected


def test_sorting_leaves_its_argument_alone():
    cells = torch.tensor([[3, 1, 2]], dtype=torch.int32)
    kernels.sort_rows(cells)
    kernels.sort_with_index(cells, 3)
    assert cells.tolist() == [[3, 1, 2]]


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0)])
@pytest.mark.parametrize("pad", [PAD, WIDE])
def test_sorted_rows_have_their_columns_and_equal_cells_keep_their_order(shape, pad):
    codes = random_lists(shape, 1, pad)
    values, index = kernels.sort_with_index(codes, pad)
    expected = [sorted(range(shape[1]), key=row.__getitem__) for row in codes.tolist()]
    assert index.tolist() == expected
    assert values.tolist() == [sorted(row) for row in codes.tolist()]
    assert (values.dtype, index.dtype) == (torch.int32, torch.int64)


NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, float("-inf"), 5e-324, -5e-324, 1e308, -1e308]),
    st.floats(allow_nan=False, allow_infinity=False),
    # Neighbors, which differ in the lowest bits alone.
    st.integers(-3, 3).map(lambda n: 1.0 + n * float(np.spacing(1.0))),
)


@FAST
@given(st.lists(NUMBERS, min_size=2, max_size=9), st.integers(0, 9), st.randoms())
@pytest.mark.parametrize("kind", [torch.float64, torch.float32])
def test_any_numbers_are_ordered_by_score_then_precedence(kind, scores, length, random):
    cells = torch.tensor([scores], dtype=torch.float64).clamp(-3e38, 3e38).to(kind)
    precedence = torch.tensor([random.choices(range(4), k=len(scores))])
    length = min(length, len(scores))
    valid = torch.arange(len(scores))[None] < length
    expected = sorted(range(length), key=lambda at: (-cells[0, at].item(), -precedence[0, at].item()))
    assert kernels.order_by_score(cells, precedence, valid)[0, :length].tolist() == expected


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0)])
@pytest.mark.parametrize("some_invalid", [True, False])
def test_rows_are_ordered_by_score_then_precedence_then_column(shape, some_invalid):
    rng = np.random.default_rng(5)
    scores, precedence = torch.from_numpy(rng.integers(-20, 20, shape) / 4), torch.from_numpy(rng.integers(0, 4, shape))
    valid = torch.from_numpy(rng.random(shape) < 0.8) if some_invalid else torch.ones(shape, dtype=torch.bool)
    index = kernels.order_by_score(scores, precedence, valid if some_invalid else None)
    for row, (numbers, first, filled) in enumerate(
        zip(scores.tolist(), precedence.tolist(), valid.tolist(), strict=True)
    ):
        cells = [at for at in range(shape[1]) if filled[at]]
        cells.sort(key=lambda at, numbers=numbers, first=first: (-numbers[at], -first[at], at))
        assert index[row].tolist()[: len(cells)] == cells


@pytest.mark.parametrize("shape", [*SHAPES, (0, 3), (3, 0)])
@pytest.mark.parametrize("width", [0, 4, 12])
@pytest.mark.parametrize("pad", [PAD + 100, WIDE])
@pytest.mark.parametrize("unique", [True, False])
def test_matches_are_those_that_a_loop_finds(shape, width, pad, unique):
    left = random_lists(shape, 2, pad, unique)
    right = random_lists((shape[0], width), 3, pad).sort(dim=1).values
    expected = [
        (row, column, right[row].tolist().index(code))
        for row, codes in enumerate(left.tolist())
        for column, code in enumerate(codes)
        if code != pad and code in right[row].tolist()
    ]
    found = kernels.match_rows(left, right, pad)
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected
    assert all(part.dtype == torch.int64 for part in found)


@pytest.mark.parametrize("shape", SHAPES)
def test_repeats_are_those_that_a_loop_finds(shape):
    codes = random_lists(shape, 4)
    expected = [[code != PAD and code in row[:at] for at, code in enumerate(row)] for row in codes.tolist()]
    assert kernels.find_repeats(codes, PAD).tolist() == expected
    assert kernels.count_repeats(codes, PAD) == sum(map(sum, expected)) > 0
    assert kernels.count_repeats(random_lists(shape, 4, 1000, unique=True), 1000) == 0


@pytest.mark.parametrize("shape", [(4, 3), (30, 5000), (0, 3), (3, 0)])
def test_true_cells_are_counted(shape):
    flags = torch.from_numpy(np.random.default_rng(1).random(shape) < 0.5)
    assert kernels.count_true(flags).tolist() == [sum(row) for row in flags.tolist()]


@pytest.mark.parametrize("shape", [(4, 3), (30, 5000), (0, 3), (3, 0)])
@pytest.mark.parametrize("bars", [0, 1, 2, 40])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("decided", [False, True])
def test_cells_above_a_bar_and_equal_to_it_are_counted_and_nan_is_neither(shape, bars, kind, decided):
    rng = np.random.default_rng(1)
    cells = torch.from_numpy(rng.choice([-np.inf, 0.5, 1.0, np.nan, 2.0], shape)).to(kind)
    limits = torch.from_numpy(rng.choice([0.5, 1.0, np.nan], (shape[0], bars))).to(kind)
    first = torch.from_numpy(rng.integers(0, 9, shape[1]))
    own = torch.from_numpy(rng.integers(0, 9, limits.shape))
    above, equal = kernels.count_above(cells, limits, *((first, own) if decided else ()))
    for row, numbers in enumerate(cells.numpy()):
        for column, (limit, ahead) in enumerate(zip(limits[row].tolist(), own[row].tolist(), strict=True)):
            higher = np.count_nonzero(numbers > limit)
            same = numbers == limit
            won = np.count_nonzero(same & (first.numpy() > ahead))
            expected = (higher + won, 0) if decided else (higher, np.count_nonzero(same))
            assert (int(above[row, column]), int(equal[row, column])) == expected
    assert above.shape == equal.shape == limits.shape


@pytest.mark.parametrize("shape", [(4, 3), (5, 1), (0, 3), (3, 0)])
@pytest.mark.parametrize("counts", [(1,), (2, 3, 9), (7,)])
@pytest.mark.parametrize("deterministic", [False, True])
def test_first_cells_are_added_up_along_either_dimension(shape, counts, deterministic):
    cells = torch.from_numpy(np.random.default_rng(4).integers(-8, 8, shape) / 4)
    expected = [[sum(row[:count]) for row in cells.tolist()] for count in counts]
    torch.use_deterministic_algorithms(deterministic)
    try:
        assert kernels.sum_first(cells, counts, 1).tolist() == expected
        assert kernels.sum_first(cells.T.contiguous(), counts, 0).tolist() == expected
        assert kernels.cumulate(cells.T, 0).tolist() == kernels.cumulate(cells).T.tolist() == cells.cumsum(1).T.tolist()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("shape", [(1, 3, 4), (2, 9, 5), (2, 0, 3)])
@pytest.mark.parametrize("counts", [(1,), (2, 3, 12), (5,)])
def test_bits_are_those_of_any_of_the_first_words(shape, counts):
    words = np.random.default_rng(7).integers(0, 1 << 20, shape) & np.random.default_rng(8).integers(0, 1 << 20, shape)
    expected = np.stack([np.bitwise_or.reduce(words[:, :count], axis=1) for count in counts], axis=1)
    assert kernels.unite_bits(torch.from_numpy(words), counts).tolist() == expected.tolist()


@pytest.mark.parametrize("rows", [[], [3], [0, 0, 2, 2, 2, 5]])
def test_entries_are_numbered_within_their_row(rows):
    expected = [rows[: at + 1].count(row) for at, row in enumerate(rows)]
    assert kernels.number_entries(torch.tensor(rows, dtype=torch.int64), 6).tolist() == expected


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(0,), (60,), (12, 5)])
def test_numbers_are_added_up_by_code_and_the_last_code_is_left_out(kind, shape):
    rng = np.random.default_rng(2)
    codes = torch.from_numpy(rng.integers(0, 5, shape)).to(kind)
    weights = torch.from_numpy(rng.integers(-8, 8, shape) / 4)
    counts, sums = [0.0] * 5, [0.0] * 5
    for code, weight in zip(codes.reshape(-1).tolist(), weights.reshape(-1).tolist(), strict=True):
        counts[code] += 1
        sums[code] += weight
    assert kernels.sum_by_code(codes, 4).tolist() == counts[:4]
    assert kernels.sum_by_code(codes, 4, weights).tolist() == sums[:4]
    assert kernels.sum_by_code(codes, 9, weights).tolist() == [*sums, 0, 0, 0, 0]


@pytest.mark.parametrize("cutoffs", [(1,), (1, 3, 5), (9,)])
def test_entries_are_added_up_to_each_cutoff(cutoffs):
    rng = np.random.default_rng(6)
    flags, values = rng.random((7, 6)) < 0.4, rng.integers(-4, 4, (7, 6)) / 2
    rows, places = (torch.from_numpy(part) for part in np.nonzero(flags))
    counts = [[float(sum(row[:k])) for row in flags] for k in cutoffs]
    sums = [[float((row[:k] * flags[at, :k]).sum()) for at, row in enumerate(values)] for k in cutoffs]
    assert kernels.sum_at_cutoffs(rows, places, cutoffs, 7).tolist() == counts
    assert kernels.sum_at_cutoffs(rows, places, cutoffs, 7, torch.from_numpy(values[flags])).tolist() == sums


def test_moments_of_rows_are_those_of_each_row():
    values = torch.tensor([[1.0, 2.0, 6.0], [math.nan, 3.0, 9.0], [math.nan, 1.0, 1.0], [math.inf, 1.0, 2.0]])
    counted = torch.tensor([[True] * 3, [True, True, False], [True, False, False], [True] * 3])
    rows = zip(*(part.tolist() for part in kernels.measure_rows(values, counted)), strict=True)
    for row, kept, found in zip(values.numpy(), counted.numpy(), rows, strict=True):
        # NaN is not equal to itself: as text it is.
        assert str(Moments.from_row(*found)) == str(Moments.of(row[kept].astype(np.float64)))


def test_the_choice_holds_in_other_threads_and_ends_with_the_block(chosen):
    seen = []
    with kernels.use("portable"):
        thread = Thread(target=lambda: seen.append(kernels._choice))
        thread.start()
        thread.join()
    assert (seen, kernels._choice) == (["portable"], chosen)
