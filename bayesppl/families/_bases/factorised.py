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
from scipy.special import log_expit

from bayesppl.data.columns import LARGEST_EXACT
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families._bases.conjugate_family import ConjugateColumns
from bayesppl.families._bases.covariates import Covariates, required
from bayesppl.families._bases.leave_one_out import row_blocks
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.families._bases.missing import only_columns
from bayesppl.families._bases.one_parameter import LogFactors
from bayesppl.families._bases.support import Support, check_support, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, dot_log

COUNTS = Support(
    "counts (0, 1, 2, … up to 2^53)",
    lambda x: (x >= 0) & (x <= LARGEST_EXACT) & (x == np.floor(x)),
    "Correct the value, or choose a family of real numbers.",
    (0, LARGEST_EXACT),
)
POSITIVE_NUMBERS = Support(
    "positive real numbers",
    lambda x: x > 0,
    "Correct the value, mark it as missing (NaN), or choose a family of real numbers.",
)


@dataclass(frozen=True, eq=False)
class CellFamily(ConjugateColumns):
    """A family of dense columns that is a product over cells, given a number per row."""

    #: Field that may name the column of the number per row, and the values that column can take.
    per_row: ClassVar[str | None] = None
    per_row_support: ClassVar[Support] = POSITIVE_NUMBERS

    @abstractmethod
    def cells(self, X: Array) -> Any:
        """Successes or Events of every cell, (n_rows, n_features) each; zeros where the cell is missing."""

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
    def read(self, table: Table) -> Array:
        """Columns of features, checked, followed by the number per row."""
        X = numbers_of(table, self.columns, self.name, self.support)
        check_support(X, self.columns, self.name, self.support)
        if self.row_column is None:
            return X
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
    def split(self, X: Array, per_column: Array) -> tuple[Array, Array]:
        """Features, and the number that belongs to each cell: from its row's column, or else from its own column."""
        X = np.asarray(X, dtype=np.float64)
        if self.row_column is None:
            return X, np.broadcast_to(per_column, X.shape)
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
    def per_row_of(self, covariates: Covariates, per_column: Array) -> Array:
        """The number that belongs to each cell of rows to be simulated, as :meth:`split` finds it in encoded ones."""
        return next((required(covariates, name)[:, None] for name in self.covariate_supports), per_column)

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
        return dict(zip(names, X.T, strict=True))

    @final
    def sufficient_statistics(self, X: Array, responsibilities: Responsibilities) -> Any:
        total = self.cells(X[:0]).sum_rows(responsibilities[:0])
        for block in row_blocks(X):
            total = total + self.cells(X[block]).sum_rows(responsibilities[block])
        return total

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        log_first, log_second = self.log_factors(theta)

        def kernel(cells: Any) -> Array:
            first, second, _ = cells.values()
            return dot_log(first, log_first) + dot_log(second, log_second)

        return self._in_blocks(kernel, log_first.shape[:-1])

    @final
    def log_predictive(self, posterior: Any) -> LogDensity:
        by_class = self._by_class(posterior)

        def kernel(cells: Any) -> Array:
            return np.stack([belief.log_increment(cells).sum(1) for belief in by_class], axis=-1)

        return self._in_blocks(kernel, (len(by_class),))

    @final
    def averaged_predictive(self, posterior: Any, common: Any, log_odds: Mapping[str, Array]) -> LogDensity:
        by_class = self._by_class(posterior)
        relevant, irrelevant = log_expit(log_odds[""]), log_expit(-log_odds[""])

        def kernel(cells: Any) -> Array:
            of_all = irrelevant + common.log_increment(cells)
            mixed = (np.logaddexp(relevant + belief.log_increment(cells), of_all) for belief in by_class)
            return np.stack([values.sum(1) for values in mixed], axis=-1)

        return self._in_blocks(kernel, (len(by_class),))

    def _by_class(self, posterior: Any) -> list[Any]:
        return [posterior.take([k]) for k in range(len(self.classes))]

    def _in_blocks(self, kernel: Callable[[Any], Array], shape: tuple[int, ...]) -> LogDensity:
        """The density of rows from the kernel of their cells, (..., n_rows, n_classes), and their base measure."""

        def evaluate(X: Array, log_h: Callable[[Any], Any]) -> Array:
            out = np.empty((*shape[:-1], len(X), shape[-1]))
            for block in row_blocks(X):
                cells = self.cells(X[block])
                out[..., block, :] = kernel(cells) + log_h(cells)
            return out

        return LogDensity(
            partial(evaluate, log_h=lambda cells: cells.log_base.sum(1)[:, None]),
            partial(evaluate, log_h=lambda cells: 0.0),
        )


def per_column(value: float | Sequence[float] | Mapping[Hashable, float], columns: Sequence[Hashable]) -> Array:
    """A number for every column from one number, one per column, or a mapping by name: (n_columns,)."""
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
