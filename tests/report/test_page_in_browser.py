"""The page in headless Chromium: quiet, alone, sortable, dark, narrow, and safe from what the data is called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bridgeval
from tests.report.conftest import FIRST, HOSTILE, SCRIPT, TRUTH

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def path(reports: bridgeval.Reports, examples: bridgeval.Examples, tmp_path_factory: pytest.TempPathFactory) -> Path:
    inspections = {name: bridgeval.inspect(FIRST, {**TRUTH, HOSTILE: ["a"]}, "MRR@2") for name in reports}
    path = tmp_path_factory.mktemp("page") / "report.html"
    reports.to_html(path, title=SCRIPT, inspections=inspections, examples=examples)
    return path


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Any]:
    """Opens the page; in the end nothing was logged, nothing was fetched and no dialog came up."""
    heard: list[str] = []
    pages = []

    def open_page(**settings: Any) -> Any:
        page = browser.new_page(**settings)
        pages.append(page)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: heard.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert [line for line in heard if not line.startswith("data:")] == []


def metrics(page: Any) -> list[str]:
    return page.locator("#results-table tbody tr:visible th code").all_inner_texts()


def test_the_table_sorts_by_number_and_by_name(opened: Any) -> None:
    page = opened()
    head = page.locator("#results-table thead th")
    head.nth(2).locator("button").click()
    values = page.locator("#results-table tbody tr td:nth-child(3)").evaluate_all(
        "all => all.map(c => +c.dataset.value)"
    )
    assert values == sorted(values, reverse=True)
    assert head.nth(2).get_attribute("aria-sort") == "descending"
    head.nth(2).locator("button").click()
    assert head.nth(2).get_attribute("aria-sort") == "ascending"
    head.nth(0).locator("button").press("Enter")
    assert metrics(page) == ["Letters@2", "MRR@1", "MRR@2", "Recall@2", "rectools:NDCG@2"]


def test_the_table_filters(opened: Any) -> None:
    page = opened()
    page.get_by_label("Filter metrics").fill("mrr @2")
    assert metrics(page) == ["MRR@2"]
    assert page.locator("[data-count=results-table]").inner_text() == "1 of 5"
    page.get_by_label("Filter metrics").fill("")
    assert len(metrics(page)) == 5


def test_dark_follows_the_system_and_the_button(opened: Any) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    bright, dim = light.evaluate(background), dark.evaluate(background)
    assert bright != dim
    light.locator("#theme").click()
    assert light.evaluate(background) == dim
    # The charts follow: their text takes its color from the page.
    ink = "getComputedStyle(document.querySelector('figure svg text')).fill"
    assert dark.evaluate(ink) != opened(color_scheme="light").evaluate(ink)


def test_a_phone_does_not_scroll_sideways(opened: Any) -> None:
    page = opened(viewport={"width": 360, "height": 740}, device_scale_factor=2, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("document.querySelector('figure svg').getBoundingClientRect().width") > 200


def test_paper_shows_everything_on_white(opened: Any) -> None:
    page = opened(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open], .folded)").count() == 0


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(opened: Any, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = opened(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = Axe().run(page).response
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"][:160] for node in one["nodes"]]) for one in serious] == []
    assert len(found["passes"]) > 10


def test_marks_tell_their_numbers_on_hover_focus_and_touch(opened: Any) -> None:
    page = opened()
    plot, tip = page.locator("#cutoffs .plot").first, page.locator(".tip")
    plot.locator(".mark").first.hover()
    # MRR@1 of the first system is 0 for all three users.
    assert tip.inner_text().splitlines()[:3] == ["system: first", "k: 1", "value: 0.0000"]
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert "k: 2\nvalue: 0.3333" in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    phone = opened(viewport={"width": 360, "height": 740}, is_mobile=True, has_touch=True)
    phone.locator("#cutoffs .plot .mark").first.tap()
    assert phone.locator(".tip").inner_text().startswith("system: first")
    plain = opened(java_script_enabled=False)
    assert plain.locator("#cutoffs .mark title").first.text_content().startswith("system: first")


def test_tables_and_charts_can_be_saved(opened: Any, reports: bridgeval.Reports) -> None:
    page = opened(java_script_enabled=False)
    for ending, expected in (("CSV", reports.to_csv()), ("MD", reports.to_markdown()), ("TEX", reports.to_latex())):
        with page.expect_download() as waiting:
            page.locator("#results .exports").get_by_text(ending, exact=True).click()
        assert Path(waiting.value.path()).read_text() == expected
    page = opened()
    with page.expect_download() as waiting:
        page.locator("figure .save").first.click()
    assert waiting.value.suggested_filename == "MRR.png"
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_user_leads_to_the_lists_with_hits_marked_and_the_history(opened: Any) -> None:
    page = opened()
    row = page.locator("#examples-table tbody tr").filter(has_text="ann")
    # ann's only relevant item stands second in the first system's list and first in the other's.
    assert row.locator("td").all_inner_texts()[1:] == ["0.5000", "1.0000", "1", "2"]
    lists = page.locator(".example").filter(has_text="Relevant (1): ✓ rum")
    assert not lists.is_visible()
    row.get_by_role("link").press("Enter")
    assert lists.is_visible()
    assert lists.locator(".hit").all_inner_texts() == ["✓ rum", "✓ rum", "✓ rum"]
    assert [row.inner_text().split("\t") for row in lists.locator("tbody tr").all()] == [
        ["1", "tea", "✓ rum"],
        ["2", "✓ rum", "tea"],
    ]
    assert HOSTILE in lists.locator("p").nth(1).inner_text()
    page.locator(".lists > summary").click()
    assert not lists.is_visible()
    row.get_by_role("link").click()
    assert lists.is_visible()


def test_users_can_be_sorted_filtered_and_saved(opened: Any, examples: bridgeval.Examples) -> None:
    page = opened()
    values = page.locator("#examples-table tbody td:nth-child(4)")
    page.locator("#examples-table thead button").nth(3).click()
    shown = [float(text) for text in values.all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    page.get_by_label("Filter users").fill("ann")
    assert page.locator("#examples-table tbody tr:visible").count() == 1
    with page.expect_download() as waiting:
        page.locator("#examples .exports a").click()
    assert Path(waiting.value.path()).read_text() == examples.to_csv()


def test_lists_open_without_scripts(opened: Any) -> None:
    page = opened(java_script_enabled=False)
    lists = page.locator(".example").first
    page.locator(".lists > summary").click()
    page.locator(".lists details > summary").first.click()
    assert lists.is_visible()
    # The browser itself unfolds what a link leads to.
    page.locator("#examples-table a").nth(1).click()
    page.locator(".example").nth(1).wait_for(state="visible")


def test_hardly_anything_moves_while_the_page_opens(browser: Any, path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(
        "window.moved = 0; new PerformanceObserver((list) => {"
        "  for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;"
        "}).observe({ type: 'layout-shift', buffered: true });"
    )
    page.goto(path.as_uri())
    page.wait_for_timeout(300)
    assert page.evaluate("PerformanceObserver.supportedEntryTypes.includes('layout-shift')")
    # A browser without time paints a page half read: the links at the right move as the next one comes, by 0.002 or so.
    assert page.evaluate("window.moved") < 0.01
    page.close()


def test_hostile_names_are_shown_as_text(opened: Any) -> None:
    page = opened()
    assert page.locator("h1").inner_text() == SCRIPT
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("#results-table thead").inner_text()
    assert page.locator("script").count() == 1
