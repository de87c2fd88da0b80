"""Needs: the data that a metric requires, checked before any data is read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from bridgeval.batch.ranking import Ranking
from bridgeval.errors import BadParameterError, NeedError


@dataclass(frozen=True)
class Need:
    """Something that metrics may need besides lists and relevance.

    Attributes:
        words: its name in messages.
        argument: the argument of `evaluate` to give.
        read_as: how a metric reads it.
        hint: what to do, if giving the argument is not all.
        answered_by: the arguments that always answer it; None is `argument` alone.
    """

    words: str
    argument: str
    read_as: str
    hint: str = "give {argument}"
    answered_by: tuple[str, ...] | None = None


NEEDS = {
    "score": Need(
        "scores",
        "recommendations",
        'ShownColumn("score")',
        "give recommendations with scores (a column 'score', or (item, score) pairs)",
        (),
    ),
    "prev_score": Need("the logging policy's scores", "prev_scores", 'ShownColumn("prev_score")'),
    "seen": Need("the users' history", "history", 'ShownColumn("seen")'),
    "history lists": Need("the users' history", "history", "blocks.batch.history"),
    "baseline_rank": Need("another system's lists", "baseline", 'ShownColumn("baseline_rank")'),
    "category": Need(
        "a category of each row",
        "item_features",
        'ShownColumn("category")',
        "give {argument} and take the category of items, not of rows",
        (),
    ),
    "catalogue": Need(
        "the catalogue",
        "catalogue",
        "blocks.lookup.catalogue",
        "give {argument} or the history",
        ("catalogue", "history"),
    ),
    "item popularity": Need("item popularity", "history", 'blocks.lookup.items("popularity")'),
    "item groups": Need("item groups", "item_groups", 'blocks.lookup.items("groups")'),
    "item features": Need("item features", "item_features", 'blocks.lookup.items("features")'),
    "user groups": Need("user groups", "user_groups", "UserGroups()"),
    "users of the history": Need("the users of the history", "history", 'Counted("history")'),
    "users of the baseline": Need("the users of the baseline", "baseline", 'Counted("baseline")'),
    "users given": Need("the users that count", "users", 'Counted("given")'),
    "all users": Need("all users", "users", 'Counted("known")', "give {argument} or the history", ()),
}


@cache
def answered_needs(arguments: frozenset[str]) -> frozenset[str]:
    """The needs that these arguments of `evaluate` always answer.

    >>> sorted(answered_needs(frozenset({"catalogue", "users"})))
    ['catalogue', 'users given']
    """
    return frozenset(
        name
        for name, need in NEEDS.items()
        if not arguments.isdisjoint((need.argument,) if need.answered_by is None else need.answered_by)
    )


@dataclass(frozen=True)
class Needs:
    """The data that a metric reads besides the lists.

    Attributes:
        depth: how many places of a ranked list it reads; None reads all.
        pairs: columns beside the shown pairs: `score`, `prev_score`, `seen`, `baseline_rank`.
        context: `catalogue`, `item popularity`, `item groups`, `item features`, `user groups`.
        users: who may count besides users who were shown something or have something relevant:
            `users of the history`, `users of the baseline`, `users given`.
        optional: what is read when it can be had: pair columns; `users listed` and `users judged`, users whom the
            recommendations or the relevance name with an empty list.
        if_local: pair columns that are looked at where the data is in this process; Spark shuffles nothing for them.
        lists: other lists of each user: `history lists`, what the user has in the history.
        cutoffs: the cutoffs asked for, so that what is added up can be added up for all of them at once.
        baselines: baselines to be ranked, and by which policy: (name, policy), see `baseline_column`.
        items: tables of the caller's `context=` by item, e.g. `price`; the block `ItemColumn` reads them.
        by_user: the same by user; the block `UserColumn` reads them.

    >>> (Needs(depth=5) | Needs(depth=10, pairs=frozenset({"seen"}))).depth
    10
    """

    depth: int | None = 0
    pairs: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    cutoffs: frozenset[int] = frozenset()
    baselines: frozenset[tuple[str, Ranking]] = frozenset()
    if_local: frozenset[str] = frozenset()
    items: Collection[str] = frozenset()
    by_user: Collection[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("items", "by_user"):
            given = getattr(self, name)
            # Authors write {"price"}; of "price" alone every letter would be a table.
            if isinstance(given, str):
                raise BadParameterError(f"{name} of Needs is a set of names", f"{given!r}", f"write {{{given!r}}}")
            object.__setattr__(self, name, frozenset(given))

    def __or__(self, other: Needs) -> Needs:
        whole = self.depth is None or other.depth is None
        return Needs(
            None if whole else max(self.depth or 0, other.depth or 0),
            self.pairs | other.pairs,
            self.context | other.context,
            self.users | other.users,
            self.optional | other.optional,
            self.lists | other.lists,
            self.cutoffs | other.cutoffs,
            self.baselines | other.baselines,
            self.if_local | other.if_local,
            {*self.items, *other.items},
            {*self.by_user, *other.by_user},
        )

    def reads(self, pair_column: str) -> bool:
        """Whether a pair column is worth making."""
        return pair_column in self.pairs or pair_column in self.optional

    def check(self, who: str, offered: Collection[str]) -> None:
        """Raises NeedError for the first thing that is needed and not offered."""
        for need in sorted(self.required.difference(offered)):
            if need in self.named_tables:
                side, _, table = need.partition(" ")
                others = sorted(one for one in set(offered).difference(NEEDS) if one.startswith(("item ", "user ")))
                raise NeedError(
                    f"{who} needs {table!r} of each {side}",
                    f"only {_list_given(offered)}" + (f", context ({', '.join(others)})" if others else ""),
                    argument="context",
                    value={table: ...},
                )
            if need not in NEEDS and not need.startswith("baseline_rank"):
                raise NeedError(f"{who} needs {need!r}", f"only {_list_given(offered)}", "no argument gives it")
            named = next(iter(_baselines_in([need])), "")
            raise NeedError(
                f"{who} needs {in_words(need)}",
                f"only {_list_given(offered)}",
                self._hint(need, named, offered),
                argument="baseline" if named else NEEDS[need].argument,
                value={named: ...} if named else None,
            )

    @cached_property
    def required(self) -> frozenset[str]:
        """All that must be there."""
        return self.pairs | self.context | self.users | self.lists | self.named_tables

    @cached_property
    def named_tables(self) -> frozenset[str]:
        """The tables of `items` and `by_user`, each with its side: "item price"."""
        return frozenset([*(f"item {name}" for name in self.items), *(f"user {name}" for name in self.by_user)])

    def _hint(self, need: str, named: str, offered: Collection[str]) -> str:
        others = _baselines_in(offered)
        if named:
            if "baseline_rank" in offered:
                return "give {argument}, or leave its name out of the metric"
            return f"give {{argument}}, or ask for {_ask_for(others[0])}" if others else "give {argument}"
        if others and need in ("baseline_rank", "users of the baseline"):
            alone = "give one system's lists alone as {argument}"
            return f"ask for {_ask_for(others[0])}, or {alone}" if self.baselines else alone
        return NEEDS[need].hint


def in_words(need: str) -> str:
    """The name of a need in messages.

    >>> in_words("seen"), in_words("item groups"), in_words("baseline_rank ALS")
    ("the users' history", 'item groups', "the baseline 'ALS'")
    """
    named = _baselines_in([need])
    return f"the baseline {named[0]!r}" if named else NEEDS[need].words if need in NEEDS else need


def _list_given(offered: Collection[str]) -> str:
    """The arguments that the caller gave, as far as the needs they answer tell."""
    told_apart = ("score", "catalogue", "all users")
    arguments = {need.argument for name, need in NEEDS.items() if name in offered and name not in told_apart}
    if "catalogue" in offered and "history" not in arguments:
        arguments.add("catalogue")
    scores = "with" if "score" in offered else "without"
    named = [f"baseline of {', '.join(map(repr, others))}"] if (others := _baselines_in(offered)) else []
    return ", ".join([f"recommendations {scores} scores", "relevance", *sorted(arguments), *named])


def _baselines_in(columns: Iterable[str]) -> list[str]:
    """The names of baselines, sorted."""
    return sorted(name for column in columns if (name := column.removeprefix("baseline_rank ")) != column)


def _ask_for(baseline: str) -> str:
    return f'{baseline!r} with baseline="{baseline}" among the parameters of the metric'


def baseline_column(name: str = "", ranking: Ranking = Ranking()) -> str:
    """The name of the pair column with ranks in a baseline.

    Args:
        name: of the baseline; "" if there is only one.
        ranking: how the baseline's lists are ranked.

    >>> baseline_column(), baseline_column("ALS"), baseline_column("ALS", Ranking(duplicates="all"))
    ('baseline_rank', 'baseline_rank ALS', 'baseline_rank ALS score item_descending all drop')
    """
    column = f"baseline_rank {name}" if name else "baseline_rank"
    if ranking == Ranking():
        return column
    return f"{column} {ranking.order} {ranking.ties} {ranking.duplicates} {ranking.masked}"
