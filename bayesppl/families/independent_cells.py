"""Families that are products over cells without sufficient statistics: they define the density of a cell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.weighted_rows import PlainRows, WeightedRows
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.bound import NumberColumns
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing, OfColumns
from bayesppl.kernels.arrays import Array, Theta

#: From the cells of one column, (n_rows, 1), to their log density under every class: (..., n_rows, n_classes).
OfColumn = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class IndependentCells(OfColumns):
    """Independent cells without sufficient statistics, with parameters per class and feature."""

    missing: ClassVar[Missing] = "predicted"

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that are learned."""

    @abstractmethod
    def log_cell(self, theta: Theta) -> OfColumn:
        """Return the log density of the cells of one column, given its (..., 1, n_classes) parameters."""

    @abstractmethod
    def draw(self, theta: Theta, rng: np.random.Generator) -> Array:
        """Draw a cell for each entry of the parameters."""

    @abstractmethod
    def observe(self, name: str, theta: dict[str, Any], **observed: Any) -> None:
        """Declare cells, whose parameters these are, as an observed variable of the current ``pm.Model``."""

    @cached_property
    def bound(self) -> NumberColumns:
        return NumberColumns(self, dict.fromkeys(self.parameters, ("class", "feature")), True)

    @final
    def rows(self, X: Any) -> PlainRows:
        return PlainRows(
            X, self.columns, f"the {self.name} family cannot be fitted to incomplete rows. Drop or impute them."
        )

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        of_columns = [
            self.log_cell({name: theta[name][..., None, :, d] for name in self.parameters})
            for d in range(len(self.columns))
        ]
        shape = theta[self.parameters[0]].shape[:-1]

        def log_density(X: Array) -> Array:
            out = np.zeros((*shape[:-1], len(X), shape[-1]))
            for of_column, x in zip(of_columns, np.asarray(X, dtype=np.float64).T, strict=True):
                present = ~np.isnan(x)
                if present.all():
                    out += of_column(x[:, None])
                else:  # a missing cell is integrated out: it adds nothing
                    out[..., present, :] += of_column(x[present, None])
            return out

        return LogDensity(log_density)

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return self.draw({name: theta[name][codes] for name in self.parameters}, rng)

    @final
    def mle(self, statistics: Any) -> Theta:
        raise UndefinedEstimateError(
            f"maximum likelihood of the {self.name} family has no closed form; use rule='mean' or 'predictive', "
            "or 'map' before the fit is saved"
        )

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: WeightedRows, prefix: str = "") -> None:
        """Add the log density of every row, times its weight, to the current ``pm.Model``."""
        import pymc as pm

        outer = pm.modelcontext(None)
        coords = {name: labels for name, labels in outer.coords.items() if name != "row"}
        # a model of its own, so that the rows are not observed twice where some count more than once
        with pm.Model(coords={**coords, "row": range(len(statistics.codes))}, model=None) as inner:
            self.observe_rows(variables, statistics.X, statistics.codes, prefix)
        for variable in inner.observed_RVs:
            log_density = pm.logp(variable, inner.rvs_to_values[variable])
            by_row = log_density if log_density.ndim == 1 else log_density.sum(tuple(range(1, log_density.ndim)))
            weighted = by_row if (statistics.weights == 1).all() else np.asarray(statistics.weights) * by_row
            pm.Potential(variable.name, weighted.sum(), model=outer)

    @final
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        theta = {name: variables[name][codes] for name in self.parameters}
        self.observe(
            f"{prefix}x", theta, observed=np.asarray(X, dtype=np.float64), dims=("row", f"{prefix}feature")
        )
