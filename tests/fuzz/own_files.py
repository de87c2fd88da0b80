"""Damaged files of our own: configs, reports to verify, baselines, runs, per-user values, states, candidates."""

from __future__ import annotations

import json
import math
import os
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import yaml

import bridgeval
from bridgeval.config import build_request, read_config, run
from bridgeval.report.saved_reports import read_report
from bridgeval.verification import verify as verify_document
from tests.fuzz.harness import check_bounds, require, target
from tests.fuzz.junk import bend, damage
from tests.fuzz.readers import draw_rows, write_csv

SHOWN = {user: [("a", 3.0), ("b", 2.0), ("c", 1.0)] for user in range(12)}
TRUTH = {user: ["a" if user % 2 else "b"] for user in range(12)}


def write_inputs(folder: Path) -> None:
    rng = Random(3)
    (folder / "recs.csv").write_bytes(write_csv(draw_rows(rng), "score"))
    (folder / "truth.csv").write_bytes(write_csv(draw_rows(rng), "relevance"))


def write_bent(path: Path, document: Any, rng: Random) -> None:
    """Writes a document with damage: mostly of its structure, at times of its bytes."""
    if rng.random() < 0.75:
        document = bend(document, rng)
    data = json.dumps(document).encode("utf-8", "surrogatepass")
    path.write_bytes(damage(data, rng) if rng.random() < 0.3 else data)


@cache
def draw_report() -> Any:
    return bridgeval.evaluate(SHOWN, TRUTH, ["nDCG@2", "MRR@2"], per_user=True)


@target
def configs(rng: Random, folder: Path) -> None:
    """A config in YAML or TOML, evaluated."""
    write_inputs(folder)
    settings: Any = {
        "recommendations": {"mine": "recs.csv"}, "relevance": "truth.csv", "metrics": ["nDCG@3", "Recall@3"],
        "columns": {"user": "user_id"}, "memory": "1GB", "batch_size": 4, "inspect": rng.random() < 0.5,
        "mask_seen": False, "format": "json", "by": [], "context": {}, "device": "cpu",
    }  # fmt: skip
    if rng.random() < 0.8:
        settings = bend(settings, rng)
    text = yaml.safe_dump(settings, allow_unicode=True).encode("utf-8", "surrogatepass")
    path = folder / "config.yaml"
    if rng.random() < 0.3:
        path = folder / "config.toml"
        text = b'recommendations = "recs.csv"\nrelevance = "truth.csv"\nmetrics = ["nDCG@3"]\n[columns]\nuser = "u"\n'
    if rng.random() < 0.1:
        text = rng.choice(
            [b"[" * 3000, b"a: &a [1]\n" + b"b: [*a, *a]\n", b"d: 2026-02-31\n", b"\xff\xfe", b"- " * 900]
        )
    path.write_bytes(damage(text, rng) if rng.random() < 0.4 else text)
    os.chdir(folder)
    request = build_request(read_config(str(path)), "the config")
    for report in run(request).reports.values():
        check_bounds(report)


@target
def verified(rng: Random, folder: Path) -> None:
    """A report to verify; nothing may be written."""
    from bridgeval.report import Reports
    from bridgeval.verification import record_request

    write_inputs(folder)
    os.chdir(folder)
    request = build_request({"recommendations": ["recs.csv"], "relevance": "truth.csv", "metrics": ["nDCG@3"]})
    document = Reports(run(request).reports, record_request(request, str(folder))).to_dict()
    path = folder / "report.json"
    document = json.loads(json.dumps(document, default=lambda _: None).replace("NaN", "null"))
    for name in ("out", "state", "per_user", "report", "store", "log"):
        if rng.random() < 0.1:
            document["manifest"]["request"][name] = ["jsonl"] if name == "log" else rng.choice(["recs.csv", "new"])
    write_bent(path, document, rng)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    try:
        found = verify_document(read_report(path, "write it again"), str(folder))
        require(math.isfinite(found.values), "no count")
    finally:
        after = {file.name: file.read_bytes() for file in folder.iterdir()}
        require(before == after, f"verify changed {sorted(set(after) ^ set(before)) or 'a file'}")


@target
def baselines(rng: Random, folder: Path) -> None:
    """A baseline in JSON, its per-user values, or both, damaged."""
    path = folder / "old.json"
    bridgeval.save_baseline(draw_report(), path, relevance=TRUTH)
    if rng.random() < 0.5:
        write_bent(path, json.loads(path.read_text("utf-8")), rng)
    else:
        spoil_values(folder / "old.parquet", rng)
    given = rng.choice([path, folder / "old.parquet"])
    gate = bridgeval.check(SHOWN, TRUTH, str(given), "nDCG@2=1%", other_inputs=rng.random() < 0.5)
    require(gate.holds or not gate.holds, "neither")


def spoil_values(path: Path, rng: Random) -> None:
    """Changes columns of a file of per-user values, or damages its bytes."""
    if rng.random() < 0.5:
        path.write_bytes(damage(path.read_bytes(), rng))
        return
    table = pa_parquet.read_table(path)
    name = rng.choice(table.column_names)
    place, size = table.column_names.index(name), len(table)
    odd = [
        pa.nulls(size), pa.array([None] * size, pa.string()), pa.array(["x"] * size), pa.array(np.full(size, np.inf)),
        pa.array([1] * size), pa.array([[1]] * size), pa.array([{"a": 1}] * size), pa.array([b"x"] * size),
        pa.array([True] * size), pa.array([1.5] * size), pa.array(["a", None] * (size // 2)),
    ]  # fmt: skip
    table = rng.choice(
        [
            table.set_column(place, name, rng.choice(odd)),
            table.drop_columns([name]),
            table.slice(0, 0),
            pa.concat_tables([table, table]),
            table.rename_columns([rng.choice(["a", one]) for one in table.column_names]),
        ]
    )
    pa_parquet.write_table(table, path)


@target
def histories(rng: Random, folder: Path) -> None:
    """A folder of runs with a damaged one."""
    report = draw_report()
    report.save(f"{folder}/", tags="a")
    report.save(f"{folder}/")
    path = rng.choice(sorted(folder.glob("*.json")))
    if rng.random() < 0.6:
        write_bent(path, json.loads(path.read_text("utf-8")), rng)
    else:
        spoil_values(path.with_suffix(".parquet"), rng)
    runs = bridgeval.read_runs(folder)
    _ = runs.to_pandas(), runs.changes
    runs.pick("best", "nDCG@2")
    runs.to_html()
    bridgeval.check(SHOWN, TRUTH, f"{folder}/last", "nDCG@2=1%")


@target
def states(rng: Random, folder: Path) -> None:
    """Two state files, one damaged: never a number of it."""
    half = [{u: one[u] for u in range(at, at + 6)} for at in (0, 6) for one in (SHOWN, TRUTH)]
    paths = [folder / "1.state", folder / "2.state"]
    for path, shown, truth in zip(paths, half[::2], half[1::2], strict=True):
        bridgeval.evaluate(shown, truth, ["nDCG@2", "AUC"], state=path)
    data = paths[0].read_bytes()
    paths[0].write_bytes(damage(data, rng))
    changed = paths[0].read_bytes() != data
    bridgeval.merge(paths)
    require(not changed, "a damaged state file was merged")


@target
def candidates(rng: Random, folder: Path) -> None:
    """A file of sampled candidates."""
    path = folder / "c.parquet"
    bridgeval.sample_candidates(TRUTH, None, list("abcdefgh"), negatives=3).save(path)
    if rng.random() < 0.5:
        path.write_bytes(damage(path.read_bytes(), rng))
    else:
        table = pa_parquet.read_table(path)
        kept = json.loads(table.schema.metadata[b"bridgeval.candidates"])
        about = {b"bridgeval.candidates": json.dumps(bend(kept, rng)).encode()}
        if rng.random() < 0.5:
            name = rng.choice(table.column_names)
            odd = rng.choice([pa.nulls(len(table)), pa.array([1.5] * len(table)), pa.array([[1]] * len(table))])
            table = table.set_column(table.column_names.index(name), name, odd)
        pa_parquet.write_table(table.replace_schema_metadata(about), path)
    bridgeval.Candidates.load(path).to_dict()
