"""Lookups: the tensors by item and by user that constructors of WarpRec's metrics ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import MetricFailedError
from bridgeval.plugin import Table
from bridgeval.toolkits.warprec.constructor import FROM_CONTEXT
from bridgeval.toolkits.warprec.dense_rows import DenseRows

T = TypeVar("T")
# Those that have a last row for "no item".
PADDED = {"item_cluster", "feature_lookup"}


def read_lookups(names: Iterable[str], rows: DenseRows) -> dict[str, Tensor]:
    """The tensors of these names, of the types that WarpRec's have, without a row for "no item"."""
    context, found = rows.blocks.context, {}
    for name in names:
        if name == "user_cluster":
            found[name] = _read_user_groups(context.users["groups"], rows)
        else:
            table = context.items[FROM_CONTEXT[name].removeprefix("item ")]
            values = torch.tensor(table.aligned(rows.space.ids), device="cpu")
            found[name] = values.long() if name == "item_cluster" else values.float()
    return found


def _read_user_groups(table: Table, rows: DenseRows) -> Tensor:
    """`[num_users]` or more: the groups of the users at hand, then of all others, in any order."""
    users = rows.users
    at = users.positions_in(table.ids)
    groups = np.concatenate([table.aligned(users), np.delete(table.values, at[at >= 0])])
    return torch.from_numpy(np.pad(groups, (0, max(rows.num_users - len(groups), 0)))).long()


def try_lookups(lookups: Mapping[str, Tensor], run: Callable[[Mapping[str, Tensor]], T]) -> T:
    """Runs with lookups as WarpRec's data sets make them; if the author's code raises, without their last row.

    That row stands for "no item". WarpRec's own RSP and SRecall are written for lookups without it.
    """
    padded = {name: torch.cat([lookups[name], torch.zeros_like(lookups[name][:1])]) for name in PADDED & lookups.keys()}
    if not padded:
        return run(lookups)
    try:
        return run({**lookups, **padded})
    except MetricFailedError:
        return run(lookups)


def enlarge(lookups: Mapping[str, Tensor], users: int, items: int) -> dict[str, Tensor]:
    """Lookups for that many more users and items, of groups that are there already."""
    more = {name: users if name == "user_cluster" else items for name in lookups}
    return {name: torch.cat([value, *[value[-1:]] * more[name]]) for name, value in lookups.items()}
