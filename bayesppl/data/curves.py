"""Squares and products of columns, after which a linear boundary is a curve."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from bayesppl.data.read_table import as_table
from bayesppl.data.recoding import RecodedFirst, Recoding
from bayesppl.data.table import MatrixTable, Table
from bayesppl.kernels.arrays import Array

#: Most columns of which all squares and products are taken; of more, those of as many principal components.
MOST_CURVED = 14

_NONE: Sequence[float] = ()


@dataclass(eq=False, repr=False)
class Curves(RecodedFirst):
    """Recode columns, and add their squares and products.

    Of more than ``most_columns`` recoded columns, their leading principal components take their place.

    Parameters
    ----------
    recoding : Recoding
        Without gaps in what it makes.
    most_columns : int
    with_products : bool
        Whether to add squares and products, or to stop at the components.

    Attributes
    ----------
    center_ : (n_recoded_columns,)
    rotation_ : (n_recoded_columns, n_directions)
        Of deviations from the center into what is squared, each of variance one.

    Examples
    --------
    >>> from bayesppl.data.recoding import Recoding
    >>> X = [[-1.0, 2.0], [1.0, 2.0], [-1.0, 4.0], [1.0, 4.0]]
    >>> Curves(Recoding("filled", few="filled")).fit(X).transform(X).numeric()[0].tolist()
    [-1.0, -1.0, 1.0, 1.0, 1.0]
    """

    recoding: Recoding
    most_columns: int = MOST_CURVED
    with_products: bool = True
    center_: Array | Sequence[float] = field(default=_NONE, init=False)
    rotation_: Array | Sequence[float] = field(default=_NONE, init=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read medians, levels and quantiles of a table, and the directions; labels have no part in it."""
        self.recoding.fit(X)
        return self.adopt(as_table(X))

    def adopt(self, table: Table) -> Self:
        """Find the directions of a table whose columns were read before."""
        cells = np.asarray(self.recoding.transform(table).numeric(), dtype=np.float64)
        center, spread = cells.mean(0), cells.std(0)
        spread[spread == 0] = 1.0
        if cells.shape[1] <= self.most_columns:
            rotation = np.diag(1 / spread)
        else:
            _, sizes, directions = np.linalg.svd((cells - center) / spread, full_matrices=False)
            kept = np.flatnonzero(sizes[: self.most_columns] > 1e-6 * sizes[0])
            rotation = directions[kept].T * (np.sqrt(len(cells)) / sizes[kept]) / spread[:, None]
        self.center_, self.rotation_ = center, rotation
        return self

    def transform(self, X: Any) -> Table:
        """Recode rows; columns are numbered."""
        return self.made_of(np.asarray(self.recoding.transform(X).numeric(), dtype=np.float64))

    def made_of(self, cells: Array) -> Table:
        """Add squares and products to rows that are recoded already: (n_rows, n_recoded_columns)."""
        gaps = np.isnan(cells)
        directions = np.where(gaps, 0.0, cells - self.center_) @ self.rotation_
        # components of a row with gaps are those of its other cells, columns of their own are missing
        directions[gaps.all(1) if self.is_mixing else gaps] = np.nan
        one, other = np.triu_indices(directions.shape[1] if self.with_products else 0)
        curves = np.hstack([directions, directions[:, one] * directions[:, other]])
        return MatrixTable(tuple(range(curves.shape[1])), np.asfortranarray(curves), is_named=True)

    @property
    def is_mixing(self) -> bool:
        """Whether principal components take the place of columns, so that none of them can be left out alone."""
        return len(self.center_) > self.most_columns

    def origins(self, names: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
        """Name the columns that each square or product is made of, where columns are not mixed."""
        own = self.recoding.origins(names)
        pairs = zip(*np.triu_indices(len(own) if self.with_products else 0), strict=True)
        return [*own, *(own[i] + own[j] for i, j in pairs)]
