"""Needs: what a metric must be given, checked before any data is read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bridgeval.data.ranking import Ranking
from bridgeval.errors import NeedError

# What a need is called -> the argument of `evaluate` that gives it.
GIVEN_BY = {
    "score": "scores in the recommendations (a column 'score', or (item, score) pairs)",
    "prev_score": "prev_scores=",
    "seen": "history=",
    "baseline_rank": "baseline=",
    "category": "a column 'category' in the recommendations",
    "catalogue": "catalogue= (or history=)",
    "item popularity": "history=",
    "item groups": "item_groups=",
    "item features": "item_features=",
    "user groups": "user_groups=",
    "users of the history": "history=",
    "users of the baseline": "baseline=",
    "users given": "users=",
    "history lists": "history=",
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
        cutoff: the last place that a cutoff asks for, however deep other metrics read.
        baselines: baselines to be ranked, and by which policy: (name, policy), see `baseline_column`.

    >>> (Needs(depth=5) | Needs(depth=10, pairs=frozenset({"seen"}))).depth
    10
    """

    depth: int | None = 0
    pairs: frozenset[str] = frozenset()
    context: frozenset[str] = frozenset()
    users: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    cutoff: int = 0
    baselines: frozenset[tuple[str, Ranking]] = frozenset()

    def __or__(self, other: Needs) -> Needs:
        whole = self.depth is None or other.depth is None
        return Needs(
            None if whole else max(self.depth or 0, other.depth or 0),
            self.pairs | other.pairs,
            self.context | other.context,
            self.users | other.users,
            self.optional | other.optional,
            self.lists | other.lists,
            max(self.cutoff, other.cutoff),
            self.baselines | other.baselines,
        )

    def reads(self, pair_column: str) -> bool:
        """Whether a pair column is worth making."""
        return pair_column in self.pairs or pair_column in self.optional

    def check(self, who: str, offered: Collection[str]) -> None:
        """Raises NeedError for the first thing that is needed and not offered."""
        for need in sorted(self.unmet(offered)):
            raise NeedError(
                f"{who} needs {need}",
                f"only {', '.join(sorted(offered)) or 'lists and relevance'}",
                f"give {GIVEN_BY.get(need) or GIVEN_BY.get(need.partition(' ')[0], 'a column of that name')}",
            )

    def unmet(self, offered: Collection[str]) -> frozenset[str]:
        """What is needed and not offered."""
        return (self.pairs | self.context | self.users | self.lists).difference(offered)


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
