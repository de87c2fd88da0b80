"""Reads the librec goldens: study folders, what LibRec logged, what librec-auto's classes gave, what is wanted here.

Every number of a file gives one Comparison: it is compared, or skipped where the toolkit recorded an error, or outside
for one of the reasons in `librec_questions`, because no definition of a metric can give it from the study's files.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bridgeval.toolkits.librec import Fold, Study, custom
from bridgeval.toolkits.librec.conventions import name_java_metric
from bridgeval.toolkits.librec.features import read_features
from bridgeval.toolkits.librec.java import read_output
from bridgeval.toolkits.librec.study_config import Config
from tests.golden import librec_files
from tests.golden.compare import Comparison, number
from tests.golden.librec_questions import (
    BY_POSITION,
    DEFAULT_FEATURE,
    HEAD,
    IDS_AS_FLOATS,
    IDS_AS_TEXT,
    PYPI,
    RERANKED,
    ROW_SCRIPTS,
    Question,
    about_theirs,
    answers,
    in_step,
    largest,
    outside,
    read_as_numbers,
    recorded_errors,
    row_question,
    written,
)

KINDS = ("ranking", "rating", "rerank", "malformed", "contract")
NAMES = {"kendall_tau_common_ranks": "kendall_tau", "lowest_protected_original_rank": "lowest_protected_rank"}
PAIRED = "_as_pipeline_pairs_it("
SCRIPTS = {
    "ndcg_metric.py": "ndcg@{list_size}",
    "psp.py": "psp@{list_size}",
    "rank_biased_overlap.py": "rbo@{list_size}",
    "alpha-IA.py": "alpha_ia[alpha={alpha}]",
}
NOTES = {
    "pairs": "pairs",
    "predictions_without_truth": "predictions without a pair",
    "truth_without_prediction": "pairs without a prediction",
}


def reads(document: dict[str, Any]) -> bool:
    return document.get("kind") in KINDS and "case" in document


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    special = {"malformed": librec_files.malformed, "contract": librec_files.contract}
    if document["kind"] in special:
        yield from special[document["kind"]](path.parent, document)
    else:
        yield from _study(path.parent / "study", document)


def _study(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    study, by_score = Study(folder), Study(folder, order="score")
    protected = study.config.protected
    feature = protected.id if protected is not None and protected.side == "item" else DEFAULT_FEATURE
    for name, folds in document["experiments"].items():
        scripts: dict[int, dict[str, float]] = {}
        for key in (key for key in folds if key.isdecimal()):
            expected, fold = folds[key], _with_features(study[name][int(key)])
            where = f"{document['case']} {name}/{key}"
            of_experiment = study[name].config
            if document["kind"] == "rating":
                yield from _rating_fold(where, fold, expected, of_experiment)
            else:
                yield from _ranking_fold(where, fold, expected, of_experiment, feature)
            if "recommended_order_by_score" in expected:
                sorted_fold = _with_features(by_score[name][int(key)])
                wanted = expected["recommended_order_by_score"]
                yield from answers(sorted_fold, list(_about_lists(f"{where} by score", wanted, feature)))
                yield from _counts(f"{where} by score", sorted_fold, wanted)
            if "python_metrics_json" in folds:
                scripts[int(key)] = _script_values(fold, study.config)
        where = f"{document['case']} {name}"
        yield from _scripts(f"{where} python-metrics.json", folds.get("python_metrics_json", []), scripts)
        yield from _output(where, study, name, folds.get("output_xml_folds", {}), scripts)
    yield from _protected_items(document.get("protected_items", {}), study)


def _ranking_fold(
    where: str, fold: Fold, expected: dict[str, Any], config: Config, feature: str
) -> Iterator[Comparison]:
    logged = expected.get("java_log", {})
    questions = list(_about_lists(f"{where} recommended", expected["recommended"], feature))
    if fold.original is None:
        questions += _about_java(where, config, logged)
    else:
        for evaluator, theirs in logged.items():
            yield from outside(f"{where} java {evaluator}", theirs, RERANKED)
    yield from answers(fold, questions)
    yield from _counts(where, fold, expected["recommended"])
    sections = {"head": HEAD, "head_2022deps": {}, "pypi": PYPI}
    for section, names in sections.items():
        yield from _theirs(
            f"{where} {section}", replace(fold, repeats="keep"), expected.get(section, {}), names, feature
        )


def _theirs(
    where: str, fold: Fold, section: dict[str, Any], names: dict[str, str], feature: str
) -> Iterator[Comparison]:
    """What librec-auto's own classes gave for one fold."""
    yield from recorded_errors(where, section)
    good = {key: entry for key, entry in section.items() if entry["status"] == "ok"}
    if names is PYPI and not read_as_numbers(fold):
        for key, entry in good.items():
            yield from outside(f"{where} {key}", entry, IDS_AS_FLOATS)
        return
    for key in [key for key in good if key.startswith("kendall_tau")]:
        yield from outside(f"{where} {key}", good.pop(key), IDS_AS_TEXT)
    for key in [key for key in good if PAIRED in key]:
        metric, _, result = key.removesuffix(")").partition(PAIRED)
        other = replace(fold, result=Path(fold.result).with_name(result))
        yield from answers(other, list(about_theirs(f"{where} {result}", {metric: good.pop(key)}, names, feature)))
    yield from answers(fold, list(about_theirs(where, good, names, feature)))


def _rating_fold(where: str, fold: Fold, expected: dict[str, Any], config: Config) -> Iterator[Comparison]:
    questions = list(_about_ratings(f"{where} recommended", expected["recommended"]))
    questions += _about_java(where, config, expected.get("java_log", {}))
    yield from answers(fold, questions)
    yield from recorded_errors(f"{where} head", expected["head"])
    good = {key: entry for key, entry in expected["head"].items() if entry["status"] == "ok"}
    if in_step(fold):
        yield from answers(fold, [row_question(f"{where} head", key, entry) for key, entry in good.items()])
        return
    for key, entry in good.items():
        yield from outside(f"{where} head {key}", entry, BY_POSITION)


def _with_features(fold: Fold) -> Fold:
    """With the item features beside the data also where the configuration does not name them."""
    beside = Path(fold.test).parent.parent.parent / "item-features.csv"
    return replace(fold, item_features=beside) if fold.item_features is None and beside.exists() else fold


def _about_lists(where: str, expected: dict[str, Any], feature: str) -> Iterator[Question]:
    for key, entry in expected.items():
        if not isinstance(entry, dict):
            continue
        own = key.partition("@")[0]
        metric = written(key, {own: NAMES.get(own, own)}, feature)
        assert metric is not None
        value = number(entry["mean"] if "mean" in entry else entry["value"])
        yield Question(f"{where} {key}", metric, value, tuple(entry.get("per_user", {}).items()))
        if "max" in entry:
            yield Question(f"{where} {key} max", largest(metric), number(entry["max"]))


def _about_ratings(where: str, expected: dict[str, Any]) -> Iterator[Question]:
    for name, theirs in expected.items():
        metric = "librec:rmse" if name in NOTES else f"librec:{name}"
        yield Question(f"{where} {name}", metric, number(theirs), note=NOTES.get(name, ""))


def _about_java(where: str, config: Config, logged: dict[str, Any]) -> Iterator[Question]:
    for evaluator, theirs in logged.items():
        yield Question(f"{where} java {evaluator}", name_java_metric(evaluator, config), number(theirs))


def _counts(where: str, fold: Fold, expected: dict[str, Any]) -> Iterator[Comparison]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, test = fold.read_result(), fold.read_test()
        as_written = replace(fold, order="given").read_result()
        population = fold.evaluate("librec:ndcg_binary@1").population
    ours = {
        "users_with_test": len(test.users.dictionary),
        "users_with_results": len(result.users.dictionary),
        "results_without_test": population.left_out.get("no relevance given", 0),
        "test_without_results": population.shown_nothing,
        "users_not_in_score_order": as_written.count_unsorted(),
        "duplicate_rows": result.repeated,
    }
    for name, value in ours.items():
        theirs = expected[name]
        size = len(theirs) if isinstance(theirs, list) else theirs
        yield Comparison(f"{where} {name}", float(size), float(value))


def _script_values(fold: Fold, config: Config) -> dict[str, float]:
    """Script -> the value that the git version of librec-auto gives for one fold."""
    metrics: dict[str, Any] = {}
    for script in config.scripts:
        if script.name in ROW_SCRIPTS:
            metrics[script.name] = custom(ROW_SCRIPTS[script.name], compat="librec-auto")
        else:
            key = SCRIPTS[script.name].format(**script.parameters)
            metrics[script.name] = written(key, HEAD, script.parameters.get("protected_feature", ""))
    report = replace(fold, repeats="keep").evaluate(list(metrics.values()))
    return {name: float(report[str(metric)]) for name, metric in metrics.items()}


def _scripts(where: str, found: list[Any], ours: dict[int, dict[str, float]]) -> Iterator[Comparison]:
    """Values of scripts: folds stand there in the order of a directory listing, so that only their set is known."""
    theirs: dict[str, list[float]] = {}
    for fold in found:
        for entry in fold:
            theirs.setdefault(entry["name"], []).append(number(entry["value"]))
    for name, values in theirs.items():
        recomputed = sorted(fold[name] for fold in ours.values())
        assert len(recomputed) == len(values)
        for one, other in zip(sorted(values), recomputed, strict=True):
            yield Comparison(f"{where} {name}", one, other)


def _output(
    where: str, study: Study, name: str, found: dict[str, Any], scripts: dict[int, dict[str, float]]
) -> Iterator[Comparison]:
    """What our reader finds in `output.xml`, and the values of scripts there."""
    ours = read_output(study[name].folder / "output.xml") if found else {}
    for fold, values in found.items():
        for metric, theirs in values.items():
            if not metric.endswith(".py"):
                yield Comparison(f"{where}/{fold} output.xml {metric}", number(theirs), ours[int(fold)].get(metric))
    of_scripts = [
        [{"name": metric, "value": value} for metric, value in values.items() if metric.endswith(".py")]
        for values in found.values()
    ]
    yield from _scripts(f"{where} output.xml", of_scripts, scripts)


def _protected_items(expected: dict[str, list[str]], study: Study) -> Iterator[Comparison]:
    """Who is protected: by the value 1 here, by any row in the git version's scripts."""
    for section, items in expected.items():
        fold = _with_features(study["exp00000"][1])
        assert fold.item_features is not None
        read = read_features(fold.item_features)
        table = read.values if section == "recommended" else read.rows
        held = table.values[:, table.labels.index(DEFAULT_FEATURE)] > 0
        ours = set(table.ids.take(np.flatnonzero(held)).tolist())
        yield Comparison(f"protected items {section}", 1.0, float(ours == set(items)))
