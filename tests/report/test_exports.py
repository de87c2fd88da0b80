"""Every way out carries the same numbers, under names that say their definition."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pa_parquet
import pytest

import bridgeval
from bridgeval.errors import BadParameterError
from tests.report.conftest import HOSTILE

# MRR@2: first has rum second, tea second, nothing: (1/2 + 1/2 + 0) / 3; the other 1, 1 and no list: 2/3.
FIRST_MRR, OTHER_MRR = 1 / 3, 2 / 3


def test_the_long_form_comes_first(reports: bridgeval.Reports) -> None:
    frame = reports.to_pandas()
    assert list(frame.columns) == ["system", "metric", "k", "slice", "value", "low", "high", "users"]
    mrr = frame[frame.metric == "MRR@2"].set_index("system")
    assert mrr.value.to_dict() == {"first": pytest.approx(FIRST_MRR), HOSTILE: pytest.approx(OTHER_MRR)}
    assert mrr.users.to_list() == [3, 3]
    assert set(frame.slice) == {"all"}
    assert "rectools:NDCG@2" in set(frame.metric)


def test_csv_and_parquet_keep_every_digit(reports: bridgeval.Reports, tmp_path: Path) -> None:
    reports.save(tmp_path / "x.csv")
    reports.save(tmp_path / "x.parquet")
    expected = reports.to_pandas()
    for found in (pd.read_csv(tmp_path / "x.csv"), pd.read_parquet(tmp_path / "x.parquet")):
        assert found.value.to_list() == expected.value.to_list()
        assert found.system.to_list() == expected.system.to_list()
    about = json.loads(pa_parquet.read_schema(tmp_path / "x.parquet").metadata[b"bridgeval"])
    assert about["definitions"]["rectools:NDCG@2"]["native"].startswith("nDCG(")


def test_json_has_numbers_definitions_population_and_versions(reports: bridgeval.Reports) -> None:
    document = json.loads(reports.to_json())
    assert document["results"][0].keys() == {"system", "metric", "k", "slice", "value", "low", "high", "users"}
    definition = document["definitions"]["rectools:NDCG@2"]
    rules = 'ties="given", gaps="keep", above=None, truth_duplicates="each", gain="binary", ideal="k"'
    assert definition["native"] == f"nDCG({rules})@2"
    assert 'ideal = "k": a list of k items with gain 1 whatever P is' in definition["rules"]
    assert document["population"]["first"]["counted"] == 3
    assert document["manifest"]["versions"]["bridgeval"] == bridgeval.__version__


def test_json_has_no_nan() -> None:
    report = bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "MRR@1")
    document = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert document["results"][0]["low"] is None


def test_markdown_marks_the_best_and_keeps_bars_out_of_cells() -> None:
    one, two = (bridgeval.evaluate({1: lists}, {1: ["b"]}, "MRR@2") for lists in (["a", "b"], ["b", "a"]))
    text = bridgeval.Reports({"a|b": one, "c": two}).to_markdown()
    assert text.splitlines()[0] == r"| metric | a\|b | c |"
    assert text.splitlines()[2] == "| MRR@2 | 0.5000 | **1.0000** |"


def test_latex_escapes_what_means_something_to_it() -> None:
    report = bridgeval.evaluate({1: ["a"]}, {1: ["a"]}, "MRR@1")
    text = bridgeval.Reports({"50%_a&b": report, "^~\\{}$#": report}).to_latex()
    assert r"metric & 50\%\_a\&b & \textasciicircum{}\textasciitilde{}\textbackslash{}\{\}\$\# \\" in text
    assert text.count(r"\\") == 2


def test_lower_is_better_is_respected(reports: bridgeval.Reports) -> None:
    # Letters: 2 of 2 places for all three users, against two users of three: 1 and 2/3; lower is better.
    line = next(row for row in reports.wide().rows if row[0].text == "Letters@2")
    assert [cell.best for cell in line[1:]] == [False, True]


def test_one_report_prints_as_before() -> None:
    report = bridgeval.evaluate({1: ["a"], 2: ["a"]}, {1: ["a"], 2: ["a"]}, "MRR@1")
    assert str(report).splitlines()[2].split() == ["MRR@1", "1.0000", "1.0000", "..", "1.0000", "2"]
    assert "<code>MRR@1</code>" in report._repr_html_()


def test_notebooks_see_names_escaped(reports: bridgeval.Reports) -> None:
    assert "<img" not in reports._repr_html_()
    assert "&lt;img" in reports._repr_html_()


def test_an_ending_that_nobody_writes_is_refused(reports: bridgeval.Reports) -> None:
    with pytest.raises(BadParameterError, match=r"\.json, \.csv"):
        reports.save("x.docx")


def test_saved_reports_carry_hashes_of_frames_and_files(tmp_path: Path) -> None:
    recs, truth = pd.DataFrame({"user_id": [1], "item_id": ["a"]}), {1: ["a"]}
    (tmp_path / "train.csv").write_text("user_id,item_id\n1,b\n")
    report = bridgeval.evaluate(recs, truth, "MRR@1")
    report.save(tmp_path / "r.json", recommendations=recs, relevance=truth, history=tmp_path / "train.csv")
    first = json.loads((tmp_path / "r.json").read_text())["manifest"]["inputs"]
    report.save(tmp_path / "r.json", recommendations=recs.assign(item_id="b"), relevance=truth)
    second = json.loads((tmp_path / "r.json").read_text())["manifest"]["inputs"]
    assert first["relevance"] == second["relevance"]
    assert first["recommendations"]["sha256"] != second["recommendations"]["sha256"]
    assert first["recommendations"]["rows"] == 1
    # sha256sum of the file's 20 bytes
    assert first["history"]["bytes"] == 20
    assert len(first["history"]["sha256"]) == 64


def test_a_labeled_report_marks_every_number(reports: bridgeval.Reports) -> None:
    sampled = replace(reports["first"], label="sampled n=99")
    both = bridgeval.Reports({"first": sampled, "second": sampled})
    assert set(both.to_pandas().metric) >= {"MRR@1 (sampled n=99)", "rectools:NDCG@2 (sampled n=99)"}
    assert "<code>MRR@2 (sampled n=99)</code>" in both.to_html()
    assert "<code>MRR (sampled n=99)</code>" in both.to_html()
