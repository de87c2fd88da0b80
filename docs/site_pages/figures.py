"""Figures of docs/eight-ndcgs.md, and the numbers that they show. Made at each build."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import pyarrow as pa
import pyarrow.compute as pc

import bridgeval
from bridgeval.demo import Sample, sample
from site_pages.five_users import RELEVANT, SHOWN, K
from site_pages.metric_pages import list_conventions

# Metrics that are other names of nDCG, and a name that is not nDCG though it is computed as one.
NDCG = ("nDCG", "nDCGRendle2020")
NOT_SO_CALLED = ("cornac:NCRR",)
# Numbers that the libraries themselves gave: data set -> what is special about it.
GOLDENS = Path(__file__).parents[2] / "tests" / "golden" / "data" / "peers"
DATA_SETS = {"B": "binary relevance", "C": "grades 0 to 4", "D": "equal scores"}
BLUE, GREEN, ORANGE, GRAY = "#4c78a8", "#3a8a5f", "#c2671a", "#6b7280"


def write(folder: Path) -> None:
    """Writes every figure into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_ndcgs(folder / "eight-ndcgs.svg")
    draw_libraries(folder / "libraries.svg")
    draw_winners(folder / "winners.svg")


def list_ndcgs() -> list[str]:
    """The names of nDCG in all conventions, without a cutoff."""
    names = [name for metric in NDCG for name, _ in list_conventions().get(metric, ())]
    return [name for name in names if name not in NOT_SO_CALLED]


def group_ndcgs(shown: Any = SHOWN, relevant: Any = RELEVANT, k: int = K) -> dict[float, list[str]]:
    """Value of nDCG, to four places -> the evaluators that give it, highest value first."""
    names = [f"{name}@{k}" for name in list_ndcgs()]
    report = bridgeval.evaluate(shown, relevant, [f"nDCG@{k}", *names], progress=False)
    groups: dict[float, list[str]] = {}
    for evaluator, value in zip(
        ["bridgeval", *(name.partition(":")[0] for name in names)], report.values(), strict=True
    ):
        group = groups.setdefault(round(value, 4), [])
        if evaluator not in group:
            group.append(evaluator)
    return dict(sorted(groups.items(), reverse=True))


def read_libraries(data_set: str) -> dict[str, float]:
    """Library -> the nDCG@5 that it returned for a data set, called in its plainest way; NaN is left out."""
    found = {}
    for path in sorted(GOLDENS.glob("*.json")):
        if not path.stem.startswith("fixture") and not path.stem.endswith("weights"):
            records = json.loads(path.read_text(encoding="utf-8"))["records"]
            values = (one.get("value") for one in records if _is_ndcg(one, data_set))
            value = next((one for one in values if isinstance(one, float)), None)
            if value is not None:
                found[path.stem] = value
    return found


def _is_ndcg(record: Mapping[str, Any], data_set: str) -> bool:
    name = record["metric"].lower()
    wanted = (record["fixture"], record["cutoff"], record["ids"]) == (data_set, 5, "int")
    # BEIR leaves out a document with the id of its query, which here is chance: users and items are numbered alike.
    by_chance = record.get("params", {}).get("ignore_identical_ids", False)
    return wanted and not by_chance and ("ndcg" in name or "normalizeddcg" in name)


def make_systems() -> tuple[Sample, dict[str, pa.Table]]:
    """The sample, and three systems on it: popular items, neighbors, and neighbors for the surest half of the users."""
    data = sample()
    neighbors = data.systems["neighbors"]
    best = neighbors.group_by("user_id").aggregate([("score", "max")]).sort_by([("score_max", "descending")])
    surest = best["user_id"].slice(0, best.num_rows // 2)
    cautious = neighbors.filter(pc.is_in(neighbors["user_id"], value_set=surest.combine_chunks()))
    return data, {"popular": data.systems["popular"], "neighbors": neighbors, "cautious": cautious}


def compare_systems(
    names: Iterable[str] = ("nDCG@10", "trec_eval:ndcg_cut@10", "rectools:NDCG@10"),
) -> dict[str, dict[str, float]]:
    """System -> name of nDCG -> its value."""
    data, systems = make_systems()
    return {
        one: dict(bridgeval.evaluate(recs, data.truth, list(names), progress=False)) for one, recs in systems.items()
    }


@contextmanager
def _figure(path: Path, width: float, height: float) -> Any:
    """An axis to draw on; the same drawing gives the same file."""
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "bridgeval", "font.size": 11, "svg.fonttype": "none"}):
        figure, axis = plt.subplots(figsize=(width, height))
        axis.spines[["top", "right", "left"]].set_visible(False)
        yield axis
        figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


def draw_ndcgs(path: Path) -> None:
    """Draws a row for each value, with the evaluators that give it."""
    groups = group_ndcgs()
    with _figure(path, 7.5, 0.5 * len(groups) + 0.6) as axis:
        axis.hlines(range(len(groups)), 0, list(groups), color=BLUE, linewidth=2)
        axis.plot(list(groups), range(len(groups)), "o", color=BLUE, markersize=7)
        for row, (value, evaluators) in enumerate(groups.items()):
            (names, *rest) = textwrap.wrap(", ".join(evaluators), 30)
            more = f" ... ({len(evaluators)})" if rest else ""
            axis.annotate(f"{value:.4f}", (value, row), (8, 0), textcoords="offset points", va="center", weight="bold")
            axis.annotate(names.rstrip(",") + more, (0.8, row), va="center", color=GRAY, annotation_clip=False)
        axis.set(yticks=[], xlabel="nDCG@5 of the same five users", xlim=(0, 0.78), ylim=(len(groups) - 0.5, -0.5))


def draw_libraries(path: Path) -> None:
    """Draws the values that libraries gave for each data set, a dot for each library."""
    with _figure(path, 7.5, 2.6) as axis:
        for row, (data_set, special) in enumerate(DATA_SETS.items()):
            places: dict[float, int] = {}
            for value in sorted(read_libraries(data_set).values()):
                near = round(value * 80)
                places[near] = places.get(near, -1) + 1
                axis.plot(value, row - 0.075 * places[near], "o", color=BLUE, markersize=5, alpha=0.75)
            axis.annotate(special, (0.78, row), va="center", color=GRAY, annotation_clip=False)
        axis.set(yticks=[], xlim=(0, 0.76), ylim=(len(DATA_SETS) - 0.6, -1.2), xlabel="nDCG@5, a dot for each library")


def draw_winners(path: Path) -> None:
    """Draws the three systems under three definitions."""
    values = compare_systems()
    definitions = list(values["popular"])
    with _figure(path, 7.5, 3.4) as axis:
        for at, (system, color) in enumerate(zip(values, (GRAY, BLUE, ORANGE), strict=True)):
            bars = axis.barh(
                [row + 0.27 * (at - 1) for row in range(len(definitions))],
                list(values[system].values()),
                0.25,
                color=color,
                label=system,
            )
            axis.bar_label(bars, fmt="%.4f", padding=4)
        axis.set(
            yticks=range(len(definitions)),
            yticklabels=definitions,
            xlabel="nDCG@10",
            ylim=(len(definitions) - 0.5, -0.5),
        )
        axis.tick_params(left=False)
        axis.legend(frameon=False, loc="lower right")
