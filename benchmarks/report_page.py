"""The report page of a large evaluation: seconds to make it, its size, and how it opens in a browser.

    python benchmarks/report_page.py [--users 100000] [--out page.html]

prints JSON: `wall` seconds for examples, slices and page of three systems, 14 metrics and three kinds of slices, from
their reports on (`seconds` of each part; the evaluation is measured by other cases); `megabytes` of the page;
`shift`, the layout shift while it opens, and `lists`, seconds from a click on a user to the visible lists, where
Chromium and playwright are at hand.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bridgeval

METRICS = (
    *("nDCG@5,10,20", "Recall@5,10,20", "Precision@10", "MRR@10", "MAP@10", "HitRate@10", "F1@10"),
    *("Novelty@10", "ItemCoverage@10", "Gini@10"),
)
ITEMS, SHOWN = 5_000, 20
WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""


def make_world(users: int) -> tuple[dict[str, pd.DataFrame], pd.DataFrame, pd.DataFrame, list[pd.DataFrame]]:
    """Three systems, the truth, the history and the slices."""
    rng = np.random.default_rng(0)
    popularity = np.arange(1, ITEMS + 1) ** -0.8
    popularity /= popularity.sum()

    def draw(counts: np.ndarray) -> pd.DataFrame:
        owners = np.repeat(np.arange(users), counts)
        pairs = pd.DataFrame({"user_id": owners, "item_id": rng.choice(ITEMS, len(owners), p=popularity)})
        return pairs.drop_duplicates()

    truth, history = draw(rng.integers(1, 8, users)), draw(rng.integers(3, 25, users))
    age = rng.integers(0, 4, users)
    systems = {}
    for name, skill in (("popular", 0.02), ("knn", 0.08), ("als", 0.085)):
        random = draw(np.full(users, SHOWN))
        found = truth[rng.random(len(truth)) < skill * (1 + age[truth.user_id.to_numpy()] / 2)]
        lists = pd.concat(
            [found.assign(score=rng.random(len(found)) + 0.3), random.assign(score=rng.random(len(random)))]
        )
        systems[name] = lists.drop_duplicates(["user_id", "item_id"])
    of_users = {
        "age": np.array(["<=20", "21-30", "31-45", ">45"])[age],
        "region": rng.integers(0, 8, users).astype(str),
    }
    of_items = {"genre": rng.integers(0, 6, ITEMS).astype(str)}
    by = [
        pd.DataFrame({"user_id": np.arange(users), **of_users}),
        pd.DataFrame({"item_id": np.arange(ITEMS), **of_items}),
    ]
    return systems, truth, history, by


def open_page(path: Path) -> dict[str, float]:
    """How the page opens; nothing where there is no browser."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return {}
    if chromium is None:
        return {}
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"] if os.getuid() == 0 else [])
        page: Any = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(WATCH)
        page.goto(path.as_uri())
        page.wait_for_timeout(1000)
        start = time.perf_counter()
        page.locator("#examples-table a").first.click()
        page.locator(".example").first.wait_for(state="visible")
        lists = time.perf_counter() - start
        shift = page.evaluate("window.shift")
        browser.close()
    return {"shift": shift, "lists": lists}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", bridgeval.errors.SeenItemsWarning)
    systems, truth, history, by = make_world(arguments.users)
    reports = bridgeval.Reports(
        {
            name: bridgeval.evaluate(lists, truth, METRICS, history=history, by=by, per_user=True)
            for name, lists in systems.items()
        }
    )
    seconds = {}
    start = time.perf_counter()
    examples = bridgeval.find_examples(systems, truth, "nDCG@10", history=history)
    seconds["examples"] = time.perf_counter() - start
    for report in reports.values():
        _ = report.slices
    seconds["slices"] = time.perf_counter() - start - seconds["examples"]
    with tempfile.TemporaryDirectory() as folder:
        path = (arguments.out or Path(folder) / "page.html").absolute()
        reports.to_html(path, examples=examples)
        wall = time.perf_counter() - start
        seconds["page"] = wall - sum(seconds.values())
        opened = open_page(path)
        size = path.stat().st_size / 1e6
    kinds = sum(len(one.columns) - 1 for one in by)
    world = f"{len(reports)} systems x {len(reports['als'])} metrics x {kinds} kinds of slices"
    told = {"wall": wall, "seconds": seconds, "megabytes": size, **opened, "runs": 1}
    print(json.dumps({**told, "users": arguments.users, "world": f"{world} x {arguments.users:,} users"}))


if __name__ == "__main__":
    main()
