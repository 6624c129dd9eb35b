"""Planted errors of labels, and cleanlab: ``uv run --with cleanlab python -m benchmarks.label_noise FOLDER``.

Of each set 5 % of the labels are replaced at random, five times. ``FOLDER`` holds vehicle.csv.gz.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesppl as bp
from benchmarks.conformal import read

OURS = {
    "GaussianNB": bp.GaussianNB,
    "QDA": bp.QuadraticDiscriminantAnalysis,
    "LDA": bp.LinearDiscriminantAnalysis,
}


def scores(X: Any, y: Any, planted: Any) -> dict[str, tuple[float, float, float]]:
    """Average precision of the ranking, rows called wrong, and those of them that are."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    found = {}
    for name, make in OURS.items():
        rows = make(calibration="temperature").fit(X, y).suspicious_rows()
        found[name] = rows["wrong"].sort_index().to_numpy(), rows["wrong"].sort_index().to_numpy() > 0.5
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    linear = bp.LinearDiscriminantAnalysis(calibration="temperature").fit(X, y)
    for name, proba in {
        "cleanlab, logistic regression": cross_val_predict(logistic, X, y, cv=5, method="predict_proba"),
        "cleanlab, our LDA left out": linear.loo().proba,
    }.items():
        found[name] = 1 - get_label_quality_scores(y, proba), find_label_issues(y, proba)
    return {
        name: (average_precision_score(planted, ranked), called.sum(), (called & planted).sum())
        for name, (ranked, called) in found.items()
    }


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    loaders = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "digits": load_digits}
    for data in (*loaders, "vehicle"):
        X, y = loaders[data](return_X_y=True) if data in loaders else read(Path(folder), data)
        X, y = X[:900], y[:900]
        rng, found, n_planted = np.random.default_rng(0), dict[str, list[Any]](), []
        for _ in range(5):
            planted = rng.random(len(y)) < 0.05
            labels = np.where(planted, (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1), y)
            n_planted.append(planted.sum())
            for name, numbers in scores(X, labels, planted).items():
                found.setdefault(name, []).append(numbers)
        for name, numbers in found.items():
            precision, called, right = np.mean(numbers, 0)
            head = f"| {data}, {np.mean(n_planted):.1f} planted | {name} |"
            print(f"{head} {precision:.2f} | {called:.1f} | {right:.1f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
