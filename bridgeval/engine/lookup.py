"""Lookup: the tables of the context by the codes of one vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bridgeval.batch.transfer import to_tensor
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
        lacks = positions < 0
        return to_tensor(np.append(lacks, False) if side == "item" else lacks, self.device)

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
        make = lambda: to_tensor(np.append(self._catalogue_places >= 0, False), self.device)  # noqa: E731
        return self.once("catalogue", make)

    @property
    def outside_catalogue(self) -> Tensor:
        """`[V + 1]`: which items of the vocabulary the catalogue lacks; "no item" is not one."""
        make = lambda: to_tensor(np.append(self._catalogue_places < 0, False), self.device)  # noqa: E731
        return self.once("outside the catalogue", make)

    @property
    def catalogue_has_all(self) -> bool:
        """Whether the catalogue has every item of the vocabulary."""
        return self.once("all in the catalogue", lambda: bool((self._catalogue_places >= 0).all()))

    @property
    def _catalogue_places(self) -> npt.NDArray[np.int64]:
        """`[V]`: the place of each item in the catalogue, -1 for none."""
        what = "item ids of the catalogue or history and the lists"
        return self.once("catalogue places", lambda: self.slates.items.positions_in(self.catalogue, what))

    def once(self, key: Any, make: Callable[[], T]) -> T:
        """Makes a value that depends on the context alone, for the first batch, and keeps it for the others."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def align(self, table: Table) -> Tensor:
        """`[V + 1]` or `[V + 1, F]`: any table by item code."""
        values = table.aligned(self.slates.items)
        none = np.full((1, *values.shape[1:]), table.default, dtype=values.dtype)
        return to_tensor(np.concatenate([values, none]), self.device)

    @property
    def catalogue(self) -> Ids:
        """All items that could have been shown, sorted."""
        if self.context.catalogue is None:
            raise NeedError("the catalogue is not known", hint="give {argument} or the history", argument="catalogue")
        return self.context.catalogue
