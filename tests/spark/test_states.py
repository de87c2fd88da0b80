"""State files of Spark: merged with local ones, without users on the driver unless they are asked for; streams."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import bridgeval
from bridgeval.engine.state_files import StateFile
from bridgeval.errors import StateFileError
from tests.spark.test_spark_source import assert_same, in_spark
from tests.spark.worlds import world

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore::bridgeval.errors.BridgevalWarning")]

METRICS = ["nDCG@5", "Coverage@5", "ARP@5", 'Recall(over="median")@5']
DOCUMENT = Path(__file__).parents[2] / "docs" / "states.md"


@pytest.fixture(scope="module", params=[False, True], ids=["integers", "strings"])
def given(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {name: world(request.param)[name] for name in ("recommendations", "relevance", "history")}


def select_users(given: dict[str, Any], half: int) -> dict[str, Any]:
    """The lists and the relevance of every other user, and the whole history."""
    sides = {name: given[name].to_pandas() for name in ("recommendations", "relevance")}
    users = sorted({user for side in sides.values() for user in side["user"]})[half::2]
    return given | {name: side[side["user"].isin(users)] for name, side in sides.items()}


@pytest.mark.parametrize("per_user", [False, True])
def test_a_shard_in_spark_and_a_local_one_give_the_report_of_one_run(spark, given, per_user, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bridgeval.evaluate(**in_spark(spark, select_users(given, 0)), metrics=METRICS, per_user=per_user, state="a.state")
    bridgeval.evaluate(**select_users(given, 1), metrics=METRICS, per_user=per_user, state="b.state")
    expected = bridgeval.evaluate(**given, metrics=METRICS, per_user=per_user)
    found = bridgeval.merge(["a.state", "b.state"], users="distinct" if per_user else "events")
    assert_same(found, expected)
    for name, table in expected.collected.items():
        assert found.collected[name].to_dict() == pytest.approx(table.to_dict(), rel=1e-12, abs=1e-12, nan_ok=True)


def test_users_stay_in_spark_unless_their_values_are_asked_for(spark, given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for half in (0, 1):
        bridgeval.evaluate(**in_spark(spark, select_users(given, half)), metrics="nDCG@5", state=f"{half}.state")
    # The last state is the roster: no ids, how many users, no context that nDCG reads.
    users, count, _ = StateFile.read("0.state").header["states"][-1]["plain"][1]["tuple"]
    assert users is None
    assert count > 0
    with pytest.raises(
        StateFileError, match=r"the users of '0.state' are not known.*evaluated in Spark.*per_user=True"
    ):
        bridgeval.merge(["0.state", "1.state"])


def test_a_stream_keeps_a_running_report_as_documented(spark, tmp_path):
    """Three files of clicks arrive, one batch each; then the last batch is run again."""
    (recipe,) = re.findall(r"^```py\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    recs = spark.createDataFrame(
        [(1, "tea", 0.9), (1, "rum", 0.4), (2, "rum", 0.7)], "user_id int, item_id string, score double"
    )
    source, folder = tmp_path / "clicks", tmp_path / "states"
    source.mkdir()
    folder.mkdir()
    names: dict[str, Any] = {"bridgeval": bridgeval, "Path": Path, "recs": recs, "folder": folder}
    names["clicks"] = spark.readStream.schema("user_id int, item_id string").csv(str(source))
    names["checkpoint"] = str(tmp_path / "checkpoint")
    for number, rows in enumerate(["1,tea\n2,rum\n", "1,rum\n", "1,tea\n1,ale\n"]):
        (source / f"{number}.csv").write_text(rows)
        exec(compile(recipe, "states.md", "exec"), names)
        names["query"].processAllAvailable()
        names["query"].stop()
    # Recall@10 is 1 and 1 in the first batch, 1 in the second, 1/2 in the third: 3.5 / 4.
    report = json.loads((folder / "report.json").read_text())
    (recall,) = [row["value"] for row in report["results"] if row["metric"] == "Recall@10"]
    assert recall == pytest.approx(0.875)
    names["keep_report"](spark.createDataFrame([(1, "tea"), (1, "ale")], "user_id int, item_id string"), 2)
    again = json.loads((folder / "report.json").read_text())
    assert [row["value"] for row in again["results"]] == pytest.approx([row["value"] for row in report["results"]])
