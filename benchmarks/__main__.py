"""Command line of the benchmarks."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import scipy
import sklearn

import bayesppl
from benchmarks.cases import Problem, problems, target
from benchmarks.measure import compare, repeated, streaming_seconds
from benchmarks.report import markdown

Operation = tuple[str, Callable[[], Any], Callable[[], Any] | None]

#: Rules whose probabilities are compared; scikit-learn has one way to predict, which is timed against each.
RULES = ("mle", "mean", "predictive")


@click.command()
@click.option("--quick", is_flag=True, help="Ten times smaller data, fewer repeats; under a minute.")
@click.option("--only", default="", help="Only problems whose name contains this text.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for results.json and table.md.")
@click.option("--repeats", type=int, default=None, help="Runs of each side; 5 by default, 3 with --quick.")
@click.option("--numba", is_flag=True, help="Load numba first, as any process has that sampled with NUTS before.")
def main(quick: bool, only: str, out: Path | None, repeats: int | None, numba: bool) -> None:
    """Measure bayesppl beside scikit-learn."""
    if numba:
        import numba
    records = []
    for problem in problems(quick):
        if only.lower() in problem.name.lower():
            for record in measure(problem, repeats or (3 if quick else 5)):
                click.echo(
                    f"{record['problem']:45s} {record['operation']:28s} {record['milliseconds']:9.2f} ms  "
                    f"{record['ratio'] or float('nan'):7.1f}x  {record['peak_mb']:7.1f} MB"
                )
                records.append(record)
    versions = {module.__name__: module.__version__ for module in (bayesppl, sklearn, np, scipy)}
    setting = {"python": platform.python_version(), **versions, "quick": quick, "numba": numba}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.json").write_text(json.dumps({"setting": setting, "results": records}, indent=1) + "\n")
        (out / "table.md").write_text(markdown(setting, records))


def measure(problem: Problem, repeats: int) -> Iterator[dict[str, Any]]:
    """All operations on one problem, as records."""
    X, y = problem.make()
    n_bytes = X.data.nbytes + X.indices.nbytes if hasattr(X, "indptr") else X.nbytes
    read = streaming_seconds(X)
    for operation, ours, other in operations(problem, X, y):
        small = X.shape[0] < 1000
        calls = (repeated(ours), repeated(other)) if small and other is not None else (ours, other)
        found = compare(*calls, repeats)
        seconds = found.seconds
        if small:  # the number of repetitions differs between the two: time one call of each
            seconds, ratio = one_call(ours, other, repeats)
        else:
            ratio = found.ratio
        yield {
            "problem": problem.name,
            "operation": operation,
            "milliseconds": 1e3 * seconds,
            "ratio": ratio,
            "target": target(problem.name, operation),
            "peak_mb": found.peak_mb,
            "other_peak_mb": found.other_peak_mb,
            "gb_per_s": n_bytes / seconds / 1e9,
            "reads": seconds / read,
        }


def one_call(ours: Callable[[], Any], other: Callable[[], Any] | None, repeats: int) -> tuple[float, float | None]:
    """Seconds of one call, and the ratio, from many alternating calls of work that takes microseconds."""
    found = compare(ours, other, 60 * repeats)
    return found.seconds, found.ratio


def operations(problem: Problem, X: Any, y: np.ndarray) -> Iterator[Operation]:
    """What is timed: fit, then probabilities under every rule that exists for these data."""
    yield "fit", lambda: problem.ours().fit(X, y), lambda: problem.other().fit(X, y)
    ours, other = problem.ours().fit(X, y), problem.other().fit(X, y)
    for rule in RULES:
        yield (
            f"predict_proba, {rule}",
            lambda rule=rule: ours.predict_proba(X, rule=rule),
            lambda: other.predict_proba(X),
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    main()
