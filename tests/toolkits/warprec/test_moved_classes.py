"""Classes built as WarpRec's own forty are, one for each kind of construction, and the numbers WarpRec gives for them.

Expected values are those of the names `warprec:...`, which the golden files hold to numbers of WarpRec 1.4.6 itself, or
worked out by hand. What cannot run is refused with a reason.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

import bridgeval
from bridgeval import Scores
from bridgeval.errors import BadParameterError, InputError, MetricFailedError, NeedError
from bridgeval.toolkits.warprec import (
    BaseMetric,
    MetricBlock,
    RatingMetric,
    TopKMetric,
    UserAverageTopKMetric,
    metric,
    metric_registry,
)
from tests.toolkits.warprec.world import trained_world, world


@metric_registry.register("MovedPrecision")
class MovedPrecision(UserAverageTopKMetric):
    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return top_k_rel.mean(dim=1)


@metric_registry.register("MovedRecall")
class MovedRecall(UserAverageTopKMetric):
    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return top_k_rel.sum(dim=1) / target.sum(dim=1).clamp(min=1)


class Harmonic(TopKMetric):
    """Two metrics as attributes, taken from the registry; the blocks they need are set on the instance."""

    def __init__(
        self, k: int, num_users: int, beta: float = 1.0, first="MovedPrecision", second="MovedRecall", **rest: Any
    ):
        super().__init__(k)
        self.beta = beta
        self.first = metric_registry.get(first, k=k, num_users=num_users, **rest)
        self.second = metric_registry.get(second, k=k, num_users=num_users, **rest)
        self._REQUIRED_COMPONENTS = self.first.components | self.second.components

    def update(self, preds, user_indices, **kwargs):
        for one in (self.first, self.second):
            one.update(preds, user_indices, **kwargs)

    def compute(self):
        (one,), (other,) = self.first.compute().values(), self.second.compute().values()
        square = self.beta**2
        return {self.name: ((1 + square) * one * other / (square * one + other)).nan_to_num(0)}


class DistanceTo(TopKMetric):
    """Metrics in a plain list, named by a parameter that is a list."""

    def __init__(self, k: int, num_users: int, names: list[str], goals: list[float], **rest: Any):
        super().__init__(k)
        assert isinstance(names, list), "authors get what the user gave"
        self.register_buffer("goals", torch.tensor(goals))
        self.parts = [metric_registry.get(name, k=k, num_users=num_users, **rest) for name in names]

    def update(self, preds, user_indices, **kwargs):
        for part in self.parts:
            part.update(preds, user_indices, **kwargs)

    def compute(self):
        values = torch.stack([next(iter(part.compute().values())) for part in self.parts])
        return {self.name: (values - self.goals[:, None]).square().sum(0).sqrt()}


class Counts(BaseMetric):
    """Cells by group of users and of items: of lists, or of what is relevant."""

    def __init__(self, num_items: int, user_cluster: Tensor, item_cluster: Tensor, k: int | None = None):
        super().__init__()
        self.k = k
        self.register_buffer("of_user", user_cluster)
        self.register_buffer("of_item", item_cluster)
        sizes = torch.bincount(item_cluster)
        self.register_buffer("share", sizes / num_items)
        self.add_state("cells", torch.zeros(int(user_cluster.max()) + 1, len(sizes)), dist_reduce_fx="sum")

    def update(self, preds, user_indices, **kwargs):
        if self.k is None:
            rows, items = kwargs["ground"].nonzero(as_tuple=True)
        else:
            listed = kwargs[f"top_{self.k}_indices"]
            rows, items = torch.arange(len(listed)).repeat_interleave(self.k), listed.flatten()
        place = (self.of_user[user_indices[rows]], self.of_item[items])
        self.cells.index_put_(place, torch.ones(len(items)), accumulate=True)

    @property
    def bias(self) -> Tensor:
        return self.cells / self.cells.sum(1, keepdim=True).clamp(min=1) / self.share

    def compute(self):
        found = self.bias
        return {f"{a}, {b}": found[a, b] for a in range(1, len(found)) for b in range(1, found.shape[1])}


class BiasShift(TopKMetric):
    """Metrics in a dict; `compute` reads their states, not their results."""

    def __init__(self, k: int, num_items: int, user_cluster: Tensor, item_cluster: Tensor, **rest: Any):
        super().__init__(k)
        self.held = {
            "lists": Counts(num_items, user_cluster, item_cluster, k),
            "truth": Counts(num_items, user_cluster, item_cluster),
        }

    def update(self, preds, **kwargs):
        for one in self.held.values():
            one.update(preds, **kwargs)

    def compute(self):
        lists, truth = self.held["lists"].bias, self.held["truth"].bias
        shift = ((lists - truth) / truth).nan_to_num(0)
        return {f"{a}, {b}": shift[a, b] for a in range(1, len(shift)) for b in range(1, shift.shape[1])}


class Concentration(TopKMetric):
    _REQUIRED_COMPONENTS: ClassVar = {MetricBlock.TOP_K_INDICES}

    def __init__(self, k: int, num_items: int, **rest: Any):
        super().__init__(k)
        self.add_state("counts", torch.zeros(num_items), dist_reduce_fx="sum")

    def update(self, preds, **kwargs):
        self.counts += torch.bincount(kwargs[f"top_{self.k}_indices"].flatten(), minlength=len(self.counts))

    def compute(self):
        items, counts = len(self.counts), self.counts.sort().values
        weights = 2 * torch.arange(1, items + 1) - items - 1
        return {self.name: (weights * counts).sum() / counts.sum() / (items - 1)}


class Reached(TopKMetric):
    """A sum over all that is fed, however many users there are."""

    def __init__(self, k: int, **rest: Any):
        super().__init__(k)
        self.add_state("rows", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, preds, **kwargs):
        self.rows += (preds > 0).sum(dim=1).ge(self.k).sum()

    def compute(self):
        return {self.name: int(self.rows)}


class TailShare(UserAverageTopKMetric):
    """A buffer made by a helper; the parameters decide the name, as in WarpRec."""

    def __init__(self, k: int, num_users: int, item_interactions: Tensor, pop_ratio: float = 0.8, **rest: Any):
        super().__init__(k=k, num_users=num_users)
        self.ratio = pop_ratio
        self.register_buffer("tail", self.compute_head_tail(item_interactions, pop_ratio)[1])

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return torch.isin(kwargs[f"top_{self.k}_indices"], self.tail).sum(dim=1) / self.k

    @property
    def name(self):
        return f"TailShare[{self.ratio}]"


@metric_registry.register("MovedPopularity")
class MovedPopularity(UserAverageTopKMetric):
    def __init__(self, k: int, num_users: int, item_interactions: Tensor, **rest: Any):
        super().__init__(k=k, num_users=num_users)
        self.register_buffer("popularity", self.compute_popularity(item_interactions))

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return self.popularity[self.remap_indices(kwargs[f"top_{self.k}_indices"], kwargs["item_indices"])].mean(dim=1)


class Novelty(UserAverageTopKMetric):
    """Reads the number of all users, and other blocks than its base does."""

    def __init__(self, k: int, num_users: int, item_interactions: Tensor, log: bool, graded: bool = False, **rest: Any):
        super().__init__(k=k, num_users=num_users)
        self.kind = "discounted" if graded else "binary"
        self.register_buffer("novelty", self.compute_novelty_profile(item_interactions, num_users, log_discount=log))
        self._REQUIRED_COMPONENTS = {MetricBlock.VALID_USERS, MetricBlock.TOP_K_INDICES}

    def unpack_inputs(self, preds, **kwargs):
        relevance = f"{self.kind}_relevance"
        return kwargs[relevance], kwargs["valid_users"], kwargs[f"top_{self.k}_{relevance}"]

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        novelty = self.novelty[0, kwargs[f"top_{self.k}_indices"]]
        return self.dcg(top_k_rel * novelty) / self.discounted_sum(self.k)


class Area(BaseMetric):
    def __init__(self, num_items: int, **rest: Any):
        super().__init__()
        self.num_items = num_items
        self.add_state("area", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("relevant", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, preds, **kwargs):
        area, relevant = self.compute_area_stats(preds, kwargs["binary_relevance"], self.num_items)
        self.area += area.sum()
        self.relevant += relevant.sum()

    def compute(self):
        return {self.name: (self.area / self.relevant).item()}


class AreaByUser(UserAverageTopKMetric):
    """A constructor without a cutoff on a base that has one."""

    def __init__(self, num_items: int, num_users: int, **rest: Any):
        super().__init__(k=0, num_users=num_users)
        self.num_items = num_items

    def unpack_inputs(self, preds, **kwargs):
        return kwargs["binary_relevance"], kwargs["valid_users"], None

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        area, relevant = self.compute_area_stats(preds, target, self.num_items)
        return torch.where(relevant > 0, area / relevant, torch.tensor(0.0, device=self._device))


class AreaAtTop(UserAverageTopKMetric):
    def __init__(self, k: int, num_users: int, num_items: int, **rest: Any):
        super().__init__(k=k, num_users=num_users, **rest)
        self.num_items = num_items

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        area, _ = self.compute_area_stats(preds, target, self.num_items, k=self.k)
        return area / target.sum(dim=1).clamp(min=1, max=self.k)


class ScoreGap(UserAverageTopKMetric):
    """A `compute` of its own, over all users, with tensors on `self.device`."""

    def __init__(self, k: int, num_users: int, user_cluster: Tensor, **rest: Any):
        super().__init__(k=k, num_users=num_users)
        self.register_buffer("of_user", user_cluster)

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        return kwargs[f"top_{self.k}_values"].mean(dim=1)

    def compute(self):
        counted = (self.user_interactions > 0).float()
        sums = torch.zeros(int(self.of_user.max()) + 1, device=self.device)
        users = torch.zeros_like(sums).scatter_add_(0, self.of_user, counted)
        means = sums.scatter_add_(0, self.of_user, self.scores * counted)[users > 0] / users[users > 0]
        gaps = torch.pdist(means[:, None], p=1)
        return {self.name: gaps.mean().item()}


class RootError(RatingMetric):
    """A `compute` on top of the base's."""

    def _compute_element_error(self, preds, target):
        return (preds - target).square()

    def compute(self):
        return {self.name: super().compute()[self.name].sqrt()}


class TopicRecall(UserAverageTopKMetric):
    """Multiplies a lookup of all items by the relevance of all items: written for a lookup without a padding row."""

    def __init__(self, k: int, num_users: int, feature_lookup: Tensor, **rest: Any):
        super().__init__(k=k, num_users=num_users)
        self.register_buffer("topics", feature_lookup)

    def compute_scores(self, preds, target, top_k_rel, **kwargs):
        wanted = ((self.topics[None] * target[:, :, None]).sum(1) > 0).sum(1)
        listed = self.topics[kwargs[f"top_{self.k}_indices"]] * top_k_rel[:, :, None]
        return (listed.sum(1) > 0).sum(1) / wanted.clamp(min=1)


LISTS = {"names": ["MovedPrecision", "MovedRecall"], "goals": [1.0, 0.5]}
WITH_POPULARITY = {"names": ["MovedRecall", "MovedPopularity"], "goals": [1.0, 2.0]}
CASES = [
    (metric(Harmonic, k=4), "warprec:F1@4"),
    (metric(Harmonic, k=4, beta=2.0), "warprec:F1(beta=2.0)@4"),
    (metric(Harmonic, k=4, second="MovedPopularity"), 'warprec:F1(metric_2="ARP")@4'),
    (
        metric(DistanceTo, k=4, **LISTS),
        'warprec:EucDistance(metric_names=["Precision", "Recall"], utopia_points=[1.0, 0.5])@4',
    ),
    (
        metric(DistanceTo, k=4, **WITH_POPULARITY),
        'warprec:EucDistance(metric_names=["Recall", "ARP"], utopia_points=[1.0, 2.0])@4',
    ),
    (metric(BiasShift, k=4), "warprec:BiasDisparityBD@4"),
    (metric(Counts, k=4), "warprec:BiasDisparityBR@4"),
    (metric(Concentration, k=4), "warprec:Gini@4"),
    (metric(Reached, k=4), "warprec:UserCoverageAtN@4"),
    (metric(TailShare, k=4), "warprec:APLT@4"),
    (metric(TailShare, k=4, pop_ratio=0.5), "warprec:APLT(pop_ratio=0.5)@4"),
    (metric(MovedPopularity, k=4), "warprec:ARP@4"),
    (metric(Novelty, k=4, log=True), "warprec:EFD@4"),
    (metric(Novelty, k=4, log=False), "warprec:EPC@4"),
    (metric(Novelty, k=4, log=False, graded=True), 'warprec:EPC(relevance="discounted")@4'),
    (metric(Area), "warprec:AUC"),
    (metric(AreaByUser), "warprec:GAUC"),
    (metric(AreaAtTop, k=4), "warprec:LAUC@4"),
    (metric(ScoreGap, k=4), "warprec:UserMADRating@4"),
    (metric(TopicRecall, k=4), "warprec:SRecall@4"),
]


def numbers_of(report: bridgeval.Report, name: str) -> list[float]:
    result = report.results[name]
    return list(result.parts.values()) if result.value is None else [result.value]


@pytest.mark.parametrize("batch_size", [1, 5, None])
@pytest.mark.parametrize(("own", "name"), CASES, ids=[name for _, name in CASES])
def test_a_moved_class_gives_warprecs_number(own, name, batch_size):
    scores, wanted, known = trained_world()
    report = bridgeval.evaluate(scores, wanted, [own, name], batch_size=batch_size, **known)
    expected = numbers_of(report, name)
    assert numbers_of(report, str(own)) == pytest.approx(expected, rel=2e-5)
    assert any(expected)


@pytest.mark.parametrize(("own", "name"), CASES, ids=[name for _, name in CASES])
def test_shards_whose_users_differ_give_the_same(own, name):
    from bridgeval.engine.plan import Execution, Plan
    from bridgeval.toolkits.scores import ScoresLoader

    scores, wanted, known = trained_world(1)
    plan, how, states = Plan.of([own]), Execution(torch.device("cpu")), []
    for part in range(3):
        users = list(scores.users)[part::3]
        shard = Scores(scores.values[part::3], users, scores.items)
        states.append(ScoresLoader().load(shard, {u: wanted[u] for u in users if u in wanted}, **known).run(plan, how))
    (result,) = plan.compute(reduce(plan.merge, states[::-1], plan.start())).values()
    whole = bridgeval.evaluate(scores, wanted, name, **known).results[name]
    found = list(result.parts.values()) if result.value is None else [result.value]
    assert found == pytest.approx(list(whole.parts.values()) if whole.value is None else [whole.value], rel=2e-5)


def test_shards_that_know_other_groups_are_told_to_give_the_catalogue():
    from bridgeval.engine.plan import Execution, Plan
    from bridgeval.toolkits.mapping import MappingLoader

    known = {"item_groups": {"a": "x", "b": "y"}, "user_groups": {1: "p", 2: "p"}}
    plan, how = Plan.of([metric(Counts, k=1)]), Execution(torch.device("cpu"))

    def run(**more: Any) -> Any:
        shards = [({1: ["a"]}, {1: ["a"]}), ({2: ["b"]}, {2: ["b"]})]
        first, second = (MappingLoader().load(*shard, **known, **more).run(plan, how) for shard in shards)
        return plan.merge(first, second)

    with pytest.raises(BadParameterError, match=r"'cells' of Counts has another shape.*catalogue="):
        run()
    (result,) = plan.compute(run(catalogue=["a", "b"])).values()
    # Half of the places of group p are in x, which has half of the items, and half in y.
    assert list(result.parts.values()) == [1, 1]


def test_metrics_within_a_metric_by_hand():
    # 1: precision 1/2, recall 1: 2 * 1/2 / (3/2) = 2/3. 2: 0. 3 is known but has no truth: 0 in WarpRec, and counts.
    report = bridgeval.evaluate(
        {1: ["a", "b"], 2: ["a", "b"]}, {1: ["a"], 2: ["c"]}, metric(Harmonic, k=2), users=[1, 2, 3]
    )
    assert report["Harmonic@2"] == pytest.approx(2 / 3 / 3)


def test_users_without_relevance_are_not_fed():
    # WarpRec does not evaluate user 3: a, b, c are recommended 2, 0, 0 times and not 2, 1, 0 times, which gives 4/6.
    shown, wanted = {1: ["a"], 2: ["a"], 3: ["b"]}, {1: {"a": 1}, 2: {"c": 0}}
    report = bridgeval.evaluate(shown, wanted, metric(Concentration, k=1), catalogue=list("abc"))
    assert report["Concentration@1"] == 2 * 2 / 2 / 2


def test_equal_lists_as_parameters_are_one_metric_and_others_another():
    one, same = metric(DistanceTo, k=2, **LISTS), metric(DistanceTo, k=2, **LISTS)
    other = metric(DistanceTo, k=2, **{**LISTS, "goals": [0.0, 0.0]})
    assert (one == same, hash(one) == hash(same), one == other) == (True, True, False)
    # Precision 1/2, recall 1: away from (1, 1/2) by sqrt(1/4 + 1/4), from (0, 0) by sqrt(1/4 + 1).
    report = bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, [one, same, other])
    assert list(report.values()) == pytest.approx([math.sqrt(1 / 2), math.sqrt(5 / 4)])


def test_the_needs_of_a_metric_within_a_metric_are_checked_before_data_is_read():
    with pytest.raises(NeedError, match=r"needs item popularity.*history="):
        bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, metric(DistanceTo, k=2, **WITH_POPULARITY))


class Loose(BaseMetric):
    """Keeps what it counts in an attribute of some kind."""

    def __init__(self, kind: str):
        super().__init__()
        self.kind = kind
        self.number, self.tensor, self.seen, self.by_name, self.helper = 0, torch.zeros(3), [], {}, Helper()
        self.register_buffer("buffer", torch.zeros(1))

    def update(self, preds, **kwargs):
        match self.kind:
            case "number":
                self.number += 1
            case "tensor" | "buffer":
                getattr(self, self.kind).add_(1)
            case "seen":
                self.seen.append(1)
            case "by_name":
                self.by_name["n"] = 1
            case "helper.total":
                self.helper.total += 1
            case "fresh":
                self.fresh = 1

    def compute(self):
        return {self.name: 0.0}


class Helper:
    def __init__(self) -> None:
        self.total = 0


@pytest.mark.parametrize("kind", ["number", "tensor", "buffer", "seen", "by_name", "helper.total", "fresh"])
def test_an_attribute_that_is_no_state_is_refused_as_a_counter(kind):
    # WarpRec has one instance for all batches, where this counts; here it would be 0 without a word.
    with pytest.raises(BadParameterError, match=rf"Loose.update changes self.{kind}, which is no state.*add_state"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Loose, kind=kind))


class HeldByHelper(BaseMetric):
    """Holds a metric where no metric is looked for."""

    def __init__(self, num_users: int, **rest: Any):
        super().__init__()
        self.helper = Helper()
        self.helper.inner = MovedRecall(k=1, num_users=num_users)  # type: ignore[attr-defined]
        self.helper.owner = self  # type: ignore[attr-defined]

    def update(self, preds, user_indices, **kwargs):
        blocks = {"top_1_binary_relevance": kwargs["binary_relevance"][:, :1]}
        self.helper.inner.update(preds, user_indices, **kwargs, **blocks)  # type: ignore[attr-defined]

    def compute(self):
        return self.helper.inner.compute()  # type: ignore[attr-defined]


def test_a_metric_held_where_it_cannot_be_found_is_refused():
    with pytest.raises(BadParameterError, match=r"HeldByHelper.update changes self.helper.inner.scores"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(HeldByHelper))


class Quiet(BaseMetric):
    """Attributes that are neither states nor changed: of any type, NaN among them."""

    def __init__(self, **rest: Any):
        super().__init__()
        self.odd = [math.nan, torch.tensor([math.nan]), lambda: 1, {1, 2}, torch.Generator(), Helper(), nn.Linear(1, 1)]
        self.add_state("rows", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, preds, **kwargs):
        self.rows += len(preds)

    def compute(self):
        return {self.name: self.rows}


def test_attributes_that_stay_as_they_are_do_no_harm():
    assert list(
        bridgeval.evaluate({1: ["a"], 2: ["a"]}, {1: ["a"], 2: ["a"]}, metric(Quiet), batch_size=1).values()
    ) == [2]


def test_a_scratch_attribute_of_a_metric_by_user_is_its_own_affair():
    class Scratch(UserAverageTopKMetric):
        def compute_scores(self, preds, target, top_k_rel, **kwargs):
            self.last = top_k_rel
            return self.last.mean(dim=1)

    assert list(bridgeval.evaluate({1: ["a", "b"]}, {1: ["a"]}, metric(Scratch, k=2)).values()) == [0.5]


def test_a_root_of_errors_by_user():
    shown, wanted, _ = world(3)
    report = bridgeval.evaluate(shown, wanted, [metric(RootError), "warprec:RMSE"])
    assert report["RootError"] == pytest.approx(report["warprec:RMSE"], rel=1e-6)
    assert report.results["custom:RootError"].users == report.results["warprec:RMSE"].users


class Stripped(TopKMetric):
    """Takes off the padding row that WarpRec's data sets append; the popularity has none."""

    def __init__(self, k: int, item_cluster: Tensor, item_interactions: Tensor, **rest: Any):
        super().__init__(k)
        sizes = torch.zeros(int(item_cluster.max()) + 1).index_add_(0, item_cluster[:-1], item_interactions)
        self.register_buffer("sizes", sizes)

    def update(self, preds, **kwargs):
        pass

    def compute(self):
        return {f"{n}": size for n, size in enumerate(self.sizes)}


class Unstripped(Stripped):
    """Is written for lookups without that row, as RSP is, which WarpRec itself cannot run."""

    def __init__(self, k: int, item_cluster: Tensor, item_interactions: Tensor, **rest: Any):
        super().__init__(k, torch.cat([item_cluster, item_cluster[:1]]), item_interactions)


@pytest.mark.parametrize("author", [Stripped, Unstripped])
def test_lookups_have_a_row_for_no_item_unless_the_class_cannot_take_it(author):
    known = {"history": {1: ["a", "b"], 2: ["b"]}, "item_groups": {"a": "x", "b": "y"}}
    assert list(bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(author, k=1), **known).values()) == [0, 1, 2]


def test_lists_shorter_than_the_cutoff_are_refused_where_warprec_raises_for_padding():
    known = {"history": {1: ["a", "b"]}}
    with pytest.raises(MetricFailedError, match=r"MovedPopularity.update failed.*fewer than k items"):
        bridgeval.evaluate({1: ["a", "b"], 2: ["a"]}, {1: ["a"], 2: ["a"]}, metric(MovedPopularity, k=2), **known)
    with pytest.raises(MetricFailedError, match=r"ScoreGap.compute gave (nan|inf).*fewer than k items"):
        bridgeval.evaluate(
            {1: ["a", "b"], 2: ["a"]},
            {1: ["a"], 2: ["a"]},
            metric(ScoreGap, k=2),
            user_groups={1: "x", 2: "y"},
            users=[1, 2],
        )


def test_areas_of_lists_need_the_place_of_every_relevant_item():
    # Of ten items the one relevant is second of three candidates: WarpRec's sampled mode has (10 - 1 + 1 - 1) / 10.
    shown, catalogue = {1: {3: 0.9, 0: 0.8, 7: 0.1}}, range(10)
    report = bridgeval.evaluate(shown, {1: [0]}, [metric(Area), "warprec:AUC"], catalogue=catalogue)
    assert list(report.values()) == pytest.approx([9 / 10] * 2)
    with pytest.raises(NeedError, match="Area needs the place of every relevant item"):
        bridgeval.evaluate(shown, {1: [0, 5]}, metric(Area), catalogue=catalogue)


def test_a_missing_place_has_no_novelty():
    # Of 4 interactions a has 2: -log2(2 / 4) = 1 at the first place; the second is empty.
    report = bridgeval.evaluate(
        {1: ["a"]},
        {1: ["a"]},
        [metric(Novelty, k=2, log=True), "warprec:EFD@2"],
        history={1: ["a", "b"], 2: ["a", "c"]},
    )
    assert list(report.values()) == pytest.approx([1 / (1 + 1 / math.log2(3))] * 2)


class Bare(Reached):
    def compute(self):
        return self.rows


def test_a_result_without_a_name_is_refused():
    # WarpRec raises TypeError, for its own PopREO too where head or tail have nothing relevant.
    with pytest.raises(MetricFailedError, match=r"Bare.compute must give named numbers.*return {self.name: value}"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Bare, k=1))


def test_a_head_that_is_never_reached_is_refused():
    with pytest.raises(BadParameterError, match="no head of items has more than 100%"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(TailShare, k=1, pop_ratio=1.0), history={1: ["a", "b"]})


def test_nobody_to_feed_is_an_error():
    with pytest.raises(InputError, match="no user could be scored"):
        bridgeval.evaluate({1: ["a"]}, {}, metric(Reached, k=1))


class Square(BaseMetric):
    def __init__(self, num_users: int, num_items: int, shape: str):
        super().__init__()
        shapes = {"columns": (2, num_users), "both": (num_users + num_items,), "more": (num_users + 1,)}
        self.add_state("cells", torch.zeros(shapes[shape]), dist_reduce_fx="sum")

    def update(self, preds, **kwargs):
        pass

    def compute(self):
        return {self.name: 0.0}


@pytest.mark.parametrize("shape", ["columns", "both", "more"])
def test_a_state_whose_rows_are_neither_users_nor_items_is_refused(shape):
    with pytest.raises(BadParameterError, match="'cells' of Square has neither a row for each user nor"):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(Square, shape=shape))


class HiddenNeed(TopKMetric):
    """Asks for popularity by `**rest` alone."""

    def __init__(self, k: int, **rest: Any):
        super().__init__(k)
        self.inner = metric_registry.get("MovedPopularity", k=k, **rest)


def test_a_constructor_that_lacks_an_argument_says_what_it_was_given():
    with pytest.raises(
        MetricFailedError, match=r"HiddenNeed.__init__ failed.*'item_interactions'.*given k, num_users, num_items"
    ):
        bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, metric(HiddenNeed, k=1), history={1: ["a"]})
