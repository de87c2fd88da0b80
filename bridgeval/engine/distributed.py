"""Merging states over the ranks of a `torch.distributed` group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridgeval.engine.plan import Plan, States, merge_all

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def merge_over_ranks(plan: Plan, states: States, group: ProcessGroup) -> States:
    """Merges the states of all ranks in rank order; every rank gets the result."""
    from torch import distributed

    gathered: list[States | None] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(gathered, states, group=group)
    return merge_all(plan, gathered)
