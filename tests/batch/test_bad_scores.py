"""Score matrices that cannot be evaluated are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

import bridgeval
from bridgeval import Scores
from bridgeval.errors import BadParameterError, BadValueError, InputError, MisalignedError


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_nan_and_plus_infinity_are_refused_with_the_user(bad):
    values = np.zeros((3, 4))
    values[1, 2] = bad
    for form in (values, scipy.sparse.csr_matrix(values)):
        with pytest.raises(BadValueError, match="user 'bob'"):
            bridgeval.evaluate(Scores(form, users=["ann", "bob", "cat"]), {"ann": [0]}, "Recall@1")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Scores(np.zeros(3)), InputError, "two dimensions"),
        (lambda: Scores([[1.0]]), InputError, "two dimensions"),
        (lambda: Scores(lambda users: users), BadParameterError, "items of a function"),
        (lambda: Scores(np.zeros((2, 3)), items=["a", "b"]).columns, MisalignedError, "3 columns and 2 items"),
        (lambda: Scores(np.zeros((2, 2)), items=["a", "a"]).columns, InputError, "repeat"),
        (
            lambda: bridgeval.evaluate(Scores(np.zeros((2, 2)), users=[1]), {1: [0]}),
            MisalignedError,
            "2 rows and 1 users",
        ),
    ],
)
def test_scores_that_do_not_fit_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_function_that_gives_the_wrong_shape_is_refused():
    with pytest.raises(MisalignedError, match=r"\[2, 3\] for 2 users and 4 items"):
        bridgeval.evaluate(Scores(lambda users: np.zeros((2, 3)), items=range(4)), {0: [1], 1: [1]}, "Recall@1")
