"""Examples: users and items in which an evaluation can be looked at, with their lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridgeval.report.plain_text import escape_formula, show_hidden
from bridgeval.stats.list_lookup import UserLists

if TYPE_CHECKING:
    import pandas as pd

# Longer ids are cut where they are shown.
LONGEST_ID = 60


@dataclass(frozen=True)
class ExampleUser:
    """A user who stands out.

    Attributes:
        why: for what, e.g. "worst for als".
        values: of the metric, for each system; NaN where undefined.
        lists: of each system; None if it does not have the user.
    """

    user: Any
    why: tuple[str, ...]
    values: tuple[float, ...]
    lists: tuple[UserLists | None, ...]

    @property
    def known(self) -> UserLists | None:
        """The lists of any system: relevant items and history are the same for all."""
        return next((one for one in self.lists if one is not None), None)

    @property
    def longest(self) -> int:
        """The number of places of the longest list."""
        return max((len(one.items) for one in self.lists if one is not None), default=0)

    @property
    def found(self) -> set[Any]:
        """The relevant items that a system shows."""
        pairs = [pair for one in self.lists if one is not None for pair in zip(one.items, one.hits, strict=True)]
        return {item for item, hit in pairs if hit}


@dataclass(frozen=True)
class ExampleItem:
    """An item that stands out.

    Attributes:
        why: for what, e.g. "more hits: als over knn".
        relevant: users it is relevant to.
        shown: lists of each system that have it in the first k places.
        hits: those to whose users it is relevant.
    """

    item: Any
    why: str
    relevant: int
    shown: tuple[int, ...]
    hits: tuple[int, ...]

    @property
    def counts(self) -> list[tuple[int, int]]:
        """(hits, shown) of each system."""
        return list(zip(self.hits, self.shown, strict=True))


@dataclass(frozen=True)
class Examples:
    """Users and items that stand out, see `bridgeval.find_examples`.

    Attributes:
        metric: by which users are chosen.
        k: how many places of the lists are looked at.
        systems: their names, the baseline first.
    """

    metric: str
    k: int
    systems: tuple[str, ...]
    users: tuple[ExampleUser, ...]
    items: tuple[ExampleItem, ...]

    def to_pandas(self) -> pd.DataFrame:
        """A row for each place of each list: user, why, system, value, place, item, hit."""
        import pandas as pd

        rows = [
            (one.user, "; ".join(one.why), system, value, place, item, hit)
            for one in self.users
            for system, value, lists in zip(self.systems, one.values, one.lists, strict=True)
            if lists is not None
            for place, (item, hit) in enumerate(zip(lists.items, lists.hits, strict=True), start=1)
            if item is not None
        ]
        return pd.DataFrame(rows, columns=["user", "why", "system", "value", "place", "item", "hit"])

    def to_csv(self) -> str:
        """The same as CSV; text that looks like a formula gets a `'` in front."""
        return self.to_pandas().map(escape_formula).to_csv(index=False)

    def __str__(self) -> str:
        users = [
            f"user {show_id(one.user)} ({'; '.join(one.why)}): " + ", ".join(f"{value:.4f}" for value in one.values)
            for one in self.users
        ]
        items = [
            f"item {show_id(one.item)} ({one.why}): hits {', '.join(map(str, one.hits))} of {one.relevant:,}"
            for one in self.items
        ]
        return "\n".join([f"{self.metric} of {', '.join(self.systems)}", *users, *items])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bridgeval.report.page.examples_section import render_examples

        return str(render_examples(self))


def show_id(identifier: Any) -> str:
    """An id to be read: hidden characters as escapes, and not longer than a line.

    >>> show_id(7), len(show_id("x" * 900))
    ('7', 60)
    """
    if identifier is None:
        return "–"
    text = show_hidden(str(identifier)[: LONGEST_ID + 1])
    return text if len(text) <= LONGEST_ID else f"{text[: LONGEST_ID - 1]}…"
