"""StudyReport: tables, comparison, CSV, pictures, Java values, scripts of a study."""

from __future__ import annotations

import io
import re
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bridgeval
from bridgeval.errors import BadParameterError, InputError, UnknownMetricError
from bridgeval.toolkits.librec import ListBasedMetric, Study
from bridgeval.toolkits.librec.study_report import StudyWarning
from tests.toolkits.librec.studies import GOLDENS

RANKING = GOLDENS / "real_ranking_kcv3" / "study"
RATING = GOLDENS / "real_rating_kcv2" / "study"


@pytest.fixture(scope="module")
def report():
    return Study(RANKING).evaluate()


def test_by_fold_has_the_varied_parameters_and_every_metric(report):
    table = report.by_fold()
    assert table.columns[:4].tolist() == ["experiment", "fold", "num-factors", "librec:NormalizedDCGEvaluator@10"]
    assert list(zip(table["experiment"], table["fold"], strict=True)) == [
        (f"exp0000{experiment}", fold) for experiment in (0, 1) for fold in (1, 2, 3)
    ]
    assert table["num-factors"].tolist() == ["2"] * 3 + ["12"] * 3


def test_by_experiment_has_mean_and_standard_deviation_over_folds(report):
    folds, table = report.by_fold(), report.by_experiment()
    name = "librec:ndcg_binary@10"
    first = folds[folds["experiment"] == "exp00000"][name].to_numpy()
    row = table[table["experiment"] == "exp00000"].iloc[0]
    assert row["num-factors"] == "2"
    assert row[name] == pytest.approx(first.mean())
    assert row[f"{name} std"] == pytest.approx(first.std(ddof=1))


def test_csv_has_the_form_and_the_numbers_of_librec_auto(report):
    for kind in ("full", "summary"):
        theirs = pd.read_csv(next((RANKING / "post").glob(f"study-results-{kind}_*.csv")))
        ours = pd.read_csv(io.StringIO(report.to_csv(kind)))
        ours.columns = [name.partition("@")[0].partition("(")[0] for name in ours.columns]
        assert ours.columns[: len(theirs.columns)].tolist() == theirs.columns.tolist()
        numbers = theirs.columns[1:]
        np.testing.assert_allclose(ours[numbers].to_numpy(float), theirs[numbers].to_numpy(float), rtol=1e-9)


def test_csv_can_be_written_and_has_two_kinds_only(report, tmp_path):
    text = report.to_csv("summary", tmp_path / "summary.csv")
    assert (tmp_path / "summary.csv").read_text(encoding="utf-8") == text
    with pytest.raises(BadParameterError, match="no CSV of kind 'all'"):
        report.to_csv("all")


def test_java_values_are_listed_next_to_ours_with_the_difference(report):
    table = report.java_values()
    assert len(table) == 2 * 3 * 16
    assert table["difference"].abs().max() < 1e-9
    assert not table["here"].isna().any()


def test_java_values_of_metrics_that_were_not_asked_for_have_no_counterpart():
    table = Study(RANKING).evaluate(["librec:rr@10", "librec:ndcg_rating@10"]).java_values()
    other = Study(RANKING).evaluate("librec:rr@5")
    assert other.java_values()["here"].isna().all(), "LibRec cut at 10"
    assert "LibRec computed" not in str(other)
    known = table[~table["here"].isna()]
    assert set(known["metric"]) == {"ReciprocalRankEvaluator", "NormalizedDCGEvaluator"}
    assert known["difference"].abs().max() < 1e-9


def test_experiments_are_compared_on_the_same_users(report):
    name = "librec:ndcg_binary@10"
    row = report.compare(name).difference(name)
    values = report.per_user(name).sort_values(["fold", "user"])
    first, second = (values[values["experiment"] == one]["value"].to_numpy() for one in ("exp00000", "exp00001"))
    assert (row.baseline, row.system, row.users) == ("exp00000", "exp00001", 108)
    assert row.difference == pytest.approx((second - first).mean())
    assert row.p_t == pytest.approx(stats.ttest_rel(second, first).pvalue)
    assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(second, first).pvalue)


def test_all_metrics_that_are_means_over_users_are_compared_by_default(report):
    compared = {row.metric for row in report.compare(resamples=200)}
    assert "librec:NormalizedDCGEvaluator@10" in compared
    assert "librec:EntropyEvaluator@10" not in compared


def test_metrics_that_are_no_mean_over_users_cannot_be_compared(report):
    with pytest.raises(UnknownMetricError, match="is not the mean of users' values"):
        report.compare("librec:EntropyEvaluator@10")
    by_user = 'librec:rmse(average="users")'
    ratings = Study(RATING).evaluate(["librec:rmse", by_user])
    with pytest.raises(UnknownMetricError, match=r"the report has librec:rmse\(average"):
        ratings.compare("librec:rmse")
    assert ratings.compare(by_user, resamples=200).difference(by_user).users > 30


def test_pictures_are_a_bar_and_a_box_for_each_metric(tmp_path):
    report = Study(RANKING).evaluate(["librec:precision@5", 'librec:psp(protected="new")@5'])
    files = report.pictures(tmp_path / "new" / "folder")
    assert [file.name for file in files] == [
        "bar-librec-precision-5.png",
        "box-librec-precision-5.png",
        "bar-librec-psp-protected-new-5.png",
        "box-librec-psp-protected-new-5.png",
    ]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_one_fold_has_no_box_and_no_deviation(tmp_path):
    report = Study(GOLDENS / "feature_file_edges" / "study").evaluate("librec:precision@5")
    assert [file.name for file in report.pictures(tmp_path)] == ["bar-librec-precision-5.png"]
    assert np.isnan(report.by_experiment()["librec:precision@5 std"]).all()
    assert report.to_csv("full").splitlines()[0] == "Experiment,Split,precision@5"


def test_names_without_a_prefix_are_librecs_first(report):
    own = Study(RANKING).evaluate("ndcg@10")
    assert own.metrics == ["librec:ndcg@10"]
    assert own["exp00000"][1]["librec:ndcg@10"] == report["exp00000"][1]["librec:NormalizedDCGEvaluator@10"]
    with pytest.raises(InputError, match="the report has no experiment 'exp7'"):
        own["exp7"]


def test_the_printed_report_is_a_table_of_experiments(report):
    text = str(report)
    assert "exp00001" in text
    assert "num-factors" in text
    assert re.search(r"96 values that LibRec computed differ by at most \d(\.\d+)?e-1\d", text)


def test_scripts_of_a_study_are_left_out_unless_they_are_trusted():
    with pytest.warns(StudyWarning, match=r"row_rmse.py was left out: it is code of the study"):
        report = Study(RATING).evaluate()
    assert "row_rmse.py" not in report.metrics
    assert "row_rmse.py" in report.left_out
    assert "row_rmse.py was left out" in str(report)


def test_trusted_scripts_run_in_this_process_and_leave_no_trace():
    report = Study(RATING).evaluate(trust_scripts=True)
    table = report.by_fold()
    assert table["row_rmse.py"].tolist() == pytest.approx(table["librec:RMSEEvaluator"].tolist(), rel=1e-12)
    assert "librec_auto" not in sys.modules


def test_a_custom_class_is_a_metric_of_a_study():
    class Length(ListBasedMetric):
        def evaluate_user(self, test_user_data, result_user_data):
            return len(result_user_data)

    report = Study(RANKING).evaluate([Length, "librec:precision@10"])
    assert report.by_fold()["Length"].tolist() == [10.0] * 6
    assert set(report.per_user("Length")["value"]) == {10.0}


def test_reranked_studies_warn_that_java_values_describe_other_lists():
    with pytest.warns(StudyWarning, match="lists were re-ranked"):
        report = Study(GOLDENS / "real_rerank_far" / "study").evaluate()
    assert report.reranked
    assert report.metrics[-1] == "librec:average_overlap@10"


def test_a_java_metric_that_is_not_known_is_left_out(tmp_path):
    folder = shutil.copytree(RANKING, tmp_path / "study")
    for config in folder.rglob("config.xml"):
        config.write_text(config.read_text().replace("ndcg,precision", "ndcg,diversity,precision"))
    with pytest.warns(StudyWarning, match="diversity was left out"):
        report = Study(folder).evaluate()
    assert report.metrics[0] == "librec:NormalizedDCGEvaluator@10"


def test_a_metric_whose_files_are_missing_is_left_out(tmp_path):
    folder = shutil.copytree(RANKING, tmp_path / "study")
    (folder / "data" / "item-features.csv").unlink()
    with pytest.warns(StudyWarning, match=r"PPercentRuleEvaluator.* was left out: needs item features"):
        report = Study(folder).evaluate()
    assert "librec:NormalizedDCGEvaluator@10" in report.metrics


@pytest.mark.parametrize(
    ("ranking", "metrics"),
    [
        ("true", ["librec:ndcg_binary@7", "librec:precision@7", "librec:recall@7"]),
        ("false", ["librec:rmse", "librec:mae"]),
    ],
)
def test_a_study_that_names_no_metric_gets_the_usual_ones(tmp_path, ranking, metrics):
    folder = shutil.copytree(RANKING, tmp_path / "study")
    text = f"<x><metric><ranking>{ranking}</ranking><list-size>7</list-size></metric></x>"
    for config in folder.rglob("config.xml"):
        config.write_text(text)
    assert Study(folder).evaluate().metrics == metrics


@pytest.mark.parametrize(
    ("study", "name", "named"),
    [
        (RANKING, "librec:psp@5", 'librec:psp(protected="new")@5'),
        (RATING, "librec:valunfairness@10", 'librec:valunfairness(protected="F")@10'),
    ],
)
def test_evaluate_of_a_study_or_a_fold_protects_the_feature_of_its_configuration(study, name, named):
    folder = bridgeval.evaluate(study, metrics=[name, named])
    assert folder.metrics == [name, named]
    assert folder.by_fold()[name].tolist() == folder.by_fold()[named].tolist()
    fold = Study(study)["exp00000"][1]
    assert fold.evaluate(name)[name] == folder["exp00000"][1][named]


def test_features_that_are_given_take_the_place_of_the_protected_one():
    fold = Study(RANKING)["exp00000"][1]
    with pytest.raises(BadParameterError, match="must be named; found: features x, y"):
        fold.evaluate("librec:psp@5", item_features={"1": ["x"], "2": ["y"]})


def test_metrics_of_a_study_protect_the_feature_of_its_configuration(tmp_path):
    for study, name, named in (
        (RANKING, "librec:psp@5", 'librec:psp(protected="new")@5'),
        (RATING, "librec:valunfairness@10", 'librec:valunfairness(protected="F")@10'),
    ):
        table = Study(study).evaluate([name, named]).by_fold()
        assert table[name].tolist() == table[named].tolist()
    folder = shutil.copytree(RANKING, tmp_path / "study")
    config = folder / "conf" / "config.xml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('<protected-feature ref="fea:new"/>', ""), encoding="utf-8")
    with pytest.warns(StudyWarning, match="does not say which feature is protected"):
        report = Study(folder).evaluate()
    assert set(report.left_out) == {
        "librec:PStatisticalParityEvaluator@10",
        "librec:PPercentRuleEvaluator@10",
        "librec:DiscountedProportionalPFairnessEvaluator@10",
    }
