"""Labels: the features of items as short lists of codes, which cost less to look at than a column for each feature."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks

NO_LABEL = -1


@dataclass(frozen=True)
class ItemLabels(Block[Tensor]):
    """The features of each item of the vocabulary: `[V + 1, L]` int64 codes from 0, L the most an item has.

    NO_LABEL where an item has fewer.

    Attributes:
        positive: only features with a value above 0, not all that are not 0.
    """

    positive: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._of(blocks.lookup.items("features")))

    def _of(self, features: Tensor) -> Tensor:
        has = features > 0 if self.positive else features != 0
        items, codes = torch.nonzero(has, as_tuple=True)
        labels = torch.full((len(has), max(int(has.sum(1).max()), 1)), NO_LABEL, device=has.device)
        labels[items, has.cumsum(1)[items, codes] - 1] = codes
        return labels


@dataclass(frozen=True)
class Labelled:
    """Pairs of a user and a label.

    Attributes:
        cells: `[n]` int64: row * F + label.
        of: `[n]` int64: which of the items that were asked about it belongs to.
        shape: (B, F).
    """

    cells: Tensor
    of: Tensor
    shape: tuple[int, int]


def labelled(blocks: Blocks, rows: Tensor, items: Tensor) -> Labelled:
    """The labels, with a value above 0, of items `[n]` in rows `[n]` of the batch."""
    count = blocks.lookup.items("features").shape[1]
    labels = blocks[ItemLabels(positive=True)][items.long()]
    of, place = torch.nonzero(labels != NO_LABEL, as_tuple=True)
    return Labelled(rows[of] * count + labels[of, place], of, (len(blocks), count))
