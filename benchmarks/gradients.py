"""Time a gradient by sufficient statistics and by rows: ``python -m benchmarks.gradients``.

NUTS spends its time on gradients of the log density. Both models have the same posterior, so that a draw takes as
many gradients in either.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
import numpy as np

import bayesppl as bp
from bayesppl.inference.pymc import native
from bayesppl.inference.pymc.model_density import Density, log_density

SIZES = tuple(10**power for power in range(3, 8))

HEAD = """Gaussian Naive Bayes, four columns in three classes: microseconds per gradient of the log posterior
density, both models compiled alike.

| rows | sufficient statistics | rows |
|---|---:|---:|
"""


@click.command()
@click.option("--most", default=1_000_000, show_default=True, help="Rows up to which the row-wise model is timed.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for gradients.md.")
def main(most: int, out: Path | None) -> None:
    """Time gradients for a thousand to ten million rows."""
    rng = np.random.default_rng(0)
    table = HEAD
    for n in SIZES:
        y = rng.integers(0, 3, size=n)
        clf = bp.GaussianNB().fit(rng.normal(size=(n, 4)) + y[:, None], y)
        by_rows = f"{microseconds(clf.to_pymc('rows')):,.0f}" if n <= most else ""
        row = f"| {n:,} | {microseconds(clf.to_pymc('statistics')):.1f} | {by_rows} |\n"
        click.echo(row, nl=False)
        table += row
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "gradients.md").write_text(table)


def microseconds(model: Any) -> float:
    """Median time of a gradient of the log density of a PyMC model."""
    return microseconds_of(log_density(model))


def microseconds_of(density: Density) -> float:
    """Median time of a gradient of a log density."""
    function, times = density.compiled(), []
    began = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - began < 1.0:
        start = time.perf_counter()
        native.call(function, density.centre, density.data)
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


if __name__ == "__main__":
    main()
