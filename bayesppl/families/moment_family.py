"""Families of columns of numbers whose sufficient statistics are moments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, final

import numpy as np

from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.moments import Moments, NumberRows
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.bound import Dims, NumberColumns
from bayesppl.families.family import ConjugateFamily
from bayesppl.families.support import LARGEST
from bayesppl.kernels.arrays import Array, Responsibilities


@dataclass(frozen=True, eq=False)
class MomentFamily(ConjugateFamily):
    """Normal columns, declared by a prior of their means and (co)variances."""

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @property
    @abstractmethod
    def parameter_dims(self) -> Dims:
        """Dimension names of every parameter."""

    @abstractmethod
    def rows(self, X: Array) -> NumberRows: ...

    @property
    def bound(self) -> NumberColumns:
        # columns that share a parameter, or have one in pairs, depend on each other
        is_separate = all(dims[-1:] == ("feature",) for dims in self.parameter_dims.values())
        return NumberColumns(self, self.parameter_dims, is_separate)

    @final
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        return replace(self, columns=table.names, classes=tuple(classes))


@closed_forms.read_statistics.register(MomentFamily)
def _(family: MomentFamily, table: Table, responsibilities: Responsibilities) -> Moments:
    """Check the rows of a table and sum them; sums show whether a number lies outside the support."""
    if family.missing != "refused":
        with np.errstate(over="ignore", invalid="ignore"):
            statistics = family.rows(family.bound.numbers(table)).sums(responsibilities)
            if statistics.is_within(LARGEST, responsibilities):
                return statistics
    return family.rows(family.bound.encode(table)).sum_rows(responsibilities)
