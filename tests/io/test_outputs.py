"""Outputs are whole or absent, and what was there before survives a failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import bridgeval
from bridgeval.errors import ConfigError
from bridgeval.io.outputs import is_inside
from bridgeval.plugin import written_beside

SHOWN, TRUTH = {1: ["a", "b"], 2: ["c"]}, {1: ["b"], 2: ["a"]}


def test_the_old_file_survives_a_failure_and_nothing_stays_behind(tmp_path):
    target = tmp_path / "numbers.txt"
    target.write_text("old", encoding="utf-8")

    def write_and_fail():
        with written_beside(target) as beside:
            Path(beside).write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_fail()
    assert target.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["numbers.txt"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    target = tmp_path / "real.txt"
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    with written_beside(link) as beside:
        Path(beside).write_text("new", encoding="utf-8")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    with written_beside(os.devnull) as beside:
        assert beside == os.devnull
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("how", ["to_csv", "to_json", "to_markdown", "to_latex"])
def test_a_folder_that_is_not_there_is_named(tmp_path, how):
    report = bridgeval.evaluate(SHOWN, TRUTH, "MRR@2")
    with pytest.raises(ConfigError, match=r"report' cannot be written; found: there is no folder '.*missing'"):
        getattr(report, how)(tmp_path / "missing" / "report")


@pytest.mark.parametrize("how", ["to_csv", "to_json", "to_markdown", "to_latex"])
def test_a_full_disk_leaves_the_old_report(tmp_path, how, monkeypatch):
    report = bridgeval.evaluate(SHOWN, TRUTH, "MRR@2")
    target = tmp_path / "report"
    target.write_text("old", encoding="utf-8")

    def full(self, *_, **__):
        with open(self, "w", encoding="utf-8") as file:
            file.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left"):
        getattr(report, how)(target)
    monkeypatch.undo()
    assert target.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["report"]


def test_a_path_that_no_file_can_have_is_inside_no_folder(tmp_path):
    assert is_inside(tmp_path / "a.csv", tmp_path)
    assert not is_inside(f"{tmp_path}/a\0.csv", tmp_path)
