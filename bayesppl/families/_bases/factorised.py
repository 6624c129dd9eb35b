"""The data side of families whose likelihood is a product over cells.

Each family defines how one cell counts: as successes and failures, or as events over an exposure, with a factor of its
own that holds no parameter (the base measure). Sums over rows, likelihood and predictive follow.

A family may need one further number per row, such as the number of trials or the exposure. It names the column that
holds it, which is then not a feature; the encoded rows carry it as their last column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_expit

from bayesppl.data.arguments import by_name
from bayesppl.data.columns import LARGEST_EXACT
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families._bases.cells import Cells, DenseCells, OfCells, SparseCells, cell_blocks, stored_once
from bayesppl.families._bases.conjugate_family import ConjugateColumns
from bayesppl.families._bases.covariates import Covariates, required
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.families._bases.membership import Membership
from bayesppl.families._bases.missing import only_columns
from bayesppl.families._bases.one_parameter import LogFactors
from bayesppl.families._bases.support import Support, check_support, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, dense

COUNTS = Support(
    "counts (0, 1, 2, … up to 2^53)",
    lambda x: (x >= 0) & (x <= LARGEST_EXACT) & (x == np.floor(x)),
    "Correct the value, or choose a family of real numbers.",
    (0, LARGEST_EXACT),
)
POSITIVE_NUMBERS = Support(
    "positive real numbers",
    lambda x: x > 0,
    "Correct the value, mark it as missing (NaN), or choose a family of real numbers; of columns='evidence', declare what later "
    "rows can hold, as in ranges={column: (0, numpy.inf)}.",
)


@dataclass(frozen=True, eq=False)
class CellFamily(ConjugateColumns):
    """A family that is a product over cells, given a number per row or column."""

    #: Field that may name the column of the number per row, and the values that column can take.
    per_row: ClassVar[str | None] = None
    per_row_support: ClassVar[Support] = POSITIVE_NUMBERS

    @property
    @abstractmethod
    def numbers(self) -> Array:
        """The number of every column that its cells are counted with, or one of all: (n_features,) or (1,)."""

    @abstractmethod
    def count(self, x: Array, number: Array) -> Any:
        """Successes or Events of cells, given the number that belongs to each; zeros where a cell is missing."""

    @abstractmethod
    def log_factors(self, theta: Theta) -> LogFactors:
        """Logarithms of the factors of the likelihood that the two statistics of a cell are exponents of."""

    @property
    @final
    def row_column(self) -> str | None:
        """The column that holds a number per row, if there is one."""
        value = getattr(self, self.per_row) if self.per_row is not None else None
        return value if isinstance(value, str) else None

    @final
    def bind(self, table: Table, classes: Sequence[Hashable]) -> Self:
        if self.row_column is not None:
            table.require([self.row_column])
        columns = tuple(name for name in table.names if name != self.row_column)
        return replace(self, columns=columns, classes=tuple(classes))

    @final
    def read(self, table: Table) -> Any:
        """Columns of features, checked, followed by the number per row."""
        X = numbers_of(table, self.columns, self.name, self.support, allows_sparse=self.allows_sparse)
        X = stored_once(X) if issparse(X) else X
        check_support(X, self.columns, self.name, self.support)
        if self.row_column is None:
            return X
        if issparse(X):
            raise TypeError(
                f"the zeros of sparse rows are alike only without {self.per_row}={self.row_column!r}, a number of every row: "
                "pass a dense table, X.toarray()"
            )
        numbers = numbers_of(table, [self.row_column], self.name, self.per_row_support)
        check_support(numbers, [self.row_column], self.name, self.per_row_support)
        if np.isnan(numbers).any():
            raise RowError(
                f"column {self.row_column!r} is missing in row ",
                int(np.argmax(np.isnan(numbers))),
                f", but it holds the {self.per_row} of that row; fill it in, or drop the row",
            )
        return np.column_stack([X, numbers])

    @final
    def split(self, X: Any) -> tuple[Array, Array]:
        """Features, and the number that belongs to each cell: from its row's column, or else from its own column."""
        X = np.asarray(dense(X), dtype=np.float64)
        if self.row_column is None:
            return X, np.broadcast_to(self.numbers, X.shape)
        features = X[:, :-1]
        return features, np.broadcast_to(X[:, -1:], features.shape)

    @final
    def seen(self, X: Array, units: Sequence[int]) -> Array:
        if len(units) == len(self.units):
            return X
        # the number per row is no feature, and stays
        return only_columns(X, [*units, *range(len(self.columns), X.shape[1])])

    @property
    @final
    def covariate_supports(self) -> Mapping[str, Support]:
        return {} if self.per_row is None or self.row_column is None else {self.per_row: self.per_row_support}

    @final
    def covariates(self, X: Array) -> Covariates:
        return dict.fromkeys(self.covariate_supports, X[:, -1])

    @final
    def per_row_of(self, covariates: Covariates) -> Array:
        """The number that belongs to each cell of rows to be simulated, as :meth:`split` finds it in encoded ones."""
        return next((required(covariates, name)[:, None] for name in self.covariate_supports), self.numbers)

    @final
    def declare_per_row(self, numbers: Array, at: Any, prefix: str) -> Any:
        """The number that belongs to each observed cell, in the current ``pm.Model``.

        That of a row is ``pm.Data``, so that other rows bring their own; see :func:`present_cells` for ``at``.
        """
        if self.row_column is None or at is not ...:
            return numbers[at]
        import pymc as pm

        return pm.Data(f"{prefix}{self.per_row}", numbers[:, 0], dims="row")[:, None]

    @final
    def join(self, features: Array, covariates: Covariates) -> Array:
        """Encoded rows, from features and the number per row."""
        return np.column_stack([features, *(covariates[name] for name in self.covariate_supports)])

    @final
    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        return self.label_features(X[:, : len(self.columns)], prefix)

    @final
    def decode(self, X: Array) -> dict[Hashable, Array]:
        names = self.columns if self.row_column is None else (*self.columns, self.row_column)
        return dict(zip(names, dense(X).T, strict=True))

    @final
    def cells(self, X: Any) -> Cells:
        """Encoded rows as the statistics of their cells."""
        if issparse(X):
            return SparseCells.of(X, self.count, self.numbers)
        return DenseCells(self.count(*self.split(X)))

    @final
    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Any:
        total = self.cells(X[:0]).sum_rows(responsibilities[:0])
        for block in cell_blocks(X):
            total = total + self.cells(X[block]).sum_rows(responsibilities[block])
        return total

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        log_factors = self.log_factors(theta)
        return self._in_blocks(lambda cells: cells.log_product(log_factors), log_factors[0].shape[:-1])

    @final
    def log_predictive(self, posterior: Any) -> LogDensity:
        def of_class(k: int) -> OfCells:
            own = posterior.take([k])  # at once, so that a posterior that is none is refused without any row
            return lambda cells, columns: own.at(0, columns).log_increment(cells)

        return self._by_class(of_class)

    @final
    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        relevant, irrelevant = log_expit(log_odds[""]), log_expit(-log_odds[""])

        def of_class(k: int) -> OfCells:
            def mixed(cells: Any, columns: Any) -> Array:
                of_class = relevant[columns] + posterior.at(k, columns).log_increment(cells)
                of_all = irrelevant[columns] + common.at(0, columns).log_increment(cells)
                return np.logaddexp(of_class, of_all)

            return mixed

        return self._by_class(of_class)

    def loo_log_predictive(
        self, posterior: Any, statistics: Any, X: Any, members: Membership
    ) -> tuple[Array, Array]:
        if not issparse(X) or members.few_weights is None:
            return super().loo_log_predictive(posterior, statistics, X, members)

        def left_out(k: int, weight: float) -> OfCells:
            def log_density(cells: Any, columns: Any) -> Array:
                remaining = posterior.at(k, columns).update(cells.scale(-weight))
                with np.errstate(divide="ignore", invalid="ignore"):  # where rounding leaves nothing of the class
                    return np.asarray(remaining.log_increment(cells) + cells.log_base)

            return log_density

        # rows of one class and one weight leave the same belief behind where they hold zeros
        groups, own = members.groups, np.empty(X.shape[0])
        for group, (k, weight) in enumerate(zip(groups.classes, groups.weights, strict=True)):
            rows = np.flatnonzero(groups.of_rows == group)
            if len(rows):
                own[rows] = self._sum_cells(X[rows], left_out(k, weight))
        fitted = self.log_predictive(posterior)(X)
        return fitted, members.replaced(fitted, own)

    def _sum_cells(self, X: Any, of_cells: OfCells) -> Array:
        """The sum of a function of cells over each row: (n_rows,)."""
        return np.concatenate([self.cells(X[block]).log_sum(of_cells) for block in cell_blocks(X)])

    def _by_class(self, of_class: Callable[[int], OfCells]) -> LogDensity:
        """The density of rows from that of the cells of every class, up to their base measure."""
        of_classes = [of_class(k) for k in range(len(self.classes))]

        def kernel(cells: Cells) -> Array:
            return np.stack([cells.log_sum(of_cells) for of_cells in of_classes], axis=-1)

        return self._in_blocks(kernel, (len(of_classes),))

    def _in_blocks(self, kernel: Callable[[Cells], Array], shape: tuple[int, ...]) -> LogDensity:
        """The density of rows from the kernel of their cells, (..., n_rows, n_classes), and their base measure."""

        def evaluate(X: Any, log_h: Callable[[Cells], Any]) -> Array:
            out = np.empty((*shape[:-1], X.shape[0], shape[-1]))
            for block in cell_blocks(X):
                cells = self.cells(X[block])
                out[..., block, :] = kernel(cells) + log_h(cells)
            return out

        return LogDensity(
            partial(evaluate, log_h=lambda cells: cells.log_sum(lambda of_cells, _: of_cells.log_base)[:, None]),
            partial(evaluate, log_h=lambda cells: 0.0),
        )


def per_column(value: float | Sequence[float] | Mapping[Hashable, float], columns: Sequence[Hashable]) -> Array:
    """A number for every column from one number, one per column, or a mapping by name: (n_columns,)."""
    value = by_name(value)
    if isinstance(value, Mapping):
        absent = [name for name in columns if name not in value]
        if absent:
            raise ValueError(f"no value is given for column {absent[0]!r}; name every column once")
        value = [value[name] for name in columns]
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.shape not in ((), (len(columns),)):
        raise ValueError(
            f"{numbers.size} values are given for {len(columns)} columns; pass one number, one per column, or a mapping"
        )
    return np.broadcast_to(numbers, (len(columns),))


def positive_per_column(
    name: str, value: float | Sequence[float] | Mapping[Hashable, float], columns: Sequence[Hashable]
) -> Array:
    """:func:`per_column`, refusing numbers that are not positive and finite."""
    numbers = per_column(value, columns)
    wrong = ~(np.isfinite(numbers) & (numbers > 0))
    if wrong.any():
        column = int(np.argmax(wrong))
        raise ValueError(f"{name} must be positive, found {numbers[column]:g} for column {columns[column]!r}")
    return numbers
