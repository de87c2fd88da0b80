"""Corrections are right where WarpRec's are wrong; its statistics, raw p and verdicts are compared by the runner."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bridgeval import compare
from bridgeval.errors import BadParameterError
from bridgeval.stats.tests import benjamini_hochberg, holm
from tests.golden import warprec_stats
from tests.golden.compare import DATA, number

PATH = DATA / "warprec" / "j_stat_tests.json"
DOCUMENT = json.loads(PATH.read_text(encoding="utf-8"))


def row_by_row(p, alpha, rule):
    """WarpRec's verdicts: each row against the limit of its own rank, whatever became of the others."""
    rank, count = np.arange(1, len(p) + 1), len(p)
    return p < {"Holm": alpha / (count - rank + 1), "FDR": alpha * rank / count}[rule]


@pytest.mark.parametrize("test", list(DOCUMENT["expected_tables"]))
def test_the_rule_without_steps_gives_all_verdicts_that_warprec_recorded(test):
    table = DOCUMENT["expected_tables"][test]["all"]
    p = np.array([number(row[5]) for row in table["rows"]])
    for at, rule in ((8, "Holm"), (9, "FDR")):
        said = [row[at] == "Accepted" for row in table["rows"]]
        assert row_by_row(p, DOCUMENT["alpha"], rule).tolist() == said


def test_row_by_row_verdicts_are_not_holm_and_not_benjamini_hochberg():
    # p = (.020, .021, .022) at alpha = .05:
    #   Holm: .020 < .05/3 = .0167 no; .021 < .05/2 = .025 yes; .022 < .05/1 yes. Holm stops at the first no: all kept.
    #   FDR:  .020 < .05*1/3 no; .021 < .05*2/3 = .0333 yes; .022 < .05 yes. Benjamini-Hochberg steps up: all rejected.
    p = np.array([0.020, 0.021, 0.022])
    assert row_by_row(p, 0.05, "Holm").tolist() == [False, True, True]
    assert row_by_row(p, 0.05, "FDR").tolist() == [False, True, True]
    assert (holm(p) < 0.05).tolist() == [False, False, False]
    assert (benjamini_hochberg(p) < 0.05).tolist() == [True, True, True]


def test_what_is_outside_are_the_tables_of_tests_that_are_refused():
    outside = [one for one in warprec_stats.comparisons(PATH, DOCUMENT) if one.outside]
    assert {one.outside for one in outside} == {warprec_stats.REFUSED}
    # Two tests, five tables each of 24 rows: statistic, p, raw verdict; then none, one, one, one and three corrected.
    assert len(outside) == 2 * 24 * (5 * 3 + 6)
    for name in warprec_stats.UNPAIRED:
        with pytest.raises(BadParameterError, match="unpaired"):
            compare({"a": {1: ["x"]}, "b": {1: ["x"]}}, {1: ["x"]}, test=name)
