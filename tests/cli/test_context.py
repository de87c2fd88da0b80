"""`--context NAME=FILE`: tables for metrics that ask for them by name."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

# At 2 ann sees tea and rum, bob gin and tea: means 6.25 and 5, and their mean.
PRICES = "item_id,price,brand\ntea,2,x\nrum,10.5,y\ngin,8,x\n"
ASK = ("recs.csv", "truth.csv", "-m", "ShownPrice@2", "--format", "json")


def test_a_file_is_given_by_name(run: Run, folder: Path) -> None:
    (folder / "prices.csv").write_text(PRICES)
    found = json.loads(run("evaluate", *ASK, "--context", "price=prices.csv").stdout)
    assert found["results"][0]["value"] == 5.625
    assert found["manifest"]["inputs"]["context[price]"]["bytes"] == len(PRICES)
    (folder / "run.toml").write_text('[context]\nprice = "prices.csv"\n')
    assert json.loads(run("evaluate", *ASK, "--config", "run.toml").stdout)["results"] == found["results"]
    run("evaluate", *ASK, "--context", "price=prices.csv", "--out", "report.json")
    assert run("verify", "report.json").returncode == 0
    (folder / "prices.csv").write_text(PRICES.replace("10.5", "10.0"))
    assert "context[price]" in run("verify", "report.json").stdout


def test_what_is_wrong_is_told_in_flags(run: Run) -> None:
    missing = run("evaluate", *ASK)
    assert "needs 'price' of each item" in missing.stderr
    assert "give --context price=..." in missing.stderr
    assert (
        "'prices.csv' is not NAME=FILE, e.g. price=prices.csv"
        in run("evaluate", *ASK, "--context", "prices.csv").stderr
    )
    twice = run("evaluate", *ASK, "--context", "price=a", "--context", "price=b")
    assert "'price' is given twice" in twice.stderr
