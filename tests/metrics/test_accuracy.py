"""Accuracy metrics worked by hand, and against plain loops on ragged random data."""

from __future__ import annotations

import math
import random
from math import log2

import numpy as np
import pytest

import bridgeval
from bridgeval.errors import BadParameterError, BadValueError, DuplicateRowsWarning, NeedError

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
        # five relevant items, so the first five places count
        ("RPrecision", 3 / 5),
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

    with pytest.raises(BadParameterError, match="metric_1 of F1 must be a metric with a value for each user"):
        bridgeval.metrics.F1(5, metric_1=Census())


@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
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


CUTOFFS = (1, 3, 5, 10, 40)


def random_world(seed: int, strings: bool):
    rng = random.Random(seed)
    item = (lambda i: f"i{i:03d}") if strings else (lambda i: i * 7 - 30)
    user = (lambda u: f"user {u}") if strings else (lambda u: 10**12 + u)
    shown, relevant = {}, {}
    for u in range(60):
        length = rng.choice([0, 1, 2, 7, 12, 30])
        if length:
            rows = [(item(i), rng.choice([0.5, 1.0, rng.random()])) for i in rng.sample(range(50), length)]
            if u % 9 == 0:
                rows.append((rows[0][0], rng.random()))
            if u % 7 == 0:
                rows.append((item(51), -math.inf))
            shown[user(u)] = rows
        wanted = rng.choice([0, 1, 3, 9])
        if wanted:
            relevant[user(u)] = [(item(i), rng.choice([0, 1, 1, 2, 5])) for i in rng.sample(range(52), wanted)]
    return shown, relevant


def ranked(rows):
    """Score descending, item descending, best of repeated items, masked items out."""
    best = {}
    for item, score in rows:
        if score != -math.inf:
            best[item] = max(score, best.get(item, -math.inf))
    return sorted(best, key=lambda item: (best[item], item), reverse=True)


def expected(shown, relevant):
    sums: dict[str, list[float]] = {}
    for user, rows in relevant.items():
        gains = {item: gain for item, gain in rows if gain > 0}
        if not gains:
            continue
        items = ranked(shown.get(user, []))
        for k in CUTOFFS:
            top = items[:k]
            hits = [item in gains for item in top]
            found = sum(hits)
            precision_at_hits = [sum(hits[: j + 1]) / (j + 1) for j, hit in enumerate(hits) if hit]
            recall_at_hits = [sum(hits[: j + 1]) / len(gains) for j, hit in enumerate(hits) if hit]
            dcg = sum((2 ** gains[i] - 1) / math.log2(j + 2) for j, i in enumerate(top) if i in gains)
            best = sorted(gains.values(), reverse=True)[:k]
            ideal = sum((2**g - 1) / math.log2(j + 2) for j, g in enumerate(best))
            binary = sum(1 / math.log2(j + 2) for j, hit in enumerate(hits) if hit)
            binary_ideal = sum(1 / math.log2(j + 2) for j in range(min(k, len(gains))))
            precision, recall = found / k, found / len(gains)
            values = {
                "Precision": precision,
                "Recall": recall,
                "HitRate": float(found > 0),
                "MRR": 1 / (hits.index(True) + 1) if found else 0.0,
                "MAP": sum(precision_at_hits) / min(k, len(gains)),
                "MAR": sum(recall_at_hits) / min(k, len(gains)),
                "nDCG": dcg / ideal,
                "nDCGRendle2020": binary / binary_ideal,
                "F1": 2 * precision * recall / (precision + recall) if found else 0.0,
            }
            for name, value in values.items():
                sums.setdefault(f"{name}@{k}", []).append(value)
    return {name: sum(values) / len(values) for name, values in sums.items()}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("strings", [False, True], ids=["int ids", "string ids"])
def test_all_accuracy_metrics_agree_with_loops(seed, strings):
    shown, relevant = random_world(seed, strings)
    wanted = expected(shown, relevant)
    names = sorted({name.split("@")[0] for name in wanted})
    with pytest.warns(DuplicateRowsWarning):
        report = bridgeval.evaluate(shown, relevant, [f"{name}@{','.join(map(str, CUTOFFS))}" for name in names])
    assert set(report) == set(wanted)
    for name, value in wanted.items():
        assert report[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
@pytest.mark.parametrize("batch_size", [1, 2, 7, 1000])
def test_batch_size_does_not_change_a_digit_that_shows(batch_size):
    shown, relevant = random_world(11, strings=False)
    names = ["nDCG@5,40", "MAP@10", "F1@3", "MRR@40"]
    whole = bridgeval.evaluate(shown, relevant, names)
    cut = bridgeval.evaluate(shown, relevant, names, batch_size=batch_size)
    for name, value in whole.items():
        assert cut[name] == pytest.approx(value, abs=1e-12)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
def test_order_of_rows_does_not_matter_when_there_are_scores():
    shown, relevant = random_world(5, strings=True)
    shuffled = {user: random.Random(user).sample(rows, len(rows)) for user, rows in reversed(shown.items())}
    assert dict(bridgeval.evaluate(shown, relevant, "nDCG@1,5,10")) == dict(
        bridgeval.evaluate(shuffled, relevant, "nDCG@1,5,10")
    )


CATALOGUE = ["a", "b", "c", "d", "e"]
# ann: relevant at places 1 and 4; negatives b, c below "a" and e below "d": shares 3/3 and 1/3. bob: 0 of 4 below.
WHOLE = {"ann": ["a", "b", "c", "d", "e"], "bob": ["a", "b", "c", "d", "e"]}
WANTED = {"ann": ["a", "d"], "bob": ["e"]}


def test_auc_averages_over_relevant_items_and_gauc_over_users():
    report = bridgeval.evaluate(WHOLE, WANTED, ["AUC", "GAUC", "GAUC(weight='relevant')"], catalogue=CATALOGUE)
    assert report["AUC"] == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert report["GAUC"] == pytest.approx(((1 + 1 / 3) / 2 + 0) / 2)
    assert report['GAUC(weight="relevant")'] == pytest.approx(report["AUC"])


def test_lauc_looks_at_the_first_places_only():
    report = bridgeval.evaluate(WHOLE, WANTED, "LAUC@1,3,5", catalogue=CATALOGUE)
    # @1: ann 1 of min(1, 2), bob 0. @3: ann 1 of 2. @5: ann (1 + 1/3) of 2.
    assert report["LAUC@1"] == pytest.approx((1 + 0) / 2)
    assert report["LAUC@3"] == pytest.approx((1 / 2 + 0) / 2)
    assert report["LAUC@5"] == pytest.approx(((1 + 1 / 3) / 2 + 0) / 2)


def test_equal_scores_count_half():
    shown = {"ann": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0}}
    report = bridgeval.evaluate(shown, {"ann": ["b"]}, "AUC", catalogue=["a", "b", "c", "d"])
    # b ties with two negatives and beats one: (1 + 2 / 2) / 3.
    assert report["AUC"] == pytest.approx(2 / 3)


def test_a_partial_list_cannot_give_auc_and_says_what_is_missing():
    with pytest.raises(NeedError, match=r"ranking of all candidates.*2 of 5"):
        bridgeval.evaluate({"ann": ["a", "b"]}, {"ann": ["a"]}, "AUC", catalogue=CATALOGUE)


def test_without_a_catalogue_nobody_knows_the_candidates():
    with pytest.raises(NeedError, match="catalogue"):
        bridgeval.evaluate(WHOLE, WANTED, "GAUC")


def test_items_of_the_history_are_no_candidates():
    shown = {"ann": ["a", "b", "c"]}
    history = {"ann": ["d", "e"], "bob": ["a", "b", "c"]}
    report = bridgeval.evaluate(shown, {"ann": ["b"]}, "AUC", history=history)
    assert report["AUC"] == pytest.approx(1 / 2)


def test_users_whose_candidates_are_all_relevant_are_undefined():
    report = bridgeval.evaluate({"ann": ["a"], "bob": ["a"]}, {"ann": ["a"]}, "GAUC", catalogue=["a"])
    assert math.isnan(report["GAUC"])
    assert report.results["GAUC"].undefined == 1


@pytest.mark.parametrize("ties", ["item_descending", "text_descending", "given"])
def test_r_precision_of_scores_and_of_lists_agrees_with_loops(ties):
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 6, (40, 15)).astype(float)
    truth = {user: rng.choice(15, rng.integers(1, 9), replace=False).tolist() for user in range(40)}
    by_text = sorted(range(15), key=str)
    keys = {"item_descending": lambda item: -item, "text_descending": lambda item: -by_text.index(item), "given": int}
    worked = []
    for user, relevant in truth.items():
        ranked = sorted(range(15), key=lambda item: (-matrix[user, item], keys[ties](item)))
        worked.append(len(set(ranked[: len(relevant)]) & set(relevant)) / len(relevant))
    lists = {user: list(enumerate(row)) for user, row in enumerate(matrix.tolist())}
    for shown in (lists, bridgeval.Scores(matrix)):
        found, _ = bridgeval.evaluate(shown, truth, [f'RPrecision(ties="{ties}")', "Recall@2"]).values()
        assert found == pytest.approx(sum(worked) / 40)


@pytest.mark.parametrize("gain", [5, None, {"a": 1}, (1, "x"), "none"])
def test_what_is_no_gain_is_refused(gain):
    with pytest.raises(BadParameterError, match=r"nDCG has no gain=.*or give a list"):
        bridgeval.metrics.nDCG(5, gain=gain)
