"""An OnlineEvaluator gives the report of `evaluate`, whatever the batches are."""

from __future__ import annotations

import pytest
import torch

import bridgeval
from bridgeval.errors import BadValueError, InputError, MisalignedError, NeedError

METRICS = ["nDCG@1,5", "Recall@5", "MAP@5", "GAUC", "ItemCoverage@5", "Novelty@5", "EPC@5", "Gini@5"]
USERS, ITEMS = 30, 12
DRAW = torch.Generator().manual_seed(3)
SCORES = torch.randint(0, 9, (USERS, ITEMS), generator=DRAW) / 8.0
TRUTH = torch.rand(USERS, ITEMS, generator=DRAW) < 0.2
SEEN = (torch.rand(USERS, ITEMS, generator=DRAW) < 0.3) & ~TRUTH
HISTORY = {user: row.nonzero().flatten().tolist() for user, row in enumerate(SEEN) if row.any()}


def as_lists(flags):
    return [row.nonzero().flatten().tolist() for row in flags]


def pad(lists):
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(one).long() for one in lists], True, -1)


def evaluated(metrics=METRICS, shown=None):
    truth = {user: items for user, items in enumerate(as_lists(TRUTH)) if items}
    shown = bridgeval.Scores(SCORES) if shown is None else shown
    return bridgeval.evaluate(shown, truth, metrics, history=HISTORY)


@pytest.mark.parametrize(
    "form", [lambda flags: flags, as_lists, lambda flags: pad(as_lists(flags)), torch.Tensor.float]
)
@pytest.mark.parametrize("size", [30, 7])
def test_batches_of_scores_give_the_report_of_all(form, size):
    evaluator = bridgeval.OnlineEvaluator(METRICS, history=HISTORY)
    for start in range(0, USERS, size):
        rows = slice(start, start + size)
        evaluator.update(SCORES[rows].requires_grad_(), form(TRUTH[rows]), seen=form(SEEN[rows]))
    assert dict(evaluator.compute()) == pytest.approx(dict(evaluated()), rel=1e-12)


def test_lists_of_items_give_the_report_of_the_lists():
    lists = SCORES.argsort(1, descending=True)[:, :5]
    evaluator = bridgeval.OnlineEvaluator(["nDCG@5", "MRR@5"], items=ITEMS)
    evaluator.update(torch.nn.functional.pad(lists, (0, 2), value=-1), TRUTH)
    expected = evaluated(["nDCG@5", "MRR@5"], dict(enumerate(lists.tolist())))
    assert dict(evaluator.compute()) == pytest.approx(dict(expected), rel=1e-12)


def test_evaluators_merge_and_start_anew():
    whole, first, second = (bridgeval.OnlineEvaluator("MAP@3", per_user=True) for _ in range(3))
    whole.update(SCORES, TRUTH)
    first.update(SCORES[:11], TRUTH[:11])
    second.update(SCORES[11:], TRUTH[11:])
    first.merge(second)
    assert first.compute()["MAP@3"] == pytest.approx(whole.compute()["MAP@3"], rel=1e-12)
    assert len(whole.compute().per_user("MAP@3")) == int(TRUTH.any(1).sum())
    first.reset()
    first.update(SCORES, TRUTH)
    assert dict(first.compute()) == dict(whole.compute())
    with pytest.raises(MisalignedError, match="different metrics"):
        first.merge(bridgeval.OnlineEvaluator("MAP@4"))


def test_ids_of_items_may_have_any_order():
    names = [f"item {(5 * at) % ITEMS:02d}" for at in range(ITEMS)]
    groups = {name: ("a", "b")[at % 2] for at, name in enumerate(names)}
    evaluator = bridgeval.OnlineEvaluator(["Recall@3", "REO@3"], names, item_groups=groups)
    evaluator.update(SCORES, TRUTH)
    truth = {user: [names[item] for item in items] for user, items in enumerate(as_lists(TRUTH)) if items}
    scores = bridgeval.Scores(SCORES, items=names)
    expected = bridgeval.evaluate(scores, truth, ["Recall@3", "REO@3"], item_groups=groups)
    assert dict(evaluator.compute()) == pytest.approx(dict(expected), rel=1e-12)


def test_scores_on_a_gpu_stay_there(gpu):
    evaluator = bridgeval.OnlineEvaluator(METRICS, history=HISTORY)
    scores = SCORES.to("cuda")
    gpu.forget()
    evaluator.update(scores, as_lists(TRUTH), as_lists(SEEN))
    found = dict(evaluator.compute())
    # One copy for all metrics: values of users, counts of items.
    ((line, _),) = gpu.ledger.lines("download").items()
    assert "transfer.py" in line[0]
    assert gpu.ledger.count("download") == 1
    assert found == pytest.approx(dict(evaluated()), rel=1e-12)


@pytest.mark.parametrize("form", [lambda flags: flags, torch.Tensor.half, lambda flags: pad(as_lists(flags))])
def test_of_flags_on_a_gpu_only_the_items_come_to_the_host(gpu, form):
    evaluator = bridgeval.OnlineEvaluator(METRICS, history=HISTORY)
    given = [one.to("cuda") for one in (SCORES, form(TRUTH), form(SEEN))]
    gpu.forget()
    evaluator.update(*given)
    # One copy of row, item and gain for each side, one of the results.
    assert gpu.ledger.count("download") == 3
    assert dict(evaluator.compute()) == pytest.approx(dict(evaluated()), rel=1e-12)


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (NeedError, "items are not known", lambda one: one.update(torch.tensor([[1]]), [[1]])),
        (MisalignedError, "3 rows for 30 users", lambda one: one.update(SCORES, [[1]] * 3)),
        (BadValueError, "of 12 items", lambda one: one.update(SCORES, [[99]] * USERS)),
        (MisalignedError, "column for each item", lambda one: one.update(SCORES, TRUTH[:, 1:])),
        (BadValueError, "NaN", lambda one: one.update(SCORES * torch.nan, TRUTH)),
    ],
)
def test_bad_batches_give_no_number(error, words, call):
    with pytest.raises(error, match=words):
        call(bridgeval.OnlineEvaluator("Recall@3"))


def test_data_that_no_batch_brings_is_asked_for():
    with pytest.raises(NeedError, match="Novelty"):
        bridgeval.OnlineEvaluator("Novelty@3").update(SCORES, TRUTH)
    with pytest.raises(InputError, match="user_groups"):
        bridgeval.OnlineEvaluator("Recall@3", user_groups={0: "a"}).update(SCORES, TRUTH)
