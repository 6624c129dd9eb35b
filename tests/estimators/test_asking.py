"""Questions as methods: their docstrings document the parameters that they have, whatever Python does to
indentation."""

import inspect
import re

import pytest

import bayesppl as bp
from bayesppl.estimators.classifier import ask

INDENTED = """Answer something.

    Parameters
    ----------
    fitted : Fitted
    X : table
        Rows.

    Returns
    -------
    nothing
    """
ALONE = """Answer something.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    nothing
    """
TOGETHER = """Answer something.

    Parameters
    ----------
    fitted, X, draws
        As elsewhere.
    """


def _question(docstring):
    def question(fitted, X=None, draws=None):
        raise NotImplementedError

    question.__doc__ = docstring
    return question


@pytest.mark.parametrize("prepare", [str, inspect.cleandoc], ids=["as written", "as Python 3.13 keeps it"])
def test_a_docstring_loses_the_fitted_model_however_it_is_indented(prepare):
    sections = "\n\nReturns\n-------\nnothing"
    documented = {
        INDENTED: "Answer something.\n\nParameters\n----------\nX : table\n    Rows." + sections,
        ALONE: "Answer something." + sections,
        TOGETHER: "Answer something.\n\nParameters\n----------\nX, draws\n    As elsewhere.",
    }
    for docstring, expected in documented.items():
        assert ask(_question(prepare(docstring))).__doc__ == expected


def _documented(docstring):
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|$)", docstring, re.DOTALL)
    lines = section.group(1).splitlines() if section else []
    heads = [line.split(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return {name.strip("* ") for head in heads for name in head.split(",")}


ESTIMATORS = [
    getattr(bp, name) for name in dir(bp) if name.endswith(("NB", "Classifier", "Analysis", "LocationModel"))
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_methods_document_parameters_that_they_have(estimator):
    for name, method in inspect.getmembers(estimator, callable):
        if not name.startswith("_") and (method.__module__ or "").startswith("bayesppl."):
            surplus = _documented(inspect.getdoc(method) or "") - set(inspect.signature(method).parameters)
            assert not surplus, f"{estimator.__name__}.{name} documents {surplus}"
