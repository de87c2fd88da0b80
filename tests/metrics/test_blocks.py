"""Blocks that families share, against loops."""

from __future__ import annotations

import pytest
import torch

from bridgeval.batch.ranking import RelevantLists
from bridgeval.metrics.blocks.feature_bits import count_bits, count_features
from bridgeval.metrics.blocks.hits import HitList

PLACES, USERS = 40, 30


@pytest.mark.parametrize("cutoffs", [(PLACES,), (1, 2, 3), (4, 17, 90)])
def test_features_of_the_first_k_places_are_those_of_a_loop_even_over_several_words(cutoffs):
    random = torch.Generator().manual_seed(6)
    items = torch.randint(0, 5, (PLACES, USERS), generator=random, dtype=torch.int32)
    words = torch.randint(0, 1 << 31, (2, 5), generator=random, dtype=torch.int64).to(torch.int32)
    words[:, 4] = 0
    found = count_features(words, items, cutoffs)
    for k in cutoffs:
        for user, shown in enumerate(items[:k].t().tolist()):
            joined = [0, 0]
            for item in shown:
                joined = [one | int(word) for one, word in zip(joined, words[:, item], strict=True)]
            assert found.up_to(k)[user] == sum(bin(one).count("1") for one in joined)


def test_bits_are_counted_in_every_place_of_a_word():
    words = [1 << bit for bit in range(31)] + [(1 << bit) - 1 for bit in range(32)]
    assert count_bits(torch.tensor(words, dtype=torch.int32)).tolist() == [bin(word).count("1") for word in words]


def test_hits_are_numbered_within_their_user():
    rows, places, columns = torch.tensor([0, 0, 2, 2, 2]), torch.tensor([1, 4, 0, 1, 7]), torch.tensor([0, 1, 0, 1, 2])
    items = torch.tensor([[5, 6, 9], [9, 9, 9], [5, 7, 8], [9, 9, 9]])
    relevant = RelevantLists(items, items / 2, items < 9, torch.zeros_like(items))
    hits = HitList(rows, places, columns, relevant, users=4, cutoffs=(2, 8), ends=torch.tensor([2, 8]))
    assert hits.items.tolist() == [5, 6, 5, 7, 8]
    assert hits.ordinals.tolist() == [1, 2, 1, 2, 3]
    assert hits.ranks.tolist() == [2, 5, 1, 2, 8]
    assert hits.sum().up_to(2).tolist() == [1, 0, 2, 0]
    assert hits.sum_by_code(hits.items, 9).up_to(8).tolist() == [0, 0, 0, 0, 0, 2, 1, 1, 1]
