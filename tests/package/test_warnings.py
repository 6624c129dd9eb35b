"""Every warning of the package points at the line of the user."""

import ast
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesppl as bp
from bayesppl.errors import warn
from bayesppl.model.convergence import Diagnosis, warn_of_problems

PACKAGE = Path(bp.__file__).parent
ROWS = np.array([[0], [0], [1], [1]])
LABELS = ["a", "a", "b", "b"]


def impossible() -> Any:
    return bp.BernoulliNB(rule="mle").fit([[0, 0], [0, 0], [1, 1], [1, 1]], LABELS).predict_proba([[0, 1]])


def in_a_pipeline() -> Any:
    clf = make_pipeline(FunctionTransformer(), bp.BernoulliNB(rule="mle"))
    return clf.fit(np.repeat(ROWS, 2, axis=1), LABELS).predict_proba([[0, 1]])


def unseen_level() -> Any:
    table = pd.DataFrame({"c": ["u", "v", "u", "v"]})
    return bp.CategoricalNB().fit(table, LABELS).predict(pd.DataFrame({"c": ["w"]}))


def column_of_labels() -> Any:
    return bp.BernoulliNB().fit(ROWS, np.array(LABELS)[:, None])


def few_rows() -> Any:
    return bp.AutoClassifier(candidates={"a": bp.BernoulliNB(), "b": bp.CategoricalNB()}).fit(ROWS, LABELS)


def unconverged() -> Any:
    return warn_of_problems(Diagnosis({}, ["the chains do not agree."]))


@pytest.mark.parametrize(
    "provoke", [impossible, in_a_pipeline, unseen_level, column_of_labels, few_rows, unconverged]
)
def test_it_points_here(provoke: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        provoke()
    assert caught
    assert {warning.filename for warning in caught} == {__file__}


def test_a_folder_whose_name_begins_alike_is_of_the_user() -> None:
    line = compile("warn('x', UserWarning)", f"{PACKAGE}_of_mine/script.py", "exec")
    with pytest.warns(UserWarning, match="x") as caught:
        exec(line, {"warn": warn})
    assert caught[0].filename == f"{PACKAGE}_of_mine/script.py"


def test_nothing_warns_in_another_way() -> None:
    calls = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "errors.py"
        if "warnings" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warnings.warn")
    ]
    assert not calls, "use errors.warn"
