"""RecTools: `calc_metrics` on pandas frames."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from _common import Option, Peer, PerUser, Question, Values, main

OPTIONS: dict[str, Option] = {
    "rank_by": "score",
    "r_precision": False,
    "divide_by_achievable": False,
    "log_base": 2,
    "divide_by_k": False,
}


def evaluate(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Values:
    """All metrics in one call, which shares its joins between them."""
    from rectools.metrics import calc_metrics

    asked = metrics(question)
    values = calc_metrics(asked, with_ranks(recommendations, question), truth)
    return {name: values[name] for name in asked}


def per_user(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> PerUser:
    """One call for each metric: RecTools gives per-user values only so."""
    ranked = with_ranks(recommendations, question)
    series = {name: metric.calc_per_user(ranked, truth) for name, metric in metrics(question).items()}
    return {name: {str(user): value for user, value in values.items()} for name, values in series.items()}


def with_ranks(recommendations: pd.DataFrame, question: Question) -> pd.DataFrame:
    """RecTools takes ranks from 1 instead of scores.

    `rank_by=order` takes each user's rows as they come, which is faster, and right where they are ranked.
    """
    scores = recommendations.groupby("user_id", sort=False)["score"]
    if question.options["rank_by"] == "order":
        return recommendations.assign(rank=scores.cumcount() + 1)
    return recommendations.assign(rank=scores.rank(method="first", ascending=False).astype(int))


def metrics(question: Question) -> dict[str, Any]:
    """RecTools' metric objects by our names."""
    from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

    option = question.options
    classes = {
        "Precision": (Precision, {"r_precision": option["r_precision"]}),
        "Recall": (Recall, {}),
        "nDCG": (
            NDCG,
            {"log_base": option["log_base"], "divide_by_achievable": option["divide_by_achievable"]},
        ),
        "MAP": (MAP, {"divide_by_k": option["divide_by_k"]}),
        "MRR": (MRR, {}),
        "HitRate": (HitRate, {}),
    }
    made = {}
    for name, k in question.pairs():
        metric, keywords = classes[name]
        made[f"{name}@{k}"] = metric(k=k, **keywords)
    return made


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """RecTools' definitions under the options."""
    ideal = "min(k, relevant) hits" if options["divide_by_achievable"] else "k hits, whatever the user has"
    return {
        "users": "users with truth; one without recommendations scores 0",
        "Precision": "hits / min(k, relevant)" if options["r_precision"] else "hits / k",
        "Recall": "hits / relevant",
        "nDCG": f"binary gain, log{options['log_base']}(rank + 1), ideal list of {ideal}",
        "MAP": "sum of precision at hits / k" if options["divide_by_k"] else "sum of precision at hits / relevant",
        "MRR": "1 / rank of the first hit within k, else 0",
        "HitRate": "1 if there is a hit within k, else 0",
    }


if __name__ == "__main__":
    main(Peer("RecTools", "rectools", evaluate, per_user, definitions, options=OPTIONS))
