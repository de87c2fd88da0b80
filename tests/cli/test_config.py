"""A config file does all that flags do; flags win."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridgeval.config import SETTINGS, build_request, config_schema, parse_system, read_config, run as evaluated
from bridgeval.errors import BridgevalWarning, ConfigError
from tests.cli.conftest import Run

SCHEMA = Path(__file__).parents[2] / "docs" / "config.schema.json"


def test_a_config_file_does_what_flags_do_and_flags_win(run: Run, folder: Path) -> None:
    (folder / "conf").mkdir()
    (folder / "conf" / "study.toml").write_text(
        'relevance = "../truth.csv"\nmetrics = ["Recall@2"]\nformat = "csv"\n[recommendations]\nmine = "../recs.csv"\n'
    )
    done = run("evaluate", "--config", "conf/study.toml", "-m", "MRR@2")
    assert done.returncode == 0, done.stderr
    assert "mine,MRR@2,2,all,0.5," in done.stdout
    assert "Recall" not in done.stdout


def test_yaml_is_read_as_well(folder: Path) -> None:
    (folder / "study.yaml").write_text("recommendations: [a.csv, b.csv]\nrelevance: c.csv\nmetrics: nDCG@5\n")
    request = build_request(read_config(str(folder / "study.yaml")))
    assert request.recommendations == {"a": str(folder / "a.csv"), "b": str(folder / "b.csv")}
    assert request.metrics == ("nDCG@5",)


def test_an_empty_name_of_a_column_leaves_the_part_out(run: Run, folder: Path) -> None:
    # As they come, bob's first item is gin. By weight it is tea, which he wants: one of two, so Recall@1 = 0.5.
    (folder / "weights.csv").write_text("user_id,item_id,weight\nbob,gin,1\nbob,tea,2\n")
    (folder / "one.csv").write_text("user_id,item_id\nbob,tea\nbob,bun\n")
    settings = {"recommendations": "weights.csv", "relevance": "one.csv", "metrics": ["Recall@1"], "format": "csv"}
    (folder / "none.yaml").write_text(json.dumps(settings | {"columns": {"score": None}}))
    (folder / "empty.yaml").write_text(json.dumps(settings | {"columns": {"score": ""}}))
    (folder / "weight.yaml").write_text(json.dumps(settings | {"columns": {"score": "weight"}}))
    for asked, value in (
        (["--config", "none.yaml"], 0.0),
        (["--config", "empty.yaml"], 0.0),
        (["--config", "weight.yaml"], 0.5),
        (["--config", "weight.yaml", "--columns", "score="], 0.0),
    ):
        done = run("evaluate", *asked)
        assert f"Recall@1,1,all,{value}," in done.stdout, (asked, done.stdout, done.stderr)


def test_every_flag_of_evaluate_is_a_setting() -> None:
    from bridgeval.cli.evaluate import evaluate

    flags = {option.name for option in evaluate.params} - {"files", "config", "debug"}
    assert flags | {"recommendations", "relevance"} == set(SETTINGS)


def test_the_published_schema_is_up_to_date() -> None:
    assert json.loads(SCHEMA.read_text()) == config_schema(), "run `python -m bridgeval.config`"


def test_systems_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two systems are called 'a'"):
        build_request({"recommendations": ["x/a.csv", "y/a.csv"], "relevance": "t.csv"})


def test_a_system_is_named_by_its_file_or_as_asked() -> None:
    assert parse_system("-") == ("stdin", "-")
    assert parse_system("runs=1/a.csv") == ("runs", "1/a.csv")
    assert parse_system("runs/k=1/a.csv") == ("a", "runs/k=1/a.csv")


def test_files_larger_than_memory_are_handed_on_as_paths(folder: Path) -> None:
    given = {"recommendations": str(folder / "recs.csv"), "relevance": str(folder / "truth.csv"), "metrics": "Recall@2"}
    small, large = build_request(given), build_request({**given, "memory": "100"})
    assert not small.streamed
    assert large.streamed
    assert large.tables["relevance"] == str(folder / "truth.csv")
    with pytest.warns(BridgevalWarning, match="not inspected"):
        outcome = evaluated(large)
    assert outcome.inspections == {}
    assert dict(outcome.reports["recs"]) == dict(evaluated(small).reports["recs"]) == {"Recall@2": 0.75}
