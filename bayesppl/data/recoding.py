"""Transformers of tables: gaps filled, levels as codes or indicators, numbers in bins or as normal scores.

They follow scikit-learn's contract and look at no labels, so that they are fitted once where rows are left out.
What is read of the rows of a fit (medians, levels, quantiles) is the same for every way to recode them: read
once, it is shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from bayesppl.data.columns import beyond_floats, missing, refuse_rounding
from bayesppl.data.levels import factorize, refuse_lookalikes, refuse_other_types
from bayesppl.data.read_table import as_table
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array

#: One way to recode a column.
View = Literal["number", "filled", "score", "code", "code_filled", "bin_filled", "indicators", "steps"]

_SUMMED = ("code_filled", "bin_filled")
_CODES = ("code", *_SUMMED)

#: Whole numbers of up to this many different values may be codes of levels.
FEW_VALUES = 10

#: Levels that get an indicator of their own; the others share the case in which all indicators are zero.
_MOST_INDICATORS = 30

#: Combinations of levels over which trees and location models sum.
_MOST_COMBINATIONS = 4096

_MOST_BINS = 12
_STEPS = 5
_KNOTS = np.linspace(0.0, 1.0, 65)
_SAMPLE = 2000
_NONE: Sequence[float] = ()

#: Cells of a sparse matrix that may become a dense one, of a gigabyte.
_MOST_DENSE = 1 << 27


@dataclass(frozen=True, eq=False)
class Column:
    """What the rows of a fit show of one column, whatever their labels.

    Attributes
    ----------
    name : hashable
    is_number : bool
        Whether its values are numbers; few whole ones may still be codes of levels.
    levels : tuple
        Different values, where they are few or no numbers; those of one row only are left out. Numbers ascend,
        other levels are in the order of their frequency.
    has_others : bool
        Whether there were values of one row only: what is new later counts among them, and is missing where there
        were none.
    has_gaps : bool
    median : float
    knots, scores : (n_knots,)
        Quantiles, and the normal quantiles of their ranks.
    edges, step_edges : (n_edges,)
        Upper bounds of all bins but the last, many and few.
    """

    name: Hashable
    is_number: bool
    levels: tuple[Hashable, ...]
    has_others: bool
    has_gaps: bool
    median: float = 0.0
    knots: Array | Sequence[float] = _NONE
    scores: Array | Sequence[float] = _NONE
    edges: Array | Sequence[float] = _NONE
    step_edges: Array | Sequence[float] = _NONE

    def recoded(self, table: Table, view: View) -> list[Array]:
        """Recode the cells of a table as one or several columns: arrays (n_rows,) of numbers."""
        if view in ("number", "filled", "score"):
            values = _floats(table, self.name)
            if view == "number":
                return [values]
            gaps, middle = np.isnan(values), self.median
            if view == "score":
                values, middle = np.interp(values, self.knots, self.scores), 0.0
            # a gap says nothing where the fit had none, and is an observation where it had some
            return [np.where(gaps, middle, values), gaps.astype(np.float64)] if self.has_gaps else [values]
        codes = self._codes(table, view)
        is_new = (codes == -2) & (not self.has_others)
        is_new |= (codes == -1) & (view == "code" or not self.has_gaps)
        if view in ("indicators", "steps"):
            size = len(self.levels) if view == "indicators" else len(self.step_edges) + 1
            wanted = [*range(1, min(size, _MOST_INDICATORS + 1)), *([-1] if self.has_gaps else [])]
            return [np.where(is_new, np.nan, codes == code) for code in wanted]
        return [np.where(is_new, np.nan, codes)]

    def most_codes(self, view: View) -> int:
        """Bound the number of levels or bins of a family of codes, one for what is still to come included."""
        own = len(self.edges) + 1 if view == "bin_filled" else len(self.levels) + self.has_others
        return own + self.has_gaps + 1

    def _codes(self, table: Table, view: View) -> Array:
        """Return bins, or places among the levels; -1 where the cell is missing, -2 for no level: (n_rows,)."""
        if view in ("bin_filled", "steps"):
            values = _floats(table, self.name)
            bins = np.searchsorted(self.step_edges if view == "steps" else self.edges, values, side="left")
            return np.where(np.isnan(values), -1, bins)
        found, codes = factorize(table.column(self.name), self.name)
        known = {level: place for place, level in enumerate(self.levels)}
        refuse_other_types(self.name, known, found, codes)
        return np.array([*(known.get(level, -2) for level in found), -1])[codes]


def read_columns(table: Table) -> tuple[Column, ...]:
    """Read all columns that vary; of a column without two different values nothing can be learned."""
    table = _dense(table)
    found = (_read(table, name) for name in table.names)
    return tuple(column for column in found if column is not None)


def _read(table: Table, name: Hashable) -> Column | None:
    cells = table.column(name)
    if cells.dtype.kind == "O" and missing(cells).all():
        return None
    if table.kind(name) in ("category", "boolean"):
        return _read_levels(cells, name)
    return _read_numbers(_floats(table, name), name)


def _read_levels(cells: Array, name: Hashable) -> Column | None:
    levels, codes = factorize(cells, name)
    refuse_lookalikes(name, levels, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    # the most frequent first, for names are no reason to be the level that has no indicator; equally frequent
    # ones by their names
    kept = tuple(levels[i] for i in np.argsort(-counts, kind="stable").tolist() if counts[i] > 1)
    has_gaps = bool((codes < 0).any())
    if not kept or (len(levels) == 1 and not has_gaps):
        return None
    return Column(name, False, kept, len(kept) < len(levels), has_gaps)


def _read_numbers(values: Array, name: Hashable) -> Column | None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise RowError(
            f"column {name!r} holds {values[row]:g} in row ",
            row,
            ", where a finite number must be; replace infinities, or drop the rows that hold them",
        )
    present = values[~np.isnan(values)]
    has_gaps = len(present) < len(values)
    if not len(present) or (present.min() == present.max() and not has_gaps):
        return None
    few: tuple[Hashable, ...] = ()
    if len(np.unique(present[:: max(1, len(present) // _SAMPLE)])) <= FEW_VALUES:
        distinct = np.unique(present)
        if len(distinct) <= FEW_VALUES and (distinct == np.round(distinct)).all():
            few = tuple(int(value) for value in distinct)
    ordered = np.sort(present)
    bins = int(np.clip(round(len(present) ** (1 / 3)), 3, _MOST_BINS))
    median = float(_quantiles(ordered, 2)[0])
    return Column(
        name,
        True,
        few,
        False,
        has_gaps,
        median,
        *_normal_scores(ordered),
        _edges(ordered, bins),
        _edges(ordered, _STEPS),
    )


def _quantiles(ordered: Array, parts: int) -> Array:
    """Find values that divide the others into so many parts, each of them one that occurs: (parts - 1,)."""
    return ordered[[min(len(ordered) - 1, int(i / parts * len(ordered))) for i in range(1, parts)]]


def _edges(ordered: Array, bins: int) -> Array:
    edges = np.unique(_quantiles(ordered, bins))
    return edges[edges < ordered[-1]]


def _normal_scores(ordered: Array) -> tuple[Array, Array]:
    """Return quantiles and the scores of their ranks, midranks where values are equal."""
    n_rows = len(ordered)
    knots = np.unique(ordered[np.round(_KNOTS * (n_rows - 1)).astype(int)])
    below, upto = np.searchsorted(ordered, knots, "left"), np.searchsorted(ordered, knots, "right")
    return knots, ndtri((below + upto) / (2 * n_rows))


def _floats(table: Table, name: Hashable) -> Array:
    """Read the cells of a column as numbers, NaN where missing: (n_rows,)."""
    cells = table.column(name)
    if cells.dtype.kind not in "fiub":
        cells = table.select((name,)).numeric().reshape(len(table))
    if cells.dtype.kind in "iu" and beyond_floats(cells):
        refuse_rounding(cells, name)
    return np.array(cells, dtype=np.float64)


def _dense(table: Table) -> Table:
    """Read sparse cells that are no counts like those of any other table.

    Raises
    ------
    ValueError
        If they would take more room than a gigabyte.
    """
    matrix = table.matrix
    if not issparse(matrix):
        return table
    if matrix.shape[0] * matrix.shape[1] > _MOST_DENSE:
        raise ValueError(
            f"X is a sparse matrix of {matrix.shape[0]} by {matrix.shape[1]} numbers that are no counts, too "
            "many to be read as dense columns; pass counts (those of words, in place of tf-idf), or fewer columns"
        )
    return MatrixTable(table.names, matrix.toarray(), table.is_named)


@dataclass(eq=False, repr=False)
class Recoding(BaseEstimator):
    """Recode numbers in one way, levels in another.

    ``number`` and ``code`` keep gaps; ``filled`` and ``score`` (normal scores) fill them and add an indicator;
    ``code_filled`` and ``bin_filled`` make them a level; ``indicators`` and ``steps`` are zeros and ones, for each
    level or bin but the first. A gap in a column that had none in the fit, and a level that is new, are missing
    in all that they become. Families of codes sum over the levels of missing cells: of a row that lacks more of
    them than can be summed over, nothing is kept.

    Parameters
    ----------
    numbers : {"number", "filled", "score", "bin_filled", "steps"}
    levels : {"code", "code_filled", "indicators"}
    few : one of these, optional
        For whole numbers of few different values; like levels by default.

    Attributes
    ----------
    columns_ : tuple of Column
        Those that varied in the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.5, 2.5, None, 7.5], "kind": ["a", "b", "a", "b"]})
    >>> Recoding("filled", "indicators").fit(X).transform(X).numeric().tolist()
    [[1.5, 0.0, 0.0], [2.5, 0.0, 1.0], [2.5, 1.0, 0.0], [7.5, 0.0, 1.0]]
    """

    numbers: View = "number"
    levels: View = "code"
    few: View | None = None
    columns_: tuple[Column, ...] = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read medians, levels and quantiles of a table; labels have no part in it."""
        return self.adopt(read_columns(as_table(X)))

    def adopt(self, columns: tuple[Column, ...]) -> Self:
        """Hold columns that were read before."""
        self.columns_ = columns
        return self

    def view(self, column: Column) -> View:
        """Choose how a column is recoded."""
        if column.is_number and not column.levels:
            return self.numbers
        return self.few if column.is_number and self.few is not None else self.levels

    def transform(self, X: Any) -> Table:
        """Recode rows; columns are named after those that they come from."""
        table = _dense(as_table(X))
        cells: list[Array] = []
        names: list[Hashable] = []
        are_codes: list[bool] = []
        for column in self.columns_:
            made = column.recoded(table, self.view(column))
            are_codes += [self.view(column) in _CODES] * len(made)
            cells += made
            names += [column.name if not i else f"{column.name} ({i})" for i in range(len(made))]
        if len(set(names)) < len(names):  # a column that is called like the second part of another
            names = [f"{place}: {name}" for place, name in enumerate(names)]
        matrix = np.array(cells, dtype=np.float64).reshape(len(cells), len(table))
        if np.isnan(matrix).any():
            matrix[:, self._lack_too_many(matrix)] = np.nan
        coded = frozenset(name for name, is_code in zip(names, are_codes, strict=True) if is_code)
        return MatrixTable(tuple(names), matrix.T, True, coded)

    def _lack_too_many(self, matrix: Array) -> Array:
        """Which rows lack levels of more combinations than families sum over: (n_rows,) of bool."""
        views = [self.view(column) for column in self.columns_]
        counts = [c.most_codes(v) if v in _SUMMED else 1 for c, v in zip(self.columns_, views, strict=True)]
        logs = np.log(np.repeat(counts, self.widths()))
        return np.asarray(logs @ np.isnan(matrix) > np.log(_MOST_COMBINATIONS))

    def widths(self) -> list[int]:
        """Count the columns that every column becomes."""
        none = MatrixTable(tuple(column.name for column in self.columns_), np.empty((0, len(self.columns_))))
        return [len(column.recoded(none, self.view(column))) for column in self.columns_]

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: those that varied."""
        return [column.name for column in self.columns_]

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each recoded column is made of: one."""
        return [(c.name,) for c, width in zip(self.columns_, self.widths(), strict=True) for _ in range(width)]

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded; numbers have none."""
        return {column.name: column.levels for column in self.columns_ if not column.is_number}


class RecodedFirst(BaseEstimator):
    """A transformer of columns that are recoded first, and are those that its own stand for."""

    recoding: Recoding

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns of a table that matter: those that varied."""
        return self.recoding.columns_read(names)

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns that are recoded; numbers have none."""
        return self.recoding.known_levels(of_recoded)


@dataclass(eq=False, repr=False)
class Unrecoded(BaseEstimator):
    """Leave rows as they are, or write only which of their sparse counts are not zero.

    Parameters
    ----------
    presence : bool
        Whether to write one where a cell is not zero.

    Attributes
    ----------
    columns_ : tuple
        Those that are kept; none where all are.
    """

    presence: bool = False
    columns_: tuple[Hashable, ...] = field(default=(), init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the columns that two rows at least hold something of: words of one document are never seen again.

        What no other row shows cannot speak for a row that is left out, nor for a new one.
        """
        table = as_table(X)
        n_rows = np.asarray((table.numeric() != 0).sum(axis=0)).ravel()
        self.columns_ = tuple(name for name, n in zip(table.names, n_rows.tolist(), strict=True) if n > 1)
        return self

    def transform(self, X: Any) -> Table:
        """Read rows."""
        table = as_table(X)
        if self.columns_:
            table = table.select(self.columns_)
        if not self.presence:
            return table
        present = csr_array(table.numeric() != 0).astype(np.float64)
        return MatrixTable(table.names, present, table.is_named)

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Name the columns that matter."""
        return self.columns_ or names

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each column is made of: itself."""
        return [(name,) for name in self.columns_read(names)]

    def known_levels(
        self, of_recoded: Mapping[Hashable, Sequence[Hashable]]
    ) -> dict[Hashable, tuple[Hashable, ...]]:
        """Find the levels of the columns, which are those of the model."""
        return {name: tuple(levels) for name, levels in of_recoded.items()}
