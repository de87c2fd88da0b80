"""The section on users and items that stand out, with their lists."""

from __future__ import annotations

from markupsafe import Markup

from bridgeval.report.example_lists import Examples, show_id
from bridgeval.report.page.page_data import PageData
from bridgeval.report.page.rendering import render
from bridgeval.report.page.section import Section, render_exports


def examples(data: PageData) -> Section | None:
    """Users and items that stand out: tables, and folded below them each user's lists with the hits marked."""
    found = data.examples
    if found is None or not found.users:
        return None
    several = (
        f" Gains and losses are against {found.systems[0]}; of items they are hits." if len(found.systems) > 1 else ""
    )
    about = (
        f"Users with the worst and the best {found.metric}; of equal ones those with more relevant items.{several} "
        f"Lists are the first {found.k} places, and ✓ marks a hit. Follow a user to the lists."
    )
    body = render_examples(found, render_exports("examples", csv=found.to_csv()))
    return Section("examples", "Users and items", body, about)


def render_examples(found: Examples, exports: Markup | None = None) -> Markup:
    """The tables and lists; without exports, as in a notebook, they have no anchors and no tools either."""
    return render("examples.html", found=found, show=show_id, exports=exports)
