"""Fits on more rows than memory holds: batches of an iterable, files of a Parquet data set, partitions of dask.

Sufficient statistics are sums, so that only one batch is held at a time, and the posterior is that of all rows at
once. Of dask arrays and data frames the sums are taken where the partitions are, and added up in a tree: one task
per partition reads it once and returns a few numbers, so that the scheduler moves statistics, never rows. A
partition lost with its worker is computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from bayesppl.data.labels import label_set, labels_of_parts, warn_of_minus_one
from bayesppl.data.lazy import is_unnamed_index, labels_in, open_parquet, partitions, scan
from bayesppl.data.rows import NOTHING_COUNTS
from bayesppl.errors import RowError, rows_before
from bayesppl.estimators.declared import DeclaredClassifier, start, warn_of_first_batch
from bayesppl.estimators.reading import read_first, require_two_classes
from bayesppl.model.learned import Learned

# statistics added up by one task
_FAN_IN = 8


def fit_batches[T: DeclaredClassifier](
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
    TypeError
        If ``clf`` is no declared classifier.
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
    if not isinstance(clf, DeclaredClassifier):
        raise TypeError(
            f"clf must be one declared classifier, such as bayesppl.GaussianNB(), found a value of {type(clf)}: "
            "it learns from batches by sums of their rows, which others do not have"
        )
    declared = clf.classes if classes is None else classes
    learned, n_rows = None, 0
    for batch in rows_shown(batches, lambda batch: len(batch[1]), "rows", None) if progress else batches:
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            raise TypeError(f"batches must hold (X, y) or (X, y, sample_weight), found a value of {type(batch)}")
        X, y, weights = (*batch, None)[:3]
        with rows_before(n_rows):
            if learned is not None:
                learned = learned.plus(X, y, weights, n_jobs=clf.n_jobs)
            elif declared is None:
                raise ValueError("classes must be passed: later batches may hold labels that the first one lacks")
            elif learned := _start(clf, declared, X, y, weights):
                warn_of_first_batch(learned)
        n_rows += len(y)
    if learned is None:
        raise ValueError(NOTHING_COUNTS if n_rows else "batches is empty; give at least one (X, y)")
    fitted = clf._infer(learned)
    _ = fitted.posterior  # refused before anything changes, if it is improper
    return clf._adopt(fitted)


def fit_parquet[T: DeclaredClassifier](
    clf: T,
    path: str | Path | Sequence[str] | Any,
    target: str,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    progress: bool = False,
) -> T:
    """Fit an estimator on Parquet files; see :meth:`bayesppl.GenerativeClassifier.fit_parquet`."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, found {columns!r}; write [{columns!r}]")
    others = (target,) if sample_weight is None else (target, sample_weight)
    dataset = open_parquet(path, None if columns is None else {*others, *columns})
    read = [name for name in dataset.schema.names if name not in others and not is_unnamed_index(name)]
    names = read if columns is None else list(columns)
    twice = [name for name, count in Counter((*others, *names)).items() if count > 1]
    if twice:
        raise ValueError(
            f"{twice[0]!r} is named more than once among target, sample_weight and columns, which are those of "
            "the features; name it once"
        )
    absent = [name for name in (*others, *names) if name not in dataset.schema.names]
    if absent:
        raise ValueError(f"missing column {absent[0]!r}; the files have {dataset.schema.names}")
    classes = clf.classes
    if classes is None:
        classes = labels_in(dataset, target, clf.missing_labels)
        require_two_classes(classes)
        warn_of_minus_one(classes)
    tables = scan(dataset, [*names, *others])
    if progress:
        tables = rows_shown(tables, len, "rows", dataset.count_rows())
    weights = [] if sample_weight is None else [sample_weight]
    batches = ((table.select(names), *(table[name] for name in (target, *weights))) for table in tables)
    return fit_batches(clf, batches, classes)


def fit_lazy[T: DeclaredClassifier](clf: T, X: Any, y: Any, sample_weight: Any = None) -> T:
    """Fit on the partitions of ``X``; what a family learns from rows, it learns from the first partition.

    Parameters
    ----------
    X : dask array (n_rows, n_features) or dask data frame
    y, sample_weight : dask array or series with the partitions of ``X``, or an array in memory
    """
    import dask

    parts = partitions(X, y) if sample_weight is None else partitions(X, y, sample_weight)
    classes = clf.classes
    if classes is None:
        seen = [dask.delayed(label_set)(part[1], clf.missing_labels) for part in parts]
        with _rows_of_the_table(seen, parts):
            classes = labels_of_parts(dask.compute(*seen))
        require_two_classes(classes)
        warn_of_minus_one(classes)
    starts = (dask.delayed(_start)(clf, classes, *part).compute() for part in parts)
    learned = next((found for found in starts if found is not None), None)
    if learned is None:
        raise ValueError(NOTHING_COUNTS)
    warn_of_first_batch(learned)
    shared = dask.delayed(learned)
    sums = of_parts = [dask.delayed(_sum)(shared, clf.n_jobs, *part) for part in parts]
    while len(sums) > 1:
        sums = [dask.delayed(_add)(sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
    with _rows_of_the_table(of_parts, parts):
        total = sums[0].compute()
    fitted = clf._infer(replace(learned, statistics=total))
    _ = fitted.posterior  # refused before anything changes, if it is improper
    return clf._adopt(fitted)


@contextmanager
def _rows_of_the_table(tasks: Sequence[Any], parts: Sequence[tuple[Any, ...]]) -> Iterator[None]:
    """Name the row of the table where a task refuses one of its partition: one task after the other finds it."""
    import dask

    try:
        yield
    except RowError:
        before = 0
        for task, (_, y, *_) in zip(tasks, parts, strict=True):
            with rows_before(before):
                task.compute()
            before += dask.delayed(len)(y).compute()
        raise


def rows_shown[T](batches: Iterable[T], size: Callable[[T], int], words: str, total: int | None) -> Iterator[T]:
    """Yield batches one by one, and show on standard error how many rows have been worked on."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn(words), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(words, total=total)
        for batch in batches:
            yield batch
            bar.advance(task, size(batch))


def _start(clf: DeclaredClassifier, classes: Any, X: Any, y: Any, weights: Any = None) -> Learned | None:
    """Find out what the rows of this part teach; None if none of them counts, which leaves that to the next."""
    if not len(y):
        return None
    rows = read_first(X, y, weights, classes, clf.missing_labels)
    return start(clf, rows) if len(rows.counted()) else None


def _sum(learned: Learned, n_jobs: int | None, X: Any, y: Any, weights: Any = None) -> Any:
    """Sum the rows of a partition; None if it holds no rows."""
    return learned.summarise(X, y, weights, n_jobs=n_jobs) if len(y) else None


def _add(sums: Sequence[Any]) -> Any:
    found = [part for part in sums if part is not None]
    return reduce(add, found) if found else None
