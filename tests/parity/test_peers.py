"""Random cases through the conventions of the peers and through the peers themselves, one trait at a time.

`make parity` runs this. What `docs/conventions.md` lists under "Where it differs" must differ, all else must agree.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bridgeval
from tests.parity import peer_runner
from tests.parity.peer_cases import TRAITS, make_case
from tests.parity.test_frames import environments

CASES = 300
CONVENTION = {"pytrec_eval": "trec_eval"}
# RecTools reads ranks, which are not tied; all others read scores, which have no gaps.
OF_RANKS = {"ranks with gaps"}
OF_SCORES = {"ties", "ties in long lists", "nearly equal scores"}
# A mapping or a matrix holds a pair once.
REPEATED = {"repeated items", "repeated truth"}
LEFT_OUT = {
    "ranx": OF_RANKS | REPEATED,
    "pytrec_eval": OF_RANKS | REPEATED,
    "irspack": OF_RANKS | REPEATED,
    "recpack": OF_RANKS | REPEATED,
    "lenskit": OF_RANKS,
    "replay": OF_RANKS,
    "recommenders": OF_RANKS,
    "rectools": OF_SCORES,
}
FUZZED = [(library, trait) for library in LEFT_OUT for trait in TRAITS if trait not in LEFT_OUT[library]]


def read_differences() -> dict[tuple[str, str], set[str]]:
    """(library, trait) -> the metrics that differ, as the documentation lists them."""
    text = (Path(__file__).parents[2] / "docs" / "conventions.md").read_text(encoding="utf-8")
    section = text.partition("## Where it differs\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {(row[0].strip("`"), row[1]): set(re.findall(r"`(\w+)`", row[2])) for row in rows[2:]}


DIFFERENCES = read_differences()


def count_cases(library: str) -> int:
    """Cases of each trait, so that a library has 300 in all."""
    return math.ceil(CASES / (len(TRAITS) - len(LEFT_OUT[library])))


def list_cases(library: str, trait: str) -> list[dict[str, Any]]:
    cases = [make_case(trait, seed) for seed in range(count_cases(library))]
    return [rank(case) for case in cases] if library == "rectools" and trait not in OF_RANKS else cases


def rank(case: dict[str, Any]) -> dict[str, Any]:
    """The case with ranks in place of scores."""
    in_order = [[user, sorted(rows, key=lambda row: -row[1])] for user, rows in case["shown"]]
    ranked = [[user, [[item, place] for place, (item, _) in enumerate(rows, start=1)]] for user, rows in in_order]
    return case | {"shown": ranked}


@cache
def theirs(library: str) -> dict[str, list[dict[str, Any]]]:
    """The library's answers by trait, all from one process."""
    python = environments().python_of(library)
    if python is None:
        pytest.fail(f"the environment of {library} is not there: run `make parity`, which makes it")
    asked = {trait: list_cases(library, trait) for name, trait in FUZZED if name == library}
    done = subprocess.run(
        [str(python), "-P", peer_runner.__file__, library],
        input=json.dumps([case for cases in asked.values() for case in cases]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (answer,) = (line for line in done.stdout.splitlines() if line.startswith("ANSWER "))
    answers = iter(json.loads(answer.removeprefix("ANSWER ")))
    return {trait: [next(answers) for _ in cases] for trait, cases in asked.items()}


def ours(library: str, case: dict[str, Any], names: list[str]) -> dict[str, float]:
    if library in ("rectools", "recommenders", "replay"):
        shown = frame(case["shown"], "rank" if library == "rectools" else "score")
        truth = frame(case["truth"], "relevance")
    else:
        shown, truth = (
            {user: [tuple(row) for row in rows] for user, rows in case[side]} for side in ("shown", "truth")
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bridgeval.errors.BridgevalWarning)
        report = bridgeval.evaluate(shown, truth, names, convention=CONVENTION.get(library, library))
    return dict(zip(names, report.values(), strict=True))


def frame(side: list[Any], number: str) -> pd.DataFrame:
    rows = [[user, *row] for user, rows in side for row in rows]
    return pd.DataFrame(rows, columns=["user_id", "item_id", number])


@pytest.mark.parity
@pytest.mark.parametrize(("library", "trait"), FUZZED)
def test_convention_agrees_or_differs_as_documented(library: str, trait: str) -> None:
    differing: dict[str, int] = {}
    for case, expected in zip(list_cases(library, trait), theirs(library)[trait], strict=True):
        assert "error" not in expected, expected
        for name, value in ours(library, case, list(expected)).items():
            if value != pytest.approx(expected[name], abs=1e-9):
                metric = re.match(r"\w+", name)[0]
                differing[metric] = differing.get(metric, 0) + 1
    print(f"{library} | {trait} | {count_cases(library)} cases | {differing or 'no difference'}")
    assert set(differing) == DIFFERENCES.get((library, trait), set())


def test_every_documented_difference_is_fuzzed() -> None:
    assert DIFFERENCES
    assert set(DIFFERENCES) <= set(FUZZED)
