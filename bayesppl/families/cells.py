"""Families that are products over cells of numbers, each of which counts as successes or as events.

A family has one probability, or one rate, for every class and feature, with a beta or gamma
prior: it defines how a cell counts as successes and failures, or as events over an exposure, with a factor of its
own that holds no parameter (the base measure). All else follows.

A cell may be counted with a further number, such as the number of trials or the exposure: one of all cells, one of
every column, or one of every row, which a column of the table holds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from scipy.sparse import issparse

from bayesppl.conjugate import Beta, Gamma
from bayesppl.conjugate.bits import Bits
from bayesppl.conjugate.cell_rows import DenseCells, SparseCells, dense_blocks
from bayesppl.conjugate.conjugate import choose_prior
from bayesppl.conjugate.declare import Direct
from bayesppl.conjugate.declared_priors import is_declaration
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.pair_forms import by_kind
from bayesppl.conjugate.row_statistics import RowStatistics
from bayesppl.conjugate.shared_cells import pooled, shares_columns
from bayesppl.conjugate.statistics import Events, Successes
from bayesppl.data.arguments import by_name
from bayesppl.data.names import spelled
from bayesppl.errors import RowError
from bayesppl.families.bound import NumberColumns
from bayesppl.families.covariates import NO_COVARIATES, Covariates, required
from bayesppl.families.family import ConjugateFamily, OfColumns
from bayesppl.families.support import BITS, COUNTS, POSITIVE_NUMBERS, Support, locate, require_finite_sums
from bayesppl.kernels.arrays import Array, Theta, as_observed, dense
from bayesppl.kernels.class_sums import stored_once
from bayesppl.kernels.missing import present_cells


class Number(NamedTuple):
    """A number that each cell of a family is counted with, such as its trials or its exposure.

    Attributes
    ----------
    field : str
        The field of the family that holds it: one number, one per column, a mapping of columns to numbers, or, if
        it may differ between rows, the name of a column of the table. None stands for one.
    support : Support
        The values it can take.
    by_row : bool
        Whether a column of the table may hold it.
    is_limit : bool
        Whether no cell can be larger, as no number of successes is larger than that of trials.
    """

    field: str
    support: Support = POSITIVE_NUMBERS
    by_row: bool = False
    is_limit: bool = False


@dataclass(frozen=True, eq=False)
class CellFamily(OfColumns, ConjugateFamily):
    """Independent cells with one probability, or one rate, for every class and feature.

    A family of this kind has a field for its prior under the name of the parameter of its ``pair``, "probability"
    or "rate".
    """

    #: The conjugate pair: Beta, of successes and failures, or Gamma, of events and an exposure.
    pair: ClassVar[type[Beta | Gamma]]
    #: The number that a cell is counted with; of no field if there is none.
    number: ClassVar[Number] = Number("")

    @abstractmethod
    def count(self, x: Array, number: Array) -> Successes | Events:
        """Count cells, none of which is missing.

        Parameters
        ----------
        x, number
            Cells, and the number that belongs to each (one where the family has none); of one shape.

        Returns
        -------
        Successes or Events
            With log h(x), the factor of the density that holds no parameter, as its ``log_base``.
        """

    @abstractmethod
    def draw(self, parameter: Array, number: Array, rng: np.random.Generator) -> Array:
        """Draw a cell for each entry of the parameter, given the number that belongs to it."""

    @abstractmethod
    def observe(self, name: str, parameter: Any, number: Any, **observed: Any) -> None:
        """Declare cells as an observed variable of the current ``pm.Model``.

        Parameters
        ----------
        name : str
            Of the variable.
        parameter, number
            Of every cell.
        **observed
            ``observed`` and ``dims``, to be passed on to the PyMC distribution.
        """

    @cached_property
    def bound(self) -> NumberColumns:
        given = {} if self._row_column is None else {self.number.field: self.number.support}
        check = self._refuse_excess if self.number.is_limit else None
        is_separate = not shares_columns(getattr(self, self.pair.parameter))
        dims = {self.pair.parameter: ("class", "feature")}
        return NumberColumns(self, dims, is_separate, given, self._row_column, check=check)

    @final
    def rows(self, X: Any) -> RowStatistics:
        if self.support is BITS:
            return Bits(X)
        if issparse(X):
            return SparseCells(stored_once(X), self._numbers, self.count)
        return DenseCells(X, self._split, self.count)

    @final
    def resolve_prior(self, statistics: Any) -> Beta | Gamma | Direct:
        parameter = self.pair.parameter
        declared = getattr(self, parameter)
        if is_declaration(declared):
            return Direct({parameter: declared}, {parameter: "unit" if self.pair is Beta else "positive"})
        for sums in statistics.values()[:2]:
            require_finite_sums(sums, self.columns, "sum")
        return choose_prior(
            declared,
            {"overall": lambda: self.pair.overall(statistics)},
            lambda prior: prior.sized(statistics.values()[0].shape),
            self.pair,
            parameter,
        )

    @final
    def mle(self, statistics: Any) -> Theta:
        parameter = self.pair.parameter
        found, per = self.pair.estimate(pooled(getattr(self, parameter), statistics))
        self._require_values(per, parameter)
        return {parameter: found / per}

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        with np.errstate(divide="ignore"):
            log_factors = self.pair.natural(theta)
        return by_kind(lambda kind: kind.log_likelihood(log_factors)).of(self.rows)

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        supports = self.bound.covariate_supports
        numbers = next((required(covariates, name)[:, None] for name in supports), self._numbers)
        drawn = self.draw(theta[self.pair.parameter][codes], numbers, rng)
        return np.column_stack([drawn, *(covariates[name] for name in supports)])

    @final
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        cells, numbers = self._split(X)
        index, at, dims = present_cells(cells, codes, prefix)
        parameter = variables[self.pair.parameter]
        number = self._number_for_pymc(numbers, at, prefix)
        self.observe(f"{prefix}x", parameter[index], number, observed=as_observed(cells[at]), dims=dims)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        import pymc as pm

        first, second, log_base = statistics.values()
        pm.Potential(f"{prefix}x", (cell_terms(self, variables, first, second) + log_base).sum())

    @property
    def _given(self) -> Any:
        """Return the number as declared; one where there is none."""
        value = getattr(self, self.number.field) if self.number.field else None
        return 1.0 if value is None else value

    @cached_property
    def _row_column(self) -> str | None:  # type: ignore[override]
        """Return the column that holds a number per row, if there is one."""
        return self._given if self.number.by_row and isinstance(self._given, str) else None

    @property
    def _numbers(self) -> Array:
        """Return the number that the cells of every column are counted with; [1] where each row has its own."""
        if self._row_column is not None:
            return np.ones(1)
        numbers = per_column(self.number.field, self._given, self.columns)
        contains = self.number.support.contains
        assert contains is not None
        wrong = ~(np.isfinite(numbers) & contains(numbers) & (numbers > 0))
        if wrong.any():
            column = int(np.argmax(wrong))
            whole = "positive whole numbers" if self.number.support is COUNTS else "positive"
            raise ValueError(
                f"{self.number.field} must be {whole}, found {numbers[column]:g} for column "
                f"{self.columns[column]!r}"
            )
        return numbers

    def _split(self, X: Any) -> tuple[Array, Array]:
        """Split features from the number of each cell, which a column of the row or of its own holds."""
        X = np.asarray(dense(X), dtype=np.float64)
        if self._row_column is None:
            return X, np.broadcast_to(self._numbers, X.shape)
        features = X[:, :-1]
        return features, np.broadcast_to(X[:, -1:], features.shape)

    def _number_for_pymc(self, numbers: Array, at: Any, prefix: str) -> Any:
        """Return the number of each observed cell; that of a row is ``pm.Data``, which other rows replace."""
        if self.number.support is COUNTS:
            numbers = numbers.astype(np.int64)
        if self._row_column is None or at is not ...:
            return numbers[at]
        import pymc as pm

        return pm.Data(f"{prefix}{self.number.field}", numbers[:, 0], dims="row")[:, None]

    def _refuse_excess(self, X: Any) -> None:
        for block in dense_blocks(X):
            part = X[block]
            found, most = (part.data, self._numbers[part.indices]) if issparse(X) else self._split(part)
            excess = found > most
            if excess.any():
                row, column = locate(part, 0, excess)
                raise RowError(
                    f"column {self.columns[column]!r} holds {part[row, column]:g} successes in row ",
                    block.start + row,
                    f", more than its {most[excess][0]:g} {self.number.field}. Correct the count, or the number "
                    f"of {self.number.field}.",
                )


def cell_terms(family: CellFamily, variables: dict[str, Any], first: Any, second: Any) -> Any:
    """Return log p(x | y = k) of cells by their statistics, but for log h, as a graph."""
    import pytensor.tensor as pt

    factors = family.pair.natural(variables, pt)
    return first * factors[0] + second * factors[1]


def per_column(
    field: str, value: float | Sequence[float] | Mapping[Hashable, float], columns: Sequence[Hashable]
) -> Array:
    """Return a number for every column from one number, one per column, or a mapping by name: (n_columns,)."""
    value = by_name(value)
    if isinstance(value, Mapping):
        absent = [name for name in columns if name not in value]
        if absent:
            raise ValueError(f"{field} has no value for column {absent[0]!r}; name every column once")
        value = [value[name] for name in columns]
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{field} must be one number or one per column, found {spelled(value)}") from None
    if numbers.shape not in ((), (len(columns),)):
        raise ValueError(
            f"{field} has {numbers.size} values for {len(columns)} columns; pass one number, one per column, or a "
            "mapping"
        )
    return np.broadcast_to(numbers, (len(columns),))
