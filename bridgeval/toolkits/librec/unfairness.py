"""Ratings: errors pair by pair, and whether two groups of users are predicted alike (Yao and Huang 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bridgeval.data.needs import Needs
from bridgeval.engine.bases import RowMetric
from bridgeval.engine.blocks import Blocks, ShownColumn
from bridgeval.engine.state import ItemSums, Sums
from bridgeval.engine.summary import Result
from bridgeval.toolkits.librec.spread import Showings
from bridgeval.toolkits.librec.whole import (
    WholeMetric,
    column_of,
    in_protected_group,
    item_state,
    summed_by_item,
    user_features,
)


@dataclass(frozen=True)
class SignedError(RowMetric):
    """Mean of `predicted - actual` over all pairs that both sides have.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "SignedError")["SignedError"]
    -0.5
    """

    name = "SignedError"
    family = "rating"
    higher_is_better = None

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return predicted - actual


@dataclass(frozen=True)
class MissRate(RowMetric):
    """The share of pairs whose prediction is off by more than `tolerance`. LibRec: MPEEvaluator.

    >>> import bridgeval
    >>> bridgeval.evaluate({1: {"a": 3.0, "b": 5.0}}, {1: {"a": 4.0, "b": 5.0}}, "MissRate")["MissRate"]
    0.5
    """

    name = "MissRate"
    family = "rating"
    higher_is_better = False

    tolerance: float = field(default=0.01, kw_only=True)

    def rows(self, predicted: Tensor, actual: Tensor) -> Tensor:
        return ((predicted - actual).abs() > self.tolerance).double()


@dataclass(frozen=True)
class ScoreParity(WholeMetric):
    """`|mean score of protected users - mean score of the others|`, each user's mean over the first k places.

    LibRec counts a user with several features once for each of them in the denominators, and so does this: with one
    feature a user, as Kamishima et al. (2011) have it, both agree. LibRec: NonParityUnfairnessEvaluator.
    """

    name = "ScoreParity"
    family = "fairness"
    higher_is_better = False

    protected: str | None = field(default=None, kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"score"}), context=frozenset({"user features"}))

    def start(self) -> Sums:
        return Sums()

    def update(self, blocks: Blocks) -> Sums:
        _, valid = self.shown(blocks)
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k].double() * valid
        listed = valid.sum(1)
        means = torch.where(listed > 0, scores.sum(1) / listed.clamp(min=1), 0.0)
        group = in_protected_group(blocks, self.protected)
        flags = user_features(blocks)[listed > 0]
        column = column_of(blocks.context.users["features"], self.protected)
        return Sums(
            {
                "protected": float(means[group].sum()),
                "other": float(means[~group].sum()),
                "protected users": int(flags[:, column].sum()),
                "other users": int(flags.sum() - flags[:, column].sum()),
            }
        )

    def compute(self, state: Any) -> Result:
        if not state["protected users"] or not state["other users"]:
            return Result(math.nan)
        means = [state[name] / state[f"{name} users"] for name in ("protected", "other")]
        return Result(abs(means[0] - means[1]), users=state["protected users"] + state["other users"])


@dataclass(frozen=True)
class PredictionUnfairness(WholeMetric):
    """How differently two groups of users are predicted: `mean over items of |e(protected) - e(others)|`.

    For each item and group the mean score s and the mean rating t are taken, and of them e = `s - t` ("value"),
    `|s - t|` ("absolute"), `max(0, s - t)` ("over") or `max(0, t - s)` ("under") (Yao and Huang, "Beyond parity",
    2017). As in LibRec, means are biased (a sum of c numbers is divided by c + 1), all items of the catalogue count,
    and of a user's predictions only the first k in the order of the file are read.
    """

    name = "PredictionUnfairness"
    family = "fairness"
    higher_is_better = False

    protected: str | None = field(default=None, kw_only=True)
    error: Literal["value", "absolute", "over", "under"] = field(default="value", kw_only=True)

    def needs(self) -> Needs:
        return super().needs() | Needs(pairs=frozenset({"score"}), context=frozenset({"user features", "catalogue"}))

    def start(self) -> Showings:
        return Showings(ItemSums())

    def update(self, blocks: Blocks) -> Showings:
        items, valid = self.shown(blocks)
        scores = blocks[ShownColumn("score", self.ranking)][:, : self.k]
        relevant = blocks.batch.relevant
        group, tested = in_protected_group(blocks, self.protected), self.tested(blocks)
        columns = []
        for members in (group & tested, ~group & tested):
            for what, cells, numbers in (
                (items, valid, scores),
                (relevant.items, relevant.valid, relevant.column("gain")),
            ):
                inside = cells & members[:, None]
                columns += [
                    summed_by_item(blocks, what, inside, numbers),
                    summed_by_item(blocks, what, inside),
                ]
        catalogue = blocks.context.catalogue
        size = 0 if catalogue is None else len(catalogue)
        return Showings(item_state(blocks, *columns), int(tested.sum()), size)

    def compute(self, state: Showings) -> Result:
        if not state.users or not state.size:
            return Result(math.nan, users=0)
        sums, counts = state.counts.values[:, 0::2], state.counts.values[:, 1::2]
        scores, ratings, other_scores, other_ratings = (sums / (counts + 1)).T
        gap = np.abs(self._error(scores - ratings) - self._error(other_scores - other_ratings))
        return Result(float(gap.sum() / state.size), users=state.users)

    def _error(self, difference: Any) -> Any:
        if self.error == "absolute":
            return np.abs(difference)
        if self.error == "over":
            return np.maximum(difference, 0)
        return np.maximum(-difference, 0) if self.error == "under" else difference
