"""Whole numbers as levels of categories: which occur, where they stand among the levels, how often they occur.

Codes of levels are small signed integers, -1 where the cell is missing. The cells of a table of outcomes are the
levels of all columns, one column after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.class_sums import owned_rows
from bayesppl.kernels.numba_loops import count_codes as engine
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

#: Whole numbers that lie further apart than this are hashed rather than counted.
WIDEST = 1 << 16

# columns that a reduction over rows should at least have
_WIDE = 512


def smallest_type(largest: int) -> np.dtype:
    """Return the smallest type that holds the codes of so many levels, and -1."""
    return np.min_scalar_type(-largest - 1)


def distinct_integers(X: np.ndarray) -> list[np.ndarray] | None:
    """Find distinct values of every column, ascending; None where they lie too far apart to be counted.

    Parameters
    ----------
    X : (n_rows, n_columns) of integers, at least one row
    """
    low, high = extremes(X)
    start, stop = int(low.min()), int(high.max()) + 1
    if stop - start > WIDEST or stop > np.iinfo(np.int64).max:
        return None
    occurs = np.zeros((stop - start, X.shape[1]), dtype=bool)
    n_between = high.astype(np.int64) - low.astype(np.int64) + 1
    columns = np.arange(X.shape[1])
    for rows in row_blocks(*X.shape):
        cells = np.subtract(X[rows], start, dtype=np.int64, casting="unsafe")
        cells *= X.shape[1]
        cells += columns
        occurs.ravel()[cells] = True
        if (occurs.sum(0) == n_between).all():  # the other rows hold nothing else
            break
    return [np.flatnonzero(column) + start for column in occurs.T]


def extremes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find least and greatest value of every column; short rows lie side by side, so that each step is long."""
    n_rows, n_columns = X.shape
    abreast = max(1, _WIDE // max(1, n_columns))
    deep = n_rows // abreast
    if deep < 2 or not X.flags.c_contiguous:
        return X.min(0), X.max(0)
    body, rest = X[: deep * abreast].reshape(deep, -1), X[deep * abreast :]
    low, high = body.min(0).reshape(abreast, -1).min(0), body.max(0).reshape(abreast, -1).max(0)
    return (np.minimum(low, rest.min(0)), np.maximum(high, rest.max(0))) if len(rest) else (low, high)


class Places(NamedTuple):
    """Where the whole numbers of every column stand among its levels.

    Attributes
    ----------
    low, high : (n_columns,)
        Least and greatest level; a column without any has ``high < low``.
    codes : (total,)
        For every column the codes of low - 1, low, ..., high + 1; those outside are what an unknown number gets.
    starts : (n_columns,)
        Where each column begins among ``codes``.
    regular : bool
        Whether the code of every number from low to high is its distance from low.
    """

    low: np.ndarray
    high: np.ndarray
    codes: np.ndarray
    starts: np.ndarray
    regular: bool

    @classmethod
    def of(cls, levels: Sequence[Sequence[int]], unknown: Sequence[int]) -> Places | None:
        """Find the places of the levels of every column, or None where they lie too far apart for a table."""
        low = [min(column, default=0) for column in levels]
        high = [max(column, default=-1) for column in levels]
        spans = [b - a + 3 for a, b in zip(low, high, strict=True)]
        if max(spans, default=0) > WIDEST or sum(spans) > 16 * WIDEST or max(map(abs, low), default=0) > 1 << 62:
            return None
        codes = np.repeat(np.asarray(unknown, dtype=np.int64), spans)
        starts = np.concatenate([[0], np.cumsum(spans)[:-1]])
        for column, first, start in zip(levels, low, starts, strict=True):
            codes[start + 1 + np.asarray(column, dtype=np.int64) - first] = np.arange(len(column))
        regular = all(
            list(column) == list(range(a, a + len(column))) for column, a in zip(levels, low, strict=True)
        )
        return cls(np.asarray(low), np.asarray(high), codes, starts, regular)

    def look_up(self, X: np.ndarray, out: np.ndarray) -> bool:
        """Write the codes of (n_rows, n_columns) numbers; return False where one is too large to be looked up."""
        if X.dtype == np.uint64 and X.max(initial=0) > np.iinfo(np.int64).max:
            return False
        for rows in row_blocks(*X.shape):
            block = X[rows].astype(np.int64, copy=False)
            if self.regular:
                low, high = extremes(block)
                if (low >= self.low).all() and (high <= self.high).all():
                    np.subtract(block, self.low, out=out[rows], casting="unsafe")
                    continue
            at = np.clip(block, self.low - 1, self.high + 1)
            at += self.starts - self.low + 1
            out[rows] = self.codes[at]
        return True


def outcome_counts(responsibilities: csr_array, codes: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Count the rows of every class at every level, weighted.

    Parameters
    ----------
    responsibilities : (n_rows, n_classes)
    codes : (n_rows, n_columns)
        -1 where missing: such cells are counted nowhere.
    sizes : (n_columns,)
        Number of levels.

    Returns
    -------
    (n_classes, n_cells)
    """
    n_classes = responsibilities.shape[1]
    codes, owners, weights = owned_rows(codes, responsibilities)
    unit = bool((weights == 1).all())
    edges = np.cumsum((0, *np.add(sizes, 1)))  # every column has one cell more in front, for missing values
    width = int(edges[-1])
    compiled = engine.loop(codes.size) if unit else None
    if compiled is not None:
        counted = np.zeros((n_classes, width), dtype=np.int64)
        compiled(codes, owners, edges, counted)
        return np.delete(counted.astype(np.float64), edges[:-1], axis=1)
    totals = np.zeros(n_classes * width)
    for rows in row_blocks(len(codes), codes.shape[1], max(BLOCK_CELLS, totals.size)):
        cells = np.add(codes[rows], edges[:-1] + 1, dtype=np.intp)
        cells += (owners[rows].astype(np.intp) * width)[:, None]
        of_cells = None if unit else np.repeat(weights[rows], codes.shape[1])
        totals += np.bincount(cells.ravel(), of_cells, totals.size)
    return np.delete(totals.reshape(n_classes, width), edges[:-1], axis=1)
