"""Is B better than A: the public function, odd data, files and the page."""

from __future__ import annotations

import json
import math
import re
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bridgeval import compare, evaluate
from bridgeval.errors import BadParameterError, InputError, UnknownMetricError
from bridgeval.stats.paired_values import write_user_values
from tests.stats.compared import MIDDLE, QUICK, STRONG, TRUTH, USERS, WEAK, reciprocal_rank


def test_difference_and_tests_are_those_of_values_computed_in_loops():
    weak = np.array([reciprocal_rank(WEAK[user], TRUTH[user], 10) for user in range(USERS)])
    strong = np.array([reciprocal_rank(STRONG[user], TRUTH[user], 10) for user in range(USERS)])
    row = compare({"weak": WEAK, "strong": STRONG}, TRUTH, "MRR@10", **QUICK).difference("MRR@10")
    expected = stats.ttest_rel(strong, weak)
    assert row.difference == pytest.approx(strong.mean() - weak.mean(), abs=1e-12)
    assert (row.t, row.p_t) == (pytest.approx(expected.statistic, rel=1e-9), pytest.approx(expected.pvalue, rel=1e-9))
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(strong, weak).pvalue, rel=1e-9)
    assert (row.wins, row.ties, row.losses) == (
        (strong > weak).sum(),
        (strong == weak).sum(),
        (strong < weak).sum(),
    )
    assert row.superiority == pytest.approx(((strong > weak).sum() + (strong == weak).sum() / 2) / USERS)
    assert row.low < row.difference < row.high
    assert row.mark == "▲"
    assert row.p_permutation == pytest.approx(2 / 501)


def test_each_system_is_evaluated_once(monkeypatch):
    # The package shows the function of that name; the module is behind it.
    module = sys.modules["bridgeval.systems"]
    calls = []
    original = module.evaluate_one
    monkeypatch.setattr(module, "evaluate_one", lambda *a, **k: calls.append(1) or original(*a, **k))
    compare({"weak": WEAK, "strong": STRONG, "middle": MIDDLE}, TRUTH, ["MRR@5,10", "nDCG@10"], **QUICK)
    assert len(calls) == 3


def test_reports_files_and_lists_give_the_same_comparison(tmp_path):
    weak, strong = (evaluate(recs, TRUTH, ["MRR@10", "nDCG@5"], per_user=True) for recs in (WEAK, STRONG))
    path = tmp_path / "values.parquet"
    write_user_values({"weak": weak.collected, "strong": strong.collected}, path)
    of_lists = compare({"weak": WEAK, "strong": STRONG}, TRUTH, ["MRR@10", "nDCG@5"], **QUICK)
    of_reports = compare({"weak": weak, "strong": strong}, **QUICK)
    of_files = compare({"weak": path, "strong": str(path)}, **QUICK)
    assert of_lists.differences == of_reports.differences == of_files.differences
    assert of_lists.means == of_reports.means == of_files.means


def test_the_same_seed_gives_the_same_digits():
    first, again, other = (
        compare({"weak": WEAK, "middle": MIDDLE}, TRUTH, "MRR@10", seed=seed, **QUICK) for seed in (1, 1, 2)
    )
    assert first.differences == again.differences
    assert first.differences != other.differences


def test_corrections_count_the_family_that_is_stated():
    systems = {"weak": WEAK, "middle": MIDDLE, "strong": STRONG}
    for family, size in (("all", 4), ("metric", 2), ("system", 2)):
        found = compare(systems, TRUTH, ["MRR@10", "nDCG@5"], family=family, **QUICK)
        assert {row.tests for row in found} == {size}
        assert all(row.p <= row.p_bh <= row.p_holm for row in found)
        assert f"family of {size} test(s)" in found.marks()


def test_all_pairs_are_compared_when_asked_for():
    systems = {"weak": WEAK, "middle": MIDDLE, "strong": STRONG}
    found = compare(systems, TRUTH, "MRR@10", pairs="all", baseline="middle", **QUICK)
    assert [(row.baseline, row.system) for row in found] == [
        ("middle", "weak"),
        ("middle", "strong"),
        ("weak", "strong"),
    ]
    assert found.difference("MRR@10", "weak").difference < 0
    assert list(found.friedman) == ["MRR@10"]
    assert found.friedman["MRR@10"].ranks.argmin() == 2


@pytest.mark.parametrize("test", ["mannwhitneyu", "kruskal", "welch", "ttest_ind"])
def test_an_unpaired_test_is_refused_with_the_reason(test):
    with pytest.raises(BadParameterError, match=r"unpaired.*same users.*ignore the pairs"):
        compare({"weak": WEAK, "strong": STRONG}, TRUTH, "MRR@10", test=test)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"test": "z"}, "no test 'z'"),
        ({"correction": "tukey"}, "no correction"),
        ({"family": "x"}, "no family"),
        ({"pairs": "some"}, "no pairs"),
        ({"alpha": 5}, "alpha must be between"),
        ({"resamples": 3}, "too few resamples"),
        ({"baseline": "none"}, "no system 'none'"),
    ],
)
def test_impossible_arguments_are_refused(arguments, says):
    with pytest.raises(BadParameterError, match=says):
        compare({"weak": WEAK, "strong": STRONG}, TRUTH, "MRR@10", **arguments)


def test_one_system_or_no_relevance_or_no_per_user_values_cannot_be_compared():
    with pytest.raises(InputError, match="two systems"):
        compare({"weak": WEAK}, TRUTH)
    with pytest.raises(InputError, match="without the relevance"):
        compare({"weak": WEAK, "strong": STRONG})
    with pytest.raises(InputError, match="no per-user values"):
        compare({"weak": evaluate(WEAK, TRUTH), "strong": evaluate(STRONG, TRUTH)})
    with pytest.raises(InputError, match="no metric in common"):
        compare(
            {
                "weak": evaluate(WEAK, TRUTH, "MRR@5", per_user=True),
                "strong": evaluate(STRONG, TRUTH, "MRR@10", per_user=True),
            }
        )


def test_systems_that_tie_on_every_user_are_reported_as_ties():
    found = compare({"one": WEAK, "same": WEAK}, TRUTH, "MRR@10", **QUICK)
    row = found.difference("MRR@10")
    assert (row.difference, row.low, row.high, row.ties) == (0, 0, 0, USERS)
    assert math.isnan(row.p_t)
    assert math.isnan(row.p_wilcoxon)
    assert row.p_permutation == 1
    assert not row.significant
    assert "no user differs" in str(found)


def test_a_constant_difference_leaves_t_undefined_and_the_permutation_test_decides():
    truth = {user: ["x"] for user in range(8)}
    found = compare(
        {"a": {u: ["y", "x"] for u in range(8)}, "b": {u: ["x", "y"] for u in range(8)}}, truth, "MRR@2",
        test="permutation",
    )  # fmt: skip
    row = found.difference("MRR@2")
    assert (row.difference, row.low, row.high) == (0.5, 0.5, 0.5)
    assert math.isnan(row.t)
    assert row.p == 2 / 2**8  # every sign pattern was tried: only all plus and all minus are as extreme
    assert row.significant
    assert "every user differs by the same +0.5" in str(found)


@pytest.mark.filterwarnings("ignore::bridgeval.errors.NoItemInCommonWarning")
def test_two_users_are_enough_to_compare_and_one_is_not():
    truth = {1: ["x"], 2: ["x"]}
    two = compare({"a": {1: ["y", "x"], 2: ["y"]}, "b": {1: ["x"], 2: ["x"]}}, truth, "MRR@2").difference("MRR@2")
    # Differences 0.5 and 1: mean 0.75, standard error 0.25, t = 3 with one degree of freedom.
    assert (two.users, two.t) == (2, pytest.approx(3))
    assert two.p_t == pytest.approx(2 * stats.t.sf(3, 1))
    assert two.p_permutation == 0.5
    one = compare({"a": {1: ["y"]}, "b": {1: ["x"]}}, {1: ["x"]}, "MRR@2")
    row = one.difference("MRR@2")
    assert row.difference == 1
    assert math.isnan(row.p)
    assert math.isnan(row.low)
    assert "too few for a test" in str(one)


def test_pairs_with_an_undefined_value_are_left_out_of_both_systems_with_a_note(tmp_path):
    def saved(values, name):
        path = tmp_path / f"{name}.parquet"
        pd.DataFrame({"metric": "MRR@5", "user": range(5), "value": values}).to_parquet(path)
        return path

    found = compare(
        {"a": saved([0.1, 0.2, np.nan, 0.4, 0.5], "a"), "b": saved([0.2, 0.4, 0.9, np.nan, 0.4], "b")}, **QUICK
    )
    row = found.difference("MRR@5")
    assert (row.users, row.difference) == (3, pytest.approx((0.1 + 0.2 - 0.1) / 3))
    assert found.notes == (
        "a has an undefined value for 1 user(s) (MRR@5); they are excluded from all systems.",
        "b has an undefined value for 1 user(s) (MRR@5); they are excluded from all systems.",
    )


def test_users_that_a_system_was_not_evaluated_on_are_left_out_with_a_note():
    some = {user: TRUTH[user] for user in range(0, USERS, 2)}
    found = compare(
        {"all": evaluate(WEAK, TRUTH, "MRR@5", per_user=True), "half": evaluate(STRONG, some, "MRR@5", per_user=True)},
        **QUICK,
    )
    assert found.difference("MRR@5").users == USERS // 2
    assert "half has no entry for 60 user(s) of the others" in found.notes[0]


def test_users_that_a_system_shows_nothing_score_zero_with_a_note():
    found = compare({"all": WEAK, "few": {user: STRONG[user] for user in range(10)}}, TRUTH, "MRR@5", **QUICK)
    assert found.difference("MRR@5").users == USERS
    assert "few showed nothing to 110 user(s)" in found.notes[0]


def test_lower_is_better_turns_wins_and_marks():
    truth = {u: {"x": 4.0, "y": 2.0} for u in range(30)}
    good = {u: {"x": 4.1 + 0.001 * u, "y": 2.0} for u in range(30)}
    bad = {u: {"x": 1.0 + 0.01 * u, "y": 5.0} for u in range(30)}
    row = compare({"bad": bad, "good": good}, truth, 'MAE(average="users")', **QUICK).differences[0]
    assert row.difference < 0
    assert (row.wins, row.losses, row.superiority, row.mark) == (30, 0, 1.0, "▲")


def test_a_metric_that_one_system_lacks_is_left_out_with_a_note():
    weak = evaluate(WEAK, TRUTH, ["MRR@5", "nDCG@5"], per_user=True)
    found = compare({"weak": weak, "strong": evaluate(STRONG, TRUTH, "MRR@5", per_user=True)}, **QUICK)
    assert [row.metric for row in found] == ["MRR@5"]
    assert found.notes == ("nDCG@5: not in every system, excluded.",)


def test_every_export_has_the_same_numbers(tmp_path):
    found = compare({"weak": WEAK, "strong": STRONG}, TRUTH, ["MRR@10", "nDCG@5"], **QUICK)
    document = json.loads(found.to_json(tmp_path / "c.json"))
    frame = pd.read_csv(tmp_path / "c.csv") if found.to_csv(tmp_path / "c.csv") else None
    assert document["results"][0]["difference"] == found.differences[0].difference
    assert frame["difference"].tolist() == [row.difference for row in found]
    for ending in (".md", ".tex", ".parquet", ".html"):
        found.save(tmp_path / f"c{ending}")
    assert "▲" in (tmp_path / "c.md").read_text(encoding="utf-8")
    assert r"$\uparrow$" in (tmp_path / "c.tex").read_text(encoding="utf-8")
    with pytest.raises(UnknownMetricError, match="0 differences fit 'MRR@3'"):
        found.difference("MRR@3")


def test_the_page_has_the_sections_and_escapes_names(tmp_path):
    systems = {"<script>": WEAK, "$strong$": STRONG, "middle": MIDDLE}
    labels = {user: "a<b" if user % 2 else "c" for user in range(USERS)}
    found = compare(systems, TRUTH, ["MRR@10", "nDCG@5"], by=labels, **QUICK)
    text = found.to_html()
    keys = re.findall('<section id="([^"]*)"', text)
    assert keys[-6:] == ["differences", "forest", "ranks", "slices", "definitions", "origin"]
    assert "significantly better" in text
    assert "<script>" not in text.replace("<script>(", "").split("<main>")[1].split("</main>")[0]
    assert text.count("<svg") > 4


def test_the_page_of_saved_values_alone_shows_the_comparison(tmp_path):
    path = tmp_path / "values.parquet"
    write_user_values(
        {n: evaluate(r, TRUTH, "MRR@10", per_user=True).collected for n, r in (("a", WEAK), ("b", STRONG))}, path
    )
    assert "Compared with a" in compare({"a": path, "b": path}, **QUICK).to_html()


def test_a_list_of_systems_is_numbered():
    frames = [pd.DataFrame([(u, i) for u, items in recs.items() for i in items], columns=["user_id", "item_id"])
              for recs in (WEAK, STRONG)]  # fmt: skip
    listed = compare(frames, TRUTH, "MRR@10", **QUICK)
    named = compare({"1": WEAK, "2": STRONG}, TRUTH, "MRR@10", **QUICK)
    assert listed.names == ("1", "2")
    assert listed.differences == named.differences


def test_one_frame_is_no_list_of_systems():
    with pytest.raises(InputError, match=r"mapping of name to recommendations, or a list.*DataFrame"):
        compare(pd.DataFrame({"user_id": [1], "item_id": [2]}), TRUTH)
