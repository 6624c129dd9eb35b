"""Families whose parameters have one dimension named "feature", labelled by columns of the table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate.statistics import Statistics
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families.bound import Measure
from bayesppl.families.family import Family
from bayesppl.families.support import Support, checked_numbers, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities, dense
from bayesppl.kernels.missing import observed_mask, only_columns, refuse_gaps


@dataclass(frozen=True, eq=False)
class ColumnFamily(Family):
    """A family whose parameters have one dimension named "feature", labelled by columns of the table."""

    support: ClassVar[Support]
    measure: ClassVar[Measure]

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @final
    def with_classes(self, classes: Sequence[Hashable]) -> Self:
        return replace(self, classes=tuple(classes))

    @property
    @final
    def measures(self) -> dict[Hashable, Measure]:
        return dict.fromkeys(self.columns, self.measure)

    @final
    def label_features(self, features: Any, prefix: str) -> dict[str, tuple[tuple[str, ...], Array]]:
        """Features, one column each, under the name and dims they have in a PyMC model and a DataTree."""
        return {f"{prefix}x": (("row", f"{prefix}feature"), dense(features))}

    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.label_features(X, prefix)


@dataclass(frozen=True, eq=False)
class NumericFamily(ColumnFamily):
    """A family all of whose columns are features."""

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        return replace(self, columns=table.names, classes=tuple(classes))

    @final
    def numbers(self, table: Table) -> Any:
        """The columns as numbers, not checked yet."""
        return numbers_of(table, self.columns, self.name, self.support, allows_sparse=self.allows_sparse)

    @final
    def encode(self, table: Table) -> Any:
        X = checked_numbers(table, self.columns, self.name, self.support, allows_sparse=self.allows_sparse)
        present = None if self.allows_missing else observed_mask(X)
        if present is not None:
            row, column = np.argwhere(~present)[0]
            raise RowError(
                f"column {self.columns[column]!r} is missing in row ",
                int(row),
                f", but the {self.name} family models a row as a whole: a missing cell is neither zero nor can it be left "
                "out. Fill it in, drop the row, or use a family that treats columns one by one.",
            )
        return X

    @final
    def decode(self, X: Any) -> dict[Hashable, Array]:
        return dict(zip(self.columns, dense(X).T, strict=True))

    def marginal_rows(self, X: Any, units: Sequence[int]) -> Any:
        if len(units) == len(self.factors):
            return X
        # a family of one unit that is not seen shows nothing
        return only_columns(X, units)

    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Statistics:
        if not self.fits_missing:
            refuse_gaps(
                X,
                self.columns,
                f"the {self.name} family cannot be fitted to incomplete rows. Drop or impute them.",
            )
        return WeightedRows.of(X, responsibilities)
