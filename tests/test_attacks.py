"""Attacks that once succeeded, each with its own test: files, types, forks, signals, disks, text from data."""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest

import bridgeval
from bridgeval.config import build_request, read_config, read_input
from bridgeval.errors import (
    BadParameterError,
    BadValueError,
    BridgevalError,
    ConfigError,
    InputError,
    MisalignedError,
    StateFileError,
)
from bridgeval.io.outputs import check_outputs

ROOT = Path(__file__).resolve().parents[1]
SHOWN = {user: ["a", "b", "c"] for user in range(20)}
TRUTH = {user: ["b"] for user in range(20)}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def run_python(program: str, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, **options)


@pytest.fixture
def files(tmp_path):
    """Shuffled rows with integer ids, as Parquet."""
    rng = np.random.default_rng(0)
    shown = pd.DataFrame({"user_id": rng.integers(0, 90, 900), "item_id": rng.integers(0, 50, 900)}).drop_duplicates()
    shown["score"] = rng.random(len(shown))
    truth = shown.sample(200, random_state=1)[["user_id", "item_id"]]
    for name, frame in (("recs", shown), ("truth", truth)):
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def cast_ids(path: Path, kind: pa.DataType, name: str) -> Path:
    table = pa_parquet.read_table(path)
    for place in (0, 1):
        text = table[place].cast(pa.string())
        column = text.combine_chunks().dictionary_encode() if pa.types.is_dictionary(kind) else text.cast(kind)
        table = table.set_column(place, table.column_names[place], column)
    pa_parquet.write_table(table, path.with_name(name))
    return path.with_name(name)


# Streaming.


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view(), pa.large_string()], ids=str)
def test_categories_and_views_of_text_are_streamed_as_they_are_read_at_once(files, kind):
    once = bridgeval.evaluate(files / "recs.parquet", files / "truth.parquet", "nDCG@5")
    # Rows that are sorted, as text, are merged as they are read, others partitioned.
    for order in (None, lambda ids: ids.astype(str)):
        for name in ("recs", "truth") if order else ():
            rows = pd.read_parquet(files / f"{name}.parquet").sort_values("user_id", key=order)
            rows.to_parquet(files / f"{name}.parquet", index=False)
        paths = [cast_ids(files / f"{name}.parquet", kind, f"{name}2.parquet") for name in ("recs", "truth")]
        streamed = bridgeval.evaluate(*paths, "nDCG@5", memory=1)
        assert streamed["nDCG@5"] == pytest.approx(once["nDCG@5"], abs=1e-12)


def test_streaming_into_thousands_of_parts_needs_few_open_files(files):
    program = """
import resource, sys, bridgeval
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
print(bridgeval.evaluate(sys.argv[1], sys.argv[2], "nDCG@5", memory=1000)["nDCG@5"])
"""
    done = run_python(program, str(files / "recs.parquet"), str(files / "truth.parquet"))
    assert done.returncode == 0, done.stderr
    once = bridgeval.evaluate(files / "recs.parquet", files / "truth.parquet", "nDCG@5")["nDCG@5"]
    assert float(done.stdout) == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("memory", [None, "1MB"])
def test_text_that_shrinks_between_its_opening_and_its_reading_does_not_kill_the_process(tmp_path, memory):
    program = """
import os, sys, bridgeval
from bridgeval.errors import BridgevalError
from bridgeval.io import datasets, files
path, memory = sys.argv[1], sys.argv[2] or None
def cut_after(open_file):
    def cut(given):
        opened = open_file(given)
        if given == path:
            os.truncate(path, 20)
        return opened
    return cut
def cut_before(read):
    def cut(*given):
        os.truncate(path, 20)
        return read(*given)
    return cut
if memory:
    datasets.pa_csv.open_csv = cut_before(datasets.pa_csv.open_csv)
else:
    files._open = cut_after(files._open)
try:
    bridgeval.evaluate(path, {1: [2]}, "nDCG@5", memory=memory)
except BridgevalError:
    print("refused", os.path.getsize(path))
"""
    path = tmp_path / "recs.csv"
    path.write_text("user_id,item_id,score\n" + "1,2,0.5\n" * 30_000)
    done = run_python(program, str(path), memory or "")
    assert (done.returncode, done.stdout) == (0, "refused 20\n"), done.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_shrinks_while_it_is_read_does_not_kill_the_process(tmp_path, suffix):
    program = """
import os, sys, threading, bridgeval
from bridgeval.errors import BridgevalError
path, share = sys.argv[1], float(sys.argv[2])
size = os.path.getsize(path)
cut = threading.Timer(share, lambda: [os.truncate(path, size // n) for n in (2, 9, 99)])
import bridgeval.engine.streaming, pandas
cut.start()
try:
    bridgeval.evaluate(path, {1: [2]}, "nDCG@5", memory="1MB")
except (BridgevalError, OSError):
    pass
"""
    frame = pd.DataFrame({"user_id": np.repeat(np.arange(20_000), 10), "item_id": np.tile(np.arange(10), 20_000)})
    path = tmp_path / f"recs.{suffix}"
    for share in ("0.0", "0.01"):
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path, index=False)
        done = run_python(program, str(path), share)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("memory", [None, 1])
def test_ids_of_different_types_are_one_error_at_once_and_streamed(files, memory):
    cast_ids(files / "truth.parquet", pa.string(), "text.parquet")
    for name in ("recs", "text"):
        rows = pd.read_parquet(files / f"{name}.parquet").sort_values("user_id")
        rows.to_parquet(files / f"sorted-{name}.parquet", index=False)
    # Sorted rows are merged as they are read, others partitioned.
    for order in ("", "sorted-"):
        with pytest.raises(MisalignedError, match="user ids are integers on one side and strings on the other"):
            bridgeval.evaluate(files / f"{order}recs.parquet", files / f"{order}text.parquet", "nDCG@5", memory=memory)


@pytest.mark.parametrize("memory", [None, 1])
def test_a_part_of_a_glob_that_has_a_header_alone_is_no_hindrance(files, memory):
    (files / "recs-2.csv").write_text("user_id,item_id,score\n")
    once = bridgeval.evaluate(files / "recs.csv", files / "truth.csv", "nDCG@5")
    parts = bridgeval.evaluate(str(files / "recs*.csv"), files / "truth.csv", "nDCG@5", memory=memory)
    assert parts["nDCG@5"] == pytest.approx(once["nDCG@5"], abs=1e-12)


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("memory", [None, 1])
def test_a_header_of_more_than_64_kilobytes_is_read(files, memory, separator):
    lines = (files / "recs.csv").read_text().splitlines()
    wide = [f"{'x' * 70_000},{lines[0]}", *(f"1,{line}" for line in lines[1:])]
    (files / "wide.csv").write_text("\n".join(wide).replace(",", separator) + "\n")
    once = bridgeval.evaluate(files / "recs.csv", files / "truth.csv", "nDCG@5")
    found = bridgeval.evaluate(files / "wide.csv", files / "truth.csv", "nDCG@5", memory=memory)
    assert found["nDCG@5"] == pytest.approx(once["nDCG@5"], abs=1e-12)


# Processes and threads.


def test_a_large_evaluation_ends_in_a_forked_child_after_one_in_the_parent():
    program = """
import os, signal, numpy as np, pandas as pd, torch, bridgeval
from bridgeval.parallel import count_threads
# Tests run torch on one thread, and so would the evaluation be.
torch.set_num_threads(2)
rng = np.random.default_rng(0)
shown = pd.DataFrame({"user_id": np.repeat(np.arange(40_000), 10), "item_id": rng.integers(0, 10**6, 400_000)})
truth = shown.iloc[::7]
before = bridgeval.evaluate(shown, truth, "nDCG@5", batch_size=5000)["nDCG@5"]
if (child := os.fork()) == 0:
    signal.alarm(60)
    os._exit(bridgeval.evaluate(shown, truth, "nDCG@5", batch_size=5000)["nDCG@5"] != before)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(count_threads())
"""
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == min(2, len(os.sched_getaffinity(0)))


def test_threads_that_start_beside_an_evaluation_have_all_threads_of_torch(set_threads):
    import torch

    set_threads(2)
    found = []

    class Watching(dict):
        def items(self):
            one = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
            one.start()
            one.join()
            return super().items()

    bridgeval.evaluate(Watching(SHOWN), TRUTH, "nDCG@5")
    assert set(found) == {2}


def test_a_failure_in_a_file_of_text_does_not_abort_at_exit(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("user_id,item_id,score\n" + "1,2,0.5\n" * 300_000 + "x,2\n")
    program = "import sys, bridgeval\nbridgeval.evaluate(sys.argv[1], {1: [2]}, 'nDCG@5', memory='1MB')"
    for _ in range(3):
        assert run_python(program, str(path)).returncode == 1


# Outputs.


@pytest.mark.parametrize(
    ("option", "path", "told"),
    [
        ("--out", "recs.parquet", "it is an input"),
        ("--per-user", "truth.parquet", "it is an input"),
        ("--state", "recs.parquet", "it is an input"),
        ("--report", "no/such/folder/page.html", "there is no folder"),
        ("--out", "/proc/numbers.txt", "cannot be written"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_before_the_work(files, option, path, told, monkeypatch, capsys):
    from bridgeval import cli

    monkeypatch.chdir(files)
    monkeypatch.setattr(bridgeval, "evaluate", lambda *_, **__: pytest.fail("it was evaluated"))
    before = (files / "recs.parquet").read_bytes()
    with pytest.raises(SystemExit) as ended:
        cli.main(["evaluate", "recs.parquet", "truth.parquet", option, path])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert (files / "recs.parquet").read_bytes() == before


def test_two_outputs_in_one_place_and_a_full_disk_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="out is written there too"):
        check_outputs({"out": str(tmp_path / "a"), "report": str(tmp_path / "a")})
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10})())
    with pytest.raises(ConfigError, match="no space left"):
        check_outputs({"out": str(tmp_path / "a")})


def test_states_do_not_replace_an_input(files):
    with pytest.raises(StateFileError, match="it is an input"):
        bridgeval.evaluate(files / "recs.parquet", files / "truth.parquet", "nDCG@5", state=files / "recs.parquet")


def test_a_full_disk_leaves_the_output_of_an_earlier_run(files):
    (files / "out.json").write_text("old")
    program = """
import resource, signal, sys
from bridgeval.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
main("evaluate recs.parquet truth.parquet --format json --out out.json".split())
"""
    done = run_python(program, cwd=files)
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True), done.stderr
    assert (files / "out.json").read_text() == "old"
    assert not list(files.glob(".*"))


@pytest.mark.parametrize(("name", "code", "word"), [("SIGTERM", 143, "terminated"), ("SIGINT", 130, "interrupted")])
def test_a_signal_unwinds_the_command_and_leaves_nothing(files, name, code, word):
    scratch = files / "scratch"
    scratch.mkdir()
    program = f"""
import signal
from bridgeval.cli import main
from bridgeval.io import chunks
real = chunks._Parts.read
def read(self, part):
    signal.raise_signal(signal.{name})
    return real(self, part)
chunks._Parts.read = read
main("evaluate recs.parquet truth.parquet --memory 1000 --out out.txt --state one.state".split())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=files,
        env=ENVIRONMENT | {"TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (code, f"error: {word}")
    assert not list(scratch.iterdir())
    assert not {"out.txt", "one.state"} & {file.name for file in files.iterdir()}


def test_an_interruption_that_a_library_turns_into_another_error_is_still_one(files):
    program = """
import signal
from bridgeval import cli, config
def run(*_):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise ImportError("something of C")
config.run = run
cli.main("evaluate recs.parquet truth.parquet".split())
"""
    done = run_python(program, cwd=files)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


# Damaged files of our own.


@pytest.fixture
def baseline(tmp_path):
    path = tmp_path / "old.json"
    bridgeval.save_baseline(bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", per_user=True), path, relevance=TRUTH)
    return path


@pytest.mark.parametrize(
    ("part", "value"),
    [("results", 5), ("manifest", {"inputs": {"relevance": 3}}), ("definitions", {"MRR@2": 1}), ("results", [{}])],
)
def test_a_damaged_report_is_no_baseline_and_cannot_be_verified(baseline, part, value):
    from bridgeval.report.saved_reports import read_report

    document = json.loads(baseline.read_text())
    baseline.write_text(json.dumps(document | {part: value}))
    with pytest.raises(InputError, match="is not a report"):
        bridgeval.check(SHOWN, TRUTH, baseline, "MRR@2=1%")
    with pytest.raises(InputError, match=f"is not a report; found: {part}"):
        read_report(baseline, "write it again")


def test_damaged_per_user_values_are_an_error_of_ours(baseline):
    values = baseline.with_suffix(".parquet")
    table = pa_parquet.read_table(values)
    values.write_bytes(values.read_bytes()[:-20])
    with pytest.raises(InputError, match="cannot be read"):
        bridgeval.check(SHOWN, TRUTH, values, "MRR@2=1%")
    pa_parquet.write_table(table.set_column(3, "value", pa.array(["x"] * len(table))), values)
    with pytest.raises(InputError, match="cannot be read"):
        bridgeval.check(SHOWN, TRUTH, values, "MRR@2=1%")
    pa_parquet.write_table(table.set_column(0, "system", pa.array([None] * len(table), pa.string())), values)
    with pytest.raises(InputError, match="holds no per-user values"):
        bridgeval.check(SHOWN, TRUTH, values, "MRR@2=1%")


@pytest.mark.parametrize("data", [b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', (", b"\x93NUMPY\x01\x00\x06\x00{'a'}\n"])
def test_a_damaged_header_of_a_matrix_is_an_error_of_ours(tmp_path, data):
    (tmp_path / "scores.npy").write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        read_input(str(tmp_path / "scores.npy"), "recommendations")


def test_a_matrix_that_claims_more_than_its_file_holds_takes_no_memory(tmp_path):
    path = tmp_path / "scores.npy"
    np.save(path, np.zeros((2, 3)))
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"(2, 300000000000)")[:128])
    with pytest.raises(InputError, match="cannot be read"):
        read_input(str(path), "recommendations")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4 * 10**6


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe\x00", "cannot be read as YAML"),
        (b"since: 2026-02-31\n", "cannot be read as YAML"),
        (b"a: " + b"[" * 5000, "nested too deeply"),
        (b"a: " + b"[" * 40 + b"]" * 40, "is too large for settings"),
        (b"a: &a [1,1,1,1,1,1,1,1,1]\n" + b"".join(
            b"%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n" % (new, new, *[old] * 9)
            for old, new in zip(b"abcdefg", b"bcdefgh", strict=True)
        ), "is too large for settings"),
    ],
)  # fmt: skip
def test_a_hostile_config_is_an_error_that_names_it(tmp_path, text, told):
    path = tmp_path / "study.yaml"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=told):
        read_config(str(path))


def test_a_config_with_systems_that_are_no_files_is_an_error_that_names_the_setting():
    with pytest.raises(ConfigError, match="recommendations"):
        build_request({"recommendations": [["a"]], "relevance": "truth.csv"}, "the config")


def test_a_whole_number_beyond_floats_in_a_mapping_of_json(tmp_path):
    path = tmp_path / "run.json"
    # 2^62 + 1 is no float; the nearest one is greater than 1 all the same.
    path.write_text('{"0": {"a": 1, "b": 4611686018427387905}}')
    assert bridgeval.evaluate(path, {"0": ["b"]}, "MRR@2")["MRR@2"] == 1.0
    path.write_text('{"0": {"a": 1, "b": 1' + "0" * 400 + "}}")
    with pytest.raises(InputError, match="is no mapping of user to item to number"):
        bridgeval.evaluate(path, {"0": ["b"]}, "MRR@2")


@pytest.mark.parametrize("text", [b"{" * 20_000, b'{"u": {"i": ' + b"9" * 5000 + b"}}"])
def test_a_hostile_mapping_in_json_is_an_error(tmp_path, text):
    path = tmp_path / "run.json"
    path.write_bytes(b'{"a": {"b": 1}, "c": ' + text)
    with pytest.raises(InputError):
        bridgeval.evaluate(path, TRUTH, "MRR@2")


def test_pipes_and_folders_among_files_are_refused_and_nobody_waits(files):
    os.mkfifo(files / "recs-2.csv")
    with pytest.raises(InputError, match="is no file"):
        bridgeval.evaluate(str(files / "recs*.csv"), files / "truth.csv", "nDCG@5")
    os.remove(files / "recs-2.csv")
    (files / "recs-2.csv").mkdir()
    with pytest.raises(InputError, match="is no file"):
        bridgeval.evaluate(str(files / "recs*.csv"), files / "truth.csv", "nDCG@5")


def test_parts_whose_types_differ_are_named(files):
    (files / "recs-2.csv").write_text("user_id,item_id,score\nx,y,0.5\n")
    with pytest.raises(InputError, match=r"recs.csv' does not go on where .*recs-2.csv' ends"):
        bridgeval.evaluate(str(files / "recs*.csv"), files / "truth.csv", "nDCG@5")


# Wrong types.


@pytest.mark.parametrize(
    ("name", "value"),
    [("memory", 1.5), ("memory", True), ("progress", "x"), ("group", 3), ("state", "\0"), ("memory", "1.2.3GB")],
)
def test_an_option_of_a_wrong_type_is_refused(name, value):
    with pytest.raises(BadParameterError) as caught:
        bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", **{name: value})
    assert caught.value.argument == name


@pytest.mark.parametrize("name", ["users", "catalogue"])
def test_text_is_no_sequence_of_ids(name):
    with pytest.raises(BridgevalError, match=r"cannot be read|no file"):
        bridgeval.evaluate(SHOWN, TRUTH, "ItemCoverage@2", **{name: "x"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("confidence", None), ("users", pd.DataFrame()), ("ranking", "x"), ("label", 3), ("k", 10**30), ("k", True)],
)
def test_a_parameter_of_a_metric_of_a_wrong_type_is_refused(name, value):
    with pytest.raises(BadParameterError):
        bridgeval.metrics.nDCG(**{"k": 5, name: value})


def test_the_cost_of_a_cutoff_is_that_of_the_lists():
    program = """
import resource, bridgeval
bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, "nDCG@5")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
bridgeval.evaluate({1: ["a", "b"]}, {1: ["b"]}, ["nDCG@100000000", "MAP@100000000", "Precision@99999999"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(program).stdout) < 20_000


def test_ids_of_a_megabyte_make_a_short_message():
    with pytest.raises(MisalignedError) as caught:
        bridgeval.evaluate({1: ["a" * 10**6, "b" * 10**6]}, {1: [3]}, "MRR@2")
    assert len(str(caught.value)) < 3000


@pytest.mark.parametrize("label", [["x", "y"], {"a": 1}])
def test_labels_that_are_no_labels_are_refused(label):
    with pytest.raises(BadValueError, match="a label must be text, a number or a truth value"):
        bridgeval.evaluate(
            SHOWN, TRUTH, "RSP@2", item_groups={"a": label, "b": label}, catalogue=list("abc"), history=SHOWN
        )


# Security.


@pytest.mark.parametrize(
    "asked", [{"state": "new.state"}, {"state": "one", "out": "truth.parquet", "per_user": "recs.csv", "store": "y"}]
)
def test_verify_writes_nothing_whatever_the_manifest_asks_for(files, monkeypatch, capsys, asked):
    from bridgeval import cli

    monkeypatch.chdir(files)
    with pytest.raises(SystemExit):
        cli.main(["evaluate", "recs.csv", "truth.csv", "--format", "json", "--out", "report.json"])
    document = json.loads((files / "report.json").read_text())
    document["manifest"]["request"] |= asked
    (files / "report.json").write_text(json.dumps(document))
    before = {file.name: file.read_bytes() for file in files.iterdir()}
    with pytest.raises(SystemExit):
        cli.main(["verify", "report.json"])
    assert {file.name: file.read_bytes() for file in files.iterdir()} == before


def test_hidden_text_of_data_is_shown_in_every_output():
    hostile = "=cmd\x1b[2J\n\\input{x}|<b>"
    report = bridgeval.evaluate(SHOWN, TRUTH, "MRR@2", by=pd.DataFrame({"user": list(SHOWN), "kind": hostile}))
    for text in (str(report), report.to_markdown(), report.to_latex()):
        assert "\x1b" not in text
        assert "\n\\input" not in text
    assert "<b>" not in report.to_markdown().replace("\\<b>", "")
    # A browser shows control characters as nothing; markup is what it obeys.
    assert "<b>" not in report.to_html()


def test_names_of_systems_are_shown_in_notes_of_latex_and_no_formula_in_csv():
    name = "=cmd()\n\\input{x}"
    report = bridgeval.evaluate(SHOWN, TRUTH, ["MRR@2", "nDCG@2"])
    # Users are counted system by system, in the notes, where systems differ.
    reports = bridgeval.Reports({name: report, "b": bridgeval.evaluate(SHOWN, {1: ["b"]}, ["MRR@2", "nDCG@2"])})
    assert "% =cmd()" in reports.to_latex()
    assert not [line for line in reports.to_latex().splitlines() if line.startswith("\\input")]
    cells = [cell for line in csv.reader(reports.to_csv().splitlines()) for cell in line]
    assert not [cell for cell in cells if cell.startswith("=")]
    assert "'=cmd()" in "".join(cells)


@pytest.mark.parametrize("text", ["\ud800", "a\udc80"])
def test_half_a_surrogate_pair_is_no_id(text):
    with pytest.raises(BadValueError, match="cannot be written as UTF-8"):
        bridgeval.evaluate({1: [text, "b"]}, {1: ["b"]}, "MRR@2")
    frame = pd.DataFrame({"user_id": [1], "item_id": pd.Series([text], dtype=object)})
    with pytest.raises(BadValueError, match="'item_id' hold text that cannot be written as UTF-8"):
        bridgeval.evaluate(frame, {1: ["b"]}, "MRR@2")


def test_half_a_surrogate_pair_in_a_name_is_written_as_its_escape(tmp_path):
    reports = bridgeval.Reports({"a\ud800": bridgeval.evaluate(SHOWN, TRUTH, "MRR@2")})
    reports.to_json(tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))["results"][0]["system"] == "a\ud800"


@pytest.mark.parametrize("path", ["../truth.csv", "/etc/hostname", "https://example.org/truth.csv"])
def test_verify_reads_nothing_outside_of_the_folder_of_the_report_unless_allowed(files, path):
    from bridgeval.verification import verify

    inputs = {"recommendations": {"recs": "recs.csv"}, "relevance": path, "metrics": ["nDCG@5"]}
    document = {"results": [], "manifest": {"request": inputs, "inputs": {}}}
    with pytest.raises(InputError, match="an input outside of its folder"):
        verify(document, str(files))


def test_verify_reads_an_input_elsewhere_only_as_it_was_recorded(files, monkeypatch, capsys):
    from bridgeval import cli

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments])
        return ended.value.code, " ".join(capsys.readouterr())

    monkeypatch.chdir(files)
    (files / "out").mkdir()
    assert run("evaluate", "recs.csv", "truth.csv", "--format", "json", "--out", "out/report.json")[0] == 0
    assert run("verify", "out/report.json")[0] == 0
    (files / "recs.csv").write_text((files / "recs.csv").read_text() + "1,1,0.5\n")
    code, told = run("verify", "out/report.json")
    assert (code, "'out/../recs.csv'" in told, "add --allow-outside" in told) == (3, True, True)
    code, told = run("verify", "out/report.json", "--allow-outside")
    assert (code, "differs: recommendations[recs]: recorded sha256" in told) == (1, True)


def test_a_study_reads_nothing_outside_of_its_folder_unless_allowed(tmp_path):
    import shutil

    from bridgeval.toolkits.librec import Study

    shutil.copytree(ROOT / "tests/golden/data/librec/rerank_small/study", tmp_path / "study")
    shutil.move(tmp_path / "study/data", tmp_path / "data")
    config = tmp_path / "study/conf/config.xml"
    config.write_text(config.read_text().replace("<data-dir>data<", "<data-dir>../data<"))
    with pytest.raises(InputError, match="names a file outside of the study"):
        Study(tmp_path / "study")
    assert len(Study(tmp_path / "study", allow_outside=True)) == 2
