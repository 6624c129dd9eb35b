"""Fits on more rows than memory holds: batches of an iterable, or the files of a Parquet data set.

Sufficient statistics are sums, so that only one batch is held at a time, and the posterior is that of all rows at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayesppl.data.parquet import labels_of, open_parquet, scan
from bayesppl.errors import rows_before
from bayesppl.estimators.base import Base
from bayesppl.estimators.first_rows import read_first, start


def fit_batches[T: Base](
    clf: T, batches: Iterable[Sequence[Any]], classes: Sequence[Hashable] | None = None, progress: bool = False
) -> T:
    """Fit an estimator on rows that come in batches; what it had learned before is dropped.

    Parameters
    ----------
    clf : estimator
        Fitted in place, once all batches have been read; an error in one of them leaves it as it was.
    batches : iterable of (X, y) or (X, y, sample_weight)
        As ``fit`` takes them. Each is read once, in turn, and not kept.
    classes : sequence, optional
        All labels that can occur; required unless the estimator was constructed with ``classes``.
    progress : bool
        Show how many rows have been read.

    Returns
    -------
    clf

    Raises
    ------
    ValueError
        If there is no batch, or for a batch that ``fit`` would refuse.

    Examples
    --------
    >>> import bayesppl as bp
    >>> batches = (([[x], [x + 4.0]], ["a", "b"]) for x in (0.0, 1.0, 1.5))
    >>> clf = bp.fit_batches(bp.GaussianNB(), batches, classes=["a", "b"])
    >>> clf.class_count_.tolist()
    [3.0, 3.0]
    """
    declared = clf.classes if classes is None else classes
    learned, n_rows = None, 0
    with _progress(progress, None) as advance:
        for X, y, *rest in batches:
            weights = rest[0] if rest else None
            with rows_before(n_rows):
                if learned is not None:
                    learned = learned.plus(X, y, weights, n_jobs=clf.n_jobs)
                elif declared is None:
                    raise ValueError(
                        "classes must be passed: later batches may hold labels that the first one lacks"
                    )
                else:
                    learned = start(clf, read_first(X, y, weights, declared))
            n_rows += len(y)
            advance(len(y))
    if learned is None:
        raise ValueError("batches is empty; give at least one (X, y)")
    fitted = clf.infer(learned)
    _ = fitted.posterior  # refused before anything changes, if it is improper
    return clf.adopt(fitted)


def fit_parquet[T: Base](
    clf: T,
    path: str | Path | Sequence[str] | Any,
    target: str,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    progress: bool = False,
) -> T:
    """Fit an estimator on Parquet files; see :meth:`bayesppl.GenerativeClassifier.fit_parquet`."""
    dataset = open_parquet(path)
    others = (target,) if sample_weight is None else (target, sample_weight)
    names = [name for name in dataset.schema.names if name not in others] if columns is None else list(columns)
    absent = [name for name in (*others, *names) if name not in dataset.schema.names]
    if absent:
        raise ValueError(f"missing column {absent[0]!r}; the files have {dataset.schema.names}")
    classes = labels_of(dataset, target) if clf.classes is None else clf.classes
    n_rows = dataset.count_rows() if progress else None

    def batches() -> Iterator[tuple[Any, ...]]:
        with _progress(progress, n_rows) as advance:
            for batch in scan(dataset, [*names, *others]):
                weights = () if sample_weight is None else (batch[sample_weight].to_numpy(),)
                yield (batch.select(names), batch[target], *weights)
                advance(len(batch))

    return fit_batches(clf, batches(), classes)


@contextmanager
def _progress(show: bool, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that adds to a count of rows, shown on the terminal if wanted."""
    if not show:
        yield lambda n_rows: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda n_rows: bar.advance(task, n_rows)
