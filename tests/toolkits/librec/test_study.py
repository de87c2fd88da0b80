"""Study folders: what is found in them, what is missing, and single files."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace

import pytest

import bridgeval
from bridgeval.errors import InputError, LoaderError, MisalignedError, NeedError, NoLoaderError, UnknownMetricError
from bridgeval.toolkits.librec import Fold, Study
from tests.toolkits.librec.studies import GOLDENS, write


def copied(case: str, folder):
    return shutil.copytree(GOLDENS / case / "study", folder / "study")


def expected(case: str) -> dict:
    return json.loads((GOLDENS / case / "expected.json").read_text(encoding="utf-8"))["experiments"]


def test_a_study_is_experiments_of_folds():
    study = Study(GOLDENS / "real_ranking_kcv3" / "study")
    assert list(study) == ["exp00000", "exp00001"]
    assert list(study["exp00001"]) == [1, 2, 3]
    assert study["exp00001"].parameters == {"num-factors": "12"}
    assert study["exp00001"][2].result.name == "out-2.txt"
    assert "2 experiment(s), 3 fold(s)" in repr(study)


def test_folds_go_by_all_digits_of_the_folder_and_other_folders_are_none(tmp_path):
    folder = copied("ten_folds", tmp_path)
    (folder / "data" / "split" / "cv_1_backup").mkdir()
    experiment = Study(folder)["exp00000"]
    assert list(experiment) == list(range(1, 12))
    assert experiment[11].result.name == "out-11.txt"


def test_a_fold_without_its_result_is_an_error_that_names_the_file(tmp_path):
    folder = copied("ten_folds", tmp_path)
    (folder / "exp00000" / "result" / "out-10.txt").unlink()
    with pytest.raises(InputError, match=r"out-10.txt is missing; found: the split has a folder cv_10"):
        Study(folder)


def test_a_folder_that_is_no_study_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a study folder"):
        Study(tmp_path)
    write(tmp_path / "conf" / "config.xml", "<librec-auto/>")
    with pytest.raises(InputError, match="has no experiments"):
        Study(tmp_path)
    (tmp_path / "exp00000").mkdir()
    with pytest.raises(InputError, match="has no folds"):
        Study(tmp_path)


def test_unknown_experiments_and_folds_are_errors_that_list_the_known():
    study = Study(GOLDENS / "two_experiments" / "study")
    with pytest.raises(InputError, match="experiments exp00000, exp00001"):
        study["exp00009"]
    with pytest.raises(InputError, match=r"folds \[1, 2\]"):
        study["exp00000"][3]


def test_varied_parameters_come_from_the_output_where_the_configuration_has_none(tmp_path):
    folder = copied("real_ranking_kcv3", tmp_path)
    shutil.rmtree(folder / "exp00001" / "conf")
    assert Study(folder)["exp00001"].parameters == {"num-factors": "12"}


def test_one_fold_gives_a_report_and_evaluate_gives_the_same():
    fold = Study(GOLDENS / "two_experiments" / "study")["exp00000"][1]
    value = expected("two_experiments")["exp00000"]["1"]["recommended"]["ndcg_binary@10"]["value"]
    assert fold.evaluate("librec:ndcg_binary@10")["ndcg_binary@10"] == pytest.approx(value, rel=1e-9)
    report = bridgeval.evaluate(fold, metrics="librec:ndcg_binary@10")
    assert report["ndcg_binary@10"] == pytest.approx(value, rel=1e-9)
    assert report.loader == "librec"


@pytest.mark.parametrize("case", ["feature_file_edges", "two_experiments"])
def test_evaluate_of_a_study_folder_gives_every_experiment_and_fold(case):
    folder = GOLDENS / case / "study"
    for given in (str(folder), folder, Study(folder)):
        report = bridgeval.evaluate(given, metrics="librec:precision@5")
        table = report.by_fold()
        wanted = [
            (name, int(fold), values["recommended"]["precision@5"]["value"])
            for name, folds in expected(case).items()
            for fold, values in folds.items()
        ]
        assert list(zip(table["experiment"], table["fold"], strict=True)) == [row[:2] for row in wanted]
        assert table["librec:precision@5"].tolist() == pytest.approx([row[2] for row in wanted], rel=1e-9)


def test_evaluate_of_a_study_compares_its_experiments_where_users_values_were_kept():
    folder = GOLDENS / "two_experiments" / "study"
    kept = bridgeval.evaluate(folder, metrics="librec:precision@5", per_user=True)
    assert kept.compare().difference("librec:precision@5").system == "exp00001"
    with pytest.raises(UnknownMetricError, match="evaluate with per_user=True"):
        bridgeval.evaluate(folder, metrics="librec:precision@5").compare()


def test_where_one_evaluation_is_needed_a_study_is_an_error():
    study, metrics = Study(GOLDENS / "two_experiments" / "study"), ["librec:ndcg_binary@5", "librec:ndcg@5"]
    with pytest.raises(InputError, match="only one can be used here; found: Study"):
        bridgeval.explain(study, None, *metrics)


def test_needs_of_all_folds_are_checked_before_any_is_read(tmp_path):
    folder = copied("two_experiments", tmp_path)
    (folder / "exp00000" / "result" / "out-1.txt").write_text("not rows at all\n")
    with pytest.raises(NeedError, match="baseline"):
        bridgeval.evaluate(folder, metrics="librec:average_overlap@5")


def test_shown_items_that_the_test_file_does_not_have_are_in_the_report():
    files = GOLDENS / "malformed_open" / "files"
    good = Fold(files / "good_result.txt", files / "good_test.txt").evaluate("librec:ndcg_binary@2")
    # Of the items 10 to 14 only 14 is not in the test file; and "10.0" is not "10".
    assert good.population.unknown_shown == 1
    report = Fold(files / "float_item.txt", files / "good_test.txt").evaluate("librec:ndcg_binary@2")
    assert "2 shown items are not in the catalogue" in str(report)


def test_two_files_are_read_when_the_loader_is_named():
    files = GOLDENS / "malformed_open" / "files"
    result, test = files / "good_result.txt", files / "good_test.txt"
    report = bridgeval.evaluate(result, test, "librec:ndcg_binary@2", loader="librec")
    assert report["librec:ndcg_binary@2"] == pytest.approx(0.5377157309218195, rel=1e-9)
    assert dict(bridgeval.evaluate(Fold(result=result, test=test), metrics="librec:ndcg_binary@2")) == dict(report)
    with pytest.raises(LoaderError, match="librec reads paths"):
        bridgeval.evaluate(result, {"1": ["10"]}, "librec:ndcg_binary@2", loader="librec")


def test_history_and_baseline_of_two_files_may_be_paths(tmp_path):
    result = write(tmp_path / "out-1.txt", "1,a,0.5", "1,b,0.4")
    test, train = write(tmp_path / "test.txt", "1\tb\t4.0"), write(tmp_path / "train.txt", "1\tc\t4.0", "2\ta\t1.0")
    original = write(tmp_path / "original.txt", "1,b,0.9", "1,a,0.8")
    report = bridgeval.evaluate(
        result,
        test,
        ["librec:GiniIndexEvaluator@2", "librec:average_overlap@2"],
        loader="librec",
        history=train,
        baseline=original,
    )
    # Three items in training and test; shown once, once and never: shares 0, 1/2, 1/2.
    gini = (-2 * 0 + 0 * 0.5 + 2 * 0.5) / 2
    assert list(report.values()) == pytest.approx([gini, 0.5])


def test_a_folder_that_is_no_study_is_not_recognized(tmp_path):
    with pytest.raises(NoLoaderError):
        bridgeval.evaluate(tmp_path, metrics="librec:precision@5")


def test_only_what_metrics_need_is_read(tmp_path):
    folder = copied("real_ranking_kcv3", tmp_path)
    for name in ("data/split/cv_1/train.txt", "data/item-features.csv", "data/ratings.csv"):
        (folder / name).write_text("not rows at all\n")
    fold = Study(folder)["exp00000"][1]
    assert fold.evaluate("librec:precision@10")["precision@10"] == pytest.approx(0.08888888888888893)
    with pytest.raises(InputError, match=r"train.txt, line 1"):
        fold.evaluate("librec:novelty@10")


def test_what_a_user_had_in_train_can_be_masked(tmp_path):
    for name, text in {"out": "1,7,0.9\n1,8,0.5\n", "test": "1\t8\t1\n", "train": "1\t7\t1\n"}.items():
        (tmp_path / name).write_text(text)
    fold = Fold(tmp_path / "out", tmp_path / "test", train=tmp_path / "train")
    # 7 is at place 1 and was in train; without it 8, the relevant item, is there.
    assert [fold.evaluate("MRR@1", mask_seen=masked)["MRR@1"] for masked in (False, True)] == [0, 1]


def test_context_given_by_the_caller_is_used_in_addition_to_the_files():
    fold = Fold(*(GOLDENS / "malformed_open" / "files" / f"good_{kind}.txt" for kind in ("result", "test")))
    report = fold.evaluate("librec:psp@2", item_features={"10": ["new"], "13": ["new"]})
    # First places 10, 13 and 11, second ones 12, 14 and 12: one protected item for two users.
    assert report["librec:psp@2"] == pytest.approx((0 + 0 - 1) / 3)


def test_strict_refuses_predictions_that_do_not_fit_the_test_pairs(tmp_path):
    study = Study(GOLDENS / "rating_misaligned" / "study", strict=True)
    rating = {(name, number): replace(study[name][number], ranking=False) for name in study for number in study[name]}
    for key in [("exp00000", 1), ("exp00001", 1)]:
        assert rating[key].evaluate("librec:rmse")["rmse"] > 0
    with pytest.raises(MisalignedError, match=r"0 prediction\(s\) for other pairs and 4 pair\(s\) without one"):
        rating["exp00000", 2].evaluate("librec:rmse")
    with pytest.raises(MisalignedError, match=r"2 prediction\(s\) for other pairs and 0 pair\(s\)"):
        rating["exp00001", 2].evaluate("librec:rmse")


def test_scores_out_of_order_warn_and_can_be_sorted():
    folder = GOLDENS / "unsorted_results" / "study"
    values = expected("unsorted_results")["exp00000"]["1"]
    with pytest.warns(UserWarning, match="12 user"):
        given = Study(folder)["exp00000"][1].evaluate("librec:rr@5")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_score = Study(folder, order="score")["exp00000"][1].evaluate("librec:rr@5")
    assert given["rr@5"] == pytest.approx(values["recommended"]["rr@5"]["value"])
    assert by_score["rr@5"] == pytest.approx(values["recommended_order_by_score"]["rr@5"]["value"])
