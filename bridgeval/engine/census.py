"""Census: who and what was there. Counted in the same pass as the metrics, and merged as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from bridgeval.engine.blocks import Blocks, Counted, Ranked, RelevantCount, ShownCount, by_item
from bridgeval.engine.metric import Metric
from bridgeval.engine.needs import Needs
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
        counted, shown, relevant = (_array(blocks[of]) for of in (Counted(), ShownCount(), RelevantCount()))
        shown_rows, relevant_rows = _array(batch.shown.lengths), _array(batch.relevant.lengths)
        in_shown, in_relevant = shown_rows > 0, relevant_rows > 0
        counts = {
            "users": in_shown | in_relevant,
            "counted": counted,
            "shown nothing": counted & (shown == 0),
            "no relevance given": in_shown & ~in_relevant,
            "no relevant item": in_relevant & (relevant == 0),
        }
        if self.depth:
            counts["short lists"] = counted & (shown < self.depth)
        sums = {name: int(np.count_nonzero(flags)) for name, flags in counts.items()}
        sums |= {"shown rows": int(batch.shown.lengths.sum()), "repeated shown rows": batch.shown.repeated}
        if batch.shown.has("score"):
            seen = int(batch.shown.seen.sum())
            sums |= {"masked rows": int(batch.shown.masked.sum()) - seen, "seen rows": seen}
        sums |= {
            "relevant rows": int(relevant_rows.sum()),
            "repeated relevant rows": batch.relevant.repeated,
        }
        if blocks.context.catalogue is not None:
            sums["shown items not in the catalogue"] = _unknown(blocks, blocks[Ranked()].items)
            sums["relevant items not in the catalogue"] = _unknown(blocks, batch.relevant.items)
        return Sums(sums)

    def compute(self, state: Any) -> Result:
        return Result(None, notes=dict(state.values))


def _array(tensor: Tensor) -> npt.NDArray[Any]:
    return tensor.cpu().numpy()


def _unknown(blocks: Blocks, items: Tensor) -> int:
    """How many cells hold an item that the catalogue lacks; none is looked at where it has the whole vocabulary."""
    unknown = blocks.lookup.once("not in the catalogue", lambda: _not_known(blocks.lookup.in_catalogue))
    return 0 if unknown is None else int(by_item(unknown, items).sum())


def _not_known(in_catalogue: Tensor) -> Tensor | None:
    """`[V + 1]`: items of the vocabulary that the catalogue lacks; None where there is none."""
    unknown = ~in_catalogue
    unknown[-1] = False
    return unknown if bool(unknown.any()) else None
