"""Sizes at which parallel paths begin: more rows than one thread is given, several batches, one thread and two.

The rest of the suite is small and runs on one thread. Here everything is compared with pandas, or with the same users
evaluated in small groups on one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import bridgeval
from bridgeval import Report, Scores, Slate, parallel
from bridgeval.errors import DuplicateRowsWarning, MetricFailedError
from bridgeval.stats import bootstrap
from tests.conftest import workers

USERS, ITEMS, LONGEST = 12_000, 900, 50
PER_BATCH = 1_000
METRICS = [f"{name}@1,10,40" for name in ("nDCG", "Recall", "MAP", "MRR")]


def make_lists(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lists of 0 to 50 items with tied scores, and gains 1 to 3; some users are on one side only."""
    rng = np.random.default_rng(seed)
    sides = []
    for lengths in (rng.integers(0, LONGEST + 1, USERS), rng.integers(1, 8, USERS) * (rng.random(USERS) < 0.9)):
        users = np.repeat(np.arange(USERS), lengths)
        places = np.arange(len(users)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        # Steps of 7 through 900 items: no list repeats an item.
        items = (np.repeat(rng.integers(0, ITEMS, USERS), lengths) + 7 * places) % ITEMS
        sides.append(pd.DataFrame({"user_id": users, "item_id": items}))
    recs, truth = sides
    recs["score"] = np.round(rng.random(len(recs)), 2)
    truth["gain"] = rng.integers(1, 4, len(truth))
    assert len(recs) > parallel.ROWS_FOR_THREADS
    return recs, truth


@pytest.fixture(scope="module")
def lists() -> tuple[pd.DataFrame, pd.DataFrame]:
    return make_lists()


def shuffle(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def repeat_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Every third row once more, with another score; shuffled."""
    again = frame.iloc[::3]
    return shuffle(pd.concat([frame, again.assign(score=again["score"].to_numpy()[::-1])]))


def rename_ids(name: Callable[[pd.Series], Any]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda frame: frame.assign(user_id=name(frame["user_id"]), item_id=name(frame["item_id"]))


# Ids keep their order under each of these, so that ties are broken alike.
FORMS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "sorted integers": lambda frame: frame,
    "shuffled integers": shuffle,
    "integers far apart": lambda frame: shuffle(rename_ids(lambda ids: ids * 2**40 - 2**50)(frame)),
    "sorted strings": rename_ids(lambda ids: ids.map("id {:06d}".format)),
    "shuffled strings": lambda frame: shuffle(rename_ids(lambda ids: ids.map("id {:06d}".format))(frame)),
    "categories": lambda frame: shuffle(rename_ids(lambda ids: ids.map("id {:06d}".format).astype("category"))(frame)),
}


def expected_values(recs: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Every metric of every user with relevant items, by pandas; a column for each metric."""
    ranked = recs.sort_values(["user_id", "score", "item_id"], ascending=[True, False, False])
    ranked = ranked.drop_duplicates(["user_id", "item_id"]).merge(truth, how="left", on=["user_id", "item_id"])
    ranked["place"] = ranked.groupby("user_id").cumcount() + 1
    hits = ranked[ranked["gain"].notna()].copy()
    hits["found"] = hits.groupby("user_id").cumcount() + 1
    ideal = truth.sort_values(["user_id", "gain"], ascending=[True, False])
    ideal["place"] = ideal.groupby("user_id").cumcount() + 1
    relevant = truth.groupby("user_id").size()

    def add_up(values: pd.Series, users: pd.Series) -> pd.Series:
        return values.groupby(users).sum().reindex(relevant.index, fill_value=0.0)

    def discounted(rows: pd.DataFrame) -> pd.Series:
        return add_up((2 ** rows["gain"] - 1) / np.log2(rows["place"] + 1), rows["user_id"])

    columns = {}
    for k in (1, 10, 40):
        top = hits[hits["place"] <= k]
        best = relevant.clip(upper=k)
        columns[f"nDCG@{k}"] = discounted(top) / discounted(ideal[ideal["place"] <= k])
        columns[f"Recall@{k}"] = add_up(top["found"] > 0, top["user_id"]) / relevant
        columns[f"MAP@{k}"] = add_up(top["found"] / top["place"], top["user_id"]) / best
        columns[f"MRR@{k}"] = add_up((top["found"] == 1) / top["place"], top["user_id"])
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def expected(lists) -> pd.DataFrame:
    return expected_values(*lists)


def evaluate_on(threads: int, set_threads: Callable[[int], None], *arguments: Any, **options: Any) -> Report:
    set_threads(threads)
    return bridgeval.evaluate(*arguments, **options)


def assert_same(found: Report, values: pd.DataFrame) -> None:
    """The numbers of a report are the means of the columns, over as many users."""
    assert dict(found) == pytest.approx(values.mean().to_dict(), abs=1e-12)
    for name in values:
        assert found.results[name].users == values[name].notna().sum(), name


@pytest.mark.parametrize("form", FORMS)
def test_lists_in_every_form_give_what_pandas_gives(form, lists, expected, set_threads):
    recs, truth = map(FORMS[form], lists)
    for threads in (1, 2):
        assert_same(evaluate_on(threads, set_threads, recs, truth, METRICS), expected)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.DuplicateRowsWarning")
def test_of_repeated_rows_the_best_counts(lists, set_threads):
    recs, truth = repeat_rows(lists[0]), shuffle(lists[1])
    expected = expected_values(recs, truth)
    for threads in (1, 2):
        assert_same(evaluate_on(threads, set_threads, recs, truth, METRICS), expected)


def test_repeated_rows_are_counted_once_for_all_threads(lists, two_threads):
    with pytest.warns(DuplicateRowsWarning) as caught:
        bridgeval.evaluate(repeat_rows(lists[0]), lists[1], "Recall@10")
    (warning,) = caught
    assert str(warning.message).startswith(f"{len(lists[0].iloc[::3])} repeated (user, item) rows")


def test_lists_without_scores_keep_the_order_of_their_rows(lists, expected, two_threads):
    recs, truth = lists
    ranked = recs.sort_values(["score", "item_id"], ascending=False)[["user_id", "item_id"]]
    assert_same(bridgeval.evaluate(ranked, truth, METRICS), expected)


@pytest.mark.parametrize("form", ["shuffled integers", "shuffled strings"])
def test_values_of_users_come_in_their_order(form, lists, expected, two_threads):
    recs, truth = map(FORMS[form], lists)
    report = bridgeval.evaluate(recs, truth, METRICS, per_user=True, batch_size=PER_BATCH)
    ids = FORMS[form](lists[1])["user_id"].drop_duplicates().sort_values().tolist()
    for name in expected:
        values = report.per_user(name)
        assert values["user_id"].tolist() == ids
        np.testing.assert_allclose(values["value"], expected[name], rtol=0, atol=1e-12)


def test_batches_of_one_size_give_the_same_digits_on_any_number_of_threads(lists, set_threads):
    recs, truth = map(shuffle, lists)
    options = {"batch_size": PER_BATCH, "history": recs[["user_id", "item_id"]].iloc[::2]}
    metrics = [*METRICS, "ItemCoverage@10", "Gini@10", "Surprisal@10", "EPC@10", "ARP@10"]
    one, two, three = (
        dict(evaluate_on(threads, set_threads, recs, truth, metrics, **options)) for threads in (1, 2, 3)
    )
    assert one == two == three


def evaluate_in_groups(
    groups: Iterable[Any], evaluate: Callable[[Any], Report], metrics: Iterable[str]
) -> pd.DataFrame:
    """The per-user values of evaluations that are each too small for threads."""
    reports = [evaluate(group) for group in groups]
    columns = {name: pd.concat([pd.Series(report.collected[name].to_dict()) for report in reports]) for name in metrics}
    return pd.DataFrame(columns)


def test_a_history_gives_what_it_gives_for_small_groups_of_users(lists, set_threads):
    recs, truth = lists
    rng = np.random.default_rng(5)
    history = pd.DataFrame({"user_id": rng.integers(0, USERS, 400_000), "item_id": rng.integers(0, ITEMS, 400_000)})
    metrics = ["Novelty@10", "Surprisal@10", "EPC@10", "APLT@10", "Recall@10"]

    def evaluate(group: np.ndarray) -> Report:
        parts = (frame[frame["user_id"].isin(group)] for frame in (recs, truth))
        return bridgeval.evaluate(*parts, metrics, history=history, per_user=True)

    set_threads(1)
    expected = evaluate_in_groups(np.array_split(np.arange(USERS), 4), evaluate, metrics)
    for threads in (1, 2):
        found = evaluate_on(threads, set_threads, shuffle(recs), truth, metrics, history=shuffle(history))
        assert_same(found, expected)


@pytest.mark.parametrize("form", ["matrix", "function"])
@pytest.mark.parametrize("masked", [False, True], ids=["nothing seen", "seen items masked"])
def test_scores_give_what_they_give_for_small_groups_of_users(form, masked, set_threads):
    users, items, rng = 6_000, 60, np.random.default_rng(6)
    matrix = np.round(rng.random((users, items)), 2)
    truth = pd.DataFrame({"user_id": np.repeat(np.arange(users), 3), "item_id": rng.integers(0, items, 3 * users)})
    truth = truth.drop_duplicates(ignore_index=True)
    seen = pd.DataFrame({"user_id": np.repeat(np.arange(users), 5), "item_id": rng.integers(0, items, 5 * users)})
    metrics = ["nDCG@10", "MAP@5", "GAUC", "LAUC@10"]
    options = {"history": seen} if masked else {}
    assert matrix.size > parallel.ROWS_FOR_THREADS

    def evaluate(group: np.ndarray) -> Report:
        scores = Scores(matrix[group], users=group, items=range(items))
        return bridgeval.evaluate(scores, truth[truth["user_id"].isin(group)], metrics, per_user=True, **options)

    set_threads(1)
    expected = evaluate_in_groups(np.array_split(np.arange(users), 8), evaluate, metrics)
    values = (lambda ids: torch.from_numpy(matrix[ids])) if form == "function" else matrix
    for threads in (1, 2):
        scores = Scores(values, users=range(users), items=range(items))
        assert_same(evaluate_on(threads, set_threads, scores, truth, metrics, batch_size=700, **options), expected)


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_streamed_files_give_what_pandas_gives(order, lists, expected, tmp_path, monkeypatch, set_threads):
    # The rows of a chunk, not of the files, decide about threads.
    monkeypatch.setattr(parallel, "ROWS_FOR_THREADS", 10_000)
    paths = [tmp_path / "recs.parquet", tmp_path / "truth.parquet"]
    for frame, path in zip(lists, paths, strict=True):
        (frame if order == "sorted" else shuffle(frame)).to_parquet(path, row_group_size=20_000)
    for threads in (1, 2):
        assert_same(evaluate_on(threads, set_threads, *paths, METRICS, memory="10MB", batch_size=300), expected)


def test_a_comparison_is_the_same_on_one_thread_and_on_two(lists, expected, set_threads):
    recs, truth = lists
    other = recs.assign(score=recs["score"].to_numpy()[::-1])
    compared = []
    for threads in (1, 2):
        set_threads(threads)
        found = bridgeval.compare({"a": recs, "b": other}, truth, "nDCG@10", resamples=300, batch_size=PER_BATCH)
        compared.append(found.differences)
    assert compared[0] == compared[1]
    difference = (expected_values(other, truth)["nDCG@10"] - expected["nDCG@10"]).mean()
    assert compared[0][0].difference == pytest.approx(difference, abs=1e-12)
    assert compared[0][0].low < difference < compared[0][0].high


def test_resampled_means_are_those_of_the_drawn_users(expected, two_threads):
    values = expected[["nDCG@10", "MRR@10"]].to_numpy()
    draws = [draw() for draw in bootstrap.user_draws(len(values), 300, seed=4)]
    assert len(draws) > 2
    means = bootstrap.resample_means(values, bootstrap.user_draws(len(values), 300, seed=4))
    np.testing.assert_allclose(means, np.concatenate(draws) @ values / len(values), rtol=0, atol=1e-12)


@dataclass(frozen=True)
class WaitsForTheOther(bridgeval.ListMetric):
    """1 for everyone; the first users of the first two batches wait for each other."""

    name = "WaitsForTheOther"

    def value(self, slate: Slate) -> float:
        if slate.user in (0, PER_BATCH):
            BOTH.wait()
        return 1.0


BOTH = threading.Barrier(2, timeout=60)


def test_batches_are_processed_in_parallel(two_threads):
    lists = {user: [1] for user in range(3 * PER_BATCH)}
    report = bridgeval.evaluate(lists, lists, WaitsForTheOther(), batch_size=PER_BATCH)
    assert dict(report) == {"WaitsForTheOther": 1.0}


@dataclass(frozen=True)
class FailsForOne(bridgeval.ListMetric):
    """1 for everyone but one user, for whom it fails."""

    name = "FailsForOne"

    def value(self, slate: Slate) -> float:
        return 1 / (slate.user != 2_500)


def test_a_metric_that_fails_in_a_worker_leaves_no_thread_behind(lists, two_threads):
    with pytest.raises(MetricFailedError, match="FailsForOne"):
        bridgeval.evaluate(*lists, ["nDCG@10", FailsForOne()], batch_size=PER_BATCH)
    assert not workers()
