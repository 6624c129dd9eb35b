"""Time work on two threads beside one: ``python -m benchmarks.threads``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import numpy as np
from threadpoolctl import threadpool_limits

import bayesppl as bp
from bayesppl.kernels import numba_loops
from benchmarks.cases import real
from benchmarks.measure import Call

N_ROWS = 400_000


def works(n_rows: int) -> Iterator[tuple[str, Callable[[int], Call]]]:
    """Yield what is timed, as functions of the number of threads."""
    X, y = real(n_rows, 20, 3)
    for name, make in {
        "Gaussian diagonal": bp.GaussianNB,
        "QDA": bp.QuadraticDiscriminantAnalysis,
        "LDA": bp.LinearDiscriminantAnalysis,
    }.items():
        yield f"{name}, fit", lambda n, make=make: partial(make(n_jobs=n).fit, X, y)
        yield f"{name}, predict_proba", lambda n, make=make: partial(make(n_jobs=n).fit(X, y).predict_proba, X)
        yield f"{name}, loo", lambda n, make=make: make(n_jobs=n).fit(X, y).loo
    few = X[: n_rows // 100]

    def interval(n: int) -> Call:
        return partial(bp.GaussianNB(n_jobs=n).fit(X, y).predict_proba_interval, few, random_state=0)

    def gibbs(n: int) -> Call:
        inference = bp.Gibbs(chains=1, draws=10, tune=2, random_state=0)
        clf = bp.QuadraticDiscriminantAnalysis(n_jobs=n, unlabelled="learn", inference=inference)
        return partial(clf.fit, X[::4], np.where(np.arange(n_rows) % 8, np.nan, y)[::4])

    yield "Gaussian diagonal, intervals of 1,000 draws for each hundredth row", interval
    yield (
        "QDA, choosing the weight of rows without a label, and 12 sweeps of Gibbs sampling over each fourth row",
        gibbs,
    )


def ratio(make: Callable[[int], Call], repeats: int) -> tuple[float, float]:
    """Seconds of the wall clock on one thread, and how many times faster two are: sums of runs in turn."""
    calls = [make(1), make(2)]
    seconds = np.zeros(2)
    for run in range(repeats + 1):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            seconds[i] += (time.perf_counter() - start) * (run > 0)  # the first is for warming up
    return seconds[0] / repeats, seconds[0] / seconds[1]


@click.command()
@click.option("--rows", default=N_ROWS, show_default=True)
@click.option("--repeats", default=10, show_default=True)
@click.option("--only", default="", help="Only work whose name contains this text.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for threads.md.")
def main(rows: int, repeats: int, only: str, out: Path | None) -> None:
    """Print seconds of the wall clock: idle cores are needed."""
    table = "| work | one thread, ms | two threads, times faster |\n|---|---:|---:|\n"
    numba_loops.PRICE = numba_loops.PRICE_IF_LOADED = 0  # as in a process that has done much work
    with threadpool_limits(1):
        for name, make in works(rows):
            if only.lower() in name.lower():
                seconds, faster = ratio(make, repeats)
                table += f"| {name} | {1e3 * seconds:.0f} | {faster:.2f} |\n"
                click.echo(table.splitlines()[-1])
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "threads.md").write_text(table)


if __name__ == "__main__":
    main()
