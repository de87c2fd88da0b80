"""What the metrics of this folder are built on: metrics of all lists together, and groups of items and users."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.data.context import Table
from bridgeval.data.needs import Needs
from bridgeval.data.ranking import Order, Ranking, Relevance
from bridgeval.engine.blocks import Block, Blocks, Counted, Ranked
from bridgeval.engine.metric import Metric, TopKMetric, check_cutoff
from bridgeval.engine.state import Floats, ItemSums
from bridgeval.engine.summary import Result
from bridgeval.errors import BadParameterError


@dataclass(frozen=True)
class WholeMetric(Metric):
    """One number of all lists together, over the first k places of each.

    Attributes:
        order: as in `Ranking`.
        above: gains above this are relevant; None takes every row of the truth.
    """

    k: int
    order: Order = field(default="score", kw_only=True)
    above: float | None = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_cutoff(self.name, self.k)

    def needs(self) -> Needs:
        return Needs(depth=self.k)

    @property
    def ranking(self) -> Ranking:
        return Ranking(self.order)

    @property
    def relevance(self) -> Relevance:
        return Relevance(self.above)

    def tested(self, blocks: Blocks) -> Tensor:
        """`[B]` bool: users with a relevant row."""
        return blocks[Counted("relevant", self.ranking, self.relevance)]

    def shown(self, blocks: Blocks) -> tuple[Tensor, Tensor]:
        """Items in the first k places and which of the cells hold one: `[B, <= k]` each."""
        lists = blocks[Ranked(self.ranking)]
        return lists.items[:, : self.k], lists.valid[:, : self.k]


@dataclass(frozen=True)
class StrictMetric(TopKMetric):
    """A per-user metric that may refuse to average when a user has no value.

    Attributes:
        undefined: users that count but have no value are left out ("leave_out"), or make the whole NaN ("spoil"), as
            arithmetic in Java does.
    """

    undefined: Literal["leave_out", "spoil"] = field(default="leave_out", kw_only=True)

    def compute(self, state: object) -> Result:
        result = super().compute(state)
        spoilt = self.undefined == "spoil" and result.undefined and result.value is not None
        return replace(result, value=float("nan")) if spoilt else result


@dataclass(frozen=True)
class Known:
    """Who a source knows: users of the lists, of the truth and of the history."""

    @staticmethod
    def of(blocks: Blocks) -> Tensor:
        """`[B]` bool. A batch may hold more users than these, because another metric asked for them."""
        batch = blocks.batch
        known = (batch.shown.lengths > 0) | (batch.relevant.lengths > 0)
        return known | batch.user_column("in_history").bool()


@dataclass(frozen=True)
class ItemFlags(Block[Tensor]):
    """Whether each shown item has a feature: `[B, D]` bool.

    Attributes:
        feature: its name; None where there is only one.
        table: "features", where the value must be 1; "feature_rows", where any row of the feature file will do.
    """

    feature: str | None
    ranking: Ranking = Ranking()
    table: str = "features"

    def make(self, blocks: Blocks) -> Tensor:
        column = column_of(blocks.context.items[self.table], self.feature)
        flags = blocks.lookup.items(self.table)[:, column] == 1
        shown = blocks[Ranked(self.ranking)]
        return flags[shown.items.long()] & shown.valid


def user_features(blocks: Blocks) -> Tensor:
    """`[B, F]` bool: who has which feature with the value 1."""
    start, stop = blocks.batch.start, blocks.batch.stop
    return blocks.lookup.users("features")[start:stop] == 1


def in_protected_group(blocks: Blocks, feature: str | None) -> Tensor:
    """`[B]` bool: users whose last feature is the protected one. LibRec goes through the features of a user and lets
    the last decide, so with several features for a user the order in the file matters.
    """
    flags = user_features(blocks)
    column = column_of(blocks.context.users["features"], feature)
    numbers = torch.arange(1, flags.shape[1] + 1, device=blocks.device)
    return (flags * numbers).amax(1) == column + 1


def column_of(table: Table, feature: str | None) -> int:
    """The column of a feature; the only one where none is named."""
    if feature is None and len(table.labels) == 1:
        return 0
    if feature not in table.labels:
        raise BadParameterError(
            f"there is no feature {feature!r}" if feature else "it is not said which feature is protected",
            f"features {', '.join(map(str, table.labels[:10]))}",
            f"write e.g. (protected={str(table.labels[0])!r})" if table.labels else "give a feature file with rows",
        )
    return table.labels.index(feature)


def summed_by_item(blocks: Blocks, items: Tensor, valid: Tensor, numbers: Tensor | None = None) -> Floats:
    """`[V]` float64: numbers of the valid cells (1 each by default) added up for each item of the vocabulary."""
    size = len(blocks.batch.slates.items)
    weights = None if numbers is None else numbers[valid].double().cpu().numpy()
    sums = np.bincount(items[valid].cpu().numpy(), weights, minlength=size)
    return sums.astype(np.float64)


def item_state(blocks: Blocks, *columns: Floats) -> ItemSums:
    """The state of sums by item, `[V, number of columns]`."""
    return ItemSums(blocks.batch.slates.items, np.column_stack(columns))
