"""Sums by code, beside loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from bridgeval.batch.tensors import rows_by_code, sums_by_code


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
@pytest.mark.parametrize("shape", [(0,), (60,), (12, 5)])
def test_numbers_are_added_up_by_code_and_what_is_beyond_is_left_out(kind, shape):
    random = np.random.default_rng(2)
    codes = torch.from_numpy(random.integers(0, 5, shape)).to(kind)
    weights = torch.from_numpy(random.integers(-8, 8, shape) / 4)
    counts, sums = [0.0] * 5, [0.0] * 5
    for code, weight in zip(codes.reshape(-1).tolist(), weights.reshape(-1).tolist(), strict=True):
        counts[code] += 1
        sums[code] += weight
    assert sums_by_code(codes, 4).tolist() == counts[:4]
    assert sums_by_code(codes, 4, weights).tolist() == sums[:4]
    assert sums_by_code(codes, 9, weights).tolist() == [*sums, 0, 0, 0, 0]


def test_rows_are_added_up_by_code():
    random = np.random.default_rng(4)
    cells, codes = random.integers(-9, 9, (40, 6)) / 2, random.integers(0, 3, 40)
    expected = [
        [sum(row[at] for row, code in zip(cells, codes, strict=True) if code == one) for at in range(6)]
        for one in range(4)
    ]
    found = rows_by_code(torch.from_numpy(cells), torch.from_numpy(codes), 4)
    assert found.tolist() == expected
    # Some of the cells of a wider rectangle.
    assert rows_by_code(torch.from_numpy(cells)[:, 1:4], torch.from_numpy(codes), 4).tolist() == [
        row[1:4] for row in expected
    ]


def test_an_infinite_row_stays_with_its_own_code():
    cells = torch.tensor([[1.0], [-math.inf], [2.0]], dtype=torch.float64)
    assert rows_by_code(cells, torch.tensor([0, 1, 0]), 3).tolist() == [[3.0], [-math.inf], [0.0]]


@pytest.mark.parametrize("codes", [[0, 5], [-1, 0]])
def test_a_code_that_is_out_of_range_is_an_error(codes):
    codes = torch.tensor(codes, dtype=torch.int32)
    with pytest.raises(IndexError, match="from 0 to 3"):
        rows_by_code(torch.ones(2, 1, dtype=torch.float64), codes, 4)
    with pytest.raises(IndexError, match="from 0 to 4"):
        sums_by_code(codes, 4, torch.ones(2, dtype=torch.float64))
