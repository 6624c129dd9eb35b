r"""Natural parameters and conjugate priors: what a log prior density must look like to be one of ours.

Every conjugate prior is, in the coordinates of its family,

.. math:: \log p(\theta) = \text{constant} + \sum_j h_j\, t_j(\theta),

linear in statistics :math:`t_j` of the parameters (Bernardo & Smith 1994, section 5.2). Here stand the statistics of each
belief, and the belief of given coefficients :math:`h`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from bayesppl.conjugate import Beta, Conjugate, Dirichlet, Gamma
from bayesppl.kernels.arrays import Array, Theta

#: Numbers, simplices on the last axis, symmetric matrices, or places on the last axis from which the others follow.
Event = Literal["scalar", "simplex", "matrix"] | tuple[int, ...]


class Natural(ABC):
    """Parameters of a family, in the parametrisation of its conjugate prior."""

    words: ClassVar[str]

    @property
    @abstractmethod
    def events(self) -> Mapping[str, Event]:
        """What kind of entries each parameter has."""

    @property
    @abstractmethod
    def factors(self) -> tuple[int, ...]:
        """Shape of the independent factors of the prior."""

    @property
    def entries(self) -> tuple[int, ...]:
        """Shape of the terms of the prior before some are summed into a factor."""
        return self.factors

    @abstractmethod
    def statistics(self, theta: Theta) -> Array:
        """Sufficient statistics of parameters, whose draw axis leads: (n_draws, *factors, n_statistics)."""

    @abstractmethod
    def belief(self, coefficients: Array) -> Conjugate:
        """The prior with these coefficients, (*factors, n_statistics).

        Raises
        ------
        ValueError
            If they are the coefficients of no proper prior.
        """

    def given(self, known: Mapping[str, Array]) -> Natural:
        """The same, at other values of what is known beside the parameters."""
        return self

    def for_family(self, theta: Theta) -> Theta:
        """Parameters, whose draw axis leads, in the shapes of the family."""
        return theta

    def of_family(self, theta: Theta) -> Theta:
        """The inverse of :meth:`for_family`."""
        return theta

    def by_factor(self, values: Any, shape: tuple[int, ...]) -> Any | None:
        """Terms of a log density, an array or a graph of this shape, (n_draws, ...), summed into the factors.

        None where they do not match the factors.
        """
        n_draws, size = shape[0], int(np.prod(shape[1:]))
        if size == int(np.prod(self.factors)):
            return values.reshape((n_draws, *self.factors))
        if size != int(np.prod(self.entries)):
            return None
        full = values.reshape((n_draws, *self.entries))
        shared = tuple(axis + 1 for axis, length in enumerate(self._kept) if not length)
        return full.sum(shared)

    @property
    def _kept(self) -> tuple[bool, ...]:
        """Which axes of the entries are axes of the factors too."""
        return (True,) * len(self.entries)


@dataclass(frozen=True, eq=False)
class Probabilities(Natural):
    """Probabilities of successes, (n_classes, n_features), under beta priors."""

    shape: tuple[int, ...]
    words: ClassVar[str] = "Beta"

    @property
    def events(self) -> Mapping[str, Event]:
        return {"probability": "scalar"}

    @property
    def factors(self) -> tuple[int, ...]:
        return self.shape

    def statistics(self, theta: Theta) -> Array:
        p = theta["probability"]
        return np.stack([np.log(p), np.log1p(-p)], axis=-1)

    def belief(self, coefficients: Array) -> Beta:
        return Beta(tidy(coefficients[..., 0] + 1), tidy(coefficients[..., 1] + 1)).sized(self.shape)


@dataclass(frozen=True, eq=False)
class Rates(Natural):
    """Rates, (n_classes, n_features), under gamma priors."""

    shape: tuple[int, ...]
    words: ClassVar[str] = "Gamma"

    @property
    def events(self) -> Mapping[str, Event]:
        return {"rate": "scalar"}

    @property
    def factors(self) -> tuple[int, ...]:
        return self.shape

    def statistics(self, theta: Theta) -> Array:
        rate = theta["rate"]
        return np.stack([np.log(rate), -rate], axis=-1)

    def belief(self, coefficients: Array) -> Gamma:
        return Gamma(tidy(coefficients[..., 0] + 1), tidy(coefficients[..., 1])).sized(self.shape)


@dataclass(frozen=True, eq=False)
class Simplices(Natural):
    """Probabilities that sum to one, side by side on the last axis, under Dirichlet priors.

    Parameters
    ----------
    parameter : str
    lead : tuple of int
        (n_classes,) and, where several simplices lie side by side, their number.
    n_outcomes : int
    sizes : tuple of int
        As :class:`~bayesppl.Dirichlet` takes them; empty where each class has one simplex.
    """

    parameter: str
    lead: tuple[int, ...]
    n_outcomes: int
    sizes: tuple[int, ...] = ()
    words: ClassVar[str] = "Dirichlet"

    @property
    def events(self) -> Mapping[str, Event]:
        return {self.parameter: "simplex"}

    @property
    def factors(self) -> tuple[int, ...]:
        return self.lead

    def for_family(self, theta: Theta) -> Theta:
        p = theta[self.parameter]
        return {self.parameter: p.reshape(len(p), *self.lead[:1], -1)}

    def of_family(self, theta: Theta) -> Theta:
        p = theta[self.parameter]
        return {self.parameter: p.reshape(len(p), *self.lead, self.n_outcomes)}

    def statistics(self, theta: Theta) -> Array:
        p = theta[self.parameter]
        return np.log(p.reshape(len(p), *self.lead, self.n_outcomes))

    def belief(self, coefficients: Array) -> Dirichlet:
        shape = (*self.lead[:1], -1) if self.lead else (-1,)
        concentration = tidy(coefficients + 1).reshape(shape)
        return Dirichlet(concentration).sized(concentration.shape, self.sizes, self.parameter)


@dataclass(frozen=True, eq=False)
class UnequalSimplices(Natural):
    """Simplices of different lengths side by side on the last axis, (n_classes, n_cells), under Dirichlet priors."""

    n_classes: int
    sizes: tuple[int, ...]
    words: ClassVar[str] = "Dirichlet"

    @property
    def events(self) -> Mapping[str, Event]:
        last = np.cumsum(self.sizes) - 1
        return {"probability": tuple(cell for cell in range(sum(self.sizes)) if cell not in last)}

    @property
    def factors(self) -> tuple[int, ...]:
        return (self.n_classes,)

    def statistics(self, theta: Theta) -> Array:
        return np.log(theta["probability"])

    def belief(self, coefficients: Array) -> Dirichlet:
        return Dirichlet(tidy(coefficients + 1)).sized(coefficients.shape, self.sizes)


def tidy(values: Array) -> Array:
    """Numbers that were found by least squares, without the rounding errors of those that have few digits.

    Six digits: of numbers that have more, hardly any is as close as this to one with six.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = 10.0 ** (5 - np.floor(np.log10(np.abs(values))))
        short = np.round(values * digits) / digits
    near = np.abs(values - short) <= 1e-10 * np.abs(values)
    return np.where(np.abs(values) < 1e-11, 0.0, np.where(near, short, values))
