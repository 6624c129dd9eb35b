"""Time of a draw against the number of rows: sufficient statistics and rows.

Run with: uv run python benchmarks/nuts_rows.py
"""

import time

import numpy as np

import bayesppl as bp
from bayesppl.inference import native
from bayesppl.inference.compiled import log_density

SIZES = (1_000, 10_000, 100_000)


def seconds_per_gradient(model):
    density = log_density(model)
    function, point = density.compiled(), density.centre
    native.call(function, point, density.data)
    repetitions, began = 0, time.perf_counter()
    while time.perf_counter() - began < 1.0:
        native.call(function, point, density.data)
        repetitions += 1
    return (time.perf_counter() - began) / repetitions


def main():
    rng = np.random.default_rng(0)
    print("rows      statistics       rows   (microseconds per gradient, Gaussian Naive Bayes, 4 columns)")
    for n in SIZES:
        y = rng.integers(0, 3, size=n)
        clf = bp.GaussianNB().fit(rng.normal(size=(n, 4)) + y[:, None], y)
        times = [seconds_per_gradient(clf.to_pymc(likelihood)) * 1e6 for likelihood in ("statistics", "rows")]
        print(f"{n:<9d} {times[0]:10.1f} {times[1]:10.1f}", flush=True)


if __name__ == "__main__":
    main()
