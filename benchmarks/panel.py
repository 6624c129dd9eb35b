"""AutoClassifier beside six classifiers of scikit-learn: ``python -m benchmarks.panel OUT.csv SOURCE…``.

A source is a folder of CSV files with a column ``class``, such a file, or an embedded set. min(200, n/2) and
min(1000, n/2) rows train, at most 2,000 of the others test, in six stratified splits that are the same for all
classifiers. Labels of fewer than two training rows are left out. Every result is a line of OUT.csv, written at
once; what stands there is not computed again.

Without a source OUT.csv is summarised. A cell is a set and a number of training rows; AutoClassifier is level
or better in it where the mean of the six paired differences is above −.005, or above minus two of their
standard errors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline

import bayesppl as bp
from bayesppl.analysis.scores import expected_calibration_error, hits, log_scores
from bayesppl.data.labels import encode_labels
from benchmarks.rivals import DISCRIMINATIVE, GENERATIVE, DataSet, data_sets, log_proba_of_rival

SPLITS, ROWS, MOST_TEST_ROWS = 6, (200, 1000), 2000
OURS, LEVEL = "AutoClassifier", 0.005
KEY = ["set", "train", "split", "model"]
COLUMNS = [*KEY, "log score", "accuracy", "ECE", "seconds"]


def models(folds: int) -> dict[str, Any]:
    """Return the classifiers; those that validate within the training rows do so in so many folds."""
    dense = GENERATIVE["LDA"][0]  # numbers standardised, gaps filled, levels as indicators
    forest = CalibratedClassifierCV(RandomForestClassifier(100, random_state=0), method="sigmoid", cv=folds)
    logistic = LogisticRegressionCV(
        Cs=8, l1_ratios=(0,), cv=folds, scoring="neg_log_loss", max_iter=500, use_legacy_attributes=False
    )
    return {
        OURS: bp.AutoClassifier(),
        "logistic regression": make_pipeline(dense, logistic),
        "gradient boosting": DISCRIMINATIVE["gradient boosting"],
        "random forest": make_pipeline(dense, forest),
        **{name: GENERATIVE[name] for name in ("LDA, Ledoit-Wolf", "QDA, reg_param=0.1", "GaussianNB")},
    }


def rows_of(data: DataSet, split: int) -> Iterator[tuple[int, Any, Any]]:
    """Yield a number of training rows, these rows, and the rows to predict."""
    n_rows = len(data.y)
    for n_train in sorted({min(most, n_rows // 2) for most in ROWS}):
        n_test = min(MOST_TEST_ROWS, n_rows - n_train)
        halves = StratifiedShuffleSplit(SPLITS, train_size=n_train, test_size=n_test, random_state=0)
        train, test = list(halves.split(data.X, data.y))[split]
        labels, counts = np.unique(data.y[train], return_counts=True)
        kept = labels[counts >= 2]
        yield n_train, train[np.isin(data.y[train], kept)], test[np.isin(data.y[test], kept)]


def measure(name: str, data: DataSet, train: Any, test: Any) -> list[float]:
    """Return log score, accuracy, calibration error, and the processor's seconds to fit and predict."""
    y = data.y[train]
    labels, counts = np.unique(y, return_counts=True)
    codes = encode_labels(data.y[test], labels.tolist())[1]
    model = models(int(np.clip(counts.min(), 2, 5)))[name]
    start = time.process_time()
    log_proba = log_proba_of_rival(model, data.X.iloc[train], y, data.X.iloc[test], len(labels))
    seconds = time.process_time() - start
    if np.ptp(log_proba) == 0:  # it refused the rows
        return [np.nan, np.nan, np.nan, seconds]
    scores = log_scores(log_proba, codes).mean(), hits(log_proba, codes).mean()
    return [*scores, expected_calibration_error(log_proba, codes), seconds]


def measured_already(out: Path, key: list[str], columns: list[str]) -> set[tuple[Any, ...]]:
    """Return the keys of the lines in a file of results, which is begun where there is none."""
    if out.exists():
        return set(pd.read_csv(out)[key].itertuples(index=False, name=None))
    out.write_text(",".join(columns) + "\n")
    return set()


def run(out: Path, sources: tuple[str, ...], only: tuple[str, ...], stop: float) -> None:
    """Append what is missing to the file, split by split, until the clock says ``stop``."""
    done = measured_already(out, KEY, COLUMNS)
    sets = list(data_sets(sources, 20_000))
    for split in range(SPLITS):
        for data in sets:
            for n_train, train, test in rows_of(data, split):
                for name in only or models(2):
                    if (data.name, n_train, split, name) in done:
                        continue
                    if time.monotonic() > stop:
                        raise SystemExit(75)
                    line = pd.DataFrame([[data.name, n_train, split, name, *measure(name, data, train, test)]])
                    line.to_csv(out, mode="a", header=False, index=False, float_format="%.6g")


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over the cells, and the share of cells where AutoClassifier is level or better."""
    wide = table.pivot(index=["set", "train", "split"], columns="model", values=COLUMNS[4:])
    result = wide.groupby(level=["set", "train"]).mean().mean().unstack("model").T
    for score in ("log score", "accuracy"):
        difference = wide[score].rsub(wide[score][OURS], axis=0).groupby(level=["set", "train"])
        mean, error = difference.mean(), difference.sem()
        level = ((mean > -LEVEL) | (mean > -2 * error)).where(mean.notna())
        result[f"level in {score}"] = level.mean()
        result["cells"] = level.count()
    return result.loc[list(models(2))]


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("sources", nargs=-1)
@click.option("--only", multiple=True, help="A classifier; all by default.")
@click.option("--seconds", default=float("inf"), help="Stop after so long; exit code 75 if something is missing.")
def main(out: Path, sources: tuple[str, ...], only: tuple[str, ...], seconds: float) -> None:
    """Measure, or summarise what has been measured."""
    if sources:
        run(out, sources, only, time.monotonic() + seconds)
    else:
        click.echo(summary(pd.read_csv(out)).to_markdown(floatfmt=".3f"))


if __name__ == "__main__":
    main()
