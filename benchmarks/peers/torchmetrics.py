"""torchmetrics: its retrieval metrics, in two `MetricCollection`s that share their state.

torchmetrics evaluates rows (user, score, relevance) and knows nothing of items. The rows given to it are what
was shown, and, so that it can count all relevant items, those that were not shown with a score below all.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
from _common import Option, Peer, PerUser, Question, Values, main

OPTIONS: dict[str, Option] = {"empty_target_action": "neg", "adaptive_k": False}
GRADED = ("nDCG",)
"""Metrics that take grades; the others refuse targets that are not 0 or 1."""


class Rows(NamedTuple):
    """All (user, item) pairs that were shown or relevant, as tensors [n], with the user of each code."""

    codes: Any
    scores: Any
    grades: Any
    users: list[str]


def evaluate(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Values:
    """Means over users, by torchmetrics' own aggregation."""
    computed = results(rows(recommendations, truth), question)
    return {name: value.item() for name, value in computed.items()}


def per_user(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> PerUser:
    """The values of every user, which torchmetrics hands to a custom aggregation in the order of codes."""
    given = rows(recommendations, truth)
    users = given.users
    if question.options["empty_target_action"] == "skip":
        with_truth = set(given.codes[given.grades > 0].tolist())
        users = [user for code, user in enumerate(users) if code in with_truth]
    computed = results(given, question, aggregation=lambda values, dim: values)
    return {name: dict(zip(users, values.tolist(), strict=True)) for name, values in computed.items()}


def rows(recommendations: pd.DataFrame, truth: pd.DataFrame) -> Rows:
    """The outer join of what was shown and what was relevant."""
    import torch

    pairs = recommendations.merge(truth, on=["user_id", "item_id"], how="outer")
    codes, users = pd.factorize(pairs["user_id"])
    unshown = min(recommendations["score"].min(), 0.0) - 1.0
    return Rows(
        torch.from_numpy(codes),
        torch.from_numpy(pairs["score"].fillna(unshown).to_numpy(copy=True)),
        torch.from_numpy(pairs["relevance"].fillna(0).to_numpy("int64", copy=True)),
        [str(user) for user in users],
    )


def results(given: Rows, question: Question, aggregation: Any = "mean") -> dict[str, Any]:
    """Tensors by our names, in the order asked for."""
    from torchmetrics import MetricCollection

    made = metrics(question, aggregation)
    computed = {}
    for graded, target in ((True, given.grades), (False, (given.grades > 0).long())):
        chosen = {name: metric for name, metric in made.items() if (name.split("@")[0] in GRADED) is graded}
        if chosen:
            collection = MetricCollection(chosen)
            collection.update(given.scores, target, indexes=given.codes)
            computed |= collection.compute()
    return {name: computed[name] for name in made}


def metrics(question: Question, aggregation: Any) -> dict[str, Any]:
    """The metric objects of torchmetrics by our names."""
    from torchmetrics import retrieval

    classes = {
        "Precision": retrieval.RetrievalPrecision,
        "Recall": retrieval.RetrievalRecall,
        "nDCG": retrieval.RetrievalNormalizedDCG,
        "MAP": retrieval.RetrievalMAP,
        "MRR": retrieval.RetrievalMRR,
        "HitRate": retrieval.RetrievalHitRate,
    }
    made = {}
    for name, k in question.pairs():
        keywords = {"adaptive_k": question.options["adaptive_k"]} if name == "Precision" else {}
        made[f"{name}@{k}"] = classes[name](
            top_k=k,
            empty_target_action=question.options["empty_target_action"],
            aggregation=aggregation,
            **keywords,
        )
    return made


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """The definitions of torchmetrics under the options; it computes in float32."""
    users = {
        "neg": "all users given; one without truth scores 0",
        "pos": "all users given; one without truth scores 1",
        "skip": "users with truth",
    }
    short = "in lists shorter than k, relevant items that were not shown count as shown last"
    return {
        "users": users.get(str(options["empty_target_action"]), "all users given, each with truth"),
        "Precision": "hits / min(k, rows of the user)" if options["adaptive_k"] else "hits / k",
        "Recall": "hits / relevant",
        "nDCG": f"gain relevance, log2(rank + 1), ideal list of the k best gains, ties averaged; {short}",
        "MAP": "mean of precision at hits: divided by the hits within k",
        "MRR": "1 / rank of the first hit within k, else 0",
        "HitRate": f"1 if there is a hit within k, else 0; {short}",
    }


if __name__ == "__main__":
    main(Peer("torchmetrics", "torchmetrics", evaluate, per_user, definitions, options=OPTIONS))
