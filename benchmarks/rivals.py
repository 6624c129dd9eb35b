"""Sets of real data, rivals of scikit-learn, and scores on held-out halves, which the studies share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

from bayesppl.analysis.scores import paired_difference
from bayesppl.kernels.arrays import Array

#: Sets that come with scikit-learn.
EMBEDDED = ("breast_cancer", "digits", "iris", "wine")

# A rival that holds the true label impossible is charged this much, in nats, and not infinity
_LEAST_LOG_SCORE = float(np.log(1e-15))


# Codes of an ordinal encoder: room for levels that only the other half shows
_UNSEEN = 1000


def _mixed(numbers: Any, levels: Any) -> Any:
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )


_FILLED = SimpleImputer(strategy="constant", fill_value="missing")

# numbers standardised, gaps filled with the median; levels as indicators
_DENSE = _mixed(
    make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
    make_pipeline(_FILLED, OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
)

# numbers in five bins, all as codes
_LEVELS = _mixed(
    make_pipeline(
        SimpleImputer(strategy="median"),
        KBinsDiscretizer(5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"),
    ),
    make_pipeline(_FILLED, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=_UNSEEN)),
)

GENERATIVE: dict[str, Any] = {
    "GaussianNB": make_pipeline(_DENSE, GaussianNB()),
    "LDA": make_pipeline(_DENSE, LinearDiscriminantAnalysis()),
    "LDA, Ledoit-Wolf": make_pipeline(_DENSE, LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "QDA, reg_param=0.1": make_pipeline(_DENSE, QuadraticDiscriminantAnalysis(reg_param=0.1)),
    "QDA, reg_param=0.5": make_pipeline(_DENSE, QuadraticDiscriminantAnalysis(reg_param=0.5)),
    "bins, CategoricalNB": make_pipeline(_LEVELS, CategoricalNB(min_categories=_UNSEEN + 1)),
}

DISCRIMINATIVE: dict[str, Any] = {
    "logistic regression": make_pipeline(_DENSE, LogisticRegression(max_iter=2000)),
    "gradient boosting": make_pipeline(
        _mixed(
            "passthrough",
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        ),
        HistGradientBoostingClassifier(random_state=0),
    ),
}


@dataclass(frozen=True)
class DataSet:
    """A named table and its labels."""

    name: str
    X: Any
    y: Array


def data_sets(sources: Sequence[str], most_rows: int) -> Iterator[DataSet]:
    """Yield the sets that the sources name, of at most so many rows, drawn at random.

    Parameters
    ----------
    sources : sequence of str
        A folder of CSV files with a column ``class``, such a file, ``openml:ID``, or the name of an embedded set.
    most_rows : int

    Raises
    ------
    ValueError
        For a source that is none of these.
    """
    for source in sources:
        for name, X, y in _read(source):
            chosen = np.arange(len(y))
            if len(y) > most_rows:
                chosen = np.random.default_rng(0).choice(len(y), most_rows, replace=False)
            labels, counts = np.unique(y[chosen], return_counts=True)
            chosen = chosen[np.isin(y[chosen], labels[counts >= 2])]  # a class of one row cannot be halved
            yield DataSet(name, X.iloc[chosen].reset_index(drop=True), y[chosen])


def _read(source: str) -> Iterator[tuple[str, pd.DataFrame, Array]]:
    path = Path(source)
    if source in EMBEDDED:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, f"load_{source}")(return_X_y=True, as_frame=True)
        yield source, X, y.astype(str).to_numpy(dtype=object)
    elif source.startswith("openml:"):
        from sklearn.datasets import fetch_openml

        found = fetch_openml(data_id=int(source.removeprefix("openml:")), as_frame=True)
        yield found.details["name"], found.data, found.target.astype(str).to_numpy(dtype=object)
    elif path.is_dir() or path.is_file():
        files = sorted(path.glob("*.csv*")) if path.is_dir() else [path]
        for file in files:
            table = pd.read_csv(file, **_exact_numbers())
            if "class" not in table:
                raise ValueError(f"{str(file)!r} has no column 'class' that holds the labels")
            yield file.name.split(".")[0], table.drop(columns="class"), table["class"].astype(str).to_numpy(object)
    else:
        raise ValueError(
            f"there is no data {source!r}: give a folder of CSV files with a column 'class', such a file, "
            f"openml:ID, or one of {', '.join(EMBEDDED)}"
        )


def average(halves: Sequence[dict[str, Array]], name: str) -> float:
    """Average the score of a model over the halves."""
    return float(np.mean([scores[name].mean() for scores in halves]))


def difference(halves: Sequence[dict[str, Array]], name: str, other: str) -> list[float]:
    """Average how much better a model scores than another one, and the standard error in a half."""
    return np.mean([paired_difference(scores[name], scores[other]) for scores in halves], axis=0).tolist()


def log_proba_of_rival(model: Any, X: Any, y: Array, X_test: Any, n_classes: int) -> Array:
    """Predict by a rival; one that refuses the rows is given the lowest score."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # collinear columns, few bins, steps of the optimiser: the rivals' own
        try:
            proba = model.fit(X, y).predict_proba(X_test)
        except (ValueError, np.linalg.LinAlgError):  # fewer rows of a class than columns
            return np.full((len(X_test), n_classes), _LEAST_LOG_SCORE)
        return np.maximum(np.log(proba), _LEAST_LOG_SCORE)


def _exact_numbers() -> dict[str, Any]:
    """Return options of ``pandas.read_csv`` that give the nearest floating-point number of every text.

    By default versions before 3.1 drop the digits beyond the fifteenth, which moves a number by up to 1e-12 of
    itself, and what is fitted to it with the version of pandas; later ones read every number exactly, and
    deprecate the option. (Beside a mark of thousands, pandas 3.1 still rounds the last digit.)
    """
    major, minor, *_ = pd.__version__.split(".")
    return {} if (int(major), int(minor)) >= (3, 1) else {"float_precision": "round_trip"}
