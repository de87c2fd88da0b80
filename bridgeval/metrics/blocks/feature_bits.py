"""Features of items as bits, so that a few operations count the different ones of a list."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from bridgeval.batch.kernels import unite_bits
from bridgeval.engine.blocks import Block, Blocks, by_item
from bridgeval.engine.cumulative import Cumulative
from bridgeval.tables.context import Table

# Bits of an int32 that are used: the sign is left alone.
FEATURES_PER_WORD = 31


@dataclass(frozen=True)
class FeatureBits(Block[Tensor]):
    """The features of each item of the vocabulary: `[W, V + 1]` int32, a word for every 31 features.

    Attributes:
        positive: only features with a value above 0; otherwise all that are not 0.
    """

    positive: bool = False

    def make(self, blocks: Blocks) -> Tensor:
        features = blocks.context.items["features"]
        return blocks.lookup.once(self, lambda: blocks.lookup.align(self._words(features)).t().contiguous())

    def _words(self, features: Table) -> Table:
        """The words of each item that has features."""
        has = features.values > 0 if self.positive else features.values != 0
        number = np.arange(has.shape[1])
        # Sums of different powers of two are exact, and are the bits of a word.
        powers = np.zeros((len(number), max(math.ceil(len(number) / FEATURES_PER_WORD), 1)))
        powers[number, number // FEATURES_PER_WORD] = 2.0 ** (number % FEATURES_PER_WORD)
        return Table(features.ids, (has @ powers).astype(np.int32))


def count_features(words: Tensor, items: Tensor, cutoffs: tuple[int, ...]) -> Cumulative:
    """`[B]` float64: how many different features the items in the first k places have.

    Args:
        words: `[W, V + 1]`, see `FeatureBits`.
        items: `[N, B]` codes, place by place.

    >>> import torch
    >>> bits = torch.tensor([[0b01, 0b11, 0]], dtype=torch.int32)
    >>> count_features(bits, torch.tensor([[0, 2], [1, 0]]), (1, 2)).sums
    tensor([[1., 0.],
            [2., 1.]], dtype=torch.float64)
    """
    return Cumulative(cutoffs, count_bits(unite_features(words, items, cutoffs)).sum(0).double())


def unite_features(words: Tensor, items: Tensor, cutoffs: tuple[int, ...]) -> Tensor:
    """`[W, cutoffs, B]`: the bits that any of the items in the first k places has; see `count_features`."""
    return unite_bits(words.index_select(1, items.reshape(-1)).view(len(words), *items.shape), cutoffs)


def has_feature(words: Tensor, number: int, items: Tensor) -> Tensor:
    """Whether items have one feature, counted from 0: bool, in the shape of `items`.

    >>> import torch
    >>> has_feature(torch.tensor([[0b01, 0b11, 0]], dtype=torch.int32), 1, torch.tensor([0, 1, 2]))
    tensor([False,  True, False])
    """
    word, bit = divmod(number, FEATURES_PER_WORD)
    return (by_item(words[word], items) >> bit & 1).bool()


def count_bits(words: Tensor) -> Tensor:
    """Counts the bits that are set in each int32 from 0 up.

    Counts within pairs of bits, then fours, then bytes; the product adds up the bytes (Warren, Hacker's Delight, 5-1).

    >>> import torch
    >>> count_bits(torch.tensor([0b101, 0, (1 << 31) - 1], dtype=torch.int32))
    tensor([ 2,  0, 31], dtype=torch.int32)
    """
    words = words - (words >> 1 & 0x55555555)
    words = (words & 0x33333333) + (words >> 2 & 0x33333333)
    words = words + (words >> 4) & 0x0F0F0F0F
    return words * 0x01010101 >> 24
