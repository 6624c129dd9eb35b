"""Leaves of trees: ranges and levels of several columns at once, found by the labels of some of the rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesppl.data.orders import number_kinds, order_of_columns, order_of_rows
from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import RecodedFirst, Recoding
from bayesppl.data.table import MatrixTable, Table
from bayesppl.kernels.arrays import Array

#: The rows are divided into so many parts, and all but one of them grow a tree.
PARTS = 3

# Rows repeat by chance where there are more of each kind on average; copies that balance classes are fewer
_BY_CHANCE = 3

# The most rows that grow a tree; with this bound the time of a fit is linear in the rows
_MOST_ROWS = 2_500

# Of more columns than twice as many, the search for the best half of them would take long
_MOST_TRIED = 100

# Rows over which an explanation averages where columns are not seen
_STAND_INS = 16

_NONE: Sequence[int] = ()


@dataclass(eq=False, repr=False)
class Leaves(RecodedFirst):
    """Recode rows to the leaves of trees, one column of levels for each tree.

    The rows are divided at random into three parts, several times, and each two of the parts grow a tree by their
    labels, as in a random forest (Breiman 2001). A row that is left out is predicted only by the trees that it has
    not grown, one of each division: these have not seen its label. Equal rows, which may be copies, are in the
    same part, unless rows are of few kinds, and repeat by chance. Columns are drawn, and rows divided, in orders
    that their cells determine, so that the order of neither matters.

    Parameters
    ----------
    recoding : Recoding
        To numbers, without gaps.
    tries_half : bool
        Whether each node divides by the best of half of the columns, of 100 at most, which finds interactions of
        columns that say nothing alone; otherwise by the best of as many as the root of their number.
    divisions : int
        How often the rows are divided; there are three times as many trees.

    Attributes
    ----------
    columns_, thresholds_ : (n_nodes,)
        Where each node of all trees divides; rows above the threshold go to the second child.
    children_ : (2, n_nodes)
        Places of the children; a leaf is its own child.
    roots_ : (n_trees,)
        Places of the roots.
    stand_ins_ : (n_stand_ins, n_recoded_columns)
        For columns that an explanation does not see: values drawn column by column, so that no line is a row of
        the fit.
    """

    recoding: Recoding
    tries_half: bool = False
    divisions: int = 33
    columns_: Array | Sequence[int] = field(default=_NONE, init=False)
    thresholds_: Array | Sequence[int] = field(default=_NONE, init=False)
    children_: Array | Sequence[int] = field(default=_NONE, init=False)
    roots_: Array | Sequence[int] = field(default=_NONE, init=False)
    stand_ins_: Array | Sequence[int] = field(default=_NONE, init=False)

    def grow(self, table: Table, codes: Array, weights: Array) -> Array:
        """Grow the trees, and return which rows each tree has seen.

        Parameters
        ----------
        table : Table
        codes, weights : (n_rows,)
            Classes and weights of the rows.

        Returns
        -------
        (n_rows, n_trees) array of bool
            Whether the row has grown the tree, which then must not predict it.
        """
        from sklearn.tree import DecisionTreeClassifier

        cells, rng = self._cells(table), np.random.default_rng(0)
        seen = np.zeros((len(cells), PARTS * self.divisions), dtype=bool)
        counted = np.flatnonzero(weights)  # a row of weight zero is no row
        cells, codes, weights = cells[counted], codes[counted], weights[counted]
        order = order_of_columns(cells, weights)
        cells = cells[:, order]
        alike = number_kinds(cells)
        if len(alike) > _BY_CHANCE * (alike.max() + 1):
            alike = np.argsort(order_of_rows(alike, codes, weights))
        nodes: list[Array] = []
        roots = [0]
        n_tried = min(max(1, len(order) // 2), _MOST_TRIED) if self.tries_half else "sqrt"
        for tree in range(PARTS * self.divisions):
            if tree % PARTS == 0:
                shuffled = rng.permutation(alike.max() + 1)[alike]
            seen[counted, tree] = has_grown = shuffled % PARTS != tree % PARTS
            own = np.flatnonzero(has_grown)
            own = own[np.argsort(shuffled[own], kind="stable")][:_MOST_ROWS]
            grown = DecisionTreeClassifier(max_features=n_tried, random_state=tree)
            found = grown.fit(cells[own], codes[own], weights[own], check_input=False).tree_
            is_leaf = found.children_left < 0
            places = np.arange(found.node_count)
            children = np.where(is_leaf, places, [found.children_left, found.children_right]) + roots[-1]
            nodes.append(np.vstack([order[np.where(is_leaf, 0, found.feature)], found.threshold, children]))
            roots.append(roots[-1] + found.node_count)
        columns, self.thresholds_, *first_and_second = np.hstack(nodes)
        self.columns_, self.children_ = columns.astype(np.intp), np.array(first_and_second, dtype=np.intp)
        self.roots_ = np.array(roots[:-1])
        drawn = rng.integers(len(cells), size=(_STAND_INS, cells.shape[1]))
        self.stand_ins_ = np.take_along_axis(np.sort(cells, axis=0), drawn, axis=0)[:, np.argsort(order)]
        return seen

    def transform(self, X: Any) -> Table:
        """Recode rows; columns are numbered."""
        return self.made_of(self._cells(as_table(X)))

    def made_of(self, cells: Array) -> Table:
        """Find the leaves of rows that are recoded already: (n_rows, n_recoded_columns)."""
        cells = cells.astype(np.float32)  # by as many digits as trees were grown
        nodes, rows = np.tile(self.roots_, (len(cells), 1)), np.arange(len(cells))[:, None]
        columns, thresholds, children = map(np.asarray, (self.columns_, self.thresholds_, self.children_))
        while True:
            asked = cells[rows, columns[nodes]]
            below = children[(asked > thresholds[nodes]).astype(np.intp), nodes]
            moved = np.where(np.isnan(asked), nodes, below)
            if (moved == nodes).all():
                break
            nodes = moved
        names = tuple(range(nodes.shape[1]))
        # a tree that asks for a cell that is missing says nothing
        return MatrixTable(names, np.where(below == nodes, nodes, np.nan), True, frozenset(names))

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each recoded column, by which trees divide, is made of."""
        return self.recoding.origins(names)

    def _cells(self, table: Table) -> Array:
        return np.asarray(self.recoding.transform(table).numeric(), dtype=np.float32)
