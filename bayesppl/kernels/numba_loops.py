"""Loops compiled by numba, each the bit-by-bit double of a numpy kernel.

Loading numba and the first call cost about two seconds, as much as numpy needs for a billion cells. So the numpy
kernels keep count of their work, and hand over once a process has done that much: at worst, the time doubles.
Since both give the same bits, results do not depend on which of them ran.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

#: Cells after which loading numba has paid, and the part of it that is left to pay where numba is loaded already.
PRICE, PRICE_IF_LOADED = 1_000_000_000, 500_000_000

# rows of a tile: its columns and the products stay in the first-level cache, and fill vector registers
_TILE = 64


class Engine:
    """A loop that numba compiles once this process has done so much of this work that loading numba pays.

    Parameters
    ----------
    function : callable
        The loop, in the part of Python that numba compiles.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._loop: Callable[..., Any] | None = None
        self._done = 0

    def loop(self, work: int) -> Callable[..., Any] | None:
        """Count this work, and return the compiled loop if it has paid by now, else None."""
        if self._loop is None:
            self._done += work
            if self._done >= (PRICE_IF_LOADED if "numba" in sys.modules else PRICE):
                self._loop = compile_loop(self._function)
        return self._loop


def compile_loop(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return ``function`` as a loop that is compiled when called first, and kept on disk where possible.

    Without numba there is none, and the numpy kernels do all the work.
    """
    try:
        import numba
    except ImportError:  # left out of a small installation
        return None
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder to write to
        return numba.njit(nogil=True)(function)


@Engine
def log_products(
    X: np.ndarray,
    location: np.ndarray,
    inverse: np.ndarray,
    owners: np.ndarray,
    own_location: np.ndarray,
    own_factors: np.ndarray,
    first: int,
    last: int,
    out: np.ndarray,
) -> None:
    """Compute u = Π (1 + t) − 1 by u ← u + t + u·t over some columns, t less that of the owner of the row."""
    n_columns, n_owners = last - first, len(own_location)
    columns, taken = np.empty((n_columns, _TILE)), np.zeros((n_columns, _TILE))
    u = np.empty(_TILE)
    # flat, and at places that cannot be negative: else every access would check whether they count from the end
    values, centres, factors = X.ravel(), own_location.ravel(), own_factors.ravel()
    n_features, begin, some = np.uint64(X.shape[1]), np.uint64(first), np.uint64(n_columns)
    for start in range(0, len(X), _TILE):
        width = min(_TILE, len(X) - start)
        for i in range(width):
            row = np.uint64(start + i) * n_features + begin
            for d in range(some):
                columns[d, i] = values[row + d]
        if n_owners:
            for i in range(width):
                row = np.uint64(start + i) * n_features + begin
                own = np.uint64(owners[start + i]) * n_features + begin
                for d in range(some):
                    t = values[row + d] - centres[own + d]
                    t *= t
                    taken[d, i] = t * factors[own + d]
        for k in range(len(location)):
            for i in range(_TILE):
                u[i] = 0.0
            for d in range(n_columns):
                centre, factor = location[k, first + d], inverse[k, first + d]
                for i in range(_TILE):
                    t = (columns[d, i] - centre) * factor
                    t *= t
                    if n_owners:
                        t -= taken[d, i]
                    ut = u[i] * t
                    u[i] = (u[i] + t) + ut
            for i in range(width):
                out[k, start + i] = u[i]


@Engine
def lane_sums(X: np.ndarray, owners: np.ndarray, pivot: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
    """Add deviations from the pivot of the row's class, and their squares, to the lanes of the class in turn."""
    n_classes, n_lanes, n_features = first.shape
    lane = np.zeros(n_classes, np.int64)
    z = np.empty(n_features)
    # flat, and at places that cannot be negative: else every access would check whether they count from the end
    values, centres, sums, squares = X.ravel(), pivot.ravel(), first.ravel(), second.ravel()
    width: Any = np.uint64(n_features)
    for i in range(len(X)):
        k = owners[i]
        turn = lane[k]
        lane[k] = turn + 1 if turn + 1 < n_lanes else 0
        row, own, at = np.uint64(i) * width, np.uint64(k) * width, np.uint64(k * n_lanes + turn) * width
        # three loops: in one, the compiler would not work on several columns at once
        for d in range(width):
            z[d] = values[row + d] - centres[own + d]
        for d in range(width):
            sums[at + d] += z[d]
        for d in range(width):
            squares[at + d] += z[d] * z[d]


@Engine
def count_codes(codes: np.ndarray, owners: np.ndarray, edges: np.ndarray, counts: np.ndarray) -> None:
    """Add one to the cell of every code, -1 included, which comes first in its column."""
    n_rows, n_columns = codes.shape
    # flat, and at places that cannot be negative: else every access would check whether they count from the end
    cells, levels = counts.ravel(), codes.ravel()
    zero = edges[:-1] + 1
    width: Any = np.uint64(n_columns)
    for i in range(n_rows):
        own, row = owners[i] * counts.shape[1], np.uint64(i) * width
        for j in range(width):
            cells[np.uint64(own + zero[j] + levels[row + j])] += 1


@Engine
def count_entries(
    counts: np.ndarray,
    columns: np.ndarray,
    starts: np.ndarray,
    owners: np.ndarray,
    sums: np.ndarray,
    sizes: np.ndarray,
    totals: np.ndarray,
) -> bool:
    """Add every count to its class and column, and one to the bin of its size; return whether one is not whole.

    Counts that are negative or too large for a bin of their own are in the last bin.
    """
    odd = False
    last: Any = np.uint32(sizes.shape[2] - 1)
    for i in range(len(owners)):
        own, bins = sums[owners[i]], sizes[owners[i]]
        x, at = counts[starts[i] : starts[i + 1]], columns[starts[i] : starts[i + 1]]
        total: Any = 0
        for e in range(len(x)):
            whole = np.int32(x[e])
            odd |= whole != x[e]
            count = min(np.uint32(whole), last)
            total += count
            own[np.uint32(at[e])] += count
            bins[np.uint64(e & 3), np.uint64(count)] += 1
        totals[i] = total
    return odd
