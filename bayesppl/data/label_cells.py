"""Labels as they are given: read into an array, those that are missing apart, and refused if they are none."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from sklearn.exceptions import DataConversionWarning

from bayesppl.data.arguments import as_named, one_of
from bayesppl.data.columns import missing
from bayesppl.data.matrices import plain
from bayesppl.data.names import spelled
from bayesppl.errors import RowError, warn
from bayesppl.kernels.arrays import Array

Action = Literal["refuse", "drop", "learn", "informative"]


@dataclass(frozen=True)
class Unlabelled:
    """What becomes of rows without a label, and which these are.

    Attributes
    ----------
    action : {"refuse", "drop", "learn", "informative"}
    label : optional
        The label of such rows, besides None, NaN, NA and NaT.
    """

    action: Action = "refuse"
    label: Any = None

    def __post_init__(self) -> None:
        one_of("unlabelled", self.action, get_args(Action))
        if not isinstance(self.label, Hashable):
            raise TypeError(f"unlabelled_label must be one label, found {spelled(self.label)}")
        if self.label is not None and missing(np.array([self.label, None], dtype=object))[0]:
            object.__setattr__(self, "label", None)  # whatever is missing marks such rows already


REFUSED = Unlabelled()


def without_missing(y: Any, unlabelled: Unlabelled) -> tuple[Any, Array]:
    """Separate labels from those that are missing: None, NaN, NA, NaT, masked, or the one that is declared.

    Parameters
    ----------
    y : (n_rows,) array-like
    unlabelled : Unlabelled

    Returns
    -------
    labels : those that are there, a list or an array
    absent : (n_rows,) of bool

    Raises
    ------
    RowError
        If such rows are refused.
    """
    given = label_array(y, "y")
    if _is_column(given):
        given = given.ravel()
        y = np.asarray(y, dtype=object).ravel().tolist() if isinstance(y, list | tuple) else given
    if given.ndim != 1 or given.dtype.kind == "c":
        return y, np.zeros(len(given) if given.ndim else 0, dtype=bool)
    # numpy reads the list [1, None, "a"] as objects, but [1.0, "a"] as text
    cells = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else given
    absent = missing(cells)
    if unlabelled.label is not None:
        there = np.flatnonzero(~absent)  # NA equals nothing, nor is it unequal
        known = cells[there].tolist()
        if known and not any(isinstance(label, str) == isinstance(unlabelled.label, str) for label in known):
            raise ValueError(
                f"unlabelled_label={unlabelled.label!r} is of another type than the labels, such as {known[0]!r}, "
                "so that it marks no row; give it in their type"
            )
        mark = as_named([unlabelled.label], known)[0] if known else None
        absent[there] = [label == mark for label in known]
    if not absent.any():
        return y if isinstance(y, list | tuple) else given, absent
    if unlabelled.action == "refuse":
        raise RowError(
            "Input y contains NaN: a missing label in row ",
            int(np.argmax(absent)),
            " is no class. Drop such rows; in the fit of a classifier that has this parameter, unlabelled='drop' "
            "leaves them out, unlabelled='learn' learns from their features where all rows are given at once",
        )
    left = cells[~absent]
    return (left.tolist() if cells.dtype == object else left), absent


def read_labels(y: Any, what: str) -> Array:
    """Read one label per row, complete and of one kind."""
    labels = label_array(y, what)
    if _is_column(labels):
        labels = labels.ravel()
    if labels.ndim != 1:
        found = f"{type(y).__name__} of shape {getattr(y, 'shape', labels.shape)}"
        raise ValueError(f"{what} must have one label per row, as a list, an array or a series, found {found}")
    if labels.dtype.kind == "c":
        raise ValueError(f"Unknown label type: {what} holds complex numbers; use integers or text as labels")
    # numpy reads the list [1, "a"] as ["1", "a"], and [True, 2] as [1, 2]: look at the list itself
    as_given = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else labels
    as_given = as_given.reshape(labels.shape)
    if as_given.dtype.kind in "OfmM":
        _refuse_odd_labels(as_given, what)
    # and integers too large for it as floating-point numbers
    rounded = labels.dtype.kind == "f" and as_given.dtype.kind == "O" and (labels != as_given).any()
    return as_given if rounded else labels


def label_array(y: Any, what: str) -> Array:
    """Make an array of labels, in types that can be computed with."""
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        y = np.where(np.ma.getmaskarray(y), np.array(None, dtype=object), y.data.astype(object))
    elif not isinstance(y, np.ndarray | list):
        from bayesppl.data.frames import read_series

        cells = read_series(y)
        y = y if cells is None else cells
    try:
        labels = np.asarray(y)
    except TypeError:  # of a Dataset of xarray
        raise TypeError(f"{what} must be an array or a series of labels, found {type(y).__name__}") from None
    except ValueError:
        raise ValueError(f"{what} must have one label per row, found sequences of different lengths") from None
    if labels.dtype.kind == "V":
        raise ValueError(f"{what} is a structured array; pass one of its fields, as in {what}['label']")
    return _in_microseconds(plain(labels))


def _is_column(labels: Array) -> bool:
    """Whether labels are a matrix of one column, which is warned of."""
    if labels.ndim != 2 or labels.shape[1] != 1:
        return False
    warn(
        "A column-vector y was passed when a 1d array was expected; it is read as y.ravel()", DataConversionWarning
    )
    return True


def _in_microseconds(labels: Array) -> Array:
    """Hold times of finer units, which Python has not, in microseconds, or as pandas does if some are between."""
    if labels.dtype.kind not in "mM" or np.datetime_data(labels.dtype)[0] not in ("ns", "ps", "fs", "as"):
        return labels
    found = labels.astype(f"{labels.dtype.kind}8[us]")
    if ((found == labels) | np.isnat(labels)).all():
        return found
    import pandas as pd

    return np.array(pd.Index(labels), dtype=object)


def _refuse_odd_labels(labels: Array, what: str) -> None:
    import pandas as pd

    absent = missing(labels)
    if absent.any():
        raise RowError(
            f"Input {what} contains NaN: a missing label in row ",
            int(np.argmax(absent)),
            " is no class; drop it before fitting",
        )
    kind = pd.api.types.infer_dtype(labels)
    if kind in ("floating", "mixed-integer-float"):
        numbers = labels.astype(np.float64)
        if np.isinf(numbers).any():
            raise ValueError(f"Input {what} contains infinity or a value too large for dtype('float64').")
        odd = numbers != np.floor(numbers)
        if odd.any():
            raise ValueError(
                f"Unknown label type: continuous. {what} holds the number {numbers[odd][0]:g}; a classifier needs "
                "classes. Bin the numbers, or pass labels as integers or strings."
            )
    if kind in ("mixed", "mixed-integer", "complex"):
        kinds = sorted({type(value).__name__ for value in labels})
        raise ValueError(
            f"Unknown label type: {what} mixes labels of different types, or types that are no labels "
            f"({', '.join(kinds)}); convert them to one type, for example text"
        )
