"""The rows of a fit, for questions that need them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.data.annotations import read_soft
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table, read_range
from bayesppl.errors import ChangedRowsError, NotConjugateError
from bayesppl.families.family import Family
from bayesppl.families.gaps import have_gaps
from bayesppl.kernels.arrays import Array, nearly_same_leaves, same_leaves
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted

_ONLY_IN_PART = (
    "every row of the fit is known only in part (its label is in doubt, its component in a mixture or its weight "
    "in a t density unknown), so that none can be left out exactly: judge the fit by rows that it has not seen"
)


def training_rows(fitted: Fitted) -> Rows | None:
    """Return the rows of the fit, None where they are not held.

    Raises
    ------
    ChangedRowsError
        If the caller has changed them since the fit.
    """
    rows = fitted.rows
    if rows is not None and not rows.is_copy and not _sum_to(fitted, rows, same_leaves):
        raise ChangedRowsError(
            "the rows given to fit have been changed in place since then: they do not add up to the sums of the "
            "fit. Undo the change, fit again, or pass a copy to fit. (Small tables are copied by fit itself, "
            "large ones are not; predictions do not need the rows, and loo takes X, y and sample_weight as they "
            "were)"
        )
    return rows


def require_training_rows(fitted: Fitted, X: Any = None, y: Any = None, sample_weight: Any = None) -> Rows:
    """Return the rows of the fit: those still held, or those passed again.

    Raises
    ------
    ValueError
        If the rows are neither held nor passed, or are not those of the fit.
    ChangedRowsError
        If the rows held were changed in place since the fit.
    NotConjugateError
        If every row is known only in part.
    """
    held = training_rows(fitted) if X is None else None
    if held is not None:
        require_known_rows(held)
        return held
    learned, n_classes = fitted.learned, len(fitted.classes)
    if "rows_partly_known" in fitted.posterior.record and not learned.statistics.parts[CLASS_WEIGHTS].counts.any():
        raise NotConjugateError(_ONLY_IN_PART)
    if X is None or y is None:
        raise ValueError(
            "the rows of the fit are not held any more (after loading, copying, pickling, partial_fit or a fit of "
            "lazy tables they never are); pass X and y as tables in memory"
        )
    if n_classes > 1 and np.shape(y)[1:] == (n_classes,):
        table = learned.columns.align(X)
        rows = read_soft(table, y, sample_weight, learned.classes, None, learned.unlabelled)
    else:
        rows = learned.read(X, y, sample_weight)
    found, known = np.bincount(rows.codes, rows.weights, n_classes), learned.class_count
    if learned.completed is not None:
        rows = gaps_apart(fitted.model.family, rows)
    differs = ~np.isclose(found, known)
    if differs.any():
        k = int(differs.argmax())
        raise ValueError(
            f"these are not the rows of the fit: class {fitted.classes.tolist()[k]!r} has the weight {found[k]:g} "
            f"in them, and {known[k]:g} in the fit. Pass the X, y and sample_weight of the fit"
        )
    if not _sum_to(fitted, rows, nearly_same_leaves):
        raise ValueError(
            "these are not the rows of the fit: they do not add up to its sums. Pass the X, y and sample_weight "
            "of the fit; rows that it has not seen are scored by predict_log_proba, or bayesppl.reliability"
        )
    return rows


def require_known_rows(rows: Rows) -> None:
    """Refuse rows to leave out all of which are known only in part.

    Raises
    ------
    NotConjugateError
    """
    if rows.partly is not None and not len(rows):
        raise NotConjugateError(_ONLY_IN_PART)


def gaps_apart(family: Family, rows: Rows) -> Rows:
    """Count rows that lack cells which sums need among those partly known."""
    with rows.naming_rows():
        X = encoded(family, rows.table)
        gaps = [have_gaps(family, X[some]) for some in row_ranges(*X.shape)]
    return rows.with_partly(np.flatnonzero(np.concatenate(gaps)))


@dataclass(frozen=True)
class EncodedInRanges:
    """Rows of a table that are encoded when they are indexed: no encoded copy of all of them is held.

    Indexed like an array of rows.
    """

    family: Family
    table: Table

    @property
    def shape(self) -> tuple[int, int]:
        return self.table.extent[:2]

    def __getitem__(self, rows: slice | Array | list[int]) -> Any:
        if not isinstance(rows, slice):
            return self.family.bound.encode(self.table.take(np.asarray(rows)))
        return read_range(self.table, slice(*rows.indices(len(self.table))), self.family.bound.encode)


def encoded(family: Family, table: Table) -> Any:
    """Encode rows as the family computes with them; those of large tables a range at a time, when indexed."""
    rows = EncodedInRanges(family, table)
    return rows[:] if len(table.extent.ranges()) <= 1 else rows


def _sum_to(fitted: Fitted, rows: Rows, agree: Callable[[Any, Any], bool]) -> bool:
    """Whether the sums of these rows agree with those of the fit.

    A cell that changed changes a sum. Only values that changed places within their class and column can be missed.
    """
    try:
        return agree(fitted.model.summarise(rows).parts, fitted.learned.statistics.parts)
    except ValueError:  # not even rows that this family takes
        return False
