"""The page without a browser: what is in it, and what cannot get out of it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest
from markupsafe import Markup

import bridgeval
from bridgeval.plugin import Section
from bridgeval.report.page.charts import find_front
from bridgeval.report.page.page import render_page
from tests.report.conftest import FIRST, HOSTILE, SCRIPT, SECOND, TRUTH, Letters


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


def test_the_best_is_marked_by_whether_it_is_significant() -> None:
    # Of 8 users the second system finds the item of seven at the first place, the first system at the second: MRR@2 is
    # 1/2 and 15/16, every difference but one is 1/2; t = 7, p = 0.0002. In Recall@2 nobody differs.
    truth = {user: ["x"] for user in range(8)}
    first = {user: ["y", "x"] for user in range(8)}
    second = {user: ["x", "y"] if user else ["y", "x"] for user in range(8)}
    third = {user: ["x", "y"] if user < 5 else ["y", "x"] for user in range(8)}

    def render(**systems: Any) -> str:
        asked = ["MRR@2", "Recall@2"]
        found = {name: bridgeval.evaluate(lists, truth, asked, per_user=True) for name, lists in systems.items()}
        return render_page(bridgeval.Reports(found))

    clear = render(first=first, second=second)
    assert "second has the best MRR@2: 0.9375" in clear
    assert "88% above first, significantly (p = 0.0002)." in clear
    assert clear.count('class="best"') == clear.count('number best"') == 1
    # Second and third differ by -1/2 once and by 1/2 three times: mean 1/8, variance (1 - 1/8) / 7 = 1/8, t = 1 with 7
    # degrees, p = 0.3506, which is the largest of the three tests.
    unclear = render(first=first, second=second, third=third)
    assert "15% above third, but not significantly (p = 0.3506)." in unclear
    assert unclear.count('class="leading"') == unclear.count('number leading"') == 1
    assert 'class="best"' not in unclear


def test_without_values_of_users_the_headline_claims_no_test() -> None:
    reports = {name: bridgeval.evaluate(lists, TRUTH, "MRR@2") for name, lists in (("a", FIRST), ("b", SECOND))}
    assert "100% above a; no test says whether the two differ by chance." in render_page(bridgeval.Reports(reports))


def test_a_lone_bar_shows_the_value_on_the_scale_of_the_metric() -> None:
    # 1 of 3 relevant items: a third of the way from 0 to 1. A count has no upper bound, so it has no bar.
    report = bridgeval.evaluate(
        {1: ["a"]}, {1: ["a", "b", "c"]}, ["Recall@3", "ItemCoverage@3"], catalogue=["a", "b", "c"]
    )
    text = report.to_html()
    assert "higher is better; from 0 to 1" in text
    assert re.findall(r'<i style="width:([0-9.]+)%">', text) == ["33.33"]


def test_a_gain_points_to_the_right_where_lower_is_better() -> None:
    # Letters is the share of filled places, and fewer are better: four of six users fall from 1 to 1/2, a gain of 1/3.
    truth = {user: ["x"] for user in range(6)}
    old = {user: ["x", "y"] for user in range(6)}
    new = {user: ["x"] if user < 4 else ["x", "y"] for user in range(6)}
    compared = bridgeval.compare({"old": old, "new": new}, truth, [Letters(2), "MRR@2"])
    text = compared.to_html()
    assert compared.difference("Letters@2").difference == pytest.approx(-1 / 3)
    assert "metric: Letters@2\ngain: +33.33%" in text
    assert "Letters@2 ↓" in text
    assert "better →" in text


def test_counts_have_no_decimals() -> None:
    # tea, rum, gin and ale are shown; ann and bob are served at their second place, the third user never: 1 / 3.
    report = bridgeval.evaluate(FIRST, TRUTH, ["ItemCoverage@2", "MRR@2"], catalogue=["tea", "rum", "gin", "ale"])
    values = {row[0].text: row[1].text for row in report.wide().rows}
    assert values == {"ItemCoverage@2": "4", "MRR@2": "0.3333"}


def test_counts_of_a_comparison_have_no_decimals() -> None:
    # 12 items against the same and one more.
    truth = {user: ["x"] for user in range(12)}
    old = {user: [f"i{user}"] if user else ["x"] for user in range(12)}
    new = {user: [f"i{user}", "x"] for user in range(12)}
    row = bridgeval.compare({"old": old, "new": new}, truth, ["ItemCoverage@2"]).wide().rows[0]
    assert [cell.text for cell in row[:4]] == ["ItemCoverage@2", "13", "12", "+1"]


def test_examples_have_a_section_in_which_ids_are_text(
    reports: bridgeval.Reports, examples: bridgeval.Examples
) -> None:
    text = render_page(reports, examples=examples)
    seen = Seen(text)
    assert seen.sections.index("examples") == seen.sections.index("definitions") - 1
    assert "img" not in seen.tags
    assert text.count("<script>") == 1
    assert text.count('<b class="hit">✓ rum</b>') == 3


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


def test_an_explanation_is_a_section_with_its_waterfall(reports: bridgeval.Reports) -> None:
    # The first system finds an item of two of three users, at the second place: 0 and (1/2 + 1/2) / 3.
    found = bridgeval.explain(FIRST, TRUTH, "MRR@1", "MRR@2")
    text = render_page(reports, more=[found.to_section()])
    assert "MRR-1-and-MRR-2" in Seen(text).sections
    part = text[text.index('<section id="MRR-1-and-MRR-2">') : text.index('<section id="definitions">')]
    assert re.findall(r"<title>(.*?)</title>", part, re.DOTALL) == [
        "MRR@1\nvalue: 0.0000",
        "k: 1 -&gt; 2\nvalue: +0.3333",
        "MRR@2\nvalue: 0.3333",
    ]
    assert "On the same data MRR@1 is 0.0000 and MRR@2 is 0.3333" in part


def test_the_verdict_is_a_sentence(reports: bridgeval.Reports) -> None:
    # MRR@2 is nearest to the usual cutoff: 2/3 against 1/3.
    assert re.search(
        r"has the best MRR@2: 0\.6667 \(95% interval .*\), 100% above first, but not significantly",
        render_page(reports),
    )


def test_a_page_is_the_same_each_time(reports: bridgeval.Reports) -> None:
    assert render_page(reports) == render_page(reports)


def test_the_pareto_front_holds_what_nothing_dominates() -> None:
    points = [(0.1, 5.0), (0.2, 4.0), (0.15, 3.0), (0.2, 4.0)]
    assert find_front(points, (True, True)) == [0, 1, 3]
    assert find_front(points, (True, False)) == [1, 2, 3]


def test_slices_are_drawn_only_where_they_differ_and_none_is_missing_from_the_table() -> None:
    # 40 users; those of "far" miss more often than they hit, "parity" has nothing to do with hits.
    truth = {user: ["x"] for user in range(40)}
    lists = {user: ["y" if user % 10 == 0 or (user >= 20 and user % 4) else "x"] for user in range(40)}
    by = pd.DataFrame(
        {
            "user_id": range(40),
            "where": ["far" if user >= 20 else "near" for user in range(40)],
            "parity": [str(user // 2 % 2) for user in range(40)],
        }
    )
    text = bridgeval.evaluate(lists, truth, ["HitRate@1", "MRR@1"], by=by).to_html()
    assert "HitRate@1 by where</code></figcaption>" in text
    assert "by parity</code></figcaption>" not in text
    assert "In 2 of 4 combinations" in text
    assert text.count('<th scope="row">parity = ') == 4
    assert "is worst for" not in text[: text.index('<section id="slices">')]
