"""Data elsewhere: URLs of a store in memory and of a local web server, and queries of DuckDB."""

from __future__ import annotations

import gzip
import http.server
import json
import os
import sys
import tempfile
import threading
from functools import partial

import duckdb
import fsspec
import pandas as pd
import pytest

import bridgeval
from bridgeval.errors import InputError, MissingDependencyError
from bridgeval.io import places

RECS = pd.DataFrame({"customer_id": [0, 0, 1], "item_id": [10, 11, 12], "score": [0.2, 0.9, 0.5]})
TRUTH = pd.DataFrame({"customer_id": [0, 1], "item_id": [10, 12]})
# User 0 has the relevant item at place 2, user 1 at place 1.
MRR = 0.75


@pytest.fixture
def store():
    """A store in memory with the lists in one file, and in two files of a folder."""
    system = fsspec.filesystem("memory")
    for name, rows in {"recs": RECS, "parts/b": RECS[:2], "parts/a": RECS[2:], "truth": TRUTH}.items():
        with system.open(f"/shop/{name}.parquet", "wb") as file:
            rows.to_parquet(file)
    yield system
    system.rm("/shop", recursive=True)


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; some paths misbehave."""

    asked: list[str]

    def do_GET(self):
        self.asked.append(self.path)
        if self.path.startswith("/to-a-local-file"):
            self.send_response(302)
            self.send_header("Location", "file:///etc/hostname")
            self.end_headers()
        elif self.path.startswith("/endless"):
            self.send_response(200)
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"user_id,item_id\n" * 4096)
            except OSError:
                pass
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """The address of a web server with the files, and the list of paths that it was asked for."""
    RECS.to_csv(tmp_path / "recs.csv", index=False)
    (tmp_path / "truth.csv.gz").write_bytes(gzip.compress(TRUTH.to_csv(index=False).encode()))
    kind = type("Asked", (Handler,), {"asked": []})
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, directory=str(tmp_path)))
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}", kind.asked
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.mark.parametrize("recs", ["recs.parquet", "parts/*.parquet", "parts"])
@pytest.mark.parametrize("memory", [None, "1KB"])
def test_files_globs_and_folders_of_a_store_are_read(store, recs, memory):
    report = bridgeval.evaluate(
        f"memory://shop/{recs}", "memory://shop/truth.parquet", "MRR", memory=memory, per_user=True
    )
    assert report["MRR"] == MRR
    assert set(report.per_user()["customer_id"]) == {0, 1}


def test_copies_are_deleted_with_the_evaluation(store, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert bridgeval.evaluate("memory://shop/recs.parquet", TRUTH, "MRR")["MRR"] == MRR
    assert os.listdir(tmp_path) == []


def test_a_web_server_is_asked_once_for_each_file(server):
    address, asked = server
    report = bridgeval.evaluate(f"{address}/recs.csv?key=secret", f"{address}/truth.csv.gz", "MRR")
    assert report["MRR"] == MRR
    assert asked.count("/recs.csv?key=secret") == asked.count("/truth.csv.gz") == 1


def test_a_comparison_and_a_gate_download_once_and_record_no_keys(server, tmp_path):
    address, asked = server
    url = f"{address}/recs.csv?key=secret"
    compared = bridgeval.compare(
        {"web": url, "here": RECS},
        f"{address}/truth.csv.gz?key=secret",
        ["MRR", "ItemCoverage@2"],
        catalogue=[10, 11, 12, 13],
    )
    assert compared.difference("MRR").difference == 0
    assert (asked.count("/recs.csv?key=secret"), asked.count("/truth.csv.gz?key=secret")) == (1, 1)
    report = bridgeval.evaluate(url, TRUTH, "MRR", per_user=True)
    baseline = tmp_path / "baseline.json"
    bridgeval.save_baseline(report, baseline, relevance=f"{address}/truth.csv.gz?key=secret")
    recorded = json.loads(baseline.read_text())["manifest"]["inputs"]["relevance"]
    assert recorded["path"] == f"{address}/truth.csv.gz"
    assert bridgeval.check(url, f"{address}/truth.csv.gz", baseline, "MRR=1%").checks[0].value == MRR


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://shop/nothing.parquet", "'memory://shop/nothing.parquet' cannot be read"),
        ("memory://shop/*.csv", "there is no file at"),
        ("file:///etc/hostname", "the scheme 'file'"),
        ("memory://shop/recs.parquet::file:///etc/hostname", "is not a URL that is read"),
        ("reference://x", "the scheme 'reference'"),
        ("nothing://x/recs.csv", "s3, gs, gcs, az, abfs, hf, http, https, memory are"),
    ],
)
def test_what_cannot_be_read_is_an_error(store, url, message):
    with pytest.raises(InputError) as caught:
        bridgeval.evaluate(url, TRUTH, "MRR")
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["missing.csv", "to-a-local-file.csv"])
def test_a_missing_page_and_a_redirect_to_a_local_file_are_errors_without_the_key(server, path):
    with pytest.raises(InputError, match="cannot be read") as caught:
        bridgeval.evaluate(f"{server[0]}/{path}?key=secret", TRUTH, "MRR")
    assert "secret" not in str(caught.value)


def test_a_download_without_end_stops_before_the_disk_is_full(server, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    usage = places.shutil.disk_usage
    monkeypatch.setattr(places.shutil, "disk_usage", lambda folder: usage(folder)._replace(free=4_000_000))
    with pytest.raises(InputError, match="more than 2,000,000 bytes, half of what is free"):
        bridgeval.evaluate(f"{server[0]}/endless.csv", TRUTH, "MRR")


@pytest.mark.parametrize(("url", "package"), [("s3://bucket/recs.parquet", "s3fs"), ("https://host/a.csv", "aiohttp")])
def test_a_package_that_is_missing_is_named(monkeypatch, url, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependencyError, match=f"pip install fsspec {package}"):
        bridgeval.evaluate(url, TRUTH, "MRR")


def test_an_output_is_no_url(store):
    with pytest.raises(ValueError, match="state must be a path of this machine"):
        bridgeval.evaluate(RECS, TRUTH, "MRR", state="memory://shop/state.arrow")


@pytest.fixture
def database(tmp_path):
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(file) as connection:
        connection.register("given", RECS)
        connection.execute("create table recs as from given")
        connection.register("found", TRUTH)
        connection.execute("create table truth as from found")
    return file


def test_tables_and_queries_of_a_database_are_read(database):
    found = bridgeval.evaluate(f"duckdb:{database}#recs", f"duckdb:{database}#truth", "MRR", per_user=True)
    assert found["MRR"] == MRR
    assert found.per_user().columns == ["customer_id", "metric", "k", "value"]
    query = f"duckdb:{database}#SELECT * FROM recs WHERE customer_id = 0"
    assert bridgeval.evaluate(query, TRUTH, "MRR")["MRR"] == 0.5 / 2


def test_queries_read_files_without_a_database(tmp_path):
    RECS.to_parquet(tmp_path / "recs.parquet")
    query = f"duckdb:WITH kept AS (FROM '{tmp_path}/recs.parquet') SELECT * FROM kept WHERE score > 0.3"
    assert bridgeval.evaluate(query, TRUTH, "MRR")["MRR"] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{database}#nothing", "cannot be read"),
        ("{database}#SELECT nothing FROM recs", "cannot be read"),
        ("{database}", "names no table and no query"),
        ("{database}.gone#recs", "there is no database to read"),
        ("SELECT 1; COPY (SELECT 1) TO '{database}.csv'", "statements SELECT, COPY"),
        ("FROM (COPY (SELECT 1) TO '{database}.csv')", "cannot be read"),
        ("WITH x AS (SELECT 1) INSERT INTO recs FROM x", "statements INSERT"),
    ],
)
def test_anything_but_one_select_is_refused(database, text, message):
    with pytest.raises(InputError) as caught:
        bridgeval.evaluate("duckdb:" + text.format(database=database), TRUTH, "MRR")
    assert message in str(caught.value)
    assert not os.path.exists(f"{database}.csv")
