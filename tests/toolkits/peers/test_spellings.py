"""Names as the libraries spell them, and what the tables say about themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

import bridgeval
from bridgeval import plugins
from bridgeval.errors import SpecError

SPELLINGS = {
    "trec_eval:P_5": "trec_eval:P@5",
    "trec_eval:ndcg_cut_10": "trec_eval:ndcg_cut@10",
    "trec_eval:map": "trec_eval:map",
    "trec_eval:recip_rank": "trec_eval:recip_rank",
    "trec_eval:iprec_at_recall_0.10": "trec_eval:iprec_at_recall(recall=0.1)",
    "trec_eval:11pt_avg": "trec_eval:avg_11pt",
    "ranx:ndcg@10-l2": "ranx:ndcg(at_least=2)@10",
    "ranx:map-l2": "ranx:map(at_least=2)",
    "ranx:r-precision@5": "ranx:r_precision",
    "ranx:rbp.95": "ranx:rbp(p=0.95)",
    "ir_measures:IPrec(rel=2)@0.5": "ir_measures:IPrec(rel=2, recall=0.5)",
    "ir_measures:nDCG(judged_only=True)@5": "ir_measures:nDCG(judged_only=True)@5",
    "xgboost:ndcg@5-": 'xgboost:ndcg(empty="zero")@5',
    "xgboost:map": "xgboost:map@32",
    "catboost:NDCG:top=5;type=Exp": 'catboost:NDCG(type="Exp")@5',
    "trec_eval:P_5(relevance_level=2)": "trec_eval:P(relevance_level=2)@5",
    "pytrec_eval:P_5": "trec_eval:P@5",
    "ir_measures:nDCG(gains={0:0,1:1,2:5})@5": "ir_measures:nDCG(gains=[0, 1, 5])@5",
    "mteb:ndcg_at_10": "mteb:NDCG@10",
    "mteb:precision_at_3": "mteb:P@3",
    "mteb:hit_rate_at_3": "mteb:HitRate@3",
    "sentence-transformers:cosine_ndcg@10": "sentence_transformers:ndcg@10",
    "llama-index:hit_rate": "llama_index:HitRate",
    "llama_index:ap": "llama_index:AveragePrecision",
    "mlflow:ndcg_at_3/p90": 'mlflow:ndcg_at_k(over="p90")@3',
    "implicit:mean_average_precision_at_k@5": "implicit:map@5",
    "scikit-learn:ndcg_score@5": "sklearn:ndcg_score@5",
    "keras-rs:NDCG@5": "keras_rs:NDCG@5",
    "torch_geometric:LinkPredMAP@5": "pyg:LinkPredMAP@5",
    "tensorflow-ranking:ndcg@5": "tfr:ndcg@5",
    "RecBole:NDCG@10": "recbole:ndcg@10",
}


def test_a_parameter_of_a_library_may_be_the_cutoff():
    (metric,) = bridgeval.parse("torchmetrics:RetrievalMAP(top_k=5)")
    (cut,) = bridgeval.parse("torchmetrics:RetrievalMAP@5")
    assert replace(metric, label=None) == replace(cut, label=None)


def test_an_alias_is_a_convention_too():
    shown, truth = {1: ["a", "b"]}, {1: ["b"]}
    assert dict(bridgeval.evaluate(shown, truth, "P_2", convention="pytrec-eval")) == {"trec_eval:P@2": 0.5}


def test_no_two_conventions_have_one_name():
    tables = plugins.installed().conventions.values()
    named = [name.lower().replace("-", "_") for table in tables for name in (table.toolkit, *table.aliases)]
    assert len(named) == len(set(named))


def test_a_parameter_that_is_no_list_is_refused():
    with pytest.raises(SpecError, match="give a list: gain="):
        bridgeval.parse("nDCG(gain={1: 2})@5")


@pytest.mark.parametrize(("theirs", "ours"), SPELLINGS.items())
def test_a_library_spelling_is_read(theirs, ours):
    (metric,) = bridgeval.parse(theirs)
    assert str(metric) == ours
    assert bridgeval.parse(ours) == [metric]


@pytest.mark.parametrize("name", ["catboost:NDCG:top", "catboost:NDCG:", "catboost:NDCG:;type=Exp"])
def test_half_a_library_spelling_is_refused(name):
    with pytest.raises(SpecError, match="cannot be read as a metric"):
        bridgeval.parse(name)


def test_spellings_are_read_without_a_prefix_under_a_convention():
    shown, truth = {1: ["a", "b"]}, {1: ["b"]}
    assert dict(bridgeval.evaluate(shown, truth, "P_2", convention="trec_eval")) == {"trec_eval:P@2": 0.5}


@pytest.mark.parametrize("name", ["nDCG", "MAP", "MRR", "Precision", "Recall", "HitRate", "F1", "DCG", "MAR"])
def test_a_name_without_a_cutoff_takes_the_whole_list(name):
    shown = {1: [("a", 3.0), ("b", 2.0), ("c", 1.0)], 2: [("d", 1.0), ("e", 0.5), ("f", 0.1)]}
    truth = {1: {"c": 2}, 2: {"d": 1, "z": 1}}
    whole, cut = bridgeval.evaluate(shown, truth, [name, f"{name}@3"]).values()
    assert whole == pytest.approx(cut)
    assert str(bridgeval.parse(name)[0]) == name


def test_forty_conventions_are_offered_and_thirty_rest_on_goldens():
    tables = plugins.installed().conventions
    assert len(tables) >= 40
    assert sum(table.verified == "goldens" for table in tables.values()) >= 30
    assert all(table.version for name, table in tables.items() if table.verified == "goldens" and name in PEERS)


PEERS = {"trec_eval", "ranx", "ir_measures", "sklearn", "xgboost", "lightgbm", "catboost", "torchmetrics", "rectools"}
