"""A Report is an ordinary Mapping of metric name to number."""

from __future__ import annotations

import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import UnknownMetricError

REPORT = bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, ["Recall@1,2", "replay:MRR@2"])
# ann finds the second; bob and dan count and find nothing, cy was shown something but has no relevance.
SHOWN = {"ann": {"tea": 0.9, "rum": 0.8}, "bob": {"gin": 1.5}, "cy": {"tea": 0.1}}
RELEVANT = {"ann": {"rum": 1.0}, "bob": {"tea": 2.0}, "dan": {"tea": 1.0}}
FOUR_USERS = bridgeval.evaluate(SHOWN, RELEVANT, "nDCG@2")
NUMBERS = {"Recall@1": 0.0, "Recall@2": 1.0, "replay:MRR@2": 0.5}


def test_it_converts_as_every_mapping_does():
    assert dict(REPORT) == dict(REPORT.items()) == {**REPORT} == NUMBERS
    assert list(REPORT) == list(REPORT.keys()) == list(NUMBERS)
    assert list(REPORT.values()) == list(NUMBERS.values())
    assert len(REPORT) == 3


def test_a_series_can_be_made_of_it():
    assert pd.Series(REPORT).to_dict() == NUMBERS


def test_names_are_found_in_any_case_and_without_the_prefix():
    assert REPORT["recall@2"] == REPORT["Recall@2"]
    assert REPORT["mrr@2"] == 0.5
    assert "Recall@1" in REPORT


def test_an_unknown_name_is_a_key_error_that_lists_the_names():
    assert REPORT.get("nDCG@3") is None
    with pytest.raises(UnknownMetricError, match="Recall@1"):
        _ = REPORT["nDCG@3"]


def test_the_report_prints_as_a_table_with_who_counted():
    text = str(FOUR_USERS)
    assert "nDCG@2" in text
    assert "3 of 4 users counted; left out: 1 no relevance given" in text
    assert "1 users that count were shown nothing" in text


def test_the_notebook_form_escapes_names():
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Hostile(bridgeval.ListMetric):
        name = "<script>"

        def value(self, slate):
            return 1.0

    html = bridgeval.evaluate(SHOWN, RELEVANT, Hostile())._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_long_form_carries_cutoffs_and_intervals():
    table = FOUR_USERS.to_pandas()
    row = table[table["metric"] == "nDCG@2"].iloc[0]
    assert row["k"] == 2
    assert row["low"] < row["value"] < row["high"]
    assert row["users"] == 3
