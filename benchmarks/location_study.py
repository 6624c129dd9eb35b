"""Tables of numbers and categories: the location model beside models of independent columns, and of indicators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn import discriminant_analysis
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bayesppl.analysis.scores import hits, log_scores
from bayesppl.data.labels import encode_labels
from bayesppl.estimators.discriminant_analysis import LinearDiscriminantAnalysis, LocationModel
from bayesppl.estimators.mixed_nb import MixedNB
from bayesppl.kernels.arrays import Array
from benchmarks.rivals import DataSet, average, difference, log_proba_of_rival


def _indicators(model: Any) -> Any:
    """Standardise numbers, and make an indicator of each level but the first."""
    levels = OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False)
    recoded = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(recoded, model)


#: What is compared, the first one with all others.
MODELS: dict[str, Callable[[], Any]] = {
    "location, tied": LocationModel,
    "location, tied, tempered": lambda: LocationModel(calibration="temperature"),
    "location, full": lambda: LocationModel("full"),
    "location, full, tempered": lambda: LocationModel("full", calibration="temperature"),
    "location, tied, independent categories": lambda: LocationModel(table="independent"),
    "MixedNB": MixedNB,
    "MixedNB, evidence": lambda: MixedNB(columns="evidence"),
    "LDA on indicators": lambda: _indicators(LinearDiscriminantAnalysis()),
    "scikit-learn LDA": lambda: _indicators(discriminant_analysis.LinearDiscriminantAnalysis()),
    "logistic regression": lambda: _indicators(LogisticRegression(max_iter=2000)),
}


def score_mixed_set(data: DataSet, splits: int, seed: int) -> list[dict[str, Any]]:
    """Score every model in a row of the table: averages over halves, and the difference from the first one.

    Categories, and columns of two values, have a level of their own for missing cells; missing numbers are the
    median of the training half, for most of these models cannot be fitted to gaps. A set that has not both numbers
    and categories has no rows.
    """
    if len({_is_number(data.X[name]) for name in data.X}) < 2:
        return []
    scores, right = [], []
    for train, test in StratifiedShuffleSplit(splits, test_size=0.5, random_state=seed).split(data.X, data.y):
        X, y = _prepared(data.X, train), data.y[train]
        classes = np.unique(y).tolist()
        codes = encode_labels(data.y[test], classes)[1]
        log_proba = {
            name: log_proba_of_rival(make(), X.iloc[train], y, X.iloc[test], len(classes))
            for name, make in MODELS.items()
        }
        scores.append({name: log_scores(values, codes) for name, values in log_proba.items()})
        right.append({name: hits(values, codes) for name, values in log_proba.items()})
    rows = []
    for name in MODELS:
        gap, error = difference(scores, name, next(iter(MODELS)))
        row = {"set": data.name, "model": name, "log score": average(scores, name), "less the first": gap}
        rows.append({**row, "±": error, "accuracy": average(right, name)})
    return rows


def _is_number(column: pd.Series) -> bool:
    return bool(is_numeric_dtype(column) and not is_bool_dtype(column) and column.nunique() > 2)


def _prepared(X: pd.DataFrame, train: Array) -> pd.DataFrame:
    """Fill the gaps of numbers, make text of the rest, and leave out what is constant in the training half."""
    out = {}
    for name in X:
        column = X[name]
        if _is_number(column):
            out[name] = column.astype(float).fillna(column.iloc[train].median())
        else:
            out[name] = column.astype(object).where(column.notna(), "(missing)").astype(str)
    table = pd.DataFrame(out)
    return table.loc[:, table.iloc[train].nunique() > 1]
