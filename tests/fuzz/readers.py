"""Damaged and odd files of lists and truths, in every format that is read."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import bridgeval
from tests.fuzz.harness import check_bounds, target
from tests.fuzz.junk import TEXTS, damage

METRICS = ["nDCG@3", "Recall@3", "MRR@5", "MAP@5", "Precision@2", "AUC", "ItemCoverage@5"]
STUDIES = sorted((Path(__file__).resolve().parents[1] / "golden/data/librec").glob("*/study"))
Rows = list[tuple[Any, Any, Any]]


def draw_rows(rng: Random, users: int = 6, items: int = 9, text: bool = False) -> Rows:
    """(user, item, number); about a third of the numbers are equal."""
    name = (lambda kind, n: f"{kind}{n}") if text else (lambda kind, n: n)
    return [
        (name("u", user), name("i", item), rng.choice([0.5, 1.0, round(rng.random(), 3)]))
        for user in range(users)
        for item in rng.sample(range(items), rng.randint(1, 5))
    ]


def to_table(rows: Rows, number: str) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    return pa.table(dict(zip(("user_id", "item_id", number), map(list, columns), strict=True)))


def write_parquet(rows: Rows, number: str) -> bytes:
    sink = io.BytesIO()
    pa_parquet.write_table(to_table(rows, number), sink, row_group_size=4)
    return sink.getvalue()


def write_csv(rows: Rows, number: str) -> bytes:
    sink = io.BytesIO()
    pa_csv.write_csv(to_table(rows, number), sink)
    return sink.getvalue()


def write_lines(rows: Rows, number: str) -> bytes:
    return "".join(json.dumps({"user_id": u, "item_id": i, number: n}) + "\n" for u, i, n in rows).encode()


def write_lists(rows: Rows, number: str) -> bytes:
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    lines = (
        {"user_id": u, "item_id": [i for _, i, _ in own], number: [n for _, _, n in own]} for u, own in found.items()
    )
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def write_mapping(rows: Rows, number: str) -> bytes:
    found: dict[str, dict[str, float]] = {}
    for user, item, one in rows:
        found.setdefault(str(user), {})[str(item)] = one
    return json.dumps(found).encode()


def write_trec(rows: Rows, number: str) -> bytes:
    if number == "score":
        return "".join(f"{u} Q0 {i} 1 {n} tag\n" for u, i, n in rows).encode()
    return "".join(f"{u} 0 {i} {round(n)}\n" for u, i, n in rows).encode()


FORMATS: dict[str, Callable[[Rows, str], bytes]] = {
    "parquet": write_parquet,
    "csv": write_csv,
    "jsonl": write_lines,
    "lists.jsonl": write_lists,
    "json": write_mapping,
    "trec": write_trec,
}
CODECS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def spoil_cells(rows: Rows, rng: Random) -> Rows:
    """The same rows with odd cells: text for numbers, nothing, enormous ids."""
    odd = [*TEXTS, None, -1, 2**62, 2**63, 0.5, float("inf"), float("nan"), True, "u1", 1]
    found = [list(row) for row in rows]
    for _ in range(rng.randint(1, 3)):
        found[rng.randrange(len(found))][rng.randrange(3)] = rng.choice(odd)
    return [tuple(row) for row in found]  # type: ignore[misc]


@target
def readers(rng: Random, folder: Path) -> None:
    """Evaluates two files, one or both of them damaged, at once or streamed."""
    text = rng.random() < 0.4
    paths = []
    for role, number in (("recs", "score"), ("truth", "relevance")):
        form, codec = rng.choice(list(FORMATS)), rng.choice(["", "", "", *CODECS])
        rows = draw_rows(rng, text=text)
        if rng.random() < 0.3:
            rows = spoil_cells(rows, rng)
        try:
            data = FORMATS[form](rows, number)
        except (pa.ArrowException, OverflowError, TypeError, ValueError, UnicodeEncodeError):
            data = repr(rows).encode("utf-8", "replace")
        if rng.random() < 0.6:
            data = damage(data, rng)
        data = CODECS[codec](data)
        if rng.random() < 0.15:
            data = damage(data, rng)
        path = folder / f"{role}.{form}{codec}"
        path.write_bytes(data)
        paths.append(str(path))
    options = rng.choice([{}, {}, {"memory": 1000}, {"memory": "1MB"}, {"columns": {"user": "user_id"}}])
    check_bounds(bridgeval.evaluate(*paths, rng.sample(METRICS, 3), **options))


@target
def matrices(rng: Random, folder: Path) -> None:
    """A matrix of scores in a damaged .npy file, by the reader of the command."""
    from bridgeval.config import read_input

    kind = rng.choice(["f8", "f4", "i8", "?", "c16", "U3", "O", "M8[s]", "f2", "u1"])
    shape = rng.choice([(6, 9), (6,), (2, 3, 4), (0, 9), (6, 0), ()])
    sink = io.BytesIO()
    np.save(sink, np.zeros(shape).astype("i8").astype(kind))
    data = sink.getvalue()
    path = folder / "scores.npy"
    path.write_bytes(damage(data, rng) if rng.random() < 0.8 else data)
    scores = read_input(str(path), "recommendations")
    check_bounds(bridgeval.evaluate(scores, {0: [1], 1: [2]}, ["nDCG@3", "AUC"]))


@target
def studies(rng: Random, folder: Path) -> None:
    """A study of librec-auto with a damaged file."""
    from bridgeval.toolkits.librec import Study

    small = [study for study in STUDIES if "small" in study.parent.name or "string" in study.parent.name]
    copy = folder / "study"
    shutil.copytree(rng.choice(small), copy)
    files = [file for file in copy.rglob("*") if file.is_file() and file.stat().st_size]
    chosen = rng.choice([file for file in files if file.suffix == ".xml"] if rng.random() < 0.4 else files)
    if rng.random() < 0.05:
        chosen.unlink()
        rng.choice([chosen.mkdir, lambda: None, lambda: __import__("os").mkfifo(chosen)])()
    else:
        chosen.write_bytes(damage(chosen.read_bytes(), rng))
    study = Study(copy, strict=rng.random() < 0.2)
    report = study.evaluate(rng.choice([None, "nDCG@5", ["librec:ndcg@5", "librec:precision@5"]]))
    report.by_experiment()


@target
def folders(rng: Random, folder: Path) -> None:
    """Globs and folders of parts that do not fit together."""
    parts = folder / "parts"
    parts.mkdir()
    form = rng.choice(["parquet", "csv"])
    for at in range(rng.randint(1, 3)):
        rows = draw_rows(rng, text=rng.random() < 0.3)
        if rng.random() < 0.3:
            rows = spoil_cells(rows, rng)
        if rng.random() < 0.15:
            rows = []
        try:
            data = FORMATS[form](rows, rng.choice(["score", "score", "score", "points"]))
        except (pa.ArrowException, OverflowError, ValueError):
            data = b""
        (parts / f"{at}.{form}").write_bytes(damage(data, rng) if rng.random() < 0.2 else data)
    if rng.random() < 0.15:
        (parts / f"inside.{form}").mkdir()
    truth = folder / "truth.csv"
    truth.write_bytes(write_csv(draw_rows(rng), "relevance"))
    path = rng.choice([str(parts), f"{parts}/*.{form}", f"{parts}/*"])
    check_bounds(bridgeval.evaluate(path, truth, "nDCG@3", memory=rng.choice([None, 1000])))
