"""The site: every metric, public name and page has its place, and the built pages need nothing from elsewhere."""

from __future__ import annotations

import http.server
import importlib
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

import bridgeval
import bridgeval.plugin
from bridgeval.engine.needs import NEEDS
from bridgeval.plugins import BUILTIN
from tests.test_docs import PAGES, ROOT

DOCS = ROOT / "docs"
BUILT = DOCS / "_build" / "html"
LOOKED_AT = (
    "index.html",
    "start/analyst.html",
    "start/author.html",
    "start/pipeline.html",
    "start/contributor.html",
    "tutorials/two-recommenders.html",
    "tutorials/whose-number.html",
    "howto/which-definition.html",
    "conventions.html",
    "how-it-works.html",
    "benchmarks.html",
    "eight-ndcgs.html",
    "reference/bibliography.html",
    "reference/commands.html",
    "reference/generated/metrics.html",
    "reference/generated/metrics/nDCG.html",
    "reference/generated/errors.html",
    "reference/generated/bridgeval.html",
    "search.html",
)
PHONE = {"width": 375, "height": 700}
DESK = {"width": 1280, "height": 900}


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    from site_pages import reference

    return reference


@pytest.fixture
def metric_pages(reference: Any) -> Any:
    return reference.metric_pages


def test_every_metric_has_a_formula_and_its_sources_are_in_the_bibliography(metric_pages):
    formulas = metric_pages.read_formulas()
    assert set(formulas) == set(metric_pages.list_metrics())
    known = set(re.findall(r"^@\w+\{(\w+),", (DOCS / "site_pages/references.bib").read_text(encoding="utf-8"), re.M))
    cited = {key for page in PAGES for key in re.findall(r"\{cite:[pt]\}`(\w+)`", page.read_text(encoding="utf-8"))}
    assert {key for one in formulas.values() for key in one.sources} | cited == known


def test_every_public_name_metric_error_and_convention_has_its_place(reference):
    pages = dict(reference.make_pages())
    for module in map(importlib.import_module, reference.MODULES):
        text = pages[f"{module.__name__}.md"]
        names = [name for name in module.__all__ if type(getattr(module, name)).__name__ != "module"]
        assert [name for name in names if f"## `{name}`\n" not in text] == []
    assert all(f"metrics/{name}.md" in pages for name in reference.metric_pages.list_metrics())
    classes = [one for one in vars(bridgeval.errors).values() if isinstance(one, type)]
    errors = [one.__name__ for one in classes if issubclass(one, Exception)]
    assert [name for name in errors if f"`{name}`" not in pages["errors.md"]] == []
    assert len([name for name in pages if name.startswith("conventions/")]) >= 40


def test_pages_of_metrics_say_for_whom_they_are_undefined_and_who_agrees(reference):
    pages = dict(reference.make_pages())
    ndcg, roc = pages["metrics/nDCG.md"], pages["metrics/RocAuc.md"]
    assert "| was shown nothing, but has relevant items | 0 |" in ndcg
    assert "| has no relevant items | not counted |" in ndcg
    assert "| was shown no relevant item | no value: undefined, left out of the mean |" in roc
    assert re.search(r"\| 0\.2707 \| `rectools:NDCG` \|", ndcg)
    silent = [
        name
        for name in reference.metric_pages.list_metrics()
        if not re.search("## Users for whom|[Uu]ndefined|must be named|[Pp]rotected", pages[f"metrics/{name}.md"])
    ]
    assert silent == []


def test_authors_find_every_need_hook_state_and_block_with_its_shape(reference):
    pages = dict(reference.make_pages())
    blocks = pages["building-blocks.md"].partition("## States")[0]
    rows = dict(re.findall(r"^\| \[`(\w+)`\].*? \| (?:[^|]*) \| (.*) \|$", blocks, re.M))
    public = [getattr(bridgeval.plugin, name) for name in bridgeval.plugin.__all__]
    classes = [one for one in public if isinstance(one, type) and issubclass(one, bridgeval.plugin.Block)]
    assert set(rows) == {one.__name__ for one in classes} - {"Block"}
    assert [name for name, about in rows.items() if not re.search(r"`\[B(, [DR])?\]`", about)] == []
    states = ("Moments", "Collected", "Sums", "ItemSums", "Tally", "Joint")
    assert [name for name in (*states, *BUILTIN) if f"`{name}`" not in pages["building-blocks.md"]] == []
    assert [need for need in NEEDS if f"| {need} |" not in pages["needs.md"]] == []


def test_every_page_is_in_the_navigation():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    entries = {line.strip() for block in re.findall(r"```\{toctree\}(.*?)```", index, re.S) for line in block.split()}
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"}
    assert pages - entries == set()


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the built site."""
    if not (BUILT / "index.html").exists():
        pytest.skip("the site is not built: make docs")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(BUILT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("path", LOOKED_AT)
def test_a_page_asks_no_other_host_prints_no_error_and_fits_a_phone(path, site, browser):
    page = browser.new_page(viewport=PHONE)
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{site}/{path}")
    assert [url for url in requests if not url.startswith((site, "data:"))] == []
    assert errors == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.close()


@pytest.mark.site
@pytest.mark.browser
@pytest.mark.parametrize("path", LOOKED_AT)
def test_axe_finds_no_serious_fault(path, site, browser):
    from axe_playwright_python.sync_playwright import Axe

    for viewport, scheme in ((PHONE, "dark"), (DESK, "light")):
        page = browser.new_page(viewport=viewport, color_scheme=scheme)
        page.goto(f"{site}/{path}")
        found = Axe().run(page).response["violations"]
        serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert serious == []
        page.close()


@pytest.mark.site
@pytest.mark.browser
def test_tutorials_and_the_paper_show_their_pictures(site, browser):
    page = browser.new_page()
    for path, pictures in (("tutorials/two-recommenders", 2), ("tutorials/whose-number", 1), ("eight-ndcgs", 3)):
        page.goto(f"{site}/{path}.html")
        drawn = page.locator("article img, div.cell_output svg:not(button svg)")
        assert drawn.count() == pictures, path
        assert all(one.bounding_box()["width"] > 300 for one in drawn.all()), path
    page.close()


@pytest.mark.site
@pytest.mark.browser
def test_search_finds_a_metric_without_a_server(browser, site):
    page = browser.new_page()
    page.goto((BUILT / "search.html").as_uri() + "?q=nDCG")
    page.wait_for_selector("ul.search li a")
    assert any("nDCG" in text for text in page.locator("ul.search li a").all_inner_texts())
    page.close()


@pytest.mark.site
def test_no_link_of_the_built_site_is_dead(site):
    dead = []
    for page in BUILT.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            is_ours = not re.match(r"[a-z]+:", target)
            # Nobody's address is on the site: a link to one is a metric's name misread.
            if target.startswith("mailto:") or (is_ours and not (page.parent / target).exists()):
                dead.append(f"{page.relative_to(BUILT)}: {target}")
    assert dead == []
