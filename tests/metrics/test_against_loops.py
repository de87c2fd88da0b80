"""Every accuracy metric against a second opinion in plain Python loops, on ragged random data."""

from __future__ import annotations

import math
import random

import pytest

import bridgeval
from bridgeval.errors import DuplicateRowsWarning

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
