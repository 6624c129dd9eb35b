"""Rows to learn from, with all that is known of their classes: labels, votes of annotators, probabilities."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.data.annotations import LabelNoise, doubted, read_annotated, read_soft
from bayesppl.data.arguments import by_name, labels_of
from bayesppl.data.label_cells import REFUSED, Unlabelled
from bayesppl.data.labels import declared_classes
from bayesppl.data.levels import warn_of_spellings
from bayesppl.data.names import spelled
from bayesppl.data.read_table import as_table
from bayesppl.data.rows import NOTHING_COUNTS, Rows
from bayesppl.errors import warn
from bayesppl.model.declaration import ClassWeights


def read_labelled(
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Sequence[Hashable] | None,
    unlabelled: Unlabelled,
    noise: Any,
    annotations: Any,
) -> Rows:
    """Read the rows of a fit, with all that is known of their classes."""
    declared = None if classes is None else declared_classes(classes)
    if isinstance(noise, Sequence | np.ndarray) and not any(map(labels_of, noise)):
        require_ascending(classes, "label_noise", "pass a data frame labelled by the classes")
    if annotations is not None:
        if y is not None:
            raise ValueError("pass y or annotations, not both: labels of y can be those of one more annotator")
        noise = LabelNoise() if noise is None else noise
        rows = read_annotated(X, annotations, sample_weight, declared, noise, unlabelled)
        if declared is None:
            require_two_classes(rows.classes.tolist())
        return rows
    if declared is not None and len(declared) > 1 and np.shape(y)[1:] == (len(declared),):
        if not as_table(y).is_named and list(getattr(y, "columns", ())) != declared.tolist():
            require_ascending(classes, "y", "pass a data frame, whose columns are named by the classes")
        return read_soft(X, y, sample_weight, declared, noise, unlabelled)
    rows = read_all(X, y, sample_weight, classes, unlabelled)
    return rows if noise is None else doubted(rows, noise)


def read_all(
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Sequence[Hashable] | None,
    unlabelled: Unlabelled = REFUSED,
) -> Rows:
    """Read all rows of a fit, as :func:`read_first`; some of them must count."""
    rows = read_first(X, y, sample_weight, classes, unlabelled)
    if not len(rows.counted()) and rows.partly is None:
        raise ValueError(NOTHING_COUNTS)
    return rows


def read_first(
    X: Any,
    y: Any,
    sample_weight: Any,
    classes: Sequence[Hashable] | None,
    unlabelled: Unlabelled = REFUSED,
) -> Rows:
    """Read rows to learn from; of two classes at least, unless one alone is declared.

    Raises
    ------
    ValueError
        Also if there is one class only.
    """
    declared = None if classes is None else declared_classes(classes)
    rows = Rows.read(X, y, sample_weight, declared, unlabelled)
    if rows.given_weights is not None and len(rows) > 1 and np.isclose(rows.given_weights.sum(), 1.0):
        warn(
            f"sample_weight sums to one, so that all {len(rows)} rows together count as a single one, and the "
            "prior for more: a weight is a number of rows. Divide the weights by their mean, unless that is meant",
            UserWarning,
        )
    if classes is None:
        require_two_classes(rows.classes.tolist())
    warn_of_spellings("the target", rows.classes.tolist())
    name = getattr(y, "name", None)
    is_column = name is not None and name in rows.table.names
    if is_column and np.array_equal(rows.table.column(name), rows.classes[rows.codes]):
        warn(
            f"the label {name!r} is also a column of X, so that features give it away; leave it out, as in pandas "
            f"by X.drop(columns={name!r})",
            UserWarning,
        )
    return rows


def require_order(class_weights: ClassWeights, classes: Sequence[Hashable] | None) -> None:
    """Refuse class weights by position where classes are declared in another order than the fit has them in.

    Raises
    ------
    ValueError
    """
    given = by_name(class_weights.concentration if isinstance(class_weights, Dirichlet) else class_weights)
    if classes is not None and not isinstance(given, str | Mapping) and np.ndim(given):
        require_ascending(classes, "class_weights", f"name probabilities: {{{spelled(classes[0])}: 0.5, …}}")


def require_ascending(classes: Sequence[Hashable] | None, name: str, remedy: str) -> None:
    """Refuse numbers of the classes by position, where these are declared in another order.

    Raises
    ------
    ValueError
    """
    ascending = [] if classes is None else declared_classes(classes).tolist()
    if classes is not None and list(classes) != ascending:
        raise ValueError(
            f"{name} without names goes by the classes in ascending order, {ascending}, and classes lists them "
            f"otherwise. List them in that order, or {remedy}"
        )


def require_two_classes(found: Sequence[Hashable]) -> None:
    """Refuse labels that are all the same, or none, where no classes are declared.

    Raises
    ------
    ValueError
    """
    if not found:
        raise ValueError(NOTHING_COUNTS)
    if len(found) == 1:
        raise ValueError(
            f"the target holds one class only, {found[0]!r}; a classifier needs at least two. Pass "
            "classes=[...] to declare the classes: others that do not occur in these rows, or this one alone"
        )
