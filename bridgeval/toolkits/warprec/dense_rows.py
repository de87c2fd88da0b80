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
    Counted,
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
# Masked items fill up lists that are too short without them.
RANKING = Ranking(masked="keep")


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
        return ItemSpace(ids, torch.cat([at, torch.tensor([len(ids)], device="cpu")]).to(blocks.device))

    return blocks.lookup.once(ItemSpace, make)


class DenseRows:
    """Some rows of a batch as WarpRec's evaluator hands them to a metric; dense tensors are shared by all metrics.

    A metric is fed the b users who have a row of relevance, whatever its gain. If a metric asks for all users, those
    that are known but not fed keep their places in its states too.

    Attributes:
        fed: `[b]` int64: the rows of the batch that are fed.
        kept: `[n]` int64: the rows that have a place in the states; every fed row is among them.
    """

    def __init__(self, blocks: Blocks, start: int, stop: int) -> None:
        self.blocks = blocks
        self.space = make_item_space(blocks)
        fed = blocks[Counted("truth")][start:stop]
        kept = fed | blocks[Counted("known")][start:stop] if "all users" in blocks.needs.users else fed
        self.fed = torch.nonzero(fed).flatten() + start
        self.kept = torch.nonzero(kept).flatten() + start

    def __len__(self) -> int:
        return len(self.fed)

    @property
    def users(self) -> Ids:
        """`[n]`."""
        return self.blocks.batch.slates.users.take(self.blocks.batch.start + self.kept.cpu().numpy())

    @property
    def num_users(self) -> int:
        """All users that are known, as WarpRec counts them, but at least those at hand, and at least one."""
        return max(self.blocks.context.known_users, len(self.kept), 1)

    @cached_property
    def preds(self) -> Tensor:
        """`[b, N]` float32 scores; -inf for items masked or not listed. A list without scores counts down to 1."""
        shown = self.blocks.batch.shown
        scores = shown.column("score") if shown.has("score") else self._countdown(shown.items)
        shape = (len(self), len(self.space) + 1)
        cells = torch.full(shape, float("-inf"), dtype=torch.float32, device=self.blocks.device)
        return cells.scatter_reduce_(1, self._columns, scores[self.fed].float(), "amax")[:, :-1]

    @cached_property
    def listed(self) -> Tensor:
        """`[b, N]` bool: items that the recommendations have, masked or not."""
        cells = torch.zeros((len(self), len(self.space) + 1), dtype=torch.bool, device=self.blocks.device)
        return cells.scatter_(1, self._columns, True)[:, :-1]

    @cached_property
    def _columns(self) -> Tensor:
        """`[b, K]`: the index of each shown item; N where there is none."""
        shown = self.blocks.batch.shown
        return self.space.index[shown.items[self.fed].long()].masked_fill(~shown.valid[self.fed], len(self.space))

    @cached_property
    def ground(self) -> Tensor:
        """`[b, N]` float32 ratings; 0 for none."""
        truth = self.blocks[Relevant(EVERY_ROW)]
        index = self.space.index[truth.items[self.fed].long()]
        cells = torch.zeros((len(self), len(self.space) + 1), dtype=torch.float32, device=self.blocks.device)
        return cells.scatter_(1, index, truth.gains[self.fed].float())[:, :-1]

    @cached_property
    def binary_relevance(self) -> Tensor:
        return BaseMetric.binary_relevance(self.ground)

    @cached_property
    def discounted_relevance(self) -> Tensor:
        return BaseMetric.discounted_relevance(self.ground)

    def keywords(self, metric: BaseMetric) -> dict[str, Any]:
        """The keyword arguments of `update`: as in WarpRec all of them, whichever the metric reads."""
        given: dict[str, Any] = {
            "user_indices": torch.searchsorted(self.kept, self.fed),
            "item_indices": None,
            "ground": self.ground,
            "binary_relevance": self.binary_relevance,
            "discounted_relevance": self.discounted_relevance,
            "valid_users": self.blocks[Relevant()].valid[self.fed].any(1).float(),
        }
        k = getattr(metric, "k", None)
        if k is not None:
            given |= {which.keyword(k): self.top(which, k) for which in MetricBlock if which.value.startswith("top_k_")}
        return given

    def has_padding(self, k: int | None) -> bool:
        """Whether a list has fewer than k items."""
        return bool(k and (self.top(MetricBlock.TOP_K_INDICES, k) == len(self.space)).any())

    def top(self, which: MetricBlock, k: int) -> Tensor:
        """`[b, k]`: a block of the first k places, by the ranking of WarpRec's conventions."""
        shown = self.blocks[Ranked(RANKING)]
        hits, fill = self.blocks[Hits(RANKING)], 0.0
        if which is MetricBlock.TOP_K_INDICES:
            cells, fill = self.space.index[shown.items.long()], len(self.space)
        elif which is MetricBlock.TOP_K_BINARY_RELEVANCE:
            cells = hits.float()
        elif which is MetricBlock.TOP_K_DISCOUNTED_RELEVANCE:
            gains = self.blocks[ShownGains(RANKING, EVERY_ROW)].float()
            cells = BaseMetric.discounted_relevance(gains)
        else:
            scored = self.blocks.batch.shown.has("score")
            scores = self.blocks[ShownColumn("score", RANKING)] if scored else self._countdown(shown.items)
            cells, fill = scores.float().masked_fill(~shown.valid, float("-inf")), float("-inf")
        cells = cells[self.fed, :k]
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
