"""Rank counts: how many candidates stand above each relevant item, in whole rankings of lists and of score matrices."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.batch.batch import MASKED
from bridgeval.batch.kernels import count_above
from bridgeval.batch.ranking import TIES, RankedLists, Ranking, RelevantLists, match
from bridgeval.batch.score_batch import ScoreBatch


@dataclass(frozen=True)
class CandidateCounts:
    """For each relevant item, the irrelevant candidates that beat it.

    Attributes:
        found: `[B, R]` bool: whether the item is among the candidates.
        above: `[B, R]` int64: irrelevant candidates that stand above it.
        tied: `[B, R]` int64: irrelevant candidates with the same score; 0 for lists without scores, and if the ranking
            decides ties.
        candidates: `[B]` int64: how many candidates there are, relevant ones included.
    """

    found: Tensor
    above: Tensor
    tied: Tensor
    candidates: Tensor


def count_in_lists(ranked: RankedLists, scores: Tensor | None, relevant: RelevantLists) -> CandidateCounts:
    """Counts in whole ranked lists.

    Args:
        ranked: `[B, K]`.
        scores: `[B, K]` in ranked order; None if the order alone counts.
        relevant: `[B, R]`.
    """
    rows, places, columns = match(ranked, relevant)
    misses = ranked.valid.long()
    misses[rows, places] = 0
    above = misses.cumsum(1) - misses
    tied = torch.zeros_like(above)
    if scores is not None and scores.shape[1]:
        # Cells of equal scores form a group: what is above its first cell is above all of it.
        starts = torch.ones_like(ranked.valid)
        starts[:, 1:] = (scores[:, 1:] != scores[:, :-1]) | ~ranked.valid[:, 1:]
        group = starts.cumsum(1) - 1
        tied = torch.zeros_like(misses).scatter_add_(1, group, misses).gather(1, group)
        above = torch.zeros_like(above).scatter_reduce_(1, group, above, "amin", include_self=False).gather(1, group)
    found = torch.zeros(relevant.items.shape, dtype=torch.bool, device=misses.device)
    found[rows, columns] = True
    cells = rows * found.shape[1] + columns
    return CandidateCounts(
        found,
        _scatter_lowest(above[rows, places], cells, found.shape),
        _scatter_lowest(tied[rows, places], cells, found.shape),
        ranked.counts,
    )


def _scatter_lowest(values: Tensor, cells: Tensor, shape: torch.Size) -> Tensor:
    """Values `[n]` written to cells of a rectangle; the best place of a repeated item counts."""
    scattered = torch.zeros(shape.numel(), dtype=values.dtype, device=values.device)
    return scattered.scatter_reduce_(0, cells, values, "amin", include_self=False).view(shape)


def count_in_scores(
    shown: ScoreBatch,
    ranking: Ranking,
    relevant: RelevantLists,
    picked: tuple[Tensor, Tensor],
    *,
    decided: bool = False,
) -> CandidateCounts:
    """Counts in score matrices, without sorting a row.

    Args:
        picked: the scores of the relevant items, see `pick_scores`.
        decided: whether the tie rule of the ranking decides between equal scores, so that none is left.
    """
    scores, known = picked
    # What is no candidate has nothing above it, and is above nothing.
    wanted = scores.masked_fill(~known, torch.nan)
    first = own = None
    if decided:
        first = TIES[ranking.ties](shown.columns.codes[None], shown)[0]
        own = first[shown.columns.places[relevant.items.long()].clamp(min=0)]
    above, equal = count_above(shown.scores, wanted, first, own)
    relevant_above, relevant_equal = count_above(wanted, wanted, own, own)
    return CandidateCounts(known, above - relevant_above, equal - relevant_equal, count_candidates(shown, ranking))


def count_candidates(shown: ScoreBatch, ranking: Ranking) -> Tensor:
    """`[B]` int64: how many items a ranking of all of them has."""
    return shown.width - (shown.masked if ranking.masked == "drop" else torch.zeros_like(shown.masked))


def pick_scores(shown: ScoreBatch, ranking: Ranking, relevant: RelevantLists) -> tuple[Tensor, Tensor]:
    """`[B, R]` each: the scores of the relevant items, and which of them are candidates."""
    where = shown.columns.places[relevant.items.long()]
    known = relevant.distinct & (where >= 0)
    if not shown.width:
        return torch.zeros(where.shape, device=where.device), known
    scores = shown.scores.gather(1, where.clamp(min=0))
    return scores, known if ranking.masked == "keep" else known & (scores != MASKED)
