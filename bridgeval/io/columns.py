"""Finds the columns of a table: an alias table of the schemas in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from bridgeval.errors import BadParameterError, MissingColumnError

Role = Literal["recommendations", "relevance", "history", "prev_scores", "baseline"]

# Names are compared without regard to case, so "userID" and "userId" are one entry.
USER = ("user_id", "user", "userid", "user_idx", "query_id", "q_id", "qid", "query", "uid")
ITEM = ("item_id", "item", "itemid", "item_idx", "doc_id", "docid", "docno", "iid")
SCORE = ("score", "prediction", "rating", "relevance")
GAIN = ("relevance", "gain", "rating", "rel", "label", "grade")
RANK = ("rank",)

ALIASES: Mapping[Role, Mapping[str, Sequence[str]]] = {
    "recommendations": {"user": USER, "item": ITEM, "score": SCORE, "rank": RANK},
    "baseline": {"user": USER, "item": ITEM, "score": SCORE, "rank": RANK},
    "relevance": {"user": USER, "item": ITEM, "gain": GAIN},
    "history": {"user": USER, "item": ITEM},
    "prev_scores": {"user": USER, "item": ITEM, "score": ("prev_score", *SCORE)},
}
REQUIRED: Mapping[Role, Sequence[str]] = {
    "recommendations": ("user", "item"),
    "baseline": ("user", "item"),
    "relevance": ("user", "item"),
    "history": ("user", "item"),
    "prev_scores": ("item", "score"),
}
PARTS = ("user", "item", "score", "rank", "gain")


def begin_sentence(role: str, verb: tuple[str, str] = ("has", "have")) -> str:
    """Begins a sentence about a table.

    Args:
        verb: with one thing, with several.

    >>> begin_sentence("relevance"), begin_sentence("recommendations")
    ('the relevance has', 'the recommendations have')
    """
    return f"the {role} {verb[role.endswith('s')]}"


def find_columns(role: Role, available: Sequence[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """The column for each part that is there.

    Args:
        role: what the table is.
        available: its column names.
        chosen: part -> column name, as the caller decided; names that this table lacks fall back to the aliases
            only when they are optional here.

    >>> find_columns("recommendations", ["userID", "itemID", "prediction"])
    {'user': 'userID', 'item': 'itemID', 'score': 'prediction'}
    >>> find_columns("relevance", ["user_id", "query_id", "item_id"])
    Traceback (most recent call last):
    bridgeval.errors.MissingColumnError: the relevance has several columns that could be the user; ...
    """
    if chosen is not None and not isinstance(chosen, Mapping):
        raise BadParameterError(
            "columns must be a mapping of part to column name",
            f"{chosen!r}",
            "e.g. {argument}",
            argument="columns",
            value={"user": "customer"},
        )
    chosen = chosen or {}
    for part in chosen:
        if part not in PARTS:
            raise BadParameterError(
                f"columns has no part called {part!r}",
                f"{list(chosen)}",
                f"the parts are {', '.join(PARTS)}, e.g. {{argument}}",
                argument="columns",
                value={"user": "customer"},
            )
    found = {}
    for part, aliases in ALIASES[role].items():
        exact = chosen[part] if chosen.get(part) in available else None
        names = [name for name in available if name == exact or (exact is None and name.lower() in aliases)]
        if len(names) == 1:
            found[part] = names[0]
        elif names or part in REQUIRED[role]:
            raise _missing_column(role, part, names, available, chosen.get(part))
    return found


def _missing_column(
    role: Role, part: str, names: Sequence[str], available: Sequence[str], chosen: str | None
) -> MissingColumnError:
    """The error for a part that none of the columns can play, or several."""
    have = f"columns {', '.join(map(repr, available)) or 'none'}"
    if len(set(names)) > 1:
        return MissingColumnError(
            f"{begin_sentence(role)} several columns that could be the {part}",
            ", ".join(map(repr, names)),
            "choose one with {argument}",
            argument="columns",
            value={part: names[0]},
        )
    if names:
        wrong = f"{begin_sentence(role)} {len(names)} columns {names[0]!r}"
        return MissingColumnError(wrong, have, "rename all but one")
    wrong, hint = f"{begin_sentence(role)} no column {chosen!r} for the {part}", "correct {argument}"
    if chosen is None:
        wrong = f"{begin_sentence(role)} no column for the {part}"
        hint = f"rename one to {ALIASES[role][part][0]!r} or say which it is with {{argument}}"
    return MissingColumnError(wrong, have, hint, argument="columns", value={part: ...})


def check_chosen_columns(chosen: Mapping[str, str] | None, tables: Mapping[Role, Sequence[str]]) -> None:
    """Raises where a chosen column is in none of the tables that could have it.

    Args:
        tables: role -> column names.
    """
    for part, column in (chosen or {}).items():
        asked = {role: names for role, names in tables.items() if part in ALIASES[role]}
        if asked and not any(column in names for names in asked.values()):
            raise MissingColumnError(
                f"no table has the column {column!r}, which was chosen for the {part}",
                "; ".join(f"{role}: {', '.join(map(repr, names))}" for role, names in asked.items()),
                "correct {argument}",
                argument="columns",
                value={part: ...},
            )
