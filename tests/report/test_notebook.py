"""Objects in a notebook: each shows itself as HTML, in which names from the data are text and numbers can be copied."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

import bridgeval
from bridgeval.toolkits.librec.study_report import StudyReport

HOSTILE = "<img src=x onerror=alert(1)>"
USERS = range(12)
TRUTH = {user: ["x"] for user in USERS}
OLD = {user: ["y", "x"] for user in USERS}
NEW = {user: ["x", "y"] if user % 3 else ["y", "x"] for user in USERS}
BY = pd.DataFrame({"user_id": USERS, "group": [HOSTILE if user % 2 else "plain" for user in USERS]})


class Shown(HTMLParser):
    """The tags of a view, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def make(kind: str) -> Any:
    old, new = (bridgeval.evaluate(lists, TRUTH, "MRR@2", by=BY) for lists in (OLD, NEW))
    makers = {
        "report": lambda: new,
        "reports": lambda: bridgeval.Reports({"old": old, HOSTILE: new}),
        "comparison": lambda: bridgeval.compare({"old": old, HOSTILE: new}, by=BY),
        "explanation": lambda: bridgeval.explain(NEW, TRUTH, "MRR@1", "MRR@2"),
        "identification": lambda: bridgeval.identify(NEW, TRUTH, 0.8333, "MRR@2"),
        "gate": lambda: bridgeval.check(NEW, TRUTH, old, "MRR@2=0.01", by=BY),
        "inspection": lambda: bridgeval.inspect(NEW, TRUTH, "MRR@2"),
        "slices": lambda: new.slices,
        "examples": lambda: bridgeval.find_examples({"old": OLD, HOSTILE: NEW}, {**TRUTH, 0: ["x", "y"]}, "nDCG@2"),
        "study": lambda: StudyReport({"exp": {1: new}}, {"exp": {"rate": HOSTILE}}),
    }
    return makers[kind]()


KINDS = ["report", "reports", "comparison", "explanation", "identification", "gate", "inspection", "slices", "study"]


# Of twelve users four find the item at the second place and eight at the first: MRR@2 = (8 + 4 / 2) / 12.
@pytest.mark.parametrize("kind", KINDS)
def test_every_object_shows_its_numbers_in_a_notebook(kind: str) -> None:
    shown = Shown(make(kind)._repr_html_())
    assert "table" in shown.tags
    assert "img" not in shown.tags
    assert "0.8333" in shown.text


def test_examples_show_lists_without_anchors_that_would_repeat() -> None:
    # User 0 finds y and x, both relevant, with either system; users 3, 6 and 9 find x at the second place, 1 / log2(3).
    text = make("examples")._repr_html_()
    shown = Shown(text)
    assert "✓ x" in shown.text
    assert "0.6309" in shown.text
    assert "img" not in shown.tags
    assert "id=" not in text


def test_an_explanation_shows_its_waterfall() -> None:
    assert "svg" in Shown(make("explanation")._repr_html_()).tags


# The colors of JupyterLab's cells.
@pytest.mark.browser
@pytest.mark.parametrize(("paper", "ink"), [("#ffffff", "#212121"), ("#111111", "#e0e0e0")])
def test_views_are_read_on_light_and_dark_and_copied_as_numbers(browser: Any, paper: str, ink: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    views = "".join(f"<div id={kind}>{make(kind)._repr_html_()}</div>" for kind in [*KINDS, "examples"])
    page = browser.new_page()
    style = f"<style>body {{ background: {paper}; color: {ink} }}</style>"
    page.set_content(f"<!doctype html><html lang=en><title>Notebook</title>{style}<main>{views}</main></html>")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(page, options={"runOnly": ["color-contrast"]}).response
    assert [node["html"] for one in found["violations"] for node in one["nodes"]] == []
    assert found["passes"]
    # The text of a chart: contrast of at least 3 : 1, which large text and graphics need.
    fill = page.evaluate("getComputedStyle(document.querySelector('#explanation svg text')).fill")
    assert contrast(fill, paper) >= 3
    for kind in KINDS:
        if kind != "inspection":
            copied = page.evaluate(
                "kind => { getSelection().selectAllChildren(document.querySelector(`#${kind} table`));"
                "          return getSelection().toString(); }",
                kind,
            )
            numbers = [float(cell) for cell in re.findall(r"(?<![\w.])[-+]?\d+\.\d+(?![\w.])", copied)]
            assert numbers, copied
            assert "\t" in copied
    page.close()


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colors, rgb(1, 2, 3) or #010203, as WCAG defines it."""

    def luminance(color: str) -> float:
        parts = (
            [int(color[at : at + 2], 16) for at in (1, 3, 5)]
            if color[0] == "#"
            else map(int, re.findall(r"\d+", color))
        )
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in parts)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)
