"""Cells that are missing, NaN, and those that are present."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bayesppl.kernels.arrays import Array, Responsibilities, dense
from bayesppl.kernels.class_sums import class_sums


def observed_mask(X: Any) -> Array | None:
    """Mark the cells that are present, or return None when all are (as in every sparse matrix)."""
    if issparse(X) or X.dtype.kind != "f":
        return None
    if not np.isnan(total(X)):
        return None
    mask = ~np.isnan(X)
    return None if mask.all() else mask


def split_missing(X: Any) -> tuple[Any, Array | None]:
    """Return rows with zeros for missing cells, and where cells are present (None when all are)."""
    present = observed_mask(X)
    return (X, None) if present is None else (np.where(present, X, 0.0), present)


def refuse_gaps(X: Any, columns: Sequence[Hashable], reason: str) -> None:
    """Refuse to fit rows with missing cells, by the names of the columns that have any."""
    present = observed_mask(X)
    if present is not None:
        raise ValueError(describe_gaps(~present, columns, reason))


def describe_gaps(missing: Array, columns: Sequence[Hashable], reason: str) -> str:
    """Say which columns have missing cells, in how many of the rows, and why they cannot be fitted."""
    names = ", ".join(repr(name) for name, gap in zip(columns, missing.T, strict=True) if gap.any())
    count = f"{missing.any(1).sum()} of {len(missing)} rows"
    return f"NaN: missing values in column {names} ({count}); {reason} (Missing cells are fine when predicting.)"


def by_gaps(missing: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the places of rows that lack the same columns, and these columns; complete rows are left out.

    Parameters
    ----------
    missing : (n_rows, n_columns) of bool
    """
    incomplete = np.flatnonzero(missing.any(1))
    patterns, group = np.unique(missing[incomplete], axis=0, return_inverse=True)
    for g, pattern in enumerate(patterns):
        yield incomplete[group.ravel() == g], np.flatnonzero(pattern)


def only_columns(X: Any, columns: Sequence[int]) -> Array:
    """Return rows of numbers all of whose cells are missing but those of some columns."""
    out = np.full(X.shape, np.nan)
    out[:, columns] = dense(X[:, columns])
    return out


def present_cells(X: Array, codes: Array, prefix: str) -> tuple[Any, Any, tuple[str, ...] | None]:
    """Return what a PyMC model observes: all rows, or a flat list of the cells that are present.

    Returns
    -------
    index
        Of the parameters (class, feature) of what is observed.
    at
        Index of what is observed in ``X``, and in other arrays of its shape.
    dims
        Names of the dimensions of what is observed; None for a flat list.
    """
    present = observed_mask(X)
    if present is None:
        return (codes,), ..., ("row", f"{prefix}feature")
    rows, columns = np.nonzero(present)
    return (codes[rows], columns), present, None


def observed_weight(responsibilities: Responsibilities, X: Any, present: Array | None) -> Array:
    """Sum the weights of the present cells of every class and column: (n_classes, n_columns)."""
    if present is not None:
        return class_sums(responsibilities, present)
    totals = np.asarray(responsibilities.sum(axis=0), dtype=np.float64)
    return np.repeat(totals[:, None], X.shape[1], axis=1)


def total(values: Array) -> Any:
    """Sum all cells: infinite or NaN if one of them is, and cheaper than looking at each."""
    with np.errstate(over="ignore", invalid="ignore"):
        return values.sum()
