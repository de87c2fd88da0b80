"""Questions to an evaluation about numbers of librec-auto, and the reasons for which one cannot be answered."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridgeval.report import Report
from bridgeval.toolkits.librec import Fold, RowBasedMetric, custom
from tests.golden.compare import Comparison, number

RERANKED = "LibRec pads re-ranked lists with items of its own choice before it evaluates them"
IDS_AS_TEXT = "kendall_tau.py correlates item ids as text, whatever their places"
BY_POSITION = "rows of result and test are paired by position, and these are not in step"
IDS_AS_FLOATS = "ids are read as floats there, and one that is no plain number is none: users or items fall together"

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
    theirs: float | None
    per_user: tuple[tuple[str, Any], ...] = ()
    note: str = ""


def answers(fold: Fold, questions: Sequence[Question]) -> Iterator[Comparison]:
    """All questions about one fold, in one evaluation."""
    if not questions:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = fold.evaluate([question.metric for question in questions], per_user=True)
    for question in questions:
        name = str(question.metric)
        if question.theirs is not None:
            ours = report.results[name].notes[question.note] if question.note else report[name]
            yield Comparison(question.where, question.theirs, float(ours))
        yield from by_user(question.where, question.per_user, report, name)


def by_user(where: str, expected: Iterable[tuple[str, Any]], report: Report, metric: str) -> Iterator[Comparison]:
    pairs = list(expected)
    values = dict(report.per_user(metric)[["user", "value"]].itertuples(index=False)) if pairs else {}
    for user, value in pairs:
        yield Comparison(f"{where} user {user}", number(value), values.get(str(user)))


def outside(where: str, entry: Any, reason: str) -> Iterator[Comparison]:
    """The numbers of one entry, value and users' values; an error stays a recorded error."""
    if not isinstance(entry, dict):
        yield Comparison(where, number(entry), outside=reason)
    elif entry["status"] != "ok":
        yield from recorded_errors(where, {"": entry})
    else:
        values = entry["value"] if isinstance(entry["value"], list) else [entry["value"]]
        for value in (*values, *(value for _, value in entry.get("per_user", []))):
            yield Comparison(where, number(value), outside=reason)


def recorded_errors(where: str, section: dict[str, Any]) -> Iterator[Comparison]:
    for key, entry in section.items():
        if entry["status"] != "ok":
            yield Comparison(f"{where} {key}", skipped="recorded error")


def written(key: str, names: dict[str, str], feature: str) -> str | None:
    """The name of a golden's key here: `psp@5` -> `librec:psp(protected="new")@5`."""
    parts = KEY.fullmatch(key)
    if parts is None or parts["name"] not in names:
        return None
    name = names[parts["name"]]
    given = [f'protected="{feature}"'] if name in PROTECTING else []
    given += [f"alpha={parts['alpha']}"] if parts["alpha"] else []
    return f"librec:{name}" + (f"({', '.join(given)})" if given else "") + (f"@{parts['k']}" if parts["k"] else "")


def largest(metric: str) -> str:
    return metric.replace(")", ', over="max")')


def about_theirs(
    where: str, expected: dict[str, Any], names: dict[str, str], feature: str = DEFAULT_FEATURE
) -> Iterator[Question]:
    for key, entry in expected.items():
        metric = written(key, names, feature)
        assert metric is not None, f"no metric for {key}"
        value, *more = entry["value"] if isinstance(entry["value"], list) else [entry["value"]]
        users = tuple(map(tuple, entry.get("per_user", [])))
        yield Question(f"{where} {key}", metric, number(value), users)
        for most in more:
            yield Question(f"{where} {key} max", largest(metric), number(most))


def read_as_numbers(fold: Fold) -> bool:
    """Whether reading ids as floats keeps apart what is apart."""
    for read, path in ((fold.read_result, fold.result), (fold.read_test, fold.test)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = read()
        names = rows.users.dictionary.to_pylist() + rows.items.dictionary.to_pylist()
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
ROW_SCRIPTS = {"row_rmse.py": _RowRmse}


def row_question(where: str, key: str, entry: dict[str, Any]) -> Question:
    return Question(f"{where} {key}", custom(ROW_METRICS[key], compat="librec-auto"), number(entry["value"]))


def in_step(fold: Fold) -> bool:
    """Whether row i of the result is the pair of row i of the test file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, test = fold.read_result(), fold.read_test()
    pairs = [list(zip(rows.users.to_pylist(), rows.items.to_pylist(), strict=True)) for rows in (result, test)]
    return pairs[0] == pairs[1][: len(pairs[0])]
