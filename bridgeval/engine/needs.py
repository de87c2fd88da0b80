"""Needs: what a metric must be given, checked before any data is read."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass

from bridgeval.batch.ranking import Ranking
from bridgeval.errors import NeedError

# A need -> what it is called in messages, where its name does not say it.
WORDS = {
    "score": "scores",
    "prev_score": "the logging policy's scores",
    "seen": "what each user had before",
    "history lists": "what each user had before",
    "baseline_rank": "another system's lists",
    "category": "a category of each row",
    "catalogue": "the catalogue",
    "users of the history": "the users of the history",
    "users of the baseline": "the users of the baseline",
    "users given": "the users that count",
}
# A need -> the argument of `evaluate` that gives it.
GIVEN_BY = {
    "score": "recommendations",
    "prev_score": "prev_scores",
    "seen": "history",
    "baseline_rank": "baseline",
    "category": "item_features",
    "catalogue": "catalogue",
    "item popularity": "history",
    "item groups": "item_groups",
    "item features": "item_features",
    "user groups": "user_groups",
    "users of the history": "history",
    "users of the baseline": "baseline",
    "users given": "users",
    "all users": "users",
    "history lists": "history",
}
# A need -> how it is given, where that is not just the argument.
HOW = {
    "score": "give recommendations with scores (a column 'score', or (item, score) pairs)",
    "category": "give {argument} and take the category of items, not of rows",
    "catalogue": "give {argument} or the history",
    "all users": "give {argument} or the history",
}


@dataclass(frozen=True)
class Needs:
    """What a metric reads.

    Attributes:
        depth: how many places of a ranked list it reads; None reads all.
        pairs: columns beside the shown pairs: `score`, `prev_score`, `seen`, `baseline_rank`.
        context: `catalogue`, `item popularity`, `item groups`, `item features`, `user groups`.
        users: who may count besides users who were shown something or have something relevant:
            `users of the history`, `users of the baseline`, `users given`.
        optional: what is read when it can be had: pair columns; `users listed` and `users judged`, users whom the
            recommendations or the relevance name with an empty list.
        lists: other lists of each user: `history lists`, what the user has in the history.
        cutoffs: the cutoffs asked for, so that what is added up can be added up for all of them at once.
        baselines: baselines to be ranked, and by which policy: (name, policy), see `baseline_column`.
        sums: numbers of items that are added up over the places of lists: (policy that ranks them, block of the
            numbers). All are looked up together.

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
    sums: frozenset[tuple[Ranking, Hashable]] = frozenset()

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
            self.sums | other.sums,
        )

    def reads(self, pair_column: str) -> bool:
        """Whether a pair column is worth making."""
        return pair_column in self.pairs or pair_column in self.optional

    def check(self, who: str, offered: Collection[str]) -> None:
        """Raises NeedError for the first thing that is needed and not offered."""
        for need in sorted(self.unmet(offered)):
            raise NeedError(
                f"{who} needs {in_words(need)}",
                f"only {_given(offered)}",
                self._hint(need, offered),
                argument="baseline" if need.startswith("baseline_rank") else GIVEN_BY.get(need, ""),
                value={name: ...} if (name := next(iter(_baselines_in([need])), "")) else None,
            )

    def unmet(self, offered: Collection[str]) -> frozenset[str]:
        """What is needed and not offered."""
        return self.required.difference(offered)

    @property
    def required(self) -> frozenset[str]:
        """All that must be there."""
        return self.pairs | self.context | self.users | self.lists

    def _hint(self, need: str, offered: Collection[str]) -> str:
        others = _baselines_in(offered)
        wanted = next(iter(_baselines_in([need])), "")
        if wanted:
            give = "give {argument}"
            if "baseline_rank" in offered:
                return f"{give}, or leave its name out of the metric"
            return f"{give}, or ask for {_named(others[0])}" if others else give
        if others and need in ("baseline_rank", "users of the baseline"):
            alone = "give one system's lists alone as {argument}"
            return f"ask for {_named(others[0])}, or {alone}" if self.baselines else alone
        return HOW.get(need, "give {argument}" if need in GIVEN_BY else "give a column of that name")


def in_words(need: str) -> str:
    """What a message calls a need.

    >>> in_words("seen"), in_words("item groups"), in_words("baseline_rank ALS")
    ('what each user had before', 'item groups', "the baseline 'ALS'")
    """
    named = _baselines_in([need])
    return f"the baseline {named[0]!r}" if named else WORDS.get(need, need)


def _given(offered: Collection[str]) -> str:
    """What the caller gave, told from what it offers."""
    said_apart = ("score", "catalogue", "all users")
    arguments = {GIVEN_BY[need] for need in offered if need in GIVEN_BY and need not in said_apart}
    if "catalogue" in offered and "history" not in arguments:
        arguments.add("catalogue")
    scores = "with" if "score" in offered else "without"
    named = [f"baseline of {', '.join(map(repr, others))}"] if (others := _baselines_in(offered)) else []
    return ", ".join([f"recommendations {scores} scores", "relevance", *sorted(arguments), *named])


def _baselines_in(columns: Iterable[str]) -> list[str]:
    """The names of baselines, sorted."""
    return sorted(name for column in columns if (name := column.removeprefix("baseline_rank ")) != column)


def _named(baseline: str) -> str:
    return f'{baseline!r} with baseline="{baseline}" among the parameters of the metric'


def baseline_column(name: str = "", ranking: Ranking = Ranking()) -> str:
    """What the pair column with places in a baseline is called.

    Args:
        name: of the baseline; "" where there is but one.
        ranking: how the baseline's lists are ranked.

    >>> baseline_column(), baseline_column("ALS"), baseline_column("ALS", Ranking(duplicates="all"))
    ('baseline_rank', 'baseline_rank ALS', 'baseline_rank ALS score item_descending all drop')
    """
    column = f"baseline_rank {name}" if name else "baseline_rank"
    if ranking == Ranking():
        return column
    return f"{column} {ranking.order} {ranking.ties} {ranking.duplicates} {ranking.masked}"
