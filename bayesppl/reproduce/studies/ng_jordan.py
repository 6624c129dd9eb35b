"""NG-JORDAN: naive Bayes and logistic regression as the number of training rows grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesppl.datasets import load
from bayesppl.estimators import GaussianNB, LinearDiscriminantAnalysis
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.base import Study, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DATA = {"breast_cancer": (10, 20, 40, 80, 160, 320), "wine": (9, 15, 30, 60, 100)}
_REPEATS = 20

_MODELS: dict[str, Callable[[], Any]] = {
    "naive Bayes": GaussianNB,
    "linear discriminant": LinearDiscriminantAnalysis,
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}


def errors(inputs: Inputs) -> pd.DataFrame:
    """Mean test error of every model over the number of training rows, from the same random rows for all."""
    rng = np.random.default_rng(inputs.seed)
    rows = []
    for name, sizes in _DATA.items():
        X, y = load(name)
        table, labels = X.to_numpy(), y.to_numpy()
        for size in sizes:
            found: dict[str, list[float]] = {model: [] for model in _MODELS}
            for _ in range(_REPEATS):
                order = rng.permutation(len(labels))
                first = np.unique(labels[order], return_index=True)[1]  # a row of every class
                train = np.concatenate([order[first], np.delete(order, first)[: size - len(first)]])
                test = np.setdiff1d(order, train)
                for model, make in _MODELS.items():
                    clf = make().fit(table[train], labels[train])
                    found[model].append(float(np.mean(clf.predict(table[test]) != labels[test])))
            rows.append({"data": name, "rows": size, **{model: np.mean(e) for model, e in found.items()}})
            paired = np.subtract(found["logistic regression"], found["naive Bayes"])
            rows[-1]["± of the difference of the last from naive Bayes"] = paired.std(ddof=1) / np.sqrt(_REPEATS)
    return pd.DataFrame(rows)


def tables(inputs: Inputs) -> Tables:
    return {f"mean error on the rows left, {_REPEATS} random training sets of each size": errors(inputs)}


def figure(inputs: Inputs) -> Figure:
    from matplotlib.figure import Figure

    from bayesppl.plots.style import colour, line_style

    found = errors(inputs)
    picture = Figure(figsize=(9, 4), layout="constrained")
    for ax, (name, part) in zip(picture.subplots(1, len(_DATA)), found.groupby("data", sort=False), strict=True):
        for k, model in enumerate(_MODELS):
            ax.plot(part["rows"], part[model], color=colour(k), linestyle=line_style(k), marker="o", label=model)
        ax.set(xscale="log", title=str(name), xlabel="training rows", ylabel="error")
        ax.set_ylim(0, None)
    ax.legend(frameon=False)
    return picture


STUDY = Study(
    "ng-jordan",
    "Generative or discriminative (NG-JORDAN)? Naive Bayes nears its limit after few rows; logistic regression "
    "may need more, and has "
    "the lower error in the end.",
    tables,
    figure,
)
