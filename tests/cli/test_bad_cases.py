"""Errors take one line with a hint, the exit code tells their kind, and no traceback is shown."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

from tests.cli.conftest import Run

WRONG_COMMAND, WRONG_DATA, UNAVAILABLE = 2, 3, 4


@pytest.fixture
def bad(folder: Path) -> Path:
    (folder / "empty.csv").write_text("")
    (folder / "nothing.csv.gz").write_bytes(b"")
    (folder / "hollow.csv.gz").write_bytes(gzip.compress(b""))
    (folder / "cut.csv.gz").write_bytes(gzip.compress((folder / "recs.csv").read_bytes())[:-20])
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "ints.csv").write_text("user_id,item_id\n1,2\n")
    (folder / "bare.csv").write_text("1,2,0.5\n1,3,0.25\n")
    (folder / "weights.csv").write_text("user_id,item_id,weight\nann,tea,0.5\n")
    (folder / "other.csv").write_text("name,color\nann,red\n")
    (folder / "broken.jsonl").write_text('{"user_id": 1, "item_id": 2}\n{"user_id": 1,\n')
    (folder / "head.csv").write_text("user_id,item_id,score\n")
    (folder / "folder").mkdir()
    pa_parquet.write_table(pa.table({"user_id": range(1000), "item_id": range(1000)}), folder / "whole.parquet")
    (folder / "cut.parquet").write_bytes((folder / "whole.parquet").read_bytes()[:-100])
    (folder / "typo.toml").write_text('recommendations = "recs.csv"\nrelevance = "truth.csv"\nmetric = ["nDCG@5"]\n')
    (folder / "typo.yaml").write_text("recommendations: recs.csv\nrelevance: truth.csv\nbatch_size: many\n")
    (folder / "torn.toml").write_text("recommendations = \n")
    (folder / "report.json").write_text("{}")
    return folder


@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize(
    ("arguments", "code", "said", "hint"),
    [
        ("evaluate recs.csv truth.csv --metrik nDCG@5", WRONG_COMMAND, "No such option", "--help"),
        ("evaluat recs.csv truth.csv", WRONG_COMMAND, "No such command 'evaluat'", "bridgeval --help"),
        ("evaluate recs.csv", WRONG_COMMAND, "only one was given", "evaluate --help"),
        ("evaluate", WRONG_COMMAND, "RECS and TRUTH are missing", "evaluate --help"),
        ("evaluate recs.csv truth.csv --format word", WRONG_COMMAND, "'word' is not one of", "--help"),
        ("evaluate recs.csv truth.csv --columns user", WRONG_COMMAND, "part=column", "--help"),
        ("evaluate weights.csv truth.csv", WRONG_DATA, "neither a score nor a rank", "--columns score=weight, or "),
        ("evaluate recs.csv weights.csv", WRONG_DATA, "no gain, but a number", "--columns gain= to count every row"),
        ("evaluate recs.csv truth.csv --columns user=", WRONG_COMMAND, "every table needs the user", "--columns user="),
        ("evaluate - - ", WRONG_COMMAND, "standard input can be read once", "file"),
        ("evaluate missing.csv truth.csv", WRONG_DATA, "there is no file to read (found: 'missing.csv')", "path"),
        ("evaluate picture.png truth.csv", WRONG_DATA, "'picture.png' is not a table", "Parquet, CSV"),
        ("evaluate folder truth.csv", WRONG_DATA, "'folder' is a folder without Parquet files", "file"),
        ("evaluate empty.csv truth.csv", WRONG_DATA, "the file is empty", "again"),
        ("evaluate head.csv truth.csv", WRONG_DATA, "'head.csv' has no rows (found: columns 'user_id'", "written"),
        ("evaluate recs.csv recs.csv truth.csv", WRONG_COMMAND, "two systems are called 'recs' (found: ", "other=recs"),
        ("evaluate cut.parquet truth.csv", WRONG_DATA, "'cut.parquet' cannot be read", "complete"),
        ("evaluate nothing.csv.gz truth.csv", WRONG_DATA, "the file is empty", "again"),
        ("evaluate hollow.csv.gz truth.csv", WRONG_DATA, "the file is empty", "again"),
        ("evaluate cut.csv.gz truth.csv", WRONG_DATA, "'cut.csv.gz' cannot be read", "cut short"),
        ("evaluate broken.jsonl truth.csv", WRONG_DATA, "'broken.jsonl' cannot be read", "one object in each line"),
        ("evaluate bare.csv truth.csv", WRONG_DATA, "'bare.csv' has no header", "--recs-columns"),
        ("evaluate --config typo.toml", WRONG_COMMAND, "has no setting 'metric'", "did you mean 'metrics'?"),
        ("evaluate --config typo.yaml", WRONG_COMMAND, "batch_size: Input should be a valid integer", "settings"),
        ("evaluate --config torn.toml", WRONG_COMMAND, "'torn.toml' cannot be read", "TOML"),
        ("evaluate --config none.toml", WRONG_COMMAND, "there is no config file", "path"),
        ("librec nowhere", None, "", ""),
        ("verify none.json", WRONG_DATA, "there is no report to verify", "path"),
        ("verify recs.csv", WRONG_DATA, "'recs.csv' is not a report", "--format json"),
        ("verify report.json", WRONG_DATA, "'report.json' is not a report", "--format json"),
    ],
)
def test_one_line_a_hint_and_the_right_exit_code(
    run: Run, arguments: str, code: int | None, said: str, hint: str
) -> None:
    done = run(*arguments.split())
    told = done.stderr.splitlines()
    assert done.returncode == code if code is not None else done.returncode in (WRONG_DATA, UNAVAILABLE)
    assert done.stdout == ""
    assert len(told) == 2
    assert told[0].startswith("error: ")
    assert said in told[0]
    assert told[1].startswith("hint:  ")
    assert hint in told[1]


@pytest.mark.usefixtures("bad")
@pytest.mark.parametrize(
    ("arguments", "code", "said", "hint"),
    [
        ("evaluate other.csv truth.csv", WRONG_DATA, "have no column for the user", "--columns user=..."),
        ("evaluate recs.csv truth.csv -m EPC@2", WRONG_COMMAND, "EPC@2 needs item popularity", "give --train"),
        ("evaluate recs.csv ints.csv", WRONG_DATA, "strings on one side and integers on the other", "--text-ids"),
        ("evaluate recs.csv truth.csv --by bare.csv", WRONG_DATA, "'bare.csv' has no header", "-columns"),
        ("evaluate recs.csv truth.csv --device gpu", WRONG_COMMAND, "the device 'gpu' cannot be used", "auto"),
        ("evaluate recs.csv truth.csv -m nDCG@5,MRR@5", WRONG_COMMAND, "cannot be read as a metric", "one by one"),
        ("evaluate recs.csv truth.csv -m nDCG(gain=linear)@5", WRONG_COMMAND, "gain=linear", 'gain="..."'),
        ("compare recs.csv truth.csv", WRONG_COMMAND, "Two systems are needed before TRUTH, but only recs", "--help"),
        (
            "compare a=recs.csv a=bare.csv b=recs.csv truth.csv",
            WRONG_COMMAND,
            "two systems are called 'a'",
            "other=bare",
        ),
        ("evaluate recs.csv truth.csv --recs-columns user,item", WRONG_DATA, "Expected 2 columns, got 3", "in order"),
        ("compare folder truth.csv", WRONG_COMMAND, "Two systems are needed before TRUTH, but none", "--help"),
        ("evaluate recs.csv truth.csv -m nDGC@5", WRONG_COMMAND, "there is no metric 'nDGC'", "did you mean nDCG"),
        ("evaluate recs.csv truth.csv --out no/where.csv --format csv", WRONG_COMMAND, "cannot be written", "path"),
    ],
)
def test_errors_of_the_engine_are_also_one_line_with_a_hint(
    run: Run, arguments: str, code: int, said: str, hint: str
) -> None:
    test_one_line_a_hint_and_the_right_exit_code(run, arguments, code, said, hint)


def test_debug_shows_the_traceback(run: Run) -> None:
    done = run("evaluate", "missing.csv", "truth.csv", "--debug")
    assert done.returncode == WRONG_DATA
    assert "Traceback (most recent call last)" in done.stderr
    assert "error: there is no file to read" in done.stderr
