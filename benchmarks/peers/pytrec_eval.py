"""pytrec_eval (pytrec_eval-terrier): `RelevanceEvaluator` on nested dictionaries; the caller averages."""

from collections.abc import Mapping

import pandas as pd
from _common import Option, Peer, PerUser, Question, Values, main, nested_dicts

OPTIONS: dict[str, Option] = {"relevance_level": 1, "judged_docs_only_flag": False, "missing_as_zero": False}
NAMES = {"Precision": "P", "Recall": "recall", "nDCG": "ndcg_cut", "MAP": "map_cut", "HitRate": "success"}


def evaluate(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Values:
    """Means over the users that pytrec_eval returns, or over all users with truth (`missing_as_zero`)."""
    relevant = nested_dicts(truth, "relevance")
    results = user_results(recommendations, relevant, question)
    users = len(relevant) if question.options["missing_as_zero"] else len(results)
    return {
        ours: sum(result[theirs] for result in results.values()) / users if users else float("nan")
        for ours, theirs in measures(question).items()
    }


def per_user(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> PerUser:
    """The values that pytrec_eval returns, by metric instead of by user."""
    results = user_results(recommendations, nested_dicts(truth, "relevance"), question)
    return {
        ours: {user: result[theirs] for user, result in results.items()} for ours, theirs in measures(question).items()
    }


def user_results(
    recommendations: pd.DataFrame, relevant: dict[str, dict[str, int]], question: Question
) -> dict[str, dict[str, float]]:
    """User -> pytrec_eval's name of the measure -> value."""
    from pytrec_eval import RelevanceEvaluator

    evaluator = RelevanceEvaluator(
        relevant,
        set(measures(question).values()),
        relevance_level=question.options["relevance_level"],
        judged_docs_only_flag=question.options["judged_docs_only_flag"],
    )
    return evaluator.evaluate(nested_dicts(recommendations, "score"))


def measures(question: Question) -> dict[str, str]:
    """Our names -> pytrec_eval's. Its reciprocal rank has no cutoff, so that it stands once, as "MRR"."""
    named = {}
    for metric, k in question.pairs():
        if metric == "MRR":
            named["MRR"] = "recip_rank"
        else:
            named[f"{metric}@{k}"] = f"{NAMES[metric]}_{k}"
    return named


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """pytrec_eval's definitions under the options."""
    complete = "users with truth; one without recommendations scores 0"
    return {
        "users": complete if options["missing_as_zero"] else "users with both truth and recommendations",
        "Precision": "hits / k",
        "Recall": "hits / relevant",
        "nDCG": "gain relevance, log2(rank + 1), ideal list of the k best gains",
        "MAP": "sum of precision at hits / relevant",
        "MRR": "1 / rank of the first hit in the whole list: no cutoff",
        "HitRate": "1 if there is a hit within k, else 0",
    }


if __name__ == "__main__":
    main(Peer("pytrec_eval", "pytrec_eval-terrier", evaluate, per_user, definitions, options=OPTIONS))
