"""What rows without a label give on real tables: ``python -m benchmarks.unlabelled OUT.csv SOURCE…``.

A source is a folder of CSV files with a column ``class``, such a file, or an embedded set. So many rows of
each class keep their label, up to 400 others lose it, up to 2,000 of the rest are predicted. Columns of
numbers have Gaussian classes, with a common covariance or independent; tables with other columns have
``MixedNB``, and neither self-training nor MclustSSC, which want numbers. MclustSSC, with one covariance for
all classes ("EEE"), needs R with the package mclust. Every result is a line of OUT.csv, written at once;
what stands there is not computed again. Without a source OUT.csv is summarised.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import logsumexp
from sklearn.semi_supervised import SelfTrainingClassifier

import bayesppl as bp
from bayesppl.analysis.scores import hits, log_scores
from bayesppl.plots.style import colour, marker, tidy
from benchmarks.panel import measured_already
from benchmarks.rivals import DataSet, data_sets

UNLABELLED, MOST_TEST_ROWS = 400, 2000
KEY = ["set", "family", "labels", "seed", "method"]
COLUMNS = [*KEY, "log score", "accuracy", "weight", "temperature", "seconds"]
ALONE, TEMPERED = "labelled rows alone", "the same, tempered"
LEARNT, ALL, SELF = "unlabelled, by leave-one-out", "unlabelled, weight 1", "self-training"
MCLUST = "MclustSSC"
METHODS = (ALONE, TEMPERED, LEARNT, ALL, SELF, MCLUST)
FAMILIES = {
    "LDA": bp.LinearDiscriminantAnalysis,
    "GaussianNB": bp.GaussianNB,
    "MixedNB": partial(bp.MixedNB, integers="gaussian"),
}


#: Log p(x, y) of the rows to predict, in a file; fails where no model could be fitted.
_R = """
suppressMessages(library(mclust))
told <- read.csv("told.csv", header = FALSE)[[1]]
X <- as.matrix(read.csv("X.csv", header = FALSE)); X_test <- as.matrix(read.csv("X_test.csv", header = FALSE))
fit <- suppressWarnings(MclustSSC(X, ifelse(told < 0, NA, told), modelNames = "EEE", verbose = FALSE))
found <- do.call(cdens, c(list(data = X_test, logarithm = TRUE), fit[c("modelName", "parameters")]))
joint <- sweep(found, 2, log(fit$parameters$pro), "+")
write.table(joint, "joint.csv", row.names = FALSE, col.names = FALSE, sep = ",")
"""


class MclustSSC(NamedTuple):
    """The semi-supervised normal mixtures of R's mclust, fitted to rows when others are predicted."""

    X: Any
    told: Any

    def predict_log_proba(self, X: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            for name, values in (("X", self.X), ("told", self.told), ("X_test", X)):
                pd.DataFrame(values).to_csv(Path(folder, f"{name}.csv"), header=False, index=False)
            subprocess.run(["Rscript", "-e", _R], cwd=folder, check=True, capture_output=True)
            joint = pd.read_csv(Path(folder, "joint.csv"), header=None).to_numpy()
        return joint - logsumexp(joint, axis=1, keepdims=True)


def fit(method: str, family: str, X: Any, y: Any) -> Any:
    """Fit a method to rows some of which have the label −1."""
    make, known = FAMILIES[family], np.flatnonzero(y >= 0)
    if method in (ALONE, TEMPERED):
        calibration = "temperature" if method == TEMPERED else None
        return make(calibration=calibration).fit(X.iloc[known], y[known])
    if method == MCLUST:
        return MclustSSC(X, y)
    if method == SELF:
        return SelfTrainingClassifier(make()).fit(X, y)
    weight = "loo" if method == LEARNT else 1.0
    learn = {"unlabelled": "learn", "unlabelled_label": -1, "inference": "em", "unlabelled_weight": weight}
    return make(**learn).fit(X, y)


def draw(data: DataSet, labels: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return rows to learn from with their labels, −1 for unknown ones, and rows to predict with theirs."""
    rng = np.random.default_rng(seed)
    y = np.unique(data.y, return_inverse=True)[1]
    order = rng.permutation(len(y))
    place = pd.Series(y[order]).groupby(y[order]).cumcount().to_numpy()
    known, rest = order[place < labels], order[place >= labels]
    n_unlabelled = min(UNLABELLED, len(rest) // 2)
    rows, test = np.concatenate([known, rest[:n_unlabelled]]), rest[n_unlabelled:][:MOST_TEST_ROWS]
    X = data.X.iloc[np.concatenate([rows, test])]
    X = X.loc[:, X.iloc[: len(known)].nunique() > 1]  # a constant column has no scale
    told = np.where(np.arange(len(rows)) < len(known), y[rows], -1)
    return X.iloc[: len(rows)], told, X.iloc[len(rows) :], y[test]


def run(
    out: Path, sources: tuple[str, ...], labels: tuple[int, ...], seeds: int, only: Any, families: Any, stop: float
) -> None:
    """Append what is missing to the file, seed by seed, until the clock says ``stop``."""
    done = measured_already(out, KEY, COLUMNS)
    sets = list(data_sets(sources, 20_000))
    tasks = [(seed, data, number) for seed in range(seeds) for data in sets for number in labels]
    for seed, data, number in tasks:
        smallest = np.unique(data.y, return_counts=True)[1].min()
        if smallest < 2 * number:
            continue
        X, told, X_test, y = draw(data, number, seed)
        numbers = X.select_dtypes("number").shape[1] == X.shape[1] and not X.isna().any(axis=None)
        for family in ("LDA", "GaussianNB") if numbers else ("MixedNB",):
            for method in METHODS:
                key = (data.name, family, number, seed, method)
                if key in done or family not in families or method not in only:
                    continue
                if (method in (SELF, MCLUST) and not numbers) or (method == MCLUST and family != "LDA"):
                    continue
                if time.monotonic() > stop:
                    raise SystemExit(75)
                start = time.process_time()
                fitted = fit(method, family, X, told)
                seconds = time.process_time() - start
                try:
                    log_proba = fitted.predict_log_proba(X_test)
                except (OSError, subprocess.CalledProcessError) as failed:
                    click.echo(f"{key}: R with mclust is not there, or found no model ({failed})", err=True)
                    continue
                gain = fitted.unlabelled_gain() if method in (LEARNT, ALL) else None
                extra = [gain.weight, gain.calibration.temperature] if gain else [np.nan, np.nan]
                found = [log_scores(log_proba, y).mean(), hits(log_proba, y).mean(), *extra, seconds]
                line = pd.DataFrame([[*key, *found]])
                line.to_csv(out, mode="a", header=False, index=False, float_format="%.6g")


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return differences from the labelled rows alone with their standard errors over the seeds."""
    wide = table.pivot(index=KEY[:4], columns="method", values=["log score", "accuracy"])
    cells = {}
    for score in ("log score", "accuracy"):
        cells[score] = wide[score][ALONE].groupby(KEY[:3]).mean()
        for method in [method for method in METHODS[1:] if method in wide[score]]:
            difference = (wide[score][method] - wide[score][ALONE]).groupby(KEY[:3])
            cells[f"{score}, {method}"], cells[f"± {score}, {method}"] = difference.mean(), difference.sem()
    return pd.DataFrame(cells)


def picture(table: pd.DataFrame) -> Figure:
    """Draw the log score of every method by the number of labels, a panel for every set."""
    table = table[table["method"] != TEMPERED]
    means = table.groupby(["set", "labels", "method"])["log score"].agg(["mean", "sem"])
    names = table["set"].unique().tolist()
    figure = Figure(figsize=(3.2 * len(names), 3.4), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for k, method in enumerate(method for method in METHODS if method in means.loc[name].index.levels[1]):
            found = means.loc[name].xs(method, level="method")
            style = {"color": colour(k), "marker": marker(k), "label": method if name == names[0] else None}
            ax.errorbar(found.index, found["mean"], found["sem"].fillna(0.0), **style)
        ax.set(
            title=name, xlabel="labels per class", xscale="log", ylim=(1.6 * means.loc[name]["mean"].median(), 0)
        )
        ax.set_xticks(found.index, [str(number) for number in found.index])
        ax.minorticks_off()
        tidy(ax)
    figure.axes[0].set_ylabel("log score, nats per row")
    figure.legend(loc="outside upper center", ncols=len(METHODS))
    return figure


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("sources", nargs=-1)
@click.option("--labels", multiple=True, type=int, default=(5,), help="Labelled rows of each class.")
@click.option("--seeds", default=10)
@click.option("--only", multiple=True, type=click.Choice(METHODS), help="A method; all by default.")
@click.option("--family", multiple=True, type=click.Choice(list(FAMILIES)), help="A family; all by default.")
@click.option("--figure", type=click.Path(path_type=Path), help="Where to draw what has been measured.")
@click.option("--seconds", default=float("inf"), help="Stop after so long; exit code 75 if something is missing.")
def main(
    out: Path,
    sources: tuple[str, ...],
    labels: tuple[int, ...],
    seeds: int,
    only: Any,
    family: Any,
    figure: Path | None,
    seconds: float,
) -> None:
    """Measure, or summarise what has been measured."""
    if sources:
        warnings.simplefilter("ignore")
        run(out, sources, labels, seeds, only or METHODS, family or FAMILIES, time.monotonic() + seconds)
    else:
        if figure is not None:
            picture(pd.read_csv(out)).savefig(figure, dpi=120)
        click.echo(summary(pd.read_csv(out)).to_markdown(floatfmt=".3f"))


if __name__ == "__main__":
    main()
