"""Other evaluators of ranked lists: ranx, trec_eval, RecTools, LensKit, recommenders, MLlib, irspack and RecPack."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Convention, hookimpl
from bridgeval.toolkits.peers.conventions import PEERS
from bridgeval.toolkits.peers.readers import read_cornac, read_elliot

__all__ = ["bridgeval_conventions", "read_cornac", "read_elliot"]


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return PEERS
