"""Rankings and counts of score matrices against loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bridgeval.batch.rank_counts import count_in_scores, pick_scores
from bridgeval.batch.ranking import Ranking, RelevantLists, rank
from bridgeval.batch.score_batch import ItemColumns, ScoreBatch
from bridgeval.batch.transfer import Cargo
from bridgeval.tables.ids import Ids

IDS = Ids.of(range(13))
# 0, 1, 10, 11, 12, 2, 3, ...
BY_TEXT = sorted(range(13), key=str)


@pytest.mark.parametrize("ties", ["item_descending", "item_ascending", "text_descending", "given"])
@pytest.mark.parametrize("masked", ["drop", "keep"])
@pytest.mark.parametrize("depth", [1, 4, 11, 12, None])
def test_the_best_places_are_those_of_a_full_sort(ties, masked, depth):
    rng = np.random.default_rng(3)
    scores = rng.integers(-2, 3, (60, 12)).astype(np.float32)
    scores[scores == -2] = -np.inf
    codes = rng.permutation(12).astype(np.int32)
    columns = ItemColumns.of(codes, IDS.slice(0, 12), torch.device("cpu"))
    batch = ScoreBatch.of(torch.from_numpy(scores), columns, None, {}, Cargo(torch.device("cpu")))
    ranked = rank(batch, Ranking(ties=ties, masked=masked), depth)
    among_equals = {
        "item_descending": -codes,
        "item_ascending": codes,
        "text_descending": -np.array([BY_TEXT.index(code) for code in codes]),
        "given": np.arange(12),
    }[ties]
    for row in range(60):
        order = np.lexsort((among_equals, -scores[row]))
        columns = [c for c in order if masked == "keep" or scores[row, c] != -np.inf][:depth]
        assert ranked.items[row][ranked.valid[row]].tolist() == codes[columns].tolist()


@pytest.mark.parametrize("ties", ["item_descending", "item_ascending", "text_descending", "given"])
@pytest.mark.parametrize("masked", ["drop", "keep"])
@pytest.mark.parametrize("decided", [False, True])
def test_candidates_above_are_counted_as_loops_count_them(ties, masked, decided):
    rng = np.random.default_rng(8)
    scores = rng.integers(-2, 3, (50, 12)).astype(np.float32)
    scores[scores == -2] = -np.inf
    codes = rng.permutation(13)[:12].astype(np.int32)
    batch = ScoreBatch.of(
        torch.from_numpy(scores), ItemColumns.of(codes, IDS, torch.device("cpu")), None, {}, Cargo(torch.device("cpu"))
    )
    wanted = np.stack([np.sort(rng.choice(13, 4, replace=False)) for _ in range(50)]).astype(np.int32)
    lengths = rng.integers(0, 5, 50)
    valid = np.arange(4) < lengths[:, None]
    items = torch.from_numpy(np.where(valid, wanted, 13))
    relevant = RelevantLists(items, torch.ones(50, 4), torch.from_numpy(valid), torch.zeros(50, 4))
    ranking = Ranking(ties=ties, masked=masked)
    found = count_in_scores(batch, ranking, relevant, pick_scores(batch, ranking, relevant), decided=decided)
    order = {
        "item_descending": lambda c: codes[c],
        "item_ascending": lambda c: -codes[c],
        "text_descending": lambda c: BY_TEXT.index(codes[c]),
        "given": lambda c: -c,
    }[ties]
    for row in range(50):
        shown = [c for c in range(12) if masked == "keep" or scores[row, c] != -np.inf]
        mine = [c for c in shown if codes[c] in wanted[row][valid[row]]]
        others = [c for c in shown if c not in mine]
        assert int(found.candidates[row]) == len(shown)
        assert sorted(items[row][found.found[row]].tolist()) == sorted(codes[mine].tolist())
        for at in torch.nonzero(found.found[row]).flatten().tolist():
            c = codes.tolist().index(int(items[row, at]))
            above = [o for o in others if scores[row, o] > scores[row, c]]
            tied = [o for o in others if scores[row, o] == scores[row, c]]
            if decided:
                above, tied = above + [o for o in tied if order(o) > order(c)], []
            assert (int(found.above[row, at]), int(found.tied[row, at])) == (len(above), len(tied))
