"""Orders of rows, columns and classes by what they hold, whatever the order that they come in."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.arrays import Array


def order_of_columns(cells: Array, weights: Array) -> Array:
    """Put columns in an order that depends on their cells only: (n_columns,).

    By the sum of each over all rows, weighed by what no order of the columns changes.
    """
    row_sums = cells.sum(1, dtype=np.float64)
    return np.argsort((weights * np.cos(row_sums)) @ cells, kind="stable")


def number_kinds(cells: Array) -> Array:
    """Number the different rows in ascending order of their cells: (n_rows,)."""
    return np.unique(cells, axis=0, return_inverse=True)[1].ravel()


def order_of_rows(kinds: Array, codes: Array, weights: Array, *, by_class: bool = False) -> Array:
    """Put rows in an order by their kind and then by their class, or the other way round: (n_rows,).

    Classes are told apart by the kinds of their rows, and equal rows by their weights.
    """
    of_classes = np.round(np.bincount(codes, weights * np.cos(kinds)), 6)
    classes = codes, of_classes[codes]
    return np.lexsort((weights, *((kinds, *classes) if by_class else (*classes, kinds))))
