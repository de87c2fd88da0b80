"""A Report is an ordinary Mapping of metric name to number."""

from __future__ import annotations

import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import UnknownMetricError
from bridgeval.report.table_view import format_number

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


def test_counts_are_whole_numbers_in_notes_and_tables():
    # 400 users with 50 pairs each: 20,000 pairs, all predicted exactly.
    lists = {user: {item: float(item) for item in range(50)} for user in range(400)}
    assert "MAE: pairs 20,000, pairs without a prediction 0" in str(bridgeval.evaluate(lists, lists, "MAE"))
    assert format_number(153_300.0) == "153,300"


def test_intervals_stay_within_the_bounds_of_their_metric():
    # Recall 1 and 0: mean 1/2, deviation sqrt(1/2), half width 1.96 * sqrt(1/2) / sqrt(2) = 0.98.
    lists, truth = {1: ["a"], 2: ["a"]}, {1: ["a"], 2: ["b"]}
    report = bridgeval.evaluate(lists, truth, ["Recall@1", 'HitRate(count="hits")@3', "rectools:NDCG@1"])
    found = {row.metric: (round(row.low, 4), round(row.high, 4)) for row in report.rows()}
    assert found == {"Recall@1": (0, 1), 'HitRate(count="hits")@3': (0, 1.48), "rectools:NDCG@1": (0, 1)}


def test_the_half_width_of_a_clipped_interval_is_its_longer_side():
    # MRR 1/2 and 1: mean 3/4, deviation 1/sqrt(8), half width 1.96 / sqrt(8) / sqrt(2) = 0.49; clipped at 1.
    lists, truth = {1: ["a", "b"], 2: ["b", "a"]}, {1: ["b"], 2: ["b"]}
    report = bridgeval.evaluate(lists, truth, "MRR@2")
    (row,) = report.rows()
    assert (round(row.low, 4), row.high) == (0.26, 1)
    assert "0.7500 ± 0.4900" in bridgeval.Reports({"one": report, "two": report}).to_markdown()
