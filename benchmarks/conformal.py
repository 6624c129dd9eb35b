"""Prediction sets beside MAPIE and crepes.

    uv run --with mapie --with crepes python -m benchmarks.conformal FOLDER

FOLDER holds files NAME.csv.gz whose labels are in the column "class". Eight random draws of 100 rows to fit and 50
to predict; split conformal prediction fits one half of the 100 and calibrates on the other.
"""

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine

import bayesppl as bp

N_FIT, N_NEW, N_DRAWS, LEVEL = 100, 50, 8, 0.9


def read(folder: Path, name: str) -> tuple[Any, Any]:
    """The columns of numbers, and the labels as codes."""
    if name in ("iris", "wine"):
        return {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
    frame = pd.read_csv(folder / f"{name}.csv.gz").dropna()
    X = frame.drop(columns="class").select_dtypes("number")
    return X.loc[:, X.nunique() > 2].to_numpy(float), np.unique(frame["class"], return_inverse=True)[1]


def full(X: Any, y: Any, new: Any) -> Any:
    return bp.GaussianNB(calibration="temperature").fit(X, y).predict_set(new, LEVEL).contains


def crepes_split(X: Any, y: Any, new: Any) -> Any:
    from crepes import WrapClassifier

    half = len(X) // 2
    clf = WrapClassifier(bp.GaussianNB())
    clf.fit(X[:half], y[:half])
    clf.calibrate(X[half:], y[half:])
    return clf.predict_p(new, smoothing=False) > 1 - LEVEL


def mapie_split(X: Any, y: Any, new: Any) -> Any:
    from mapie.classification import SplitConformalClassifier

    half = len(X) // 2
    clf = SplitConformalClassifier(bp.GaussianNB().fit(X[:half], y[:half]), confidence_level=LEVEL, prefit=True)
    clf.conformalize(X[half:], y[half:])
    return clf.predict_set(new)[1][:, :, 0]


def mapie_cross(X: Any, y: Any, new: Any) -> Any:
    from mapie.classification import CrossConformalClassifier

    clf = CrossConformalClassifier(bp.GaussianNB(), confidence_level=LEVEL, cv=5)
    clf.fit_conformalize(X, y)
    return clf.predict_set(new)[1][:, :, 0]


WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "full, exact": full,
    "crepes, split": crepes_split,
    "MAPIE, split": mapie_split,
    "MAPIE, 5 folds": mapie_cross,
}


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    for name in ("iris", "wine", "vehicle", "waveform", "ionosphere"):
        X, y = read(Path(folder), name)
        found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
        for seed in range(N_DRAWS):
            order = np.random.default_rng(seed).permutation(len(y))
            fit, new = order[:N_FIT], order[N_FIT : N_FIT + N_NEW]
            for way, sets in WAYS.items():
                start = time.process_time()
                contains = np.asarray(sets(X[fit], y[fit], X[new]))
                spent = 1000 * (time.process_time() - start) / N_NEW
                found[way].append((contains[np.arange(N_NEW), y[new]].mean(), contains.sum(1).mean(), spent))
        for way, numbers in found.items():
            covered, size, spent = np.mean(numbers, 0)
            print(f"| {name} | {way} | {covered:.3f} | {size:.2f} | {spent:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
