"""A Sphinx extension that writes mathematics as MathML, so that pages need neither scripts nor fonts from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def visit_math(writer: Any, node: nodes.math) -> None:
    writer.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise nodes.SkipNode


def visit_displaymath(writer: Any, node: nodes.math_block) -> None:
    formula = convert(node.astext(), display="block")
    # Wide formulas scroll on their own, so that the page does not.
    writer.body.append(f'<div class="math" tabindex="0" role="math">{formula}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
