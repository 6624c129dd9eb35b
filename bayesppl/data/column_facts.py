"""What the rows of a fit show of columns, and the columns of numbers that each can become."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri

from bayesppl.data.columns import beyond_floats, missing, refuse_rounding
from bayesppl.data.levels import check_levels, factorize, refuse_other_types
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array

#: One way to recode a column.
View = Literal["number", "filled", "score", "code", "code_filled", "bin_filled", "indicators", "steps"]

#: Whole numbers of up to this many different values may be codes of levels.
FEW_VALUES = 10

#: Levels that get an indicator of their own; the others share the case in which all indicators are zero.
_MOST_INDICATORS = 30

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
        other levels are in the order of their frequency. Empty where all that is learned is whether a number
        is there.
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

    def unseen(self, table: Table) -> tuple[list[Hashable], Array]:
        """Find levels that did not occur in the fit, and which rows hold them: (n_rows,) bool."""
        is_new = self._codes(table, "code") == -2
        return list(dict.fromkeys(table.column(self.name)[is_new].tolist())), is_new

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
        if not self.levels:  # whether a number is there
            values = _floats(table, self.name)
            _refuse_infinite(values, self.name)
            return np.where(np.isnan(values), -1, -2)
        found, codes = factorize(table.column(self.name), self.name)
        known = {level: place for place, level in enumerate(self.levels)}
        refuse_other_types(self.name, known, found, codes)
        return np.array([*(known.get(level, -2) for level in found), -1])[codes]


def read_columns(table: Table) -> tuple[Column, ...]:
    """Read all columns that vary; of a column without two different values nothing can be learned."""
    table = dense_cells(table)
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
    check_levels(name, levels, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    # the most frequent first, for names are no reason to be the level that has no indicator; equally frequent
    # ones by their names
    kept = tuple(levels[i] for i in np.argsort(-counts, kind="stable").tolist() if counts[i] > 1)
    has_gaps = bool((codes < 0).any())
    if not kept or (len(levels) == 1 and not has_gaps):
        return None
    return Column(name, False, kept, len(kept) < len(levels), has_gaps)


def _read_numbers(values: Array, name: Hashable) -> Column | None:
    _refuse_infinite(values, name)
    present = values[~np.isnan(values)]
    has_gaps = len(present) < len(values)
    if not len(present):
        return None
    if present.min() == present.max():  # all that varies is whether a value is there, whatever it is
        return Column(name, False, (), True, True) if has_gaps else None
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


def _refuse_infinite(values: Array, name: Hashable) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(infinite.argmax())
        raise RowError(
            f"column {name!r} holds {values[row]:g} in row ",
            row,
            ", where a finite number must be; replace infinities, or drop the rows that hold them",
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


def dense_cells(table: Table) -> Table:
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
