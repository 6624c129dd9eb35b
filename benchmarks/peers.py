"""Time other libraries of generative classifiers on the same data, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

import bayesppl as bp
from benchmarks.cases import real
from benchmarks.measure import Call, compare

# Processor time of fit and probabilities, the median of some runs, of each function of R; reading is not timed
_R = """
a <- commandArgs(TRUE); n <- as.integer(a[2]); few <- as.integer(a[3]); repeats <- as.integer(a[4])
X <- matrix(readBin(file.path(a[1], "X"), "double", n * 20), n)
y <- factor(readBin(file.path(a[1], "y"), "integer", n))
time <- function(f) median(replicate(repeats, sum(system.time(f())[1:2])))
report <- function(name, fit, proba) {
  model <- fit()
  cat(name, time(fit), time(function() proba(model, X[1:few, ])), "\\n")
}
report("e1071::naiveBayes", function() e1071::naiveBayes(X, y), function(m, X) predict(m, X, type = "raw"))
report("MASS::lda", function() MASS::lda(X, y), function(m, X) predict(m, X))
report("MASS::qda", function() MASS::qda(X, y), function(m, X) predict(m, X))
"""
_OURS = {
    "e1071::naiveBayes": bp.GaussianNB,
    "MASS::lda": bp.LinearDiscriminantAnalysis,
    "MASS::qda": bp.QuadraticDiscriminantAnalysis,
}

#: A library, an operation, and the milliseconds of ours and of theirs.
Row = tuple[str, str, float, float]


def peers(quick: bool, repeats: int) -> Iterator[Row | str]:
    """Yield times of other libraries and ours, or a sentence about one that is not installed."""
    X, y = real(10_000 if quick else 100_000, 20, 3)
    for name, operation, prepare in (("wnb", "fit", _wnb), ("river", "partial_fit, one batch", _river)):
        try:
            found = compare(*prepare(X, y), repeats)
        except ImportError:
            yield f"{name} is not installed: uv sync --group benchmarks"
        else:
            yield name, operation, 1e3 * found.seconds, 1e3 * (found.other_seconds or 0.0)
    if shutil.which("Rscript") is None:
        yield "R is not installed: e1071 and MASS are left out"
        return
    few = X[: len(X) // 10]
    for name, *theirs in map(str.split, _run_r(X, y, len(few), repeats)):
        clf = _OURS[name]()
        calls = (partial(clf.fit, X, y), partial(clf.predict_proba, few))
        ours = [compare(call, None, repeats).seconds for call in calls]
        for i, operation in enumerate(("fit", f"predict, {len(few)} rows")):
            yield name, operation, 1e3 * ours[i], 1e3 * float(theirs[i])


def _run_r(X: np.ndarray, y: np.ndarray, few: int, repeats: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "X").write_bytes(X.T.tobytes())
        Path(folder, "y").write_bytes(y.astype(np.int32).tobytes())
        command = ["Rscript", "-e", _R, folder, str(len(X)), str(few), str(repeats)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def _wnb(X: np.ndarray, y: np.ndarray) -> tuple[Call, Call]:
    wnb = import_module("wnb")
    normal = [wnb.Distribution.NORMAL] * X.shape[1]
    return lambda: bp.GaussianNB().fit(X, y), lambda: wnb.GeneralNB(distributions=normal).fit(X, y)


def _river(X: np.ndarray, y: np.ndarray) -> tuple[Call, Call]:
    river = import_module("river.naive_bayes")
    frame, labels = pd.DataFrame(X).add_prefix("x"), pd.Series(y)
    return lambda: bp.GaussianNB().partial_fit(
        frame, labels, classes=[0, 1, 2]
    ), lambda: river.GaussianNB().learn_many(frame, labels)
