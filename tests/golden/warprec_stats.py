"""Reads WarpRec's significance tables: the paired tests' statistics, raw p, and verdicts.

WarpRec's Kruskal-Wallis and Mann-Whitney tables ignore that users are paired; bridgeval refuses these tests, so there
is nothing to compare. Its Holm and FDR verdicts are taken row by row, without the step-down and step-up that make them
Holm's and Benjamini and Hochberg's: here its verdicts are stepped first, and then they are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bridgeval.report import statistics as st
from tests.golden.compare import Comparison, number

TESTS = {"paired_t_test": st.t_test, "wilcoxon_test": st.wilcoxon_test}
# WarpRec tests float32 arrays, so that its statistics carry float32 rounding.
TOLERANCE = 1e-5


def reads(document: Mapping[str, Any]) -> bool:
    return document.get("tool") == "warprec" and str(document.get("schema")).startswith("bridgeval-golden-stats/")


def comparisons(path: Path, document: Mapping[str, Any]) -> Iterator[Comparison]:
    for name, test in TESTS.items():
        for correction, table in document["expected_tables"][name].items():
            yield from _rows(f"{path.name} {name} {correction}", document, table, test)


def _rows(where: str, document: Mapping[str, Any], table: Mapping[str, Any], test: Any) -> Iterator[Comparison]:
    columns, rows = table["columns"], table["rows"]
    ours = [_tested(document["results"], *row[:4], test) for row in rows]
    theirs = np.array([number(row[5]) for row in rows])
    for row, (statistic, p) in zip(rows, ours, strict=True):
        label = f"{where} {row[:4]}"
        yield Comparison(f"{label} statistic", number(row[4]), statistic, TOLERANCE)
        yield Comparison(f"{label} p", number(row[5]), p, TOLERANCE)
    p = np.array([p for _, p in ours])
    adjusted = {"Bonferroni α": p * len(p), "Holm": st.holm(p), "FDR": st.benjamini_hochberg(p)}
    for at, title in enumerate(columns[6:], start=6):
        said = np.array([row[at] == "Accepted" for row in rows])
        rule = next((name for name in adjusted if name in title), None)
        if rule in ("Holm", "FDR"):
            said = _stepped(said, theirs, down=rule == "Holm")
        verdicts = (adjusted[rule] if rule else p) < document["alpha"]
        for row, their, our in zip(rows, said, verdicts, strict=True):
            yield Comparison(f"{where} {row[:4]} {title}", float(their), float(our))


def _stepped(accepted: np.ndarray, p: np.ndarray, down: bool) -> np.ndarray:
    """Verdicts in order of p: step down, accepted only if all smaller p are; step up, accepted if any larger p is."""
    stepped = np.zeros(len(p), dtype=bool)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    in_order = accepted[order]
    stepped[order] = np.logical_and.accumulate(in_order) if down else np.logical_or.accumulate(in_order[::-1])[::-1]
    return stepped


def _tested(results: Mapping[str, Any], first: str, second: str, metric: str, k: int, test: Any) -> tuple[float, float]:
    one, other = (
        np.array([number(value) for value in results[model][str(k)][metric]], dtype=np.float32)
        for model in (first, second)
    )
    change = (one - other)[~np.isnan(one - other)].astype(np.float64)
    statistic, p = test(change[:, None])
    return float(statistic[0]), float(p[0])
