"""The five users of `test_conventions`, under every definition and every library that was worked out for them.

k = 5. U1: n 5, P 3, hits at 1 and 3; U2: n 2, P 1, hit at 2; U3: n 0, P 2; U4: n 5, P 0; U5: n 5, P 7, hits at 2 and 4.
The numbers follow from the formulas by hand: nDCG of U1 is (1 + 1/2) / (1 + 0.6309 + 1/2) = 0.7039.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

import bridgeval
from tests.toolkits.peers.test_conventions import RELEVANT, SHOWN

USERS = ("U1", "U2", "U3", "U4", "U5")
NAN = math.nan
# Definition -> the value of each user; NaN where the table has none. Everyone counts, so a user without relevant items
# is 0 where nothing else is said.
DEFINITIONS: dict[str, tuple[float, ...]] = {
    'nDCG(gain="binary")@5': (0.7039, 0.6309, 0, NAN, 0.3601),
    'nDCG(ideal="k", gain="binary")@5': (0.5087, 0.2140, 0, 0, 0.3601),
    'nDCG(ideal="found")@5': (0.9197, 0.6309, 0, 0, 0.6509),
    'nDCG(ideal="hits")@5': (0.9197, 0.6309, 0, 0, 0.6509),
    'nDCG(ideal="all")@5': (0.7039, 0.6309, 0, NAN, 0.2918),
    'MAP(divide_by="relevant")@5': (0.5556, 0.5, 0, NAN, 0.1429),
    "MAP@5": (0.5556, 0.5, 0, NAN, 0.2),
    'MAP(divide_by="hits")@5': (0.8333, 0.5, 0, 0, 0.5),
    'MAP(divide_by="places")@5': (0.6133, 0.2567, 0, 0, 0.3467),
    "MRR@5": (1, 0.5, 0, 0, 0.5),
    'MRR(mean_of="relevant")@5': (0.4444, 0.5, 0, NAN, 0.1071),
    'MRR(mean_of="hits")@5': (0.6667, 0.5, 0, 0, 0.375),
    "Precision@5": (0.4, 0.2, 0, 0, 0.4),
    'Precision(divide_by="shown")@5': (0.4, 0.5, NAN, 0, 0.4),
    'Precision(divide_by="relevant")@5': (0.6667, 1, 0, NAN, 0.4),
    "Recall@5": (0.6667, 1, 0, NAN, 0.2857),
    'Recall(divide_by="reachable")@5': (0.6667, 1, 0, NAN, 0.4),
    "RPrecision": (0.6667, 0, 0, NAN, 0.2857),
}


def for_everyone(name: str) -> bridgeval.Metric:
    (metric,) = bridgeval.parse(name)
    return metric.with_parameters(users="any")


@pytest.mark.parametrize(("name", "expected"), DEFINITIONS.items())
def test_a_definition_gives_each_user_the_number_worked_out(name, expected):
    metric = for_everyone(name)
    found = bridgeval.evaluate(SHOWN, RELEVANT, [metric], per_user=True).collected[str(metric)].to_dict()
    for user, value in zip(USERS, expected, strict=True):
        assert math.isnan(value) or found[user] == pytest.approx(value, abs=5.1e-5), user


def filled() -> dict[str, list[tuple[str, float]]]:
    """Groups of all items, as learners to rank see them: relevant items that were not shown come last."""
    catalogue = [f"i{at:02d}" for at in range(1, 21)]
    groups = {}
    for user, rows in SHOWN.items():
        shown = [item for item, _ in rows]
        rest = sorted((i for i in catalogue if i not in shown), key=lambda item: item in RELEVANT.get(user, ()))
        groups[user] = [*rows, *((item, -float(place)) for place, item in enumerate(rest))]
    return groups


def closed() -> dict[str, list[str]]:
    """The truth without what was not shown."""
    return {u: [i for i in items if i in dict(SHOWN.get(u, ()))] for u, items in RELEVANT.items() if u in SHOWN}


LISTS, FULL, CLOSED = (SHOWN, RELEVANT), (filled(), RELEVANT), (SHOWN, closed())
ROWS: list[tuple[str, float, Any]] = [
    *((f"{one}:{ndcg}@5", 0.4237, LISTS) for one, ndcg in (
        ("recbole", "ndcg"), ("lightgcn", "ndcg"), ("sentence_transformers", "ndcg"), ("pyg", "LinkPredNDCG"),
        ("multvae", "NDCG"), ("implicit", "ndcg"), ("selfrec", "NDCG"), ("ir_measures", "nDCG"), ("cornac", "NDCG"),
        ("ncf", "NDCG"), ("sasrec", "NDCG"), ("hstu", "ndcg"), ("rechorus", "NDCG"), ("recometrics", "NDCG"),
    )),
    *((f"{one}:{name}@5", 0.3139, LISTS) for one, name in (
        ("recbole", "map"), ("sentence_transformers", "map"), ("pyg", "LinkPredMAP"), ("implicit", "map"),
    )),
    *((f"{one}:{name}@5", 0.4881, LISTS) for one, name in (
        ("recbole", "recall"), ("lightgcn", "recall"), ("sentence_transformers", "recall"), ("pyg", "LinkPredRecall"),
        ("jurity", "Recall"),
    )),
    ("multvae:Recall@5", 0.5167, LISTS),
    ("implicit:precision@5", 5 / 11, LISTS),
    ("selfrec:Hit_Ratio@5", 5 / 13, LISTS),
    ("ngcf:ndcg@5", 0.5504, LISTS),
    ("daisyrec:NDCG@5", 0.5504, LISTS),
    ("daisyrec:MAP@5", 0.4583, LISTS),
    ("jurity:NDCG@5", 0.4067, LISTS),
    ("jurity:MAP@5", 0.4185, LISTS),
    ("jurity:Precision@5", 0.4333, LISTS),
    ("elliot:nDCG@5", 0.5650, LISTS),
    ("elliot:MAP@5", 0.4056, LISTS),
    ("elliot:Precision@5", 0.3333, LISTS),
    ("elliot:Recall@5", 0.6508, LISTS),
    ("beir:NDCG@5", 0.5650, LISTS),
    ("beir:MAP@5", 0.3995, LISTS),
    ("beir:MRR@5", 2 / 4, LISTS),
    ("mteb:NDCG@5", 0.5650, LISTS),
    ("mteb:MAP@5", 0.3995, LISTS),
    ("mteb:MRR@5", 0.5, LISTS),
    ("ir_measures:AP@5", 0.2996, LISTS),
    ("xgboost:ndcg@5", 0.6737, FULL),
    ("xgboost:map@5", 0.5639, FULL),
    ("xgboost:ndcg@5-", 0.4237, FULL),
    ("xgboost:map@5-", 0.3139, FULL),
    ("lightgbm:ndcg@5", 0.6737, FULL),
    ("lightgbm:map@5", 0.5639, FULL),
    ("catboost:NDCG:top=5", 0.6737, FULL),
    ("catboost:MAP:top=5", 0.3139, FULL),
    ("catboost:RecallAt:top=5", 0.7381, FULL),
    # Shown rows alone: the precision of the table, and other nDCG.
    ("xgboost:pre@5", 0.2500, FULL),
    ("xgboost:pre@5", 0.3250, CLOSED),
    ("xgboost:ndcg@5", 0.8004, CLOSED),
    ("catboost:PrecisionAt:top=5", 0.3250, CLOSED),
    ("catboost:NDCG:top=5", 0.8004, CLOSED),
    ("catboost:RecallAt:top=5", 1.0, CLOSED),
    *((f"{one}@5", 0.4237, FULL) for one in (
        "tfr:ndcg", "rax:ndcg_metric", "keras_rs:NDCG", "sklearn:ndcg_score"
    )),
    *((f"{one}@5", 0.2996, FULL) for one in ("tfr:map", "rax:ap_metric", "keras_rs:MeanAveragePrecision")),
    *((f"{one}@5", 0.3250, CLOSED) for one in ("tfr:precision", "rax:precision_metric", "keras_rs:PrecisionAtK")),
    ("merlin:ndcg_at@5", 0.3390, LISTS),
    ("merlin:map_at@5", 0.2511, LISTS),
    ("merlin:recall_at@5", 0.4133, LISTS),
    ("transformers4rec:recall_at@5", 0.3905, LISTS),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected", "data"), ROWS)
def test_a_library_gives_the_number_of_its_row(name, expected, data):
    (value,) = bridgeval.evaluate(*data, name).values()
    assert value == pytest.approx(expected, abs=5.1e-5)


def test_rows_with_empty_sides_count_where_a_library_counts_rows():
    # U3 with an empty list and U4 with an empty truth are rows. MLflow's nDCG is against a list as long as the user's:
    # (0.7039 + 0.6309 + 0 + 0 + 0.3601) / 5; U6 has neither side and scores 1, as in recall.
    shown = {**SHOWN, "U3": [], "U6": []}
    truth = {**RELEVANT, "U4": [], "U6": []}
    names = ["mlflow:ndcg_at_k@5", "mlflow:recall_at_k@5", "haystack:DocumentMRREvaluator", "ml_metrics:mapk@5"]
    # ml_metrics gives 1 to U4 and U6, who have no truth: (0.5556 + 0.5 + 0 + 1 + 0.2 + 1) / 6.
    expected = [2.6949 / 6, 2.9524 / 6, 2 / 6, 3.2556 / 6]
    assert list(bridgeval.evaluate(shown, truth, names).values()) == pytest.approx(expected, abs=5.1e-5)
    # rankerEval leaves users without truth out, or takes them for 0: 1.6949 / 4 and / 6.
    names = ["rankereval:NDCG@5", 'rankereval:NDCG(nan_handling="zerofill")@5']
    found = list(bridgeval.evaluate(shown, truth, names).values())
    assert found == pytest.approx([1.6949 / 4, 1.6949 / 6], abs=5.1e-5)
