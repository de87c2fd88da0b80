"""Rendering of templates. Everything that is filled in is escaped."""

from __future__ import annotations

import base64
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    import jinja2


def render(template: str, **values: Any) -> Markup:
    """Fills in a template of this folder."""
    return Markup(_environment().get_template(template).render(**values))


@cache
def _environment() -> jinja2.Environment:
    # Imported here because `bridgeval.plugin` offers Section, and every evaluation imports that module.
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("bridgeval.report.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = _mark_code
    made.filters["base64"] = lambda text: base64.b64encode(text.encode()).decode()
    return made


def _mark_code(text: str) -> Markup:
    """Escapes text; text between backticks becomes code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))
