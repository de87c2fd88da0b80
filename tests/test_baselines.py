"""A gate cannot pass by mistake: its verdict, its limits, and what the baseline was measured with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pytest

import bridgeval
from bridgeval import check, evaluate, save_baseline
from bridgeval.baselines import parse_limit
from bridgeval.errors import BadParameterError, InputError
from bridgeval.stats.paired_values import write_user_values
from tests.stats.worsened import GOOD, TRUTH, USERS, WORSE, frame

OLD = evaluate(GOOD, TRUTH, ["MRR@10", "HitRate@10"], per_user=True)
# Item i0 in place of what each user wanted: the same users, another truth.
OTHER_TRUTH = {user: ["i0"] for user in USERS}


def test_a_gate_is_true_if_it_holds():
    assert check(GOOD, TRUTH, OLD, "MRR@10=1%")
    assert not check(WORSE, TRUTH, OLD, "MRR@10=1%")


def test_a_forgotten_percent_sign_is_refused_with_what_was_meant():
    with pytest.raises(BadParameterError) as caught:
        check(WORSE, TRUTH, OLD, "nDCG@10=5")
    assert caught.value.wrong == "a drop of 5 is no limit: nDCG@10 lies between 0 and 1"
    assert caught.value.hint == "did you mean nDCG@10=5%?"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("MRR@10=1", "lies between 0 and 1"),
        ("MRR@10=250", "lies between 0 and 1"),
        ("MRR@10=100%", "cannot lose more than all it has"),
        ("MRR@10=150%", "cannot lose more than all it has"),
        ('HitRate(count="hits")@10=10', "lies between 0 and 10"),
    ],
)
def test_a_limit_that_no_drop_can_exceed_is_refused_before_data_is_read(limit, said):
    with pytest.raises(BadParameterError, match=said):
        parse_limit(limit)


def test_limits_within_the_range_are_taken():
    assert parse_limit('HitRate(count="hits")@10=5').drop == 5
    # Twice the error is a limit: errors have no upper end.
    assert parse_limit('RMSE(average="users")=100%').drop == 1
    assert parse_limit('nDCG(ideal="k")@10=5').drop == 5


def test_a_drop_of_all_that_the_baseline_has_is_refused():
    with pytest.raises(BadParameterError, match=r"MRR@10 of the baseline is 0\.\d+, and cannot drop by more"):
        check(WORSE, TRUTH, OLD, "MRR@10=0.9")


@dataclass(frozen=True)
class ListLength(bridgeval.ListMetric):
    """Of unknown range: 10 for each of these users."""

    name = "ListLength"

    def value(self, slate):
        return float(len(slate.items))


def test_where_the_range_is_unknown_values_that_are_not_negative_end_at_0():
    old = evaluate(GOOD, TRUTH, ListLength(), per_user=True)
    limit = replace(parse_limit("RMSE=1"), metric="ListLength", higher_is_better=True, bounds=ListLength().bounds)
    now = evaluate(WORSE, TRUTH, ListLength(), per_user=True)
    assert check(now, TRUTH, old, [replace(limit, drop=9.5)])
    with pytest.raises(BadParameterError, match="ListLength of the baseline is 10, and cannot drop by more"):
        check(now, TRUTH, old, [replace(limit, drop=10.0)])


@pytest.fixture
def saved(tmp_path):
    save_baseline(OLD, tmp_path / "old.json", relevance=TRUTH)
    return tmp_path / "old.json"


def test_another_truth_is_refused_unless_it_is_asked_for(saved):
    with pytest.raises(InputError) as caught:
        check(GOOD, OTHER_TRUTH, saved, "MRR@10=1%")
    assert "the baseline was made with another truth" in caught.value.wrong
    assert "400 rows" in caught.value.found
    assert "other_inputs=True" in caught.value.hint
    gate = check(GOOD, OTHER_TRUTH, saved, "MRR@10=1%", other_inputs=True)
    assert gate.notes[0].startswith("The baseline was made with another truth (truth: 400 rows")


@pytest.mark.parametrize(
    "same",
    [
        lambda rows: rows,
        lambda rows: rows.iloc[::-1],
        lambda rows: pa.table(rows),
        lambda rows: rows.assign(gain=1),
        lambda rows: {user: [item] for user, item in zip(rows.user_id, rows.item_id, strict=True)},
    ],
    ids=["as it was", "another order", "arrow", "gains of 1", "mapping"],
)
def test_the_same_rows_are_the_same_truth(saved, same):
    rows = frame(TRUTH)[["user_id", "item_id"]]
    gate = check(GOOD, same(rows), saved, "MRR@10=1%")
    assert gate
    assert gate.notes == ()


def test_other_gains_and_a_row_more_are_another_truth(saved):
    rows = frame(TRUTH)[["user_id", "item_id"]]
    for other in (rows.assign(gain=2), pd.concat([rows, rows.head(1)]), rows.iloc[1:]):
        with pytest.raises(InputError, match="another truth"):
            check(GOOD, other, saved, "MRR@10=1%")


def test_the_columns_chosen_are_part_of_the_truth(tmp_path):
    rows = frame(TRUTH)[["user_id", "item_id"]].assign(stars=5, clicks=1)
    report = evaluate(GOOD, rows, "MRR@10", per_user=True, columns={"gain": "stars"})
    save_baseline(report, tmp_path / "old.json", relevance=rows, columns={"gain": "stars"})
    assert check(GOOD, rows, tmp_path / "old.json", "MRR@10=1%", columns={"gain": "stars"})
    with pytest.raises(InputError, match="another truth"):
        check(GOOD, rows, tmp_path / "old.json", "MRR@10=1%", columns={"gain": "clicks"})


def test_another_history_is_refused(tmp_path):
    history = {user: ["i1"] for user in USERS}
    save_baseline(OLD, tmp_path / "old.json", relevance=TRUTH, history=history)
    assert check(GOOD, TRUTH, tmp_path / "old.json", "MRR@10=1%", history=history)
    with pytest.raises(InputError, match="another history"):
        check(GOOD, TRUTH, tmp_path / "old.json", "MRR@10=1%", history={user: ["i2"] for user in USERS})
    with pytest.raises(InputError, match=r"another history.*none now"):
        check(GOOD, TRUTH, tmp_path / "old.json", "MRR@10=1%")


def test_another_definition_under_one_name_is_refused(saved):
    document = json.loads(saved.read_text())
    document["definitions"]["MRR@10"]["native"] = 'MRR(users="both")@10'
    saved.write_text(json.dumps(document))
    with pytest.raises(InputError, match=r'another definition of MRR@10.*MRR\(users="both"\)@10 then, MRR@10 now'):
        check(GOOD, TRUTH, saved, "MRR@10=1%")


def test_files_are_compared_by_their_bytes(tmp_path):
    path, other = tmp_path / "truth.csv", tmp_path / "other.csv"
    frame(TRUTH)[["user_id", "item_id"]].to_csv(path, index=False)
    frame(OTHER_TRUTH)[["user_id", "item_id"]].to_csv(other, index=False)
    recs = tmp_path / "recs.csv"
    frame(GOOD).to_csv(recs, index=False)
    report = evaluate(str(recs), str(path), "MRR@10", per_user=True)
    save_baseline(report, tmp_path / "old.json", relevance=path)
    assert check(str(recs), str(path), tmp_path / "old.json", "MRR@10=1%")
    with pytest.raises(InputError, match="another truth"):
        check(str(recs), str(other), tmp_path / "old.json", "MRR@10=1%")
    # Bytes of a file and rows of a mapping cannot be compared: said, and users are compared instead.
    gate = check(GOOD, TRUTH, tmp_path / "old.json", "MRR@10=1%")
    assert "The truth was not compared" in gate.notes[0]


def test_without_a_record_of_the_truth_its_users_are_compared(tmp_path):
    write_user_values({"": OLD.collected}, tmp_path / "values.parquet")
    save_baseline(OLD, tmp_path / "plain.json")
    fewer = {user: TRUTH[user] for user in list(USERS)[37:]}
    for baseline in (tmp_path / "values.parquet", tmp_path / "plain.json", OLD):
        gate = check(GOOD, TRUTH, baseline, "MRR@10=1%")
        assert gate
        assert "the baseline does not record its own" in gate.notes[0]
        with pytest.raises(InputError, match=r"made with other users.*37 user\(s\) only then, 0 only now"):
            check(GOOD, fewer, baseline, "MRR@10=1%")


def test_users_who_count_because_of_what_a_system_shows_may_differ():
    metric = 'MRR(users="both")@10'
    old = evaluate(GOOD, TRUTH, metric, per_user=True)
    shows_less = {user: items for user, items in GOOD.items() if user >= 37}
    gate = check(shows_less, TRUTH, old, f"{metric}=1%")
    assert gate.checks[0].users == 363
    assert "now has no entry for 37 user(s)" in str(gate)


def test_junit_has_the_values_of_passed_and_failed_cases():
    gate = check(WORSE, TRUTH, OLD, ["MRR@10=1%", "HitRate@10=1%"])
    cases = ElementTree.fromstring(gate.to_junit()).findall("testcase")
    for case, row in zip(cases, gate.checks, strict=True):
        values = {one.get("name"): one.get("value") for one in case.find("properties")}
        assert float(values["baseline"]) == pytest.approx(OLD[row.metric])
        assert float(values["value"]) == pytest.approx(evaluate(WORSE, TRUTH, row.metric)[row.metric])
        assert (values["limit"], float(values["p"])) == ("1%", row.p)
        assert f"{row.metric} {row.baseline:.4f} -> {row.value:.4f} over 400 users" in case.find("system-out").text
    assert [case.find("failure") is not None for case in cases] == [True, False]
    assert "it drops by" in cases[0].find("failure").get("message")
