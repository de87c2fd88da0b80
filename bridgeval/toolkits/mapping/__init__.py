"""Mappings by user: `{user: [items]}`, `{user: [(item, score)]}`, `{user: {item: score}}`."""

from __future__ import annotations

from collections.abc import Iterable

from bridgeval.plugin import Loader, hookimpl
from bridgeval.toolkits.mapping.loader import MappingLoader


@hookimpl
def bridgeval_loaders() -> Iterable[Loader]:
    return [MappingLoader()]
