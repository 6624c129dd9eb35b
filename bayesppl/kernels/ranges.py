"""Rows taken a range at a time: bounded memory, several threads, and the same bits whatever their number.

The ranges depend on the data alone, each is worked on by itself, and results are put together in order. Threads do
not copy the data; numpy, BLAS and compiled loops let each other run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from joblib import effective_n_jobs, parallel_config
from scipy.sparse import issparse

#: Cells of a range: its temporaries are a few times four megabytes.
RANGE_CELLS = 1 << 19

# Adding up statistics should cost little beside taking them: cells of a range for each number in the statistics.
_CELLS_PER_NUMBER = 16


class Extent(NamedTuple):
    """The number of rows, the cells of each, and the least rows to take at a time.

    Attributes
    ----------
    n_rows : int
    cells_per_row : int
        Memory of a row in units of eight bytes; of sparse rows, that of stored cells.
    least_rows : int
        More than one where columns are read one by one, so that fewer rows take as long.
    """

    n_rows: int
    cells_per_row: int
    least_rows: int = 1

    def ranges(self, least_cells: int = 1) -> list[slice]:
        """Divide the rows into ranges whose temporaries are bounded, where a row makes at least so many cells."""
        return row_ranges(self.n_rows, max(self.cells_per_row, least_cells), least_rows=self.least_rows)


def in_order[S, T](work: Callable[[S], T], ranges: Sequence[S], n_jobs: int | None) -> Iterator[T]:
    """Yield results of ``work`` on every range, or whatever else the work is divided into, in order.

    Parameters
    ----------
    n_jobs : int, optional
        See :func:`thread_count`.
    """
    n_threads = min(thread_count(n_jobs), len(ranges)) if len(ranges) > 1 else 1
    if n_threads <= 1:
        yield from map(work, ranges)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield from pool.map(work, ranges)


def thread_count(n_jobs: int | None) -> int:
    """Count threads as joblib does: None is one, -1 all cores, -2 all but one."""
    with parallel_config("threading"):
        return int(effective_n_jobs(n_jobs))


def row_ranges(
    n_rows: int, cells_per_row: int, cells: int = RANGE_CELLS, start: int = 0, *, least_rows: int = 1
) -> list[slice]:
    """Divide the rows from ``start`` on into ranges of about ``cells`` cells each."""
    blocks = row_blocks(n_rows - start, cells_per_row, max(cells, least_rows * cells_per_row))
    return [slice(start + rows.start, start + rows.stop) for rows in blocks]


def cells_per_row(X: Any) -> int:
    """Count the cells of an encoded row; of a sparse matrix, of stored ones."""
    return int(X.nnz // max(1, X.shape[0]) if issparse(X) else X.shape[1])


def sum_over_ranges(
    take: Callable[[slice], Any],
    extent: Extent,
    n_jobs: int | None = None,
) -> Any:
    """Sum statistics of all rows, where ``take`` gives those of a range.

    Where the statistics hold many numbers, such as covariance matrices of many columns, ranges are longer.
    """
    first, *others = extent.ranges() or [slice(0, 0)]
    total = take(first)
    if others:
        cells = max(2 * RANGE_CELLS, _CELLS_PER_NUMBER * total.n_numbers)
        n_rows, width, least_rows = extent
        further = row_ranges(n_rows, width, cells, first.stop, least_rows=2 * least_rows)
        total = reduce(add, in_order(take, further, n_jobs), total)
    return total


#: Cells of a block: half a megabyte of float64 stays in the second-level cache, temporaries of whole arrays do
#: not.
BLOCK_CELLS = 1 << 16


def row_blocks(n_rows: int, n_columns: int, cells: int = BLOCK_CELLS) -> Iterator[slice]:
    """Divide all rows into consecutive slices of about ``cells`` cells."""
    step = max(1, cells // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))
