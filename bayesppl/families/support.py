"""The numbers that a family can take, and the refusal of others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse

from bayesppl.data.columns import LARGEST_EXACT, beyond_floats, refuse_rounding
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.missing import observed_mask, total
from bayesppl.kernels.ranges import BLOCK_CELLS, row_blocks

#: What cells can be, as far as other libraries have words for it.
Takes = Literal["numbers", "positive numbers", "whole numbers", "levels", "columns of any kind"]


class Support(NamedTuple):
    """The values that a family can take: in words, as a test of finite values, and what to do about others.

    Where they are all integers between two numbers, comparing with the ends of this range is faster, and densities
    are taken over integers: they are masses.
    """

    words: str
    contains: Callable[[Array], Array] | None  # None: every number below LARGEST in magnitude
    remedy: str
    integers: tuple[float, float] | None = None
    takes: Takes = "numbers"


# cells of a scalar product
_PIECE = 1 << 12

#: Squares of larger numbers, and sums of these, may be no floating-point numbers.
LARGEST = 1e150

REAL_NUMBERS = Support(
    "finite real numbers below 1e150 in magnitude, so that their squares are numbers too",
    None,
    "Replace infinities, drop the rows that hold them, or rescale the column.",
)

BITS = Support(
    "0 and 1 (or False and True)",
    lambda x: (x == 0) | (x == 1),
    "Binarise the column, or choose a family of counts or real numbers.",
    (0, 1),
    "whole numbers",
)
COUNTS = Support(
    "counts (0, 1, 2, … up to 2^53)",
    lambda x: (x >= 0) & (x <= LARGEST_EXACT) & (x == np.floor(x)),
    "Correct the value, or choose a family of real numbers.",
    (0, LARGEST_EXACT),
    "whole numbers",
)
COUNTS_FROM_ONE = Support(
    "counts from one (1, 2, … up to 2^53)",
    lambda x: (x >= 1) & (x <= LARGEST_EXACT) & (x == np.floor(x)),
    "Correct the value, or choose a family of counts that may be zero.",
    (1, LARGEST_EXACT),
    "whole numbers",
)
POSITIVE_NUMBERS = Support(
    "positive real numbers",
    lambda x: x > 0,
    "Correct the value, mark it as missing (NaN), or choose a family of real numbers; with columns='evidence', "
    "which chose by the first rows, name a block for the column.",
    takes="positive numbers",
)

#: Of families that are no densities of numbers: codes of levels, or whatever the families of blocks take.
LEVELS = Support("levels", None, "", takes="levels")
ANYTHING = Support("columns of any kind", None, "", takes="columns of any kind")


def checked_numbers(table: Table, columns: Sequence[Hashable], name: str, support: Support) -> Any:
    """Read columns as numbers; refuse those that lie outside the support."""
    X = table.numeric(columns)
    check_support(X, columns, name, support)
    return X


def numbers_of(table: Table, name: Hashable, family: str) -> Array:
    """Read one column as real numbers, NaN where they are missing: (n_rows,)."""
    return np.asarray(checked_numbers(table, [name], family, REAL_NUMBERS)[:, 0], dtype=np.float64)


def present_numbers(table: Table, name: Hashable, family: str, refusal: str) -> tuple[Array, Array]:
    """Read the numbers of one column that are not missing, and their rows; refuse a column that has none."""
    x = numbers_of(table, name, family)
    present = np.flatnonzero(~np.isnan(x))
    if not len(present):
        raise ValueError(f"column {name!r} {refusal}")
    return x[present], present


def check_support(
    X: Any, columns: Sequence[Hashable], name: str, support: Support, *, allows_sparse: bool = False
) -> None:
    """Refuse numbers outside ``support``; missing cells pass.

    Sparse ones are refused for a family that needs every cell, and so are integers that would be rounded in
    computations with real numbers; counts have a limit of their own.

    Raises
    ------
    ValueError, TypeError
        Naming the column, the value found, its row and the remedy.
    """
    if issparse(X) and not allows_sparse:
        raise TypeError(
            f"Sparse data was passed for the {name} family, but dense data is required. "
            "Use '.toarray()' to convert to a dense numpy array; of a data frame, '.sparse.to_dense()'."
        )
    if support.integers is None and X.dtype.kind in "iu" and X.dtype.itemsize == 8 and beyond_floats(X):
        for values, column in zip(X.T, columns, strict=True):
            refuse_rounding(values, column)
    values = X.data if issparse(X) else X
    if issparse(X) and observed_mask(values) is not None:
        raise ValueError("a sparse matrix holds NaN; sparse input cannot have missing cells, make it dense")
    cells = BLOCK_CELLS * (8 // min(8, values.dtype.itemsize) if support.contains is not None else 4)
    for rows in row_blocks(len(values), 1 if issparse(X) else X.shape[1], cells):
        wrong = _outside(values[rows], support)
        if wrong is not None:
            row, column = locate(X, rows.start, wrong)
            raise RowError(
                f"column {columns[column]!r} holds {X[row, column]:g} in row ",
                row,
                f", but the {name} family models {support.words}. {support.remedy}",
            )


def require_finite_sums(sums: Array, columns: Sequence[Hashable], what: str) -> None:
    """Refuse weighted sums, (..., n_columns), that are larger than the largest floating-point number."""
    finite = np.isfinite(sums).all(tuple(range(sums.ndim - 1)))  # there may be no column
    if not finite.all():
        raise ValueError(
            f"the weighted {what} of column {columns[int(np.argmin(finite))]!r} is larger than any floating-point "
            "number. Rescale the column, or divide the weights by their mean"
        )


def _outside(values: Array, support: Support) -> Array | None:
    """Find the numbers that lie outside the support; None if all are within it."""
    if support.contains is None:
        # their sum of squares is infinite or NaN if one of the cells is; in pieces so short that BLAS starts no
        # threads, which cost more than they gain, and far more on a busy machine
        flat = values.ravel(order="K").astype(np.float64, copy=False)
        whole = len(flat) // _PIECE * _PIECE
        pieces, rest = flat[:whole].reshape(-1, _PIECE), flat[whole:]
        with np.errstate(over="ignore", invalid="ignore"):
            if np.vecdot(pieces, pieces).sum() + np.dot(rest, rest) < LARGEST**2:
                return None
        wrong = np.abs(values, dtype=np.float64) >= LARGEST
    elif support.integers is not None and _are_between(values, *support.integers):
        return None
    else:
        wrong = ~support.contains(values)
        if not wrong.any() and (values.dtype.kind != "f" or np.isfinite(total(values))):
            return None
    if values.dtype.kind == "f":
        wrong = (wrong | np.isinf(values)) & ~np.isnan(values)
    return wrong if wrong.any() else None


def _are_between(values: Array, low: float, high: float) -> bool:
    """Whether all numbers are whole and between two numbers; none is missing then."""
    unsigned = values.dtype.kind in "bu" and low == 0
    between = (unsigned or values.min(initial=0) >= low) and values.max(initial=0) <= high
    return bool(between and (values.dtype.kind != "f" or (values == np.floor(values)).all()))


def locate(X: Any, start: int, wrong: Array) -> tuple[int, int]:
    """Find the row and the column of the first wrong cell of a block that begins at ``start``."""
    if issparse(X):
        entries = X.tocoo()
        at = start + int(np.argmax(wrong))
        return int(entries.row[at]), int(entries.col[at])
    row, column = np.argwhere(wrong)[0]
    return start + int(row), int(column)
