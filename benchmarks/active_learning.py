"""Which label to ask for next: ``python -m benchmarks.active_learning FOLDER``.

From two labels of each class, 25 are asked for among 120 rows, by chance, by entropy and by ``value_of_labels``.
The log score is that of 300 others, averaged over the way and six repetitions. FOLDER as for benchmarks.conformal.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import entropy
from sklearn.datasets import load_breast_cancer

import bayesppl as bp
from benchmarks.conformal import read

N_STEPS, N_REPEATS = 25, 6


def learn(X: Any, y: Any, way: str, seed: int) -> float:
    """Average log score along the way."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    pool, new = order[:120].tolist(), order[120:420]
    classes = np.unique(y)
    known = [row for k in classes for row in [i for i in pool if y[i] == k][:2]]
    pool, found = [i for i in pool if i not in known], []
    for _ in range(N_STEPS):
        clf = bp.GaussianNB(classes=classes.tolist()).fit(X[known], y[known])
        found.append(clf.predict_log_proba(X[new])[np.arange(len(new)), y[new]].mean())
        place = {
            "chance": lambda: int(rng.integers(len(pool))),
            "entropy": lambda clf=clf: int(entropy(clf.predict_proba(X[pool]), axis=1).argmax()),
            "value": lambda clf=clf: clf.value_of_labels(X[pool], most=60).best,
        }[way]()
        known.append(pool.pop(place))
    return float(np.mean(found))


def main(folder: str) -> None:
    warnings.simplefilter("ignore")
    for data in ("iris", "wine", "breast_cancer", "waveform", "segmentation"):
        if data == "breast_cancer":
            X, y = load_breast_cancer(return_X_y=True)
        else:
            X, y = read(Path(folder), data)
        ways = {
            way: [learn(X, y, way, seed) for seed in range(N_REPEATS)] for way in ("chance", "entropy", "value")
        }
        gains = np.subtract(ways["value"], ways["chance"])
        shown = " | ".join(f"{np.mean(scores):.2f}" for scores in ways.values())
        print(f"| {data} | {shown} | {gains.mean():+.2f} ± {gains.std(ddof=1) / N_REPEATS**0.5:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
