"""A Report is an ordinary Mapping of metric name to number."""

from __future__ import annotations

import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import UnknownMetricError

REPORT = bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, ["Recall@1,2", "replay:MRR@2"])
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
