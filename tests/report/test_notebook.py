"""Objects in a notebook: each shows itself as HTML, in which names from the data are text and numbers can be copied."""

from __future__ import annotations

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


# Of twelve users four find the item at the second place and eight at the first: MRR@2 = (8 + 4 / 2) / 12.
@pytest.mark.parametrize(
    "kind",
    ["report", "reports", "comparison", "explanation", "identification", "gate", "inspection", "slices", "study"],
)
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
