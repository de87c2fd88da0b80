"""Metrics as WarpRec's guides write them, with the import line changed, and what they need to run anywhere."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

import bridgeval
from bridgeval.errors import (
    BadParameterError,
    DuplicateNameError,
    MetricFailedError,
    NeedError,
    UnknownMetricError,
)
from bridgeval.toolkits.warprec import (
    BaseMetric,
    MetricBlock,
    RatingMetric,
    TopKMetric,
    UserAverageTopKMetric,
    metric,
    metric_registry,
)
from tests.toolkits.warprec.world import matrix_of, world


# The first fragment of the guide: a metric of which only the formula is written.
class GuidePrecision(UserAverageTopKMetric):
    def compute_scores(self, preds: Tensor, target: Tensor, top_k_rel: Tensor, **kwargs: Any) -> Tensor:
        return top_k_rel.sum(dim=1).float() / self.k


# The second: the same, declaring the blocks it reads.
class DeclaredPrecision(GuidePrecision):
    _REQUIRED_COMPONENTS: ClassVar[set[MetricBlock]] = {
        MetricBlock.BINARY_RELEVANCE,
        MetricBlock.VALID_USERS,
        MetricBlock.TOP_K_BINARY_RELEVANCE,
    }


# The third: states of its own, updated from blocks.
@metric_registry.register("BlockPrecision")
class BlockPrecision(TopKMetric):
    _REQUIRED_COMPONENTS: ClassVar[set[MetricBlock]] = {
        MetricBlock.BINARY_RELEVANCE,
        MetricBlock.VALID_USERS,
        MetricBlock.TOP_K_BINARY_RELEVANCE,
    }

    def __init__(self, k: int, num_users: int, *args: Any, dist_sync_on_step: bool = False, **kwargs: Any):
        super().__init__(k=k, dist_sync_on_step=dist_sync_on_step)
        self.add_state("hits", default=torch.zeros(num_users), dist_reduce_fx="sum")
        self.add_state("users", default=torch.zeros(num_users), dist_reduce_fx="sum")

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        target: Tensor = kwargs.get("binary_relevance", torch.zeros_like(preds))
        users = kwargs.get("valid_users", self.valid_users(target))
        top_k_rel: Tensor = kwargs.get(f"top_{self.k}_binary_relevance", self.top_k_relevance(preds, target, self.k))
        batch_scores = top_k_rel.sum(dim=1) / self.k
        self.hits.index_add_(0, user_indices, batch_scores * users)
        self.users.index_add_(0, user_indices, users)

    def compute(self):
        return {self.name: self.hits / self.users}


@pytest.mark.parametrize("author", [GuidePrecision, DeclaredPrecision, BlockPrecision])
@pytest.mark.parametrize("from_matrix", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7, None])
def test_the_fragments_of_the_guide_give_precision(author, from_matrix, batch_size):
    shown, relevance, names = world()
    given = matrix_of(shown, names) if from_matrix else shown
    # Items scored -inf, which the matrix has, fill up its lists, as in WarpRec.
    report = bridgeval.evaluate(given, relevance, ["warprec:Precision@5", metric(author, k=5)], batch_size=batch_size)
    assert report[f"{author.__name__}@5"] == pytest.approx(report["warprec:Precision@5"], rel=1e-7)
    assert report.results[f"custom:{author.__name__}@5"].users == report.population.counted


def test_a_ranked_list_without_scores_will_do():
    report = bridgeval.evaluate(
        {1: ["a", "b", "c"]}, {1: ["b"]}, [metric(a, k=2) for a in (GuidePrecision, BlockPrecision)]
    )
    assert list(report.values()) == [0.5, 0.5]


def test_a_metric_by_user_is_summarized_kept_and_combined():
    shown, relevance, _ = world()
    own = metric(GuidePrecision, k=5)
    report = bridgeval.evaluate(shown, relevance, [own, bridgeval.metrics.F1(5, metric_1=own), "F1@5"], per_user=True)
    assert report['F1(metric_1="custom:GuidePrecision")@5'] == pytest.approx(report["F1@5"], rel=1e-7)
    assert report.per_user("GuidePrecision@5")["user"].tolist() == sorted(relevance)


class Everything(TopKMetric):
    """Keeps every block it is given."""

    _REQUIRED_COMPONENTS: ClassVar = set(MetricBlock)
    seen: ClassVar[dict[str, Any]] = {}

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        Everything.seen = {"preds": preds, "user_indices": user_indices, **kwargs}

    def compute(self):
        return {self.name: 0.0}


@pytest.mark.parametrize("from_matrix", [False, True])
def test_all_seven_blocks_hold_what_their_names_say(from_matrix):
    shown = {0: {"a": 0.5, "b": 0.9, "c": 0.5}, 1: {"d": 0.1}}
    relevance = {0: {"c": 2, "d": 1}, 1: {"a": 0}}
    names = list("abcd")
    bridgeval.evaluate(matrix_of(shown, names) if from_matrix else shown, relevance, metric(Everything, k=3))
    seen = {name: value.tolist() if isinstance(value, Tensor) else value for name, value in Everything.seen.items()}
    inf = math.inf
    assert seen["preds"] == [pytest.approx([0.5, 0.9, 0.5, -inf]), pytest.approx([-inf, -inf, -inf, 0.1])]
    assert seen["user_indices"] == [0, 1]
    assert seen["item_indices"] is None
    assert seen["ground"] == [[0, 0, 2, 1], [0, 0, 0, 0]]
    assert seen["binary_relevance"] == [[0, 0, 1, 1], [0, 0, 0, 0]]
    assert seen["discounted_relevance"] == [[0, 0, 7, 3], [0, 0, 0, 0]]
    assert seen["valid_users"] == [1, 0]
    # c before a: equal scores go by item id descending. 4 is "no item"; the masked items of a matrix are items.
    assert seen["top_3_indices"] == [[1, 2, 0], [3, 2, 1] if from_matrix else [3, 4, 4]]
    assert seen["top_3_values"] == [pytest.approx([0.9, 0.5, 0.5]), pytest.approx([0.1, -inf, -inf])]
    assert seen["top_3_binary_relevance"] == [[0, 1, 0], [0, 0, 0]]
    assert seen["top_3_discounted_relevance"] == [[0, 7, 0], [0, 0, 0]]


def test_update_finds_every_tensor_by_every_name():
    class Reader(TopKMetric):
        _REQUIRED_COMPONENTS: ClassVar = {MetricBlock.TOP_K_INDICES}

        def update(self, preds, user_indices, **kwargs):
            assert all(kwargs[f"{kind}_relevance"].shape == (1, 1) for kind in ("binary", "discounted"))

        def compute(self):
            return {self.name: 1.0}

    assert list(bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Reader, k=1)).values()) == [1.0]


def test_a_missing_block_is_an_error():
    instance = GuidePrecision(k=2, num_users=1)
    with pytest.raises(NeedError, match="GuidePrecision needs the block BINARY_RELEVANCE"):
        instance.update(torch.zeros(1, 3), torch.tensor([0]))
    with pytest.raises(NeedError, match="must pass top_2_binary_relevance="):
        instance.update(
            torch.zeros(1, 3), torch.tensor([0]), binary_relevance=torch.zeros(1, 3), valid_users=torch.ones(1)
        )


class AbsoluteError(RatingMetric):
    def _compute_element_error(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs()


def test_a_rating_metric_leaves_out_items_that_are_not_listed():
    shown, relevance, _ = world(3)
    report = bridgeval.evaluate(shown, relevance, [metric(AbsoluteError), 'MAE(average="users")', "warprec:MAE"])
    expected = report['MAE(average="users")']
    assert [report["AbsoluteError"], report["warprec:MAE"]] == pytest.approx([expected] * 2, rel=1e-6)


def test_masked_items_make_rating_errors_undefined_or_infinite_as_in_warprec():
    # WarpRec multiplies the error of every cell by 0 or 1: infinity times 0 is NaN for user 1, times 1 infinite for 2.
    shown = {1: {"a": 4.0, "b": -math.inf}, 2: {"a": 4.0, "b": -math.inf}, 3: {"a": 3.0, "b": 1.0}}
    wanted = {1: {"a": 5}, 2: {"a": 5, "b": 5}, 3: {"a": 5}}
    for given in (shown, matrix_of(shown, ["a", "b"])):
        report = bridgeval.evaluate(given, wanted, metric(AbsoluteError), per_user=True, batch_size=1)
        values = report.per_user("AbsoluteError")["value"].tolist()
        assert values == pytest.approx([math.nan, math.inf, 2.0], nan_ok=True)
        assert report.results["custom:AbsoluteError"].undefined == 1


class Clusters(TopKMetric):
    """Reads the lookups by user and by item that the constructor is given."""

    def __init__(self, k: int, user_cluster: Tensor, item_cluster: Tensor, **kwargs: Any):
        super().__init__(k=k)
        self.register_buffer("user_cluster", user_cluster.long())
        self.register_buffer("item_cluster", item_cluster.long())
        self.add_state("pairs", default=torch.zeros(3, 3), dist_reduce_fx="sum")

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        items = self.item_cluster[kwargs[f"top_{self.k}_indices"]]
        users = self.user_cluster[user_indices][:, None].expand(items.shape)
        self.pairs.index_put_((users, items), torch.ones(items.shape), accumulate=True)

    def compute(self):
        return {f"UC{a}_IC{b}": self.pairs[a, b] for a in (1, 2) for b in (1, 2)}


def test_clusters_are_looked_up_by_user_and_by_item():
    shown = {"x": {"a": 3, "b": 2, "c": 1}, "y": {"b": 1}}
    report = bridgeval.evaluate(
        shown,
        {"x": ["a"], "y": ["a"]},
        metric(Clusters, k=2),
        item_groups={"a": 1, "b": 2, "c": 2},
        user_groups={"x": "p", "y": "q"},
        batch_size=1,
    )
    assert list(report.values()) == [1, 1, 0, 1]
    with pytest.raises(NeedError, match="user_groups="):
        bridgeval.evaluate(shown, {"x": ["a"]}, metric(Clusters, k=2), item_groups={"a": 1})


class HalvesPopularity(TopKMetric):
    """Writes to what its constructor is given, and adds it up."""

    def __init__(self, k: int, item_interactions: Tensor, **kwargs: Any):
        super().__init__(k=k)
        self.popularity = item_interactions.mul_(0.5)
        self.add_state("total", default=torch.zeros(1), dist_reduce_fx="sum")

    def update(self, preds: Tensor, user_indices: Tensor, **kwargs: Any) -> None:
        self.total += self.popularity[kwargs[f"top_{self.k}_indices"]].sum()

    def compute(self):
        return {"HalvesPopularity": self.total}


def test_tensors_that_an_author_writes_to_are_copies():
    shown = {"x": {"a": 3, "b": 2}, "y": {"b": 1, "a": 0.5}}
    known = {"history": {"p": ["a", "b"], "q": ["a"]}, "batch_size": 1}
    for _ in range(2):
        report = bridgeval.evaluate(shown, {"x": ["a"], "y": ["a"]}, [metric(HalvesPopularity, k=1), "ARP@1"], **known)
        assert dict(report) == {"custom:HalvesPopularity@1": 1.0 + 0.5, "ARP@1": (2 + 1) / 2}


def test_a_registered_class_is_found_by_its_name():
    assert metric("blockprecision", k=3) == metric(BlockPrecision, k=3)
    assert "BlockPrecision" in metric_registry.list_registered()
    with pytest.raises(UnknownMetricError, match="BlockPrecision"):
        metric("Nothing", k=3)
    with pytest.raises(DuplicateNameError, match="registered already"):
        metric_registry.register("BlockPrecision")(GuidePrecision)


def test_constructors_that_cannot_be_filled_are_refused():
    with pytest.raises(BadParameterError, match="needs a cutoff"):
        metric(GuidePrecision)
    with pytest.raises(BadParameterError, match="takes no cutoff"):
        metric(AbsoluteError, k=3)

    class Needy(BaseMetric):
        def __init__(self, alpha: float):
            super().__init__()

    with pytest.raises(BadParameterError, match="needs 'alpha'"):
        metric(Needy)
    with pytest.raises(BadParameterError, match="no parameter 'beta'"):
        metric(Needy, alpha=1.0, beta=2.0)


def test_what_an_author_raises_carries_the_class():
    class Broken(UserAverageTopKMetric):
        def compute_scores(self, preds, target, top_k_rel, **kwargs):
            return kwargs["no_such_block"]

    with pytest.raises(MetricFailedError, match=r"Broken.update failed.*KeyError: 'no_such_block'"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Broken, k=1))
