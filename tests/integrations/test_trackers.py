"""Trackers store what was logged: read back from MLflow's store, W&B's offline file and TensorBoard's event files."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import bridgeval
from bridgeval.integrations.tracked_results import is_wanted, list_values
from tests.integrations.ranked_groups import draw_groups, reciprocal_rank_by_loop

TRUTH = {"ann": ["tea"], "bob": ["rum"]}
# MRR: ann's item is second, bob's is first. Recall@1: only bob's.
RECS = {"ann": ["gin", "tea"], "bob": ["rum", "gin"]}
OTHER = {"ann": ["tea", "gin"], "bob": ["rum", "gin"]}
VALUES = {"MRR": 0.75, "Recall_at_1": 0.5}


def make_report() -> bridgeval.Report:
    return bridgeval.evaluate(RECS, TRUTH, ["MRR", "Recall@1"], per_user=True)


def make_comparison() -> bridgeval.Comparison:
    return bridgeval.compare({"old": RECS, "new": OTHER}, TRUTH, ["MRR"])


def test_a_comparison_gives_both_systems_and_their_difference():
    values = list_values(make_comparison())
    assert (values["old/MRR"], values["new/MRR"]) == (0.75, 1.0)
    (difference,) = [value for name, value in values.items() if name.startswith("difference/")]
    assert abs(difference) == 0.25
    assert [is_wanted(one) for one in (True, "true", False, "no")] == [True, True, False, False]


@pytest.mark.integration
def test_mlflow_stores_values_steps_table_page_and_manifest(tmp_path, monkeypatch):
    import mlflow

    from bridgeval.integrations.mlflow import MlflowSink

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        MlflowSink().write(make_report(), step=3)
        MlflowSink().write(make_report(), step="4", artifacts="no")
    client = mlflow.MlflowClient()
    assert client.get_run(run.info.run_id).data.metrics == VALUES
    assert [one.step for one in client.get_metric_history(run.info.run_id, "MRR")] == [3, 4]
    files = {one.path for one in client.list_artifacts(run.info.run_id, "bridgeval")}
    assert files == {"bridgeval/report.html", "bridgeval/report.json", "bridgeval/per_user.json"}
    users = mlflow.load_table("bridgeval/per_user.json", run_ids=[run.info.run_id])
    assert dict(users[users["metric"] == "MRR"][["user", "value"]].to_numpy()) == {"ann": 0.5, "bob": 1.0}
    stored = json.loads(mlflow.artifacts.load_text(f"{run.info.artifact_uri}/bridgeval/report.json"))
    assert stored["manifest"]["versions"]["bridgeval"] == bridgeval.__version__


@pytest.mark.integration
def test_mlflow_makes_and_ends_a_run_of_its_own_for_a_comparison(tmp_path, monkeypatch):
    import mlflow

    from bridgeval.integrations.mlflow import MlflowSink

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    MlflowSink().write(make_comparison(), run_name="old and new")
    assert mlflow.active_run() is None
    (run,) = mlflow.search_runs(output_format="list")
    assert run.info.run_name == "old and new"
    assert run.data.metrics["new/MRR"] == 1.0
    assert any(name.startswith("difference/") for name in run.data.metrics)


def run_command(folder, *arguments, **environment):
    """The command `bridgeval` in a process of its own, which must succeed."""
    for name, lists in (("recs", RECS), ("other", OTHER), ("truth", TRUTH)):
        rows = [{"user_id": user, "item_id": item} for user, items in lists.items() for item in items]
        pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    command = [sys.executable, "-m", "bridgeval", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.integration
def test_the_command_logs_to_mlflow_tensorboard_and_wandb(tmp_path):
    import mlflow
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    store = f"sqlite:///{tmp_path}/mlflow.db"
    told = run_command(
        tmp_path, "evaluate", "recs.csv", "truth.csv", "-m", "MRR", "-m", "Recall@1", "--no-inspect", "--report",
        "page.html", "--log", "mlflow:run_name=nightly,step=7", "--log", "tensorboard:path=events,step=7", "--log",
        "wandb:project=tests", MLFLOW_TRACKING_URI=store, WANDB_MODE="offline", WANDB_SILENT="true",
    )  # fmt: skip
    assert told.count("logged to ") == 3
    client = mlflow.MlflowClient(store)
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    named = {f"recs/{name}": value for name, value in VALUES.items()}
    assert (run.info.run_name, run.data.metrics) == ("nightly", named)
    assert {one.step for name in run.data.metrics for one in client.get_metric_history(run.info.run_id, name)} == {7}
    files = {one.path for one in client.list_artifacts(run.info.run_id, "bridgeval")}
    assert files == {"bridgeval/report.html", "bridgeval/report.json", "bridgeval/per_user.json"}
    events = EventAccumulator(str(tmp_path / "events")).Reload()
    assert [(one.step, one.value) for one in events.Scalars(next(iter(run.data.metrics)))] == [(7, 0.75)]
    (log,) = (tmp_path / "wandb").rglob("*.wandb")
    assert b"Recall_at_1" in log.read_bytes()


@pytest.mark.integration
def test_the_command_logs_a_comparison_to_mlflow(tmp_path):
    import mlflow

    store = f"sqlite:///{tmp_path}/mlflow.db"
    run_command(
        tmp_path, "compare", "old=recs.csv", "new=other.csv", "truth.csv", "-m", "MRR", "--log", "mlflow",
        MLFLOW_TRACKING_URI=store,
    )  # fmt: skip
    client = mlflow.MlflowClient(store)
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    assert (run.data.metrics["old/MRR"], run.data.metrics["new/MRR"]) == (0.75, 1.0)
    assert run.data.metrics["difference/new/old/MRR"] == 0.25


@pytest.mark.integration
def test_mlflow_finds_the_evaluator_and_stores_its_numbers(tmp_path, monkeypatch):
    import mlflow

    rows = draw_groups(seed=7)
    data = pd.DataFrame({"query": rows.groups, "label": rows.labels, "score": rows.scores})
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    with mlflow.start_run() as run:
        result = mlflow.models.evaluate(
            data=data,
            targets="label",
            predictions="score",
            model_type="ranker",
            evaluators="bridgeval",
            evaluator_config={"groups": "query", "metrics": ["MRR", "nDCG@5"]},
        )
    stored = mlflow.get_run(run.info.run_id).data.metrics
    expected = reciprocal_rank_by_loop(rows.labels, rows.scores, rows.groups)
    assert result.metrics["MRR"] == stored["MRR"] == pytest.approx(expected, abs=1e-12)
    assert set(stored) == {"MRR", "nDCG_at_5"}


@pytest.mark.integration
def test_wandb_stores_values_table_and_artifact_offline(tmp_path, monkeypatch):
    import wandb

    from bridgeval.integrations.wandb import WandbSink

    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=tmp_path, project="tests")
    WandbSink().write(make_report(), step=3)
    WandbSink().write(make_report(), step="5", artifacts=False)
    assert (run.summary["MRR"], run.summary["Recall_at_1"], run.step) == (0.75, 0.5, 5)
    run.finish()
    # The file is complete once W&B's own process has ended.
    wandb.teardown()
    (table,) = tmp_path.rglob("per_user*.table.json")
    users = json.loads(table.read_text())
    place = {name: users["columns"].index(name) for name in ("user", "metric", "value")}
    found = {row[place["user"]]: row[place["value"]] for row in users["data"] if row[place["metric"]] == "MRR"}
    assert found == {"ann": 0.5, "bob": 1.0}
    (log,) = tmp_path.rglob("*.wandb")
    written = log.read_bytes()
    missing = [
        text for text in (b"Recall_at_1", b"bridgeval-report", b"report.html", b"report.json") if text not in written
    ]
    assert missing == []


@pytest.mark.integration
def test_tensorboard_reads_back_scalars_steps_histograms_and_text(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from bridgeval.integrations.tensorboard import TensorboardSink

    for step in (1, "2"):
        TensorboardSink().write(make_report(), path=tmp_path, step=step)
    events = EventAccumulator(str(tmp_path)).Reload()
    for name, value in VALUES.items():
        assert [(one.step, one.value) for one in events.Scalars(name)] == [(1, value), (2, value)]
    histogram = events.Histograms("per_user/MRR")[-1]
    assert (histogram.histogram_value.num, histogram.histogram_value.sum) == (2, 1.5)
    (text, *_) = events.Tensors("bridgeval/report/text_summary")
    assert '"manifest"' in text.tensor_proto.string_val[0].decode()


@pytest.mark.integration
def test_tensorboard_takes_a_comparison(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from bridgeval.integrations.tensorboard import TensorboardSink

    TensorboardSink().write(make_comparison(), path=tmp_path)
    scalars = EventAccumulator(str(tmp_path)).Reload().Tags()["scalars"]
    assert {"old/MRR", "new/MRR"} <= set(scalars)
    assert np.sum([name.startswith("difference/") for name in scalars]) == 1


@pytest.mark.integration
def test_a_report_is_logged_by_the_name_of_the_tracker(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    make_report().log("tensorboard", path=tmp_path, step=2)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(one.step, one.value) for one in events.Scalars("MRR")] == [(2, 0.75)]
