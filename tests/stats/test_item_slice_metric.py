"""Slices of items: oracles in plain loops, and a decomposition that adds up for any metric."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bridgeval import Scores, compare, evaluate, sliced
from bridgeval.errors import BadParameterError, InputError, MisalignedError, MissingColumnError
from bridgeval.slices import items_by_history, items_by_popularity, of_items

RNG = np.random.default_rng(11)
USERS, ITEMS = range(50), [f"i{n:02d}" for n in range(30)]
GENRE = {item: ("rock", "jazz", "folk")[n % 3] for n, item in enumerate(ITEMS[:24])}
TRUTH = {u: list(RNG.choice(ITEMS, RNG.integers(1, 6), replace=False)) for u in USERS}
A, B = ({u: list(RNG.permutation(ITEMS)[:10]) for u in range(2, 50)} for _ in range(2))
METRICS = ["Recall@5", "MRR@5", "nDCG@10", "Precision@5"]
MORE = [*METRICS, "MAP@5", "HitRate@5"]
LABELS = ["folk", "jazz", "rock", "(no label)"]
BY = of_items(GENRE, "genre")


def wanted(user, label):
    return [item for item in TRUTH[user] if GENRE.get(item, "(no label)") == label]


def recall(shown, relevant):
    return sum(item in relevant for item in shown[:5]) / len(relevant)


def reciprocal_rank(shown, relevant):
    return next((1 / place for place, item in enumerate(shown[:5], 1) if item in relevant), 0.0)


@pytest.mark.parametrize(("metric", "value"), [("Recall@5", recall), ("MRR@5", reciprocal_rank)])
def test_a_slice_is_its_users_against_its_items_in_plain_loops(metric, value):
    slices = evaluate(A, TRUTH, METRICS, by=BY).slices
    rows = [row for row in slices.means if row.metric == metric]
    assert [row.slice for row in rows] == LABELS
    for row in rows:
        own = [value(A.get(u, []), wanted(u, row.slice)) for u in USERS if wanted(u, row.slice)]
        assert row.users == len(own)
        assert row.share == len(own) / len(USERS)
        assert row.value == pytest.approx(sum(own) / len(own), abs=1e-12)
        assert row.low <= row.value <= row.high
        assert row.side == "item"
    assert slices.worst(metric).value == min(row.value for row in rows)


def test_a_slice_is_an_evaluation_against_relevance_that_was_cut_down_before():
    report = evaluate(A, TRUTH, MORE, by=BY)
    for label in LABELS:
        truth = {u: own for u in USERS if (own := wanted(u, label))}
        alone = evaluate(A, truth, MORE)
        found = {row.metric: row.value for row in report.slices.means if row.slice == label}
        assert found == pytest.approx(dict(alone), abs=1e-12)


def test_users_without_a_relevant_item_of_the_slice_are_not_in_it_whoever_else_counts():
    metric = 'HitRate(users="any")@5'
    rows = evaluate({**A, 99: ["i00"]}, TRUTH, metric, by=BY).slices.means
    assert {row.slice: row.users for row in rows} == {
        label: sum(bool(wanted(u, label)) for u in USERS) for label in LABELS
    }


@pytest.mark.parametrize("metric", METRICS)
def test_what_slices_of_items_add_is_the_whole_difference(metric):
    found = compare({"a": A, "b": B}, TRUTH, METRICS, by=BY, resamples=200)
    rows = found.slices.movers(metric)
    assert {row.slice for row in rows} == {*LABELS, "(items together)"}
    whole = found.difference(metric).difference
    assert math.fsum(row.contribution for row in rows) == pytest.approx(whole, abs=1e-15)
    assert math.fsum(row.share for row in rows) == pytest.approx(1.0, abs=1e-12)


def test_of_recall_every_part_of_a_difference_belongs_to_a_slice():
    # Recall is a mean over the user's relevant items: weighed by their share, the recalls of the slices are the whole.
    found = compare({"a": A, "b": B}, TRUTH, ["Recall@5", "nDCG@10"], by=BY, resamples=200)
    rows = {row.slice: row for row in found.slices.changes if row.metric == "Recall@5"}
    assert rows["(items together)"].contribution == pytest.approx(0.0, abs=1e-15)
    for label in LABELS:
        adds = 0.0
        for user in USERS:
            own = wanted(user, label)
            if own:
                change = recall(B.get(user, []), own) - recall(A.get(user, []), own)
                adds += len(own) / len(TRUTH[user]) * change / len(USERS)
        assert rows[label].contribution == pytest.approx(adds, abs=1e-12)
    rest = next(r for r in found.slices.changes if r.metric == "nDCG@10" and r.slice == "(items together)")
    assert abs(rest.contribution) > 1e-6
    assert f"{rest.contribution:+.4f} belongs to no single slice" in str(found)
    assert "of the relevant items" in str(found)


def test_a_difference_worked_by_hand():
    # User 1 wants x (rock) and y (jazz); a shows x, b shows y. User 2 wants x alone; b shows it, a does not.
    #   rock: user 1 loses 1 at half weight, user 2 wins 1: (-1/2 + 1) / 2 = 1/4. jazz: user 1 wins 1 at half: 1/4.
    truth = {1: ["x", "y"], 2: ["x"]}
    found = compare(
        {"a": {1: ["x"], 2: ["z"]}, "b": {1: ["y"], 2: ["x"]}},
        truth,
        "Recall@1",
        by=of_items({"x": "rock", "y": "jazz"}),
    )
    adds = {row.slice: row.contribution for row in found.slices.changes}
    assert adds == {"jazz": 0.25, "rock": 0.25, "(items together)": 0.0}
    assert found.difference("Recall@1").difference == 0.5


def test_the_digits_do_not_depend_on_batches_and_a_score_matrix_is_sliced_too():
    whole = evaluate(A, TRUTH, METRICS, by=BY).slices
    assert evaluate(A, TRUTH, METRICS, by=BY, batch_size=7).slices == whole
    scores = np.full((50, 30), -np.inf)
    for user, items in A.items():
        scores[user, [ITEMS.index(item) for item in items]] = np.arange(10, 0, -1)
    matrix = evaluate(Scores(scores, users=list(USERS), items=ITEMS), TRUTH, METRICS, by=BY).slices
    assert [(r.slice, r.metric, r.users) for r in matrix.means] == [(r.slice, r.metric, r.users) for r in whole.means]
    assert [r.value for r in matrix.means] == pytest.approx([r.value for r in whole.means], abs=1e-12)


def test_files_that_are_streamed_are_sliced_too(tmp_path):
    rows = [(u, item, -place) for u, items in A.items() for place, item in enumerate(items)]
    pd.DataFrame(rows, columns=["user_id", "item_id", "score"]).to_parquet(tmp_path / "a.parquet")
    truth = [(u, item) for u, items in TRUTH.items() for item in items]
    pd.DataFrame(truth, columns=["user_id", "item_id"]).to_parquet(tmp_path / "truth.parquet")
    streamed = evaluate(tmp_path / "a.parquet", tmp_path / "truth.parquet", METRICS, by=BY, memory=1000)
    assert streamed.slices.means == evaluate(A, TRUTH, METRICS, by=BY).slices.means


def test_users_and_items_are_sliced_together_and_go_out_with_the_report():
    by = [{u: "north" if u % 2 else "south" for u in USERS}, BY]
    report = evaluate(A, TRUTH, "Recall@5", by=by)
    assert report.slices.kinds == ["slice", "genre"]
    assert [row.slice for row in report.rows()] == [
        "all", "slice = north", "slice = south", "genre = folk", "genre = jazz", "genre = rock", "genre = (no label)",
    ]  # fmt: skip
    assert "Recall@5 · genre = jazz" in report.to_markdown()
    assert "Recall@5 is worst for genre = " in str(report)
    page = report.to_html()
    assert page.count('<th scope="row">genre = jazz</th><td><code>Recall@5</code></td>') == 1
    assert "evaluated against these items alone" in page
    assert report.to_dict()["results"][4]["slice"] == "genre = jazz"


def test_the_page_of_a_comparison_has_the_slices_once():
    page = compare({"a": A, "b": B}, TRUTH, "Recall@5", by=BY, resamples=200).to_html()
    assert [page.count(f'<th scope="row">genre = {label}</th>') for label in LABELS] == [1, 1, 1, 1]


def test_the_table_of_all_slices_has_what_belongs_to_no_single_one():
    frame = compare({"a": A, "b": B}, TRUTH, "nDCG@10", by=BY, resamples=200).slices.to_pandas()
    changed = frame[frame.system == "b"]
    assert list(changed["slice"]) == [*LABELS, "(items together)"]
    assert changed["contribution"].notna().all()


def test_cold_items_and_popularity_deciles_come_from_the_history():
    history = {u: ITEMS[: 1 + u] for u in range(20)}  # item n is had by 20 - n users
    cold = items_by_history(history, cold=5)
    assert cold["item history"].to_pylist() == ["warm (>= 5)"] * 16 + ["cold (< 5)"] * 4
    deciles = items_by_popularity(history)["item popularity"].to_pylist()
    assert sorted({deciles.count(one) for one in deciles}) == [2]
    assert deciles[0] == "10 of 10 (19 .. 20)"
    kinds = evaluate(A, TRUTH, "Recall@5", by=[cold, items_by_popularity(history, into=2)]).slices.kinds
    assert kinds == ["item history", "item popularity"]


def test_what_cannot_be_sliced_by_items_is_refused():
    report = evaluate(A, TRUTH, "Recall@5", per_user=True)
    with pytest.raises(InputError, match="cannot be sliced by items: this needs the lists"):
        sliced(report, BY)
    with pytest.raises(InputError, match="system 'a' cannot be sliced by items"):
        compare({"a": report, "b": B}, TRUTH, "Recall@5", by=BY)
    with pytest.raises(MissingColumnError, match="the user id or the item id"):
        evaluate(A, TRUTH, by=pd.DataFrame({"user_id": [1], "item_id": [2], "x": [3]}))
    with pytest.raises(BadParameterError, match="two kinds of slices are called 'genre'"):
        evaluate(A, TRUTH, by=[BY, BY])
    with pytest.raises(MisalignedError):
        evaluate(A, TRUTH, by=of_items({7: "rock"}))


def test_reports_made_with_the_same_slices_can_be_compared():
    reports = {name: evaluate(lists, TRUTH, "Recall@5", by=BY) for name, lists in (("a", A), ("b", B))}
    again = compare(reports, by=BY, resamples=200)
    assert again.slices == compare({"a": A, "b": B}, TRUTH, "Recall@5", by=BY, resamples=200).slices


def test_a_number_that_is_no_mean_over_users_has_no_slices():
    report = evaluate(A, TRUTH, ["Gini@5", "Recall@5"], by=BY, catalogue=ITEMS)
    assert report.slices.metrics == ["Recall@5"]
    assert sliced(report) == report.slices
    assert "not means over users: Gini@5." in str(report)
    assert "Gini@5" in str(compare({"a": A, "b": B}, TRUTH, ["Gini@5", "MRR@5"], by=BY, resamples=200, catalogue=ITEMS))
    with pytest.raises(InputError, match="nothing to slice"):
        evaluate(A, TRUTH, "Gini@5", by=BY, catalogue=ITEMS)
