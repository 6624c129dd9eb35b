"""The rows of a fit, for the questions that need them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.data.rows import Rows
from bayesppl.data.table import Table, read_range
from bayesppl.families.family import Family
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.fitted import Fitted
from bayesppl.model.held_rows import held_rows


@dataclass(frozen=True)
class EncodedInRanges:
    """Rows of a table, which are encoded when they are asked for: no encoded copy of all of them is held.

    Indexed like an array of rows.
    """

    family: Family
    table: Table

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.table), self.table.words_per_row

    def __getitem__(self, rows: slice | Array | list[int]) -> Any:
        if not isinstance(rows, slice):
            return self.family.bound.encode(self.table.take(np.asarray(rows)))
        return read_range(self.table, slice(*rows.indices(len(self.table))), self.family.bound.encode)


def encoded(family: Family, table: Table) -> Any:
    """The rows as the family computes with them; those of large tables are encoded a range at a time."""
    rows = EncodedInRanges(family, table)
    return rows[:] if len(row_ranges(*rows.shape)) <= 1 else rows


def rows_of(fitted: Fitted, X: Any = None, y: Any = None, sample_weight: Any = None) -> Rows:
    """The rows of the fit: those still held, or those passed again.

    Raises
    ------
    ValueError
        If the rows are neither held nor passed, or are not those of the fit.
    ChangedRowsError
        If the rows held were changed in place since the fit.
    """
    held = held_rows(fitted) if X is None else None
    if held is not None:
        return held
    if X is None or y is None:
        raise ValueError(
            "the rows of the fit are not held any more (after loading or partial_fit they never are); pass X and y"
        )
    rows = fitted.learned.read(X, y, sample_weight)
    found, known = np.bincount(rows.codes, rows.weights, len(fitted.classes)), fitted.learned.class_count
    differs = ~np.isclose(found, known)
    if differs.any():
        k = int(differs.argmax())
        raise ValueError(
            f"these are not the rows of the fit: class {fitted.classes.tolist()[k]!r} has the weight {found[k]:g} in them, "
            f"and {known[k]:g} in the fit. Pass the X, y and sample_weight of the fit"
        )
    return rows
