"""Run by the interpreter of RePlay's environment: RePlay's own values of the data on standard input, as JSON.

The request has kind, modes, metrics, ks, alpha, recs, truth, train and base, and users whom mappings name with an empty
list where they have no rows; the answer maps each key of
OfflineMetrics to a number or to [user, value] pairs.
"""

import json
import logging
import os
import sys
import warnings

import pandas as pd

COLUMNS = ["query_id", "item_id", "rating", "category_id"]


def frame(rows, kind):
    made = pd.DataFrame(rows, columns=COLUMNS[: len(rows[0])])
    if kind == "polars":
        import polars

        return polars.from_pandas(made)
    if kind == "spark":
        return session().createDataFrame(rows, COLUMNS[: len(rows[0])])
    return made


def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    logging.getLogger("py4j").setLevel(logging.ERROR)
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()


def lists(rows, scored, empty):
    made = {user: [] for user in empty}
    for user, item, score, *_ in rows:
        made.setdefault(user, []).append((item, score) if scored else item)
    return made


def data(request):
    if request["kind"] == "dict":
        scored = ("recs", "base")
        return [lists(request[name], name in scored, request["empty"]) for name in ("recs", "truth", "train", "base")]
    return [frame(request[name], request["kind"]) for name in ("recs", "truth", "train", "base")]


def metrics(request, library):
    modes = {"ConfidenceInterval": lambda: library.ConfidenceInterval(request["alpha"])}
    for name in request["metrics"]:
        if name == "Coverage":
            yield library.Coverage(request["ks"])
            continue
        for mode in request["modes"]:
            yield getattr(library, name)(request["ks"], mode=modes.get(mode, getattr(library, mode))())


def main():
    from replay import metrics as library

    request = json.load(sys.stdin)
    recs, truth, train, base = data(request)
    found = library.OfflineMetrics(list(metrics(request, library)))(recs, truth, train, base)
    found |= own(library)(request["ks"])(recs, truth)
    plain = {key: list(map(list, value.items())) if isinstance(value, dict) else value for key, value in found.items()}
    print("ANSWER " + json.dumps(plain))


def own(library):
    """A metric of one's own by the newer contract: the place of the first hit, 0 for none."""

    class FirstHit(library.Metric):
        @staticmethod
        def _get_metric_value_by_user(ks, ground_truth, pred):
            places = [place for place, item in enumerate(pred or [], start=1) if item in ground_truth]
            return [float(places[0]) if places and places[0] <= k else 0.0 for k in ks]

    return FirstHit


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
