"""The librec goldens, all of them; and the reader does see a difference."""

from __future__ import annotations

import json
import shutil

from tests.golden import librec
from tests.golden.compare import DATA, golden_files


def test_every_value_agrees_and_only_recorded_errors_are_skipped():
    compared, cases = 0, set()
    for toolkit, module, path, document in golden_files(DATA / "librec"):
        assert toolkit == "librec"
        cases.add(document["case"])
        for comparison in module.comparisons(path, document):
            assert not comparison.differs, f"{path.parent.name}: {comparison}"
            compared += not comparison.skipped
    assert len(cases) == 18
    assert compared > 9_900


def test_a_changed_number_differs(tmp_path):
    folder = shutil.copytree(DATA / "librec" / "feature_file_edges", tmp_path / "case")
    document = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    fold = document["experiments"]["exp00000"]["1"]
    fold["recommended"]["precision@5"]["value"] += 1e-8
    fold["pypi"]["expected_exposure"]["value"] += 1e-8
    found = [one.where for one in librec.comparisons(folder / "expected.json", document) if one.differs]
    assert [where.rpartition(" ")[2] for where in found] == ["precision@5", "expected_exposure"]
