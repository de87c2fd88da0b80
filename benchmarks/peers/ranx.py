"""ranx: `Run.from_df`, `Qrels.from_df` and `evaluate`."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from _common import Option, Peer, PerUser, Question, Values, main, strings

OPTIONS: dict[str, Option] = {"make_comparable": True, "rel_lvl": 1, "ndcg": "ndcg", "threads": 0}
NAMES = {"Precision": "precision", "Recall": "recall", "MAP": "map", "MRR": "mrr", "HitRate": "hit_rate"}


def evaluate(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Values:
    """The means that ranx leaves in the run."""
    run = evaluated_run(recommendations, truth, question)
    return {ours: run.mean_scores[theirs] for ours, theirs in specs(question).items()}


def per_user(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> PerUser:
    """The per-user values that ranx leaves in the run."""
    run = evaluated_run(recommendations, truth, question)
    return {ours: dict(run.scores[theirs]) for ours, theirs in specs(question).items()}


def evaluated_run(recommendations: pd.DataFrame, truth: pd.DataFrame, question: Question) -> Any:
    """A ranx run that holds its scores, per user and averaged (`save_results_in_run`, ranx's default)."""
    from ranx import Qrels, Run, evaluate as ranx_evaluate

    run = Run.from_df(table(recommendations, "score", "float64"))
    qrels = Qrels.from_df(table(truth, "relevance", "int64"))
    ranx_evaluate(
        qrels,
        run,
        list(specs(question).values()),
        make_comparable=question.options["make_comparable"],
        threads=question.options["threads"],
    )
    return run


def table(frame: pd.DataFrame, value: str, dtype: str) -> pd.DataFrame:
    """A frame with the columns and types that ranx demands: ids as Python strings in object columns."""
    return pd.DataFrame(
        {
            "q_id": pd.Series(strings(frame["user_id"]), dtype=object),
            "doc_id": pd.Series(strings(frame["item_id"]), dtype=object),
            "score": frame[value].to_numpy(dtype),
        }
    )


def specs(question: Question) -> dict[str, str]:
    """Our names -> ranx's, such as "nDCG@10" -> "ndcg@10-l1"."""
    names = NAMES | {"nDCG": question.options["ndcg"]}
    level = question.options["rel_lvl"]
    return {f"{metric}@{k}": f"{names[metric]}@{k}-l{level}" for metric, k in question.pairs()}


def definitions(options: Mapping[str, Option]) -> dict[str, str]:
    """The definitions of ranx under the options."""
    gain = "2^relevance - 1" if options["ndcg"] == "ndcg_burges" else "relevance"
    return {
        "users": "users with truth; one without recommendations scores 0 (make_comparable)",
        "Precision": "hits / k",
        "Recall": "hits / relevant",
        "nDCG": f"gain {gain}, log2(rank + 1), ideal list of the k best gains",
        "MAP": "sum of precision at hits / relevant",
        "MRR": "1 / rank of the first hit within k, else 0",
        "HitRate": "1 if there is a hit within k, else 0",
    }


if __name__ == "__main__":
    main(Peer("ranx", "ranx", evaluate, per_user, definitions, options=OPTIONS))
