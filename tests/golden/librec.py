"""Reads the librec goldens: study folders, what LibRec logged, what librec-auto's classes gave, what is wanted here.

Compared are `recommended` (and `recommended_order_by_score`), `java_log`, and of `head` and `pypi` what a name of the
convention reproduces. An entry with status "error" is skipped as a recorded error. Not compared, because no definition
of a metric can give these numbers:

- `java_log` of Java metrics that are not among the verified ones.
- `java_log` of re-ranked studies: LibRec evaluates other lists there than those in the file.
- `kendall_tau` of `head_2022deps`: it correlates item ids as text, whatever their places.
- `head` row metrics where result rows are not in the order of the test rows: they are paired by position.
- `pypi` values where an id is not a plain number, or a file starts with a byte order mark: that version reads every id
  as a float and takes what is none for NaN, so rows of different users and items fall together.
- `head` and `pypi` of malformed files: they say what those readers make of them.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bridgeval.errors import BridgevalError
from bridgeval.report import Report
from bridgeval.toolkits.librec import Fold, RowBasedMetric, Study, custom
from bridgeval.toolkits.librec.config import Config
from bridgeval.toolkits.librec.custom import script_class
from bridgeval.toolkits.librec.java import output_values
from bridgeval.toolkits.librec.metrics import JAVA, java_metric
from tests.golden.compare import Comparison, number

KINDS = ("ranking", "rating", "rerank", "malformed", "contract")
NAMES = {"kendall_tau_common_ranks": "kendall_tau", "lowest_protected_original_rank": "lowest_protected_rank"}
NOTES = {
    "pairs": "pairs",
    "predictions_without_truth": "predictions without a pair",
    "truth_without_prediction": "pairs without a prediction",
}
HEAD = {
    "ndcg": "ndcg_head",
    "psp": "psp_head",
    "alpha_ia": "alpha_ia",
    "rbo": "average_overlap",
    "lowest_item_promoted": "lowest_item_promoted",
}
PYPI = {"ndcg": "ndcg_testorder", "alpha_ia": "alpha_ia_pypi", "expected_exposure": "expected_exposure"}
PROTECTING = ("psp", "psp_head", "lowest_protected_rank", "lowest_item_promoted")
KEY = re.compile(r"(?P<name>\w+?)(\[alpha=(?P<alpha>\d+)\])?(@(?P<k>\d+))?")
DEFAULT_FEATURE = "new"


def reads(document: dict[str, Any]) -> bool:
    return document.get("kind") in KINDS and "case" in document


def comparisons(path: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    if document["kind"] == "malformed":
        yield from _malformed(path.parent, document)
    elif document["kind"] == "contract":
        yield from _contract(path.parent, document)
    else:
        yield from _study(path.parent / "study", document)


@dataclass(frozen=True)
class Question:
    """A number of theirs, and the metric that should give it.

    Attributes:
        where: which number, for the message.
        metric: a name, or a metric object.
        theirs: the value; None where only the values of users are known.
        per_user: user and value.
        note: the note of the result that is meant, where it is not the value.
    """

    where: str
    metric: Any
    theirs: float
    per_user: tuple[tuple[str, Any], ...] = ()
    note: str = ""


def _answers(fold: Fold, questions: Sequence[Question]) -> Iterator[Comparison]:
    """All questions about one fold, in one evaluation."""
    if not questions:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fold.evaluate([question.metric for question in questions], per_user=True)
    for question in questions:
        name = str(question.metric)
        ours = report.results[name].notes[question.note] if question.note else report[name]
        yield Comparison(question.where, question.theirs, float(ours))
        yield from _users(question.where, question.per_user, report, name)


def _users(where: str, expected: Iterable[tuple[str, Any]], report: Report, metric: str) -> Iterator[Comparison]:
    pairs = list(expected)
    values = dict(report.per_user(metric)[["user", "value"]].itertuples(index=False)) if pairs else {}
    for user, value in pairs:
        yield Comparison(f"{where} user {user}", number(value), values.get(str(user)))


def _study(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    study, by_score = Study(folder), Study(folder, order="score")
    protected = study.config.protected
    feature = protected.id if protected is not None and protected.side == "item" else DEFAULT_FEATURE
    rating, reranked = document["kind"] == "rating", document["kind"] == "rerank"
    for name, folds in document["experiments"].items():
        for fold_number in (key for key in folds if key.isdecimal()):
            expected, fold = folds[fold_number], _with_features(study[name][int(fold_number)])
            where = f"{document['case']} {name}/{fold_number}"
            ask = _about_ratings if rating else _about_lists
            questions = list(ask(f"{where} recommended", expected["recommended"], feature))
            if not reranked:
                questions += _about_java(where, study[name].config, expected.get("java_log", {}))
            yield from _answers(fold, questions)
            if rating:
                questions = list(_about_rows(f"{where} head", fold, expected.get("head", {})))
            else:
                questions = list(_about_theirs(f"{where} head", expected.get("head", {}), HEAD, feature))
                if _read_as_numbers(fold):
                    questions += _about_theirs(f"{where} pypi", expected.get("pypi", {}), PYPI, feature)
                yield from _counts(where, fold, expected["recommended"])
            yield from _answers(replace(fold, repeats="keep"), questions)
            sorted_section = expected.get("recommended_order_by_score", {})
            questions = list(_about_lists(f"{where} by score", sorted_section, feature))
            yield from _answers(_with_features(by_score[name][int(fold_number)]), questions)
            for section in ("head", "pypi"):
                yield from _recorded_errors(f"{where} {section}", expected.get(section, {}))
        yield from _output(f"{document['case']} {name}", study, name, folds.get("output_xml_folds", {}))


def _with_features(fold: Fold) -> Fold:
    """With the item features beside the data also where the configuration does not name them."""
    beside = Path(fold.test).parent.parent.parent / "item-features.csv"
    return replace(fold, item_features=beside) if fold.item_features is None and beside.exists() else fold


def _recorded_errors(where: str, section: dict[str, Any]) -> Iterator[Comparison]:
    for key, entry in section.items():
        if entry["status"] != "ok":
            yield Comparison(f"{where} {key}", skipped="recorded error")


def _written(key: str, names: dict[str, str], feature: str) -> str | None:
    """The name of a golden's key here: `psp@5` -> `librec:psp(protected="new")@5`."""
    parts = KEY.fullmatch(key)
    if parts is None or parts["name"] not in names:
        return None
    name = names[parts["name"]]
    given = [f'protected="{feature}"'] if name in PROTECTING else []
    given += [f"alpha={parts['alpha']}"] if parts["alpha"] else []
    return f"librec:{name}" + (f"({', '.join(given)})" if given else "") + (f"@{parts['k']}" if parts["k"] else "")


def _largest(metric: str) -> str:
    return metric.replace(")", ', over="max")')


def _about_lists(where: str, expected: dict[str, Any], feature: str) -> Iterator[Question]:
    for key, entry in expected.items():
        if not isinstance(entry, dict):
            continue
        own = key.partition("@")[0]
        metric = _written(key, {own: NAMES.get(own, own)}, feature)
        assert metric is not None
        value = number(entry["mean"] if "mean" in entry else entry["value"])
        yield Question(f"{where} {key}", metric, value, tuple(entry.get("per_user", {}).items()))
        if "max" in entry:
            yield Question(f"{where} {key} max", _largest(metric), number(entry["max"]))


def _about_ratings(where: str, expected: dict[str, Any], _: str) -> Iterator[Question]:
    for name, theirs in expected.items():
        metric = "librec:rmse" if name in NOTES else f"librec:{name}"
        yield Question(f"{where} {name}", metric, number(theirs), note=NOTES.get(name, ""))


def _about_java(where: str, config: Config, logged: dict[str, Any]) -> Iterator[Question]:
    known = {logged for logged, _ in JAVA.values()}
    for evaluator, theirs in logged.items():
        if evaluator in known:
            yield Question(f"{where} java {evaluator}", java_metric(evaluator, config), number(theirs))


def _about_theirs(where: str, expected: dict[str, Any], names: dict[str, str], feature: str) -> Iterator[Question]:
    for key, entry in expected.items():
        metric = _written(key, names, feature)
        if entry["status"] != "ok" or metric is None:
            continue
        value, *largest = entry["value"] if isinstance(entry["value"], list) else [entry["value"]]
        # What alpha-IA gives a user is a count so far, which depends on who came before.
        users = () if key.startswith("alpha_ia") else tuple(map(tuple, entry.get("per_user", [])))
        yield Question(f"{where} {key}", metric, number(value), users)
        for most in largest:
            yield Question(f"{where} {key} max", _largest(metric), number(most))


def _counts(where: str, fold: Fold, expected: dict[str, Any]) -> Iterator[Comparison]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, test = fold.read_result(), fold.read_test()
        population = fold.evaluate("librec:ndcg_binary@1").population
    ours = {
        "users_with_test": len(test.users.names),
        "users_with_results": len(result.users.names),
        "results_without_test": population.left_out.get("no relevance given", 0),
        "test_without_results": population.shown_nothing,
        "users_not_in_score_order": result.users_with_rising_scores(),
        "duplicate_rows": result.repeated,
    }
    for name, value in ours.items():
        theirs = expected[name]
        size = len(theirs) if isinstance(theirs, list) else theirs
        yield Comparison(f"{where} {name}", float(size), float(value))


def _output(where: str, study: Study, name: str, written: dict[str, Any]) -> Iterator[Comparison]:
    """What our reader finds in `output.xml`."""
    if not written:
        return
    ours = output_values(study[name].folder / "output.xml")
    for fold, values in written.items():
        for metric, theirs in values.items():
            if not metric.endswith(".py"):
                yield Comparison(f"{where}/{fold} output.xml {metric}", number(theirs), ours[int(fold)].get(metric))


def _read_as_numbers(fold: Fold) -> bool:
    """Whether reading ids as floats keeps apart what is apart."""
    for read, path in ((fold.read_result, fold.result), (fold.read_test, fold.test)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = read()
        names = rows.users.names.to_pylist() + rows.items.names.to_pylist()
        marked = Path(path).read_bytes().startswith(b"\xef\xbb\xbf")
        if marked or not all(name.isdecimal() and str(int(name)) == name for name in names):
            return False
    return True


class _RowRmse(RowBasedMetric):
    def evaluate_row(self, test: Any, result: Any) -> float:
        return (test[2] - result[2]) ** 2

    def post_row_processing(self, values: list[float]) -> float:
        return math.sqrt(sum(values) / len(values))


class _RowMae(RowBasedMetric):
    def evaluate_row(self, test: Any, result: Any) -> float:
        return abs(test[2] - result[2])


class _RowSignedError(RowBasedMetric):
    def evaluate_row(self, test: Any, result: Any) -> float:
        return result[2] - test[2]


ROW_METRICS = {"row_rmse": _RowRmse, "row_mae": _RowMae, "row_signed_error": _RowSignedError}


def _about_rows(where: str, fold: Fold, expected: dict[str, Any]) -> Iterator[Question]:
    for key, entry in expected.items():
        if entry["status"] == "ok" and key in ROW_METRICS and _in_step(fold):
            metric = custom(ROW_METRICS[key], compat="librec-auto")
            yield Question(f"{where} {key}", metric, number(entry["value"]))


def _in_step(fold: Fold) -> bool:
    """Whether row i of the result is the pair of row i of the test file."""
    result, test = fold.read_result(), fold.read_test()
    pairs = [list(zip(rows.users.ids.tolist(), rows.items.ids.tolist(), strict=True)) for rows in (result, test)]
    return pairs[0] == pairs[1][: len(pairs[0])]


def _malformed(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    metric = f"librec:ndcg_binary@{document['list_size']}"
    for name, entry in document["files"].items():
        files = {"result": folder / "files" / "good_result.txt", "test": folder / "files" / "good_test.txt"}
        files[entry["replaces"]] = folder / "files" / name
        wanted = entry["recommended"]
        report, said = _outcome(Fold(**files), metric)
        acted = "error" if report is None else "warn" if said else "accept"
        yield Comparison(f"{name} {wanted['action']}, was {acted}", 1.0, float(acted == wanted["action"]))
        if acted != "accept":
            place = name if wanted["line"] is None else f"{name}, line {wanted['line']}:"
            yield Comparison(f"{name} names {place!r} in {said!r}", 1.0, float(place in said))
        for key, values in wanted.items():
            if isinstance(values, dict) and report is not None:
                yield Comparison(f"{name} {key}", number(values["value"]), report[metric])
                yield from _users(f"{name} {key}", values["per_user"].items(), report, metric)
        for section in ("head", "pypi"):
            yield from _recorded_errors(f"{name} {section}", entry.get(section, {}))


def _outcome(fold: Fold, metric: str) -> tuple[Report | None, str]:
    """The report and what was warned of; None and the message where reading fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = fold.evaluate(metric, per_user=True)
        except BridgevalError as error:
            return None, str(error)
    return report, "; ".join(str(one.message) for one in caught)


def _contract(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    study = Study(folder / "study")
    for path in sorted((folder / "metrics").glob("*.py")):
        rows = "_row_" in path.name
        fold = replace(study["exp00000" if rows else "exp00001"][1], ranking=not rows)
        metric = script_class(path)
        wanted = document["recommended"][path.stem.partition("_")[2]]
        ours = custom(metric, {"k": "3"})
        questions = [Question(path.name, ours, number(wanted["value"]), tuple(wanted.get("per_user", {}).items()))]
        if "rows" in wanted:
            questions.append(Question(f"{path.name} rows", ours, number(wanted["rows"]), note="rows"))
        yield from _answers(fold, questions)
        for section in ("head", "pypi"):
            theirs = document[section][path.stem]
            yield from _recorded_errors(f"{path.name} {section}", {"value": theirs})
            if theirs["status"] == "ok":
                as_there = custom(metric, {"k": "3"}, compat="librec-auto")
                yield from _answers(fold, [Question(f"{path.name} {section}", as_there, number(theirs["value"]))])
