"""Accuracy metrics against cases worked by hand."""

from __future__ import annotations

from math import log2

import pytest

import bridgeval
from bridgeval.errors import BadParameterError, BadValueError

# One user, hits at places 1, 3 and 4 of five; relevant items: those three and two that were not shown.
SHOWN = {"u": ["a", "x", "b", "c", "y"]}
RELEVANT = {"u": ["a", "b", "c", "m", "n"]}


def value(name: str, shown=SHOWN, relevant=RELEVANT, **arguments) -> float:
    (number,) = bridgeval.evaluate(shown, relevant, name, **arguments).values()
    return number


@pytest.mark.parametrize(
    ("name", "worked"),
    [
        ("Precision@1", 1 / 1),
        ("Precision@3", 2 / 3),
        ("Precision@5", 3 / 5),
        ("Precision@10", 3 / 10),
        ('Precision(divide_by="shown")@10', 3 / 5),
        ('Precision(divide_by="relevant")@10', 3 / 5),
        ("Recall@1", 1 / 5),
        ("Recall@5", 3 / 5),
        ('Recall(divide_by="reachable")@3', 2 / 3),
        ("HitRate@1", 1),
        ('HitRate(count="hits")@5', 3),
        ("MRR@5", 1),
        # precision at the hits: 1/1, 2/3, 3/4
        ("MAP@5", (1 / 1 + 2 / 3 + 3 / 4) / 5),
        ("MAP@3", (1 / 1 + 2 / 3) / 3),
        ('MAP(divide_by="relevant")@3', (1 / 1 + 2 / 3) / 5),
        ('MAP(divide_by="k")@10', (1 / 1 + 2 / 3 + 3 / 4) / 10),
        ('MAP(divide_by="hits")@5', (1 / 1 + 2 / 3 + 3 / 4) / 3),
        ('MAP(divide_by="listed")@10', (1 / 1 + 2 / 3 + 3 / 4) / 5),
        # recall at the hits: 1/5, 2/5, 3/5
        ("MAR@5", (1 / 5 + 2 / 5 + 3 / 5) / 5),
        ("MAR@3", (1 / 5 + 2 / 5) / 3),
        # hits at 1, 3, 4; the ideal fills the first five, or three, places
        (
            "nDCG@5",
            (1 / log2(2) + 1 / log2(4) + 1 / log2(5)) / sum(1 / log2(j + 1) for j in (1, 2, 3, 4, 5)),
        ),
        ("nDCG@3", (1 / log2(2) + 1 / log2(4)) / sum(1 / log2(j + 1) for j in (1, 2, 3))),
        ('nDCG(ideal="k")@7', (1 / log2(2) + 1 / log2(4) + 1 / log2(5)) / sum(1 / log2(j + 1) for j in range(1, 8))),
        # Järvelin's discount: 1, 1, log2(3), log2(4), log2(5)
        (
            'nDCG(discount="jarvelin")@5',
            (1 + 1 / log2(3) + 1 / log2(4)) / (1 + 1 + 1 / log2(3) + 1 / log2(4) + 1 / log2(5)),
        ),
        ("F1@5", 2 * (3 / 5) * (3 / 5) / (3 / 5 + 3 / 5)),
        ("F1(beta=2.0)@3", 5 * (2 / 3) * (2 / 5) / (4 * (2 / 3) + 2 / 5)),
    ],
)
def test_worked_case(name, worked):
    assert value(name) == pytest.approx(worked, rel=1e-14)


def test_first_hit_behind_the_cutoff_scores_no_reciprocal_rank():
    shown = {"u": ["x", "y", "a"]}
    assert value("MRR@2", shown) == 0
    assert value("MRR@3", shown) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("gain", "of_grade"),
    [
        ("exponential", lambda r: 2**r - 1),
        ("linear", lambda r: r),
        ("binary", lambda r: 1),
        ("shifted", lambda r: 2 ** (r + 1) - 1),
    ],
)
def test_graded_ndcg_takes_the_best_gains_as_ideal(gain, of_grade):
    relevant = {"u": {"a": 1, "b": 3, "m": 2}}
    found = of_grade(1) / log2(2) + of_grade(3) / log2(4)
    ideal = of_grade(3) / log2(2) + of_grade(2) / log2(3)
    listed = ideal + of_grade(1) / log2(4)
    assert value(f'nDCG(gain="{gain}")@2', relevant=relevant) == pytest.approx(of_grade(1) / ideal)
    assert value(f'nDCG(gain="{gain}")@3', relevant=relevant) == pytest.approx(found / listed)


def test_binary_relevance_makes_all_gains_agree():
    values = {value(f'nDCG(gain="{gain}")@4') for gain in ("exponential", "linear", "binary")}
    assert len(values) == 1
    assert value('nDCG(gain="shifted")@4') == pytest.approx(values.pop(), rel=1e-14)
    # A list of k items with gain 1 is no such list, so that the 3 of "shifted" stays.
    assert value('nDCG(gain="shifted", ideal="k")@4') == pytest.approx(3 * value('nDCG(ideal="k")@4'), rel=1e-14)


def test_a_gain_of_zero_or_less_is_not_relevant():
    relevant = {"u": {"a": 0, "x": -1, "b": 2}}
    assert value("Recall@5", relevant=relevant) == 1
    assert value("Precision@5", relevant=relevant) == pytest.approx(1 / 5)
    assert value("Recall(above=None)@5", relevant=relevant) == pytest.approx(3 / 3)


def test_play_counts_do_not_overflow_in_silence():
    with pytest.raises(BadValueError, match="too large for an exponential gain"):
        value("nDCG@5", relevant={"u": {"a": 5000.0}})
    assert value('nDCG(gain="linear")@5', relevant={"u": {"a": 5000.0}}) == 1


def test_f1_takes_any_two_metrics_and_shares_their_cutoff():
    x, y = value("nDCG@3"), value("MAP@3")
    worked = 1.25 * x * y / (0.25 * x + y)
    assert value('F1(metric_1="nDCG", metric_2="MAP", beta=0.5)@3') == pytest.approx(worked)


def test_f1_of_a_custom_metric():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Half(bridgeval.ListMetric):
        name = "Half"

        def value(self, slate):
            return 0.5

    f1 = bridgeval.metrics.F1(5, metric_1=Half())
    assert value(f1) == pytest.approx(2 * 0.5 * 0.6 / 1.1)


def test_f1_refuses_a_metric_without_users_values():
    from bridgeval.engine.census import Census

    with pytest.raises(BadParameterError, match="give every user a value"):
        bridgeval.metrics.F1(5, metric_1=Census())


def test_f1_is_zero_where_nothing_was_found():
    assert value("F1@2", {"u": ["x", "y"]}) == 0


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize(
    ("name", "worked"),
    [
        ('Precision(duplicates="all")@3', 1 / 3),
        ('Precision(duplicates="all", repeated="each")@3', 2 / 3),
        ('Recall(duplicates="all", truth_duplicates="all")@3', 1 / 2),
        # a at two places; relevant rows a, a and b
        ('Recall(duplicates="all", truth_duplicates="all", repeated="each")@3', 2 / 3),
        # a is had already, x is not
        ('Novelty(duplicates="all")@3', 1 - 1 / 3),
        ('Novelty(duplicates="all", repeated="each")@3', 1 - 2 / 3),
    ],
)
def test_where_repeats_are_kept_they_are_found_once_or_each_time(name, worked):
    assert value(name, {"u": ["a", "x", "a"]}, {"u": ["a", "a", "b"]}, history={"u": ["a"]}) == pytest.approx(worked)
