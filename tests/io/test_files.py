"""Formats of files are detected by content, not by name."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import bridgeval
from bridgeval.errors import BadValueError, InputError
from bridgeval.io.datasets import open_dataset
from bridgeval.io.files import read_schema, read_table

ROWS = [(7, 30, 0.5), (7, 10, 0.25), (8, 30, 1.0)]
FRAME = pd.DataFrame(ROWS, columns=["user_id", "item_id", "score"])
CSV = FRAME.to_csv(index=False)


def written(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def rows_at(path: str, **options: object) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in read_table(path, **options).to_pylist()]  # type: ignore[arg-type]


FORMS = {
    "csv": CSV,
    "tsv": FRAME.to_csv(index=False, sep="\t"),
    "semicolons": FRAME.to_csv(index=False, sep=";"),
    "windows line ends": CSV.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + CSV,
    "json lines": FRAME.to_json(orient="records", lines=True),
    "json lists": (
        '{"user_id": 7, "item_id": [30, 10], "score": [0.5, 0.25]}\n{"user_id": 8, "item_id": [30], "score": [1.0]}\n'
    ),
    "gzip": gzip.compress(CSV.encode()),
    "bzip2": bz2.compress(CSV.encode()),
    "json lines with a byte order mark": "\ufeff" + FRAME.to_json(orient="records", lines=True),
    "parquet": FRAME.to_parquet(),
    "parquet in gzip": gzip.compress(FRAME.to_parquet()),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_table_in_every_form(tmp_path: Path, form: str) -> None:
    path = written(tmp_path / "no.ending", FORMS[form])
    assert rows_at(path) == ROWS
    assert read_schema(path).names == ["user_id", "item_id", "score"]


def test_trec_ids_are_text_and_any_blanks_separate(tmp_path: Path) -> None:
    run = written(tmp_path / "run", "7 Q0 30 1 0.5 tag\n7\tQ0  10\t2 0.25 tag\n 8 Q0 30 1 1.0 tag \n")
    assert rows_at(run) == [("7", "30", 0.5), ("7", "10", 0.25), ("8", "30", 1.0)]
    qrels = written(tmp_path / "qrels", "7 0 30 2\n8 0 30 0")
    assert read_table(qrels).to_pylist() == [
        {"user_id": "7", "item_id": "30", "gain": 2},
        {"user_id": "8", "item_id": "30", "gain": 0},
    ]


def test_names_make_up_for_a_header(tmp_path: Path) -> None:
    bare = written(tmp_path / "bare", "".join(f"{u}|{i}|x|{s}\n" for u, i, s in ROWS))
    assert rows_at(bare, names=("user", "item", "_", "score")) == ROWS
    assert rows_at(bare, names=("user", "item", "_", "score"), text_ids=True)[0] == ("7", "30", 0.5)


def test_text_ids_keep_leading_zeros(tmp_path: Path) -> None:
    path = written(tmp_path / "x", "user_id,item_id\n007,01\n")
    assert rows_at(path) == [(7, 1)]
    assert rows_at(path, text_ids=True) == [("007", "01")]
    parquet = written(tmp_path / "y", FRAME.to_parquet())
    assert rows_at(parquet, text_ids=True)[0] == ("7", "30", 0.5)


def test_globs_and_folders_are_one_table(tmp_path: Path) -> None:
    for name, part in (("a", FRAME[:2]), ("b", FRAME[2:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
        (tmp_path / "parts").mkdir(exist_ok=True)
        part.to_parquet(tmp_path / "parts" / f"{name}.parquet", index=False)
    assert rows_at(str(tmp_path / "*.csv")) == ROWS
    assert rows_at(str(tmp_path / "parts")) == ROWS


BAD = {
    "empty": (b"", "the file is empty", "again"),
    "empty once unpacked": (gzip.compress(b""), "the file is empty", "again"),
    "gzip cut short": (gzip.compress(CSV.encode() * 99)[:-9], "cannot be read", "cut short"),
    "parquet cut short": (FRAME.to_parquet()[:-40], "cannot be read", "complete"),
    "zip": (b"PK\x03\x04\0\0\0", "is not a table", "Parquet, CSV"),
    "pickle": (b"\x80\x04\x95\x10\0\0\0", "is not a table", "Parquet, CSV"),
    "matrix": (b"\x93NUMPY\x01\0v\0{'descr': '<f8'}", "holds a matrix", "bridgeval.Scores"),
    "no header": (b"7,30,0.5\n", "has no header", "--recs-columns"),
    "lists of other lengths": (b'{"user_id": [1, 2], "item_id": [1]}\n', "differ in length", "every item"),
    "json array": (b'[{"user_id": 7, "item_id": 30}]', "holds a JSON array", "one object in each line"),
    "json array by lines": (b'[\n  {"user_id": 7}\n]\n', "holds a JSON array", "one object in each line"),
    "a line cut short": (b"user_id,item_id\n1\n", "cannot be read", "CSV"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_says_why(tmp_path: Path, case: str) -> None:
    content, wrong, hint = BAD[case]
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path / "file", content))
    assert wrong in caught.value.wrong
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("charset", "mark", "told"),
    [
        ("utf-16-le", b"\xff\xfe", r"byte order mark b'\xff\xfe' of UTF-16"),
        ("utf-16-be", b"\xfe\xff", r"byte order mark b'\xfe\xff' of UTF-16"),
        ("utf-32-le", b"\xff\xfe\0\0", "of UTF-32"),
        ("utf-16-le", b"", "UTF-16LE without a byte order mark"),
        ("utf-16-be", b"", "UTF-16BE without a byte order mark"),
        ("latin-1", b"", r"\xe9,0.5\n' at byte 27, as in Latin-1"),
    ],
)
def test_text_in_another_code_than_utf8_is_called_that(tmp_path: Path, charset: str, mark: bytes, told: str) -> None:
    word = "caf\xe9" if charset == "latin-1" else "cafe"
    text = f"user_id,item_id,score\n7,{word},0.5\n"
    with pytest.raises(InputError) as caught:
        read_table(written(tmp_path / "file.csv", mark + text.encode(charset)))
    assert caught.value.wrong.endswith("is text, but not in UTF-8")
    assert told in caught.value.found
    assert "iconv -f" in caught.value.hint
    suggested = caught.value.hint.partition('encoding="')[2].partition('"')[0]
    assert pd.read_csv(tmp_path / "file.csv", encoding=suggested)["item_id"].tolist() == [word]


def test_another_encoding_is_detected_beyond_the_first_bytes(tmp_path: Path) -> None:
    path = written(tmp_path / "file", (b"user_id,item_id\n" + b"7,cafe\n" * 20_000) + b"7,caf\xe9\n")
    for read in (read_table, open_dataset):
        with pytest.raises(InputError, match="is text, but not in UTF-8; found: bytes in the column 'item_id'"):
            read(path)


@pytest.mark.parametrize("memory", [None, 1], ids=["held", "streamed"])
@pytest.mark.parametrize("line", [",rum,0.1", "ann,,0.1", '"",rum,0.1', "ann,rum,"])
def test_an_empty_cell_is_missing_whatever_its_column_holds(tmp_path: Path, line: str, memory: int | None) -> None:
    recs = written(tmp_path / "recs", f"user_id,item_id,score\nann,tea,0.5\n{line}\n")
    truth = written(tmp_path / "truth", "user_id,item_id\nann,tea\n")
    with pytest.raises(BadValueError, match=r"missing .*first at row 1"):
        bridgeval.evaluate(recs, truth, "Recall@2", memory=memory)


def test_a_folder_without_parquet_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder without Parquet files"):
        read_table(str(tmp_path))


def test_many_parquet_files_of_other_types_are_refused(tmp_path: Path) -> None:
    pa_parquet.write_table(pa.table({"user_id": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="cannot be read"):
        read_table(str(tmp_path))
