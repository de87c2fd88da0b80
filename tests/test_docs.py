"""Every Python example in the README and in docs/ is executed, in the order it stands in its file."""

from __future__ import annotations

import doctest
import os
import re
import warnings
from pathlib import Path

import pytest

import bridgeval

ROOT = Path(__file__).parent.parent
# Pages that are made at each build of the site, and what it is built into, are not sources.
MADE = ("generated", "_build")
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(MADE) & set(page.parts)]
DOCUMENTS = [ROOT / "README.md", *PAGES]


def name_page(document: Path) -> str:
    return document.relative_to(ROOT).as_posix().removeprefix("docs/")


BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^```\{code-cell\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(document: Path, pattern: re.Pattern[str] = BLOCK) -> list[str]:
    return pattern.findall(document.read_text(encoding="utf-8"))


ON_SPARK = [d for d in DOCUMENTS if "SparkSession" in d.read_text(encoding="utf-8")]
HERE = [d for d in DOCUMENTS if examples(d) and d not in ON_SPARK]


@pytest.mark.parametrize("document", HERE, ids=name_page)
def test_examples_run_and_print_what_they_say(document, tmp_path, monkeypatch):
    run_examples(document, tmp_path, monkeypatch)


NOTEBOOKS = [d for d in DOCUMENTS if examples(d, CELL)]


@pytest.mark.parametrize("document", NOTEBOOKS, ids=name_page)
def test_notebooks_run(document, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    run_examples(document, tmp_path, monkeypatch, CELL)


@pytest.mark.spark
@pytest.mark.parametrize("document", ON_SPARK, ids=name_page)
def test_spark_examples_run_and_print_what_they_say(document, tmp_path, monkeypatch, spark):
    run_examples(document, tmp_path, monkeypatch)


def run_examples(document: Path, folder: Path, monkeypatch, pattern: re.Pattern[str] = BLOCK) -> dict[str, object]:
    """Runs all examples of a document; returns the names that they define."""
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for number, block in enumerate(examples(document, pattern), start=1):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, f"{document.name}:{number}", None, None)
            runner.run(test, clear_globs=False)
            names.update(test.globs)
        else:
            exec(compile(block, f"{document.name}:{number}", "exec"), names)
    assert not runner.failures, f"{runner.failures} example(s) of {document.name} print something else"
    return names


CHECKS = re.findall(
    r"^\| [^|`]+ \| `(.+?)` \| `(.+?)` \|$", (ROOT / "docs/checks.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("example", "message"), CHECKS, ids=[message.partition(":")[0] for _, message in CHECKS])
def test_every_check_gives_the_message_of_its_row(example, message, tmp_path, monkeypatch):
    names = run_examples(ROOT / "docs/checks.md", tmp_path, monkeypatch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(example, names)
            told = [f"{one.category.__name__}: {one.message}" for one in caught]
        except bridgeval.errors.BridgevalError as error:
            told = [f"{type(error).__name__}: {error}"]
    assert len(told) == 1, told
    assert doctest.OutputChecker().check_output(f"{message}\n", f"{told[0]}\n", doctest.ELLIPSIS), told[0]


def test_the_page_of_checks_has_all_its_rows():
    assert len(CHECKS) == (ROOT / "docs/checks.md").read_text(encoding="utf-8").count("\n| ") - 4


def test_links_between_documents_lead_somewhere():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#\s]+)", document.read_text(encoding="utf-8")):
            if not target.startswith(("http:", "https:")) and not set(MADE) & set(Path(target).parts):
                assert os.path.exists(document.parent / target), f"{document.name} links to {target}"
