"""Columns that hold levels: the levels, the codes of their cells, and the tables that columns share.

Where levels are learned, every column gets one more outcome, ``"(unseen)"``, which stands for all levels still to
come: it has a prior concentration and no counts. Its probability in a class falls with the rows of the class, so
that a level that did not occur would be evidence for the class of the fewest rows, and strong evidence. Rows come
from an open vocabulary rather: something new turns up as often in one class as in another, and is then no evidence
for any class. By default such a cell is skipped, as a missing one is, with a warning; as an outcome like any other
it is on request.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from numbers import Integral
from types import MappingProxyType
from typing import Any, Literal, final, get_args

import numpy as np

from bayesppl.conjugate.outcomes import Outcomes, Tables
from bayesppl.data.arguments import one_of
from bayesppl.data.levels import factorize, refuse_other_types
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families.bound import BoundColumns, Described, Dims, Factor, together
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.find_levels import (
    Levels,
    declared_levels,
    levels_that_occur,
    refuse_unseen,
    skip_unseen,
    unseen_beside,
)
from bayesppl.families.support import numbers_of
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.integer_levels import Places, smallest_type

#: What an unseen level is: a missing cell, an error, or an outcome of each class with a probability of its own.
Unseen = Literal["missing", "error", "learned"]

#: Where a column of numbers is cut into bins; None for a column of levels.
Cuts = tuple[float, ...] | None

# in the place of a code, for a value that is no level
_UNKNOWN = -2


@final
@dataclass(frozen=True, eq=False)
class LevelColumns(BoundColumns):
    """Columns of levels, or of bins; encoded rows are the codes of these, -1 where a cell is missing.

    Attributes
    ----------
    family : str
        Name of the family.
    columns : tuple
    outcomes : tuple of tuples
        Of each column: its levels, or a value of every bin.
    unseen : {"missing", "error", "learned"} or None
        What a level is that did not occur where levels were learned, which the last outcome of each column then
        stands for; None where all levels were declared.
    groups : tuple of tuples of int
        Columns that share a table, by place. Where tables overlap, those of single columns stand first.
    is_joint : bool
        Whether all columns share one table, whose cells are named by their levels alone.
    cuts : tuple
        Where each column is cut into bins, if it holds numbers.
    """

    family: str
    columns: tuple[Hashable, ...]
    outcomes: tuple[tuple[Hashable, ...], ...]
    unseen: Unseen | None
    groups: tuple[tuple[int, ...], ...]
    is_joint: bool
    cuts: tuple[Cuts, ...]

    dims: Dims = MappingProxyType({"probability": ("class", "cell")})

    @cached_property
    def tables(self) -> Tables:
        return Tables(self.groups, tuple(map(len, self.outcomes)), self.columns)

    @property
    def named(self) -> tuple[tuple[Hashable, ...], ...]:
        """The levels of every column that a cell can hold; none where it is cut into bins."""
        last = None if self.unseen is None else -1
        pairs = zip(self.outcomes, self.cuts, strict=True)
        return tuple(levels[:last] if cuts is None else () for levels, cuts in pairs)

    @cached_property
    def described(self) -> dict[Hashable, Described]:
        levels = zip(self.columns, self.named, strict=True)
        return {column: Described(self.family, "mass", of_column) for column, of_column in levels}

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        if self.is_joint:
            return together(self.columns)
        tables = zip(self.table_names, self.groups, strict=True)
        return tuple(Factor(name, tuple(self.columns[j] for j in group)) for name, group in tables)

    @property
    def table_names(self) -> list[Hashable]:
        """The name of each table: that of its column, or those of all its columns."""
        if len(self.groups) == len(self.columns):
            return list(self.columns)
        return [" × ".join(str(self.columns[j]) for j in group) for group in self.groups]

    @cached_property
    def coords(self) -> dict[str, list[Any]]:
        of_tables = [list(product(*(self.outcomes[j] for j in group))) for group in self.groups]
        if self.is_joint:
            return {"cell": cell_names(of_tables[0], ", ")}
        cells = (
            (name, cell[0] if len(cell) == 1 else label)
            for name, of_table in zip(self.table_names, of_tables, strict=True)
            for cell, label in zip(of_table, cell_names(of_table, ", "), strict=True)
        )
        return {"cell": cell_names(cells, "="), "feature": self.table_names}

    def encode(self, table: Table) -> Array:
        """Return the codes of the levels; an unseen one is treated as ``unseen`` says."""
        codes = self.codes(table)
        if self.unseen in ("missing", "error"):
            handle = skip_unseen if self.unseen == "missing" else refuse_unseen
            last = np.array(self.tables.n_levels) - 1
            handle(table, codes, self.columns, np.where([cuts is None for cuts in self.cuts], last, _UNKNOWN))
        return codes

    def codes(self, table: Table) -> Array:
        """Return the codes of the levels, of an unseen one that of the last outcome."""
        table = table.select(self.columns)
        codes = np.empty((len(table), len(self.columns)), dtype=smallest_type(max(self.tables.n_levels)))
        places = self._places
        whole = None if places is None else table.integers()
        are_found = whole is not None and places is not None and places.look_up(whole, codes)
        if not are_found or (self.unseen is None and (codes == _UNKNOWN).any()):
            for j, (name, cuts) in enumerate(zip(self.columns, self.cuts, strict=True)):
                codes[:, j] = self._codes(table.column(name), j) if cuts is None else self._bins(table, name, cuts)
        return codes

    def decode(self, X: Array) -> dict[Hashable, Array]:
        """Return the levels of every column."""
        return {
            name: np.asarray(levels, dtype=object)[X[:, j]]
            for j, (name, levels) in enumerate(zip(self.columns, self.outcomes, strict=True))
        }

    def are_possible(self, X: Array) -> Array:
        return ~self._unseen(X).any(1)

    def with_seen(self, X: Array, others: Array, *, apart: bool = False) -> Array:
        unseen = self._unseen(X)
        for group in () if apart else map(list, self.groups):
            unseen[:, group] = unseen[:, group].any(1, keepdims=True)
        return np.where(unseen, others, X)

    def _unseen(self, X: Array) -> Array:
        """Find cells of unseen levels, where these are no outcome of rows: (n_rows, n_columns)."""
        pairs = zip(self.outcomes, self.cuts, strict=True)
        last = [len(levels) - 1 if cuts is None else -2 for levels, cuts in pairs]  # bins have none
        return np.asarray((last == X) & (self.unseen in ("missing", "error")))

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """Return the codes of the cells, -1 where a level is missing; where tables overlap, of single columns."""
        cells = Outcomes(X, self.tables).codes[:, : len(self.columns)].astype(np.int64)
        return {f"{prefix}x": (("row",), cells[:, 0]) if self.is_joint else (("row", f"{prefix}feature"), cells)}

    def covariates(self, X: Array) -> Covariates:
        return NO_COVARIATES

    def marginal_rows(self, X: Array, factors: Sequence[int]) -> Array:
        """Return rows of which only the columns of these tables are seen."""
        if len(factors) == len(self.groups):
            return X
        out, columns = np.full_like(X, -1), [j for factor in factors for j in self.groups[factor]]
        out[:, columns] = X[:, columns]
        return out

    @property
    def indicator_names(self) -> list[str]:
        """The names of the columns of :meth:`indicators`."""
        pairs = zip(self.columns, self.outcomes, strict=True)
        return cell_names(((name, level) for name, levels in pairs for level in levels), "=")

    def indicators(self, X: Array) -> Array:
        r"""Return an indicator for every level, centred over the named levels of its column.

        Level l of a column of L levels becomes :math:`e_l - 1/L`, so that an intercept beside them is the mean
        over all levels with equal weights. An outcome that stands for levels still to come has an indicator of its
        own and is not among the L.

        Parameters
        ----------
        X : (n_rows, n_columns)

        Returns
        -------
        (n_rows, n_indicators)
            Zeros where a code is missing.
        """
        blocks = []
        for codes, levels, named in zip(X.T, self.outcomes, self.named, strict=True):
            table = np.eye(len(levels))
            table[:, : len(named)] -= 1 / max(len(named), 1)
            blocks.append(np.vstack([table, np.zeros(len(levels))])[codes.astype(np.intp)])
        return np.hstack(blocks)

    @cached_property
    def _positions(self) -> tuple[dict[Hashable, int], ...]:
        """Map every level of every column to its code."""
        return tuple({level: i for i, level in enumerate(levels)} for levels in self.named)

    @cached_property
    def _places(self) -> Places | None:
        """Return the codes of levels that are whole numbers; None where some level is none, or there are bins."""
        if any(cuts is not None for cuts in self.cuts):
            return None
        if not all(isinstance(level, Integral) for levels in self.named for level in levels):
            return None
        unknown = [_UNKNOWN if self.unseen is None else len(levels) for levels in self.named]
        # every level is a whole number, as was checked above; mypy takes no Hashable for an Integral
        codes = [[int(level) for level in levels] for levels in self.named]  # type: ignore[call-overload]
        return Places.of(codes, unknown)

    def _bins(self, table: Table, name: Hashable, cuts: tuple[float, ...]) -> Array:
        """Return the bin of every number, -1 where it is missing."""
        x = numbers_of(table, name, self.family)
        return np.where(np.isnan(x), -1, np.searchsorted(cuts, x, side="right"))

    def _codes(self, values: Array, j: int) -> Array:
        found, codes = factorize(values, self.columns[j])
        position = self._positions[j]
        if self.unseen is not None:
            refuse_other_types(self.columns[j], position, found, codes)
        unknown = [level for level in found if level not in position]
        if unknown and self.unseen is None:
            raise RowError(
                f"column {self.columns[j]!r} holds {unknown[0]!r} in row ",
                int(np.argmax(codes == found.index(unknown[0]))),
                f", which is not among its declared levels {list(self.outcomes[j])}. Correct the value, or "
                "declare the level; a family with levels=None learns them, and allows for unseen ones.",
            )
        return np.asarray([*(position.get(level, len(position)) for level in found), -1])[codes]


def outcomes_of(table: Table, levels: Levels | None, unseen: Unseen) -> tuple[tuple[Hashable, ...], ...]:
    """Return the outcomes of every column: levels as declared, or those that occur and one for all others."""
    one_of("unseen", unseen, get_args(Unseen))
    if levels is None:
        return tuple((*found, unseen_beside(found)) for found in levels_that_occur(table))
    declared = declared_levels(levels, table.names)
    return tuple(declared[name] for name in table.names)


def cell_names(cells: Iterable[tuple[Hashable, ...]], separator: str) -> list[str]:
    """Return a name for each cell; spelt as in Python where two would have the same."""
    cells = list(cells)
    names = [separator.join(map(str, cell)) for cell in cells]
    if len(set(names)) == len(names):
        return names
    return [separator.join(map(repr, cell)) for cell in cells]
