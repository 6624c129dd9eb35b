"""Arguments that carry labels of their own, such as a series of pandas: read by these, never by position."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from bayesppl.data.columns import listed
from bayesppl.data.names import only_count
from bayesppl.kernels.arrays import Array


def by_name(values: Any) -> Any:
    """Labelled values in one dimension as a dict, or as an array where the labels only count; anything else as it is.

    Parameters
    ----------
    values
        Of a ``pandas.Series`` or an ``xarray.DataArray``; numbers 0, 1, … in turn are no labels.

    Raises
    ------
    ValueError
        If two values have the same label.
    """
    labels = labels_of(values)
    if len(labels) != 1:
        return values
    names = labels[0]
    if names is None:
        return values.to_numpy()
    if len(set(names)) < len(names):
        raise ValueError(f"labels must be unique, found {listed(names)}; aggregate or drop values")
    return dict(zip(names, values.to_numpy().tolist(), strict=True))


def labels_of(values: Any) -> list[list[Hashable] | None]:
    """Labels along every axis, None where they only count; none at all of anything that is not labelled."""
    if isinstance(values, float | int | np.ndarray):
        return []  # as almost always
    if nw.dependencies.is_pandas_series(values):
        axes = [values.index]
    elif nw.dependencies.is_pandas_dataframe(values):
        axes = [values.index, values.columns]
    else:
        xarray = sys.modules.get("xarray")  # whoever passes a DataArray has imported xarray
        if xarray is None or not isinstance(values, xarray.DataArray):
            return []
        axes = [values.indexes.get(dim, range(size)) for dim, size in values.sizes.items()]
    found = [list(axis) for axis in axes]
    return [None if only_count(labels) else labels for labels in found]


def aligned(matrix: Array, labels: Sequence[list[Hashable] | None], names: Sequence[Hashable], what: str) -> Array:
    """A matrix, its rows and columns in the order of ``names`` where they are labelled.

    Parameters
    ----------
    matrix : (n_names, n_names)
    labels
        Of :func:`labels_of`.
    names
    what : str
        What a refusal calls the matrix.

    Raises
    ------
    ValueError
        If the labels are not those names.
    """
    for axis, found in enumerate(labels):
        if found is None:
            continue
        if len(found) != len(names) or set(found) != set(names):
            raise ValueError(
                f"{what} must have the labels {listed(names)} along both axes, found {listed(found)} along axis {axis}"
            )
        matrix = matrix.take([found.index(name) for name in names], axis)
    return matrix
