"""A loader of JSON lines: {"user": "ann", "items": ["tea", "rum"], "scores": [0.9, 0.4]}, one user in a line.

Of the relevance the numbers are called "gains". Without numbers the order of the items is the ranking.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from bridgeval.errors import InputError
from bridgeval.plugin import DeferredSource, TypedLoader, hookimpl, make_source


@dataclass(frozen=True)
class JsonLines:
    """A file of JSON lines."""

    path: str | Path

    def read(self, numbers):
        """User -> items, or (item, number) pairs where the lines have `numbers`."""
        lists = {}
        with open(self.path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    entry = json.loads(line)
                    user, items, values = entry["user"], entry["items"], entry.get(numbers)
                    lists[user] = items if values is None else list(zip(items, values, strict=True))
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        f"line {number} of {self.path} cannot be read",
                        repr(error),
                        f'write {{"user": ..., "items": [...], "{numbers}": [...]}} on one line',
                    ) from error
        return lists


class JsonLinesLoader(TypedLoader):
    """Reads two `JsonLines`."""

    name = "jsonlines"
    reads = ((JsonLines, JsonLines),)

    def load(self, recommendations, relevance, /, **extras):
        offers = make_source({"user": [("item", 1.0)]}, {}, **extras).offers
        return DeferredSource(offers, lambda needs: self._read(recommendations, relevance, extras))

    def _read(self, recommendations, relevance, extras):
        return make_source(recommendations.read("scores"), relevance.read("gains"), **extras)


@hookimpl
def bridgeval_loaders():
    return [JsonLinesLoader()]
