"""Census: the users and rows of an evaluation, counted in the same pass as the metrics, and merged as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bridgeval.engine.blocks import Blocks, Counted, Ranked, RelevantCount, ShownCount, by_item
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
from bridgeval.engine.state import Sums
from bridgeval.engine.summary import Result


@dataclass(frozen=True)
class Census(Metric):
    """Counts of users, rows and oddities, by the native decisions about meaning; `Population` describes each.

    Attributes:
        depth: lists shorter than this are called short; 0 calls none so.
    """

    name = "Census"
    depth: int = 0

    def needs(self) -> Needs:
        return Needs(depth=0)

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        shown, truth = blocks.batch.shown, blocks.batch.relevant
        in_shown, in_truth = shown.lengths > 0, truth.lengths > 0
        counted, listed = blocks[Counted()], blocks[ShownCount()]
        counts = {
            "users": in_shown | in_truth,
            "counted": counted,
            "shown_nothing": counted & (listed == 0),
            "no relevance given": in_shown & ~in_truth,
            "no relevant item": in_truth & (blocks[RelevantCount()] == 0),
        }
        if self.depth:
            counts["short_lists"] = counted & (listed < self.depth)
        sums = {name: int(flags.sum()) for name, flags in counts.items()}
        sums["repeated_shown"] = shown.repeated
        if shown.has("score"):
            seen = int(shown.seen.sum())
            sums |= {"masked": int(shown.masked.sum()) - seen, "seen": seen}
        sums |= {"relevant_rows": int(truth.lengths.sum()), "repeated_relevant": truth.repeated}
        if blocks.lookup.context.catalogue is not None:
            sums["unknown_shown"] = _count_unknown(blocks, blocks[Ranked()].items)
            sums["unknown_relevant"] = _count_unknown(blocks, truth.items)
        return Sums(sums)

    def compute(self, state: Any) -> Result:
        return Result(None, notes=dict(state.values))


def _count_unknown(blocks: Blocks, items: Tensor) -> int:
    """Counts the cells that hold an item that the catalogue lacks."""
    unknown = ~blocks.lookup.in_catalogue
    unknown[-1] = False
    # Usually the catalogue has them all: then no cell is looked at.
    return int(by_item(unknown, items).sum()) if bool(unknown.any()) else 0
