"""Every command, run as a process on real files."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bridgeval.cli import COMMANDS
from tests.cli.conftest import RECS, TRUTH, Run, command, environment


def numbers(stdout: str) -> dict[str, str]:
    """Metric -> the number beside it in a printed table."""
    return dict(re.findall(r"^ (\S+@\d+)\s+(\d\.\d{4})", stdout, flags=re.MULTILINE))


def test_evaluate_prints_a_table(run: Run) -> None:
    done = run("evaluate", "recs.csv", "truth.csv", "-m", "Recall@1,2", "-m", "MRR@2")
    assert done.returncode == 0, done.stderr
    assert numbers(done.stdout) == {"Recall@1": "0.0000", "Recall@2": "0.7500", "MRR@2": "0.5000"}
    assert "2 of 2 users counted; lists ranked by score." in done.stdout
    assert "\x1b" not in done.stdout


def test_several_systems_are_columns_of_one_table_with_the_best_marked(run: Run, folder: Path) -> None:
    (folder / "other.csv").write_text(RECS.replace("ann,rum,0.5", "ann,rum,0.95"))
    done = run("evaluate", "recs.csv", "second=other.csv", "truth.csv", "-m", "MRR@2", "--no-inspect")
    assert done.returncode == 0, done.stderr
    # Only ann's rum moves, to the first place: (1 + 1/2) / 2.
    assert re.search(r"metric\s+recs\s+second", done.stdout)
    assert re.search(r"MRR@2\s+0\.5000 ± 0\.0000\s+0\.7500 ± 0\.4900 \*", done.stdout)


def test_standard_input_packed_files_and_csv(run: Run, folder: Path) -> None:
    (folder / "truth.csv.gz").write_bytes(gzip.compress((folder / "truth.csv").read_bytes()))
    asked = ["-m", "Recall@2", "--format", "csv", "--out", "out.csv"]
    done = run("evaluate", "-", "truth.csv.gz", *asked, stdin=RECS)
    assert (done.returncode, done.stdout) == (0, "")
    assert "wrote out.csv" in done.stderr
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text())))
    assert list(rows[0]) == ["system", "metric", "k", "slice", "value", "low", "high", "users"]
    expected = {"system": "stdin", "metric": "Recall@2", "k": "2", "slice": "all", "value": "0.75", "users": "2"}
    assert expected.items() <= rows[0].items()


def test_shards_are_merged_and_a_user_in_two_of_them_is_refused(run: Run, folder: Path) -> None:
    """Recall@2 of ann is 1, of bob 1/2; see RECS."""
    head, *rows = RECS.splitlines(keepends=True)
    for user in ("ann", "bob"):
        for name, lines in (("recs", rows), ("truth", TRUTH.splitlines(keepends=True)[1:])):
            own = [line for line in lines if line.startswith(user)]
            (folder / f"{name}-{user}.csv").write_text((head if name == "recs" else "user_id,item_id\n") + "".join(own))
        done = run("evaluate", f"recs-{user}.csv", f"truth-{user}.csv", "-m", "Recall@2", "--state", f"{user}.state")
        assert done.returncode == 0, done.stderr
    done = run("merge", "ann.state", "bob.state", "--format", "csv", "--state", "both.state")
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert {"metric": "Recall@2", "value": "0.75", "users": "2"}.items() <= row.items()
    done = run("evaluate", "recs-ann.csv", "truth-ann.csv", "-m", "Recall@2", "--state", "again.state")
    done = run("merge", "both.state", "again.state")
    assert (done.returncode, done.stdout) == (3, "")
    assert "1 user is in several files (found: 'ann' in 'both.state' and 'again.state')" in done.stderr
    assert "count each time: --users events" in done.stderr
    assert "0.8333" in run("merge", "both.state", "again.state", "--users", "events").stdout


def test_a_state_file_holds_one_system(run: Run, folder: Path) -> None:
    done = run("evaluate", "a=recs.csv", "b=recs.csv", "truth.csv", "--state", "both.state")
    assert (done.returncode, done.stdout) == (2, "")
    assert "a state file holds one system" in done.stderr


def test_trec_files_by_a_toolkits_convention_in_latex(run: Run, folder: Path) -> None:
    lists = [f"{line.replace(',', ' Q0 ', 1).replace(',', ' 0 ')} bm25" for line in RECS.splitlines()[1:]]
    (folder / "run").write_text("\n".join(lists))
    (folder / "qrels").write_text("ann 0 rum 1\nbob\t0\ttea  2\nbob 0 bun 1\nbob 0 gin 0\n")
    asked = ["--convention", "trec_eval", "-m", "recip_rank@2", "-m", "recall@2", "--format", "latex"]
    done = run("evaluate", "run", "qrels", *asked)
    assert done.returncode == 0, done.stderr
    assert r"\toprule" in done.stdout
    assert r"trec\_eval:recip\_rank@2 & 0.5000 & " in done.stdout
    assert r"trec\_eval:recall@2 & 0.7500 & " in done.stdout


def test_names_for_columns_and_per_user_values(run: Run, folder: Path) -> None:
    (folder / "bare.csv").write_text("\n".join(f"x,{line}" for line in RECS.splitlines()[1:]))
    (folder / "odd.csv").write_text((folder / "truth.csv").read_text().replace("user_id,item_id", "customer,sku"))
    named = ["--recs-columns", "_,user,item,score", "--columns", "user=customer,item=sku"]
    done = run("evaluate", "bare.csv", "odd.csv", *named, "-m", "Recall@2", "--per-user", "users.parquet")
    assert done.returncode == 0, done.stderr
    assert numbers(done.stdout) == {"Recall@2": "0.7500"}
    found = pd.read_parquet(folder / "users.parquet")
    assert found.to_dict("records") == [
        {"system": "bare", "metric": "Recall@2", "user": "ann", "value": 1.0},
        {"system": "bare", "metric": "Recall@2", "user": "bob", "value": 0.5},
    ]


def test_evaluate_says_by_itself_what_is_alarming(run: Run) -> None:
    done = run("evaluate", "recs.csv", "truth.csv", "--train", "train.csv", "-m", "MRR@2")
    # bob's gin is in his history; without it tea comes first, so (1/2 + 1) / 2.
    assert "! 1 recommended items are in the user's own history: without them MRR@2 would be 0.7500" in done.stderr
    assert "✓" not in done.stderr


def test_inspect_lists_what_it_looked_for(run: Run) -> None:
    done = run("inspect", "recs.csv", "truth.csv", "-m", "MRR@2", "--train", "train.csv")
    assert done.returncode == 0, done.stderr
    assert "users: 2 recommended to, 2 with relevance, 2 in both; MRR@2 = 0.5000" in done.stdout
    assert "✓ all 2 users have recommendations and relevant items" in done.stdout


def test_inspect_exits_with_1_when_no_number_can_be_had(run: Run, folder: Path) -> None:
    (folder / "ints.csv").write_text("user_id,item_id\n1,rum\n")
    done = run("inspect", "recs.csv", "ints.csv", "--format", "json")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)["recs"]["findings"]
    assert (finding["key"], finding["level"]) == ("id types", "stop")
    assert "user ids are strings on one side and integers on the other" in finding["what"]
    assert "read as text, 0 users and 1 items would match" in finding["effect"]


def test_metrics_are_listed(run: Run) -> None:
    listed = run("metrics").stdout
    assert re.search(r"nDCG\s+accuracy\s+↑", listed)
    assert re.search(r"RMSE\s+rating\s+↓", listed)


def test_conventions_are_listed_with_version_and_how_far_they_are_verified(run: Run) -> None:
    listed = run("metrics", "--conventions").stdout
    assert re.search(r"xgboost\s+3\.2\.0\s+goldens", listed)
    assert re.search(r"elliot\s+0\.3\.1\s+arithmetic", listed)
    assert "- cornac: all metrics of a call share one ranking" in listed


def test_a_metric_is_explained(run: Run) -> None:
    told = run("metrics", "trec_eval:map_cut").stdout
    assert 'natively: MAP(users="answered", ties="text_descending", divide_by="relevant")\n' in told
    words = "users with a row of relevance count, whatever its gain, if the recommendations name them"
    assert words in " ".join(told.split())
    assert "needs: lists and relevance" in told
    assert max(map(len, told.splitlines())) <= 100
    assert '  users = "answered"\n' in told
    assert '\n      "shown", users who were shown something count\n' in told


def test_what_goes_to_no_terminal_has_no_blanks_at_the_end(run: Run) -> None:
    for arguments in (["metrics"], ["plugins"], ["evaluate", "recs.csv", "truth.csv"]):
        lines = run(*arguments).stdout.splitlines()
        assert [line for line in lines if line != line.rstrip()] == []


def test_plugins_are_listed(run: Run) -> None:
    done = run("plugins")
    assert re.search(r"bridgeval\.toolkits\.frames\s+bridgeval\s+loaded", done.stdout)
    assert "BRIDGEVAL_DISABLE_PLUGINS" in done.stdout


def test_a_report_of_a_changed_input_does_not_verify(run: Run, folder: Path) -> None:
    (folder / "out").mkdir()
    written = run(
        "evaluate", "recs.csv", "truth.csv", "--train", "train.csv", "--format", "json", "--out", "out/report.json"
    )
    assert written.returncode == 0, written.stderr
    document = json.loads((folder / "out" / "report.json").read_text())
    assert document["manifest"]["inputs"]["history"]["path"] == "../train.csv"
    assert document["definitions"]["nDCG@10"]["rules"][0] == "users with at least one relevant item count"
    (folder / "recs.csv").write_text(RECS.replace("ann,rum,0.5", "ann,rum,0.95"))
    done = run("verify", "out/report.json", "--allow-outside")
    assert done.returncode == 1
    assert re.search(r"differs: recommendations\[recs\]: recorded sha256 \w{12}, now sha256 \w{12}", done.stdout)
    assert "differs: recs nDCG@10: recorded 0.5" in done.stdout


def test_a_report_of_a_plugin_that_is_gone_says_what_to_install(run: Run, folder: Path) -> None:
    run("evaluate", "recs.csv", "truth.csv", "-m", "Recall@2", "--format", "json", "--out", "report.json")
    written = (folder / "report.json").read_text().replace("Recall@2", "OfAPlugin@2")
    document = json.loads(written)
    (folder / "report.json").write_text(written)
    assert run("verify", "report.json").returncode == 2
    document["manifest"]["versions"]["bridgeval-gone"] = "2.5"
    (folder / "report.json").write_text(json.dumps(document))
    done = run("verify", "report.json")
    assert done.returncode == 4
    assert "the report cannot be made again: there is no metric 'OfAPlugin'" in done.stderr
    assert "install what it was made with: bridgeval-gone 2.5" in done.stderr


def test_demo_ends_with_a_page_and_says_where(run: Run, folder: Path) -> None:
    done = run("demo", "--folder", "shop")
    assert done.returncode == 0, done.stderr
    assert re.search(r"metric\s+popular\s+neighbors", done.stdout)
    assert f"The report page: {folder / 'shop' / 'report.html'}" in done.stdout
    page = (folder / "shop" / "report.html").read_text()
    assert "<!doctype html>" in page
    assert "gains most: neighbors over popular" in page
    assert "Had before" in page
    assert len(page) < 1_500_000
    assert "Try next:\n  bridgeval inspect shop/popular.parquet" in done.stdout


def test_help_is_quick_and_imports_nothing_heavy(folder: Path) -> None:
    watched = "import sys; from bridgeval.cli import main\ntry: main(['--help'])\nfinally: print(*sorted(sys.modules))"
    started = time.monotonic()
    done = subprocess.run(
        [command()[0], "-c", watched], env=environment(), cwd=folder, capture_output=True, text=True, check=True
    )
    took = time.monotonic() - started
    assert "evaluate" in done.stdout
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"torch", "pandas", "pyarrow", "numpy", "pydantic", "matplotlib", "rich", "jinja2", "pyspark"}
    # 0.1 s where nothing else runs; the promise is 0.4 s, and a busy machine must not fail the build.
    assert took < 2.0


def test_the_bare_command_shows_its_help(run: Run) -> None:
    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("--help").stdout
    # Nothing is cut short on a terminal of 80 columns.
    assert "..." not in done.stdout.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    done = run(name, "--help")
    assert done.returncode == 0
    assert f"Usage: bridgeval {name}" in done.stdout
    assert "--debug" in done.stdout


def test_shells_complete_commands_and_metrics(run: Run, folder: Path) -> None:
    assert "_BRIDGEVAL_COMPLETE=bash_complete" in run("completion", "bash").stdout
    completed = run(_BRIDGEVAL_COMPLETE="bash_complete", COMP_WORDS="bridgeval eva", COMP_CWORD="1").stdout
    assert completed == "plain,evaluate\n"
    words = {"_BRIDGEVAL_COMPLETE": "bash_complete", "COMP_WORDS": "bridgeval evaluate -m nDC", "COMP_CWORD": "3"}
    words["XDG_CACHE_HOME"] = str(folder / "cache")
    assert "plain,nDCG\n" in run(**words).stdout
    cache = folder / "cache" / "bridgeval" / "metric-names.json"
    kept = json.loads(cache.read_text())
    assert {"nDCG", "rectools:NDCG"} <= set(kept["names"])
    # The next answer comes from there, unless something else is installed, it is damaged, or it is old.
    cache.write_text(json.dumps(kept | {"names": ["nDCGfromCache"]}))
    assert run(**words).stdout == "plain,nDCGfromCache\n"
    assert "plain,nDCG\n" in run(**words, BRIDGEVAL_DISABLE_PLUGINS="nosuch").stdout
    cache.write_text("{")
    assert "plain,nDCG\n" in run(**words).stdout
    cache.write_text(json.dumps(kept | {"names": ["nDCGfromCache"]}))
    os.utime(cache, (0, 0))
    assert "plain,nDCG\n" in run(**words).stdout


def test_a_completion_from_the_cache_imports_nothing_heavy(folder: Path) -> None:
    words = {"_BRIDGEVAL_COMPLETE": "bash_complete", "COMP_WORDS": "bridgeval evaluate -m nDC", "COMP_CWORD": "3"}
    watched = "import sys; from bridgeval.cli import main\ntry: main([])\nfinally: print(*sorted(sys.modules))"
    for _ in range(2):
        env = environment(**words, XDG_CACHE_HOME=str(folder))
        code = [command()[0], "-c", watched]
        done = subprocess.run(code, env=env, cwd=folder, capture_output=True, text=True, check=True)
    assert "plain,nDCG\n" in done.stdout
    assert not set(done.stdout.splitlines()[-1].split()) & {"torch", "pandas", "pyarrow", "numpy"}


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    with subprocess.Popen(
        command("metrics"), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_ends_cleanly(folder: Path) -> None:
    with subprocess.Popen(
        command("evaluate", "-", "truth.csv"),
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # More than a pipe holds: once this is written, the command is reading.
        process.stdin.write(b"user_id,item_id\n" + b"ann,rum\n" * 100_000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        # Python sees a signal that comes just before a read when the read ends.
        process.stdin.close()
        told = process.stderr.read()
    assert (process.returncode, told.strip()) == (130, b"error: interrupted")


@pytest.mark.parametrize("place", ["bridgeval.config.run", "bridgeval.cli.output.write"])
def test_ctrl_c_ends_cleanly_in_the_engine_and_while_writing(folder: Path, place: str) -> None:
    module, _, name = place.rpartition(".")
    program = f"""
import importlib, signal
from bridgeval import cli
module = importlib.import_module({module!r})
setattr(module, {name!r}, lambda *_: signal.raise_signal(signal.SIGINT))
cli.main(["evaluate", "recs.csv", "truth.csv"])
"""
    done = python(program, folder)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


@pytest.mark.parametrize(("name", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_an_import_ends_before_a_signal_unwinds_the_command(folder: Path, name: str, code: int, word: str) -> None:
    # An import that takes the interruption for a failure, as those of C do, would be tried again half done.
    (folder / "interrupted.py").write_text(f"""
import signal
try:
    signal.raise_signal(signal.{name})
    print("loaded")
except BaseException as error:
    raise ImportError from error
""")
    program = """
import time
from bridgeval import cli, config
def run(*_):
    import interrupted
    time.sleep(20)
config.run = run
cli.main(["evaluate", "recs.csv", "truth.csv"])
"""
    done = python(program, folder)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (code, "loaded\n", f"error: {word}")


def test_a_temporary_file_is_made_and_removed_before_a_signal_unwinds_the_command(folder: Path) -> None:
    (folder / "scratch").mkdir()
    # The signal comes just after tempfile has made the file that tells it whether it may write.
    program = """
import os, signal, tempfile, time
from bridgeval import cli, config
made = os.open
def open_and_interrupt(path, *given):
    file = made(path, *given)
    signal.raise_signal(signal.SIGTERM)
    return file
def run(*_):
    os.open = open_and_interrupt
    tempfile.gettempdir()
    time.sleep(20)
config.run = run
cli.main(["evaluate", "recs.csv", "truth.csv"])
"""
    done = python(program, folder, TMPDIR=str(folder / "scratch"))
    assert (done.returncode, done.stderr.strip()) == (143, "error: terminated")
    assert list((folder / "scratch").iterdir()) == []


def test_an_import_without_end_is_interrupted_all_the_same(folder: Path) -> None:
    (folder / "endless.py").write_text("import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep(20)\n")
    program = """
from bridgeval import cli
from bridgeval.cli import stopping
stopping.PATIENCE = 0.1
cli.COMMANDS["demo"] = "endless:demo"
cli.main(["demo"])
"""
    done = python(program, folder)
    assert (done.returncode, done.stderr.strip()) == (130, "error: interrupted")


def python(program: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Ends, or fails, long before the program would by itself."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment() | variables,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_explain_says_why_two_numbers_differ(run):
    done = run("explain", "recs.csv", "truth.csv", "rectools:NDCG@3", "ranx:ndcg@3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rectools:NDCG@3")
    assert 'ideal: "k" -> "reachable"' in done.stdout


def test_explain_writes_a_paragraph_plain_data_or_a_page(run):
    asked = ("explain", "recs.csv", "truth.csv", "rectools:NDCG@3", "ranx:ndcg@3", "--format")
    assert run(*asked, "md").stdout.startswith("On the same data `rectools:NDCG@3` is ")
    assert json.loads(run(*asked, "json").stdout)["first"] == "rectools:NDCG@3"
    page = run(*asked, "html").stdout
    assert page.startswith("<!doctype html>")
    assert "<svg" in page


def test_explain_refuses_two_different_metrics(run):
    done = run("explain", "recs.csv", "truth.csv", "nDCG@3", "MAP@3")
    assert done.returncode == 2
    assert "different metrics" in done.stderr
    assert "Traceback" not in done.stderr


def test_identify_finds_whose_number_it_is(run):
    # At 3: ann finds rum at place 2, bob tea at place 2, so DCG is 1/log2(3) = 0.6309 for both. RecTools divides by
    # the DCG of three hits, 1 + 0.6309 + 0.5 = 2.1309: 0.2961.
    done = run("identify", "recs.csv", "truth.csv", "0.2961", "ndcg@3")
    assert done.returncode == 0, done.stderr
    assert "0.296082  rectools:NDCG@3" in done.stdout
    assert 'the ideal list (ideal: "reachable" -> "k")' in done.stdout
    asked = ("identify", "recs.csv", "truth.csv", "29.61%", "ndcg@5", "--cutoff", "3", "--format")
    assert json.loads(run(*asked, "json").stdout)["matches"][0]["definitions"][0]["name"] == "rectools:NDCG@3"
    assert "| `rectools:NDCG@3` |" in run(*asked, "md").stdout
    assert run(*asked, "html").stdout.startswith("<!doctype html>")


def test_identify_exits_with_1_if_nothing_matches(run):
    done = run("identify", "recs.csv", "truth.csv", "0.9", "ndcg@3", "--tolerance", "0.001")
    assert done.returncode == 1
    assert "0.9 is given by none of" in done.stdout
    assert run("identify", "recs.csv", "truth.csv", "half", "ndcg@3").returncode == 2


def test_ids_that_are_no_position_of_a_matrix_are_told_once(run, folder):
    np.save(folder / "scores.npy", np.eye(3))
    (folder / "from_1.csv").write_text("user_id,item_id\n1,1\n2,2\n3,3\n")
    done = run("evaluate", "scores.npy", "from_1.csv", "-m", "Recall@1")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: 1 user id(s)") == done.stderr.count("warning: 1 item id(s)") == 1
    assert "items=range(1, 4)" in done.stderr


def test_the_truth_can_be_named_wherever_it_is_an_argument(run: Run, folder: Path) -> None:
    (folder / "study.toml").write_text('recommendations = "recs.csv"\nrelevance = "truth.csv"\n')
    (folder / "none.csv").write_text("user_id,item_id\nann,bun\n")
    for name in ("evaluate", "inspect"):
        last = run(name, "recs.csv", "truth.csv", "-m", "Recall@2")
        named = run(name, "recs.csv", "--truth", "truth.csv", "-m", "Recall@2")
        assert (named.returncode, named.stdout) == (0, last.stdout)
        config = run(name, "--config", "study.toml", "-m", "Recall@2")
        assert config.stdout == last.stdout
        other = run(name, "--config", "study.toml", "--truth", "none.csv", "-m", "Recall@2")
        assert other.stdout != last.stdout
    asked = ("rectools:NDCG@2", "nDCG@2")
    named = run("explain", "recs.csv", *asked, "--truth", "truth.csv")
    assert (named.returncode, named.stdout) == (0, run("explain", "recs.csv", "truth.csv", *asked).stdout)


def test_exchanged_arguments_are_refused(run: Run) -> None:
    for name, more in (("evaluate", ()), ("inspect", ()), ("explain", ("nDCG@2", "MAP@2"))):
        done = run(name, "truth.csv", "recs.csv", *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert "TRUTH comes last" in done.stderr
