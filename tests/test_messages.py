"""Messages of errors: sentences, in words and arguments of the caller."""

from __future__ import annotations

import ast
import math
import re
from pathlib import Path

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import (
    BadParameterError,
    InputError,
    MissingColumnError,
    NeedError,
    UnknownMetricError,
)
from tests.test_bad_input import RECS, TRUTH, evaluate


@pytest.mark.parametrize(
    ("recs", "truth", "said"),
    [
        (RECS[["user_id"]], TRUTH, "the recommendations have no column for the item"),
        (RECS, TRUTH[["user_id"]], "the relevance has no column for the item"),
        (RECS.astype({"user_id": float}), TRUTH, "user ids in the recommendations must be integers or strings"),
        (
            RECS.astype({"score": object}).assign(score="a"),
            TRUTH,
            "the column 'score' of the recommendations must hold",
        ),
        ({1: [None, 10], 2: [10]}, TRUTH, "1 of the item ids in the recommendations is missing (null)"),
        ({1: [(10, math.nan)]}, TRUTH, "the recommendations hold 1 NaN value(s)"),
        ({1: np.array([[1.5, 0.1]])}, TRUTH, "the item ids of user 1 in the recommendations are not all whole numbers"),
    ],
)
def test_messages_are_sentences(recs, truth, said):
    with pytest.raises(InputError) as caught:
        evaluate(recs, truth)
    assert str(caught.value).startswith(said)


def test_an_unknown_metric_answers_with_the_nearest():
    with pytest.raises(UnknownMetricError, match="nDCG"):
        evaluate(metrics="NDGC@10")


def test_a_missing_need_names_the_argument():
    with pytest.raises(NeedError, match="give catalogue="):
        evaluate(metrics="AUC")


@pytest.mark.parametrize(
    ("metric", "needs", "hint"),
    [
        ("Novelty@2", "the users' history", "give history="),
        ("SNIPS@2", "the logging policy's scores", "give prev_scores="),
        ('nDCG(users="given")@2', "the users that count", "give users="),
        ('CategoricalDiversity(of="rows")@2', "a category of each row", "give item_features="),
    ],
)
def test_a_missing_need_is_named_in_words_with_the_arguments_that_were_given(metric, needs, hint):
    with pytest.raises(NeedError) as caught:
        evaluate(metrics=metric, catalogue=[10, 11, 12])
    assert caught.value.wrong == f"{metric} needs {needs}"
    assert caught.value.found == "only recommendations with scores, relevance, catalogue"
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", None])
def test_a_device_that_cannot_be_used_lists_those_there_are(device):
    with pytest.raises(BadParameterError, match=f"the device '{device}' cannot be used") as caught:
        evaluate(device=device)
    assert "auto, cpu" in caught.value.hint


def test_errors_survive_pickling():
    import pickle

    error = pickle.loads(
        pickle.dumps(MissingColumnError("wrong", "found", "use {argument}", argument="columns", value={"user": ...}))
    )
    assert str(error) == "wrong; found: found; hint: use columns={'user': ...}"
    assert error.argument == "columns"
    assert isinstance(error, ValueError)


def test_messages_leave_the_spelling_of_arguments_to_their_reader():
    """`history=` in the text of an error would be printed by the command line, where the argument is `--train`."""
    written = r"\b(history|catalogue|item_groups|user_groups|item_features|prev_scores|columns|by|loader|memory)="
    found = [
        f"{path.name}: {text.value}"
        for path in Path(bridgeval.__file__).parent.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id.endswith("Error")
        for text in ast.walk(call)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and re.search(written, text.value)
    ]
    assert not found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (bridgeval.metrics.Gini(5), "Gini@5, a metric with one value for all lists together"),
        ("nDCG", "'nDCG'"),
        (bridgeval.metrics.nDCG, "the class nDCG, not an object of it"),
        (3, "3"),
    ],
)
def test_a_wrong_inner_metric_is_refused_in_words_of_metrics(given, found):
    with pytest.raises(BadParameterError) as caught:
        bridgeval.metrics.F1(5, metric_1=given)
    assert str(caught.value) == (
        "metric_1 of F1 must be a metric with a value for each user (such as nDCG, Recall or MRR) or None; "
        f"found: {found}; hint: give one, or leave it out: it is None then"
    )
