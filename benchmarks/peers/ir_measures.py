"""ir_measures: `calc_aggregate` on nested dictionaries, which it takes without converting them again."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from _common import Option, Peer, PerUser, Question, Values, main, nested_dicts

OPTIONS: dict[str, Option] = {"rel": 1, "dcg": "log2"}


def evaluate(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Values:
    """Means over users, by ir_measures' own aggregation."""
    from ir_measures import calc_aggregate

    asked = measures(question)
    relevant, shown = nested_dicts(truth, "relevance"), nested_dicts(recommendations, "score")
    means = calc_aggregate(asked.values(), relevant, shown)
    return {name: means[measure] for name, measure in asked.items()}


def per_user(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> PerUser:
    """The stream of ir_measures' per-user values, sorted into ours."""
    from ir_measures import iter_calc

    asked = measures(question)
    names = {measure: name for name, measure in asked.items()}
    values: PerUser = {name: {} for name in asked}
    relevant, shown = nested_dicts(truth, "relevance"), nested_dicts(recommendations, "score")
    for result in iter_calc(asked.values(), relevant, shown):
        values[names[result.measure]][result.query_id] = result.value
    return values


def measures(question: Question) -> dict[str, Any]:
    """ir_measures' measures by our names."""
    from ir_measures import AP, RR, P, R, Success, nDCG

    rel = question.options["rel"]
    bases = {
        "Precision": P(rel=rel),
        "Recall": R(rel=rel),
        "nDCG": nDCG(dcg=question.options["dcg"]),
        "MAP": AP(rel=rel),
        "MRR": RR(rel=rel),
        "HitRate": Success(rel=rel),
    }
    return {f"{metric}@{k}": bases[metric] @ k for metric, k in question.pairs()}


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """ir_measures' definitions under the options."""
    gain = "2^relevance - 1" if options["dcg"] == "exp-log2" else "relevance"
    return {
        "users": "users with truth; one without recommendations scores 0",
        "Precision": "hits / k",
        "Recall": "hits / relevant",
        "nDCG": f"gain {gain}, log2(rank + 1), ideal list of the k best gains",
        "MAP": "sum of precision at hits / relevant",
        "MRR": "1 / rank of the first hit within k, else 0 (its MS MARCO provider)",
        "HitRate": "1 if there is a hit within k, else 0",
    }


if __name__ == "__main__":
    main(Peer("ir_measures", "ir_measures", evaluate, per_user, definitions, options=OPTIONS))
