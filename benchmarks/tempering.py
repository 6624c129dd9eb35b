"""Would a tempered default predict better? Log scores with and without a temperature, on real data.

    python -m benchmarks.tempering [FOLDER] [--sets NAME ...]

FOLDER (or the environment variable BAYESPPL_DATA) holds ``panel/NAME.csv.gz`` with the target column ``class``,
and the folders that ``benchmarks.real_data`` reads; five sets come with scikit-learn. Stratified halves train, the
others test. The temperature is learned from the training half alone. Rows of weight, penalties and splits are the
same for all models.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

import bayesppl as bp
from bayesppl.analysis.scores import expected_calibration_error, hits, log_scores

SPLITS, LARGE, LEVELS = 5, 3000, 10


def data_sets(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """Name, features and labels."""
    for name in ("iris", "wine", "breast_cancer", "digits", "digits_binary"):
        yield (name, *bp.datasets.load(name))
    for path in sorted((folder / "panel").glob("*.csv.gz")):
        frame = pd.read_csv(path, dtype={"class": str})
        yield path.name.removesuffix(".csv.gz"), frame.drop(columns="class"), frame["class"]
    frame = pd.read_csv(folder / "penguins" / "penguins.csv").drop(columns="year")
    yield "penguins", frame.drop(columns="species"), frame["species"]
    frame = pd.read_csv(folder / "pima" / "pima-indians-diabetes.data", header=None)
    yield "pima", frame.iloc[:, :-1].add_prefix("x"), frame.iloc[:, -1]
    frame = pd.read_csv(folder / "votes" / "house-votes-84.data", header=None, na_values="?")
    yield "votes", frame.iloc[:, 1:].add_prefix("x"), frame[0]
    frame = pd.read_csv(folder / "car" / "car.data", header=None, dtype=str)
    yield "car", frame.iloc[:, :-1].add_prefix("x"), frame.iloc[:, -1]
    lines = (folder / "sms_spam" / "SMSSpamCollection").read_text(encoding="utf-8").rstrip("\n").split("\n")
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    yield "sms_spam", CountVectorizer(min_df=2).fit_transform(texts), np.asarray(labels)


def models(X: Any) -> dict[str, tuple[Any, Any]]:
    """Estimator and features by name: columns by their kind, and where all can be numbers, LDA and QDA."""
    if not isinstance(X, pd.DataFrame):
        return {"multinomial": (bp.MultinomialNB(), X)}
    columns = X.loc[:, X.nunique() > 1]
    numeric = columns.select_dtypes("number")
    few = [name for name in numeric if numeric[name].nunique() <= LEVELS]
    mixed = columns.astype({name: float for name in numeric if name not in few})
    for name in [*few, *columns.columns.difference(numeric.columns)]:
        mixed[name] = columns[name].astype(str).where(columns[name].notna(), None)
    found = {"columns": (bp.MixedNB(), mixed)}
    if len(numeric.columns) == len(columns.columns):
        filled = numeric.fillna(numeric.median()).astype(float)
        found["LDA"] = bp.LinearDiscriminantAnalysis(), filled
        found["QDA"] = bp.QuadraticDiscriminantAnalysis(), filled
    return found


def study(name: str, X: Any, y: Any) -> Iterator[dict[str, Any]]:
    """A line for each model: averages over splits."""
    labels = np.asarray(y).astype(str)
    for model, (clf, features) in models(X).items():
        found = []
        for seed in range(SPLITS if len(labels) < LARGE else 2):
            train, test = train_test_split(
                np.arange(len(labels)), test_size=0.5, random_state=seed, stratify=labels
            )
            rows = features.iloc if isinstance(features, pd.DataFrame) else features
            plain = clf.fit(rows[train], labels[train])
            codes = np.searchsorted(plain.classes_, labels[test])
            before = plain.predict_log_proba(rows[test])
            tempered = clf.set_params(calibration="temperature").fit(rows[train], labels[train])
            after, calibration = tempered.predict_log_proba(rows[test]), tempered.fitted_.calibration
            clf.set_params(calibration=None)
            found.append(
                {
                    "T": calibration.temperature,
                    "log sd": calibration.log_sd,
                    "log score": log_scores(before, codes).mean(),
                    "tempered": log_scores(after, codes).mean(),
                    "accuracy": hits(before, codes).mean(),
                    "accuracy tempered": hits(after, codes).mean(),
                    "ECE": expected_calibration_error(before, codes),
                    "ECE tempered": expected_calibration_error(after, codes),
                }
            )
        yield {"set": name, "model": model, "rows": len(labels), **pd.DataFrame(found).mean().to_dict()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=os.environ.get("BAYESPPL_DATA", "data"), type=Path)
    parser.add_argument("--sets", nargs="*")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, X, y in data_sets(chosen.folder):
        if not chosen.sets or name in chosen.sets:
            for line in study(name, X, y):
                print(
                    "  ".join(f"{v:.3f}" if isinstance(v, float) else f"{v!s:>14}" for v in line.values()),
                    flush=True,
                )


if __name__ == "__main__":
    main()
