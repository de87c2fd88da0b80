"""The tensors that `update` of a WarpRec metric gets: dense, over all items, for some rows of a batch.

Item indices count through the catalogue and all items that the data names; N is "no item". No tensor has more than a
few million cells, however large the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bridgeval.plugin import (
    Block,
    Blocks,
    Hits,
    Ids,
    Ranked,
    Ranking,
    Relevance,
    Relevant,
    ShownColumn,
    ShownGains,
    encode_ids,
)
from bridgeval.toolkits.warprec.bases import BaseMetric, MetricBlock

CELLS = 1 << 23
EVERY_ROW = Relevance(above=None)


@dataclass(frozen=True)
class ItemSpace:
    """The items that indices count through.

    Attributes:
        ids: `[N]` sorted.
        index: `[V + 1]` int64: the index of each item code; N for "no item".
    """

    ids: Ids
    index: Tensor

    def __len__(self) -> int:
        return len(self.ids)


def make_item_space(blocks: Blocks) -> ItemSpace:
    """The items of the data and of the catalogue; made once for all batches of some Slates."""

    def make() -> ItemSpace:
        vocabulary, catalogue = blocks.batch.slates.items, blocks.context.catalogue
        ids = vocabulary if catalogue is None else encode_ids([vocabulary, catalogue], "item ids")[0]
        at = torch.from_numpy(vocabulary.positions_in(ids))
        return ItemSpace(ids, torch.cat([at, torch.tensor([len(ids)])]).to(blocks.device))

    return blocks.lookup.once(ItemSpace, make)


class DenseRows:
    """Some rows of a batch as WarpRec's evaluator hands them to a metric; dense tensors are shared by all metrics."""

    def __init__(self, blocks: Blocks, start: int, stop: int) -> None:
        self.blocks = blocks
        self.rows = slice(start, stop)
        self.space = make_item_space(blocks)

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    @property
    def users(self) -> Ids:
        start = self.blocks.batch.start
        return self.blocks.batch.slates.users.slice(start + self.rows.start, start + self.rows.stop)

    @cached_property
    def preds(self) -> Tensor:
        """`[b, N]` scores; -inf for items that are masked or not scored. A list without scores counts down to 1."""
        shown = self.blocks.batch.shown
        scores = shown.column("score") if shown.has("score") else self._countdown(shown.items)
        index = self.space.index[shown.items[self.rows].long()].masked_fill(~shown.valid[self.rows], len(self.space))
        cells = torch.full((len(self), len(self.space) + 1), float("-inf"), dtype=scores.dtype, device=scores.device)
        return cells.scatter_reduce_(1, index, scores[self.rows], "amax")[:, :-1]

    @cached_property
    def ground(self) -> Tensor:
        """`[b, N]` float32 ratings; 0 for none."""
        truth = self.blocks[Relevant(EVERY_ROW)]
        index = self.space.index[truth.items[self.rows].long()]
        cells = torch.zeros((len(self), len(self.space) + 1), device=self.blocks.device)
        return cells.scatter_(1, index, truth.gains[self.rows].float())[:, :-1]

    @cached_property
    def binary_relevance(self) -> Tensor:
        return BaseMetric.binary_relevance(self.ground)

    @cached_property
    def discounted_relevance(self) -> Tensor:
        return BaseMetric.discounted_relevance(self.ground)

    def keywords(self, metric: BaseMetric) -> dict[str, Any]:
        """The keyword arguments of `update`: as in WarpRec all of them, whichever the metric reads."""
        given: dict[str, Any] = {
            "user_indices": torch.arange(len(self), device=self.blocks.device),
            "item_indices": None,
            "ground": self.ground,
            "binary_relevance": self.binary_relevance,
            "discounted_relevance": self.discounted_relevance,
            "valid_users": self.blocks[Relevant()].valid[self.rows].any(1).float(),
        }
        k = getattr(metric, "k", None)
        if k is not None:
            given |= {which.keyword(k): self.top(which, k) for which in MetricBlock if which.value.startswith("top_k_")}
        return given

    def top(self, which: MetricBlock, k: int) -> Tensor:
        """`[b, k]`: a block of the first k places, by the native ranking."""
        shown = self.blocks[Ranked()]
        hits, fill = self.blocks[Hits()], 0.0
        if which is MetricBlock.TOP_K_INDICES:
            cells, fill = self.space.index[shown.items.long()], len(self.space)
        elif which is MetricBlock.TOP_K_BINARY_RELEVANCE:
            cells = hits.float()
        elif which is MetricBlock.TOP_K_DISCOUNTED_RELEVANCE:
            cells = torch.where(hits, torch.exp2(self.blocks[ShownGains()] + 1) - 1, 0.0).float()
        else:
            scored = self.blocks.batch.shown.has("score")
            scores = self.blocks[ShownColumn("score", Ranking())] if scored else self._countdown(shown.items)
            cells, fill = scores.masked_fill(~shown.valid, float("-inf")), float("-inf")
        cells = cells[self.rows, :k]
        return torch.nn.functional.pad(cells, (0, k - cells.shape[1]), value=fill)

    def _countdown(self, items: Tensor) -> Tensor:
        """Scores that fall from place to place, of the shape of `items`: for lists that have none."""
        width = self.blocks.batch.shown.width
        falling = torch.arange(width, 0, -1, dtype=torch.float32, device=self.blocks.device)
        return falling[: items.shape[1]].expand(items.shape)


@dataclass(frozen=True)
class WholeBatch(Block[DenseRows]):
    """All rows at once, shared by the metrics of a plan."""

    def make(self, blocks: Blocks) -> DenseRows:
        return DenseRows(blocks, 0, len(blocks))


def split_rows(blocks: Blocks) -> Iterator[DenseRows]:
    """The rows of a batch, in parts that keep dense tensors small."""
    step = max(1, CELLS // max(len(make_item_space(blocks)), 1))
    if len(blocks) <= step:
        yield blocks[WholeBatch()]
        return
    for start in range(0, len(blocks), step):
        yield DenseRows(blocks, start, min(start + step, len(blocks)))
