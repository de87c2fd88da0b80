"""Reads WarpRec's significance tables: statistics, raw p and verdicts of the paired tests.

WarpRec's Kruskal-Wallis and Mann-Whitney tables ignore that users are paired. bridgeval refuses these tests, so all
their cells are counted as outside. Its Holm and FDR verdicts are compared as they stand: they are taken row by row,
without the steps of Holm and of Benjamini and Hochberg, but no p of these tables lies where that makes a difference.
`test_warprec_stats.py` has p that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bridgeval.stats import tests as st
from tests.golden.compare import Comparison, number

TESTS = {"paired_t_test": st.t_test, "wilcoxon_test": st.wilcoxon_test}
UNPAIRED = ("kruskal_test", "whitney_u_test")
REFUSED = "a test for unpaired samples on paired users: refused"
# WarpRec tests float32 arrays, so that its statistics carry float32 rounding.
TOLERANCE = 1e-5


def reads(document: Mapping[str, Any]) -> bool:
    return document.get("tool") == "warprec" and str(document.get("schema")).startswith("bridgeval-golden-stats/")


def comparisons(path: Path, document: Mapping[str, Any]) -> Iterator[Comparison]:
    for name, corrections in document["expected_tables"].items():
        for correction, table in corrections.items():
            where = f"{path.name} {name} {correction}"
            if name in UNPAIRED:
                cells = sum(len(row) - 4 for row in table["rows"])
                yield from (Comparison(f"{where} {cell}", outside=REFUSED) for cell in range(cells))
            else:
                yield from _rows(where, document, table, TESTS[name])


def _rows(where: str, document: Mapping[str, Any], table: Mapping[str, Any], test: Any) -> Iterator[Comparison]:
    columns, rows = table["columns"], table["rows"]
    ours = [_tested(document["results"], *row[:4], test) for row in rows]
    for row, (statistic, p) in zip(rows, ours, strict=True):
        label = f"{where} {row[:4]}"
        yield Comparison(f"{label} statistic", number(row[4]), statistic, TOLERANCE)
        yield Comparison(f"{label} p", number(row[5]), p, TOLERANCE)
    p = np.array([p for _, p in ours])
    adjusted = {"Bonferroni α": p * len(p), "Holm": st.holm(p), "FDR": st.benjamini_hochberg(p)}
    for at, title in enumerate(columns[6:], start=6):
        rule = next((name for name in adjusted if name in title), None)
        verdicts = (adjusted[rule] if rule else p) < document["alpha"]
        for row, our in zip(rows, verdicts, strict=True):
            yield Comparison(f"{where} {row[:4]} {title}", float(row[at] == "Accepted"), float(our))


def _tested(results: Mapping[str, Any], first: str, second: str, metric: str, k: int, test: Any) -> tuple[float, float]:
    one, other = (
        np.array([number(value) for value in results[model][str(k)][metric]], dtype=np.float32)
        for model in (first, second)
    )
    change = (one - other)[~np.isnan(one - other)].astype(np.float64)
    statistic, p = test(change[:, None])
    return float(statistic[0]), float(p[0])
