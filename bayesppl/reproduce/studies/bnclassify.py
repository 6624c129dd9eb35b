"""BNCLASSIFY: naive Bayes on the car evaluation data, by maximum likelihood, and the predictive beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from bayesppl.estimators import CategoricalNB
from bayesppl.inference.progress import counted
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.studies.base import Study, Tables, held_out

_COLUMNS = ("buying", "maint", "doors", "persons", "lug_boot", "safety", "class")
_SPLITS = 10

#: What the documentation of bnclassify prints.
PUBLISHED = {"log likelihood": -13503.688343, "ten-fold accuracy": 0.8582}


def load(path: Path) -> tuple[pd.DataFrame, pd.Series]:
    """Attributes and class of ``car.data`` (UCI), which has no line of names."""
    file = path / "car.data" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"there is no file {str(file)!r}; --car names the car evaluation data of UCI, car.data")
    table = pd.read_csv(file, names=list(_COLUMNS), dtype=str)
    return table.drop(columns="class"), table["class"]


def log_likelihood(X: pd.DataFrame, y: pd.Series) -> float:
    """Of the rows and their labels, at its maximum."""
    clf = CategoricalNB(class_weights="empirical", rule="mle").fit(X, y)
    joint = clf.predict_joint_log_proba(X)
    return float(joint[np.arange(len(y)), np.searchsorted(clf.classes_, y)].sum())


def cross_validated(X: pd.DataFrame, y: pd.Series, seed: int) -> pd.DataFrame:
    """Ten-fold accuracy and log score by rule, over several random divisions into folds."""
    rows = []
    for split in counted(range(_SPLITS), "dividing into folds"):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed + split)
        for train, test in folds.split(X, y):
            clf = CategoricalNB().fit(X.iloc[train], y.iloc[train])
            rows += [
                {"rule": rule, "split": split, **held_out(clf, X.iloc[test], y.iloc[test], rule)}
                for rule in ("mle", "predictive")
            ]
    return pd.DataFrame(rows).groupby(["rule", "split"]).mean()


def tables(inputs: Inputs) -> Tables:
    assert inputs.car is not None
    X, y = load(inputs.car)
    found = cross_validated(X, y, inputs.seed)
    accuracy = found.loc["mle", "accuracy"]
    beside = [
        {
            "number": "log likelihood",
            "published": f"{PUBLISHED['log likelihood']:.6f}",
            "ours": f"{log_likelihood(X, y):.6f}",
        },
        {
            "number": "ten-fold accuracy",
            "published": f"{PUBLISHED['ten-fold accuracy']:.4f}",
            "ours": f"{accuracy.mean():.4f}, sd {accuracy.std():.4f} over {_SPLITS} divisions into folds",
        },
    ]
    return {
        "maximum likelihood": pd.DataFrame(beside),
        "the same folds by rule": found.groupby("rule").mean().reset_index(),
    }


STUDY = Study(
    "bnclassify",
    "Naive Bayes on car evaluation (BNCLASSIFY): the log likelihood and the accuracy that bnclassify prints.",
    tables,
    needs="car",
)
