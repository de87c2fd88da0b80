"""bridgeval itself, asked and measured as the peers are. Run by an interpreter that has it installed."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from _common import BINARY_DEFINITIONS, METRICS, Frame, Option, Peer, PerUser, Question, Values, main

OPTIONS: dict[str, Option] = {"convention": "", "memory": "", "task": "evaluate"}
CONVENTIONS = {
    "": METRICS,
    "ranx": ("precision", "recall", "ndcg", "map", "mrr", "hit_rate"),
    "rectools": ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate"),
    "replay": ("Precision", "Recall", "NDCG", "MAP", "MRR", "HitRate"),
    "trec_eval": ("P", "recall", "ndcg_cut", "map_cut", "recip_rank", "success"),
}
"""Whose definitions -> that library's names of `METRICS`."""
PARTS = {
    "F1": '(metric_1="nDCG", metric_2="MAP")',
    "EucDistance": '(metrics=["nDCG", "MAP"], utopia=[1.0, 1.0])',
    "Hypervolume": '(metrics=["nDCG", "MAP"], nadir=[0.0, 0.0])',
    "UserMADRanking": '(metric="nDCG")',
}
"""What metrics that are made of others are made of."""
CONTEXTS: dict[int, dict[str, Any]] = {}
"""Identity of a frame of truth -> the context made for it."""


def evaluate(recommendations: Frame, truth: Frame, question: Question) -> Values:
    """One of three tasks: the metrics asked for, every native metric that these lists can answer, or only reading."""
    tasks = {"evaluate": asked_values, "every": every_value, "read": nothing}
    return tasks[str(question.options["task"])](recommendations, truth, question)


def per_user(recommendations: Frame, truth: Frame, question: Question) -> PerUser:
    """Every user's values."""
    report = asked(recommendations, truth, question, per_user=True)
    frames = {ours: report.per_user(theirs) for ours, theirs in names(question).items()}
    return {name: dict(zip(map(str, frame["user"]), frame["value"], strict=True)) for name, frame in frames.items()}


def asked_values(recommendations: Frame, truth: Frame, question: Question) -> Values:
    """Under our names, whatever the convention calls them."""
    report = asked(recommendations, truth, question)
    return {ours: report[theirs] for ours, theirs in names(question).items()}


def asked(recommendations: Frame, truth: Frame, question: Question, **more: Any) -> Any:
    """The report."""
    import bridgeval

    convention, memory = str(question.options["convention"]), question.options["memory"]
    theirs = list(names(question).values())
    return bridgeval.evaluate(
        recommendations, truth, theirs, convention=convention or None, memory=memory or None, **more
    )


def names(question: Question) -> dict[str, str]:
    """Our names -> those of the convention."""
    theirs = dict(zip(METRICS, CONVENTIONS[str(question.options["convention"])], strict=True))
    return {f"{metric}@{k}": f"{theirs[metric]}@{k}" for metric, k in question.pairs()}


def every_value(recommendations: Frame, truth: Frame, question: Question) -> Values:
    """All native metrics that such lists can answer, at the cutoffs asked for, with a context beside them."""
    import bridgeval

    # Made in the first of the calls that are measured, of which the median counts.
    if id(truth) not in CONTEXTS:
        CONTEXTS[id(truth)] = context_of(truth)
    report = bridgeval.evaluate(recommendations, truth, answerable(question.ks), **CONTEXTS[id(truth)])
    return {name: value for name, value in report.items() if value is not None}


def context_of(truth: pd.DataFrame) -> dict[str, Any]:
    """A history, groups and features that look like those of real data, out of the truth."""
    history = truth[["user_id", "item_id"]].assign(item_id=truth["item_id"].to_numpy()[::-1])
    items, users = (pd.Series(truth[column].unique()) for column in ("item_id", "user_id"))
    return {
        "history": history,
        "item_groups": pd.DataFrame({"item_id": items, "group": items.index % 3}),
        "user_groups": pd.DataFrame({"user_id": users, "group": users.index % 2}),
        "item_features": pd.DataFrame({"item_id": items, "feature": items.index % 20}),
    }


@cache
def answerable(ks: tuple[int, ...]) -> list[str]:
    """Native metrics that need no more than lists, relevance and a context: no logged policy, no whole ranking."""
    import bridgeval
    from bridgeval.errors import NeedError, SpecError

    truth = pd.DataFrame({"user_id": [1, 2], "item_id": ["b", "a"]})
    lists = {1: {"a": 0.9, "c": 0.5}, 2: {"b": 0.7, "c": 0.1}}
    chosen = []
    for name in bridgeval.metrics.__all__:
        called = f"{name}{PARTS.get(name, '')}"
        for asked_for in (f"{called}@{','.join(map(str, ks))}", called):
            try:
                bridgeval.evaluate(lists, truth, asked_for, catalogue=list("abcdef"), **context_of(truth))
            except (NeedError, SpecError):
                continue
            chosen.append(asked_for)
            break
    return chosen


def nothing(recommendations: Path, truth: Path, question: Question) -> Values:
    """Only reads the files, into pandas frames."""
    pd.read_parquet(recommendations)
    pd.read_parquet(truth)
    return {}


def read_polars(path: Path) -> Frame:
    """A polars frame in memory."""
    import polars

    return polars.read_parquet(path)


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """The native definitions, on binary relevance."""
    return dict(BINARY_DEFINITIONS)


READERS = {"pandas": pd.read_parquet, "polars": read_polars, "file": lambda path: path}

if __name__ == "__main__":
    main(Peer("bridgeval", "bridgeval", evaluate, per_user, definitions, readers=READERS, options=OPTIONS))
