"""Ids that do not match: of different types, or written differently."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bridgeval.errors import BridgevalError, MisalignedError
from bridgeval.inspection.findings import Finding
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import read_rows
from bridgeval.tables.slates import Slates

SAMPLE = 100_000


def describe_other_type(
    error: MisalignedError, recommendations: Any, relevance: Any, columns: Mapping[str, str] | None
) -> Finding:
    """Integers on one side, strings on the other; says how many would match as text."""
    effect = "no metric can be computed"
    try:
        sides = [read_rows(recommendations, "recommendations", columns), read_rows(relevance, "relevance", columns)]
        users = [_texts(rows.users) for rows in sides if rows.users is not None]
        items = [_texts(rows.items) for rows in sides]
        effect += (
            f"; read as text, {len(users[0] & users[1]):,} users and {len(items[0] & items[1]):,} items would match "
            "(--text-ids, or .astype(str))"
        )
    except BridgevalError:
        pass
    return Finding("id types", "stop", f"{error.wrong} ({error.found})", effect)


def describe_no_common_user(chunks: Sequence[Slates]) -> Finding:
    """No user is on both sides."""
    shown = [user for slates in chunks for user in slates.users.take(slates.shown.lengths.nonzero()[0][:3]).tolist()]
    truth = [user for slates in chunks for user in slates.users.take(slates.relevant.lengths.nonzero()[0][:3]).tolist()]
    sides = (
        _all_texts(chunks, lambda slates: slates.users.take(slates.shown.lengths.nonzero()[0])),
        _all_texts(chunks, lambda slates: slates.users.take(slates.relevant.lengths.nonzero()[0])),
    )
    return Finding(
        "users in common",
        "alarm",
        f"no user is on both sides: e.g. {_quote(shown)} have recommendations, {_quote(truth)} relevant items",
        f"every value is 0{_hint(*sides)}",
    )


def find_no_common_item(chunks: Sequence[Slates]) -> Iterator[Finding]:
    """No relevant item is in any list."""
    shown: set[str] = set()
    truth: set[str] = set()
    for slates in chunks:
        codes = np.unique(slates.shown.items)
        if np.isin(codes, slates.relevant.items).any():
            return
        shown |= _texts(slates.items.take(codes))
        truth |= _texts(slates.items.take(np.unique(slates.relevant.items)))
    if shown and truth and not shown & truth:
        yield Finding(
            "items in common",
            "alarm",
            f"no relevant item is in any list: {_quote(sorted(shown))} were shown, {_quote(sorted(truth))} relevant",
            f"every value is 0{_hint(shown, truth)}",
        )


def _hint(first: set[str], second: set[str]) -> str:
    """Says how many ids would match if they were normalized."""
    meet = len(set(map(_bare, first)) & set(map(_bare, second)))
    return f"; {meet:,} would match without blanks, case, leading zeros and a final .0" if meet else ""


def _bare(text: str) -> str:
    bare = text.strip().lower().removesuffix(".0").lstrip("0")
    return bare or "0"


def _all_texts(chunks: Iterable[Slates], ids: Any) -> set[str]:
    return {text for slates in chunks for text in _texts(ids(slates))}


def _texts(ids: Ids) -> set[str]:
    return set(map(str, ids.slice(0, SAMPLE).tolist()))


def _quote(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:3]))
