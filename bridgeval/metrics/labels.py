"""Labels: the features of items as bits, so that a few operations tell how many different ones a list has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks

LABELS_IN_A_WORD = 63
"""The sign is left alone."""


@dataclass(frozen=True)
class LabelBits(Block[Tensor]):
    """The features of each item of the vocabulary: `[W, V + 1]` int64, a word for every 63 features.

    Attributes:
        positive: only features with a value above 0, not all that are not 0.
    """

    positive: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        return blocks.lookup.once(self, lambda: self._of(blocks.lookup.items("features")))

    def _of(self, features: Tensor) -> Tensor:
        has = features > 0 if self.positive else features != 0
        count = max(math.ceil(features.shape[1] / LABELS_IN_A_WORD), 1)
        words = torch.zeros((count, len(has)), dtype=torch.int64, device=has.device)
        for label, of_items in enumerate(has.unbind(1)):
            word, bit = divmod(label, LABELS_IN_A_WORD)
            words[word] |= of_items.long() << bit
        return words


def label_count(words: Iterable[Tensor]) -> Tensor:
    """How many bits of each number are set, added up over words of one shape.

    >>> label_count([torch.tensor([0b101, 0]), torch.tensor([(1 << 63) - 1, 1])])
    tensor([65,  1])
    """
    return reduce(torch.add, map(_bit_count, words))


def _bit_count(bits: Tensor) -> Tensor:
    """Counted within pairs of bits, fours and bytes; the product adds up the bytes."""
    bits = bits - (bits >> 1 & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333)
    bits = bits + (bits >> 4) & 0x0F0F0F0F0F0F0F0F
    return bits * 0x0101010101010101 >> 56
