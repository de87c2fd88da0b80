"""The results as a table, a picture and a page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from goals import goals
from measuring import OURS, PEERS, Row

HEAD = ("case", "library", "wall s", "CPU s", "peak MB", "ratio", "same numbers")
WIDTHS = (52, 24, 16, 9, 9, 8, 0)
INTRODUCTION = """\
# Benchmarks

Made by `make bench`; every number below is from one run of it. All libraries get the same data and compute six metrics
at four cutoffs, each in a process and an environment of its own, from a frame in memory to the numbers, after one
warm-up. Wall and CPU seconds are medians: of nine evaluations of bridgeval, of three of another library, or of one if a
library is slow; slow libraries are measured on 10,000 users only. CPU includes threads and child processes; the peak
includes the interpreter, the libraries and the frames. "Same numbers" counts the values of a library that equal those
of bridgeval under that library's definitions. Our own cases are measured in several processes, in turn with one
another, and the median process counts, because a shared machine changes from minute to minute. The first evaluations
of a process take up to three times as long, until the memory they need has been mapped.
"""


def line(texts: Sequence[str] = HEAD) -> str:
    """A line of the table on a terminal."""
    return "  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS, strict=True)).rstrip()


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marked = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in marked)


def cells(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    """A row as text; the ratio is to bridgeval from pandas frames on the same data."""
    case = row["world"] if row["case"] == "frames" else f"{row['case']}: {row['world']}"
    if "wall" not in row:
        return case, row["library"], "", "", "", "", row["failure"]
    ours = [
        other for other in rows if is_ours(other) and (other["case"], other["world"]) == (row["case"], row["world"])
    ]
    ratio = f"{row['wall'] / ours[0]['wall']:.1f}x" if ours else ""
    if "megabytes" in row:
        return case, row["library"], f"{row['wall']:.3f}", "", "", "", f"a file of {row['megabytes']:.2f} MB"
    if "floor" in row:
        return case, row["library"], f"{row['wall']:.3f}", "", "", "", f"floor {row['floor']:.3f} s"
    seconds = [f"{row[name]:.3f}" if row[name] < 10 else f"{row[name]:.1f}" for name in ("wall", "cpu")]
    if row["runs"] == 1:
        seconds[0] += " (one run)"
    return case, row["library"], *seconds, f"{row['peak_mb']:,.0f}", ratio, same_numbers(row)


def is_ours(row: Row) -> bool:
    return row["library"] == OURS and "wall" in row


def same_numbers(row: Row) -> str:
    """How many numbers are equal; what is not compared, and why."""
    if "agreement" not in row:
        return f"{len(row['values'])} values" if row["values"] else ""
    found = row["agreement"]
    if not found["compared"]:
        return "not compared"
    text = f"{found['equal']} of {found['compared']}"
    if found["unequal"]:
        text += f", UNEQUAL: {', '.join(found['unequal'])}"
    differing = next((peer.differing for peer in PEERS if peer.name == row["library"]), ())
    return ", ".join([text, *(f"{name} defined otherwise" for name in differing)])


def page(results: dict[str, Any], picture_path: Path, document: Path) -> str:
    """The document."""
    rows, machine = results["rows"], results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    frames = [row for row in rows if row["case"] == "frames"]
    worlds = dict.fromkeys(row["world"] for row in frames)
    parts = [
        INTRODUCTION,
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}; {versions}. {machine['date']}.",
        "## Goals",
        markdown(
            ("case", "goal", "found", ""), [(goal.case, goal.asked, goal.found, goal.mark) for goal in goals(rows)]
        ),
        f"![seconds by library]({os.path.relpath(picture_path, document.parent)})",
        "## From frames to numbers",
    ]
    for world in worlds:
        chosen = [row for row in frames if row["world"] == world]
        lines = [cells(row, chosen)[1:] for row in sorted(chosen, key=lambda row: row.get("wall", float("inf")))]
        parts += [f"### {world}", markdown(HEAD[1:], lines)]
    others = [row for row in rows if row["case"] != "frames"]
    if others:
        parts += ["## Files, more metrics, few users", markdown(HEAD[:5], [cells(r, rows)[:5] for r in others])]
    parts += ["## Definitions that differ from the native ones", markdown(*definitions(frames))]
    return "\n\n".join(parts) + "\n"


def definitions(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Where a library defines a metric in other words than bridgeval's own: head and lines of a table."""
    native = next((row["definition"] for row in rows if is_ours(row)), {})
    found = {
        (f"{row['library']} {row['version']}", metric, words)
        for row in rows
        for metric, words in row.get("definition", {}).items()
        if native.get(metric, words) != words
    }
    return ("library", "metric", "its definition"), sorted(found)


def picture(results: dict[str, Any], path: Path) -> None:
    """Seconds of every library by size, on sorted int64 rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    chosen = [
        row
        for row in results["rows"]
        if row["case"] == "frames" and "wall" in row and row["world"].endswith("int64 ids, sorted")
    ]
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    slowest = {row["library"]: row["wall"] for row in chosen}
    for name in sorted(slowest, key=lambda library: -slowest[library]):
        points = [(row["users"], row["wall"]) for row in chosen if row["library"] == name]
        ours = name.startswith(OURS)
        axes.plot(*zip(*points, strict=True), marker="o", label=name, linewidth=3 if ours else 1.2)
    axes.set(xscale="log", yscale="log", xlabel="users x 50 items", ylabel="seconds (median)")
    axes.set_title("From a frame to six metrics at four cutoffs")
    axes.grid(alpha=0.3)
    if chosen:
        figure.legend(loc="outside right upper", fontsize="small")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
