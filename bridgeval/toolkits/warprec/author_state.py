"""AuthorState: the states that an author declared with `add_state`, as a value that merges.

States with a row for each user are concatenated, states with a row for each item are merged by item id, all others by
their `dist_reduce_fx`. So they merge over batches, processes and Spark partitions whose users and items differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.errors import BadParameterError
from bridgeval.plugin import Ids, encode_ids
from bridgeval.toolkits.warprec.bases import Reduction

Axis = Literal["users", "items"] | None
REDUCTIONS = ("sum", "mean", "max", "min", "cat")


@dataclass(frozen=True)
class Part:
    """One state of some users.

    Attributes:
        name: the state, and the class it belongs to, for messages.
        axis: what its first dimension counts.
        reduction: the `dist_reduce_fx` that merges two parts.
        default: its value without data.
        value: a tensor; for "cat" a list of tensors; for "sum" the difference from the default. For the axis "users"
            it has the rows of the users at hand alone.
        users: the number of users that `update` was given.
    """

    name: str
    axis: Axis
    reduction: Reduction
    default: Any
    value: Any
    users: int

    @staticmethod
    def of(name: str, axis: Axis, reduction: Reduction, default: Any, value: Any, users: int) -> Part:
        """The part of one batch."""
        if axis is None and reduction not in REDUCTIONS and not callable(reduction):
            raise BadParameterError(
                f"the state {name} cannot be merged",
                f"dist_reduce_fx={reduction!r}",
                f"give add_state one of {', '.join(map(repr, REDUCTIONS))}, or a function of two stacked tensors",
            )
        if reduction == "cat" and axis is None:
            value = list(value) if isinstance(value, list) else [value]
            value = [
                one.detach().cpu() if isinstance(one, Tensor) else torch.as_tensor(one, device="cpu") for one in value
            ]
            return Part(name, axis, reduction, default, value, users)
        value = value.detach().cpu()
        if reduction == "sum":
            value = value - (default[: len(value)] if axis == "users" else default).cpu()
        return Part(name, axis, reduction, default, value, users)

    def merge(self, other: Part, positions: tuple[Tensor, Tensor] | None, items: int) -> Part:
        """Both together.

        Args:
            other: the same state of other users.
            positions: of the items of each among the items of both; None where both count the same items.
            items: the number of items of both.
        """
        users = self.users + other.users
        if self.axis == "users":
            return replace(self, value=torch.cat([self.value, other.value]), users=users)
        if self.axis is None and not (self.users and other.users):
            return self if self.users else other
        if self.axis is None and self.reduction == "cat":
            return replace(self, value=self.value + other.value, users=users)
        first, second = self.value, other.value
        if self.axis == "items" and positions is not None:
            first, second = self._spread(positions[0], items), other._spread(positions[1], items)
        if first.shape != second.shape:
            raise BadParameterError(
                f"the state {self.name} has another shape in another part of the data",
                f"{list(first.shape)} and {list(second.shape)}",
                "give {argument}, so that every part knows the same items and groups",
                argument="catalogue",
            )
        if self.reduction == "mean":
            merged = (first * self.users + second * other.users) / max(users, 1)
        elif callable(self.reduction):
            merged = self.reduction(torch.stack([first, second]))
        else:
            extreme = {"max": torch.maximum, "min": torch.minimum}
            merged = extreme.get(self.reduction or "", torch.add)(first, second)
        return replace(self, value=merged, users=users)

    def _spread(self, positions: Tensor, items: int) -> Tensor:
        """Rows scattered to their positions among more items; the others hold the default, or no difference from it.

        Rows after those of the items, such as one for "no item", stay after them.
        """
        fill = 0.0 if self.reduction == "sum" or not self.default.numel() else self.default.flatten()[0]
        beyond = len(self.value) - len(positions)
        spread = torch.full((items + beyond, *self.value.shape[1:]), fill, dtype=self.value.dtype, device="cpu")
        spread[torch.cat([positions, torch.arange(items, items + beyond, device="cpu")])] = self.value
        return spread

    def finish(self, codes: Tensor, default: Any) -> Any:
        """The value of an instance's attribute.

        Args:
            codes: the position of each user at hand among all users.
            default: the attribute's value without data.
        """
        if self.axis == "users":
            return self._gather_users(codes, default)
        if self.reduction == "cat":
            tensors = [one[None] if one.ndim == 0 else one for one in self.value]
            return self.value if isinstance(default, list) else torch.cat(tensors)
        return self.value + default if self.reduction == "sum" else self.value

    def _gather_users(self, codes: Tensor, default: Tensor) -> Tensor:
        """Rows at the positions of their users; shards of the data may name the same users, say of the history."""
        if self.reduction == "sum":
            return default.index_add(0, codes, self.value)
        if self.reduction in ("max", "min"):
            index = codes.view(-1, *[1] * (self.value.ndim - 1)).expand_as(self.value)
            return default.scatter_reduce(0, index, self.value, f"a{self.reduction}", include_self=False)
        if len(codes) > len(default):
            raise BadParameterError(
                f"the state {self.name} cannot be merged",
                f"dist_reduce_fx={self.reduction!r}; {len(codes) - len(default)} users in several parts of the data",
                'give add_state "sum", "max" or "min"',
            )
        return default.index_copy(0, codes, self.value)


@dataclass(frozen=True)
class AuthorState:
    """All states of one metric and of those that it holds, and the tensors that its constructor takes.

    Attributes:
        users: the ids of the users so far, a column for each batch.
        items: `[N]` the items that indices count through; None without data.
        parts: path -> state.
        given: name -> tensor of the constructor, by item or by user.
        fed: the number of users that `update` was given.
        padded: whether one of them has fewer items than the cutoff.
    """

    users: tuple[Ids, ...] = ()
    items: Ids | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    given: Mapping[str, Part] = field(default_factory=dict)
    fed: int = 0
    padded: bool = False

    def merge(self, other: AuthorState) -> AuthorState:
        if self.items is None or other.items is None:
            return other if self.items is None else self
        items, positions = self.items, None
        # Batches of one evaluation share the items, and then there is nothing to encode.
        if self.items is not other.items:
            items, (first, second) = encode_ids([self.items, other.items], "item ids")
            positions = (torch.from_numpy(first.astype(np.int64)), torch.from_numpy(second.astype(np.int64)))
        parts, given = (
            {name: part.merge(theirs[name], positions, len(items)) for name, part in ours.items()}
            for ours, theirs in ((self.parts, other.parts), (self.given, other.given))
        )
        fed, padded = self.fed + other.fed, self.padded or other.padded
        return AuthorState(self.users + other.users, items, parts, given, fed, padded)

    def sort_users(self) -> tuple[Ids, Tensor]:
        """All users in the order of their ids, and the position among them of each row of the states."""
        ids, codes = encode_ids(list(self.users), "user ids")
        return ids, torch.from_numpy(np.concatenate(codes).astype(np.int64))
