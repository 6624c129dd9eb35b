"""Sphinx configuration; build with ``uv run --group docs sphinx-build -W docs docs/_build/html``."""

import os
import shutil
from importlib.metadata import version as installed
from pathlib import Path

project = "bayesppl"
version = release = installed("bayesppl")
copyright = "the bayesppl authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]

exclude_patterns = ["_build", "**.ipynb_checkpoints"]

# Sphinx reads below this folder only.
_HERE = Path(__file__).parent
shutil.rmtree(_HERE / "_notebooks", ignore_errors=True)
shutil.copytree(_HERE.parent / "notebooks", _HERE / "_notebooks", ignore=shutil.ignore_patterns(".*"))
html_theme = "pydata_sphinx_theme"
html_title = "bayesppl"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_static_path = ["_static"]

myst_enable_extensions = ["amsmath", "dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# Notebooks are stored without outputs; DOCS_EXECUTE=1 runs them while building.
nb_execution_mode = "cache" if os.environ.get("DOCS_EXECUTE") else "off"
nb_execution_timeout = 600
nb_execution_raise_on_error = True

napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"show-inheritance": False}
