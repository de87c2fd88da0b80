"""The page without a browser: what is in it, and what cannot get out of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from markupsafe import Markup

import bridgeval
from bridgeval.plugin import Section
from bridgeval.report.page.charts import find_front
from bridgeval.report.page.page import render_page
from tests.report.conftest import FIRST, HOSTILE, SCRIPT, TRUTH


class Seen(HTMLParser):
    """Tags, ids of sections, and every attribute that could fetch something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.sections: list[str] = []
        self.fetches: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if tag == "section":
            self.sections.append(given["id"] or "")
        for name in ("src", "href", "data", "action", "xlink:href"):
            target = given.get(name) or ""
            if target and not target.startswith(("#", "data:")):
                self.fetches.append(target)


def test_the_page_has_every_section_and_fetches_nothing(reports: bridgeval.Reports) -> None:
    inspections = {name: bridgeval.inspect(FIRST, TRUTH, "MRR@2") for name in reports}
    text = render_page(reports, inspections=inspections)
    seen = Seen(text)
    assert seen.sections == ["results", "cutoffs", "users", "trade-offs", "inspection", "definitions", "origin"]
    assert seen.fetches == []
    assert not re.search(r"url\((?!#)|@import", text)
    assert len(text) < 1_500_000


def test_the_page_refers_to_compare_unless_it_is_a_comparison(reports: bridgeval.Reports) -> None:
    told = "<code>bridgeval compare</code> answers"
    assert told in render_page(reports)
    assert told not in bridgeval.compare({"a": FIRST, "b": FIRST}, TRUTH, "MRR@2").to_html()


def test_counts_have_no_decimals() -> None:
    # tea, rum, gin and ale are shown; ann and bob are served at their second place, the third user never: 1 / 3.
    report = bridgeval.evaluate(FIRST, TRUTH, ["ItemCoverage@2", "MRR@2"], catalogue=["tea", "rum", "gin", "ale"])
    values = {row[0].text: row[1].text for row in report.wide().rows}
    assert values == {"ItemCoverage@2": "4", "MRR@2": "0.3333"}


def test_names_from_the_data_are_text(reports: bridgeval.Reports) -> None:
    inspections = {HOSTILE: bridgeval.inspect({SCRIPT: ["a"]}, {HOSTILE: ["a"]}, "MRR@2")}
    text = render_page(reports, title=SCRIPT, inspections=inspections, manifest={"request": {"relevance": HOSTILE}})
    assert "img" not in Seen(text).tags
    assert text.count("<script>") == 1
    assert "&lt;img onerror" in text
    assert "&lt;script&gt;" in text


def test_one_report_has_a_page_too() -> None:
    report = bridgeval.evaluate(FIRST, TRUTH, ["MRR@1,2"], per_user=True)
    seen = Seen(report.to_html())
    assert seen.sections == ["results", "cutoffs", "users", "definitions", "origin"]


def test_added_sections_come_between_the_charts_and_the_inspection(reports: bridgeval.Reports) -> None:
    more = [Section("comparison", "Comparison", Markup("<p>as good</p>"))]
    seen = Seen(render_page(reports, more=more))
    assert seen.sections.index("comparison") == seen.sections.index("trade-offs") + 1


def test_the_verdict_is_a_sentence(reports: bridgeval.Reports) -> None:
    # MRR@2 is nearest to the usual cutoff: 2/3 against 1/3.
    assert re.search(r"has the best MRR@2: 0\.6667 \(95% interval .*\), 100% above first\.", render_page(reports))


def test_a_page_is_the_same_each_time(reports: bridgeval.Reports) -> None:
    assert render_page(reports) == render_page(reports)


def test_the_pareto_front_holds_what_nothing_dominates() -> None:
    points = [(0.1, 5.0), (0.2, 4.0), (0.15, 3.0), (0.2, 4.0)]
    assert find_front(points, (True, True)) == [0, 1, 3]
    assert find_front(points, (True, False)) == [1, 2, 3]
