"""Conventions of evaluators of retrieval and of retrieval-augmented generation."""

from __future__ import annotations

import re
from typing import Any

from bridgeval.metrics import (
    DCG,
    ERR,
    F1,
    MAP,
    MRR,
    RBP,
    Abstention,
    BPref,
    Compatibility,
    Count,
    ExpectedUtility,
    GainG,
    HitnDCG,
    HitRate,
    Hole,
    InfAP,
    InterpolatedPrecision,
    Judged,
    LevelnDCG,
    Precision,
    RBPResidual,
    Recall,
    RocAuc,
    RPrecision,
    SetAP,
    Utility,
    nDCG,
)
from bridgeval.plugin import Convention, entry


def respell_trec_eval(name: str) -> str:
    """trec_eval's own spelling as a name here.

    >>> respell_trec_eval("ndcg_cut_10"), respell_trec_eval("iprec_at_recall_0.10"), respell_trec_eval("11pt_avg")
    ('ndcg_cut@10', 'iprec_at_recall(recall=0.10)', 'avg_11pt')
    """
    if name == "11pt_avg":
        return "avg_11pt"
    parameters = {"iprec_at_recall": "recall", "rbp": "p", "rbp_resid": "p", "Rprec_mult": "multiple"}
    found = re.fullmatch(rf"({'|'.join(parameters)})_(\d*\.\d+)", name)
    if found is not None:
        return f"{found[1]}({parameters[found[1]]}={found[2]})"
    return re.sub(r"^(P|recall|success|map_cut|ndcg_cut|relative_P)_(\d+)(\(.*\))?$", r"\1\3@\2", name)


LEVEL = {"names": {"relevance_level": "at_least"}}
TREC_EVAL_RULES: dict[str, Any] = {"users": "answered", "ties": "text_descending", **LEVEL}
TREC_EVAL = Convention(
    "trec_eval",
    {
        "P": entry(Precision, **TREC_EVAL_RULES),
        "recall": entry(Recall, **TREC_EVAL_RULES),
        "success": entry(HitRate, **TREC_EVAL_RULES),
        "relative_P": entry(Precision, divide_by="relevant", **TREC_EVAL_RULES),
        "map": entry(MAP, divide_by="relevant", **TREC_EVAL_RULES),
        "map_cut": entry(MAP, divide_by="relevant", **TREC_EVAL_RULES),
        "gm_map": entry(MAP, divide_by="relevant", over="geometric", **TREC_EVAL_RULES),
        "recip_rank": entry(MRR, **TREC_EVAL_RULES),
        "ndcg": entry(nDCG, gain="linear", **TREC_EVAL_RULES),
        "ndcg_cut": entry(nDCG, gain="linear", **TREC_EVAL_RULES),
        "Rprec": entry(RPrecision, **TREC_EVAL_RULES),
        "bpref": entry(BPref, **TREC_EVAL_RULES),
        "gm_bpref": entry(BPref, over="geometric", **TREC_EVAL_RULES),
        "infAP": entry(InfAP, **TREC_EVAL_RULES),
        "iprec_at_recall": entry(InterpolatedPrecision, **TREC_EVAL_RULES),
        "avg_11pt": entry(InterpolatedPrecision, **TREC_EVAL_RULES),
        "set_P": entry(Precision, **TREC_EVAL_RULES),
        "set_recall": entry(Recall, **TREC_EVAL_RULES),
        "set_F": entry(F1, **TREC_EVAL_RULES),
        "set_relative_P": entry(Recall, divide_by="listed", **TREC_EVAL_RULES),
        "rbp": entry(RBP, **TREC_EVAL_RULES),
        "rbp_resid": entry(RBPResidual, **TREC_EVAL_RULES),
        "num_q": entry(Count, of="users", **TREC_EVAL_RULES),
        "num_ret": entry(Count, of="shown", **TREC_EVAL_RULES),
        "num_rel": entry(Count, of="relevant", **TREC_EVAL_RULES),
        "num_rel_ret": entry(Count, of="hits", **TREC_EVAL_RULES),
        "num_nonrel_judged_ret": entry(Count, of="irrelevant", **TREC_EVAL_RULES),
        "set_map": entry(SetAP, **TREC_EVAL_RULES),
        "utility": entry(Utility, **TREC_EVAL_RULES),
        "Rprec_mult": entry(RPrecision, **TREC_EVAL_RULES),
        "G": entry(GainG, **TREC_EVAL_RULES),
        "binG": entry(GainG, gain="binary", **TREC_EVAL_RULES),
        "Rndcg": entry(LevelnDCG, **{**TREC_EVAL_RULES, "names": {"relevance_level": "level"}}),
        "ndcg_rel": entry(HitnDCG, **TREC_EVAL_RULES),
    },
    "trec_eval as pytrec_eval averages it: users that both sides have, item id as text descending on ties; its own "
    "spellings such as P_5 and ndcg_cut_10 are read too; nDCG takes no relevance_level",
    version="pytrec_eval-terrier 0.5.11",
    verified="goldens",
    respell=respell_trec_eval,
    aliases=("pytrec_eval",),
)


def respell_ranx(name: str) -> str:
    """Ranx's own spelling as a name here.

    >>> respell_ranx("ndcg@10-l2"), respell_ranx("r-precision@5"), respell_ranx("rbp.95")
    ('ndcg(at_least=2)@10', 'r_precision', 'rbp(p=0.95)')
    """
    name = re.sub(r"^rbp\.(\d+)", r"rbp(p=0.\1)", name)
    head, hyphen, level = name.rpartition("-l")
    if hyphen and level.isdecimal():
        metric, at, cutoff = head.partition("@")
        name = f"{metric}(at_least={level}){at}{cutoff}"
    # A cutoff of r-precision is accepted there and does nothing.
    return re.sub(r"^r[-_]precision(\([^)]*\))?@\d+$", r"r_precision\1", name.replace("r-precision", "r_precision"))


# ranx takes gains from 1 up for relevant, also where they are not whole.
RANX_RULES: dict[str, Any] = {"users": "judged", "ties": "given", "at_least": 1}
RANX = Convention(
    "ranx",
    {
        "precision": entry(Precision, **RANX_RULES),
        "recall": entry(Recall, **RANX_RULES),
        "f1": entry(F1, **RANX_RULES),
        "hit_rate": entry(HitRate, **RANX_RULES),
        "hits": entry(HitRate, count="hits", **RANX_RULES),
        "map": entry(MAP, divide_by="relevant", **RANX_RULES),
        "mrr": entry(MRR, **RANX_RULES),
        "ndcg": entry(nDCG, gain="linear", **RANX_RULES),
        "ndcg_burges": entry(nDCG, gain="exponential", **RANX_RULES),
        "dcg": entry(DCG, gain="linear", **RANX_RULES),
        "dcg_burges": entry(DCG, gain="exponential", **RANX_RULES),
        "r_precision": entry(RPrecision, **RANX_RULES),
        "rbp": entry(RBP, gain="linear", **RANX_RULES),
    },
    "ranx with make_comparable=True: users of the truth, linear gain, average precision over all relevant items; "
    "levels such as ndcg@10-l2 are read too",
    version="0.3.21",
    verified="goldens",
    caveat="from 16 rows on equal scores have no order there; up to 15 they keep the order they came in",
    respell=respell_ranx,
)


def respell_ir_measures(name: str) -> str:
    """ir_measures' own spelling as a name here.

    >>> respell_ir_measures("IPrec(rel=2)@0.5"), respell_ir_measures("NumRet(rel=1)"), respell_ir_measures("nDCG@5")
    ('IPrec(rel=2, recall=0.5)', 'NumRelRet(rel=1)', 'nDCG@5')
    >>> respell_ir_measures("nDCG(gains={0:0,2:5})@5")
    'nDCG(gains=[0, 0, 5])@5'
    """
    if table := re.search(r"gains=\{([-\d.:, ]*)\}", name):
        gains = dict(re.findall(r"(\d+)\s*:\s*(-?[\d.]+)", table[1]))
        listed = ", ".join(gains.get(str(grade), "0") for grade in range(1 + max(map(int, gains), default=0)))
        name = name.replace(table[0], f"gains=[{listed}]")
    name = name.replace("NumRet(rel=", "NumRelRet(rel=").replace("SetP(relative=True", "SetRelativeP(")
    name = name.replace("(, ", "(").replace("()", "")
    found = re.fullmatch(r"IPrec(?:\((.*)\))?@(\d*\.\d+)", name)
    return name if found is None else f"IPrec({found[1] + ', ' if found[1] else ''}recall={found[2]})"


IR_NAMES: dict[str, Any] = {
    "names": {"rel": "at_least", "judged_only": "unjudged"},
    "words": {"judged_only": {True: "skip", False: "keep"}},
}
IR_MEASURES_RULES: dict[str, Any] = {"users": "judged", "ties": "text_descending", **IR_NAMES}
CWL_RULES: dict[str, Any] = {"users": "judged", "ties": "given", "names": {"max_rel": "max_grade", "T": "target"}}
IR_MEASURES = Convention(
    "ir_measures",
    {
        "nDCG": entry(
            nDCG,
            gain="linear",
            users="judged",
            ties="text_descending",
            names={**IR_NAMES["names"], "dcg": "gain", "gains": "gain"},
            words={**IR_NAMES["words"], "dcg": {"log2": "linear", "exp-log2": "exponential"}},
        ),
        "AP": entry(MAP, divide_by="relevant", **IR_MEASURES_RULES),
        "RR": entry(MRR, **IR_MEASURES_RULES),
        "P": entry(Precision, **IR_MEASURES_RULES),
        "R": entry(Recall, **IR_MEASURES_RULES),
        "Success": entry(HitRate, **IR_MEASURES_RULES),
        "Rprec": entry(RPrecision, **IR_MEASURES_RULES),
        "SetP": entry(Precision, **IR_MEASURES_RULES),
        "SetR": entry(Recall, **IR_MEASURES_RULES),
        "SetF": entry(F1, **IR_MEASURES_RULES),
        "Bpref": entry(BPref, **IR_MEASURES_RULES),
        "infAP": entry(InfAP, **IR_MEASURES_RULES),
        "IPrec": entry(InterpolatedPrecision, **IR_MEASURES_RULES),
        "Judged": entry(Judged, users="judged", ties="text_ascending"),
        "ERR": entry(ERR, **IR_MEASURES_RULES),
        "RBP": entry(RBP, users="judged", ties="given", **IR_NAMES),
        "SetRelativeP": entry(Recall, divide_by="listed", **IR_MEASURES_RULES),
        "SetAP": entry(SetAP, **IR_MEASURES_RULES),
        "NumQ": entry(Count, of="users", users="judged", unshown="zero"),
        "NumRet": entry(Count, of="shown", **IR_MEASURES_RULES),
        "NumRelRet": entry(Count, of="hits", **IR_MEASURES_RULES),
        "NumRel": entry(Count, of="relevant", users="judged", unshown="zero", **IR_NAMES),
        "Compat": entry(Compatibility, users="judged", ties="text_ascending"),
        "Accuracy": entry(RocAuc, users="answered", ties="given", **IR_NAMES),
        "SDCG": entry(ExpectedUtility, patience="log", **CWL_RULES),
        "BPM": entry(ExpectedUtility, stop="target", **CWL_RULES),
        "INST": entry(ExpectedUtility, patience="target", **CWL_RULES),
        "INSQ": entry(ExpectedUtility, patience="square", **CWL_RULES),
        "NERR8": entry(ExpectedUtility, stop="satisfied", **CWL_RULES),
        "NERR9": entry(ExpectedUtility, patience="reciprocal", stop="satisfied", **CWL_RULES),
        "NERR10": entry(ExpectedUtility, patience="geometric", stop="satisfied", **CWL_RULES),
        "NERR11": entry(ExpectedUtility, patience="square", stop="satisfied", **CWL_RULES),
    },
    "ir_measures with its default providers: every query of the qrels, 0 where the run lacks it; gains= is a list "
    "here; NumRet(rel=) is NumRelRet, SetP(relative=True) SetRelativeP",
    version="0.4.3",
    verified="goldens",
    caveat="RR@k comes from another provider than RR and orders equal scores by id ascending: ties='text_ascending'; "
    "nDCG(dcg='exp-log2') and ERR are rounded to 5 places there; the ideal list of Compat has equal gains and scores "
    "in the order of the qrels",
    respell=respell_ir_measures,
)

BEIR_RULES: dict[str, Any] = {"users": "answered", "ties": "text_descending"}
# Its own measures divide by all queries of the qrels and keep the order of the run.
BEIR_CUSTOM_RULES: dict[str, Any] = {"users": "judged", "ties": "given"}
BEIR = Convention(
    "beir",
    {
        "NDCG": entry(nDCG, gain="linear", **BEIR_RULES),
        "MAP": entry(MAP, divide_by="relevant", **BEIR_RULES),
        "Recall": entry(Recall, **BEIR_RULES),
        "P": entry(Precision, **BEIR_RULES),
        "MRR": entry(MRR, **BEIR_CUSTOM_RULES),
        "R_cap": entry(Recall, divide_by="reachable", **BEIR_CUSTOM_RULES),
        "Accuracy": entry(HitRate, **BEIR_CUSTOM_RULES),
        "Hole": entry(Hole, divide_by="judged", users="any", ties="given"),
    },
    "BEIR with ignore_identical_ids=False (by default it drops an item with the id of the query): pytrec_eval for "
    "NDCG, MAP, Recall and P; its own measures are divided by all queries of the qrels",
    version="2.2.0",
    verified="goldens",
    caveat="numbers are rounded to 5 places there",
)


def respell_mteb(name: str) -> str:
    """MTEB's own spelling as a name here.

    >>> respell_mteb("ndcg_at_10"), respell_mteb("precision_at_5"), respell_mteb("nauc_map_at_3_diff1")
    ('ndcg@10', 'P@5', 'nauc_map(signal="diff1")@3')
    """
    if found := re.fullmatch(r"(nauc_\w+?)(?:@|_at_)(\d+)_(max|std|diff1)", name, re.IGNORECASE):
        return f'{found[1]}(signal="{found[3]}")@{found[2]}'
    name = re.sub(r"^hit_rate_at_", "HitRate_at_", re.sub(r"^precision_at_", "P_at_", name))
    return re.sub(r"^(\w+)_at_(\d+)$", r"\1@\2", name)


MTEB_ABSTENTION: dict[str, Any] = {
    "users": "answered",
    "ties": "text_descending",
    "words": {"signal": {"max": "highest", "std": "spread", "diff1": "lead"}},
}
MTEB = Convention(
    "mteb",
    {
        "NDCG": entry(nDCG, gain="linear", **BEIR_RULES),
        "MAP": entry(MAP, divide_by="relevant", **BEIR_RULES),
        "Recall": entry(Recall, **BEIR_RULES),
        "P": entry(Precision, **BEIR_RULES),
        "HitRate": entry(HitRate, **BEIR_RULES),
        "MRR": entry(MRR, users="listed", ties="text_descending"),
        "R_cap": entry(Recall, divide_by="reachable", users="judged", ties="text_descending"),
        "Hole": entry(Hole, divide_by="listed", users="any", ties="text_descending"),
        "nAUC_NDCG": entry(Abstention, metric_1="NDCG", **MTEB_ABSTENTION),
        "nAUC_MAP": entry(Abstention, metric_1="MAP", **MTEB_ABSTENTION),
        "nAUC_Recall": entry(Abstention, metric_1="Recall", **MTEB_ABSTENTION),
        "nAUC_P": entry(Abstention, metric_1="P", **MTEB_ABSTENTION),
        "nAUC_MRR": entry(Abstention, metric_1="MRR", **MTEB_ABSTENTION),
    },
    "MTEB: pytrec_eval over queries of both sides, MRR over the queries of the run",
    version="2.26.24",
    verified="goldens",
    caveat="numbers are rounded to 5 places there; before August 2026 MRR kept the order of the run",
    respell=respell_mteb,
)


def respell_sentence_transformers(name: str) -> str:
    """A key of the evaluator as a name here: without the data set and the similarity.

    >>> respell_sentence_transformers("cosine_ndcg@10"), respell_sentence_transformers("nano_dot_accuracy@1")
    ('ndcg@10', 'accuracy@1')
    """
    return re.sub(r"^(.*_)?(cosine|dot|euclidean|manhattan)_(?=\w+@)", "", name)


SENTENCE_TRANSFORMERS_RULES: dict[str, Any] = {"ties": "text_ascending"}
SENTENCE_TRANSFORMERS = Convention(
    "sentence_transformers",
    {
        "ndcg": entry(nDCG, gain="binary", **SENTENCE_TRANSFORMERS_RULES),
        "map": entry(MAP, **SENTENCE_TRANSFORMERS_RULES),
        "mrr": entry(MRR, **SENTENCE_TRANSFORMERS_RULES),
        "precision": entry(Precision, **SENTENCE_TRANSFORMERS_RULES),
        "recall": entry(Recall, **SENTENCE_TRANSFORMERS_RULES),
        "accuracy": entry(HitRate, **SENTENCE_TRANSFORMERS_RULES),
    },
    "sentence-transformers' InformationRetrievalEvaluator: queries with a relevant document, equal scores by id as "
    "text, ascending",
    version="6.2.0",
    verified="goldens",
    respell=respell_sentence_transformers,
)


def respell_llama_index(name: str) -> str:
    """A name of llama-index's registry, in place of the class, as a name here.

    >>> respell_llama_index("hit_rate"), respell_llama_index("ap"), respell_llama_index("MRR")
    ('HitRate', 'AveragePrecision', 'MRR')
    """
    return {"hit_rate": "HitRate", "ap": "AveragePrecision"}.get(name, name)


LLAMA_INDEX_RULES: dict[str, Any] = {"users": "both", "ties": "given"}
LLAMA_INDEX = Convention(
    "llama_index",
    {
        "NDCG": entry(nDCG, gain="binary", ideal="all", **LLAMA_INDEX_RULES),
        "AveragePrecision": entry(MAP, divide_by="relevant", **LLAMA_INDEX_RULES),
        "MRR": entry(
            MRR,
            names={"use_granular_mrr": "mean_of"},
            words={"use_granular_mrr": {True: "hits", False: "first"}},
            **LLAMA_INDEX_RULES,
        ),
        "HitRate": entry(HitRate, **LLAMA_INDEX_RULES),
        "granular_HitRate": entry(Recall, **LLAMA_INDEX_RULES),
        "Precision": entry(Precision, divide_by="shown", **LLAMA_INDEX_RULES),
        "Recall": entry(Recall, **LLAMA_INDEX_RULES),
    },
    "llama-index: the retriever's whole list; an empty side is an error there and does not count here",
    version="0.14.25",
    verified="goldens",
    respell=respell_llama_index,
    aliases=("llama-index-core",),
)
HAYSTACK_RULES: dict[str, Any] = {"users": "listed", "ties": "given"}
HAYSTACK = Convention(
    "haystack",
    {
        "DocumentNDCGEvaluator": entry(nDCG, gain="linear", ideal="all", **HAYSTACK_RULES),
        "DocumentMAPEvaluator": entry(MAP, divide_by="relevant", **HAYSTACK_RULES),
        "DocumentMRREvaluator": entry(MRR, **HAYSTACK_RULES),
        "DocumentRecallEvaluator": entry(HitRate, **HAYSTACK_RULES),
        "multi_hit_DocumentRecallEvaluator": entry(Recall, **HAYSTACK_RULES),
    },
    "haystack: every question, 0 without truth, the whole list; recall is 0 or 1 by default (single_hit)",
    version="3.4.0",
    verified="goldens",
    aliases=("haystack-ai",),
)


def respell_mlflow(name: str) -> str:
    """A key of MLflow's results as a name here.

    >>> respell_mlflow("ndcg_at_3"), respell_mlflow("recall_at_5/mean"), respell_mlflow("precision_at_3/p90")
    ('ndcg_at_k@3', 'recall_at_k@5', 'precision_at_k(over="p90")@3')
    """
    found = re.fullmatch(r"(precision|recall|ndcg)_at_(\d+)(?:/(mean|variance|p90))?", name)
    if found is None:
        return name
    over = f'(over="{found[3]}")' if found[3] in ("variance", "p90") else ""
    return f"{found[1]}_at_k{over}@{found[2]}"


MLFLOW_RULES: dict[str, Any] = {"users": "listed", "ties": "given"}
MLFLOW = Convention(
    "mlflow",
    {
        "precision_at_k": entry(Precision, divide_by="shown", **MLFLOW_RULES),
        "recall_at_k": entry(Recall, empty="match", **MLFLOW_RULES),
        "ndcg_at_k": entry(nDCG, gain="binary", ideal="listed", empty="match", **MLFLOW_RULES),
    },
    "MLflow: every row; over='variance' and over='p90' are its other aggregates; "
    "a row without retrieved and without relevant documents scores 1 in recall and nDCG; short "
    "lists are measured against short ideal lists",
    version="3.17.2",
    verified="goldens",
    respell=respell_mlflow,
)

RETRIEVAL = (TREC_EVAL, RANX, IR_MEASURES, BEIR, MTEB, SENTENCE_TRANSFORMERS, LLAMA_INDEX, HAYSTACK, MLFLOW)
