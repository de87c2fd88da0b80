"""The librec goldens about single files: malformed ones, and metrics that users wrote in three dialects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bridgeval.errors import BridgevalError
from bridgeval.report import Report
from bridgeval.toolkits.librec import Fold, Study, custom
from bridgeval.toolkits.librec.bases import RowBasedMetric, build, to_array, to_numbers
from bridgeval.toolkits.librec.scripts import import_script
from tests.golden.compare import Comparison, number
from tests.golden.librec_questions import (
    BY_POSITION,
    HEAD,
    IDS_AS_FLOATS,
    PYPI,
    Question,
    about_theirs,
    answers,
    by_user,
    in_step,
    outside,
    read_as_numbers,
    recorded_errors,
    row_question,
)

REFUSED = "the file is refused here, and read in some way there"
MARK_KEPT = "a byte order mark is part of the first user's id there"


def malformed(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    metric = f"librec:ndcg_binary@{document['list_size']}"
    for name, entry in document["files"].items():
        files = {"result": folder / "files" / "good_result.txt", "test": folder / "files" / "good_test.txt"}
        files[entry["replaces"]] = folder / "files" / name
        wanted, fold = entry["recommended"], Fold(**files)
        report, said = _outcome(fold, metric)
        acted = "error" if report is None else "warn" if said else "accept"
        names_it = acted == "accept" or name in said
        yield Comparison(f"{name} {wanted['action']}, was {acted}", 1.0, float(acted == wanted["action"] and names_it))
        if wanted["line"] is not None:
            place = f"{name}, line {wanted['line']}:"
            yield Comparison(f"{name} names {place!r} in {said!r}", 1.0, float(place in said))
        for key, values in wanted.items():
            if isinstance(values, dict) and report is not None:
                yield Comparison(f"{name} {key}", number(values["value"]), report[metric])
                yield from by_user(f"{name} {key}", values["per_user"].items(), report, metric)
        for section in ("head", "pypi"):
            yield from _theirs(
                f"{name} {section}", replace(fold, repeats="keep", finite=False), entry[section], section
            )


def _theirs(where: str, fold: Fold, section: dict[str, Any], version: str) -> Iterator[Comparison]:
    """What the classes of one version made of a file; where it is read here too, the same is made of it."""
    yield from recorded_errors(where, section)
    good = {key: entry for key, entry in section.items() if entry["status"] == "ok"}
    for key, entry in good.items():
        reason = _why_not(fold, key, version)
        if reason:
            yield from outside(f"{where} {key}", entry, reason)
        elif key == "row_rmse":
            yield from answers(replace(fold, ranking=False), [row_question(where, key, entry)])
        else:
            names = HEAD if version == "head" else PYPI
            yield from answers(fold, list(about_theirs(where, {key: entry}, names)))


def _why_not(fold: Fold, key: str, version: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fold.read_result(), fold.read_test()
        except BridgevalError:
            return REFUSED
    if key == "row_rmse":
        return "" if in_step(fold) else BY_POSITION
    if version == "pypi":
        return "" if read_as_numbers(fold) else IDS_AS_FLOATS
    return MARK_KEPT if Path(fold.test).read_bytes().startswith(b"\xef\xbb\xbf") else ""


def _outcome(fold: Fold, metric: str) -> tuple[Report | None, str]:
    """The report and what was warned of; None and the message where reading fails."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            report = fold.evaluate(metric, per_user=True)
        except BridgevalError as error:
            return None, str(error)
    return report, "; ".join(str(one.message) for one in caught)


def contract(folder: Path, document: dict[str, Any]) -> Iterator[Comparison]:
    study = Study(folder / "study")
    for path in sorted((folder / "metrics").glob("*.py")):
        rows = "_row_" in path.name
        fold = replace(study["exp00000" if rows else "exp00001"][1], ranking=not rows)
        metric = import_script(path)
        wanted = document["recommended"][path.stem.partition("_")[2]]
        ours = custom(metric, {"k": "3"})
        questions = [Question(path.name, ours, number(wanted["value"]), tuple(wanted.get("per_user", {}).items()))]
        if "rows" in wanted:
            questions.append(Question(f"{path.name} rows", ours, number(wanted["rows"]), note="rows"))
        yield from answers(fold, questions)
        for section in ("head", "pypi"):
            theirs = document[section][path.stem]
            yield from recorded_errors(f"{path.name} {section}", {"value": theirs})
            if theirs["status"] == "ok":
                yield from _as_there(f"{path.name} {section}", fold, metric, theirs)


def _as_there(where: str, fold: Fold, metric: Any, theirs: dict[str, Any]) -> Iterator[Comparison]:
    """The value, and what every single call gave, in the order of the calls."""
    as_there = custom(metric, {"k": "3"}, compat="librec-auto")
    yield from answers(fold, [Question(where, as_there, number(theirs["value"]))])
    test, result = (to_numbers(to_array(rows)) for rows in (fold.read_test(), fold.read_result()))
    instance = build(metric, {"k": "3"}, test, result)
    rows = isinstance(instance, RowBasedMetric)
    instance.evaluate("librec-auto" if rows else "both")
    calls = instance._scores if rows else instance._values
    assert len(calls) == len(theirs["per_call"])
    for at, (one, other) in enumerate(zip(theirs["per_call"], calls, strict=True)):
        yield Comparison(f"{where} call {at}", number(one), float(other))
