"""The order of scores: the index that sorts each row of a rectangle, ties decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.tensors import rows_near
from bridgeval.tables.encoding import sort_unique

if TYPE_CHECKING:
    from bridgeval.batch.ranking import Ties


def sorted_index(scores: Tensor, items: Tensor, valid: Tensor | None, ties: Ties) -> Tensor:
    """`[B, K]`: the index that sorts each row by score descending; cells that are not valid go last.

    Of the shortest integers that hold it, for `gathered`.
    """
    if scores.device.type != "cpu":
        return _exact_index(scores, items, valid, ties)
    index, tied = _quick_index(scores, valid)
    if len(tied):
        exact = _exact_index(scores[tied], items[tied], None if valid is None else valid[tied], ties)
        index[tied] = exact.to(index.dtype)
    return index


def _quick_index(scores: Tensor, valid: Tensor | None) -> tuple[Tensor, Tensor]:
    """The index by one vector sort of integers, and the rows in which it is left open by equal scores."""
    index = np.empty(scores.shape, dtype=np.int16 if scores.shape[1] <= np.iinfo(np.int16).max else np.int32)
    signed = scores.numel() > 0 and float(scores.amin()) < 0
    tied = [
        near.start + _index_into(index[near], scores[near].numpy(), signed, taken)
        for near in rows_near(scores, 8 * scores.shape[1])
        for taken in [None if valid is None else valid[near].numpy()]
    ]
    return torch.from_numpy(index), torch.from_numpy(np.concatenate([np.zeros(0, dtype=np.int64), *tied]))


def _index_into(
    index: npt.NDArray[Any], scores: npt.NDArray[Any], signed: bool, valid: npt.NDArray[np.bool_] | None
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
    keys = np.add(scores, 0.0, dtype=np.float64).view(np.int64)
    if signed:
        keys ^= (keys >> 63) & np.iinfo(np.int64).max
    keys |= mask
    # Every bit turned over, so that the highest score comes first, and then the column in the lowest.
    np.subtract(columns - 1, keys, out=keys)
    if valid is not None:
        np.copyto(keys, last + columns, where=~valid)
    keys.sort(axis=1)
    flat = keys.reshape(-1)
    equal = np.flatnonzero((flat[1:] ^ flat[:-1]) <= mask)
    equal = equal[((equal + 1) % max(width, 1) != 0) & (flat[equal + 1] < last)]
    np.bitwise_and(keys, mask, out=index, casting="unsafe")
    return sort_unique(equal // max(width, 1))


def _exact_index(scores: Tensor, items: Tensor, valid: Tensor | None, ties: Ties) -> Tensor:
    if ties == "given":
        index = torch.arange(scores.shape[1], device=scores.device).expand(scores.shape)
    else:
        index = torch.argsort(items, dim=1, descending=ties == "item_descending", stable=True)
    index = index.gather(1, torch.argsort(scores.gather(1, index), dim=1, descending=True, stable=True))
    if valid is not None:
        index = index.gather(1, torch.argsort(~valid.gather(1, index), dim=1, stable=True))
    return index
