"""Labels: the features of items as bits, so that a few operations tell how many different ones a list has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from bridgeval.engine.blocks import Block, Blocks
from bridgeval.tables.context import Table

LABELS_IN_A_WORD = 31
"""The sign is left alone."""


@dataclass(frozen=True)
class LabelBits(Block[Tensor]):
    """The features of each item of the vocabulary: `[W, V + 1]` int32, a word for every 31 features.

    Attributes:
        positive: only features with a value above 0, not all that are not 0.
    """

    positive: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        features = blocks.context.items["features"]
        if self.positive and blocks.lookup.once("no feature below 0", lambda: bool((features.values >= 0).all())):
            return blocks[LabelBits()]
        return blocks.lookup.once(self, lambda: blocks.lookup.aligned(self._of(features)).t().contiguous())

    def _of(self, features: Table) -> Table:
        """The words of each item that has features."""
        has = features.values > 0 if self.positive else features.values != 0
        labels = np.arange(has.shape[1])
        # Sums of different powers of two are exact, and the bits of a word.
        powers = np.zeros((len(labels), max(math.ceil(len(labels) / LABELS_IN_A_WORD), 1)))
        powers[labels, labels // LABELS_IN_A_WORD] = 2.0 ** (labels % LABELS_IN_A_WORD)
        return Table(features.ids, (has @ powers).astype(np.int32))


def label_count(words: Iterable[Tensor]) -> Tensor:
    """How many bits of each number are set, added up over words of one shape.

    >>> label_count([torch.tensor([0b101, 0], dtype=torch.int32), torch.tensor([(1 << 31) - 1, 1], dtype=torch.int32)])
    tensor([33,  1], dtype=torch.int32)
    """
    return reduce(torch.add, map(_bit_count, words))


def _bit_count(bits: Tensor) -> Tensor:
    """By numpy; elsewhere than on the CPU within pairs of bits, fours and bytes, which the product adds up."""
    if bits.is_cpu:
        return torch.from_numpy(np.bitwise_count(bits.numpy()).astype(np.int32))
    bits = bits - (bits >> 1 & 0x55555555)
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333)
    bits = bits + (bits >> 4) & 0x0F0F0F0F
    return bits * 0x01010101 >> 24
