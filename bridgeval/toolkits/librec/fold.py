"""Fold: one result file with the files beside it, and how a plan runs over them. Only what a plan needs is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bridgeval
from bridgeval.errors import MisalignedError
from bridgeval.plugin import (
    Context,
    Execution,
    Ids,
    Inputs,
    Needs,
    Plan,
    Rows,
    Slates,
    States,
    Table,
    encode_ids,
    fold,
    list_offers,
)
from bridgeval.toolkits.librec.conventions import protecting
from bridgeval.toolkits.librec.features import Features, read_features
from bridgeval.toolkits.librec.study_config import Feature
from bridgeval.toolkits.librec.study_files import Repeats, Triples, read_ratings, read_result, read_split

if TYPE_CHECKING:
    from bridgeval.plugin import Metric, Report

PathLike = str | os.PathLike[str]

# File -> the needs that it answers.
OF_TRAINING = frozenset({"seen", "item popularity", "users of the history", "history lists"})
OF_RATINGS = frozenset({"catalogue", "item internal_id"})
OF_ORIGINAL = frozenset({"baseline_rank", "users of the baseline"})
OF_ITEM_FEATURES = frozenset({"item features", "item feature_rows"})
OF_USER_FEATURES = frozenset({"user groups", "user features"})
# Whose features -> the argument of `evaluate` that takes the place of the file.
FEATURES = {"item": "item_features", "user": "user_groups"}


@dataclass(frozen=True)
class Fold:
    """One experiment's lists for one split of the data; also any single result file with its test file.

    Attributes:
        result: recommendations or predictions, `user,item,score`.
        test: what they are measured against, `user<TAB>item<TAB>rating`.
        train: training ratings, for metrics that look at popularity or at what was known.
        original: lists before re-ranking.
        ratings: the ratings the split was made from. LibRec numbers items by their first appearance in it; without it,
            by that in `train` and then in `test`.
        item_features, user_features: `id,feature,value`.
        ranking: False for predicted ratings.
        order: "given" ranks by the order of the file, "score" sorts each user's rows, stably.
        header: whether result and test files start with a header.
        repeats: "keep" keeps repeated (user, item) rows, for metrics that count them twice as librec-auto does.
        finite: False goes on where scores are NaN or infinite; they are not used then.
        strict: predicted ratings must be of exactly the pairs of the test file; without it, pairs that only one side
            has are left out and counted in the notes of the result.
        protected: the feature that metrics of protected items or users mean where they name none.

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
        """A Report; `options` are those of `bridgeval.evaluate`."""
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


@dataclass
class FoldSource:
    """Reads a fold when a plan is run, and of it only what the plan needs.

    Attributes:
        fold: the files.
        given: arguments of `evaluate` that add to them.
    """

    fold: Fold
    given: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""

    @property
    def offers(self) -> frozenset[str]:
        offers = {"score"}
        files = self.fold
        if files.train is not None:
            offers |= OF_TRAINING | OF_RATINGS
        if files.original is not None:
            offers |= OF_ORIGINAL
        if files.item_features is not None:
            offers |= OF_ITEM_FEATURES
        if files.user_features is not None:
            offers |= OF_USER_FEATURES
        return frozenset(offers) | list_offers({}, **self.given)

    def run(self, plan: Plan, how: Execution) -> States:
        reading = Reading(self.fold, plan.needs, self.given)
        # Place by place, so that states are those of the plan's metrics.
        asked = Plan(tuple(protecting(metric, self._protected) for metric in plan.metrics))
        return fold(asked, reading.slates(), reading.context, how)

    @property
    def _protected(self) -> Feature | None:
        """The fold's, where its own feature files are read."""
        feature = self.fold.protected
        replaced = feature is not None and FEATURES[feature.side] in self.given
        return None if replaced else feature


def check_same_pairs(result: Triples, test: Triples) -> None:
    """Raises unless both files have the same (user, item) pairs, in whatever order."""
    users, owners = encode_ids([result.users.ids, test.users.ids], "user ids")
    items, codes = encode_ids([result.items.ids, test.items.ids], "item ids")
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


class Reading:
    """The files of a fold, each read once and only when something asks for it."""

    def __init__(self, files: Fold, needs: Needs, given: Mapping[str, Any]) -> None:
        self._files = files
        self._needs = needs
        self._given = given
        self._asked = needs.pairs | needs.optional | needs.context | needs.users | needs.lists

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
    def ratings(self) -> list[Triples]:
        """What LibRec numbered users and items by."""
        if self._files.ratings:
            return [read_ratings(path) for path in self._files.ratings]
        return [rows for rows in (self.train, self.test) if rows is not None]

    @cached_property
    def items(self) -> pa.LargeStringArray:
        """All items, in the order of their first appearance."""
        return pc.unique(pa.concat_arrays([rows.items.names for rows in self.ratings]))

    @cached_property
    def item_features(self) -> Features:
        assert self._files.item_features is not None
        features = read_features(self._files.item_features)
        if self._files.train is None:
            return features
        known = encode_ids([Ids(self.items), Ids(self.result.items.names)])[0]
        return features.of_known(known)

    @cached_property
    def user_features(self) -> Features:
        assert self._files.user_features is not None
        return read_features(self._files.user_features)

    @cached_property
    def inputs(self) -> Inputs:
        asks, files = self._asks, self._files
        shown, relevant = self.result.as_rows("score"), self.test.as_rows("gain")
        trained = files.train is not None
        read: dict[str, Any] = {
            "history": self._history() if trained and asks(OF_TRAINING | {"all users"}) else None,
            "baseline": self._original() if asks(OF_ORIGINAL) else None,
            "catalogue": self._catalogue(),
            "item_features": self.item_features.values if files.item_features and asks(OF_ITEM_FEATURES) else None,
            "user_groups": self.user_features.groups if files.user_features and asks(OF_USER_FEATURES) else None,
            "users": self._known_users() if trained and asks({"all users"}) else None,
        }
        given = {name: value for name, value in self._given.items() if value is not None}
        if files.strict and not files.ranking:
            check_same_pairs(self.result, self.test)
        return Inputs.of(shown, relevant, **{**read, **given})

    @cached_property
    def context(self) -> Context:
        context = self.inputs.context
        items, users = dict(context.items), dict(context.users)
        if "item feature_rows" in self._asked and self._files.item_features is not None:
            items["feature_rows"] = self.item_features.rows
        if "item internal_id" in self._asked and self._files.train is not None:
            items["internal_id"] = self._internal_ids()
        if "user features" in self._asked and self._files.user_features is not None:
            users["features"] = self.user_features.values
        return replace(context, items=items, users=users)

    def slates(self) -> Iterator[Slates]:
        return self.inputs.slates(self._needs)

    def _asks(self, names: frozenset[str] | set[str]) -> bool:
        return bool(self._asked & names)

    def _catalogue(self) -> Ids | None:
        """All items there are; the report counts shown items that it lacks. A single test file is all that is known."""
        if self._files.train is None:
            return None if "history" in self._given else Ids(self.items)
        return Ids(self.items) if self._asks(OF_RATINGS) else None

    def _history(self) -> Rows | None:
        return None if self.train is None else Rows(self.train.users.ids, self.train.items.ids)

    def _known_users(self) -> Ids:
        return Ids(pc.unique(pa.concat_arrays([rows.users.names for rows in (*self.ratings, self.result, self.test)])))

    def _original(self) -> Rows | None:
        if self._files.original is None:
            return None
        read = read_result(self._files.original, order=self._files.order, header=self._files.header)
        return read.as_rows("score")

    def _internal_ids(self) -> Table:
        """The number of each item in LibRec: its place in the order of first appearance, from 0."""
        order = pc.sort_indices(self.items)
        return Table(Ids(self.items.take(order)), order.to_numpy().astype(np.int64), default=-1)
