"""Columns of a table as a model takes them: gaps filled, levels as codes or indicators, numbers in bins or as normal scores.

What a recoding needs of the rows of a fit (medians, levels, quantiles) is read once and kept; labels have no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import ndtri

from bayesppl.data.levels import factorize, refuse_lookalikes, refuse_other_types
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array

#: One way to recode a column.
View = Literal["number", "filled", "score", "code", "code_of_gap", "code_filled", "bin", "indicators", "steps"]

#: Whole numbers of up to this many different values may be codes of levels.
FEW_VALUES = 10

#: Levels that get an indicator of their own; the others share the case in which all indicators are zero.
_MOST_INDICATORS = 30

_MOST_BINS = 12

#: Cells of a sparse matrix that may become a dense one, of a gigabyte.
_MOST_DENSE = 1 << 27
_STEPS = 5
_KNOTS = np.linspace(0.0, 1.0, 65)
_SAMPLE = 2000


@dataclass(frozen=True, eq=False)
class Column:
    """What the rows of a fit show of one column, whatever their labels.

    Attributes
    ----------
    name : hashable
    is_number : bool
        Whether its values are numbers; few whole ones may still be codes of levels.
    levels : tuple
        Different values, where they are few or no numbers; those of one row only are left out. Numbers ascend, other levels are in
        the order of their frequency.
    has_others : bool
        Whether there were values of one row only: what is new later counts among them, and is missing where there were none.
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
    median: float
    knots: Array
    scores: Array
    edges: Array
    step_edges: Array

    @property
    def may_be_levels(self) -> bool:
        return bool(self.levels)

    def numbers(self, table: Table) -> Array:
        """The cells as numbers, NaN where missing: (n_rows,)."""
        return np.array(table.select((self.name,)).numeric(), dtype=np.float64).reshape(len(table))

    def codes(self, table: Table) -> Array:
        """Places of the cells among the levels, -1 where missing, -2 where it is no level: (n_rows,)."""
        found, codes = factorize(table.column(self.name), self.name)
        known = {level: place for place, level in enumerate(self.levels)}
        refuse_other_types(self.name, known, found, codes)
        places = np.array([*(known.get(level, -2) for level in found), -1])
        return np.asarray(places[codes])


def dense(table: Table) -> Table:
    """The same table; sparse cells that are no counts are read like those of any other table.

    Raises
    ------
    ValueError
        If they would take more room than a gigabyte.
    """
    matrix: Any = getattr(table, "matrix", None)
    if not issparse(matrix):
        return table
    if matrix.shape[0] * matrix.shape[1] > _MOST_DENSE:
        raise ValueError(
            f"X is a sparse matrix of {matrix.shape[0]} by {matrix.shape[1]} numbers that are no counts, too many to be read as dense "
            "columns; pass counts (those of words, in place of tf-idf), or fewer columns"
        )
    return MatrixTable(table.names, matrix.toarray(), table.is_named)


def read_columns(table: Table) -> tuple[Column, ...]:
    """All columns that vary; of a column without two different values nothing can be learned."""
    table = dense(table)
    found = (_read(table, name) for name in table.names)
    return tuple(column for column in found if column is not None)


def _read(table: Table, name: Hashable) -> Column | None:
    import pandas as pd

    raw = table.column(name)
    if raw.dtype.kind == "O" and pd.isna(raw).all():
        return None
    kind = table.kind(name)
    return _read_levels(raw, name) if kind in ("category", "boolean") else _read_numbers(table, name)


def _read_levels(raw: Array, name: Hashable) -> Column | None:
    levels, codes = factorize(raw, name)
    refuse_lookalikes(name, levels, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    # the most frequent first, for names are no reason to be the level that has no indicator; equally frequent ones by their names
    kept = tuple(levels[i] for i in np.argsort(-counts, kind="stable").tolist() if counts[i] > 1)
    gaps = bool((codes < 0).any())
    if not kept or (len(levels) == 1 and not gaps):
        return None
    none = np.empty(0)
    return Column(name, False, kept, len(kept) < len(levels), gaps, 0.0, none, none, none, none)


def _read_numbers(table: Table, name: Hashable) -> Column | None:
    values = np.array(table.select((name,)).numeric(), dtype=np.float64).reshape(len(table))
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
    sample = present[:: max(1, len(present) // _SAMPLE)]
    few: tuple[Hashable, ...] = ()
    if len(np.unique(sample)) <= FEW_VALUES:
        distinct = np.unique(present)
        if len(distinct) <= FEW_VALUES and (distinct == np.round(distinct)).all():
            few = tuple(int(value) for value in distinct)
    ordered = np.sort(present)
    knots, scores = _normal_scores(ordered)
    bins = int(np.clip(round(len(present) ** (1 / 3)), 3, _MOST_BINS))
    return Column(
        name,
        True,
        few,
        False,
        has_gaps,
        _quantile(ordered, 0.5),
        knots,
        scores,
        _edges(ordered, bins),
        _edges(ordered, _STEPS),
    )


def _quantile(ordered: Array, share: float) -> float:
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def _edges(ordered: Array, bins: int) -> Array:
    edges = np.unique([_quantile(ordered, i / bins) for i in range(1, bins)])
    return edges[edges < ordered[-1]]


def _normal_scores(ordered: Array) -> tuple[Array, Array]:
    """Quantiles and the scores of their ranks, midranks where values are equal."""
    n_rows = len(ordered)
    knots = np.unique(ordered[np.round(_KNOTS * (n_rows - 1)).astype(int)])
    below, upto = np.searchsorted(ordered, knots, "left"), np.searchsorted(ordered, knots, "right")
    return knots, ndtri((below + upto) / (2 * n_rows))


def _number(column: Column, table: Table) -> list[Array]:
    return [column.numbers(table)]


def _with_gaps(column: Column, values: Array, filled: Array) -> list[Array]:
    return [filled, np.isnan(values).astype(np.float64)] if column.has_gaps else [filled]


def _filled(column: Column, table: Table) -> list[Array]:
    values = column.numbers(table)
    return _with_gaps(column, values, np.where(np.isnan(values), column.median, values))


def _score(column: Column, table: Table) -> list[Array]:
    values = column.numbers(table)
    scores = np.interp(values, column.knots, column.scores)
    return _with_gaps(column, values, np.where(np.isnan(values), 0.0, scores))


def _code(column: Column, table: Table) -> list[Array]:
    return [_seen(column, column.codes(table), gaps=False)]


def _code_of_gap(column: Column, table: Table) -> list[Array]:
    return [_seen(column, column.codes(table), gaps=column.has_gaps)]


def _code_filled(column: Column, table: Table) -> list[Array]:
    codes = column.codes(table)
    new = ((codes == -1) & (not column.has_gaps)) | ((codes == -2) & (not column.has_others))
    return [np.where(new, 0, codes).astype(np.float64)]


def _seen(column: Column, codes: Array, *, gaps: bool) -> Array:
    """Codes as numbers, NaN for what did not occur in training, and for gaps unless they are a level."""
    out = codes.astype(np.float64)
    if not gaps:
        out[codes == -1] = np.nan
    if not column.has_others:
        out[codes == -2] = np.nan
    return out


def _binned(edges: Array, values: Array) -> Array:
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values, side="left"))


def _bin(column: Column, table: Table) -> list[Array]:
    return [_seen(column, _binned(column.edges, column.numbers(table)), gaps=column.has_gaps)]


def _indicator_columns(codes: Array, size: int, has_gaps: bool) -> list[Array]:
    """One for each code but the first, and one for gaps."""
    wanted = [*range(1, min(size, _MOST_INDICATORS + 1)), *([-1] if has_gaps else [])]
    return [(codes == code).astype(np.float64) for code in wanted]


def _indicators(column: Column, table: Table) -> list[Array]:
    return _indicator_columns(column.codes(table), len(column.levels), column.has_gaps)


def _steps(column: Column, table: Table) -> list[Array]:
    codes = _binned(column.step_edges, column.numbers(table))
    return _indicator_columns(codes, len(column.step_edges) + 1, column.has_gaps)


_VIEWS: Mapping[str, Callable[[Column, Table], list[Array]]] = {
    "number": _number,
    "filled": _filled,
    "score": _score,
    "code": _code,
    "code_of_gap": _code_of_gap,
    "code_filled": _code_filled,
    "bin": _bin,
    "indicators": _indicators,
    "steps": _steps,
}


@dataclass(frozen=True, eq=False)
class Recoding:
    """Every column seen in one way.

    Attributes
    ----------
    columns : tuple of Column
    views : tuple of str
        One for each column: ``number`` and ``code`` keep gaps; ``filled`` and ``score`` (normal scores) fill them and add
        an indicator, ``code_of_gap`` and ``bin`` make them a level, and so does ``code_filled``, where what the fit has not seen is the
        first level; ``indicators`` and ``steps`` are zeros and ones, for
        each level or bin but the first.
    """

    columns: tuple[Column, ...]
    views: tuple[View, ...]

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """Which of the columns of a table matter: those that varied."""
        return [column.name for column in self.columns]

    def levels(self, of_recoded: Mapping[Hashable, Sequence[Hashable]]) -> dict[Hashable, tuple[Hashable, ...]]:
        """Of the columns before they are recoded, from what is known of the recoded ones; none of numbers."""
        return {column.name: column.levels for column in self.columns if not column.is_number}

    @property
    def width(self) -> int:
        """Number of recoded columns."""
        none = MatrixTable(tuple(column.name for column in self.columns), np.empty((0, len(self.columns))))
        return len(self(none).names)

    def __call__(self, table: Table) -> Table:
        """The recoded rows; columns are named after those that they come from."""
        table = dense(table)
        cells: list[Array] = []
        names: list[Hashable] = []
        for column, view in zip(self.columns, self.views, strict=True):
            made = _VIEWS[view](column, table)
            cells += made
            names += [column.name if not i else f"{column.name} ({i})" for i in range(len(made))]
        if len(set(names)) < len(names):  # a column that is called like the second part of another
            names = [f"{place}: {name}" for place, name in enumerate(names)]
        matrix = np.empty((len(table), len(cells)), order="F")
        for place, values in enumerate(cells):
            matrix[:, place] = values
        return MatrixTable(tuple(names), matrix, is_named=True)


@dataclass(frozen=True, eq=False)
class Presence:
    """Which cells are not zero, of counts, sparse in the fit."""

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """All columns matter."""
        return names

    def levels(self, of_recoded: Mapping[Hashable, Sequence[Hashable]]) -> dict[Hashable, tuple[Hashable, ...]]:
        """Counts have none."""
        return {}

    def __call__(self, table: Table) -> Table:
        present = csr_array(table.numeric() != 0).astype(np.float64)
        return MatrixTable(table.names, present, table.is_named)


@dataclass(frozen=True, eq=False)
class AsTheyAre:
    """Rows that are not recoded."""

    def columns_read(self, names: Sequence[Hashable]) -> Sequence[Hashable]:
        """All columns matter."""
        return names

    def levels(self, of_recoded: Mapping[Hashable, Sequence[Hashable]]) -> dict[Hashable, tuple[Hashable, ...]]:
        """Those of the columns as they are."""
        return {name: tuple(levels) for name, levels in of_recoded.items()}

    def __call__(self, table: Table) -> Table:
        return table
