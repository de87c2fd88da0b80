"""Finds the columns of a table: an alias table of the schemas in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

import pyarrow as pa

from bridgeval.errors import BadParameterError, MissingColumnError

Role = Literal["recommendations", "relevance", "history", "prev_scores", "baseline"]
# Part -> column name, as the caller decided; None says that no column plays the part.
Chosen = Mapping[str, str | None]

# A name is here if it can hardly mean anything else; `find_named` says how names are compared. The first is suggested.
# fmt: off
USER = (
    "user_id", "user", "userid", "user_idx", "uid", "query_id", "query-id", "q_id", "qid", "query",
    "customer_id", "customerid", "session_id", "sessionid", "visitor_id", "visitorid",
)
ITEM = (
    "item_id", "item", "itemid", "item_idx", "iid", "doc_id", "docid", "docno", "corpus_id", "corpus-id",
    "product_id", "productid",
    "movie_id", "movieid", "article_id", "articleid", "book_id", "bookid", "news_id", "newsid", "song_id", "songid",
    "track_id", "trackid", "video_id", "videoid", "asin", "sku",
)
SCORE = (
    "score", "scores", "prediction", "rating", "relevance", "pred", "predicted", "y_pred", "y_score", "y_hat", "yhat",
    "prob", "probability", "proba", "logit", "logits", "est", "pred_score", "predicted_score", "prediction_score",
    "pred_rating", "predicted_rating", "model_score",
)
GAIN = (
    "relevance", "gain", "rating", "rel", "label", "grade", "click", "clicked", "is_click", "is_clicked",
    "relevant", "is_relevant", "target", "y_true", "r_ui", "judgment", "judgement",
)
RANK = ("rank", "ranking", "position", "place")
TIME = ("timestamp", "time", "ts", "date", "datetime", "unixtime", "unix_timestamp", "event_time", "created_at")
# The ids of qrels as BEIR and MTEB write them; only there a score is a gain.
BEIR = ("query-id", "corpus-id")
# Numbers that are never a score, a rank or a gain: times, indexes that were saved, constants of TREC files, labels.
UNRELATED = (
    *TIME, "index", "unnamed", "level_0", "__index_level_0__", "q0", "iter", "iteration", "category", "fold", "split",
)
# fmt: on

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
# A part that says how rows count, and what they mean if there is none.
WITHOUT: Mapping[Role, tuple[str, str]] = {
    "recommendations": ("score", "to read the rows as ranked in the order they come"),
    "baseline": ("score", "to read the rows as ranked in the order they come"),
    "relevance": ("gain", "to count every row as 1"),
}


def begin_sentence(role: str, verb: tuple[str, str] = ("has", "have")) -> str:
    """Begins a sentence about a table.

    Args:
        verb: with one thing, with several.

    >>> begin_sentence("relevance"), begin_sentence("recommendations")
    ('the relevance has', 'the recommendations have')
    """
    return f"the {role} {verb[role.endswith('s')]}"


def find_named(available: Iterable[str], names: Collection[str]) -> list[str]:
    """The columns that have one of these names, in any case and with or without the type that RecBole appends.

    >>> find_named(["userID", "user_id:token", "users"], USER)
    ['userID', 'user_id:token']
    """
    return claim_columns(available, {"": names})[""]


def claim_columns(available: Iterable[str], parts: Mapping[str, Collection[str]]) -> Mapping[str, list[str]]:
    """Part -> the columns that have one of its names, see `find_named`; none for any other key.

    >>> claim_columns(["userID", "rating"], ALIASES["relevance"])["gain"]
    ['rating']
    """
    claimed: dict[str, list[str]] = defaultdict(list)
    for column in available:
        plain = column.partition(":")[0].lower()
        for part, names in parts.items():
            if plain in names:
                claimed[part].append(column)
    return claimed


def find_columns(
    role: Role,
    available: Sequence[str],
    chosen: Chosen | None = None,
    is_number: Callable[[int], bool] | None = None,
) -> dict[str, str]:
    """The column for each part that is there.

    Args:
        role: what the table is.
        available: its column names.
        chosen: part -> column name, as the caller decided; names that this table lacks fall back to the aliases
            only when they are optional here. None leaves the part out, whatever the columns are called.
        is_number: whether the column at this place holds numbers or booleans. Asked if there is neither a score nor a
            rank, or no gain: then numbers that play no part are an error. None if types are not known.

    >>> find_columns("recommendations", ["userID", "itemID", "prediction"])
    {'user': 'userID', 'item': 'itemID', 'score': 'prediction'}
    >>> find_columns("recommendations", ["user_id", "item_id", "rank", "score"], {"rank": None})
    {'user': 'user_id', 'item': 'item_id', 'score': 'score'}
    >>> find_columns("relevance", ["user_id", "query_id", "item_id"])
    Traceback (most recent call last):
    bridgeval.errors.MissingColumnError: the relevance has several columns that could be the user; ...
    >>> find_columns("relevance", ["user_id", "item_id", "weight"], is_number=lambda place: True)
    Traceback (most recent call last):
    bridgeval.errors.MissingColumnError: the relevance has no gain, but a number that may be one; found: 'weight'; ...
    """
    chosen = _check_choice(chosen) if chosen else {}
    claimed = claim_columns(available, ALIASES[role])
    found: dict[str, str] = {}
    for part, aliases in ALIASES[role].items():
        if part in chosen and chosen[part] is None and part not in REQUIRED[role]:
            continue
        names = claimed[part]
        if chosen.get(part) in available:
            names = [name for name in available if name == chosen[part]]
        elif part == "rank" and names and "score" in found:
            # Beside a score, the position may be the one at which a log showed the item.
            names = find_named(names, RANK[:1])
        elif part == "gain" and len(find_named(available, BEIR)) == len(BEIR):
            names = find_named(available, (*aliases, "score"))
        if len(names) == 1:
            found[part] = names[0]
        elif names or part in REQUIRED[role]:
            raise _missing_column(role, part, names, available, chosen.get(part))
    others = len(found) < len(available) and not {"score", "rank", "gain"} & found.keys()
    if others and role in WITHOUT and is_number is not None:
        _refuse_unclaimed(role, available, found, chosen, is_number)
    return found


def _check_choice(chosen: Chosen) -> Chosen:
    if not isinstance(chosen, Mapping):
        raise BadParameterError(
            "columns must be a mapping of part to column name",
            f"{chosen!r}",
            "e.g. {argument}",
            argument="columns",
            value={"user": "customer"},
        )
    for part, name in chosen.items():
        if part not in PARTS:
            raise BadParameterError(
                f"columns has no part called {part!r}",
                f"{list(chosen)}",
                f"the parts are {', '.join(PARTS)}, e.g. {{argument}}",
                argument="columns",
                value={"user": "customer"},
            )
        if name is None and part in ("user", "item"):
            raise BadParameterError(
                f"every table needs the {part}, so it cannot be left out",
                f"{part}: {name}",
                "name its column with {argument}, or leave it to the known names",
                argument="columns",
                value={part: ...},
            )
    return chosen


def _refuse_unclaimed(
    role: Role,
    available: Sequence[str],
    found: Mapping[str, str],
    chosen: Chosen,
    is_number: Callable[[int], bool],
) -> None:
    """Raises if a table without score, rank or gain has numbers that nobody claims: it may be one of them."""
    part, meaning = WITHOUT[role]
    left_out = {part for part, name in chosen.items() if name is None}
    if part in left_out:
        return
    known = {*UNRELATED, *USER, *ITEM, *(alias for other in left_out for alias in ALIASES[role].get(other, ()))}
    names = [
        name
        for place, name in enumerate(available)
        if name not in found.values() and not find_named([name], known) and is_number(place)
    ]
    if names:
        exchanged = role == "relevance" and find_named(names[:1], (*SCORE, *RANK))
        turned = "; if these are the recommendations, they come first, before the relevance" if exchanged else ""
        lacks = "no gain" if part == "gain" else "neither a score nor a rank"
        raise MissingColumnError(
            f"{begin_sentence(role)} {lacks}, but {'a number' if len(names) == 1 else 'numbers'} that may be one",
            ", ".join(map(repr, names)),
            f"say which it is with {{argument}}, or {{argument}} {meaning}{turned}",
            argument="columns",
            value=({part: names[0]}, {part: None}),
        )


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a type is that of numbers or booleans."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is that of lists."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


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


def check_chosen_columns(chosen: Chosen | None, tables: Mapping[Role, Sequence[str]]) -> None:
    """Raises where a chosen column is in none of the tables that could have it.

    Args:
        tables: role -> column names.
    """
    for part, column in (chosen or {}).items():
        asked = {role: names for role, names in tables.items() if part in ALIASES[role]}
        if column is not None and asked and not any(column in names for names in asked.values()):
            raise MissingColumnError(
                f"no table has the column {column!r}, which was chosen for the {part}",
                "; ".join(f"{role}: {', '.join(map(repr, names))}" for role, names in asked.items()),
                "correct {argument}",
                argument="columns",
                value={part: ...},
            )
