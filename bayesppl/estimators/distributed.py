"""Fits on dask arrays and data frames: sums are taken where the partitions are, and added up in a tree.

One task per partition reads it once and returns a few numbers, so that the scheduler moves statistics, never rows.
A partition lost with its worker is computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesppl.data.labels import encode_labels
from bayesppl.data.lazy import partitions
from bayesppl.errors import RowError, rows_before
from bayesppl.estimators.base import Base
from bayesppl.estimators.first_rows import read_first, start
from bayesppl.kernels.arrays import Array
from bayesppl.model.learned import Learned

# statistics added up by one task
_FAN_IN = 8


def fit_lazy[T: Base](clf: T, X: Any, y: Any, sample_weight: Any = None) -> T:
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
        seen = [dask.delayed(_labels)(part[1]) for part in parts]
        with _rows_of_the_table(seen, parts):
            found = [labels for labels in dask.compute(*seen) if len(labels)]
        classes = encode_labels(np.concatenate(found))[0].tolist() if found else ()
    learned = None
    for first in parts:
        learned = dask.delayed(_start)(clf, classes, *first).compute()
        if learned is not None:
            break
    if learned is None:
        raise ValueError("X has no rows; there is nothing to learn from")
    shared = dask.delayed(learned)
    sums = of_parts = [dask.delayed(_sum)(shared, clf.n_jobs, *part) for part in parts]
    while len(sums) > 1:
        sums = [dask.delayed(_add)(sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
    with _rows_of_the_table(of_parts, parts):
        total = sums[0].compute()
    fitted = clf.infer(replace(learned, statistics=total))
    _ = fitted.posterior  # refused before anything changes, if it is improper
    return clf.adopt(fitted)


@contextmanager
def _rows_of_the_table(tasks: Sequence[Any], parts: Sequence[tuple[Any, ...]]) -> Iterator[None]:
    """What a task refuses by the row of its partition, refused by the row of the table: one task after the other finds it."""
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


def _labels(y: Any) -> Array:
    return encode_labels(y)[0] if len(y) else np.empty(0)


def _start(clf: Base, classes: Any, X: Any, y: Any, weights: Any = None) -> Learned | None:
    """What the rows of this partition teach, or None if it holds none."""
    return start(clf, read_first(X, y, weights, classes)) if len(y) else None


def _sum(learned: Learned, n_jobs: int | None, X: Any, y: Any, weights: Any = None) -> Any:
    """Statistics of a partition, None if it holds no rows."""
    return learned.summarise(X, y, weights, n_jobs=n_jobs) if len(y) else None


def _add(sums: Sequence[Any]) -> Any:
    found = [part for part in sums if part is not None]
    return reduce(add, found) if found else None
