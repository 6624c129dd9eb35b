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
from threadpoolctl import threadpool_limits

import bayesppl
from bayesppl.kernels import numba_loops
from benchmarks.cases import Problem, problems, reason, target
from benchmarks.extras import Extra, extras
from benchmarks.first_use import first_use
from benchmarks.measure import Comparison, compare, repeated, streaming_seconds
from benchmarks.peers import peers
from benchmarks.report import first_table, peers_table, steady_table

Operation = tuple[str, Callable[[], Any], Callable[[], Any] | None]

#: Rules whose probabilities are compared; scikit-learn has one way to predict, which is timed against each.
RULES = ("mle", "mean", "predictive")


@click.command()
@click.option("--quick", is_flag=True, help="Ten times smaller data, fewer repeats; under a minute.")
@click.option("--only", default="", help="Only problems whose name contains this text; no peers.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder for results.json and tables.")
@click.option("--repeats", type=int, default=None, help="Runs of each side; 5 by default, 3 with --quick.")
@click.option(
    "--no-numba", is_flag=True, help="numpy kernels only, as in a process that has not yet done much work."
)
def main(quick: bool, only: str, out: Path | None, repeats: int | None, no_numba: bool) -> None:
    """Measure bayesppl beside scikit-learn, each on one thread: first use in a process, then the steady state."""
    # Steady state: a process that has worked through PRICE cells before has its compiled loops, and so has this
    # one.
    numba_loops.PRICE = numba_loops.PRICE_IF_LOADED = 1 << 62 if no_numba else 0
    repeats = repeats or (3 if quick else 5)
    chosen = [problem for problem in problems(quick) if only.lower() in problem.name.lower()]
    first = []
    for problem in chosen:
        if not quick or problem.name.startswith("iris"):
            first += first_use(problem, 1 if quick else repeats)
            for record in first[-3:]:
                _show(record["problem"], f"first {record['operation']}", record["milliseconds"], record["ratio"])
    records, beside = [], []
    with threadpool_limits(1):
        for record in all_records(quick, chosen, only.lower(), repeats):
            _show(record["problem"], record["operation"], record["milliseconds"], record["ratio"])
            records.append(record)
        for found in () if only else peers(quick, repeats):
            if isinstance(found, str):
                click.echo(found)
            else:
                _show(*found[:3], found[3] / found[2])
                beside.append(found)
    versions = {module.__name__: module.__version__ for module in (bayesppl, sklearn, np, scipy)}
    setting = {"python": platform.python_version(), **versions, "quick": quick, "numba": not no_numba}
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        results = {"setting": setting, "results": records, "first_use": first, "peers": beside}
        (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
        (out / "first_use.md").write_text(first_table(first))
        (out / "steady.md").write_text(steady_table(setting, records))
        (out / "peers.md").write_text(peers_table(beside))


def _show(problem: str, operation: str, milliseconds: float, ratio: float | None) -> None:
    shown = "" if ratio is None else f"{ratio:7.1f}x"
    click.echo(f"{problem:45s} {operation:34s} {milliseconds:9.2f} ms  {shown}")


def all_records(quick: bool, chosen: list[Problem], only: str, repeats: int) -> Iterator[dict[str, Any]]:
    """The steady state of the chosen problems, and further work on those whose name contains ``only``."""
    for problem in chosen:
        yield from measure(problem, repeats)
    for extra in extras(quick):
        if only in extra.problem.lower():
            yield measure_extra(extra, repeats)


def measure(problem: Problem, repeats: int) -> Iterator[dict[str, Any]]:
    """All operations on one problem, as records."""
    X, y = problem.make()
    read = streaming_seconds(X)
    for operation, ours, other in operations(problem, X, y):
        small = X.shape[0] < 1000
        calls = (repeated(ours), repeated(other)) if small and other is not None else (ours, other)
        found = compare(*calls, repeats)
        if small:  # the number of repetitions differs between the two: time one call of each
            once = compare(ours, other, 60 * repeats)
            found = found._replace(seconds=once.seconds, other_seconds=once.other_seconds)
        aim = target(problem.name, operation)
        yield record(problem.name, operation, "scikit-learn", found, aim) | {"reads": found.seconds / read}


def measure_extra(extra: Extra, repeats: int) -> dict[str, Any]:
    """One row of further work, as a record."""
    return record(extra.problem, extra.operation, extra.beside, compare(*extra.prepare(), repeats), None)


def record(problem: str, operation: str, beside: str, found: Comparison, aim: float | None) -> dict[str, Any]:
    return {
        "problem": problem,
        "operation": operation,
        "beside": beside,
        "milliseconds": 1e3 * found.seconds,
        "ratio": found.ratio,
        "why": reason(problem, operation),
        "target": aim,
        "peak_mb": found.peak_mb,
        "other_peak_mb": found.other_peak_mb,
        "reads": None,
    }


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
