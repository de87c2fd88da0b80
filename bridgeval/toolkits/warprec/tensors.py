"""What `update` of a WarpRec metric is given: dense tensors over all items, for some rows of a batch.

Item indices count through the catalogue and all items that the data names; N is "no item". Nothing larger than a few
million cells is made at a time, however large the batch.
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


def item_space(blocks: Blocks) -> ItemSpace:
    """Made once for all batches of some Slates."""

    def made() -> ItemSpace:
        vocabulary, catalogue = blocks.batch.slates.items, blocks.context.catalogue
        ids = vocabulary if catalogue is None else encode_ids([vocabulary, catalogue], "item ids")[0]
        at = torch.from_numpy(vocabulary.positions_in(ids))
        return ItemSpace(ids, torch.cat([at, torch.tensor([len(ids)])]).to(blocks.device))

    return blocks.lookup.once(ItemSpace, made)


class Rows:
    """Some rows of a batch as WarpRec's evaluator hands them to a metric. Tensors are made when first asked for."""

    def __init__(self, blocks: Blocks, start: int, stop: int) -> None:
        self.blocks = blocks
        self.rows = slice(start, stop)
        self.space = item_space(blocks)

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    @cached_property
    def preds(self) -> Tensor:
        """`[b, N]` scores; -inf for what is masked or not scored. A list without scores counts down to 1."""
        shown = self.blocks.batch.shown
        scores = shown.column("score")[self.rows] if shown.has("score") else self._countdown(shown.width)
        if shown.complete and len(self.space) == shown.width and self._in_order:
            return scores
        index = self.space.index[shown.items[self.rows].long()].masked_fill(~shown.valid[self.rows], len(self.space))
        cells = torch.full((len(self), len(self.space) + 1), float("-inf"), dtype=scores.dtype, device=scores.device)
        return cells.scatter_reduce_(1, index, scores, "amax")[:, :-1]

    @property
    def _in_order(self) -> bool:
        items = self.blocks.batch.shown.items
        return not len(items) or bool((items[0, 1:] > items[0, :-1]).all())

    def _countdown(self, width: int) -> Tensor:
        return torch.arange(width, 0, -1, dtype=torch.float32, device=self.blocks.device).expand(len(self), -1)

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

    @cached_property
    def valid_users(self) -> Tensor:
        return self.blocks[Relevant()].valid[self.rows].any(1).float()

    def top(self, which: MetricBlock, k: int) -> Tensor:
        """`[b, k]`, by the native ranking."""
        shown = self.blocks[Ranked()]
        if which is MetricBlock.TOP_K_INDICES:
            return self._cut(self.space.index[shown.items.long()], k, len(self.space))
        if which is MetricBlock.TOP_K_BINARY_RELEVANCE:
            return self._cut(self.blocks[Hits()].float(), k, 0)
        if which is MetricBlock.TOP_K_DISCOUNTED_RELEVANCE:
            gains = torch.where(self.blocks[Hits()], torch.exp2(self.blocks[ShownGains()] + 1) - 1, 0.0)
            return self._cut(gains.float(), k, 0)
        if self.blocks.batch.shown.has("score"):
            scores = self.blocks[ShownColumn("score", Ranking())]
        else:
            width = self.blocks.batch.shown.width
            countdown = torch.arange(width, 0, -1, dtype=torch.float32, device=self.blocks.device)
            scores = countdown[: shown.items.shape[1]].expand(shown.items.shape)
        return self._cut(scores.masked_fill(~shown.valid, float("-inf")), k, float("-inf"))

    def _cut(self, cells: Tensor, k: int, fill: float) -> Tensor:
        cells = cells[self.rows, :k]
        return torch.nn.functional.pad(cells, (0, k - cells.shape[1]), value=fill)

    def keywords(self, metric: BaseMetric, dense: frozenset[str]) -> dict[str, Any]:
        """All that `update` gets by keyword. Of the tensors over all items only those in `dense` are made."""
        k = getattr(metric, "k", None)
        given: dict[str, Any] = {name: getattr(self, name) for name in sorted(dense)}
        given |= {
            "user_indices": torch.arange(len(self), device=self.blocks.device),
            "item_indices": None,
            "valid_users": self.valid_users,
        }
        if k is not None:
            given |= {which.keyword(k): self.top(which, k) for which in MetricBlock if which.value.startswith("top_k_")}
        return given


@dataclass(frozen=True)
class WholeBatch(Block[Rows]):
    """All rows at once, shared by the metrics of a plan."""

    def make(self, blocks: Blocks) -> Rows:
        return Rows(blocks, 0, len(blocks))


def rows_of(blocks: Blocks) -> Iterator[Rows]:
    """The rows of a batch, in parts that keep dense tensors small."""
    step = max(1, CELLS // max(len(item_space(blocks)), 1))
    if len(blocks) <= step:
        yield blocks[WholeBatch()]
        return
    for start in range(0, len(blocks), step):
        yield Rows(blocks, start, min(start + step, len(blocks)))
