"""Dask arrays and data frames: statistics are taken where the partitions are, and added up in a tree.

One task per partition reads it once and returns a few numbers, so that the scheduler moves statistics, never rows.
A partition lost with its worker is computed again. Probabilities stay lazy, a block of rows at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayesppl.data.labels import encode_labels
from bayesppl.estimators.batches import adopt
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from bayesppl.estimators.learner import Learner

# statistics added up by one task
_FAN_IN = 8


def is_lazy(X: Any) -> bool:
    """Whether ``X`` is a dask array or data frame; whoever passes one has imported dask."""
    dask = sys.modules.get("dask")
    return dask is not None and not isinstance(X, np.ndarray) and dask.is_dask_collection(X) and _is_known(X)


def _is_known(X: Any) -> bool:
    return type(X).__module__.startswith("dask.")


def fit_lazy[T: "Learner"](clf: T, X: Any, y: Any, sample_weight: Any = None) -> T:
    """Fit on the partitions of ``X``; what a family learns from rows, it learns from the first partition.

    Parameters
    ----------
    X : dask array (n_rows, n_features) or dask data frame
    y, sample_weight : dask array or series with the partitions of ``X``, or an array in memory
    """
    import dask

    row_chunks = X.chunks[0] if _is_array(X) else None
    parts = [_parts(X, None), _parts(y, row_chunks)]
    if sample_weight is not None:
        parts.append(_parts(sample_weight, row_chunks))
    lengths = [len(part) for part in parts]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"X and y must have the same partitions, found {lengths}; repartition them alike, or take both from one frame"
        )
    classes = clf.classes
    if classes is None:
        found = [labels for labels in dask.compute(*map(dask.delayed(_labels), parts[1])) if len(labels)]
        classes = encode_labels(np.concatenate(found))[0].tolist() if found else ()
    learner = clone(clf).set_params(inference="conjugate")
    for first in zip(*parts, strict=True):
        started = dask.delayed(_start)(learner, classes, *first).compute()
        if started is not None:
            break
    else:
        raise ValueError("X has no rows; there is nothing to learn from")
    shared = dask.delayed(started)
    sums = [dask.delayed(_sum)(shared, *part) for part in zip(*parts, strict=True)]
    while len(sums) > 1:
        sums = [dask.delayed(_add)(sums[i : i + _FAN_IN]) for i in range(0, len(sums), _FAN_IN)]
    return adopt(clf, started, sums[0].compute())


def map_rows(function: Callable[[Any], Array], X: Any, n_columns: int | None, dtype: Any) -> Any:
    """``function`` of every block of rows, as a dask array: (n_rows,) or (n_rows, n_columns)."""
    import dask
    import dask.array as da

    width = () if n_columns is None else (n_columns,)
    lengths = X.chunks[0] if _is_array(X) else (np.nan,) * X.npartitions
    blocks = [
        da.from_delayed(dask.delayed(_apply)(function, part, width, dtype), shape=(length, *width), dtype=dtype)
        for part, length in zip(_parts(X, None), lengths, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _apply(function: Callable[[Any], Array], part: Any, width: tuple[int, ...], dtype: Any) -> Array:
    return function(part) if len(part) else np.empty((0, *width), dtype=dtype)


def _is_array(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array")


def _parts(values: Any, row_chunks: Sequence[int] | None) -> list[Any]:
    """Partitions of rows, as delayed objects."""
    import dask.array as da

    if not is_lazy(values):
        if row_chunks is None or np.isnan(row_chunks).any():
            raise TypeError(
                "X has partitions of unknown length, so that labels in memory cannot be divided among them; pass y as a "
                "dask series from the same frame"
            )
        values = da.from_array(np.asarray(values), chunks=(tuple(row_chunks),))
    if not _is_array(values):
        return list(values.to_delayed())
    if values.ndim == 2:
        values = values.rechunk({1: -1})
    elif row_chunks is not None and not np.isnan(row_chunks).any():
        values = values.rechunk((tuple(row_chunks),))
    return list(values.to_delayed().ravel())


def _labels(y: Any) -> Array:
    return encode_labels(y)[0] if len(y) else np.empty(0)


def _start(learner: Learner, classes: Any, X: Any, y: Any, weights: Any = None) -> Learner | None:
    """The estimator with the columns and classes of this partition, or None if it holds no rows."""
    return learner.partial_fit(X, y, classes=classes, sample_weight=weights) if len(y) else None


def _sum(learner: Learner, X: Any, y: Any, weights: Any = None) -> Any:
    if not len(y):
        return None
    return learner._among(learner.classes_).summed(learner._aligned(X), y, weights, n_jobs=learner.n_jobs)


def _add(sums: Sequence[Any]) -> Any:
    total = None
    for part in sums:
        if part is not None:
            total = part if total is None else add(total, part)
    return total
