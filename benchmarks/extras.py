"""Time what scikit-learn does not do, or not in one call: batches, intervals, leave-one-out, draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import naive_bayes

import bayesppl as bp
from benchmarks.cases import real, size
from benchmarks.measure import Call


class Extra(NamedTuple):
    """Two functions that do the same job, or one that nothing else does.

    Attributes
    ----------
    prepare : callable
        Returns ours and the other function; None where there is nothing to compare with.
    beside : str
        What the other function is.
    """

    problem: str
    operation: str
    prepare: Callable[[], tuple[Call, Call | None]]
    beside: str = ""


def extras(quick: bool) -> Iterator[Extra]:
    """All of them; ``quick`` makes the data ten times smaller."""
    s = 10 if quick else 1
    n = 1_000_000 // s
    shown = f"Gaussian diagonal, {size(n, 20)}, 3 classes"
    yield Extra(shown, "partial_fit, ten batches", lambda: batches(n), "scikit-learn")
    few, many = 10_000 // s, 100_000 // s
    yield Extra(
        f"Gaussian diagonal, {size(few, 20)}, 3 classes",
        "predict_proba_interval, 1000 draws",
        lambda: interval(few),
    )
    shown = f"{size(many, 20)}, 3 classes"
    for name, make in (("Gaussian diagonal", bp.GaussianNB), ("QDA", bp.QuadraticDiscriminantAnalysis)):
        yield Extra(f"{name}, {shown}", "loo", lambda make=make: loo(make, many), "one predict_proba of ours")
        yield Extra(f"{name}, {shown}", "1000 exact draws", lambda make=make: draws(make, many))


def batches(n_rows: int) -> tuple[Call, Call]:
    X, y = real(n_rows, 20, 3)
    parts = [(X[rows], y[rows]) for rows in np.array_split(np.arange(n_rows), 10)]

    def learn(clf: Any) -> Any:
        for X_part, y_part in parts:
            clf.partial_fit(X_part, y_part, classes=[0, 1, 2])
        return clf

    return lambda: learn(bp.GaussianNB()), lambda: learn(naive_bayes.GaussianNB())


def interval(n_rows: int) -> tuple[Call, None]:
    X, y = real(n_rows, 20, 3)
    clf = bp.GaussianNB().fit(X, y)
    return lambda: clf.predict_proba_interval(X, draws=1000, random_state=0), None


def loo(make: Callable[[], Any], n_rows: int) -> tuple[Call, Call]:
    X, y = real(n_rows, 20, 3)
    clf = make().fit(X, y)
    return clf.loo, lambda: clf.predict_proba(X)


def draws(make: Callable[[], Any], n_rows: int) -> tuple[Call, None]:
    posterior = make().fit(*real(n_rows, 20, 3)).posterior_
    return lambda: posterior.draws(4, 250, np.random.default_rng(0)), None
