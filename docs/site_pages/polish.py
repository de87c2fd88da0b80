"""A Sphinx extension for details that the theme leaves: roles for screen readers, empty last lines of examples."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

# After the theme has put its navigation into the context.
LAST = 900


def trim_examples(app: Sphinx, doctree: nodes.document) -> None:
    """Removes the empty line that ends a doctest."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        if text != block.astext() and len(block) == 1:
            block[:] = [nodes.Text(text)]
            block.rawsource = text


def unlink_names(app: Sphinx, doctree: nodes.document) -> None:
    """Makes text again of metrics' names that were taken for mail addresses: nDCG@10=0.002."""
    for link in list(doctree.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


def mend_roles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Gives captions of the navigation their level, and makes the bibliography a list of items."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", trim_examples)
    app.connect("doctree-read", unlink_names)
    app.connect("html-page-context", mend_roles, priority=LAST)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
