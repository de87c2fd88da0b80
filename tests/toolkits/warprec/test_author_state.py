"""States of metrics written for WarpRec: of every kind, merged over batches and partitions."""

from __future__ import annotations

import pickle
from functools import reduce
from math import inf
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

import bridgeval
from bridgeval import Scores
from bridgeval.engine.plan import Execution, Plan
from bridgeval.errors import (
    BadParameterError,
)
from bridgeval.toolkits.mapping import MappingLoader
from bridgeval.toolkits.warprec import (
    BaseMetric,
    MetricBlock,
    TopKMetric,
    metric,
)
from tests.toolkits.warprec.test_bases import BlockPrecision, GuidePrecision
from tests.toolkits.warprec.world import matrix_of, world


def added(both: Tensor) -> Tensor:
    return both.sum(0)


class Shares(TopKMetric):
    """One state for every kind of merging: by item, by user, sum, mean, max, min, cat, and a function."""

    _REQUIRED_COMPONENTS: ClassVar = {MetricBlock.TOP_K_INDICES}

    def __init__(
        self, k: int, num_items: int, num_users: int, item_interactions: Tensor, weight: float = 1.0, **kwargs: Any
    ):
        super().__init__(k=k)
        self.num_items, self.num_users, self.weight = num_items, num_users, weight
        self.popularity = item_interactions
        self.add_state("counts", default=torch.zeros(num_items), dist_reduce_fx="sum")
        self.add_state("lengths", default=torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("rows", default=torch.tensor(10.0), dist_reduce_fx="sum")
        self.add_state("share", default=torch.tensor(0.0), dist_reduce_fx="mean")
        self.add_state("longest", default=torch.tensor(0.0), dist_reduce_fx="max")
        self.add_state("shortest", default=torch.tensor(99.0), dist_reduce_fx="min")
        self.add_state("firsts", default=[], dist_reduce_fx="cat")
        self.add_state("total", default=torch.tensor(0.0), dist_reduce_fx=added)

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        top = kwargs[f"top_{self.k}_indices"]
        real = top < self.num_items
        self.counts += torch.bincount(top[real], minlength=self.num_items).float()
        lengths = real.sum(1).float()
        self.lengths.index_add_(0, user_indices, lengths)
        self.rows += len(preds)
        self.share = (lengths == self.k).float().mean()
        self.longest = torch.maximum(self.longest, lengths.max())
        self.shortest = torch.minimum(self.shortest, lengths.min())
        self.firsts.append(lengths)
        self.total = self.total + lengths.sum()

    def compute(self):
        return {
            "distinct": (self.counts > 0).sum(),
            "popularity": (self.counts * self.popularity).sum() * self.weight,
            "length": self.lengths.mean(),
            "rows": self.rows,
            "full": self.share,
            "longest": self.longest,
            "shortest": self.shortest,
            "squares": torch.cat(self.firsts).square().sum(),
            "total": self.total,
            "users": self.num_users,
        }


HISTORY = {f"v{n}": [f"i{n % 25:02d}", f"i{n % 7:02d}"] for n in range(40)}


def expected_shares(shown: dict, relevance: dict, k: int, weight: float) -> dict[str, float]:
    """Of the users with relevance, whom alone WarpRec feeds; the others of the history count as users."""
    tops = [sorted(shown[u], key=lambda item: (shown[u][item], item), reverse=True)[:k] for u in relevance]
    popularity: dict[str, set] = {}
    for user, items in HISTORY.items():
        for item in items:
            popularity.setdefault(item, set()).add(user)
    lengths = [len(top) for top in tops]
    return {
        "distinct": len({item for top in tops for item in top}),
        "popularity": weight * sum(len(popularity.get(item, ())) for top in tops for item in top),
        "length": sum(lengths) / (len(lengths) + len(HISTORY)),
        "rows": len(lengths) + 10,
        "full": sum(length == k for length in lengths) / len(lengths),
        "longest": max(lengths),
        "shortest": min(lengths),
        "squares": sum(length**2 for length in lengths),
        "total": sum(lengths),
        "users": len(lengths) + len(HISTORY),
    }


@pytest.mark.parametrize("batch_size", [1, 4, None])
@pytest.mark.parametrize("from_matrix", [False, True])
def test_states_of_every_kind_merge(from_matrix, batch_size):
    shown, relevance, names = world(1)
    given = matrix_of(shown, names) if from_matrix else shown
    scores = {"mask_history": False} if from_matrix else {}
    given = Scores(given.values, given.users, given.items, **scores) if from_matrix else given
    own = metric(Shares, k=4, weight=0.5)
    report = bridgeval.evaluate(given, relevance, own, history=HISTORY, batch_size=batch_size)
    found = {name.split("[")[1][:-1]: value for name, value in report.items()}
    if from_matrix:
        shown = {user: {name: rows.get(name, -inf) for name in names} for user, rows in shown.items()}
    assert found == pytest.approx(expected_shares(shown, relevance, 4, 0.5))


def test_states_merge_over_partitions_whose_users_and_items_differ():
    shown, relevance, _ = world(2)
    own = metric(Shares, k=4)
    plan = Plan.of([own, metric(GuidePrecision, k=4), metric(BlockPrecision, k=4)])
    states = []
    for part in range(3):
        users = list(shown)[part::3]
        source = MappingLoader().load(
            {u: shown[u] for u in users}, {u: relevance[u] for u in users if u in relevance}, history=HISTORY
        )
        states.append(pickle.loads(pickle.dumps(source.run(plan, Execution(torch.device("cpu"), 4)))))
    results = list(plan.compute(reduce(plan.merge, states[::-1], plan.start())).values())
    whole = bridgeval.evaluate(shown, relevance, [*plan.metrics, "Precision@4"], history=HISTORY)
    assert results[0].parts == pytest.approx(expected_shares(shown, relevance, 4, 1.0))
    assert [result.value for result in results[1:]] == pytest.approx([whole["Precision@4"]] * 2, rel=1e-6)


def test_a_large_catalogue_is_gone_through_in_parts(monkeypatch):
    from bridgeval.toolkits.warprec import dense_rows

    monkeypatch.setattr(dense_rows, "CELLS", 60)
    shown, relevance, _ = world(1)
    own = [metric(Shares, k=4), metric(GuidePrecision, k=4), metric(BlockPrecision, k=4)]
    report = bridgeval.evaluate(shown, relevance, [*own, "Precision@4"], history=HISTORY)
    assert report["custom:Shares@4[popularity]"] == expected_shares(shown, relevance, 4, 1.0)["popularity"]
    assert report["BlockPrecision@4"] == pytest.approx(report["Precision@4"], rel=1e-6)
    assert report["GuidePrecision@4"] == pytest.approx(report["Precision@4"], rel=1e-6)


def test_a_state_that_cannot_be_merged_is_refused():
    class Loose(BaseMetric):
        def __init__(self):
            super().__init__()
            self.add_state("x", default=torch.tensor(0.0), dist_reduce_fx=None)

        def update(self, preds, user_indices, **kwargs):
            self.x += 1

        def compute(self):
            return {self.name: self.x}

    with pytest.raises(BadParameterError, match="'x' of Loose cannot be merged"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Loose))
