"""Sampled candidates: unbiased, repeatable, labeled; what is padding never enters a metric."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import bridgeval
from bridgeval import Candidates, Scores, sample_candidates
from bridgeval.batch import candidates as module
from bridgeval.errors import BadParameterError, InputError


def world(users: int = 40, items: int = 60, seed: int = 0):
    rng = random.Random(seed)
    relevance, history = {}, {}
    for user in range(users):
        drawn = rng.sample(range(items), 12)
        relevance[f"u{user}"] = {f"i{item:02d}": rng.choice([1, 2, 5]) for item in drawn[: rng.choice([1, 2, 5])]}
        history[f"u{user}"] = [f"i{item:02d}" for item in drawn[5:]]
    return relevance, history, [f"i{item:02d}" for item in range(items)]


def test_a_user_gets_the_relevant_items_and_unseen_ones_each_once():
    relevance, history, catalogue = world()
    chosen = sample_candidates(relevance, history, catalogue, negatives=20, seed=3).to_dict()
    assert set(chosen) == set(relevance)
    for user, items in chosen.items():
        assert len(items) == len(set(items)) == 20 + len(relevance[user])
        assert set(relevance[user]) <= set(items)
        assert not set(history[user]) & set(items)


def test_equal_arguments_give_equal_candidates_and_another_seed_gives_others():
    relevance, history, catalogue = world()
    first, again, other = (sample_candidates(relevance, history, catalogue, 20, seed=seed) for seed in (1, 1, 2))
    assert first.to_dict() == again.to_dict() != other.to_dict()
    shuffled = dict(sorted(relevance.items(), reverse=True))
    assert sample_candidates(shuffled, history, catalogue[::-1], 20, seed=1).to_dict() == first.to_dict()


@pytest.mark.parametrize("rounds", [0, 6])
def test_every_unseen_item_has_the_same_chance(rounds, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", rounds)
    users = 4000 if rounds else 1500
    relevance = {user: [0] for user in range(users)}
    history = {user: [1] for user in range(users)}
    chosen = sample_candidates(relevance, history, range(22), negatives=5, seed=0)
    counts = np.bincount(chosen.items, minlength=22)
    assert counts[:2].tolist() == [users, 0]
    # Each of 20 items is drawn with p = 1/4; chi-square with 19 degrees of freedom is below 43.8 in 99.9 % of cases.
    expected = users / 4
    spread = ((counts[2:] - expected) ** 2 / (expected * 0.75)).sum() * 19 / 20
    assert spread < 43.8


@pytest.mark.parametrize("rounds", [0, 6])
def test_popularity_weighs_by_the_users_who_have_an_item(rounds, monkeypatch):
    monkeypatch.setattr(module, "ROUNDS", rounds)
    users = 4000 if rounds else 1500
    relevance = {user: ["x"] for user in range(users)}
    # Item a is had by 6 others, b by 3, c by 1; d by nobody.
    history = {f"{item}{n}": [item] for item, count in (("a", 6), ("b", 3), ("c", 1)) for n in range(count)}
    history = {10**6 + n: items for n, items in enumerate(history.values())}
    chosen = sample_candidates(relevance, history, list("abcdx"), negatives=1, strategy="popularity", seed=4)
    counts = np.bincount(chosen.items, minlength=5)[:4] / users
    assert counts[3] == 0
    for share, expected in zip(counts, (0.6, 0.3, 0.1), strict=False):
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / users)


def test_relevant_items_are_at_every_position_among_candidates_equally_often():
    relevance = {user: [0] for user in range(2000)}
    chosen = sample_candidates(relevance, None, range(50), negatives=9, seed=5).to_dict()
    places = [items.index(0) for items in chosen.values()]
    assert abs(np.mean(places) - 4.5) < 4 * np.sqrt(8.25 / 2000)


def test_too_few_unseen_items_is_an_error_or_a_shorter_list():
    relevance, history = {"a": [1], "b": [2]}, {"a": list(range(3, 9))}
    with pytest.raises(InputError, match=r"1 user\(s\) have fewer unseen items than the 5 asked for.*user 'a' with 3"):
        sample_candidates(relevance, history, range(10), negatives=5)
    chosen = sample_candidates(relevance, history, range(10), negatives=5, shorter="allow").to_dict()
    assert sorted(chosen["a"]) == [0, 1, 2, 9]
    assert len(chosen["b"]) == 6


def test_a_user_with_nothing_left_keeps_the_relevant_items():
    chosen = sample_candidates({"a": [1]}, {"a": [0, 2]}, range(3), negatives=2, shorter="allow")
    assert chosen.to_dict() == {"a": [1]}


@pytest.mark.parametrize(
    "arguments",
    [{"negatives": 0}, {"strategy": "novelty"}, {"shorter": "maybe"}, {"strategy": "popularity", "history": None}],
)
def test_bad_parameters_are_refused(arguments):
    with pytest.raises(BadParameterError):
        sample_candidates({1: [1]}, arguments.pop("history", {1: [2]}), range(9), **arguments)


def test_candidates_are_saved_and_loaded_with_their_parameters(tmp_path):
    relevance, history, catalogue = world()
    chosen = sample_candidates(relevance, history, catalogue, 7, "popularity", seed=9)
    chosen.save(tmp_path / "candidates.parquet")
    loaded = Candidates.load(tmp_path / "candidates.parquet")
    assert loaded.to_dict() == chosen.to_dict()
    assert (loaded.negatives, loaded.strategy, loaded.seed) == (7, "popularity", 9)


def test_a_file_without_the_parameters_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"user": [1], "item": [2]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="holds no candidates"):
        Candidates.load(tmp_path / "other.parquet")


def _recall_and_ndcg(chosen: dict, relevance: dict, score) -> tuple[float, float]:
    """At 3, in loops, over the candidates alone."""
    recalls, ndcgs = [], []
    for user, gains in relevance.items():
        top = sorted(chosen[user], key=lambda item: (score(user, item), item), reverse=True)[:3]
        recalls.append(sum(item in gains for item in top) / len(gains))
        dcg = sum((2 ** gains[item] - 1) / math.log2(j + 2) for j, item in enumerate(top) if item in gains)
        ideal = sum((2**g - 1) / math.log2(j + 2) for j, g in enumerate(sorted(gains.values(), reverse=True)[:3]))
        ndcgs.append(dcg / ideal)
    return sum(recalls) / len(recalls), sum(ndcgs) / len(ndcgs)


def score_of(user: str, item: str) -> float:
    return math.sin(int(user[1:]) * 7 + int(item[1:]) * 3)


def forms(chosen: Candidates, catalogue: list[str]) -> dict[str, Scores]:
    lists = chosen.to_dict()
    users = list(lists)
    width = max(map(len, lists.values()))
    grid = [[*lists[user], *[None] * (width - len(lists[user]))] for user in users]
    # Scores of padding are the highest, so that padding would win if it were read.
    values = np.array(
        [[99.0 if item is None else score_of(user, item) for item in row] for user, row in zip(users, grid)]
    )
    full = np.array([[score_of(user, item) for item in catalogue] for user in users])

    def predict(who, items):
        return np.array([[score_of(user, item) for item in row] for user, row in zip(who, items, strict=True)])

    return {
        "a column for each candidate": Scores(values, items=chosen),
        "a grid with padding": Scores(values, users=users, items=grid),
        "a function of users and candidates": Scores(predict, items=chosen),
        "a matrix of all items": Scores(full, users=users, items=catalogue, candidates=chosen),
        "a function of users": Scores(
            lambda who: full[[users.index(user) for user in who]], users=users, items=catalogue, candidates=chosen
        ),
    }


@pytest.mark.parametrize("form", list(range(5)))
@pytest.mark.parametrize("batch_size", [7, None])
def test_only_candidates_are_ranked_and_grades_survive(form, batch_size):
    relevance, history, catalogue = world()
    chosen = sample_candidates(relevance, history, catalogue, negatives=11, seed=2)
    scores = list(forms(chosen, catalogue).values())[form]
    report = bridgeval.evaluate(scores, relevance, ["Recall@3", "nDCG@3"], history=history, batch_size=batch_size)
    assert list(report.values()) == pytest.approx(_recall_and_ndcg(chosen.to_dict(), relevance, score_of))


def test_the_area_counts_candidates_alone():
    relevance, history, catalogue = world()
    chosen = sample_candidates(relevance, history, catalogue, negatives=11, seed=2)
    report = bridgeval.evaluate(
        forms(chosen, catalogue)["a column for each candidate"], relevance, "GAUC", history=history
    )
    areas = []
    for user, gains in relevance.items():
        misses = [item for item in chosen.to_dict()[user] if item not in gains]
        beaten = [score_of(user, item) > score_of(user, other) for item in gains for other in misses]
        areas.append(sum(beaten) / len(beaten))
    assert report["GAUC"] == pytest.approx(sum(areas) / len(areas))


def test_every_number_from_a_sample_is_labeled():
    relevance, history, catalogue = world()
    chosen = sample_candidates(relevance, history, catalogue, negatives=11)
    report = bridgeval.evaluate(forms(chosen, catalogue)["a matrix of all items"], relevance, ["nDCG@3", "GAUC"])
    assert report.to_pandas()["metric"].tolist() == ["nDCG@3 (sampled n=11)", "GAUC (sampled n=11)"]
    assert str(report).count("sampled n=11") == 2
    assert report._repr_html_().count("sampled n=11") == 2
    assert all("(sampled n=11)" in row["metric"] for row in report.to_dict()["results"])
    assert report.to_markdown().count("sampled n=11") == report.to_csv().count("sampled n=11") == 2
    assert report["nDCG@3"] > 0


def test_candidates_of_the_callers_own_carry_no_label():
    report = bridgeval.evaluate(Scores(np.eye(2), items=[[3, 4], [5, -1]]), {0: [4], 1: [5]}, "Recall@1")
    # User 0 ranks 3 above 4; the 1 of user 1 belongs to padding.
    assert (report["Recall@1"], report.label) == (0.5, "")


def test_two_kinds_of_candidates_at_once_are_refused():
    chosen = sample_candidates({0: [1]}, None, range(9), negatives=3)
    with pytest.raises(BadParameterError, match="both name candidates"):
        Scores(np.zeros((1, 4)), items=chosen, candidates=chosen)
