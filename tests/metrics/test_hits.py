"""Places added up for every cutoff, beside loops."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

from bridgeval.metrics.blocks.hits import PlaceList

USERS, DEPTH = 7, 12


def some_places(cutoffs: tuple[int, ...]) -> PlaceList:
    flags = np.random.default_rng(11).random((USERS, DEPTH)) < 0.4
    flags[3] = False
    rows, places = (torch.from_numpy(part) for part in np.nonzero(flags))
    return PlaceList(rows, places + 1, USERS, DEPTH, cutoffs)


@pytest.mark.parametrize("cutoffs", [(DEPTH,), (3, 5), (1, 4, 40), (20, 30)])
@pytest.mark.parametrize("k", [1, 3, 4, 5, 8, DEPTH, 40])
def test_sums_are_those_of_the_first_k_places_whether_k_is_a_cutoff_or_not(cutoffs, k):
    places = some_places(cutoffs)
    values = torch.arange(1, len(places.rows) + 1, dtype=torch.float64) / 8
    codes = torch.arange(len(places.rows)) % 3
    within = [at for at, place in enumerate(places.place_of.tolist()) if place <= k]
    counts, sums, by_code, weighted = [0] * USERS, [0.0] * USERS, [0] * 3, [0.0] * 3
    for at in within:
        counts[places.rows[at]] += 1
        sums[places.rows[at]] += values[at].item()
        by_code[codes[at]] += 1
        weighted[codes[at]] += values[at].item()
    assert places.count(k).tolist() == counts
    assert places.running(values).up_to(k).tolist() == sums
    assert places.by_code(codes, 3).up_to(k).tolist() == by_code
    assert places.by_code(codes, 3, values).up_to(k).tolist() == weighted


def test_a_list_of_places_goes_with_its_last_user():
    places = some_places((3, 5))
    places.count(4)
    gone = weakref.ref(places)
    gc.disable()
    try:
        del places
        assert gone() is None
    finally:
        gc.enable()
