"""Settings of the site: `make docs`. The pages of `docs/reference` that can be generated are written at each build."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from site_pages import figures, reference  # noqa: E402

import bridgeval  # noqa: E402

project = "bridgeval"
author = "the bridgeval authors"
version = release = bridgeval.__version__
language = "en"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinxcontrib.bibtex",
    "sphinx_copybutton",
    "site_pages.mathml",
    "site_pages.polish",
]
exclude_patterns = ["_build", "site_pages", "**/.ipynb_checkpoints"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
# Kernels draw into the page, whatever backend the caller has set; that they talk over local ports is no news.
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
os.environ["IPYTHONDIR"] = str(HERE / "_build" / "ipython")
logging.getLogger("traitlets").setLevel(logging.WARNING)
bibtex_bibfiles = ["site_pages/references.bib"]
bibtex_reference_style = "author_year"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# One backtick is code in our docstrings, as it is in Markdown.
default_role = "literal"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# A colon in "Returns:" is part of the sentence, not the end of a type.
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = f"bridgeval {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# No request leaves the site: no web fonts, no analytics, mathematics as MathML.
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
# Quotes are part of what users type.
smartquotes = False
pygments_dark_style = "github-dark"


def setup(app: Any) -> None:
    app.connect("builder-inited", lambda app: write_pages())


def write_pages() -> None:
    """Writes the generated pages and figures, and the settings of the notebooks' kernels."""
    profile = HERE / "_build" / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(
        'get_config().IPKernelApp.log_level = "ERROR"\n', encoding="utf-8"
    )
    reference.write(HERE / "reference" / "generated")
    figures.write(HERE / "_static" / "generated")
