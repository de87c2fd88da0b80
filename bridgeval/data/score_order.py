"""The order of scores: the index that sorts each row of a rectangle, ties decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.data.encoding import distinct

if TYPE_CHECKING:
    from bridgeval.data.ranking import Ties

# Cells that are sorted together, so that they stay in the cache meanwhile.
CELLS_NEAR = 1 << 17


def sorted_index(scores: Tensor, items: Tensor, valid: Tensor | None, ties: Ties) -> Tensor:
    """`[B, K]`: the index that sorts each row by score descending; cells that are not valid go last."""
    if scores.device.type != "cpu":
        return _exact_index(scores, items, valid, ties)
    index, tied = _quick_index(scores, valid)
    if len(tied):
        index[tied] = _exact_index(scores[tied], items[tied], None if valid is None else valid[tied], ties)
    return index


def _quick_index(scores: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
    """The index by one vector sort of integers, and the rows in which it is left open by equal scores."""
    index = np.empty(scores.shape, dtype=np.int64)
    signed = scores.numel() > 0 and float(scores.amin()) < 0
    rows = max(CELLS_NEAR // max(scores.shape[1], 1), 1)
    tied = [
        first + _index_into(index[first : first + rows], scores[first : first + rows].numpy(), signed, taken)
        for first in range(0, len(index), rows)
        for taken in [None if valid is None else valid[first : first + rows].numpy()]
    ]
    return torch.from_numpy(index), torch.from_numpy(np.concatenate([np.zeros(0, dtype=np.int64), *tied]))


def _index_into(
    index: npt.NDArray[np.int64], scores: npt.NDArray[Any], signed: bool, valid: npt.NDArray[np.bool_] | None
) -> npt.NDArray[np.int64]:
    """Fills the index of some rows; says which of them it leaves open.

    The bits of a float64, its lowest ones given up for the column, are ordered as the numbers are. Scores that differ
    in these lowest bits alone count as equal here, and are looked at again by who asks.
    """
    width = index.shape[1]
    mask = (1 << width.bit_length()) - 1
    columns = np.arange(width)
    last = np.iinfo(np.int64).max - mask
    # Adding 0 makes one zero of two.
    np.add(scores, 0.0, out=index.view(np.float64))
    if signed:
        index ^= (index >> 63) & np.iinfo(np.int64).max
    index |= mask
    # Every bit turned over, so that the highest score comes first, and then the column in the lowest.
    np.subtract(columns - 1, index, out=index)
    if valid is not None:
        np.copyto(index, last + columns, where=~valid)
    index.sort(axis=1)
    flat = index.reshape(-1)
    equal = np.flatnonzero((flat[1:] ^ flat[:-1]) <= mask)
    equal = equal[((equal + 1) % max(width, 1) != 0) & (flat[equal + 1] < last)]
    index &= mask
    return distinct(equal // max(width, 1))


def _exact_index(scores: Tensor, items: Tensor, valid: Tensor | None, ties: Ties) -> Tensor:
    if ties == "given":
        index = torch.arange(scores.shape[1], device=scores.device).expand(scores.shape)
    else:
        index = torch.argsort(items, dim=1, descending=ties == "item_descending", stable=True)
    index = index.gather(1, torch.argsort(scores.gather(1, index), dim=1, descending=True, stable=True))
    if valid is not None:
        index = index.gather(1, torch.argsort(~valid.gather(1, index), dim=1, stable=True))
    return index
