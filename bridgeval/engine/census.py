"""Census: who and what was there. Counted in the same pass as the metrics, and merged as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from bridgeval.data.needs import Needs
from bridgeval.engine.blocks import Blocks, Counted, Ranked, RelevantCount, ShownCount
from bridgeval.engine.metric import Metric
from bridgeval.engine.state import Sums
from bridgeval.engine.summary import Result


@dataclass(frozen=True)
class Census(Metric):
    """Counts of users, rows and oddities, by the native decisions about meaning.

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
        batch = blocks.batch
        has_relevant = blocks[RelevantCount()] > 0
        in_shown, in_relevant = batch.shown.lengths > 0, batch.relevant.lengths > 0
        shown_count = blocks[ShownCount()]
        counted = blocks[Counted()]
        counts = {
            "users": in_shown | in_relevant,
            "counted": counted,
            "shown nothing": counted & (shown_count == 0),
            "no relevance given": in_shown & ~in_relevant,
            "no relevant item": in_relevant & ~has_relevant,
        }
        if self.depth:
            counts["short lists"] = counted & (shown_count < self.depth)
        sums = dict(zip(counts, torch.stack(list(counts.values())).sum(1).tolist(), strict=True))
        sums |= batch.shown.counts()
        sums |= {
            "relevant rows": int(batch.relevant.lengths.sum()),
            "repeated relevant rows": batch.relevant.repeated,
        }
        if blocks.context.catalogue is not None:
            known = blocks.lookup.in_catalogue
            shown, relevant = blocks[Ranked()], batch.relevant
            unknown = ~known[shown.items.long()] & shown.valid
            sums["shown items not in the catalogue"] = int(unknown.sum())
            unknown = ~known[relevant.items.long()] & relevant.valid
            sums["relevant items not in the catalogue"] = int(unknown.sum())
        return Sums(sums)

    def compute(self, state: Any) -> Result:
        return Result(None, notes=dict(state.values))
