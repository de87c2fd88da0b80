"""Merging over the ranks of a `torch.distributed` group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridgeval.engine.plan import Plan, States, merge_all

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def merged_over_ranks(plan: Plan, states: States, group: ProcessGroup) -> States:
    """The states of all ranks merged in rank order, on every rank."""
    from torch import distributed

    gathered: list[States | None] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(gathered, states, group=group)
    return merge_all(plan, gathered)
