"""The columns and classes that a family was bound to: how tables are read into rows, and rows back into columns.

What concerns columns rather than densities is a value of its own, ``family.bound``: which numbers the cells can
be, what the parameters are labelled with, which columns are independent of each other, which covariates a row has,
and what is left of a row of which some columns are missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, final

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families.block_rows import stack_rows
from bayesppl.families.covariates import Covariates
from bayesppl.families.support import Support, check_support, checked_numbers
from bayesppl.kernels.arrays import Array, dense
from bayesppl.kernels.missing import observed_mask, only_columns

#: What a density is taken over. Evidences of models that differ in it measure different things.
Measure = Literal[
    "mass",
    "mass given the row total",
    "approximate mass given the row total",
    "density",
    "mass at zero, density elsewhere",
    "mass at limits, density between",
]

#: Measures of rows of counts: a document without a word is another document, not a row with a gap.
GIVEN_TOTAL: tuple[Measure, ...] = ("mass given the row total", "approximate mass given the row total")

#: Dimension names of every parameter, the class axis among them.
Dims = Mapping[str, tuple[str, ...]]


class Factor(NamedTuple):
    """Columns with a log density of their own: those of all factors add up to the log density of the row.

    Attributes
    ----------
    name : hashable
        Of the column, or of the block of several columns; empty for all columns of a family.
    columns : tuple
    """

    name: Hashable
    columns: tuple[Hashable, ...]


class Described(NamedTuple):
    """The family of a column, what its density is taken over, and its levels and its period, if it has any."""

    family: str
    measure: Measure
    levels: tuple[Hashable, ...] = ()
    period: float | None = None


def separate(columns: Sequence[Hashable]) -> tuple[Factor, ...]:
    """Return a factor for every column."""
    return tuple(Factor(column, (column,)) for column in columns)


def together(columns: Sequence[Hashable]) -> tuple[Factor, ...]:
    """Return one factor of all columns."""
    return separate(columns) if len(columns) == 1 else (Factor("", tuple(columns)),)


def of_block(block: str, factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """Name the factors of several columns after their block; those of one column keep its name."""
    return tuple(
        factor
        if len(factor.columns) == 1
        else Factor("_".join(str(name) for name in (block, factor.name) if name != ""), factor.columns)
        for factor in factors
    )


class BoundColumns(ABC):
    """Columns of a table as a family models them, and the labels of its parameters."""

    #: Dimension names of every parameter, the class axis among them: :data:`Dims`.
    dims: Any
    #: Numbers of a row that are given, not modelled, such as its number of trials: the values that each can take.
    covariate_supports: Any = MappingProxyType({})

    @property
    @abstractmethod
    def described(self) -> Mapping[Hashable, Described]:
        """The family, the measure and the levels of every column."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """The factors in order: they are independent given the class and the parameters."""

    @property
    @abstractmethod
    def coords(self) -> dict[str, list[Hashable]]:
        """The labels of every dimension but "class"."""

    @final
    @property
    def measures(self) -> dict[Hashable, Measure]:
        """The measure that the density of every column is taken over."""
        return {column: found.measure for column, found in self.described.items()}

    @final
    @property
    def levels_of_columns(self) -> dict[Hashable, tuple[Hashable, ...]]:
        """The levels of every column that has any."""
        return {column: found.levels for column, found in self.described.items() if found.levels}

    @abstractmethod
    def encode(self, table: Table) -> Any:
        """Check the support and return the rows as the family computes with them.

        Raises
        ------
        ValueError
            Naming the column, the value found and the remedy.
        """

    @abstractmethod
    def decode(self, X: Any) -> dict[Hashable, Array]:
        """Return the values of every column, from encoded rows."""

    def are_possible(self, X: Any) -> Array:
        """Find the simulated rows that a table may hold, which has no unseen levels: (n_rows,) bool."""
        return np.ones(X.shape[0], dtype=bool)

    def with_seen(self, X: Any, others: Any, *, apart: bool = False) -> Any:
        """Replace cells of unseen levels, with all columns that they depend on, by those of other rows, as many.

        With ``apart`` such cells alone, whatever they depend on.
        """
        return X

    @abstractmethod
    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """Return encoded rows as named arrays with their dims, the first of which is "row"."""

    @abstractmethod
    def covariates(self, X: Any) -> Covariates:
        """Return the covariates of encoded rows: (n_rows,) for every name in ``covariate_supports``."""

    @abstractmethod
    def marginal_rows(self, X: Any, factors: Sequence[int]) -> Any:
        """Return encoded rows of which only these factors are seen, the others missing.

        Parameters
        ----------
        X : encoded rows
        factors : sequence of int
            Places in :attr:`factors`.
        """


@final
@dataclass(frozen=True, eq=False)
class NumberColumns(BoundColumns):
    """Columns of numbers, all of them features; encoded rows are a matrix of them, dense or sparse.

    Parameters
    ----------
    family : Family
        Of columns of numbers, with its ``name``, ``support`` and ``columns``.
    dims : mapping of str to tuple of str
        Dimension names of every parameter; all but "class" are labelled by the columns.
    is_separate : bool
        Whether the columns are independent given the class, or are one factor.
    covariate_supports : mapping of str to Support
        Of a number of every row. Where no column holds it, it is the total of the row, and a row of which no
        column is seen is an empty one.
    row_column : hashable, optional
        The column that holds the number of every row, and is no feature; encoded rows have it last.
    row_dim : str
        The dimension of the columns of rows.
    other_coords : mapping of str to list, optional
        Labels of dimensions that are not those of the columns.
    check : callable, optional
        Refuses encoded rows for what no column shows by itself.
    measure_of : mapping of column to measure, or one measure, optional
        Where it is not that of the support.
    """

    family: Any
    dims: Dims
    is_separate: bool
    covariate_supports: Mapping[str, Support] = MappingProxyType({})
    row_column: Hashable | None = None
    row_dim: str = "feature"
    other_coords: Mapping[str, list[Hashable]] | None = None
    check: Callable[[Any], Any] | None = None
    measure_of: Mapping[Hashable, Measure] | Measure | None = None

    @cached_property
    def described(self) -> dict[Hashable, Described]:
        alike: Measure = "density" if self.family.support.integers is None else "mass"
        given = self.measure_of or alike
        measures = given if isinstance(given, Mapping) else dict.fromkeys(self.family.columns, given)
        period = getattr(self.family, "period", None)  # of numbers on a circle
        return {c: Described(self.family.name, measure, period=period) for c, measure in measures.items()}

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        return (separate if self.is_separate else together)(self.family.columns)

    @cached_property
    def coords(self) -> dict[str, list[Hashable]]:
        dims = {self.row_dim, *(dim for dims in self.dims.values() for dim in dims if dim != "class")}
        return {**{dim: list(self.family.columns) for dim in sorted(dims)}, **(self.other_coords or {})}

    def encode(self, table: Table) -> Any:
        family = self.family
        X = table.numeric(family.columns)
        check_support(X, family.columns, family.name, family.support, allows_sparse=family.allows_sparse)
        present = observed_mask(X) if family.missing == "refused" else None
        if present is not None:
            row, column = np.argwhere(~present)[0]
            raise RowError(
                f"column {family.columns[column]!r} is missing in row ",
                int(row),
                f", but the {family.name} family models a row as a whole: a missing cell is neither zero nor can "
                "it be left out. Fill it in, drop the row, or use a family that treats columns one by one.",
            )
        if self.row_column is not None:
            X = self._with_row_numbers(X, table)
        if self.check is not None:
            self.check(X)
        return X

    def decode(self, X: Any) -> dict[Hashable, Array]:
        names = self.family.columns if self.row_column is None else (*self.family.columns, self.row_column)
        return dict(zip(names, dense(X).T, strict=True))

    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return {f"{prefix}x": (("row", prefix + self.row_dim), dense(X[:, : len(self.family.columns)]))}

    def covariates(self, X: Any) -> Covariates:
        return {
            name: X @ np.ones(X.shape[1]) if self.row_column is None else X[:, -1]
            for name in self.covariate_supports
        }

    def marginal_rows(self, X: Any, factors: Sequence[int]) -> Any:
        n_factors = len(self.family.columns) if self.is_separate else 1
        if len(factors) == n_factors:
            return X
        if self.covariate_supports and self.row_column is None:
            return csr_array(X.shape)
        # the number per row is no feature, and stays
        return only_columns(X, [*factors, *range(len(self.family.columns), X.shape[1])])

    def _with_row_numbers(self, X: Any, table: Table) -> Array:
        column = self.row_column
        [(covariate, support)] = self.covariate_supports.items()
        if issparse(X):
            raise TypeError(
                f"the zeros of sparse rows are alike only without {covariate}={column!r}, a number of every row: "
                "pass a dense table, X.toarray()"
            )
        support = support._replace(remedy=f"It is the {covariate} of that row: correct it, or drop the row.")
        numbers = checked_numbers(table, [column], self.family.name, support)
        if np.isnan(numbers).any():
            raise RowError(
                f"column {column!r} is missing in row ",
                int(np.argmax(np.isnan(numbers))),
                f", but it holds the {covariate} of that row; fill it in, or drop the row",
            )
        return np.column_stack([X, numbers])


@final
@dataclass(frozen=True, eq=False)
class JointColumns(BoundColumns):
    """Columns of one family that depend on each other under another: all of them are one factor.

    Parameters
    ----------
    within : BoundColumns
        Of the one family; they encode and decode the rows.
    family : str
        Name of the other.
    dims : mapping of str to tuple of str
        Dimension names of every parameter.
    other_coords : mapping of str to list
        Labels of dimensions, beside those of ``within`` or in their place.
    """

    within: Any
    family: str
    dims: Dims
    other_coords: Mapping[str, list[Hashable]] = MappingProxyType({})

    @cached_property
    def described(self) -> dict[Hashable, Described]:
        return {column: each._replace(family=self.family) for column, each in self.within.described.items()}

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        return together(tuple(self.described))

    @cached_property
    def coords(self) -> dict[str, list[Hashable]]:
        return {**self.within.coords, **self.other_coords}

    @cached_property
    def covariate_supports(self) -> Mapping[str, Support]:
        return self.within.covariate_supports

    def encode(self, table: Table) -> Any:
        return self.within.encode(table)

    def decode(self, X: Any) -> dict[Hashable, Array]:
        return self.within.decode(X)

    def are_possible(self, X: Any) -> Array:
        return self.within.are_possible(X)

    def with_seen(self, X: Any, others: Any, *, apart: bool = False) -> Any:
        if apart:
            return self.within.with_seen(X, others, apart=True)
        places = np.arange(X.shape[0])
        return stack_rows([X, others])[np.where(self.are_possible(X), places, len(places) + places)]

    def label_rows(self, X: Any, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.within.label_rows(X, prefix)

    def covariates(self, X: Any) -> Covariates:
        return self.within.covariates(X)

    def marginal_rows(self, X: Any, factors: Sequence[int]) -> Any:
        return X if factors else self.within.marginal_rows(X, [])
