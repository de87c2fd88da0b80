"""URLs and queries of DuckDB as files of the command."""

from __future__ import annotations

import http.server
import json
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Run


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(folder: Path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_url_and_a_query_are_evaluated_recorded_without_keys_and_verified(run: Run, folder: Path, address) -> None:
    truth = "duckdb:SELECT * FROM 'truth.csv' WHERE user_id = 'ann'"
    url = f"{address}/recs.csv?key=secret"
    done = run("evaluate", url, truth, "-m", "MRR@2", "--format", "json", "--out", "report.json", "--no-inspect")
    assert done.returncode == 0, done.stderr
    recorded = json.loads((folder / "report.json").read_text())
    # rum of ann stands second; bob is in no row of the truth.
    assert [(row["system"], row["metric"], row["value"]) for row in recorded["results"]] == [("recs", "MRR@2", 0.5)]
    inputs = recorded["manifest"]["inputs"]
    assert (inputs["recommendations[recs]"]["path"], inputs["relevance"]["path"]) == (f"{address}/recs.csv", truth)
    assert "secret" not in (folder / "report.json").read_text()
    assert run("verify", "report.json", "--allow-outside").returncode == 0
    (folder / "recs.csv").write_text((folder / "recs.csv").read_text().replace("0.9", "0.3"))
    assert run("verify", "report.json", "--allow-outside").returncode == 1


def test_larger_downloads_are_streamed_and_configs_name_places(run: Run, folder: Path, address) -> None:
    config = f'recommendations = "{address}/recs.csv"\nrelevance = "{address}/truth.csv"\nmetrics = ["MRR@2"]\n'
    (folder / "study.toml").write_text(config)
    done = run("evaluate", "--config", "study.toml", "--memory", "10B", "--format", "csv")
    assert (done.returncode, "0.5" in done.stdout) == (0, True), done.stderr
    assert "the files are larger than memory" in done.stderr


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("ftp://host/recs.csv", 3, "the scheme 'ftp'"),
        ("duckdb:DROP TABLE recs", 3, "names no table and no query"),
        ("duckdb:nothing.duckdb#recs", 3, "there is no database to read"),
    ],
)
def test_what_is_no_place_is_an_error_in_a_line(run: Run, place: str, code: int, told: str) -> None:
    done = run("evaluate", place, "truth.csv", "-m", "MRR@2")
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
