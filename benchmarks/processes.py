"""Time fits and predictions of files through dask on 1, 2 and 4 processes: ``python -m benchmarks.processes``.

The rows lie in files of 160 MB, which are read again in every run; the system keeps them in memory. The scheduler
has a process of its own.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster

import bayesppl as bp
from benchmarks.cases import real

ROWS, COLUMNS, PROCESSES = 1_000_000, 20, (1, 2, 4)


def works(X: Any, y: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what is timed."""
    for name, make in {"Gaussian diagonal": bp.GaussianNB, "QDA": bp.QuadraticDiscriminantAnalysis}.items():
        clf = make(classes=[0, 1, 2])
        yield f"{name}, fit", lambda clf=clf: clf.fit(X, y)
        yield f"{name}, mean of predict_proba", lambda clf=clf: clf.predict_proba(X).mean(axis=0).compute()


@click.command()
@click.option("--files", default=12, show_default=True, help="A million rows each.")
@click.option("--repeats", default=3, show_default=True)
def main(files: int, repeats: int) -> None:
    """Print a table of seconds and of times faster than one process."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        X, y = real(ROWS, COLUMNS, 3)
        for i in range(files):
            np.save(Path(folder, f"X{i}.npy"), X)
            np.save(Path(folder, f"y{i}.npy"), y)

        def of_files(name: str) -> Any:
            def load(block_id: tuple[int, ...] = (0,)) -> Any:
                return np.load(Path(folder, f"{name}{block_id[0]}.npy"))

            like = load()
            chunks = ((len(like),) * files, *((n,) for n in like.shape[1:]))
            return da.map_blocks(load, chunks=chunks, dtype=like.dtype, meta=like[:0])

        X, y = of_files("X"), of_files("y")
        for n in PROCESSES:
            with (
                LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster),
            ):
                for name, work in works(X, y):
                    work()  # which imports and compiles
                    start = time.perf_counter()
                    for _ in range(repeats):
                        work()
                    seconds.setdefault(name, []).append((time.perf_counter() - start) / repeats)
    click.echo(f"| {files}·10⁶×{COLUMNS} | " + " | ".join(f"{n} processes, s" for n in PROCESSES) + " |")
    click.echo("|---|" + "---:|" * len(PROCESSES))
    for name, found in seconds.items():
        click.echo(f"| {name} | " + " | ".join(f"{s:.2f} ({found[0] / s:.2f}×)" for s in found) + " |")


if __name__ == "__main__":
    main()
