"""On a GPU every metric gives the CPU's numbers, for every kind of input; see `tests.pretend_gpu`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import bridgeval
import bridgeval.plugin
from bridgeval import plugins
from bridgeval.engine.metric import Metric
from bridgeval.engine.plan import Execution, Plan
from bridgeval.engine.summary import Result
from bridgeval.errors import BridgevalError
from bridgeval.loading import choose_loader
from bridgeval.testing import World, world
from bridgeval.toolkits.replay import Metric as ReplayMetric, NCISMetric, TorchMetricsBuilder
from bridgeval.toolkits.replay.custom import FunctionMetric
from bridgeval.toolkits.warprec import (
    BaseMetric,
    RatingMetric,
    TopKMetric,
    UserAverageTopKMetric,
    metric as warprec_metric,
)
from tests.laws.test_metrics import CONVENTIONS, NATIVE, VARIANTS, metric_of_convention
from tests.pretend_gpu import PretendedGPU

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
USERS, ITEMS = sorted(world().extras["user_groups"]), sorted(world().extras["item_features"])


@cache
def every_metric() -> tuple[Metric, ...]:
    """All native metrics, those with parameters that matter, and every name of every convention, without repeats."""
    native = [metric for name in [*NATIVE, *VARIANTS] for metric in bridgeval.parse(name)]
    return Plan.of([*native, *map(metric_of_convention, CONVENTIONS)]).metrics


def frame(table: Any, number: str) -> pd.DataFrame:
    rows = [(user, item, value) for user, row in table.items() for item, value in dict(row).items()]
    return pd.DataFrame(rows, columns=["user", "item", number])


def matrix(masked: float = 0.0) -> np.ndarray:
    """Scores with ties; some are -inf if asked for."""
    draw = np.random.default_rng(5)
    scores = draw.integers(1, 9, (len(USERS), len(ITEMS))) / 8
    scores[draw.random(scores.shape) < masked] = -math.inf
    return scores


def scored(values: Any, **how: Any) -> bridgeval.Scores:
    return bridgeval.Scores(values, users=USERS, **{"items": ITEMS, **how})


def sparse() -> scipy.sparse.csr_matrix:
    scores = matrix()
    return scipy.sparse.csr_matrix(np.where(np.random.default_rng(6).random(scores.shape) < 0.5, scores, 0))


def candidates() -> bridgeval.Candidates:
    data = world()
    return bridgeval.sample_candidates(data.relevance, catalogue=ITEMS, negatives=5, shorter="allow")


# A kind of input: given a device, where scores are, recommendations and the name of the world they belong to.
KINDS = {
    "mapping": lambda device: world().recommendations,
    "string ids": lambda device: world("string").recommendations,
    "frame": lambda device: frame(world().recommendations, "score"),
    "ranked lists": lambda device: {user: [i for i, _ in row] for user, row in world().recommendations.items()},
    "whole rankings": lambda device: world(whole=True).recommendations,
    "scores": lambda device: scored(torch.tensor(matrix()).to(device)),
    "scores of the host": lambda device: scored(matrix().astype(np.float32)),
    "half scores": lambda device: scored(torch.tensor(matrix()).bfloat16().to(device)),
    "scores with -inf": lambda device: scored(torch.tensor(matrix(0.3)).to(device)),
    "scores, history shown": lambda device: scored(torch.tensor(matrix()).to(device), mask_history=False),
    "scores of some users": lambda device: bridgeval.Scores(
        torch.tensor(matrix()[::2]).to(device), users=USERS[::2], items=ITEMS
    ),
    "sparse scores": lambda device: scored(sparse()),
    "a model": lambda device: scored(lambda users: torch.tensor(matrix()).to(device)[np.searchsorted(USERS, users)]),
    "candidates": lambda device: scored(torch.tensor(matrix()).to(device), candidates=candidates()),
    # Negative numbers are padding there, so that ids are strings.
    "scores of candidates": lambda device: bridgeval.Scores(
        torch.tensor(matrix()[:, :4]).to(device),
        users=sorted(world("string").extras["user_groups"]),
        items=np.array(sorted(world("string").extras["item_features"]))[np.arange(72).reshape(18, 4) % 12],
    ),
}

# Batches of so many users; the others come in one.
SIZES = {"frame": 10, "scores": 10}


def count_visits(data: World) -> dict[Any, int]:
    """How often each user came: 0, 1, 2, 0, ..."""
    return {user: at % 3 for at, user in enumerate(data.extras["user_groups"])}


def run(
    metrics: Sequence[Metric], kind: str, device: torch.device, recommendations: Any = None
) -> dict[Metric, Result]:
    data = world(
        "string" if kind in ("string ids", "scores of candidates") else "integer", whole=kind == "whole rankings"
    )
    recommendations, truth = KINDS[kind](device) if recommendations is None else recommendations, data.relevance
    relevance = frame(truth, "gain") if kind == "frame" else truth
    tables = {"price": dict.fromkeys(data.extras["item_features"], 2.0), "visits": count_visits(data)}
    source = choose_loader(plugins.installed(), recommendations, relevance).load(
        recommendations, relevance, **data.extras, context=tables
    )
    plan = Plan.of(metrics)
    plan.check(source.offers)
    return plan.compute(source.run(plan, Execution(device, SIZES.get(kind))))


def run_possible(metrics: Sequence[Metric], kind: str) -> dict[Metric, Result]:
    """The results on the CPU of all metrics that this kind of input has data for: halves, until those that fail are
    alone.
    """
    try:
        return run(metrics, kind, CPU)
    except BridgevalError:
        half = len(metrics) // 2
        return {} if not half else run_possible(metrics[:half], kind) | run_possible(metrics[half:], kind)


def assert_close(found: Result, expected: Result, name: str) -> None:
    assert (found.users, found.undefined) == (expected.users, expected.undefined), name
    for ours, theirs in (
        (found.numbers("value"), expected.numbers("value")),
        (found.notes, expected.notes),
        ({"deviation": found.deviation or 0.0}, {"deviation": expected.deviation or 0.0}),
    ):
        assert ours.keys() == theirs.keys(), name
        np.testing.assert_allclose(list(ours.values()), list(theirs.values()), 1e-12, 1e-12, err_msg=name)
    if expected.per_user is not None:
        assert found.per_user.users.tolist() == expected.per_user.users.tolist(), name
        np.testing.assert_allclose(found.per_user.values, expected.per_user.values, 1e-12, 1e-12, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_every_metric_gives_the_numbers_of_the_cpu(kind):
    expected = run_possible(every_metric(), kind)
    assert len(expected) > 250
    # Wherever CUDA promises nothing, this device answers otherwise than the CPU.
    with PretendedGPU(contrary=True):
        found = run(list(expected), kind, CUDA)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


@pytest.mark.parametrize("kind", ["mapping", "scores"])
def test_every_metric_runs_under_deterministic_algorithms(kind):
    expected = run_possible(every_metric(), kind)
    torch.use_deterministic_algorithms(True)
    try:
        with PretendedGPU():
            found = run(list(expected), kind, CUDA)
    finally:
        torch.use_deterministic_algorithms(False)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


SIX = [f"{name}@5,10,20,50" for name in ("nDCG", "Recall", "Precision", "MRR", "MAP", "HitRate")]


def forty() -> list[str]:
    """WarpRec's metrics that are native, at one cutoff."""
    parts = 'metrics=["Precision", "nDCG"]'
    further = {"EucDistance": f"({parts}, utopia=[1.0, 1.0])", "Hypervolume": f"({parts}, nadir=[0.0, 0.0])"}
    classes = plugins.installed().metrics
    names = [name for name in plugins.installed().conventions["warprec"].metrics if name in classes]
    return [f"{name}{further.get(name, '')}" + "@10" * ("k" in classes[name].__dataclass_fields__) for name in names]


def count_per_batch(kind: str, metrics: list[str], digits: int | None = None) -> dict[str, float]:
    """What a batch more asks of the device, of 64 users and 400 items; scores are rounded to so many digits."""
    draw = np.random.default_rng(0)
    numbers = draw.random((64, 400)).astype(np.float32)
    numbers = numbers if digits is None else np.round(numbers, digits)
    truth = {user: draw.choice(400, draw.integers(1, 9), replace=False).tolist() for user in range(64)}
    extras: dict[str, Any] = {"history": {user: draw.choice(400, 9, replace=False).tolist() for user in range(64)}}
    if len(metrics) > 6:
        extras |= {"item_groups": {item: item % 7 for item in range(400)}, "catalogue": range(400)}
        extras |= {"user_groups": {user: user % 5 for user in range(64)}}
        extras |= {"item_features": {item: [item % 20, item % 3] for item in range(400)}}
        extras |= {"prev_scores": {item: 1 / (1 + item) for item in range(400)}}
    best = np.argsort(-numbers, axis=1)[:, :100]
    lists = pd.DataFrame(
        {
            "user": np.repeat(np.arange(64), 100),
            "item": best.ravel(),
            "score": np.take_along_axis(numbers, best, axis=1).ravel(),
        }
    )
    counts: list[Counter[str]] = []
    for size in (32, 16):
        with PretendedGPU() as gpu:
            shown = lists if kind == "frame" else bridgeval.Scores(torch.tensor(numbers).to("cuda"))
            gpu.forget()
            bridgeval.evaluate(shown, truth, metrics, device="cuda", batch_size=size, mask_seen=False, **extras)
            counts.append(Counter(entry.kind for entry in gpu.ledger.entries))
    # 2 batches, and 4.
    return {one: (counts[1][one] - counts[0][one]) / 2 for one in ("launch", "wait", "upload", "download")}


@pytest.mark.parametrize(
    ("kind", "metrics", "digits", "launches"),
    [
        ("frame", SIX, None, 120),
        ("scores", SIX, None, 120),
        # Many scores are equal.
        ("scores", SIX, 2, 121),
        ("scores", forty(), None, 405),
        ("scores", forty(), 2, 423),
    ],
)
def test_a_batch_takes_few_launches_and_waits_one_copy_there_and_one_back(kind, metrics, digits, launches):
    counts = count_per_batch(kind, metrics, digits)
    assert counts["launch"] <= launches
    assert counts["wait"] <= 3
    assert (counts["upload"], counts["download"]) == (1, 1)


def test_the_host_waits_for_no_constant_of_the_run():
    with PretendedGPU() as gpu:
        recommendations = KINDS["scores"](CUDA)
        gpu.forget()
        bridgeval.evaluate(recommendations, world().relevance, SIX, device="cuda", batch_size=len(USERS))
    assert gpu.ledger.count("wait") <= 3
    assert gpu.ledger.count("upload") <= 4


def test_a_batch_that_does_not_fit_is_cut_in_halves():
    draw = np.random.default_rng(3)
    scores = draw.random((64, 500)).astype(np.float32)
    truth = {user: draw.choice(500, 4, replace=False).tolist() for user in range(64)}
    history = {user: draw.choice(500, 9, replace=False).tolist() for user in range(64)}
    expected = bridgeval.evaluate(bridgeval.Scores(scores), truth, SIX, history=history, device="cpu")
    with PretendedGPU(memory=3 * scores.nbytes) as gpu:
        with pytest.warns(bridgeval.errors.SmallerBatchesWarning, match="batch_size=") as told:
            found = bridgeval.evaluate(
                bridgeval.Scores(scores), truth, SIX, history=history, device="cuda", batch_size=64
            )
        assert gpu.peak <= gpu.memory
    assert len(told) < 6
    assert dict(found) == pytest.approx(dict(expected), abs=1e-12)
    with (
        PretendedGPU(memory=1000),
        pytest.warns(bridgeval.errors.SmallerBatchesWarning),
        pytest.raises(torch.OutOfMemoryError),
    ):
        bridgeval.evaluate(bridgeval.Scores(scores), truth, SIX, device="cuda")


@contextmanager
def default_device(name: str) -> Iterator[None]:
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


SETTINGS = {
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "inference mode": torch.inference_mode,
    "gradients": torch.enable_grad,
    "deterministic algorithms": deterministic,
    "default device meta": lambda: default_device("meta"),
    "default dtype half": lambda: default_dtype(torch.float16),
    "default dtype double": lambda: default_dtype(torch.float64),
}


@cache
def native_results(kind: str) -> dict[Metric, Result]:
    return run_possible([metric for name in NATIVE for metric in bridgeval.parse(name)], kind)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", ["mapping", "scores", "sparse scores", "candidates"])
def test_settings_of_the_caller_change_no_number(kind, setting):
    expected, recommendations = native_results(kind), KINDS[kind](CPU)
    with SETTINGS[setting]():
        found = run(list(expected), kind, CPU, recommendations)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


# A tensor of "meta" is one of the pretended device: as a default it is what "cuda" is on a real one.
ON_DEVICE = {**SETTINGS, "autocast of the device": lambda: torch.autocast("cuda", torch.bfloat16)}


@pytest.mark.parametrize("setting", ON_DEVICE)
@pytest.mark.parametrize(("kind", "contrary"), [("mapping", False), ("mapping", True), ("scores", True)])
def test_settings_of_the_caller_change_no_number_on_the_device(kind, contrary, setting):
    expected = native_results(kind)
    with PretendedGPU(contrary=contrary):
        recommendations = KINDS[kind](CUDA)
        with ON_DEVICE[setting]():
            found = run(list(expected), kind, CUDA, recommendations)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


@pytest.mark.parametrize("contrary", [False, True])
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_scores_of_any_precision_that_require_gradients_give_the_same_numbers(kind, device, contrary):
    # Multiples of 1/8 up to 1 are exact in every precision.
    expected = bridgeval.evaluate(scored(matrix()), world().relevance, SIX, device="cpu")
    with PretendedGPU(contrary=contrary):
        scores = torch.tensor(matrix()).to(device, kind).requires_grad_()
        found = bridgeval.evaluate(scored(scores), world().relevance, SIX, device=device)
        evaluator = bridgeval.OnlineEvaluator(SIX)
        evaluator.update(scores[1:], torch.tensor(matrix() > 0.8)[1:].to(device))
        online = dict(evaluator.compute())
    assert dict(found) == pytest.approx(dict(expected), rel=1e-12)
    evaluator.reset()
    evaluator.update(torch.tensor(matrix())[1:], torch.tensor(matrix() > 0.8)[1:])
    assert online == pytest.approx(dict(evaluator.compute()), rel=1e-12)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
def test_auto_takes_the_device_of_scores_and_leaves_lists_on_the_cpu(monkeypatch):
    truth, metric = world().relevance, "Recall@5"
    with PretendedGPU():
        on_device = scored(torch.tensor(matrix()).to("cuda"))
        assert bridgeval.evaluate(on_device, truth, metric).device == "cuda:0"
        assert bridgeval.evaluate(scored(matrix()), truth, metric).device == "cpu"
        assert bridgeval.evaluate(scored(matrix()), truth, metric, device="cuda").device == "cuda"
        assert bridgeval.evaluate(world().recommendations, truth, metric).device == "cpu"
        assert bridgeval.evaluate(KINDS["a model"](CUDA), truth, metric).device == "cuda"
        monkeypatch.setattr("bridgeval.batch.scores.MANY_SCORES", 10)
        assert bridgeval.evaluate(scored(matrix()), truth, metric).device == "cuda"
        assert bridgeval.evaluate(scored(sparse()), truth, metric).device == "cpu"
    assert bridgeval.evaluate(scored(matrix()), truth, metric).device == "cpu"


class OwnPrecision(UserAverageTopKMetric):
    """A class written for WarpRec that gives each user a value."""

    def compute_scores(self, preds: torch.Tensor, target: torch.Tensor, top_k_rel: torch.Tensor, **kwargs: Any) -> Any:
        return top_k_rel.sum(dim=1).float() / self.k


@dataclass(frozen=True)
class FirstShare(bridgeval.plugin.ListMetric):
    """A Python function of one user."""

    name = "FirstShare"

    def value(self, slate: Any) -> float | None:
        return sum(item in slate.relevant for item in slate.items[:3]) / 3 if slate.items else None


class Careless(OwnPrecision):
    """The same, with a tensor that is made without a device."""

    def compute_scores(self, preds: torch.Tensor, target: torch.Tensor, top_k_rel: torch.Tensor, **kwargs: Any) -> Any:
        return super().compute_scores(preds, target, top_k_rel) + torch.ones(len(preds), dtype=torch.float32)


class OwnStates(TopKMetric):
    """A class written for WarpRec with states of its own, which adds up places and areas."""

    def __init__(self, k: int, num_items: int, **rest: Any) -> None:
        super().__init__(k)
        self.num_items = num_items
        self.register_buffer("weights", 1.0 / torch.arange(1, k + 1, dtype=torch.float64))
        self.add_state("gain", torch.zeros(1, dtype=torch.float64), "sum")
        self.add_state("area", torch.zeros((), dtype=torch.float64), "sum")
        self.add_state("lengths", [], "cat")

    def update(self, preds: torch.Tensor, user_indices: torch.Tensor, **kwargs: Any) -> None:
        target = kwargs["binary_relevance"]
        self.gain += (kwargs[f"top_{self.k}_binary_relevance"] * self.weights).sum()
        self.area = self.area + self.compute_area_stats(preds, target, self.num_items)[0].double().sum()
        self.lengths.append(target.sum(dim=1))

    def compute(self) -> Any:
        return {"gain": self.gain, "area": self.area, "relevant": torch.cat(self.lengths).double().mean()}


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize("kind", ["mapping", "scores", "candidates"])
@pytest.mark.parametrize("contrary", [False, True])
def test_classes_of_authors_give_the_numbers_of_the_cpu(kind, contrary):
    metrics = [warprec_metric(OwnPrecision, k=5), FirstShare()]
    # Areas need the place of every item.
    metrics += [warprec_metric(OwnStates, k=5)] if kind == "scores" else []
    expected = run(metrics, kind, CPU)
    with PretendedGPU(contrary=contrary):
        found = run(metrics, kind, CUDA)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


@pytest.mark.parametrize("setting", ON_DEVICE)
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_settings_of_the_caller_change_no_number_of_classes_of_authors(device, setting):
    metrics = [warprec_metric(Careless, k=5), warprec_metric(OwnStates, k=5), FirstShare()]
    expected = run(metrics, "scores", CPU)
    with PretendedGPU(contrary=True):
        where = CUDA if device == "cuda" else CPU
        recommendations = KINDS["scores"](where)
        with ON_DEVICE[setting]():
            found = run(metrics, "scores", where, recommendations)
    for metric, result in expected.items():
        assert_close(found[metric], result, str(metric))


def drive(device: str, author: type[BaseMetric]) -> list[dict[str, Any]]:
    """The numbers of a class that is called as WarpRec calls it: for two epochs of three batches."""
    held = torch.nn.ModuleList([author(k=3, num_users=9, num_items=12)])
    # Moved by the module that holds it, and by itself.
    (instance,) = held.to(device).children()
    assert instance.to(device).device == torch.device("cuda", 0) if device == "cuda" else CPU
    # No scores are equal: `torch.topk` promises no order for these.
    scores = torch.randperm(108, generator=torch.Generator().manual_seed(1)).float().view(9, 12).to(device)
    # Two relevant items each: a sum of two float32 has no order.
    target = (scores.argsort(dim=1).roll(1, 1) < 2).float()
    told = []
    for _ in range(2):
        instance.reset()
        for rows in torch.arange(9).split(3):
            preds, truth = scores[rows.to(device)], target[rows.to(device)]
            instance.update(
                preds,
                user_indices=rows.to(device),
                binary_relevance=truth,
                valid_users=BaseMetric.valid_users(truth),
                ground=truth,
                **{"top_3_binary_relevance": BaseMetric.top_k_relevance(preds, truth, 3)},
            )
        told.append({name: torch.as_tensor(value).cpu().numpy() for name, value in instance.compute().items()})
    return told


class OwnError(RatingMetric):
    """A class written for WarpRec that compares scores with ratings."""

    def __init__(self, num_users: int, **rest: Any) -> None:
        super().__init__(num_users)

    def _compute_element_error(self, preds: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (preds - target).abs()


@pytest.mark.parametrize("author", [OwnPrecision, OwnStates, OwnError])
@pytest.mark.parametrize("contrary", [False, True])
def test_classes_of_authors_may_be_driven_by_hand(author, contrary):
    expected = drive("cpu", author)
    with PretendedGPU(contrary=contrary):
        found = drive("cuda", author)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, 1e-12, 1e-12, err_msg=name)


class Share(ReplayMetric):
    """A class written for RePlay."""

    @staticmethod
    def _get_metric_value_by_user(ks: list[int], ground_truth: list[Any], pred: list[Any] | None) -> list[float]:
        return [len(set((pred or [])[:k]) & set(ground_truth)) / k for k in ks]


class WeightOfHits(NCISMetric):
    """One that reads the weights of a previous policy too."""

    @staticmethod
    def _get_metric_value_by_user(k: int, weights: list[float], pred: list[Any], ground_truth: list[Any]) -> float:
        return sum(w for w, item in zip(weights[:k], pred[:k], strict=True) if item in ground_truth)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize("kind", ["mapping", "scores"])
@pytest.mark.parametrize("contrary", [False, True])
def test_classes_written_for_replay_give_the_numbers_of_the_cpu(kind, contrary):
    (weighted,) = bridgeval.parse("NCISPrecision@5")
    metrics = [FunctionMetric(Share._get_metric_value_by_user, (2, 5), place, None, label="s") for place in (0, 1)]
    metrics += [FunctionMetric(WeightOfHits._get_metric_value_by_user, (5,), 0, weighted, label="w")]
    expected = run(metrics, kind, CPU)
    assert all(result.value > 0 for result in expected.values())
    with PretendedGPU(contrary=contrary):
        found = run(metrics, kind, CUDA)
    for metric, result in expected.items():
        assert_close(found[metric], result, f"{metric} of {kind}")


def test_a_torch_metrics_builder_takes_predictions_of_the_device():
    draw = torch.Generator().manual_seed(0)
    predictions = torch.stack([torch.randperm(30, generator=draw)[:5] for _ in range(9)])
    truth = torch.stack([torch.randperm(36, generator=draw)[:4] - 6 for _ in range(9)])
    here, there = (TorchMetricsBuilder(["recall", "ndcg", "map", "mrr"], [5, 1]) for _ in range(2))
    here.add_prediction(predictions, truth)
    with PretendedGPU(contrary=True):
        there.add_prediction(predictions.to("cuda"), truth.to("cuda"))
        assert there.get_metrics() == pytest.approx(here.get_metrics(), rel=1e-12)
