"""Sphinx configuration; build with ``uv run --group docs sphinx-build -W docs docs/_build/html``.

With ``DOCS_EXECUTE=1`` before the command, notebooks and examples that draw are run, and their pictures are shown.
"""

import inspect
import os
import re
import shutil
import sys
from importlib.metadata import version as installed
from importlib.resources import files
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

project = "bayesppl"
version = release = installed("bayesppl")
copyright = "the bayesppl authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "gallery",
]
sys.path.append(str(Path(__file__).parent / "_ext"))
copybutton_exclude = ".linenos, .gp, .go"  # prompts and outputs of examples
# Examples that draw and notebooks are run on demand: they take minutes.
EXECUTES = bool(os.environ.get("DOCS_EXECUTE"))
if EXECUTES:
    extensions.append("figures")
    os.environ.pop("MPLBACKEND", None)  # kernels of notebooks keep their pictures only with a backend of their own
plot_formats = [("png", 120)]
plot_html_show_formats = plot_html_show_source_link = False
plot_rcparams = {"figure.figsize": (6.4, 4.0)}
plot_apply_rcparams = True

# Links to the documentation of others need their lists of names, which are fetched where pages are published.
# Elsewhere such names are no links, and the build passes without the network.
if os.environ.get("READTHEDOCS"):
    intersphinx_mapping = {
        name: (f"https://{address}/", None)
        for name, address in {
            "python": "docs.python.org/3",
            "numpy": "numpy.org/doc/stable",
            "pandas": "pandas.pydata.org/docs",
            "sklearn": "scikit-learn.org/stable",
            "xarray": "docs.xarray.dev/en/stable",
            "matplotlib": "matplotlib.org/stable",
            "pymc": "www.pymc.io/projects/docs/en/stable",
        }.items()
    }

exclude_patterns = ["_build", "_ext", "**.ipynb_checkpoints"]

# Sphinx reads below this folder only.
_HERE = Path(__file__).parent
shutil.rmtree(_HERE / "_notebooks", ignore_errors=True)
shutil.copytree(_HERE.parent / "notebooks", _HERE / "_notebooks", ignore=shutil.ignore_patterns(".*"))
html_theme = "pydata_sphinx_theme"
html_title = "bayesppl"
html_theme_options = {
    "show_toc_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
}
# Pages that are no part of a section have nothing to show on the left.
html_sidebars = {
    page: []
    for page in (
        "index",
        "installation",
        "tutorial",
        "which_classifier",
        "case_study",
        "errata",
        "reproduce",
        "asked",
        "comparison",
        "benchmarks",
        "glossary",
        "whats_new",
        "citing",
    )
}
html_show_sourcelink = False
html_copy_source = False
# a font with the sizes and extents that formulas need; few machines have one
shutil.rmtree(_HERE / "_fonts", ignore_errors=True)
shutil.copytree(files("ziamath") / "fonts", _HERE / "_fonts", ignore=shutil.ignore_patterns("__*"))
html_static_path = ["_static", "_fonts"]
html_css_files = ["custom.css"]
html_math_renderer = "mathml"

myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache" if EXECUTES else "off"
nb_execution_cache_path = str(_HERE / "_build" / ".jupyter_cache")
nb_execution_timeout = 600
nb_execution_raise_on_error = True

napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"


# Names of functions stand apart from what they are applied to.
_FUNCTION = re.compile(r"<mi>(log|exp|max|min|det|tr)</mi>(?!</m|<mo stretchy)")


def visit_math(self: Any, node: Any) -> None:
    """Formulas as MathML, which browsers show without a script and without the network."""
    from docutils import nodes

    is_block = isinstance(node, nodes.math_block)
    formula = convert(node.astext(), display="block" if is_block else "inline")
    formula = _FUNCTION.sub(r'<mrow><mi>\1</mi><mspace width="0.17em"/></mrow>', formula)
    if is_block:
        number = node["number"]
        formula = (
            f'<div class="formula" id="equation-{number}"><span class="eqno">({number})</span>{formula}</div>'
        )
    self.body.append(formula)
    raise nodes.SkipNode


def number_equations(app: Any, doctree: Any) -> None:
    """Number the displayed formulas of a page."""
    from docutils import nodes

    for number, node in enumerate(doctree.findall(nodes.math_block), start=1):
        node["number"] = number


def unlink_dimensions(app: Any, doctree: Any) -> None:
    """Leave words in the types of parameters unlinked, such as the n_rows of a shape: only classes are looked up.

    Sphinx takes every word of a type for a name, and finds attributes and functions that happen to be called like
    it.
    """
    from sphinx.addnodes import pending_xref

    for reference in list(doctree.findall(pending_xref)):
        name = reference.get("reftarget", "").rpartition(".")[2]
        in_type = reference.get("refdomain") == "py" and reference.get("reftype") == "class"
        if in_type and not reference.get("refexplicit") and not name[:1].isupper():
            reference.replace_self(reference.children)


def show_constructor(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: Any, annotation: Any
) -> Any:
    """Document estimators by the arguments of ``__init__``, not of ``__new__``."""
    if what == "class" and signature is not None and signature.startswith("(*args"):
        shown = inspect.signature(obj)
        bare = [p.replace(annotation=p.empty) for p in shown.parameters.values()]
        return str(shown.replace(parameters=bare, return_annotation=shown.empty)), annotation
    return None


def close_examples(app: Any, page: str, source: list[str]) -> None:
    """Without what only doctest needs: the blank line that ends an example, and directives."""
    source[0] = re.sub(r" *# doctest: \+\w+", "", source[0].replace("\n\n```\n", "\n```\n"))


def setup(app: Any) -> None:
    """Register the above."""
    app.connect("source-read", close_examples)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("autodoc-process-signature", show_constructor)
    app.connect("doctree-read", number_equations)
    app.connect("doctree-read", unlink_dimensions)
