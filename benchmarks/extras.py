"""Time what scikit-learn does not do: batches, intervals, leave-one-out, draws, first calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import naive_bayes

import bayesppl as bp
from benchmarks.cases import real, size
from benchmarks.measure import Call, in_new_process


class Extra(NamedTuple):
    """Two functions that do the same job, or one that nothing else does.

    Attributes
    ----------
    prepare : callable
        Returns ours and the other function; None where there is nothing to compare with.
    beside : str
        What the other function is.
    needs : str
        Package that the other function needs; the row is left out where it is absent.
    """

    problem: str
    operation: str
    prepare: Callable[[], tuple[Call, Call | None]]
    beside: str = ""
    needs: str = ""

    def missing(self) -> str:
        """Why this row is left out; empty where it is not."""
        try:
            import_module(self.needs or "bayesppl")
        except ImportError:
            return f"{self.needs} is not installed: uv sync --group benchmarks"
        return ""


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
    yield Extra(f"Gaussian diagonal, {shown}", "fit", lambda: against_wnb(many), "wnb", "wnb")
    yield Extra(
        f"Gaussian diagonal, {shown}", "partial_fit, one batch", lambda: against_river(many), "river", "river"
    )


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


def against_wnb(n_rows: int) -> tuple[Call, Call]:
    wnb = import_module("wnb")
    X, y = real(n_rows, 20, 3)
    normal = [wnb.Distribution.NORMAL] * X.shape[1]
    return lambda: bp.GaussianNB().fit(X, y), lambda: wnb.GeneralNB(distributions=normal).fit(X, y)


def against_river(n_rows: int) -> tuple[Call, Call]:
    river = import_module("river.naive_bayes")
    X, y = real(n_rows, 20, 3)
    frame, labels = pd.DataFrame(X).add_prefix("x"), pd.Series(y)
    return (
        lambda: bp.GaussianNB().partial_fit(frame, labels, classes=[0, 1, 2]),
        lambda: river.GaussianNB().learn_many(frame, labels),
    )


_CHILD = """
import json, sys, time
import numpy as np
rng = np.random.default_rng(0)
y = rng.integers(3, size=100_000)
X = rng.standard_normal((100_000, 20)) + y[:, None]
began = time.process_time()
{start}
imported = time.process_time()
GaussianNB().fit(X, y)
first = time.process_time()
GaussianNB().fit(X, y)
print(json.dumps([imported - began, first - imported, time.process_time() - first]))
"""
_STARTS = {
    "bayesppl": "from bayesppl import GaussianNB",
    "bayesppl, compiled": (
        "from bayesppl import GaussianNB\n"
        "from bayesppl.kernels import compiled\n"
        "compiled.PRICE = compiled.PRICE_IF_LOADED = 0"
    ),
    "scikit-learn": "from sklearn.naive_bayes import GaussianNB",
}


def first_calls(repeats: int) -> Iterator[dict[str, Any]]:
    """Processor time of import, first fit (1e5×20) and second fit in new processes with a filled cache."""
    for name, start in _STARTS.items():
        runs = [in_new_process(_CHILD.format(start=start), {"OMP_NUM_THREADS": "1"}) for _ in range(repeats)]
        for what, seconds in zip(("import", "first fit", "second fit"), zip(*runs, strict=True), strict=True):
            yield {"who": name, "what": what, "milliseconds": 1e3 * median(seconds)}
