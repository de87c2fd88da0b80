"""Sums over the first k places against loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

import bridgeval
from bridgeval.engine.cumulative import Cumulative
from bridgeval.errors import NeedError
from bridgeval.plugin import HitCounts, TopKMetric

USERS, DEPTH = 7, 12


def some_cells():
    cells = np.random.default_rng(11).integers(0, 9, (USERS, DEPTH)) / 8
    cells[3] = 0
    return torch.from_numpy(cells)


@pytest.mark.parametrize("cutoffs", [(DEPTH,), (3, 5), (1, 4, 40), (20, 30)])
def test_sums_are_those_of_the_first_k_places_for_every_cutoff(cutoffs):
    cells = some_cells()
    rows, places = torch.nonzero(cells, as_tuple=True)
    of_places = Cumulative.of_places(cutoffs, lambda chosen: cells[:, chosen].sum(1))
    of_entries = Cumulative.of_entries(cutoffs, rows, places, USERS, cells[rows, places])
    counts = Cumulative.of_entries(cutoffs, rows, places, USERS)
    for k in cutoffs:
        sums = [sum(row[:k]) for row in cells.tolist()]
        assert of_places.up_to(k).tolist() == sums
        assert of_entries.up_to(k).tolist() == sums
        assert counts.up_to(k).tolist() == [sum(cell > 0 for cell in row[:k]) for row in cells.tolist()]


@dataclass(frozen=True)
class HitsOfTwice(TopKMetric):
    """Reads twice as deep as it says."""

    name = "HitsOfTwice"

    def values(self, blocks):
        return blocks[HitCounts(self.ranking, self.relevance)].up_to(2 * self.k)


def test_a_cutoff_that_was_not_declared_is_an_error_that_says_where_to_declare_it():
    with pytest.raises(NeedError, match=r"nothing was summed up to place 6; found: the cutoffs 3; .* in needs\(\)"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, HitsOfTwice(3))
