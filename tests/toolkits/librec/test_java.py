"""Values that LibRec computed itself."""

from __future__ import annotations

import math

import pytest

from bridgeval.errors import BadValueError
from bridgeval.toolkits.librec.java import read_java_values, read_log, read_output
from tests.toolkits.librec.studies import GOLDENS, write

LOG = [
    "26/11/16 01:56:48 INFO TextDataConvertor: Dataset: [data/split/cv_10/train.txt]",
    "26/11/16 01:56:48 INFO TextDataConvertor: Dataset: [data/split/cv_10/test.txt]",
    "26/11/16 01:56:48 INFO RecommenderJob: Evaluator info:PrecisionEvaluator is 4.0E-4",
    "26/11/16 01:56:48 INFO RecommenderJob: Evaluator info:NoveltyEvaluator is -1.5E-7",
    "26/11/16 01:56:48 INFO RecommenderJob: Evaluator info:MiscalibrationEvaluator is NaN",
    "26/11/16 01:56:48 INFO TextDataConvertor: Dataset: [data\\split\\cv_2\\test.txt]",
    "26/11/16 01:56:48 INFO RecommenderJob: Evaluator info:PrecisionEvaluator is Infinity",
]


def test_logs_give_exponents_nan_and_folds_by_all_digits(tmp_path):
    values = read_log(write(tmp_path / "librec-1.log", *LOG))
    assert values[10]["PrecisionEvaluator"] == 4.0e-4
    assert values[10]["NoveltyEvaluator"] == -1.5e-7
    assert math.isnan(values[10]["MiscalibrationEvaluator"])
    assert values[2] == {"PrecisionEvaluator": math.inf}


def test_the_newest_log_wins_and_output_stands_in_for_none(tmp_path):
    write(tmp_path / "log" / "librec-20260101_000000.log", *LOG)
    write(tmp_path / "log" / "librec-20270101_000000.log", LOG[1], LOG[2].replace("4.0E-4", "0.5"))
    assert read_java_values(tmp_path) == {10: {"PrecisionEvaluator": 0.5}}
    bare = tmp_path / "bare"
    fold = '<cv id="3"><metric name="RMSEEvaluator">1.5</metric><metric name="x.py">2</metric></cv>'
    write(bare / "output.xml", f"<experiment><results><folds>{fold}</folds></results></experiment>")
    assert read_java_values(bare) == {3: {"RMSEEvaluator": 1.5}}
    assert read_java_values(tmp_path / "nothing") == {}


def test_values_of_python_metrics_are_not_read_from_the_output():
    values = read_output(GOLDENS / "real_rating_kcv2" / "study" / "exp00001" / "output.xml")
    assert set(values) == {1, 2}
    assert not any(name.endswith(".py") for name in values[1])


def test_text_in_place_of_a_number_is_named_with_file_and_line(tmp_path):
    log = write(tmp_path / "librec-1.log", *LOG[:2], LOG[2].replace("4.0E-4", "oops"))
    with pytest.raises(BadValueError, match=r"librec-1.log, line 3: not a number; found: 'oops'"):
        read_log(log)
