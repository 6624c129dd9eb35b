"""Every example in a docstring and in the documentation gives what it says."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import bayesppl

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in [*DOCS.rglob("*.md"), DOCS.parent / "README.md"] if "_build" not in path.parts)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(bayesppl.__path__, "bayesppl.")
    if "__main__" not in module.name
]


@pytest.fixture(autouse=True)
def no_window():
    matplotlib.use("agg")
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS.parent).as_posix())
def test_pages(page):
    if page.name == "from_sklearn.md" and parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip("quadratic discriminant analysis of scikit-learn divided by n - 1 before 1.9")
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed == 0
