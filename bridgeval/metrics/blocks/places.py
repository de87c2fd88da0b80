"""Metrics that hold a number for every place up to their cutoff."""

from __future__ import annotations

from bridgeval.errors import BadParameterError

DEEPEST = 100_000


def check_depth(name: str, k: int) -> None:
    """Raises BadParameterError for a cutoff that no list comes near, for which there would be a number each."""
    if k > DEEPEST:
        raise BadParameterError(
            f"{name} holds a number for every place: its cutoff is at most {DEEPEST:,}", f"{k}", "give a lower cutoff"
        )
