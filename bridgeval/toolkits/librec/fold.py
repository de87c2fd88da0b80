"""Fold: one result file with the files beside it, as a source that reads only what an evaluation needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bridgeval
from bridgeval.errors import MisalignedError
from bridgeval.plugin import (
    Context,
    DeferredSource,
    Ids,
    Inputs,
    LocalSource,
    Needs,
    Rows,
    Table,
    encode_ids,
    list_offers,
)
from bridgeval.toolkits.librec.bases import to_array
from bridgeval.toolkits.librec.custom import ORIGINAL_LISTS
from bridgeval.toolkits.librec.features import Features, read_features
from bridgeval.toolkits.librec.study_config import Feature
from bridgeval.toolkits.librec.study_files import Repeats, Triples, read_ratings, read_result, read_split

if TYPE_CHECKING:
    from bridgeval.plugin import Metric, Report

PathLike = str | os.PathLike[str]

RATED_ITEMS = frozenset({"catalogue", "item internal_id"})
# File -> the needs that it answers.
ANSWERS = {
    "train": frozenset({"seen", "item popularity", "users of the history", "history lists"}) | RATED_ITEMS,
    "original": frozenset({"baseline_rank", "users of the baseline", ORIGINAL_LISTS}),
    "item_features": frozenset({"item features", "item feature_rows"}),
    "user_features": frozenset({"user groups", "user features"}),
}


@dataclass(frozen=True)
class Fold:
    """One experiment's lists for one split of the data; also any single result file with its test file.

    Attributes:
        result: recommendations or predictions, `user,item,score`.
        test: the truth, `user<TAB>item<TAB>rating`.
        train: training ratings, for metrics that need the history.
        original: lists before re-ranking.
        ratings: the ratings the split was made from. LibRec numbers items by their first appearance in it; without it,
            by that in `train` and then in `test`.
        item_features, user_features: `id,feature,value`.
        ranking: False for predicted ratings.
        order: "given" ranks by the order of the file, "score" sorts each user's rows, stably.
        header: whether result and test files start with a header.
        repeats: "keep" keeps repeated (user, item) rows, for metrics that count them twice as librec-auto does.
        finite: False accepts scores that are NaN or infinite; no score is used then.
        strict: predicted ratings must be of exactly the pairs of the test file; otherwise pairs that only one side has
            are left out and counted in the notes of the result.
        protected: the feature for metrics of protected items or users that name none.

    >>> import bridgeval
    >>> report = bridgeval.evaluate(Fold(result="out-1.txt", test="test.txt"), metrics="librec:ndcg_binary@10")
    Traceback (most recent call last):
    bridgeval.errors.InputError: out-1.txt cannot be read; ...
    """

    result: PathLike
    test: PathLike
    train: PathLike | None = None
    original: PathLike | None = None
    ratings: tuple[PathLike, ...] = ()
    item_features: PathLike | None = None
    user_features: PathLike | None = None
    ranking: bool = True
    order: Literal["given", "score"] = "given"
    header: bool = False
    finite: bool = True
    repeats: Repeats = "drop"
    strict: bool = False
    protected: Feature | None = None

    def evaluate(self, metrics: str | Metric | Iterable[str | Metric], **options: Any) -> Report:
        """Returns a Report; `options` are those of `bridgeval.evaluate`."""
        return bridgeval.evaluate(self, None, metrics, **options)

    def read_result(self) -> Triples:
        return read_result(
            self.result,
            ranking=self.ranking,
            order=self.order,
            header=self.header,
            finite=self.finite,
            repeats=self.repeats,
        )

    def read_test(self) -> Triples:
        return read_split(self.test, header=self.header, repeats=self.repeats)


def open_fold(fold: Fold, given: Mapping[str, Any]) -> DeferredSource:
    """Makes the source of a fold; files are read when the needs of the metrics are known.

    Args:
        given: arguments of `evaluate` that add to the files or replace them.
    """
    answered = (needs for file, needs in ANSWERS.items() if getattr(fold, file) is not None)
    offers = frozenset({"score"}).union(*answered, list_offers({}, **given))

    def read(needs: Needs) -> LocalSource:
        reader = FoldReader(fold, needs, given)
        return LocalSource(reader.inputs.slates, reader.context, offers)

    return DeferredSource(offers, read)


class FoldReader:
    """The files of a fold, each read once, on first use."""

    def __init__(self, files: Fold, needs: Needs, given: Mapping[str, Any]) -> None:
        self._files = files
        self._given = given
        self._asked = needs.required | needs.optional

    @cached_property
    def result(self) -> Triples:
        return self._files.read_result()

    @cached_property
    def test(self) -> Triples:
        return self._files.read_test()

    @cached_property
    def train(self) -> Triples | None:
        return None if self._files.train is None else read_split(self._files.train)

    @cached_property
    def original(self) -> Triples | None:
        path = self._files.original
        if path is None or not self._asks("original"):
            return None
        return read_result(path, order=self._files.order, header=self._files.header)

    @cached_property
    def ratings(self) -> list[Triples]:
        """The ratings that LibRec numbered users and items by."""
        if self._files.ratings:
            return [read_ratings(path) for path in self._files.ratings]
        return [rows for rows in (self.train, self.test) if rows is not None]

    @cached_property
    def items(self) -> pa.LargeStringArray:
        """All items, in the order of their first appearance."""
        return pc.unique(pa.concat_arrays([rows.items.dictionary for rows in self.ratings]))

    @cached_property
    def item_features(self) -> Features | None:
        path = self._files.item_features
        if path is None or not self._asks("item_features"):
            return None
        features = read_features(path)
        if self._files.train is None:
            return features
        return features.select(encode_ids([Ids(self.items), Ids(self.result.items.dictionary)])[0])

    @cached_property
    def user_features(self) -> Features | None:
        path = self._files.user_features
        return None if path is None or not self._asks("user_features") else read_features(path)

    @cached_property
    def inputs(self) -> Inputs:
        files = self._files
        shown, relevant = self.result.as_rows("score"), self.test.as_rows("gain")
        if files.strict and not files.ranking:
            check_same_pairs(self.result, self.test)
        all_users = files.train is not None and "all users" in self._asked
        reads_train = all_users or self._given.get("mask_seen") or self._asks("train")
        read: dict[str, Any] = {
            "history": self._read_history() if reads_train else None,
            "baseline": self.original.as_rows("score") if self.original is not None else None,
            "catalogue": self._list_catalogue(),
            "item_features": self.item_features and self.item_features.values,
            "user_groups": self.user_features and self.user_features.groups,
            "users": self._list_users() if all_users else None,
        }
        return Inputs.of(shown, relevant, **{**read, **self._given})

    @cached_property
    def context(self) -> Context:
        """The context of the inputs, with the tables that only metrics of this folder read."""
        context = self.inputs.context
        items, users = dict(context.items), dict(context.users)
        if self.item_features is not None:
            items["feature_rows"] = self.item_features.rows
        if self.user_features is not None:
            users["features"] = self.user_features.values
        if ORIGINAL_LISTS in self._asked and self.original is not None:
            users[ORIGINAL_LISTS] = tabulate_lists(self.original)
        protected = self._files.protected
        if protected is not None:
            sides = {"item": (items, "item_features"), "user": (users, "user_groups")}
            tables, argument = sides[protected.side]
            if "features" in tables and argument not in self._given:
                # Metrics that name no feature read its name from this table.
                tables["protected"] = replace(tables["features"], labels=(protected.id,))
        if "item internal_id" in self._asked and self._files.train is not None:
            items["internal_id"] = self._number_items()
        return replace(context, items=items, users=users)

    def _asks(self, file: str) -> bool:
        return bool(self._asked & ANSWERS[file])

    def _list_catalogue(self) -> Ids | None:
        """All items; the report counts shown items that it lacks. For a single test file these are its items."""
        if self._files.train is None:
            return None if "history" in self._given else Ids(self.items)
        return Ids(self.items) if self._asked & RATED_ITEMS else None

    def _list_users(self) -> Ids:
        return Ids(
            pc.unique(pa.concat_arrays([rows.users.dictionary for rows in (*self.ratings, self.result, self.test)]))
        )

    def _read_history(self) -> Rows | None:
        return None if self.train is None else Rows(Ids.of(self.train.users), Ids.of(self.train.items))

    def _number_items(self) -> Table:
        """The number of each item in LibRec: its place in the order of first appearance, from 0."""
        order = pc.sort_indices(self.items)
        return Table(Ids(self.items.take(order)), order.to_numpy().astype(np.int64), default=-1)


def tabulate_lists(triples: Triples) -> Table:
    """Makes a table of lists by user: arrays `[n, 3]` of user, item and number, in the order of the file."""
    users, (codes,) = encode_ids([Ids.of(triples.users)], "user ids")
    rows = to_array(triples)[np.argsort(codes, kind="stable")]
    lists = np.empty(len(users), dtype=object)
    for user, one in enumerate(np.split(rows, np.cumsum(np.bincount(codes))[:-1])):
        lists[user] = one
    return Table(users, lists)


def check_same_pairs(result: Triples, test: Triples) -> None:
    """Raises MisalignedError unless both files have the same (user, item) pairs, in any order."""
    users, owners = encode_ids([Ids.of(result.users), Ids.of(test.users)], "user ids")
    items, codes = encode_ids([Ids.of(result.items), Ids.of(test.items)], "item ids")
    predicted, known = (user.astype(np.int64) * len(items) + item for user, item in zip(owners, codes, strict=True))
    extra, missing = np.setdiff1d(predicted, known), np.setdiff1d(known, predicted)
    if len(extra) or len(missing):
        pair = [*extra[:1], *missing[:1]][0]
        user, item = users.take(np.array([pair // len(items)])), items.take(np.array([pair % len(items)]))
        raise MisalignedError(
            f"{result.path} does not predict the pairs of {test.path}",
            f"{len(extra)} prediction(s) for other pairs and {len(missing)} pair(s) without one, "
            f"e.g. user {user.tolist()[0]!r} and item {item.tolist()[0]!r}",
            "strict=False leaves these out and counts them",
        )
