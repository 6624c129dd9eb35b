"""Averaged trees beside a single tree and averaged one-dependence estimators, in log score, on the same levels.

    uv run --with pyagrum python -m benchmarks.trees OUT.csv [FOLDER]

FOLDER (or the environment variable BAYESPPL_DATA) is that of ``benchmarks.tempering``. Splits are those of
``benchmarks.panel``. Numbers are cut at the quintiles of the training rows, a gap is a level, and a level that
the training rows lack is their most frequent one, for all models alike. Every line of OUT.csv is a result.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import click
import numpy as np
import pandas as pd
from scipy.special import log_softmax, logsumexp

import bayesppl as bp
from bayesppl.analysis.scores import hits, log_scores
from bayesppl.data.labels import encode_labels
from bayesppl.kernels.arrays import Array
from benchmarks.panel import SPLITS, measured_already, rows_of
from benchmarks.rivals import DataSet
from benchmarks.tempering import data_sets

LEVELS = "car", "votes", "mushroom", "soybean", "zoo"
NUMBERS = "wine", "breast_cancer", "glass", "vehicle", "segmentation", "waveform"
KEY, SCORES = ["set", "train", "split", "model"], ["log score", "accuracy"]


class Aode:
    """Averaged one-dependence estimators (Webb, Boughton & Wang 2005), of levels 0, 1, ….

    The average over columns u, whose level at least ``least`` training rows share, of

    .. math:: p(y, x_u) \\prod_{v \\ne u} p(x_v \\mid y, x_u), \\quad p(y, x_u) = \\frac{n(y, x_u) + 1}{n + K L_u},
       \\quad p(x_v \\mid y, x_u) = \\frac{n(y, x_u, x_v) + 1}{n(y, x_u) + L_v};

    Naive Bayes where there is none.
    """

    def __init__(self, least: int = 30) -> None:
        self.least = least

    def fit(self, X: Array, y: Array) -> Self:
        """Count rows by class and by every two levels."""
        self.n_levels, self.classes = X.max(0) + 1, np.unique(y)
        self.starts = np.concatenate([[0], np.cumsum(self.n_levels)])
        cells = self._indicators(X)
        self.pairs = np.stack([cells[y == k].T @ cells[y == k] for k in self.classes])
        self.count = np.array([(y == k).sum() for k in self.classes])
        return self

    def predict_log_proba(self, X: Array) -> Array:
        """log p(y | x): (n_rows, n_classes)."""
        n_columns, n_classes, out = X.shape[1], len(self.classes), []
        for cells in X + self.starts[:-1]:
            both = self.pairs[:, cells][:, :, cells]  # (n_classes, parent, child)
            own = np.diagonal(both, axis1=1, axis2=2)
            parents = np.flatnonzero(own.sum(0) >= self.least)
            given = np.log((both + 1) / (own[:, :, None] + self.n_levels))
            given[:, np.arange(n_columns), np.arange(n_columns)] = 0
            joint = np.log((own + 1) / (self.count.sum() + n_classes * self.n_levels)) + given.sum(2)
            if len(parents):
                out.append(logsumexp(joint[:, parents], axis=1))
            else:
                prior = np.log((self.count + 1) / (self.count.sum() + n_classes))
                out.append(prior + np.log((own + 1) / (self.count[:, None] + self.n_levels)).sum(1))
        return np.asarray(log_softmax(out, axis=1))

    def _indicators(self, X: Array) -> Array:
        cells = np.zeros((len(X), self.starts[-1]))
        cells[np.arange(len(X))[:, None], X + self.starts[:-1]] = 1
        return cells


def tan(X: pd.DataFrame, y: Array, new: pd.DataFrame) -> Array:
    """log p(y | x) of tree-augmented Naive Bayes (Friedman, Geiger & Goldszmidt 1997), by pyAgrum.

    Which leaves weak edges out, and adds one row to every cell of a conditional table. Probabilities are looked up
    in its tables: ``predict_proba`` of its classifier returns others.
    """
    from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
    from pyagrum.skbn import BNClassifier

    asis = DiscreteTypeProcessor("NoDiscretization", None)
    learner = BNClassifier(type_processor=asis, learningMethod="TAN", prior="Smoothing", priorWeight=1)
    network = learner.fit(X, y).bn_
    labels, log_joint = np.unique(y), np.zeros((len(new), len(np.unique(y))))
    for node in network.nodes():
        table, at = network.cpt(node), []
        for name in reversed(table.names):  # the last of them is the first axis
            codes = pd.Index(network.variable(name).labels())
            of_rows = labels[None] if name == learner.target_ else new[name].to_numpy()[:, None]
            at.append(codes.get_indexer(of_rows.ravel()).reshape(of_rows.shape))
        log_joint += np.log(table.toarray()[tuple(at)])
    return np.asarray(log_softmax(log_joint, axis=1))


def coded(column: pd.Series[Any], train: Array) -> Array:
    """Number the levels of a column, or its quintiles among the training rows, and gaps."""
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > 10:
        cuts = np.unique(np.nanquantile(column.iloc[train].astype(float), [0.2, 0.4, 0.6, 0.8]))
        column = pd.Series(np.searchsorted(cuts, column, side="right")).where(column.notna().to_numpy())
    known = column.iloc[train].astype(str).value_counts()
    codes = pd.Index(sorted(known.index)).get_indexer(column.astype(str))
    return np.where(codes < 0, codes[train[column.iloc[train].astype(str) == known.index[0]]][0], codes)


def log_probas(X: Array, y: Array, new: Array) -> dict[str, Array]:
    """log p(y | x) of new rows by every model."""
    names = [f"x{j}" for j in range(X.shape[1])]
    tables = [pd.DataFrame(codes, columns=names).astype(str) for codes in (X, new)]
    models = {
        "Naive Bayes": bp.CategoricalNB(),
        "TreeNB": bp.TreeNB(),
        "TreeNB, per_class": bp.TreeNB("per_class"),
        "TreeNB, tempered": bp.TreeNB(calibration="temperature"),
    }
    found = {name: model.fit(tables[0], y).predict_log_proba(tables[1]) for name, model in models.items()}
    return {**found, "TAN": tan(tables[0], y, tables[1]), "AODE": Aode().fit(X, y).predict_log_proba(new)}


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("folder", type=click.Path(path_type=Path), envvar="BAYESPPL_DATA")
def main(out: Path, folder: Path) -> None:
    """Measure what OUT.csv lacks, and summarise."""
    done = {key[:3] for key in measured_already(out, KEY, [*KEY, *SCORES])}
    for name, X, labels in data_sets(folder):
        if name not in LEVELS + NUMBERS:
            continue
        data = DataSet(name, X, np.asarray(labels, dtype=str))
        for split in range(SPLITS):
            for n_train, train, test in rows_of(data, split):
                if (name, n_train, split) in done:
                    continue
                codes = np.column_stack([coded(X[column], train) for column in X])
                codes, y = codes[:, np.ptp(codes[train], axis=0) > 0], data.y[train]
                own = encode_labels(data.y[test], np.unique(y).tolist())[1]
                lines = [
                    [name, n_train, split, model, log_scores(found, own).mean(), hits(found, own).mean()]
                    for model, found in log_probas(codes[train], y, codes[test]).items()
                ]
                pd.DataFrame(lines).to_csv(out, mode="a", header=False, index=False, float_format="%.6g")
    table = pd.read_csv(out).pivot_table(index=["set", "train"], columns="model", values="log score")
    click.echo(table.round(3).to_string())


if __name__ == "__main__":
    main()
