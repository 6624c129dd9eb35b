"""Labels become codes, and codes become responsibilities."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayesppl.data.label_cells import Unlabelled, label_array, read_labels, without_missing
from bayesppl.data.levels import count_values
from bayesppl.data.names import listed, spelled
from bayesppl.errors import warn
from bayesppl.kernels.arrays import Array, Responsibilities
from bayesppl.kernels.class_sums import one_in_each, sparse_of
from bayesppl.kernels.integer_levels import smallest_type


def encode_labels(
    y: Any, classes: Sequence[Hashable] | Array | None = None, what: str = "y"
) -> tuple[Array, Array]:
    """Turn labels into codes.

    Parameters
    ----------
    y : (n_rows,) array-like of str, int or bool
    classes : sequence, optional
        All labels that can occur, in any order; learned from ``y`` by default.
    what : str
        What errors call ``y``, where the labels are learned.

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
        return _factorize_labels(read_labels(y, what))
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
    learned, codes = _factorize_labels(read_labels(y, "y"))
    position = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in learned.tolist() if label not in position]
    if unknown:
        raise ValueError(
            f"label {unknown[0]!r} is not among the declared classes {listed(classes.tolist())}; declare it, "
            "correct it, or convert the labels to the type of the classes"
        )
    known = [position[label] for label in learned.tolist()]
    return np.asarray(known, dtype=smallest_type(len(classes)))[codes]


def label_set(y: Any, unlabelled: Unlabelled) -> Array:
    """Find all labels that occur, in ascending order."""
    labels, _ = without_missing(y, unlabelled)
    return encode_labels(labels)[0] if len(labels) else np.empty(0)


def labels_of_parts(found: Iterable[Array]) -> list[Hashable]:
    """Put the labels of several parts of the rows together, in ascending order; none where there are no rows."""
    present = [labels for labels in found if len(labels)]
    return encode_labels(np.concatenate(present))[0].tolist() if present else []


def warn_of_minus_one(labels: list[Hashable]) -> None:
    """Warn where −1 stands among the classes 0, 1, …: scikit-learn's mark of a row without a label."""
    if len(labels) > 2 and labels == list(range(-1, len(labels) - 1)):
        warn(
            f"-1 is taken for a class, beside 0 to {labels[-1]}. Where it marks rows without a label, drop them, "
            "or pass unlabelled_label=-1 to what has this parameter; where it is a class, declare "
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
    if np.ndim(label_array(classes, "classes")) != 1:  # of text and of sets it is zero
        raise ValueError(f"classes must be a sequence of labels, such as [0, 1], found {spelled(classes)}")
    given = read_labels(classes, "classes")
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
