"""Sums over columns of what a table holds for each level, or for each bit.

Neighbouring columns are looked up together, in a table of all combinations of their levels, as long as it stays
small. Of bits, that are eight columns at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from scipy.sparse import csr_array

from bayesppl.kernels.class_sums import one_in_each, sparse_of
from bayesppl.kernels.ranges import row_blocks

# combinations of levels that are looked up together: their tables stay in the first-level cache
_COMBINED = 1 << 10

# rows looked up in one step, long enough to be worth its call
_ROWS = 1 << 13

# from here on a product with a matrix of the outcomes beats one look-up after the other
_MANY_TABLES = 12

# combinations of eight bits, and groups of eight columns in a block of rows: their places take up to a megabyte
_BYTES, _BLOCK_GROUPS = 256, 1 << 18


def level_sums(tables: np.ndarray, sizes: Sequence[int]) -> Callable[[np.ndarray], np.ndarray]:
    """Sum, over columns, the entry of a table at the level of the row, as a function of the codes of levels.

    Parameters
    ----------
    tables : (n_tables, n_cells)
        The levels of all columns, one column after the other.
    sizes : (n_columns,)
        Number of levels.

    Returns
    -------
    function of (n_rows, n_columns) codes to (n_tables, n_rows) sums
        A code of -1 is a missing cell and adds nothing.
    """
    starts = np.cumsum((0, *sizes))
    padded = np.insert(tables, starts[:-1], 0.0, axis=1)  # the level of missing cells comes first
    widths = np.add(sizes, 1).astype(np.intp)
    if len(tables) >= _MANY_TABLES and np.isfinite(tables).all():
        return lambda codes: _by_product(padded, widths, codes)
    by_column = np.split(padded, np.cumsum(widths)[:-1], axis=1)
    combined = [(columns, _combine([by_column[j] for j in columns])) for columns in _neighbours(widths)]
    return lambda codes: _look_up(combined, widths, len(tables), codes)


def _neighbours(widths: np.ndarray) -> Iterator[range]:
    """Yield runs of columns with few combinations of levels."""
    first, combinations = 0, 1
    for j, width in enumerate(widths.tolist()):
        if combinations * width > _COMBINED and j > first:
            yield range(first, j)
            first, combinations = j, 1
        combinations *= width
    if first < len(widths):
        yield range(first, len(widths))


def _combine(tables: list[np.ndarray]) -> np.ndarray:
    """Sum the entries of several columns for all combinations of their levels, the last varying fastest."""
    total = tables[0]
    for table in tables[1:]:
        total = (total[:, :, None] + table[:, None, :]).reshape(len(table), -1)
    return np.ascontiguousarray(total)


def _look_up(
    combined: list[tuple[range, np.ndarray]], widths: np.ndarray, n_tables: int, codes: np.ndarray
) -> np.ndarray:
    out = np.zeros((n_tables, len(codes)))
    places, terms = np.empty(_ROWS, dtype=np.intp), np.empty(_ROWS)
    for rows in row_blocks(len(codes), 1, _ROWS):
        block, sums = codes[rows].T, out[:, rows]
        at, term = places[: block.shape[1]], terms[: block.shape[1]]
        for columns, tables in combined:
            np.add(block[columns[0]], 1, out=at, dtype=np.intp)
            for j in columns[1:]:
                at *= widths[j]
                at += 1
                np.add(at, block[j], out=at)
            for table, total in zip(tables, sums, strict=True):
                total += table.take(at, out=term, mode="clip")  # all are within; other modes copy first
    return out


def _by_product(padded: np.ndarray, widths: np.ndarray, codes: np.ndarray) -> np.ndarray:
    edges = np.concatenate([[0], np.cumsum(widths)])
    out = np.empty((len(padded), len(codes)))
    for rows in row_blocks(*codes.shape):
        out[:, rows] = sums_at(np.add(codes[rows], edges[:-1] + 1, dtype=np.int32), padded.T).T
    return out


def sums_at(places: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Sum, over columns, the entries (or rows) of a table at these places, as one sparse product.

    Parameters
    ----------
    places : (n_rows, n_columns) of 32-bit integers
    table : (n_places,) or (n_places, n_tables)

    Returns
    -------
    (n_rows,) or (n_rows, n_tables)
    """
    starts, ones = one_in_each(*places.shape)
    return np.asarray(sparse_of(csr_array, ones, places.ravel(), starts, (len(places), len(table))) @ table)


def bit_sums(weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Compute Σ_j x_ij weights_j for rows of bytes that are 0 or 1, as a function of the rows.

    Parameters
    ----------
    weights : (n_columns,)

    Returns
    -------
    function of (n_rows, n_columns) to (n_rows,)
    """
    n_groups = -(-len(weights) // 8)

    @cache  # not before there are rows
    def table() -> np.ndarray:
        padded = np.zeros(8 * n_groups)
        padded[: len(weights)] = weights
        bits = np.unpackbits(np.arange(_BYTES, dtype=np.uint8)[:, None], axis=1)
        return (padded.reshape(n_groups, 8) @ bits.T).ravel()

    def sums(X: np.ndarray) -> np.ndarray:
        out = np.empty(len(X))
        step = min(len(X), max(1, _BLOCK_GROUPS // max(1, n_groups)))
        groups = np.arange(0, len(table()), _BYTES, dtype=np.int32)
        places = np.empty((step, n_groups), dtype=np.int32)
        for rows in row_blocks(len(X), 1, step):
            found = places[: rows.stop - rows.start]
            np.add(np.packbits(X[rows], axis=1), groups, out=found)
            out[rows] = sums_at(found, table())
        return out

    return sums
