"""Settings of the documentation site (`make site`).

The sources are the Markdown files of the repository, as they stand, so that their links are valid
in the repository and on the site. A link that leads nowhere fails the build.
"""

import tomllib
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_ROOT = Path(__file__).parents[1]
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Uzushio"
author = "The Uzushio developers"
copyright = author
version = release = _PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
default_role = "literal"  # single backticks of docstrings
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/**.md"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"  # drawn by the browser itself, without scripts

html_theme = "furo"  # fonts are those of the reader's system; search and scripts are local
html_title = f"Uzushio {version}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


def _write_entry(app: Sphinx, failure: Exception | None) -> None:
    """Lead from the top of the site to its index, which is in `docs` as its source is."""
    page = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
    (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def _write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _write_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Add formulas in MathML and the entry page."""
    app.add_html_math_renderer("mathml", (_write_inline, None), (_write_block, None))
    app.connect("build-finished", _write_entry)
