"""Which column of a table plays which part: an alias table of the schemas in use."""

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
    """The beginning of a sentence about a table.

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
    chosen = dict(chosen or {})
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        raise BadParameterError(
            f"columns has no part called {unknown[0]!r}",
            f"{unknown}",
            f"the parts are {', '.join(PARTS)}, e.g. {{argument}}",
            argument="columns",
            value={"user": "customer"},
        )
    return {
        part: column
        for part, aliases in ALIASES[role].items()
        if (column := _column(role, part, aliases, available, chosen.get(part))) is not None
    }


def _column(role: Role, part: str, aliases: Sequence[str], available: Sequence[str], chosen: str | None) -> str | None:
    if chosen is not None and chosen in available:
        return _once(role, chosen, available)
    candidates = [name for name in available if name.lower() in aliases]
    required = part in REQUIRED[role]
    if chosen is not None and required and not candidates:
        raise MissingColumnError(
            f"{begin_sentence(role)} no column {chosen!r} for the {part}",
            f"columns {', '.join(map(repr, available)) or 'none'}",
            "correct {argument}",
            argument="columns",
            value={part: ...},
        )
    if len(set(candidates)) > 1:
        raise MissingColumnError(
            f"{begin_sentence(role)} several columns that could be the {part}",
            ", ".join(map(repr, candidates)),
            "choose one with {argument}",
            argument="columns",
            value={part: candidates[0]},
        )
    if not candidates and required:
        raise MissingColumnError(
            f"{begin_sentence(role)} no column for the {part}",
            f"columns {', '.join(map(repr, available)) or 'none'}",
            f"rename one to {aliases[0]!r} or say which it is with {{argument}}",
            argument="columns",
            value={part: ...},
        )
    return _once(role, candidates[0], available) if candidates else None


def _once(role: Role, name: str, available: Sequence[str]) -> str:
    if available.count(name) > 1:
        raise MissingColumnError(
            f"{begin_sentence(role)} {available.count(name)} columns {name!r}",
            f"columns {', '.join(map(repr, available))}",
            "rename all but one",
        )
    return name


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
