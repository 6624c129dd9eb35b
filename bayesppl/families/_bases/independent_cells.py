"""Families of independent numeric cells without sufficient statistics: each defines the log density of one cell."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from bayesppl.families._bases.columns import NumericFamily
from bayesppl.families._bases.family import Measure
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.families._bases.support import REAL_NUMBERS, Support
from bayesppl.families._bases.units import Unit, separate
from bayesppl.kernels.arrays import Array, Theta

#: From the cells of one column, (n_rows, 1), to their log density under every class: (..., n_rows, n_classes).
OfColumn = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class IndependentCells(NumericFamily):
    """A plain family of independent cells with one value of each parameter for every class and feature."""

    support: ClassVar[Support] = REAL_NUMBERS
    measure: ClassVar[Measure] = "density"
    fits_missing: ClassVar[bool] = False

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that are learned."""

    @abstractmethod
    def log_cell(self, theta: Theta, column: int) -> OfColumn:
        """The log density of a cell of one column."""

    @property
    @final
    def dims(self) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(self.parameters, ("class", "feature"))

    @property
    @final
    def coords(self) -> dict[str, list[Hashable]]:
        return {"feature": list(self.columns)}

    @property
    @final
    def units(self) -> tuple[Unit, ...]:
        return separate(self.columns)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        of_columns = [self.log_cell(theta, d) for d in range(len(self.columns))]
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


def of_column(theta: Theta, name: str, column: int) -> Array:
    """A parameter of one column, (..., 1, n_classes), against rows."""
    return np.asarray(theta[name][..., None, :, column])
