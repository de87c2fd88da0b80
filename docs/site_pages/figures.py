"""Figures of the site that are made at each build."""

from __future__ import annotations

from pathlib import Path

import matplotlib

import bridgeval
from site_pages.reference import list_conventions

# Shown and relevant items of the five users of docs/eight-ndcgs.md.
SHOWN = {"U1": list("axbyz"), "U2": list("xa"), "U4": list("vwxyz"), "U5": list("xaybz")}
RELEVANT = {"U1": list("abc"), "U2": ["a"], "U3": list("ab"), "U5": list("abcdefg")}
# Metrics that are other names of nDCG.
NDCG = ("nDCG", "nDCGRendle2020")
NAMES_IN_A_LINE = 6


def write(folder: Path) -> None:
    """Writes every figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_ndcgs(folder / "eight-ndcgs.svg")


def group_ndcgs() -> dict[float, list[str]]:
    """Value of nDCG@5 of the five users, to four places -> the evaluators that give it, highest value first."""
    names = {name.partition(":")[0]: f"{name}@5" for metric in NDCG for name, _ in list_conventions().get(metric, ())}
    report = bridgeval.evaluate(SHOWN, RELEVANT, ["nDCG@5", *names.values()], progress=False)
    groups: dict[float, list[str]] = {}
    for evaluator, value in zip(["bridgeval", *names], report.values(), strict=True):
        groups.setdefault(round(value, 4), []).append(evaluator)
    return dict(sorted(groups.items(), reverse=True))


def draw_ndcgs(path: Path) -> None:
    """Draws a row for each value, with the evaluators that give it."""
    import matplotlib.pyplot as plt

    groups = group_ndcgs()
    with matplotlib.rc_context({"svg.hashsalt": "bridgeval", "font.size": 9}):
        figure, axis = plt.subplots(figsize=(8, 0.75 * len(groups) + 0.8))
        axis.barh(range(len(groups)), list(groups), height=0.35, color="#4c78a8")
        for row, (value, evaluators) in enumerate(groups.items()):
            lines = [evaluators[at : at + NAMES_IN_A_LINE] for at in range(0, len(evaluators), NAMES_IN_A_LINE)]
            text = "\n".join(", ".join(line) for line in lines[:2]) + (
                f" and {sum(map(len, lines[2:]))} more" if lines[2:] else ""
            )
            axis.annotate(f"{value:.4f}  {text}", (0, row), (4, 0), textcoords="offset points", va="bottom")
        axis.set(yticks=[], xlabel="nDCG@5 of the same five users", xlim=(0, 1), ylim=(len(groups) - 0.4, -0.8))
        axis.spines[["top", "right", "left"]].set_visible(False)
        figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
