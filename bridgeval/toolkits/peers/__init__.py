"""Other evaluators of ranked lists: ranx, trec_eval, RecTools, LensKit, recommenders, MLlib, irspack and RecPack."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Convention, hookimpl
from bridgeval.toolkits.peers.conventions import PEERS


@hookimpl
def bridgeval_conventions() -> Iterable[Convention]:
    return PEERS
