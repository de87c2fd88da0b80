"""Ids that do not match: of different types, or written differently."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from bridgeval.errors import BridgevalError, MisalignedError
from bridgeval.inspection.findings import Finding
from bridgeval.io.columns import Chosen
from bridgeval.tables.ids import Ids
from bridgeval.tables.rows import read_rows
from bridgeval.tables.slates import Slates

SAMPLE = 100_000


def describe_other_type(
    error: MisalignedError, recommendations: Any, relevance: Any, columns: Chosen | None
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


def compare_users(chunks: Sequence[Slates]) -> str:
    """Examples of the users of both sides, none of whom is on both, and how many would match if written alike."""
    shown = [slates.users.take(slates.shown.lengths.nonzero()[0]) for slates in chunks]
    truth = [slates.users.take(slates.relevant.lengths.nonzero()[0]) for slates in chunks]
    listed, wanted = (_quote([user for ids in side for user in ids.slice(0, 3).tolist()]) for side in (shown, truth))
    hint = _hint(set().union(*map(_texts, shown)), set().union(*map(_texts, truth)))
    return f"e.g. {listed} have recommendations, {wanted} relevant items{hint}"


def compare_items(chunks: Sequence[Slates]) -> str:
    """The same for items that were shown and relevant items."""
    shown, truth = (
        set().union(*(_texts(slates.items.take(np.unique(lists(slates).items))) for slates in chunks))
        for lists in (attrgetter("shown"), attrgetter("relevant"))
    )
    return f"e.g. {_quote(sorted(shown))} were shown, {_quote(sorted(truth))} are relevant{_hint(shown, truth)}"


def _hint(first: set[str], second: set[str]) -> str:
    """Says how many ids would match if they were normalized."""
    meet = len(set(map(_bare, first)) & set(map(_bare, second)))
    return f"; {meet:,} would match without blanks, case, leading zeros and a final .0" if meet else ""


def _bare(text: str) -> str:
    bare = text.strip().lower().removesuffix(".0").lstrip("0")
    return bare or "0"


def _texts(ids: Ids) -> set[str]:
    return set(map(str, ids.slice(0, SAMPLE).tolist()))


def _quote(values: Sequence[Any]) -> str:
    return ", ".join(map(repr, values[:3]))
