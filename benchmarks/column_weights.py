"""Compare one weight per column with one temperature, on real data by held-out halves.

    python -m benchmarks.column_weights [FOLDER] [--sets NAME ...] [--splits 3] [--rows 800]

FOLDER holds CSV files with a column ``class``; without any, it and the sets are those of ``benchmarks.tempering``.
Sets of more rows are sampled. The models are ``MixedNB`` (columns by
their kind), ``GaussianNB`` where all columns are numbers, and ``CategoricalNB`` of levels, numbers cut at
quintiles of the training half.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import bayesppl as bp
from bayesppl.analysis.scores import hits, log_scores
from benchmarks.tempering import data_sets, models


def sets(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Name, features and labels."""
    files = sorted(folder.glob("*.csv*"))
    for path in files:
        frame = pd.read_csv(path, dtype={"class": str})
        yield path.name.split(".")[0], frame.drop(columns="class"), frame["class"]
    if not files:
        yield from data_sets(folder)


OPTIONS = (None, "temperature", "weights")


def tables(X: Any, train: Any) -> Iterator[tuple[str, Any, Any]]:
    """Model, estimator and features."""
    found = models(X)
    mixed = found["columns"][1]
    yield "MixedNB", bp.MixedNB(), mixed
    if "QDA" in found:
        yield "GaussianNB", bp.GaussianNB(), found["QDA"][1]
    cut = mixed.astype(object)
    for name in mixed.select_dtypes("number"):
        edges = np.unique(mixed[name].iloc[train].quantile([0.2, 0.4, 0.6, 0.8]))
        cut[name] = np.digitize(mixed[name], edges).astype(str)
    yield "CategoricalNB", bp.CategoricalNB(), cut


def study(name: str, X: pd.DataFrame, y: Any, splits: int) -> Iterator[dict[str, Any]]:
    """A line for each model: averages over splits."""
    labels = np.asarray(y).astype(str)
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in range(splits):
        train, test = train_test_split(np.arange(len(labels)), test_size=0.5, random_state=seed, stratify=labels)
        for model, clf, features in tables(X, train):
            line: dict[str, Any] = {}
            scores = {}
            for option in OPTIONS:
                started = time.perf_counter()
                fitted = clone(clf).set_params(calibration=option).fit(features.iloc[train], labels[train])
                proba = fitted.predict_log_proba(features.iloc[test])
                codes = np.searchsorted(fitted.classes_, labels[test])
                scores[option] = log_scores(proba, codes)
                line[f"{option}"] = scores[option].mean()
                line[f"accuracy {option}"] = hits(proba, codes).mean()
                line[f"seconds {option}"] = time.perf_counter() - started
            gain = scores["weights"] - scores["temperature"]
            line["weights − T"] = gain.mean()
            line["±"] = gain.std(ddof=1) / np.sqrt(len(gain))
            calibration = fitted.fitted_.calibration
            line["promised"], line["spread"] = calibration.log_score, calibration.spread
            found.setdefault(model, []).append({"rows": len(labels), "units": len(calibration.names), **line})
    for model, lines in found.items():
        yield {"set": name, "model": model, **pd.DataFrame(lines).mean().to_dict()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=os.environ.get("BAYESPPL_DATA", "../shared/data"), type=Path)
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=800)
    arguments = parser.parse_args()
    lines = []
    for name, X, y in sets(arguments.folder):
        if not isinstance(X, (pd.DataFrame, np.ndarray)) or (arguments.sets and name not in arguments.sets):
            continue
        X, y = pd.DataFrame(X), pd.Series(np.asarray(y))
        if len(y) > arguments.rows:
            chosen = np.random.default_rng(0).choice(len(y), arguments.rows, replace=False)
            chosen = chosen[y.iloc[chosen].map(y.iloc[chosen].value_counts()).to_numpy() > 1]
            X, y = X.iloc[chosen].reset_index(drop=True), y.iloc[chosen].reset_index(drop=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for line in study(name, X.rename(columns=str), y, arguments.splits):
                lines.append(line)
                print(
                    {key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()},
                    flush=True,
                )
    table = pd.DataFrame(lines)
    table.to_csv("column_weights.csv", index=False)
    print(table.round(3).to_string())


if __name__ == "__main__":
    main()
