"""Options of a wrong type or out of range are refused at the door, by name, before anything is read."""

from __future__ import annotations

import numpy as np
import pytest

import bridgeval
from bridgeval.arguments import OPTIONS
from bridgeval.errors import BadParameterError, BadValueError, BridgevalError, InputError, SpecError

SHOWN, TRUTH = {1: ["a", "b"], 2: ["c"]}, {1: ["b"], 2: ["a"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 0),
        ("batch_size", 2.5),
        ("batch_size", True),
        ("columns", {1: 2}),
        ("columns", {"user": 3}),
        ("convention", 7),
        ("loader", 3),
        ("per_user", "yes"),
        ("state", 5),
    ],
)
def test_an_option_of_evaluate_is_refused_by_name(name, value):
    with pytest.raises(BadParameterError, match=f"^{name} must be") as caught:
        bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", **{name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # This many resamples would not end in a lifetime.
        ("resamples", 10**30),
        ("resamples", "many"),
        ("seed", [1, 2]),
        ("seed", -1),
        ("alpha", 1.5),
        ("alpha", float("nan")),
    ],
)
def test_an_option_of_compare_is_refused_by_name(name, value):
    with pytest.raises(BadParameterError, match=f"^{name} must be"):
        bridgeval.compare({"a": SHOWN, "b": SHOWN}, TRUTH, "MRR@2", **{name: value})


def test_numpy_numbers_and_none_are_taken():
    report = bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", batch_size=np.int64(1), columns=None)
    # "b" is second of user 1; user 2 has no hit.
    assert report["MRR@2"] == 0.25


def test_a_long_value_is_cut_in_the_message():
    with pytest.raises(BadParameterError, match=r"\(1,002 characters\)"):
        bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", batch_size="x" * 1000)


def test_every_option_says_what_it_takes():
    assert all(option.words for option in OPTIONS.values())


@pytest.mark.parametrize("kind", [complex, object, "U3", "M8[s]"])
def test_scores_that_are_no_real_numbers_are_refused(kind):
    with pytest.raises(BadValueError, match="the scores must be real numbers"):
        bridgeval.Scores(np.zeros((2, 3)).astype("i8").astype(kind))


@pytest.mark.parametrize("kind", ["bool", "uint8", "int64", "float16", "float32", "float64"])
def test_scores_of_every_real_type_are_taken(kind):
    assert bridgeval.Scores(np.zeros((2, 3), dtype=kind)).values.dtype == kind


@pytest.mark.parametrize("text", ["nDCG(" + "(" * 5000, "nDCG(a=\0)", "nDCG(a='\udc80')", "x" * 100 + "@@"])
def test_a_hostile_name_of_a_metric_is_an_error_of_names(text):
    with pytest.raises(SpecError):
        bridgeval.parse(text)


@pytest.mark.parametrize("kind", [complex, object])
def test_scores_that_a_function_gives_are_looked_at_too(kind):
    scores = bridgeval.Scores(lambda users: np.ones((len(users), 3)).astype(kind), items=range(3))
    with pytest.raises(BadValueError, match=f"the scores must be real numbers; found: values of type {kind.__name__}"):
        bridgeval.evaluate(scores, {0: [1], 1: [2]}, "MRR@2")


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: bridgeval.read_runs(3), "folder"),
        (lambda: bridgeval.merge(3), "states"),
        (lambda: bridgeval.merge([3]), "states"),
        (lambda: bridgeval.save_baseline(3, "x.json"), "report"),
        (lambda: bridgeval.save_baseline(bridgeval.evaluate(SHOWN, TRUTH, "MRR@2"), 3), "path"),
        (lambda: bridgeval.evaluate(SHOWN, TRUTH, "MRR@2").to_json(3), "path"),
        (lambda: bridgeval.OnlineEvaluator("MRR@2").update(3, 4), "recommendations"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_by_name(call, argument):
    with pytest.raises(BridgevalError) as caught:
        call()
    assert caught.value.argument == argument


def test_ids_of_a_matrix_are_several():
    with pytest.raises(InputError, match="item ids of the scores cannot be read; found: an object of type int"):
        bridgeval.evaluate(bridgeval.Scores(np.ones((2, 3)), items=3), {0: [1]}, "MRR@2")
