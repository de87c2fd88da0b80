"""Inputs: the arguments of one evaluation as Rows and Tables, from which Slates and Context are built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bridgeval.batch.ranking import Ranking, rank_lists
from bridgeval.engine.needs import Needs, answered_needs, baseline_column
from bridgeval.io.columns import Chosen, Role, check_chosen_columns
from bridgeval.io.frames import find_frame, is_frame
from bridgeval.tables.context import Context
from bridgeval.tables.encoding import encode_ids
from bridgeval.tables.grouping import group_codes
from bridgeval.tables.groups import read_features, read_groups, read_ids
from bridgeval.tables.history import History
from bridgeval.tables.ids import Ids
from bridgeval.tables.named_tables import list_named_tables, read_named_tables
from bridgeval.tables.pair_column import PairColumn
from bridgeval.tables.rows import Rows, UnreadRows, has_scores, read_rows
from bridgeval.tables.slates import Lists, Slates, build_slates, check_scores, group_lists


@dataclass(frozen=True)
class Inputs:
    """Recommendations, relevance and the optional arguments.

    Attributes:
        history: training interactions.
        baseline: another system's lists.
        baselines: the lists of several other systems, by name.
        prev_scores: scores of the previous policy, by (user, item) or by item; of repeated rows the best counts.
        item_groups, user_groups, item_features: as given; the context reads them.
        users: who counts under users="given".
        more_users, more_items: ids that no row has, e.g. those of a score matrix.
        mask_seen: whether recommended items that the user has in the history are dropped.
        tables: name -> a number or a label of each item or user, as given.
    """

    recommendations: Rows
    relevance: Rows
    history: Rows | None = None
    baseline: Rows | None = None
    prev_scores: Rows | None = None
    catalogue: Ids | None = None
    item_groups: Any = None
    user_groups: Any = None
    item_features: Any = None
    users: Ids | None = None
    baselines: Mapping[str, Rows] = field(default_factory=dict)
    more_users: tuple[Ids, ...] = ()
    more_items: tuple[Ids, ...] = ()
    mask_seen: bool = False
    tables: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(
        recommendations: Any,
        relevance: Any,
        *,
        columns: Chosen | None = None,
        history: Any = None,
        baseline: Any = None,
        prev_scores: Any = None,
        catalogue: Any = None,
        item_groups: Any = None,
        user_groups: Any = None,
        item_features: Any = None,
        users: Any = None,
        mask_seen: bool = False,
        context: Mapping[str, Any] | None = None,
    ) -> Inputs:
        """Reads each argument from any of its forms; a mapping name -> frame gives several baselines."""
        several = _split_baselines(baseline)
        if columns:
            given: dict[Role, Any] = {
                "recommendations": recommendations,
                "relevance": relevance,
                "history": history,
                "prev_scores": prev_scores,
                "baseline": next(iter(several.values()), baseline),
            }
            frames = {
                role: value.frame if isinstance(value, UnreadRows) else find_frame(value)
                for role, value in given.items()
            }
            check_chosen_columns(columns, {role: one.names for role, one in frames.items() if one is not None})
        return Inputs(
            read_rows(recommendations, "recommendations", columns),
            read_rows(relevance, "relevance", columns),
            None if history is None else read_rows(history, "history", columns),
            None if baseline is None or several else read_rows(baseline, "baseline", columns),
            None if prev_scores is None else read_rows(prev_scores, "prev_scores", columns),
            None if catalogue is None else read_ids(catalogue, "the catalogue"),
            item_groups,
            user_groups,
            item_features,
            None if users is None else read_ids(users, "users"),
            {name: read_rows(frame, "baseline", columns) for name, frame in several.items()},
            mask_seen=mask_seen,
            tables=context or {},
        )

    @property
    def offers(self) -> frozenset[str]:
        offers = list_offers(**{f.name: getattr(self, f.name) for f in fields(self)})
        return offers | {"category"} if "category" in self.recommendations.columns else offers

    @cached_property
    def had(self) -> History | None:
        """The history in order."""
        return None if self.history is None else History.of(self.history)

    @cached_property
    def context(self) -> Context:
        catalogue, had = self.catalogue, self.had
        items, users = read_named_tables(self.tables) if self.tables else ({}, {})
        if had is not None:
            items["popularity"] = had.popularity
            catalogue = had.items if catalogue is None else catalogue
        if self.item_groups is not None:
            items["groups"] = read_groups(self.item_groups, "item")
        if self.item_features is not None:
            items["features"] = read_features(self.item_features)
        if self.user_groups is not None:
            users["groups"] = read_groups(self.user_groups, "user")
        return Context(
            catalogue,
            items,
            users,
            history_users=0 if had is None else len(had.users),
            history_pairs=0 if had is None else had.pairs,
            given_users=0 if self.users is None else len(self.users),
        )

    def slates(self, needs: Needs) -> Iterator[Slates]:
        """One Slates of everything, with the pair and user columns that are needed."""
        extra = self._find_extra_users(needs)
        more_users = (*self.more_users, *extra.values())
        had = self.had if needs.lists else None
        more_items = self.more_items if had is None else (*self.more_items, had.items)
        slates = build_slates(self.recommendations, self.relevance, more_users, more_items)
        columns: dict[str, npt.NDArray[Any]] = {f"in_{name}": _is_in(slates.users, ids) for name, ids in extra.items()}
        asked = needs.pairs | needs.optional
        if self.history is not None:
            asked |= needs.if_local
        if "seen" in asked and self.had is not None:
            columns["history_count"] = self.had.counts(slates.users)
        baselines = list(self.ranked_baselines(slates.users, needs)) if asked or needs.baselines else []
        for name, _, ranks in baselines:
            columns[f"in_baseline {name}".strip()] = _is_in(slates.users, ranks.named)
        if "baseline_rank" in asked and self.baseline is not None:
            columns["baseline_count"] = History.of(self.baseline).counts(slates.users)
        if "all users" in needs.users:
            columns.setdefault("in_known", np.ones(len(slates), dtype=bool))
        beside = self.pair_columns(slates.users, slates.items, needs, baselines) if asked or baselines else {}
        history = None
        if had is not None:
            seen = beside.get("seen")
            history = had.lists(slates.users, slates.items) if seen is None else Lists(seen.offsets, seen.items)
        shown = replace(slates.shown, beside=beside)
        if self.mask_seen:
            hidden = shown.column("seen").astype(bool)
            columns["hidden_count"] = np.bincount(shown.row_users[hidden], minlength=len(slates))
            shown = shown.filter(~hidden)
        yield Slates(slates.users, slates.items, shown, slates.relevant, columns, history)

    def pair_columns(
        self, users: Ids, items: Ids, needs: Needs, baselines: Iterable[tuple[str, str, Rows]]
    ) -> dict[str, PairColumn]:
        """The columns beside pairs that are needed.

        Args:
            baselines: as `ranked_baselines` gives them.
        """
        columns = {}
        read = self.mask_seen or needs.reads("seen") or "seen" in needs.if_local
        seen = self.seen(users, items) if read else None
        if seen is not None:
            columns["seen"] = seen
        if needs.reads("prev_score") and self.prev_scores is not None:
            columns["prev_score"] = PairColumn.of(users, items, sort_by_score(self.prev_scores), "score")
        for _, column, ranks in baselines:
            columns[column] = PairColumn.of(users, items, ranks, "rank")
        return columns

    def seen(self, users: Ids, items: Ids) -> PairColumn | None:
        """The pairs that the history has; None where there is no history."""
        if self.had is None:
            return None
        lists = self.had.lists(users, items)
        return PairColumn(lists.offsets, lists.items, len(items))

    def ranked_baselines(self, users: Ids, needs: Needs) -> Iterator[tuple[str, str, Rows]]:
        """The baselines that are needed: name, pair column, and rows with the place of each item."""
        plain = {("", Ranking())} if needs.reads("baseline_rank") else set()
        for name, policy in sorted(needs.baselines | plain, key=str):
            baseline = self.baselines.get(name) if name else self.baseline
            if baseline is not None:
                yield name, baseline_column(name, policy), rank_rows(users, baseline, policy)

    def _find_extra_users(self, needs: Needs) -> dict[str, Ids]:
        extra: dict[str, Ids] = {}
        if "users of the history" in needs.users and self.had is not None:
            extra["history"] = self.had.users
        if "users of the baseline" in needs.users and self.baseline is not None:
            extra["baseline"] = self.baseline.named
        if "users given" in needs.users and self.users is not None:
            extra["given"] = self.users
        if "all users" in needs.users and self.users is not None:
            extra["known"] = self.users
        elif "all users" in needs.users and self.had is not None:
            extra["known"] = self.had.users
        for name, rows in (("listed", self.recommendations), ("judged", self.relevance)):
            if f"users {name}" in needs.optional and rows.empty is not None:
                extra[name] = rows.empty
        return extra


def list_offers(recommendations: Any, columns: Chosen | None = None, **given: Any) -> frozenset[str]:
    """The needs that these arguments answer; reads none of them."""
    several = given.get("baselines") or _split_baselines(given.get("baseline"))
    alone = {name: value for name, value in given.items() if value is not None and not (several and name == "baseline")}
    offers = answered_needs(frozenset(alone)) | {"all users", *map(baseline_column, several)}
    if tables := given.get("tables") or given.get("context"):
        offers |= list_named_tables(tables)
    return frozenset(offers | {"score"} if has_scores(recommendations, columns) else offers)


def _split_baselines(baseline: Any) -> Mapping[str, Any]:
    """Several baselines by name; none where it is a single one."""
    several = isinstance(baseline, Mapping) and baseline and all(map(is_frame, baseline.values()))
    return baseline if several else {}


def _is_in(users: Ids, wanted: Ids) -> npt.NDArray[np.bool_]:
    """Whether each user is one of those wanted, who come in any order."""
    if not len(wanted):
        return np.zeros(len(users), dtype=bool)
    return users.positions_in(encode_ids([wanted])[0]) >= 0


def sort_by_score(rows: Rows) -> Rows:
    """Checked rows by score descending, so that the first of a repeated pair is the best."""
    check_scores(rows)
    order = np.argsort(-rows.columns["score"], kind="stable")
    users = None if rows.users is None else rows.users.take(order)
    return Rows(users, rows.items.take(order), {"score": rows.columns["score"][order]})


def rank_rows(users: Ids, rows: Rows, ranking: Ranking = Ranking()) -> Rows:
    """Rows of some users with the place of each item in its user's ranked list, best first."""
    positions = rows.owners.positions_in(users)
    kept = np.flatnonzero(positions >= 0)
    items, (item_codes,) = encode_ids([rows.items])
    columns = {"row": kept.astype(np.float64)} | {name: column[kept] for name, column in rows.columns.items()}
    by_user = group_codes(positions[kept].astype(np.int32), len(users))
    lists = rank_lists(group_lists(by_user, item_codes[kept], columns, rows.ranked), ranking, len(items), items)
    places = np.arange(len(lists.items)) - np.repeat(lists.offsets[:-1], lists.lengths) + 1.0
    kept = lists.columns["row"].astype(np.int64)
    return Rows(rows.owners.take(kept), rows.items.take(kept), {"rank": places})
