"""Do intervals cover where most labels are missing? ``python -m benchmarks.unlabelled_coverage OUT.csv TABLES``.

So many simulated tables of 500 rows in two classes of frequencies .6 and .4, Gaussian in three independent
columns, with centres 1.5 standard deviations apart in two of them. Labels are lost at random. The share of 90 %
intervals that hold the true class frequencies and means, from the labelled rows alone, by EM, and by Gibbs
sampling.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import bayesppl as bp

N_ROWS, LEVEL, MISSING = 500, 0.9, (0.5, 0.9, 0.98)
FREQUENCIES = np.asarray([0.6, 0.4])
CENTRES = np.asarray([[0.0, 0.0, 0.0], [1.5, 0.0, 1.5]])
LEARN = {"unlabelled": "learn", "unlabelled_label": -1, "unlabelled_weight": 1.0}
METHODS = {
    "labelled rows alone": bp.GaussianNB(unlabelled="drop", unlabelled_label=-1),
    "EM": bp.GaussianNB(**LEARN, inference="em"),
    "Gibbs sampling": bp.GaussianNB(**LEARN, inference=bp.Gibbs(draws=800, tune=200, chains=1, random_state=0)),
}


def main(file: str, tables: str) -> None:
    """Simulate, append what is found of each table to the file, and print its summary."""
    warnings.simplefilter("ignore")
    out = Path(file)
    if not out.exists():
        out.write_text("missing,parameter,method,covered,width\n")
    for seed in range(int(tables)):
        rng = np.random.default_rng(seed)
        y = rng.choice(2, N_ROWS, p=FREQUENCIES)
        X = CENTRES[y] + rng.normal(size=(N_ROWS, 3))
        order = rng.permutation(N_ROWS)
        for missing in MISSING:
            told = np.where(order < missing * N_ROWS, -1, y)
            if len(np.unique(told)) < 3:  # a class without a label
                continue
            for name, clf in METHODS.items():
                draws = clf.fit(X, told).posterior_.draws(1, 800, rng)
                for parameter, truth in {"class_weights": FREQUENCIES, "mean": CENTRES}.items():
                    found = draws[parameter].reshape(-1, *truth.shape)
                    lower, upper = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
                    covered, width = ((lower <= truth) & (truth <= upper)).mean(), (upper - lower).mean()
                    with out.open("a") as file:
                        file.write(f"{missing},{parameter},{name},{covered},{width}\n")
    found = pd.read_csv(out).groupby(["missing", "parameter", "method"], sort=False)
    table = found.agg(covered=("covered", "mean"), error=("covered", "sem"), width=("width", "mean"))
    print(table.reset_index().to_markdown(index=False, floatfmt=".3f"))


if __name__ == "__main__":
    main(*sys.argv[1:])
