"""The librec goldens, all of them: every number of a file is accounted for, and the reader does see a difference."""

from __future__ import annotations

import json
import shutil
from collections import Counter

from bridgeval.toolkits.librec.conventions import JAVA
from tests.golden import librec, librec_files, librec_questions as reasons
from tests.golden.compare import DATA, golden_files

DIALECTS = 3


def numbers_of(document):
    """How many numbers a golden file holds; an entry that records an error is one, and so is a list of ids."""
    if document["kind"] == "malformed":
        return sum(_of_malformed(entry) for entry in document["files"].values())
    if document["kind"] == "contract":
        return _count(document["head"]) + _count(document["pypi"]) + DIALECTS * _count(document["recommended"])
    return _count(document["experiments"]) + _count(document.get("protected_items", {}))


def _of_malformed(entry):
    wanted = entry["recommended"]
    described = 1 + (wanted["line"] is not None)  # what to do, and where
    values = sum(_count(value) for value in wanted.values() if isinstance(value, dict))
    return described + values + _count(entry["head"]) + _count(entry["pypi"])


def _count(node):
    if isinstance(node, dict):
        if node.get("status") == "error":
            return 1
        return sum(_count(value) for key, value in node.items() if key not in ("status", "name", "per_user")) + len(
            node.get("per_user", ())
        )
    if isinstance(node, list) and (not node or isinstance(node[0], str)):
        return 1
    return sum(map(_count, node)) if isinstance(node, list) else 1


def test_every_number_is_compared_or_skipped_as_a_recorded_error_or_outside_for_a_known_reason():
    kinds, outside, cases = Counter(), Counter(), set()
    for toolkit, module, path, document in golden_files(DATA / "librec"):
        assert toolkit == "librec"
        cases.add(document["case"])
        found = list(module.comparisons(path, document))
        assert [one for one in found if one.differs] == []
        assert len(found) == numbers_of(document), document["case"]
        kinds.update(one.kind for one in found)
        outside.update(one.outside for one in found if one.kind == "outside")
    assert len(cases) == 18
    assert kinds["compared"] > 12_000
    assert outside == {
        reasons.RERANKED: 12,
        reasons.IDS_AS_TEXT: 236,
        reasons.IDS_AS_FLOATS: 57,
        reasons.BY_POSITION: 8,
        librec_files.REFUSED: 21,
        librec_files.MARK_KEPT: 4,
    }


def test_all_java_metrics_but_four_have_a_value_that_librec_logged():
    logged = set()
    for _, _, path, document in golden_files(DATA / "librec"):
        if (path.parent / "study" / "exp00000" / "original" / "out-1.txt").exists():
            continue
        for folds in document.get("experiments", {}).values():
            logged.update(name for key in folds if key.isdecimal() for name in folds[key].get("java_log", {}))
    assert {short for short, (name, _) in JAVA.items() if name not in logged} == {"hitrate", "dpcf", "csp", "nonpar"}


def test_a_changed_number_differs(tmp_path):
    folder = shutil.copytree(DATA / "librec" / "feature_file_edges", tmp_path / "case")
    document = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    fold = document["experiments"]["exp00000"]["1"]
    fold["recommended"]["precision@5"]["value"] += 1e-8
    fold["pypi"]["expected_exposure"]["value"] += 1e-8
    document["protected_items"]["head"].pop()
    found = [one.where for one in librec.comparisons(folder / "expected.json", document) if one.differs]
    assert [where.rpartition(" ")[2] for where in found] == ["precision@5", "expected_exposure", "head"]
