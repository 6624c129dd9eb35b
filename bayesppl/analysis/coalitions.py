"""Rows of which only some columns are seen: what a model makes of any set of columns, the others missing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayesppl.data.columns import beyond_floats, missing
from bayesppl.data.table import MatrixTable, Table
from bayesppl.families.bound import GIVEN_TOTAL
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted

#: Up to so many units all orders are averaged, through all sets of units; of more, orders are drawn.
MOST_UNITS = 10

# Cells of the rows that are made at once.
_CELLS = 1 << 20

#: From a table of rows to log p(y = k, x): (..., n_rows, n_classes).
Score = Callable[[Table], Array]


class Steps(NamedTuple):
    """Ways from no unit to all of them, one unit at a time.

    Attributes
    ----------
    sets : (n_sets, n_units) bool
    before, after : (n_steps,)
        Places of sets; ``after`` has one unit more.
    unit : (n_steps,)
        That unit.
    weight : (n_steps,)
    lot : (n_steps,)
        Steps of one lot are a share by themselves; lots are independent.
    """

    sets: Array
    before: Array
    after: Array
    unit: Array
    weight: Array
    lot: Array


def all_orders(n: int) -> Steps:
    """Every order of ``n`` units, by the sets that stand before each unit (Shapley 1953)."""
    numbers = np.arange(1 << n)
    sets = (numbers[:, None] >> np.arange(n) & 1).astype(bool)
    sizes = sets.sum(1)
    before, unit = np.nonzero(~sets)
    weight = np.array([1 / (n * comb(n - 1, size)) if size < n else 0.0 for size in range(n + 1)])[sizes[before]]
    return Steps(sets, before, before + (1 << unit), unit, weight, np.zeros(len(unit), np.intp))


def in_orders(orders: Sequence[Array], lots: Sequence[int] | Array) -> Steps:
    """A few orders of the units, averaged."""
    n = len(orders[0])
    ways = np.array([[np.isin(np.arange(n), order[:m]) for m in range(n + 1)] for order in orders])
    sets, places = np.unique(ways.reshape(-1, n), axis=0, return_inverse=True)
    places = places.reshape(len(orders), n + 1)
    return Steps(
        sets,
        places[:, :-1].ravel(),
        places[:, 1:].ravel(),
        np.concatenate(orders),
        np.full(len(orders) * n, 1 / len(orders)),
        np.repeat(lots, n),
    )


def drawn_orders(n: int, size: int, rng: np.random.Generator) -> Steps:
    """Random orders of ``n`` units, each followed by its reverse: a lot of two."""
    forward = [rng.permutation(n) for _ in range(max(2, -(-size // 2)))]
    orders = [order for pair in forward for order in (pair, pair[::-1])]
    return in_orders(orders, np.arange(len(orders)) // 2)


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Rows that can be looked at with only some of their units.

    Attributes
    ----------
    names : tuple
        Columns of the fit.
    values : (n_rows, n_columns)
        Numbers, or objects where some column holds none.
    belongs : (n_units, n_columns) bool
        The columns of every unit.
    counts : (n_columns,) bool
        Columns that a row lacks by a count of zero: a document without a word is another document, not a gap.
    """

    names: tuple[Hashable, ...]
    values: Array
    belongs: Array
    counts: Array

    @classmethod
    def read(cls, fitted: Fitted, X: Any, units: Sequence[Sequence[Hashable]]) -> SeenRows:
        table = fitted.columns.align(X)
        fitted.model.family.bound.encode(
            table
        )  # refuses what it refuses by the rows of the caller, not by those of a few units
        columns = [table.column(name) for name in table.names]
        are_numbers = all(column.dtype.kind in "fiu" and not beyond_floats(column) for column in columns)
        dtype = np.float64 if are_numbers else object
        values = np.empty((len(table), len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            values[:, j] = column
        place = {name: j for j, name in enumerate(table.names)}
        belongs = np.zeros((len(units), len(columns)), bool)
        for u, names in enumerate(units):
            belongs[u, [place[name] for name in names]] = True
        measures = fitted.model.family.bound.measures
        counts = np.array([measures.get(name) in GIVEN_TOTAL for name in table.names])
        return cls(table.names, values, belongs, counts)

    @property
    def present(self) -> Array:
        """Which units a row has any cell of: (n_rows, n_units)."""
        absent = np.column_stack([missing(cells) for cells in self.values.T])
        absent[:, self.counts] = self.values[:, self.counts] == 0
        return np.asarray((~absent).astype(int) @ self.belongs.T.astype(int) > 0)

    def log_joint(self, rows: Array, sets: Array, score: Score) -> Array:
        """``score`` of these rows when only the units of a set are seen: (n_sets, ..., n_rows, n_classes)."""
        per_set = max(1, len(rows) * len(self.names))
        step = max(1, _CELLS // per_set)
        parts = [self._scored(rows, sets[start : start + step], score) for start in range(0, len(sets), step)]
        return np.concatenate(parts)

    def _scored(self, rows: Array, sets: Array, score: Score) -> Array:
        of_units = self.belongs.any(0)
        seen = (sets.astype(int) @ self.belongs.astype(int) > 0) | ~of_units
        shape = (len(sets), len(rows), len(self.names))
        gap: Array = np.where(self.counts, 0.0, np.nan).astype(self.values.dtype)
        cells = np.where(seen[:, None], self.values[rows], gap).reshape(-1, len(self.names))
        matrix = csr_array(cells.astype(np.float64)) if self.counts.all() else cells
        found = score(MatrixTable(self.names, matrix, is_named=True))
        split = found.reshape(*found.shape[:-2], *shape[:2], found.shape[-1])
        return np.moveaxis(split, -3, 0)


def groups_of(patterns: Array) -> Iterator[tuple[Array, Array]]:
    """Rows that share a pattern: their places, and the places of the units they have."""
    distinct, group = np.unique(patterns, axis=0, return_inverse=True)
    for g, pattern in enumerate(distinct):
        yield np.flatnonzero(group.ravel() == g), np.flatnonzero(pattern)
