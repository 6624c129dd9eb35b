"""Labels become codes, and codes become responsibilities."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from bayesppl.data.arguments import one_of
from bayesppl.data.columns import missing
from bayesppl.data.levels import count_values
from bayesppl.data.matrices import plain
from bayesppl.data.names import listed, spelled
from bayesppl.errors import RowError, warn
from bayesppl.kernels.arrays import Array, Responsibilities
from bayesppl.kernels.class_sums import one_in_each, sparse_of
from bayesppl.kernels.integer_levels import smallest_type

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


REFUSED = Unlabelled()


def encode_labels(y: Any, classes: Sequence[Hashable] | Array | None = None) -> tuple[Array, Array]:
    """Turn labels into codes.

    Parameters
    ----------
    y : (n_rows,) array-like of str, int or bool
    classes : sequence, optional
        All labels that can occur, in any order; learned from ``y`` by default.

    Returns
    -------
    classes : (n_classes,)
        In ascending order, as scikit-learn and its scorers expect them.
    codes : (n_rows,)
        Small integers; ``classes[codes]`` are the labels.

    Raises
    ------
    ValueError
        If a label is missing, is not in ``classes``, or labels of different kinds are mixed; if ``classes`` are no
        classes, as for :func:`declared_classes`.
    """
    if classes is None:
        return _factorize_labels(_labels(y, "y"))
    declared = declared_classes(classes)
    return declared, codes_among(y, declared)


def codes_among(y: Any, classes: Array) -> Array:
    """Find the place of every label among the classes, in the order that these have there: (n_rows,).

    Parameters
    ----------
    y : (n_rows,) array-like
    classes : (n_classes,)
        Those of a fit, or as :func:`declared_classes` returns them.

    Raises
    ------
    ValueError
        As for :func:`encode_labels`.
    """
    learned, codes = _factorize_labels(_labels(y, "y"))
    position = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in learned.tolist() if label not in position]
    if unknown:
        raise ValueError(
            f"label {unknown[0]!r} is not among the declared classes {listed(classes.tolist())}; declare it, "
            "correct it, or convert the labels to the type of the classes"
        )
    known = [position[label] for label in learned.tolist()]
    return np.asarray(known, dtype=smallest_type(len(classes)))[codes]


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
    given = _array(y, "y")
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
        if known and isinstance(known[0], str) != isinstance(unlabelled.label, str):
            raise ValueError(
                f"unlabelled_label={unlabelled.label!r} is of another type than the labels, such as {known[0]!r}, "
                "so that it marks no row; give it in their type"
            )
        absent[there] = [label == unlabelled.label for label in known]
    if not absent.any():
        return y if isinstance(y, list | tuple) else given, absent
    if unlabelled.action == "refuse":
        raise RowError(
            "Input y contains NaN: a missing label in row ",
            int(np.argmax(absent)),
            " is no class. Drop such rows; in the fit of a classifier that has this parameter, unlabelled='drop' "
            "leaves them out, unlabelled='learn' learns from their features",
        )
    left = cells[~absent]
    return (left.tolist() if cells.dtype == object else left), absent


def label_set(y: Any, unlabelled: Unlabelled) -> Array:
    """Find all labels that occur, in ascending order."""
    labels, _ = without_missing(y, unlabelled)
    return encode_labels(labels)[0] if len(labels) else np.empty(0)


def labels_of_parts(found: Iterable[Array]) -> list[Hashable]:
    """Put the labels of several parts of the rows together, in ascending order; none where there are no rows."""
    present = [labels for labels in found if len(labels)]
    return encode_labels(np.concatenate(present))[0].tolist() if present else []


def warn_of_minus_one(classes: Array) -> None:
    """Warn where −1 stands among the classes 0, 1, …: scikit-learn's mark of a row without a label."""
    labels = classes.tolist()
    if len(labels) > 2 and labels == list(range(-1, len(labels) - 1)):
        warn(
            f"-1 is taken for a class, beside 0 to {labels[-1]}. Where it marks rows without a label, drop them, "
            "or pass unlabelled_label=-1 to a classifier that has this parameter; where it is a class, declare "
            "classes=[-1, 0, ...]",
            UserWarning,
        )


def declared_classes(classes: Any) -> Array:
    """Put all labels that can occur into ascending order.

    Raises
    ------
    ValueError
        If a label is missing or listed twice, or labels of different kinds are mixed.
    """
    if np.ndim(_array(classes, "classes")) != 1:  # of text and of sets it is zero
        raise ValueError(f"classes must be a sequence of labels, such as [0, 1], found {spelled(classes)}")
    given = _labels(classes, "classes")
    found, codes = _factorize_labels(given)
    if len(found) < len(given):
        twice = found.tolist()[int(np.argmax(np.bincount(codes) > 1))]
        raise ValueError(f"classes holds {twice!r} more than once; list every label once")
    return found


def union(known: Array, further: Any) -> Array:
    """Put the classes known and those of ``further`` together, in ascending order.

    Raises
    ------
    ValueError
        As for :func:`declared_classes`, and if labels of different kinds would be mixed.
    """
    seen = set(known.tolist())
    new = [label for label in declared_classes(further).tolist() if label not in seen]
    if not new:
        return known
    together = declared_classes([*known.tolist(), *new])
    if together.dtype == object and known.dtype.kind not in "mM":
        return together  # integers beyond 64 bits, which no other type holds
    with np.errstate(invalid="ignore"):
        kept = together.astype(known.dtype)
    return kept if (kept == together).all() else together


def _labels(y: Any, what: str) -> Array:
    """Read one label per row, complete and of one kind."""
    labels = _array(y, what)
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


def _is_column(labels: Array) -> bool:
    """Whether labels are a matrix of one column, which is warned of."""
    if labels.ndim != 2 or labels.shape[1] != 1:
        return False
    warn(
        "A column-vector y was passed when a 1d array was expected; it is read as y.ravel()", DataConversionWarning
    )
    return True


def _array(y: Any, what: str) -> Array:
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


def _factorize_labels(labels: Array) -> tuple[Array, Array]:
    """Find distinct labels in ascending order, and the place of every row's label among them."""
    counted = count_values(labels)
    if counted is not None:
        found, codes = counted
    elif labels.dtype.kind in "OU":
        import pandas as pd

        codes, found = pd.factorize(labels.astype(object), sort=True)
    else:
        found, codes = np.unique(labels, return_inverse=True)
    return np.asarray(found, dtype=labels.dtype), codes.astype(smallest_type(len(found)), copy=False)


def one_hot(codes: Array, n_classes: int, weights: Array | None = None) -> Responsibilities:
    """Make the responsibilities of labelled rows: each belongs to its class with its weight."""
    n_rows = len(codes)
    starts, ones = one_in_each(n_rows)
    values = ones if weights is None else weights
    matrix = sparse_of(csr_array, values, codes.astype(np.int32), starts, (n_rows, n_classes))
    if weights is not None:
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix
