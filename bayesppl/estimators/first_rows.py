"""The first rows that an estimator is given bind its declaration to columns and classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from bayesppl.data.labels import declared_classes
from bayesppl.data.rows import Rows
from bayesppl.estimators.declared import DeclaredClassifier
from bayesppl.model.learned import Learned


def read_first(X: Any, y: Any, sample_weight: Any, classes: Sequence[Hashable] | None) -> Rows:
    """Labelled rows; of two classes at least, unless one alone is declared.

    Raises
    ------
    ValueError
        Also if there is one class only.
    """
    rows = Rows.read(X, y, sample_weight, None if classes is None else declared_classes(classes))
    if len(rows.classes) < 2 and classes is None:
        raise ValueError(
            f"the target holds one class only, {rows.classes.tolist()[0]!r}; a classifier needs at least two. "
            "Pass classes=[...] to declare the classes: others that do not occur in these rows, or this one alone"
        )
    return rows


def read_all(X: Any, y: Any, sample_weight: Any, classes: Sequence[Hashable] | None) -> Rows:
    """All rows of a fit, as :func:`read_first`; some of them must count."""
    rows = read_first(X, y, sample_weight, classes)
    if not len(rows.counted()):
        raise ValueError("sample_weight is zero for every row, so there is nothing to learn from")
    return rows


def start(clf: DeclaredClassifier, rows: Rows) -> Learned:
    """Bind the declaration of an estimator to its first rows, and sum them."""
    return Learned.start(clf.declaration, rows, type(clf).__name__, clf.n_jobs)
