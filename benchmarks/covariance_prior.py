"""Compare the default prior of covariances with rivals on real data, from 10 to 500 rows.

    python -m benchmarks.covariance_prior FOLDER [--out FILE.csv] [--splits 5] [--sizes 10 30 100 500]

FOLDER holds CSV files with a column ``class``. Columns of numbers are used, gaps filled with the median of the
training rows, columns constant in these rows dropped. Of every set and size, ``splits`` stratified draws of
training rows; up to 1,000 other rows test. A cell is within one standard error of a rival where the mean of its
paired differences over the draws is at least minus their standard error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import bayesppl as bp
from bayesppl.analysis.scores import log_scores

MOST_TEST_ROWS = 1000
LEAST = np.log(1e-15)

OURS: dict[str, Callable[[], Any]] = {
    "linear": bp.LinearDiscriminantAnalysis,
    "quadratic": bp.QuadraticDiscriminantAnalysis,
    "linear, tempered": lambda: bp.LinearDiscriminantAnalysis(calibration="temperature"),
    "quadratic, tempered": lambda: bp.QuadraticDiscriminantAnalysis(calibration="temperature"),
}


def _searched(estimator: Any, grid: Mapping[str, Any], folds: int) -> Any:
    return GridSearchCV(
        estimator, grid, scoring="neg_log_loss", cv=StratifiedKFold(folds, shuffle=True, random_state=0)
    )


LINEAR: dict[str, Callable[[int], Any]] = {
    "LDA, Ledoit–Wolf": lambda folds: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "LDA, OAS": lambda folds: LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=_oas()),
    "LDA, shrinkage by CV": lambda folds: _searched(
        LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": [0.02, 0.1, 0.3, 0.8]}, folds
    ),
}
QUADRATIC: dict[str, Callable[[int], Any]] = {
    "QDA, reg_param by CV": lambda folds: _searched(
        QuadraticDiscriminantAnalysis(), {"reg_param": [0.02, 0.1, 0.3, 0.8]}, folds
    ),
    "Gaussian NB": lambda folds: GaussianNB(),
}
LOGISTIC: dict[str, Callable[[int], Any]] = {
    "logistic regression by CV": lambda folds: GridSearchCV(
        LogisticRegression(max_iter=500),
        {"C": [0.01, 0.1, 1.0, 10.0]},
        scoring="neg_log_loss",
        cv=StratifiedKFold(folds, shuffle=True, random_state=0),
    )
}


def _oas() -> Any:
    from sklearn.covariance import OAS

    return OAS()


def numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """The columns of numbers."""
    return frame.drop(columns="class").select_dtypes("number").astype(float)


def scores(clf: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> tuple[float, float]:
    """Mean log score and accuracy; a rival that refuses the rows has the frequencies of the classes."""
    classes, codes = np.unique(y, return_inverse=True)
    try:
        log_proba = clf.fit(X, y).predict_log_proba(X_test)
        if not np.isfinite(log_proba.max(1)).all():
            raise ValueError("not finite")
    except (ValueError, np.linalg.LinAlgError):
        log_proba = np.tile(np.log(np.bincount(codes) / len(y)), (len(X_test), 1))
    at = np.searchsorted(classes, y_test)
    return float(np.maximum(log_scores(log_proba, at), LEAST).mean()), float((log_proba.argmax(1) == at).mean())


def split(X: pd.DataFrame, y: Any, size: int, seed: int) -> tuple[Any, ...]:
    train, test = train_test_split(np.arange(len(y)), train_size=size, random_state=seed, stratify=y)
    counts = pd.Series(y[train]).value_counts()
    test = test[np.isin(y[test], counts.index)][:MOST_TEST_ROWS]
    filled = X.fillna(X.iloc[train].median()).fillna(0.0)
    varied = filled.loc[:, filled.iloc[train].nunique() > 1].to_numpy()
    return varied[train], y[train], varied[test], y[test]


def study(name: str, frame: pd.DataFrame, sizes: list[int], splits: int) -> list[dict[str, Any]]:
    """A line for every size, split and model."""
    X, y = numbers(frame), frame["class"].to_numpy(dtype=str)
    lines = []
    for size in sizes:
        if size > 0.7 * len(y) or size < 2 * len(np.unique(y)):
            continue
        for seed in range(splits):
            rows, labels, others, truth = split(X, y, size, seed)
            folds = max(2, min(3, int(pd.Series(labels).value_counts().min())))
            scaled = StandardScaler().fit(rows)
            models: dict[str, tuple[Any, Any, Any]] = {k: (make(), rows, others) for k, make in OURS.items()}
            for key, make in {**LINEAR, **QUADRATIC, **LOGISTIC}.items():
                models[key] = make(folds), scaled.transform(rows), scaled.transform(others)
            for model, (clf, train, test) in models.items():
                log_score, accuracy = scores(clf, train, labels, test, truth)
                line = {"set": name, "rows": size, "split": seed, "model": model}
                lines.append({**line, "log score": log_score, "accuracy": accuracy})
        print(name, size, flush=True)
    return lines


def shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of cells within one standard error of the best, for ours and the rivals."""
    found = []
    for ours in OURS:
        alike = LINEAR if ours.startswith("linear") else QUADRATIC
        groups = {"of its kind": [*alike], "generative": [*LINEAR, *QUADRATIC], "logistic": [*LOGISTIC]}
        for score in ("log score", "accuracy"):
            by_model = table.pivot_table(index=["set", "rows", "split"], columns="model", values=score)
            for group, members in groups.items():
                level = []
                for _, cell in by_model.groupby(level=[0, 1]):
                    best = cell[members].mean().idxmax()
                    gain = cell[ours] - cell[best]
                    level.append(gain.mean() >= -gain.std(ddof=1) / np.sqrt(len(gain)))
                line = {"ours": ours, "score": score, "against the best": group}
                found.append({**line, "share": np.mean(level), "cells": len(level)})
    return pd.DataFrame(found)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10, 30, 100, 500])
    arguments = parser.parse_args()
    lines: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in sorted(arguments.folder.glob("*.csv*")):
            frame = pd.read_csv(path)
            lines += study(path.name.split(".")[0], frame, arguments.sizes, arguments.splits)
            if arguments.out is not None:
                pd.DataFrame(lines).to_csv(arguments.out, index=False)
    table = pd.DataFrame(lines)
    print(shares(table).round(2).to_string(index=False))
    means = table.pivot_table(index="rows", columns="model", values=["log score", "accuracy"])
    print(means.round(3).T.to_string())


if __name__ == "__main__":
    main()
