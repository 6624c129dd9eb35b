"""What a user of scikit-learn would write for any table: generative pipelines, and two that are not."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

# Codes of an ordinal encoder: room for levels that only the other half shows
_UNSEEN = 1000


def _mixed(numbers: Any, levels: Any) -> Any:
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )


def _dense() -> Any:
    """Numbers standardised, gaps filled with the median; levels as indicators."""
    levels = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return _mixed(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), levels)


def _levels() -> Any:
    """Numbers in five bins, all as codes."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=_UNSEEN)
    bins = KBinsDiscretizer(5, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf")
    levels = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), codes)
    return _mixed(make_pipeline(SimpleImputer(strategy="median"), bins), levels)


GENERATIVE: dict[str, Any] = {
    "GaussianNB": make_pipeline(_dense(), GaussianNB()),
    "LDA": make_pipeline(_dense(), LinearDiscriminantAnalysis()),
    "LDA, Ledoit-Wolf": make_pipeline(_dense(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
    "QDA, reg_param=0.1": make_pipeline(_dense(), QuadraticDiscriminantAnalysis(reg_param=0.1)),
    "QDA, reg_param=0.5": make_pipeline(_dense(), QuadraticDiscriminantAnalysis(reg_param=0.5)),
    "bins, CategoricalNB": make_pipeline(_levels(), CategoricalNB(min_categories=_UNSEEN + 1)),
}

DISCRIMINATIVE: dict[str, Any] = {
    "logistic regression": make_pipeline(_dense(), LogisticRegression(max_iter=2000)),
    "gradient boosting": make_pipeline(
        _mixed(
            "passthrough",
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        ),
        HistGradientBoostingClassifier(random_state=0),
    ),
}


def rivals() -> dict[str, Any]:
    """All of them, not fitted."""
    return {name: clone(model) for name, model in (GENERATIVE | DISCRIMINATIVE).items()}
