"""Run by the interpreter of a library's environment: that library's numbers for the cases on standard input, as JSON.

    python -P peer_runner.py ranx < cases.json

A case has `shown`, a list of [user, [[item, score or rank], ...]], `truth`, a list of [user, [[item, gain], ...]],
`items`, the catalogue in order, and `ks`. The answer has one entry for each case: numbers by the names that bridgeval's
convention has for them, or the error of the library. A function for each library; all cases run in one process.
"""

import json
import logging
import sys
import warnings


def ranx(case):
    import ranx

    names = ["precision", "recall", "hit_rate", "hits", "map", "mrr", "ndcg", "ndcg_burges"]
    asked = [f"{name}@{k}" for name in names for k in case["ks"]] + ["r-precision"]
    qrels, run = ranx.Qrels(nested(case["truth"], int)), ranx.Run(nested(case["shown"], float))
    found = ranx.evaluate(qrels, run, asked, make_comparable=True)
    return {name.replace("r-precision", "r_precision"): value for name, value in found.items()}


def pytrec_eval(case):
    import pytrec_eval

    names = {"P", "recall", "success", "map_cut", "ndcg_cut"}
    cuts = ",".join(map(str, case["ks"]))
    measures = {f"{name}.{cuts}" for name in names} | {"recip_rank", "Rprec"}
    evaluator = pytrec_eval.RelevanceEvaluator(nested(case["truth"], int), measures)
    by_query = list(evaluator.evaluate(nested(case["shown"], float)).values())
    means = {key: sum(one[key] for one in by_query) / len(by_query) for key in by_query[0]}
    # P_5 is P@5; recip_rank has no cutoff.
    found = {"@".join(name.rsplit("_", 1)): mean for name, mean in means.items() if name[-1].isdigit()}
    return found | {"recip_rank@1000": means["recip_rank"], "Rprec": means["Rprec"]}


def lenskit(case):
    from lenskit.data import ItemList, ItemListCollection
    from lenskit.metrics import NDCG, Hit, Precision, Recall, RecipRank, RunAnalysis

    def collect(side, **how):
        lists = ItemListCollection(["user_id"])
        for user, rows in side:
            lists.add(ItemList(item_ids=[item for item, _ in rows], **how), user_id=user)
        return lists

    ranked = [[user, sorted(rows, key=lambda row: -row[1])] for user, rows in case["shown"]]
    metrics = [metric(k) for metric in (Precision, Recall, Hit, RecipRank, NDCG) for k in case["ks"]]
    found = RunAnalysis(*metrics).measure(collect(ranked, ordered=True), collect(case["truth"]))
    return found.list_summary()["mean"].to_dict()


def irspack(case):
    import numpy as np
    from irspack.evaluation import Evaluator

    truth, shown = matrices(case)
    scores = np.full(shown.shape, -np.inf)
    scores[shown.row, shown.col] = shown.data
    evaluator = Evaluator(truth.tocsr(), n_threads=1)
    found = evaluator.get_scores_from_score_matrix(scores, case["ks"])
    wanted = ("precision", "recall", "hit", "ndcg", "map")
    return {name: value for name, value in found.items() if name.split("@")[0] in wanted}


def recpack(case):
    from recpack import metrics
    from recpack.util import to_binary

    truth, shown = (matrix.tocsr() for matrix in matrices(case))
    names = ["PrecisionK", "RecallK", "CalibratedRecallK", "NDCGK", "ReciprocalRankK", "HitK"]
    found = {}
    for name in names:
        for k in case["ks"]:
            metric = getattr(metrics, name)(k)
            metric.calculate(to_binary(truth), shown)
            found[f"{name}@{k}"] = metric.value
    return found


def rectools(case):
    from rectools import Columns, metrics

    names = ["Precision", "Recall", "HitRate", "MAP", "MRR", "NDCG"]
    asked = {f"{name}@{k}": getattr(metrics, name)(k) for name in names for k in case["ks"]}
    asked |= {f"Precision(divide_by='relevant')@{k}": metrics.Precision(k, r_precision=True) for k in case["ks"]}
    truth = frame(case["truth"], [Columns.User, Columns.Item, Columns.Weight])
    shown = frame(case["shown"], [Columns.User, Columns.Item, Columns.Rank])
    return metrics.calc_metrics(asked, shown, truth)


def replay(case):
    from replay import metrics

    names = ["Precision", "Recall", "HitRate", "MAP", "MRR", "NDCG", "RocAuc"]
    truth = frame(case["truth"], ["query_id", "item_id", "rating"])
    shown = frame(case["shown"], ["query_id", "item_id", "rating"])
    return metrics.OfflineMetrics([getattr(metrics, name)(case["ks"]) for name in names])(shown, truth)


def recommenders(case):
    from recommenders.evaluation import python_evaluation as library

    truth = frame(case["truth"], ["userID", "itemID", "rating"])
    shown = frame(case["shown"], ["userID", "itemID", "prediction"])
    names = ["precision_at_k", "recall_at_k", "ndcg_at_k", "map", "map_at_k"]
    return {f"{name}@{k}": getattr(library, name)(truth, shown, k=k) for name in names for k in case["ks"]}


def nested(side, kind):
    return {str(user): {str(item): kind(number) for item, number in rows} for user, rows in side}


def frame(side, columns):
    import pandas as pd

    return pd.DataFrame([[user, *row] for user, rows in side for row in rows], columns=columns)


def matrices(case):
    """Truth and scores, users and items in ascending order."""
    from scipy.sparse import coo_matrix

    sides = [case["truth"], case["shown"]]
    users = {user: row for row, user in enumerate(sorted({user for side in sides for user, _ in side}))}
    columns = {item: column for column, item in enumerate(case["items"])}
    for side in sides:
        cells = [(number, users[user], columns[item]) for user, rows in side for item, number in rows]
        numbers, rows, places = zip(*cells, strict=True) if cells else ((), (), ())
        yield coo_matrix((numbers, (rows, places)), shape=(len(users), len(columns)), dtype=float)


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    answers = []
    for case in json.load(sys.stdin):
        try:
            answers.append({name: float(value) for name, value in globals()[sys.argv[1]](case).items()})
        except Exception as error:
            answers.append({"error": f"{type(error).__name__}: {error}"[:200]})
    print("ANSWER " + json.dumps(answers))


if __name__ == "__main__":
    main()
