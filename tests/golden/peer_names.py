"""Which name of which convention a record of the peers' golden files asks for, or why none is meant to give it.

A library's function takes a record and returns an `Asked`. `outside` reasons refer to the notes on conventions: what a
library's row there leaves out on purpose.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from bridgeval.engine.metric import literal
from bridgeval.errors import BridgevalError
from bridgeval.spec import parse
from tests.golden.peer_feeds import Person, World, close_world, drop_own_ids, drop_zeros, relabel
from tests.golden.peer_ties import NoOrder, never_stable

Record = dict[str, Any]

# Compared to 1e-6: they compute in float32.
FLOAT32 = {
    "recbole gauc",
    "lenskit ExposureGini",
    "torchmetrics",
    "torcheval",
    "torch_geometric",
    "rax",
    "keras-rs",
    "lightfm",
}
# Library -> the number of places that it rounds a record to.
ROUNDED: dict[str, Callable[[Record], int | None]] = {
    "beir": lambda record: 5,
    "mteb": lambda record: None if record["metric"].startswith("MRR") else 5,
    "ir_measures": lambda record: 5 if "exp-log2" in record["metric"] or record["metric"].startswith("ERR") else None,
    "recmetrics": lambda record: (
        4 if record["metric"].startswith("recommender_") else 2 if "coverage" in record["metric"] else None
    ),
}

DEFECT = "a defect of the library that more-conventions.md labels"
LONGEST = "a cutoff beyond the longest list (more-conventions.md 6.1.18)"
MEAN_RANKS = "equal scores have their mean rank there, so that a group of them is in the first k places or is not"
LONGER = "lists of more than the n items that were named: all of them are added up, and divided by n"
RANDOM = "k lists are drawn at random, without a seed"
FILLED = "short lists were filled up with one item, which counts once for each place of the earlier of two lists"
OTHER = "another measure than those of more-conventions.md"


@dataclass(frozen=True)
class Asked:
    """A question for `evaluate`.

    Attributes:
        metric: a name of a convention.
        change: of the data, beside the feed.
        outside: why nothing here is meant to give the record.
        value_outside: the same of the value alone, not of users.
        unshown_outside: the same of users to whom nothing was shown.
        spreads: whether a user of the fixture without a value makes the mean NaN, as a plain mean does.
        no_order: which equal scores have no order in this metric; None if all have one.
        parts: of a value that has several numbers, which name each asks for, by its keys.
        extras: what else was given, see `EXTRAS`.
        pick: the number of theirs, of a value that has several.
        finish_user: from our value of a user to theirs.
    """

    metric: str = ""
    change: Callable[[World], World] | None = None
    outside: str = ""
    value_outside: str = ""
    unshown_outside: str = ""
    spreads: bool = False
    no_order: NoOrder | None = None
    parts: dict[tuple[str | int, ...], str] = field(default_factory=dict)
    extras: tuple[str, ...] = ()
    pick: Callable[[Any], Any] = lambda value: value
    finish_user: Callable[[float], float] = float


def ask(library: str, record: Record) -> Asked:
    """The question that a record asks; of a metric without a name here, that it is outside."""
    if library not in LIBRARIES:
        return Asked(outside="no convention of this library")
    asked = LIBRARIES[library](record)
    if asked.outside or "error" in record:
        return asked
    try:
        parse(asked.metric)
    except BridgevalError as error:
        return Asked(outside=f"{OTHER}: {error}")
    return asked


def write(toolkit: str, metric: str, params: Record | None = None, k: int | None = None) -> str:
    given = ", ".join(f"{name}={literal(value)}" for name, value in (params or {}).items())
    return f"{toolkit}:{metric}" + (f"({given})" if given else "") + ("" if k is None else f"@{k}")


def _binary(world: World) -> World:
    return relabel(world, _is_positive)


def _is_positive(gain: float) -> float:
    return float(gain > 0)


def _quarter(world: World) -> World:
    return relabel(world, lambda gain: gain / 4)


# A cutoff beyond the end of every list.
EVERYTHING = 1000
LABELS = {"gain > 0": _binary, "gain / 4": _quarter, "gains": None}


def _params(record: Record, *names: str) -> Record:
    return {name: record["params"][name] for name in names if name in record["params"]}


def _bare(record: Record) -> str:
    """The metric without its cutoff."""
    return re.sub(r"@(-?\d+)$", "", record["metric"])


def trec_eval(record: Record) -> Asked:
    metric, level = record["metric"], record["params"]["relevance_level"]
    (own,) = parse(f"trec_eval:{metric}")
    name = f"trec_eval:{metric}"
    graded = own.name in ("nDCG", "HitnDCG") or metric == "G"
    if level != 1 and not graded:
        head, at, k = str(own).partition("@")
        given = f"relevance_level={level}"
        name = (f"{head[:-1]}, {given})" if head.endswith(")") else f"{head}({given})") + at + k
    geometric = metric.startswith("gm_")
    return Asked(name, finish_user=(lambda value: math.log(max(value, 1e-5))) if geometric else float)


def ranx(record: Record) -> Asked:
    metric = record["metric"]
    if metric.startswith("bpref"):
        return Asked(outside="ranx's bpref is not trec_eval's (more-conventions.md 6.1.9)")
    return Asked(f"ranx:{metric}", no_order=_is_long)


def _is_long(one: Person, score: float) -> bool:
    """Ranx sorts lists of up to 15 rows in a stable way (more-conventions.md 6.1.7)."""
    return len(one.shown) > 15


def ir_measures(record: Record) -> Asked:
    metric = record["metric"]
    name, _, k = metric.partition("@")
    if found := re.search(r"gains=\{(.*)\}", metric):
        gains = [int(one.split(":")[1]) for one in found[1].split(",")]
        metric = re.sub(r"gains=\{.*\}", f"gains={gains}", metric)
    if re.match(r"RR(\(rel=2\))?@", metric):
        metric = f'{name[:-1]}, ties="text_ascending")@{k}' if "(" in name else f'RR(ties="text_ascending")@{k}'
    return Asked(f"ir_measures:{metric}", no_order=never_stable if metric.startswith("Compat") else None)


def beir(record: Record) -> Asked:
    dropped = drop_own_ids if record["params"].get("ignore_identical_ids") else None
    return Asked(f"beir:{record['metric']}", dropped)


def mteb(record: Record) -> Asked:
    if record["metric"].startswith("Accuracy"):
        return Asked(outside="MTEB returns a list of the queries with a hit alone; the recorder's mean of it is 1")
    metric = record["metric"].replace("_at_", "@")
    return Asked(f"mteb:{metric}")


def sentence_transformers(record: Record) -> Asked:
    return Asked(f"sentence_transformers:{record['metric']}")


def llama_index(record: Record) -> Asked:
    params, metric, k = record["params"], record["metric"], record["cutoff"]
    if params.get("use_granular_hit_rate"):
        metric = "granular_HitRate"
    if params.get("mode") == "exponential":
        return Asked(write("llama_index", metric, {"gain": "exponential"}, k), _binary_relevant)
    return Asked(write("llama_index", metric, _params(record, "use_granular_mrr"), k), _binary_relevant)


def _binary_relevant(world: World) -> World:
    return _binary(drop_zeros(world))


def haystack(record: Record) -> Asked:
    graded = "score" in record["params"]
    metric = "multi_hit_" * (record["params"].get("mode") == "multi_hit") + record["metric"]
    return Asked(write("haystack", metric, {}, record["cutoff"]), _name_all if graded else _all_rows)


def _drop_idle(world: World) -> World:
    """Without the truth of users to whom nothing is relevant."""
    return world.map(lambda one: one if one.relevant else replace(one, truth=[]))


def _name_all(world: World) -> World:
    return replace(_drop_idle(world), empty_lists=True, empty_truths=True)


def mlflow(record: Record) -> Asked:
    if "aggregate" in record["params"]:
        names = {
            (part,): write("mlflow", record["metric"], {} if part == "mean" else {"over": part}, record["cutoff"])
            for part in record["value"]
        }
        return Asked(names[("mean",)], _all_rows, parts=names)
    return Asked(write("mlflow", record["metric"], {}, record["cutoff"]), _all_rows)


def _all_rows(world: World) -> World:
    return replace(_binary_relevant(world), empty_lists=True, empty_truths=True)


def sklearn(record: Record) -> Asked:
    metric, params = record["metric"], record["params"]
    given = {"discount": "ln"} if params.get("log_base") == "e" else {}
    if params.get("ignore_ties"):
        given["ties"] = "given"
    return Asked(
        write("sklearn", metric, given, record["cutoff"]), no_order=never_stable if params.get("ignore_ties") else None
    )


def _weigh(metric: str, record: Record, weigh_empty: bool = True) -> Asked:
    """The weighted mean of a metric, where users have weights."""
    if "weight" not in record["params"]:
        return Asked(metric)
    given = "" if weigh_empty else ", weigh_empty=False"
    return Asked(f'WeightedMean(metric={literal(metric)}, weight="weight"{given})', extras=("weights",))


def xgboost(record: Record) -> Asked:
    metric, change = record["metric"], LABELS[record["params"].get("labels", "gains")]
    if "ndcg_exp_gain" in record["params"]:
        name, at, k = metric.partition("@")
        metric = f"{name}(ndcg_exp_gain=False){at}{k}"
    weigh_empty = not metric.startswith("ndcg") or metric.endswith("-")
    return replace(_weigh(f"xgboost:{metric}", record, weigh_empty), change=change)


def lightgbm(record: Record) -> Asked:
    gains = record["params"].get("label_gain")
    given = {"label_gain": [int(one) for one in gains.split(",")]} if gains else {}
    metric = write("lightgbm", record["metric"], given, record["cutoff"])
    weighed = _weigh(metric, record, weigh_empty=record["metric"] != "ndcg")
    return replace(weighed, change=LABELS[record["params"].get("labels", "gains")])


# CatBoost takes weights of groups for these, and does not read them.
UNWEIGHTED = ("PrecisionAt", "RecallAt", "MAP")


def catboost(record: Record) -> Asked:
    metric, change = record["metric"], LABELS[record["params"].get("labels", "gains")]
    plain = metric.replace(";use_weights=false", "")
    if plain != metric or metric.startswith(UNWEIGHTED):
        return Asked(f"catboost:{plain}", change)
    return replace(_weigh(f"catboost:{plain}", record), change=change)


def torchmetrics(record: Record) -> Asked:
    metric, params = record["metric"], record["params"]
    if metric == "RetrievalRecallAtFixedPrecision":
        names = {
            ("recall",): write("torchmetrics", metric, _params(record, "min_precision"), record["cutoff"]),
            ("k",): write("torchmetrics", metric, _params(record, "min_precision") | {"value": "k"}, record["cutoff"]),
        }
        return Asked(names[("recall",)], _binary, parts=names, no_order=never_stable)
    if metric == "RetrievalPrecisionRecallCurve":
        # Precision and recall at 1 to k; here rows that score 0 or less are hits too.
        given = {"score_above": None} | _params(record, "adaptive_k")
        parts: dict[tuple[str | int, ...], str] = {
            (part, k - 1): write("torchmetrics", name, given if part == "precision" else {"score_above": None}, k)
            for part, name in (("precision", "RetrievalPrecision"), ("recall", "RetrievalRecall"))
            for k in range(1, record["cutoff"] + 1)
        }
        return Asked(parts["recall", 0], _binary, parts=parts, no_order=never_stable)
    graded = metric == "RetrievalNormalizedDCG"
    if metric == "RetrievalAUROC":
        return Asked(write("torchmetrics", metric, params, record["cutoff"]), _squash, no_order=never_stable)
    return Asked(
        write("torchmetrics", metric, params, record["cutoff"]),
        None if graded else _binary,
        no_order=None if graded else never_stable,
    )


def _squash(world: World) -> World:
    """Scores, unless they lie between 0 and 1, through a sigmoid in float32, which makes high ones equal."""

    def squash(one: Any) -> Any:
        rows = sorted(one.shown, key=lambda row: -row[1])
        scores = torch.tensor([score for _, score in rows], dtype=torch.float32)
        if not bool(((scores >= 0) & (scores <= 1)).all()):
            scores = scores.sigmoid()
        return replace(one, shown=[(item, score) for (item, _), score in zip(rows, scores.tolist(), strict=True)])

    return _binary(world).map(squash)


def torcheval(record: Record) -> Asked:
    metric = record["metric"]
    given = _params(record, "limit_k_to_size", "empty_target_action")
    return Asked(
        write("torcheval", metric, given, record["cutoff"]),
        None if record["feed"] == "onetarget" else _binary,
        no_order=never_stable if metric == "retrieval_precision" else None,
    )


def rax(record: Record) -> Asked:
    return Asked(write("rax", record["metric"], {}, record["cutoff"]), LABELS[record["params"]["labels"]])


def keras_rs(record: Record) -> Asked:
    change = None if record["params"].get("shuffle_ties") else _nudge
    return Asked(write("keras_rs", record["metric"], {}, record["cutoff"]), change, no_order=never_stable)


def _nudge(world: World) -> World:
    """Scores less 1e-6 a row in float32, which loses that beyond 16 (more-conventions.md 6.1.10)."""

    def nudge(one: Person) -> Person:
        scores = torch.tensor([score for _, score in one.shown], dtype=torch.float32)
        scores -= torch.arange(len(scores), dtype=torch.float32) * 1e-6
        return replace(one, shown=[(item, s) for (item, _), s in zip(one.shown, scores.tolist(), strict=True)])

    return world.map(nudge)


def torch_geometric(record: Record) -> Asked:
    if record["metric"].endswith(("Popularity", "Coverage", "Diversity", "Personalization")):
        return _of_padded(record)
    return Asked(write("pyg", record["metric"], _params(record, "weighted"), record["cutoff"]), drop_zeros)


def _of_padded(record: Record) -> Asked:
    """These see every row of the matrix, whose short lists are filled up with one item."""
    k, metric = record["cutoff"], record["metric"]

    def pad(one: Person) -> Person:
        return replace(one, shown=(one.shown + [(0, -1.0)] * k)[: max(k, len(one.shown))])

    given: Record = {} if metric.endswith("Coverage") else {"duplicates": "all"}
    extras = {
        "LinkPredCoverage": ("six more items",),
        "LinkPredDiversity": ("four categories",),
        "LinkPredAveragePopularity": ("history",),
    }
    if metric.endswith("Personalization") and k > 1:
        return Asked(outside=FILLED)
    return Asked(write("pyg", metric, given, k), lambda world: world.map(pad), extras=extras.get(metric, ()))


def rectools(record: Record) -> Asked:
    extras = {
        "MeanInvUserFreq": "history",
        "AvgRecPopularity": "history",
        "Serendipity": "history",
        "IntraListDiversity": "two features",
        "Intersection": "every other place",
    }
    given = tuple(extra for metric, extra in extras.items() if metric == record["metric"])
    return Asked(write("rectools", record["metric"], record["params"], record["cutoff"]), drop_zeros, extras=given)


def lenskit(record: Record) -> Asked:
    metric = record["metric"]
    if metric in ("ExposureGini", "ListGini"):
        return Asked(write("lenskit", metric, {}, record["cutoff"] or EVERYTHING), drop_zeros)
    change = _drop_idle if record["params"].get("gain") == "rating" else drop_zeros
    # The length of a list knows no cutoff.
    cutoff = None if metric == "ListLength" else record["cutoff"]
    return Asked(write("lenskit", metric, record["params"], cutoff), change)


def recommenders(record: Record) -> Asked:
    metric, params = record["metric"], record["params"]
    if metric == "auc":
        return Asked("recommenders:auc")
    if metric in ("diversity", "novelty", "serendipity"):
        given = ("history",) if metric == "novelty" else ("history", "holders as features")
        return Asked(write("recommenders", metric, {}, EVERYTHING), _without_truth, extras=given)
    if metric in ("catalog_coverage", "distributional_coverage"):
        return Asked(write("recommenders", metric, {}, EVERYTHING), _without_truth, extras=("history",))
    if metric == "r_precision_at_k":
        return Asked(f"recommenders:{metric}(cut_at={record['cutoff']})", drop_zeros)
    if metric in ("rmse", "mae", "rsquared", "exp_var"):
        return Asked(f"recommenders:{metric}")
    if metric == "logloss":
        return Asked("recommenders:logloss", _as_chances)
    graded = params.get("score_type") in ("raw", "exp")
    given = _params(record, "score_type", "discfun_type") | ({"above": 0.0} if graded else {})
    if "relevancy_method" in params:
        # The frame is taken for the first k places, as it stands, however long it is.
        if metric in ("precision_at_k", "ndcg_at_k", "map_at_k"):
            return Asked(outside="relevancy_method=None: whole lists, yet the default k in the denominator")
        return Asked(write("recommenders", metric, {"order": "given"}), drop_zeros)
    return Asked(write("recommenders", metric, given, record["cutoff"]), drop_zeros)


def _without_truth(world: World) -> World:
    """Without shown items that the truth has: it was given as the history."""
    return world.map(lambda one: replace(one, shown=[row for row in one.shown if row[0] not in dict(one.truth)]))


def _as_chances(world: World) -> World:
    return world.map(lambda one: replace(one, shown=[(item, (score + 5) / 40) for item, score in one.shown]))


def irspack(record: Record) -> Asked:
    metric = record["metric"]
    name = write("irspack", metric, _params(record, "recall_with_cutoff"), record["cutoff"])
    # Every user of the fixture is a row of the matrix.
    return Asked(name, _all_rows if metric in ("total_user", "n_items") else drop_zeros)


def recpack(record: Record) -> Asked:
    metric = record["metric"]
    extras = {"IPSHitRateK": ("history",), "IntraListDiversityK": ("users as features",)}
    return Asked(
        write("recpack", metric, {}, record["cutoff"]), drop_zeros, extras=extras.get(metric, ()), no_order=never_stable
    )


def recbole(record: Record) -> Asked:
    metric = record["metric"]
    if record["feed"] == "items10":
        return Asked(f"recbole:{metric}", extras=("history", "padded catalogue"))
    return Asked(
        f"recbole:{metric}",
        drop_zeros,
        no_order=None if record["feed"] == "lists" or metric == "gauc" else never_stable,
    )


def implicit(record: Record) -> Asked:
    metric = record["metric"]
    names = {
        "mean_average_precision_at_k": "map",
        "ndcg_at_k": "ndcg",
        "precision_at_k": "precision",
        "AUC_at_k": "auc",
    }
    name = names.get(metric, metric)
    return Asked(write("implicit", name, {}, record["cutoff"]), drop_zeros)


def lightfm(record: Record) -> Asked:
    change = _without_trained if "train" in record["params"] else drop_zeros
    name = write("lightfm", record["metric"], _params(record, "preserve_rows"), record["cutoff"])
    spreads = record["metric"] == "recall_at_k" and record["params"]["preserve_rows"]
    return Asked(name, change, spreads=spreads)


def _without_trained(world: World) -> World:
    """Without the first two rows of each group that have no gain: they were given as training items."""

    def drop(one: Any) -> Any:
        gains = dict(one.truth)
        trained = [item for item, _ in one.shown if not gains.get(item, 0) > 0][:2]
        return replace(one, shown=[row for row in one.shown if row[0] not in trained], truth=one.relevant)

    return world.map(drop)


def cornac(record: Record) -> Asked:
    metric = _bare(record)
    # Precision of an empty list is 0 / 0 there, without a cutoff.
    given = {"users": "both"} if record["metric"] == "Precision@-1" else {}
    return Asked(write("cornac", metric, given, record["cutoff"]), drop_zeros)


def surprise(record: Record) -> Asked:
    return Asked(f"surprise:{record['metric']}")


def jurity(record: Record) -> Asked:
    if record["ids"] == "str":
        return Asked(outside="string ids give 0 there (more-conventions.md 6.1.11)")
    return Asked(
        write("jurity", record["metric"], {}, record["cutoff"]),
        None if "actual" in record["params"] else drop_zeros,
        pick=lambda value: next(iter(value.values())),
        no_order=never_stable,
    )


def rankereval(record: Record) -> Asked:
    metric, params = record["metric"], record["params"]
    if metric in ("FirstRelevantRank", "MeanRanks"):
        return Asked(write("rankereval", metric), _all_rows)
    if params.get("relevance_scaling") == "power":
        return Asked(outside="relevance_scaling='power' is r^2 - 1 (more-conventions.md 6.1.3)")
    given = _params(record, "nan_handling", "truncated")
    spreads = params["nan_handling"] == "propagate"
    if spreads:
        given["nan_handling"] = "drop"
    if params.get("truncated") and metric == "Precision" and given["nan_handling"] == "drop":
        # An empty list is 0 / 0 too.
        given["users"] = "both"
    return Asked(
        write("rankereval", metric, given, record["cutoff"]),
        _name_all if "DCG" in metric else _all_rows,
        spreads=spreads,
    )


def recmetrics(record: Record) -> Asked:
    metric = record["metric"]
    if metric == "catalog_coverage":
        return Asked(outside=RANDOM)
    if metric == "novelty":
        name = write("recmetrics", metric, {}, record["params"]["n"])
        longer = record["fixture"] in ("B", "C", "D", "D2")
        return Asked(name, _all_rows, outside=LONGER if longer else "", extras=("everyone's history",))
    cutoff = EVERYTHING if metric in ("prediction_coverage", "personalization") else record["cutoff"]
    return Asked(write("recmetrics", metric, {}, cutoff), _all_rows)


def recometrics(record: Record) -> Asked:
    return Asked(f"recometrics:{record['metric']}", drop_zeros, no_order=never_stable)


def rexmex(record: Record) -> Asked:
    metric = record["metric"]
    if metric == "normalized_discounted_cumulative_gain":
        return Asked(write("rexmex", metric), _close_both)
    return Asked(write("rexmex", metric, {}, record["cutoff"]), _all_rows)


def _close_both(world: World) -> World:
    """Lists of two rows or more, and of the truth what they show, for users of both sides."""
    return close_world(world.keep(lambda one: len(one.shown) > 1 and bool(one.relevant)))


def evidently(record: Record) -> Asked:
    metric, params = record["metric"], record["params"]
    if metric in ("MAPKMetric", "MARKMetric"):
        return Asked(outside=DEFECT)
    if metric == "PersonalizationMetric":
        mean_ranks = params["recommendations_type"] == "score" and record["fixture"] in ("D", "D2", "E")
        return Asked(write("evidently", metric, {}, record["cutoff"]), outside=MEAN_RANKS if mean_ranks else "")
    given = {"ties": "given"} if params["recommendations_type"] == "rank" else {}
    given |= _params(record, "no_feedback_users", "min_rel_score")
    if metric == "NDCGKMetric" and "min_rel_score" in params:
        given["gain"] = "binary"
    # Values by cutoff: from "1" for MRR, from "0" for the hit rate.
    key = str(record["cutoff"] - (metric == "HitRateKMetric"))
    return Asked(
        write("evidently", metric, given, record["cutoff"]),
        pick=lambda value: value[key] if isinstance(value, dict) else value,
        value_outside=LONGEST if isinstance(record.get("value"), dict) and key not in record["value"] else "",
    )


def ml_metrics(record: Record) -> Asked:
    return Asked(write("ml_metrics", record["metric"], {}, record["cutoff"]), _all_rows)


def _holders_of_items(world: World) -> dict[Any, list[str]]:
    """Who has each item in the truth, relevant or not, as its features."""
    return {item: [str(one.user) for one in world.people if item in dict(one.truth)] for item in world.catalogue}


def _users_of_items(world: World) -> dict[Any, list[str]]:
    """Who has each item in the truth, as its features."""
    return {
        item: [str(one.user) for one in world.people if item in dict(one.relevant)] or []
        for item in world.catalogue
        if any(item in dict(one.relevant) for one in world.people)
    }


def _weights(fixture: World) -> dict[Any, int]:
    """1, 2, 3, 1, ... by the place of a user in the fixture."""
    return {one.user: 1 + at % 3 for at, one in enumerate(fixture.people)}


# Name of what was given besides -> the argument of `evaluate`, and its value by what was laid out and by the fixture.
EXTRAS: dict[str, tuple[str, Callable[[World, World], Any]]] = {
    "padded catalogue": ("catalogue", lambda world, _: [*world.catalogue, 0]),
    "six more items": ("catalogue", lambda world, _: [*world.catalogue, *range(0, -6, -1)]),
    "four categories": (
        "item_features",
        lambda world, _: {item: [f"c={at % 4}"] for at, item in enumerate(world.catalogue)} | {0: ["c=1"]},
    ),
    "holders as features": ("item_features", lambda world, _: _holders_of_items(world)),
    "everyone's history": (
        "history",
        lambda _, fixture: {one.user: [item for item, gain in one.truth] for one in fixture.people},
    ),
    "history": ("history", lambda world, _: {user: list(items) for user, items in world.truth.items()}),
    "weights": ("context", lambda _, fixture: {"weight": _weights(fixture)}),
    "two features": (
        "item_features",
        lambda world, _: {item: [f"f1={at % 3}", f"f2={at % 5}"] for at, item in enumerate(world.catalogue)},
    ),
    "users as features": ("item_features", lambda world, _: _users_of_items(world)),
    "every other place": (
        "baseline",
        lambda world, _: {
            one.user: [item for item, _ in sorted(one.shown, key=lambda row: -row[1])[::2]]
            for one in world.people
            if one.shown
        },
    ),
}
# Changes of what the feed lays out, not of the fixture.
AFTER = (_without_trained, drop_own_ids, _squash, _nudge, _close_both)
LIBRARIES: dict[str, Callable[[Record], Asked]] = {
    "pytrec_eval": trec_eval,
    "ranx": ranx,
    "ir_measures": ir_measures,
    "ir_measures_cwl": ir_measures,
    "beir": beir,
    "mteb": mteb,
    "sentence-transformers": sentence_transformers,
    "llama-index": llama_index,
    "haystack": haystack,
    "mlflow": mlflow,
    "scikit-learn": sklearn,
    "xgboost": xgboost,
    "xgboost_weights": xgboost,
    "lightgbm": lightgbm,
    "lightgbm_weights": lightgbm,
    "catboost": catboost,
    "catboost_weights": catboost,
    "torchmetrics": torchmetrics,
    "torcheval": torcheval,
    "rax": rax,
    "keras-rs": keras_rs,
    "torch_geometric": torch_geometric,
    "rectools": rectools,
    "lenskit": lenskit,
    "recommenders": recommenders,
    "irspack": irspack,
    "recpack": recpack,
    "recbole": recbole,
    "implicit": implicit,
    "lightfm": lightfm,
    "cornac": cornac,
    "surprise": surprise,
    "jurity": jurity,
    "rankereval": rankereval,
    "recmetrics": recmetrics,
    "recometrics": recometrics,
    "rexmex": rexmex,
    "evidently": evidently,
    "ml_metrics": ml_metrics,
}
