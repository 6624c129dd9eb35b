"""NOTES3B and CH20: three discriminants and a table of bins on iris, scored by exact leave-one-out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bayesppl.datasets import load
from bayesppl.estimators import GenerativeClassifier
from bayesppl.estimators.classifier import BayesClassifier
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.reproduce import ch20, notes3b
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.studies.base import Study, Tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRUCTURES: dict[str, Covariance] = {"linear (LDA)": "tied", "quadratic (QDA)": "full", "naive": "diag"}


def scored(name: str, columns: str, clf: BayesClassifier) -> dict[str, object]:
    loo = clf.loo()
    (accuracy, accuracy_se), (score, score_se) = loo.accuracy, loo.log_score
    return {
        "model": name,
        "columns": columns,
        "accuracy": accuracy,
        "± ": accuracy_se,
        "log score": score,
        "±": score_se,
        "log evidence": float(clf.log_evidence()["total"]),
    }


def tables(inputs: Inputs) -> Tables:
    X, y = load("iris")
    rows = [
        scored(name, columns, GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(table, y))
        for columns, table in (("sepals", X.iloc[:, :2]), ("all four", X))
        for name, structure in STRUCTURES.items()
    ]
    rows.append(scored("table of 3 × 3 bins", "sepals", ch20.table()))
    shared = [
        {"covariance": name, "accuracy": accuracy, "log score": score}
        for name, which in (("pooled within the classes", "pooled"), ("of all rows, as in the source", "total"))
        for accuracy, score in [notes3b.scores(which)]
    ]
    return {
        "exact leave-one-out, ± standard error (the evidence of bins is of another kind of data)": pd.DataFrame(
            rows
        ),
        "linear discriminant with the right and the wrong covariance (E9), on the rows of the fit": pd.DataFrame(
            shared
        ),
    }


def figure(inputs: Inputs) -> Figure:
    from bayesppl.reproduce.figures import discriminants

    return discriminants(inputs.seed)


STUDY = Study(
    "iris",
    "Linear, quadratic or naive (NOTES3B, CH20)? Iris, by leave-one-out and by evidence.",
    tables,
    figure,
)
