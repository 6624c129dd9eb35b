"""DOMINGOS-PAZZANI: naive Bayes decides rightly where its assumption, and its probabilities, are wrong."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from bayesppl.datasets import load
from bayesppl.estimators import BernoulliNB, GaussianNB
from bayesppl.families import Bernoulli
from bayesppl.kernels.arrays import Array
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import probabilities
from bayesppl.reproduce.studies.base import Study, Tables, held_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ATTRIBUTES, _GRID = 8, 200


def concepts() -> pd.DataFrame:
    """Compute the share of all rows of eight attributes on which naive Bayes, fitted to all, is right."""
    X = np.array(list(itertools.product([0, 1], repeat=_ATTRIBUTES)))
    found = []
    for size in range(1, _ATTRIBUTES + 1):
        true = X[:, :size].sum(axis=1)
        labels = {"and": true == size, "or": true > 0, "two at least": true > 1, "an odd number": true % 2 == 1}
        right = {name: _right(X, label) for name, label in labels.items() if label.any()}
        found.append({"literals": size, **right})
    return pd.DataFrame(found)


def _right(X: Array, label: Array) -> float:
    clf = BernoulliNB(class_weights="empirical", rule="mle").fit(X, label)
    return float((clf.predict(X) == label).mean())


def chosen(p: Array, q: Array) -> tuple[Array, Array]:
    """Whether naive Bayes and the true posterior choose the first class, where one of two attributes stands twice.

    The attributes A and C are present, P(A | first) = ``p`` = 1 - P(A | second), P(C | first) = ``q`` = 1 - P(C |
    second), the classes are equally frequent, and a second attribute B always equals A.
    """
    naive = np.empty(p.shape, bool)
    for at in np.ndindex(p.shape):
        first = np.array([p[at], p[at], q[at]])
        theta = {"class_weights": np.array([0.5, 0.5]), "probability": np.array([first, 1 - first])}
        naive[at] = np.argmax(probabilities(Bernoulli(), theta, [[1, 1, 1]])[0]) == 0
    return naive, p + q > 1


def region() -> tuple[Array, Array, Array]:
    """A grid over (p, q), and the two choices on it."""
    grid = (np.arange(_GRID) + 0.5) / _GRID
    p, q = np.meshgrid(grid, grid)
    naive, true = chosen(p, q)
    return grid, naive, true


def against_trees(inputs: Inputs) -> pd.DataFrame:
    """Ten-fold accuracy beside that of a decision tree, and what a temperature adds to the log score."""
    folds = StratifiedKFold(10, shuffle=True, random_state=inputs.seed)
    rows = []
    for name in ("iris", "wine", "breast_cancer"):
        X, y = load(name)
        found = []
        for train, test in folds.split(X, y):
            seen, new = (X.iloc[train], y.iloc[train]), (X.iloc[test], y.iloc[test])
            naive, mended = (held_out(GaussianNB(calibration=c).fit(*seen), *new) for c in (None, "temperature"))
            tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=inputs.seed).fit(*seen)
            found.append(
                {
                    "naive Bayes": naive["accuracy"],
                    "decision tree": tree.score(*new),
                    "log score": naive["log score"],
                    "calibrated": mended["log score"],
                }
            )
        rows.append({"data": name, **pd.DataFrame(found).mean().to_dict()})
    return pd.DataFrame(rows)


def tables(inputs: Inputs) -> Tables:
    _, naive, true = region()
    agreement = {
        "share of (p, q) in which naive Bayes decides as the true posterior": float((naive == true).mean()),
        "exactly": 5 / 4 - np.log(2) / 2,
    }
    return {
        f"share of all {2**_ATTRIBUTES} rows classified rightly: conjunctions and disjunctions always": concepts(),
        "an attribute that stands there twice": pd.DataFrame([agreement]),
        "ten-fold: accuracy, and log score of naive Bayes as it is and with a temperature": against_trees(inputs),
    }


def figure(inputs: Inputs) -> Figure:
    from matplotlib.figure import Figure

    from bayesppl.plots.style import colour

    grid, naive, true = region()
    picture = Figure(figsize=(4.6, 4), layout="constrained")
    ax = picture.subplots()
    ax.contourf(grid, grid, naive != true, levels=[0.5, 1], colors=[colour(1)], alpha=0.5)
    ax.plot(grid, 1 - grid, color="black", label="true posterior")
    ax.plot(grid, (1 - grid) ** 2 / (grid**2 + (1 - grid) ** 2), "--", color=colour(0), label="naive Bayes")
    ax.set(
        xlabel="p = P(A | first class)", ylabel="q = P(C | first class)", title="they differ in the shaded part"
    )
    ax.legend(frameon=False, loc="lower left")
    return picture


STUDY = Study(
    "domingos-pazzani",
    "When is naive Bayes optimal (DOMINGOS-PAZZANI)? Its decisions are often right where its assumption is wrong; "
    "its probabilities are not.",
    tables,
    figure,
)
