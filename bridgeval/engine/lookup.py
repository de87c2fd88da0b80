"""Lookup: the tables of the context by the codes of one vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

from bridgeval.batch.kernels import to_tensor
from bridgeval.errors import NeedError
from bridgeval.tables.context import Context, Table
from bridgeval.tables.ids import Ids
from bridgeval.tables.slates import Slates

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Lookup:
    """The context, aligned with the vocabulary of one Slates, on one device."""

    context: Context
    slates: Slates
    device: torch.device
    _made: dict[Any, Any] = field(default_factory=dict)

    def items(self, table: str) -> Tensor:
        """`[V + 1]` or `[V + 1, F]` values by item code; the last stands for "no item" and holds the default."""
        return self.once(f"item {table}", lambda: self.align(self._find("item", table)))

    def users(self, table: str) -> Tensor:
        """`[U]` values by user."""
        return self.once(
            f"user {table}",
            lambda: to_tensor(self._find("user", table).aligned(self.slates.users), self.device),
        )

    def lacks_item(self, table: str) -> Tensor:
        """`[V + 1]` bool: the items of the vocabulary that a table does not have; "no item" is not one."""
        return self.once(f"lacks item {table}", lambda: self._lacks("item", table, self.slates.items))

    def lacks_user(self, table: str) -> Tensor:
        """`[U]` bool: the users that a table does not have."""
        return self.once(f"lacks user {table}", lambda: self._lacks("user", table, self.slates.users))

    def _lacks(self, side: str, table: str, ids: Ids) -> Tensor:
        positions = ids.positions_in(self._find(side, table).ids, f"{side} ids of the context {table!r} and the lists")
        return torch.cat([torch.from_numpy(positions < 0), torch.zeros(int(side == "item"), dtype=torch.bool)]).to(
            self.device
        )

    def _find(self, side: str, table: str) -> Table:
        tables = self.context.items if side == "item" else self.context.users
        if table not in tables:
            field = "items" if side == "item" else "by_user"
            raise NeedError(
                f"a metric reads {table!r} of each {side}, which was not given",
                hint=f"declare it in needs(), Needs({field}={{{table!r}}}), so that it is asked for",
            )
        return tables[table]

    @property
    def in_catalogue(self) -> Tensor:
        """`[V + 1]`: which items of the vocabulary the catalogue has."""
        return self.once("catalogue", self._in_catalogue)

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Makes a value that depends on the context alone, for the first batch, and keeps it for the others."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def align(self, table: Table) -> Tensor:
        """`[V + 1]` or `[V + 1, F]`: any table by item code."""
        values = to_tensor(table.aligned(self.slates.items))
        none = torch.full((1, *values.shape[1:]), table.default, dtype=values.dtype)
        return torch.cat([values, none]).to(self.device)

    @property
    def catalogue(self) -> Ids:
        """All items that could have been shown, sorted."""
        if self.context.catalogue is None:
            raise NeedError("the catalogue is not known", hint="give {argument} or the history", argument="catalogue")
        return self.context.catalogue

    def _in_catalogue(self) -> Tensor:
        places = self.slates.items.positions_in(self.catalogue, "item ids of the catalogue or history and the lists")
        return torch.cat([torch.from_numpy(places >= 0), torch.zeros(1, dtype=torch.bool)]).to(self.device)
