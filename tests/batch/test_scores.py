"""Score matrices against plain loops: ties, masked, seen and unscored items, in every form; bad ones are refused."""

from __future__ import annotations

import math
import random
import threading
from collections import defaultdict

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import torch

import bridgeval
from bridgeval import Scores
from bridgeval.errors import (
    BadParameterError,
    BadValueError,
    IdsOutOfRangeWarning,
    InputError,
    MisalignedError,
    NeedError,
)

CUTOFFS = (1, 3, 10, 200)
METRICS = [f"{name}@1,3,10,200" for name in ("Precision", "Recall", "HitRate", "MRR", "MAP", "nDCG", "LAUC")]
METRICS += ["AUC", "GAUC", "MAE", "RMSE"]


class World:
    """Users and items with ids in no order, scores on a coarse grid so that many tie, and cells at -inf."""

    def __init__(self, seed: int, strings: bool, items: int = 30) -> None:
        rng = random.Random(seed)
        self.items = [f"i{n:03d}" if strings else 10 * n - 50 for n in range(items)]
        self.users = [f"u{n:03d}" if strings else 1000 - n for n in range(40)]
        rng.shuffle(self.items)
        rng.shuffle(self.users)
        self.values = np.array([[rng.choice([0.5, -1.0, 2.0, rng.random()]) for _ in self.items] for _ in self.users])
        self.history, self.relevance = {}, {}
        for row, user in enumerate(self.users):
            for column in rng.sample(range(items), rng.choice([0, 0, 4])):
                self.values[row, column] = -math.inf
            self.history[user] = rng.sample(self.items, rng.choice([0, 1, 6, 20]))
            if row % 5:
                self.relevance[user] = {
                    item: rng.choice([0, 1, 1, 3]) for item in rng.sample(self.items, rng.choice([1, 2, 7]))
                }
        self.values[3] = -math.inf

    def shown(self, mask_history: bool = True) -> dict:
        """User -> {item: score} of what may be shown."""
        return {
            user: {
                item: self.values[row, column]
                for column, item in enumerate(self.items)
                if self.values[row, column] != -math.inf and not (mask_history and item in self.history[user])
            }
            for row, user in enumerate(self.users)
        }


def expected(shown: dict, relevance: dict) -> dict[str, float]:
    """Every metric in plain loops; order: score descending, then item id descending."""
    per_user, errors, pairs, found_pairs = defaultdict(list), [], 0.0, 0
    for user, rows in relevance.items():
        scores = shown.get(user, {})
        errors += [scores[item] - gain for item, gain in rows.items() if item in scores]
        gains = {item: gain for item, gain in rows.items() if gain > 0}
        if not gains:
            continue
        order = sorted(scores, key=lambda item: (scores[item], item), reverse=True)
        misses = [item for item in order if item not in gains]
        share = {
            item: sum((scores[item] > scores[m]) + (scores[item] == scores[m]) / 2 for m in misses) / len(misses)
            if misses
            else math.nan
            for item in gains
            if item in scores
        }
        area = sum(share.values()) / len(gains)
        if not math.isnan(area):
            per_user["GAUC"].append(area)
            pairs += sum(share.values())
            found_pairs += len(gains)
        for k in CUTOFFS:
            top = order[:k]
            hits = [item in gains for item in top]
            precisions = [sum(hits[: j + 1]) / (j + 1) for j, hit in enumerate(hits) if hit]
            ideal = sorted(gains.values(), reverse=True)[:k]
            dcg = sum((2 ** gains[item] - 1) / math.log2(j + 2) for j, item in enumerate(top) if item in gains)
            best = min(k, len(gains))
            per_user[f"Precision@{k}"].append(sum(hits) / k)
            per_user[f"Recall@{k}"].append(sum(hits) / len(gains))
            per_user[f"HitRate@{k}"].append(float(any(hits)))
            per_user[f"MRR@{k}"].append(1 / (hits.index(True) + 1) if any(hits) else 0.0)
            per_user[f"MAP@{k}"].append(sum(precisions) / best)
            per_user[f"nDCG@{k}"].append(dcg / sum((2**g - 1) / math.log2(j + 2) for j, g in enumerate(ideal)))
            area = sum(share[item] for item in top if item in gains) / best
            if not math.isnan(area):
                per_user[f"LAUC@{k}"].append(area)
    values = {name: sum(numbers) / len(numbers) for name, numbers in per_user.items()}
    values["AUC"] = pairs / found_pairs
    values["MAE"] = sum(map(abs, errors)) / len(errors)
    values["RMSE"] = math.sqrt(sum(error * error for error in errors) / len(errors))
    return values


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_matrix_gives_what_loops_give(seed, strings):
    world = World(seed, strings)
    report = bridgeval.evaluate(
        Scores(world.values, world.users, world.items), world.relevance, METRICS, history=world.history
    )
    assert dict(report) == pytest.approx(expected(world.shown(), world.relevance), abs=1e-12)


@pytest.mark.parametrize("mask", [False, True])
def test_a_matrix_gives_the_report_of_the_same_rows_in_a_mapping(mask):
    world = World(5, strings=True)
    names = [name for name in METRICS if "AUC" not in name]
    matrix = bridgeval.evaluate(
        Scores(world.values, world.users, world.items, mask_history=mask), world.relevance, names, history=world.history
    )
    lists = bridgeval.evaluate(world.shown(mask), world.relevance, names, history=world.history)
    assert dict(matrix) == pytest.approx(dict(lists), abs=1e-13)
    assert matrix.population.counted == lists.population.counted
    assert matrix.population.shown_nothing == lists.population.shown_nothing


@pytest.mark.parametrize("batch_size", [1, 2, 7, 39, 40, None])
def test_every_batch_size_gives_the_same(batch_size):
    world = World(1, strings=False)
    scores = Scores(world.values, world.users, world.items)
    whole = bridgeval.evaluate(scores, world.relevance, METRICS, history=world.history, batch_size=1000)
    parts = bridgeval.evaluate(scores, world.relevance, METRICS, history=world.history, batch_size=batch_size)
    assert dict(parts) == pytest.approx(dict(whole), abs=1e-12)
    assert parts.population == whole.population


def _memmap(values, path):
    written = np.memmap(path / "scores", dtype=np.float64, mode="w+", shape=values.shape)
    written[:] = values
    written.flush()
    return np.memmap(path / "scores", dtype=np.float64, mode="r", shape=values.shape)


@pytest.mark.parametrize("form", ["tensor", "memmap", "fortran", "function", "function of tensors"])
def test_every_form_of_values_gives_the_same(form, tmp_path):
    world = World(2, strings=False)
    row_of = {user: row for row, user in enumerate(world.users)}
    values = {
        "tensor": lambda: torch.from_numpy(world.values),
        "memmap": lambda: _memmap(world.values, tmp_path),
        "fortran": lambda: np.asfortranarray(world.values),
        "function": lambda: lambda users: world.values[[row_of[u] for u in users.tolist()]],
        "function of tensors": lambda: lambda users: torch.tensor(world.values)[[row_of[u] for u in users.tolist()]],
    }[form]()
    report = bridgeval.evaluate(
        Scores(values, world.users, world.items), world.relevance, METRICS, history=world.history, batch_size=9
    )
    assert dict(report) == pytest.approx(expected(world.shown(), world.relevance), abs=1e-12)


def test_half_precision_and_integers_are_read_exactly():
    relevance = {0: [1], 1: [0]}
    for values in (torch.tensor([[0, 3], [2, 1]]), torch.tensor([[0, 3], [2, 1]], dtype=torch.float16)):
        assert bridgeval.evaluate(Scores(values), relevance, "Recall@1")["Recall@1"] == 1.0


def test_what_a_sparse_matrix_does_not_store_was_not_scored():
    world = World(4, strings=True)
    rng = random.Random(0)
    stored = {(r, c) for r in range(40) for c in range(30) if rng.random() < 0.4}
    rows, columns = (np.array(side) for side in zip(*sorted(stored), strict=True))
    sparse = scipy.sparse.coo_matrix((world.values[rows, columns], (rows, columns)), shape=(40, 30))
    names = [name for name in METRICS if "AUC" not in name]
    report = bridgeval.evaluate(
        Scores(sparse, world.users, world.items), world.relevance, names, history=world.history, batch_size=11
    )
    column_of = {item: column for column, item in enumerate(world.items)}
    shown = {
        user: {item: score for item, score in world.shown()[user].items() if (row, column_of[item]) in stored}
        for row, user in enumerate(world.users)
    }
    loops = {name: value for name, value in expected(shown, world.relevance).items() if "AUC" not in name}
    assert dict(report) == pytest.approx(loops, abs=1e-12)


def test_a_stored_zero_is_a_score_and_a_missing_one_is_none():
    sparse = scipy.sparse.csr_matrix((np.array([0.0, 1.0]), ([0, 0], [2, 1])), shape=(1, 4))
    report = bridgeval.evaluate(Scores(sparse), {0: {2: 1, 3: 1}}, ["Recall@4", "MAE"])
    assert report["Recall@4"] == 0.5
    assert report.results["MAE"].notes["pairs without a prediction"] == 1


def test_the_area_needs_scores_for_all_candidates():
    sparse = scipy.sparse.csr_matrix(np.array([[0.0, 1.0, 2.0]]))
    with pytest.raises(NeedError, match="ranking of all candidates"):
        bridgeval.evaluate(Scores(sparse), {0: [1]}, "AUC")


def test_seen_masked_and_low_scores_are_distinguished():
    values = np.array([[0.9, -math.inf, -7.0, 0.5]])
    scores = Scores(values, items=range(4))
    report = bridgeval.evaluate(scores, {0: [0, 1, 2, 9]}, ["Recall@4", "MAE"], history={0: [0]})
    # Item 0 is seen, item 1 masked by the model, item 9 has no column; item 2 scored low and is shown.
    assert report["Recall@4"] == 0.25
    assert (report.population.seen, report.population.masked, report.population.unknown_relevant) == (1, 1, 1)
    assert report.results["MAE"].notes["pairs without a prediction"] == 3


def test_a_seen_cell_that_the_model_masked_too_counts_as_seen():
    report = bridgeval.evaluate(Scores(np.array([[-math.inf, 1.0]])), {0: [1]}, "GAUC", history={0: [0]})
    assert (report.population.seen, report.population.masked) == (1, 0)


def test_the_scores_of_the_caller_are_left_alone():
    values = torch.arange(6.0).reshape(2, 3)
    before = values.clone()
    bridgeval.evaluate(Scores(values), {0: [0], 1: [1]}, METRICS, history={0: [2], 1: [0, 1]})
    assert torch.equal(values, before)


def test_a_function_is_asked_for_each_user_once_however_many_metrics():
    asked: list[int] = []

    def predict(users):
        asked.extend(users.tolist())
        return np.random.default_rng(int(users[0])).normal(size=(len(users), 50))

    users = list(range(100, 225))
    relevance = {user: [user % 50] for user in users[::2]}
    metrics = [*METRICS, 'nDCG(ties="given")@5', 'Recall(masked="keep")@7']
    bridgeval.evaluate(Scores(predict, users=users, items=range(50)), relevance, metrics, batch_size=16, per_user=True)
    assert sorted(asked) == users


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_a_function_without_users_is_asked_for_those_of_the_relevance():
    asked: list[str] = []

    def predict(users):
        asked.extend(users)
        return torch.zeros(len(users), 3)

    bridgeval.evaluate(Scores(predict, items=["a", "b", "c"]), {"bob": ["a"], "ann": ["b"]}, "Recall@1")
    assert asked == ["ann", "bob"]


def test_users_without_a_row_of_scores_were_shown_nothing():
    scores = Scores(np.eye(2), users=range(2))
    report = bridgeval.evaluate(scores, {0: [0], 1: [1], 2: [0], -5: [1]}, "Recall@1")
    assert report["Recall@1"] == 0.5
    assert report.population.shown_nothing == 2


@pytest.mark.filterwarnings("ignore::bridgeval.errors.ConstantScoresWarning")
def test_equal_scores_go_by_item_id_descending_whatever_the_order_of_columns():
    values = np.zeros((1, 6))
    items = ["c", "a", "f", "b", "e", "d"]
    ranks = {item: bridgeval.evaluate(Scores(values, items=items), {0: [item]}, "MRR@6")["MRR@6"] for item in items}
    assert ranks == pytest.approx({"f": 1, "e": 1 / 2, "d": 1 / 3, "c": 1 / 4, "b": 1 / 5, "a": 1 / 6})
    # At a cut inside the tie the same items stay.
    hits = [bridgeval.evaluate(Scores(values, items=items), {0: [item]}, "Recall@2")["Recall@2"] for item in "abcdef"]
    assert hits == [0, 0, 0, 0, 1, 1]


def test_pair_columns_of_a_matrix_are_those_of_lists():
    from dataclasses import dataclass

    from bridgeval.engine.blocks import Ranked, ShownColumn
    from bridgeval.engine.needs import Needs

    @dataclass(frozen=True)
    class SumOf(bridgeval.TopKMetric):
        name = "SumOf"
        column: str = "seen"

        def needs(self):
            return super().needs() | Needs(pairs=frozenset({self.column}))

        def values(self, blocks):
            cells = blocks[ShownColumn(self.column, self.ranking)].double()
            return torch.where(blocks[Ranked(self.ranking)].valid, cells, 0.0).nansum(1)[: len(blocks)]

    world = World(6, strings=True)
    extras = {
        "history": world.history,
        "prev_scores": {user: {item: len(user + item) * 0.1 for item in world.items[::2]} for user in world.users},
        "baseline": dict.fromkeys(world.users[::2], world.items[:7]),
    }
    metrics = [SumOf(20, name) for name in ("seen", "prev_score", "baseline_rank")]
    metrics = [bridgeval.engine.metric.replace(m, label=f"own:{m.column}") for m in metrics]
    matrix = bridgeval.evaluate(
        Scores(world.values, world.users, world.items, mask_history=False), world.relevance, metrics, **extras
    )
    lists = bridgeval.evaluate(world.shown(False), world.relevance, metrics, **extras)
    assert dict(matrix) == pytest.approx(dict(lists))
    assert all(value > 0 for value in matrix.values())


def test_a_whole_ranking_can_be_read_by_a_function_of_one_user():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Last(bridgeval.ListMetric):
        name = "Last"

        def value(self, slate):
            return float(slate.items[-1])

    values = np.array([[0.1, 0.7, 0.3], [5.0, 1.0, 5.0]])
    report = bridgeval.evaluate(Scores(values), {0: [1], 1: [1]}, Last(), history={0: [0]}, per_user=True)
    assert report.per_user("Last")["value"].tolist() == [2.0, 1.0]


def _table(users: int, items: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).random((users, items)))


USERS = 400
TRUTH = {user: [user % 7] for user in range(USERS)}


def test_a_model_is_asked_for_one_batch_at_a_time_in_the_thread_of_the_caller_without_gradients(set_threads):
    table, asked, busy = _table(USERS, 9), [], []

    def predict(users):
        assert not busy, "asked for a second batch before the first was answered"
        busy.append(True)
        asked.append((threading.get_ident(), torch.is_grad_enabled(), torch.get_num_threads(), len(users)))
        scores = table[torch.from_numpy(users)]
        busy.clear()
        return scores

    set_threads(3)
    bridgeval.evaluate(bridgeval.Scores(predict, items=range(9)), TRUTH, "nDCG@5", batch_size=16)
    assert set(asked) == {(threading.get_ident(), False, 3, 16)}
    assert len(asked) == USERS // 16


@pytest.mark.parametrize("as_numpy", [True, False])
@pytest.mark.parametrize("history", [None, {user: [(user + 3) % 9] for user in range(USERS)}])
def test_a_model_may_write_every_batch_into_the_same_memory(as_numpy, history, set_threads):
    table = _table(USERS, 9)
    memory = torch.empty(16, 9, dtype=table.dtype)

    def predict(users):
        memory[: len(users)] = table[torch.from_numpy(users)]
        return memory.numpy()[: len(users)] if as_numpy else memory[: len(users)]

    set_threads(4)
    metrics, given = ["nDCG@5", "AUC"], {"history": history, "batch_size": 16}
    found = bridgeval.evaluate(bridgeval.Scores(predict, items=range(9)), TRUTH, metrics, **given)
    assert dict(found) == dict(bridgeval.evaluate(bridgeval.Scores(table), TRUTH, metrics, **given))


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


# --- Ids of frames, and ids that are no position ------------------------------------------------------------
# bob likes gin best, ann likes tea best: both get what they want first, so Recall@1 is 1.
WANTED = {"ann": ["tea"], "bob": ["gin"]}
FRAME = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=["bob", "ann"], columns=["gin", "tea"])


def test_a_pandas_frame_has_users_in_its_index_and_items_in_its_columns():
    assert bridgeval.evaluate(Scores(FRAME), WANTED, "Recall@1")["Recall@1"] == 1.0
    numbered = FRAME.set_axis([8, 7]).set_axis([4, 2], axis=1)
    assert bridgeval.evaluate(Scores(numbered), {7: [2], 8: [4]}, "Recall@1")["Recall@1"] == 1.0


def test_ids_that_are_given_win_over_those_of_a_frame():
    swapped = Scores(FRAME, users=["ann", "bob"])
    assert bridgeval.evaluate(swapped, WANTED, "Recall@1")["Recall@1"] == 0.0
    assert bridgeval.evaluate(Scores(FRAME, items=["tea", "gin"]), WANTED, "Recall@1")["Recall@1"] == 0.0


@pytest.mark.parametrize("kind", ["polars", "arrow", "duckdb"])
def test_a_frame_without_an_index_needs_users(kind):
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    frame = {"polars": pl.from_arrow, "arrow": pa.table, "duckdb": duckdb.arrow}[kind](table)
    with pytest.raises(InputError, match="without an index") as caught:
        Scores(frame)
    assert "Scores(frame, users=[...])" in caught.value.hint
    assert bridgeval.evaluate(Scores(frame, users=["bob", "ann"]), WANTED, "Recall@1")["Recall@1"] == 1.0


def test_users_in_a_column_of_the_scores_are_refused():
    with pytest.raises(InputError, match=r"frame.set_index\('user_id'\)"):
        Scores(FRAME.reset_index(names="user_id"))


def test_a_frame_of_text_is_no_scores():
    with pytest.raises(BadValueError, match="the scores must be numbers"):
        Scores(FRAME.astype(str))


def test_ids_from_1_are_no_positions():
    # Each of three users scores their item best, with ids from 1. Taken for positions, user and item 3 have no place;
    # users 1 and 2 are read from the rows of users 2 and 3, whose best column is called 1 and 2: right by accident.
    truth, history = {1: [1], 2: [2]}, {1: [3], 3: [1]}
    with pytest.warns(IdsOutOfRangeWarning) as caught:
        bridgeval.evaluate(Scores(np.eye(3)), truth, "Recall@1", history=history)
    users, items = sorted((str(one.message) for one in caught), reverse=True)
    assert users.startswith("1 user id(s) of the relevance or the history have no row in the scores, e.g. 3: ")
    assert "give Scores(values, users=range(1, 4))" in users
    assert items.startswith("1 item id(s) of the relevance or the history have no column in the scores, e.g. 3: ")
    assert "give Scores(values, items=range(1, 4))" in items
    assert {one.filename for one in caught} == {__file__}
    named = Scores(np.eye(3), users=range(1, 4), items=range(1, 4))
    assert bridgeval.evaluate(named, truth, "Recall@1", history=history)["Recall@1"] == 1.0


def test_the_index_that_pandas_makes_up_is_no_id():
    frame = pd.DataFrame(np.eye(2), columns=["gin", "tea"])
    with pytest.warns(IdsOutOfRangeWarning, match="1 user id"):
        bridgeval.evaluate(Scores(frame), {1: ["gin"], 2: ["tea"]}, "Recall@1")


@pytest.mark.parametrize(("truth", "side"), [({"ann": [0]}, "users"), ({0: ["tea"]}, "items")])
def test_text_is_no_position(truth, side):
    with pytest.raises(MisalignedError, match="are numbered from 0") as caught:
        bridgeval.evaluate(Scores(np.eye(2)), truth, "Recall@1")
    assert f"Scores(values, {side}=[...])" in caught.value.hint
