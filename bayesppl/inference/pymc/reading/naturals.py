r"""Natural parameters and conjugate priors: what a log prior density must look like to be one of ours.

Every conjugate prior is, in the coordinates of its family,

.. math:: \log p(\theta) = \text{constant} + \sum_j h_j\, t_j(\theta),

linear in statistics :math:`t_j` of the parameters (Bernardo & Smith 1994, section 5.2). Here stand the statistics
of each prior, the prior of given coefficients :math:`h`, and the likelihood of these, to whose prior the rows add
their sums: the ratio of :math:`\int \exp(\sum_j h_j t_j) d\theta` with them and without.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar, Literal, final

import numpy as np
import pytensor.tensor as pt

from bayesppl.conjugate import Beta, Conjugate, Dirichlet, Gamma
from bayesppl.conjugate.conjugate import replace_unchecked
from bayesppl.conjugate.shared_cells import SharedCells
from bayesppl.conjugate.statistics import Counts, Events, Successes
from bayesppl.kernels.arrays import Array, Theta, log_rising_of_large

#: Numbers, simplices on the last axis, symmetric matrices, or places on the last axis from which the others
#: follow.
Event = Literal["scalar", "simplex", "matrix"] | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Natural(ABC):
    """Parameters of a family, in the parametrisation of its conjugate prior.

    Attributes
    ----------
    entries : tuple of int
        Shape of the terms of the prior: (n_classes, n_features), as a rule.
    shared : tuple of int
        Axes of the entries, counted from the last, whose terms belong to one factor.
    cells : (n_classes, n_features) of int, optional
        Which of the entries, (1, n_different), each class and feature has, where they share some.
    """

    entries: tuple[int, ...]
    shared: tuple[int, ...] = ()
    cells: Array | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def words(self) -> str:
        """Return the name of the conjugate prior."""

    @property
    @abstractmethod
    def events(self) -> Mapping[str, Event]:
        """Return the kind of entries of each parameter."""

    @abstractmethod
    def statistics(self, theta: Theta) -> Array:
        """Compute statistics of parameters, whose draw axis leads: (n_draws, *factors, n_statistics)."""

    @abstractmethod
    def belief(self, coefficients: Array) -> Conjugate:
        """Return the prior with these coefficients, (*factors, n_statistics).

        Raises
        ------
        ValueError
            If they are the coefficients of no proper prior.
        """

    @abstractmethod
    def log_increment(self, h: Any, rows: Any) -> Any:
        """Compute the log expectation of the likelihood of rows under the prior, by factor, up to a constant.

        No term grows with the concentration or the precision of the prior: of their differences no digit would be
        left where there is hardly any spread.

        Parameters
        ----------
        h : graph
            Coefficients of the prior, about its centre where :meth:`location` finds one.
        rows : statistics
            Sums of rows, about the same centre.
        """

    def location(self, h: Any) -> tuple[Any, slice] | None:
        """Find the centres of means, and which statistics are linear in them; those without means stand before.

        None of parameters that are no means, or means alone.
        """
        return None

    @final
    def prior(self, coefficients: Array, centre: Array | float = 0.0) -> Conjugate:
        """Return :meth:`belief` as one about the parameters of all classes and features.

        Parameters
        ----------
        coefficients : (*factors, n_statistics)
            Of statistics of the means' distances from ``centre``, where there are means.
        centre : float or array
        """
        found = self.belief(coefficients)
        if "mean" in self.events:
            located: Any = found
            found = replace_unchecked(located, location=tidy(located.location + centre, np.abs(centre)))
        return found if self.cells is None else SharedCells(found, self.cells)

    @final
    @property
    def factors(self) -> tuple[int, ...]:
        """Return the shape of the independent factors of the prior."""
        return tuple(self.entries[axis] for axis in self._kept)

    @final
    def for_family(self, theta: Theta) -> Theta:
        """Bring parameters, whose draw axis leads, into the shapes of the family."""
        if self.cells is not None:
            return {name: values[:, 0][:, self.cells] for name, values in theta.items()}
        return {
            name: values.reshape(len(values), *self.entries[:1], -1)
            if self.events.get(name) == "simplex"
            else values
            for name, values in theta.items()
        }

    @final
    def factor_of_entries(self, n_entries: int) -> Array:
        """Return the factor that each entry of a parameter, or cell of a simplex, belongs to: (n_entries,)."""
        own = np.arange(int(np.prod(self.factors)))
        if n_entries == len(own):
            return own
        lead = [size if axis in self._kept else 1 for axis, size in enumerate(self.entries)]
        of_terms = np.broadcast_to(own.reshape(lead), self.entries)
        return np.repeat(of_terms, n_entries // of_terms.size)

    @final
    @property
    def _kept(self) -> list[int]:
        """List the axes of the entries that are axes of the factors too."""
        n = len(self.entries)
        return [axis for axis in range(n) if axis - n not in self.shared]


@final
@dataclass(frozen=True, eq=False)
class ProbabilitiesOrRates(Natural):
    """Probabilities of successes or rates of events, (n_classes, n_features), under beta or gamma priors."""

    pair: type[Beta] | type[Gamma] = Beta

    @property
    def words(self) -> str:
        return self.pair.__name__

    @property
    def events(self) -> Mapping[str, Event]:
        return {self.pair.parameter: "scalar"}

    def statistics(self, theta: Theta) -> Array:
        return np.stack(self.pair.natural(theta), axis=-1)

    def belief(self, coefficients: Array) -> Beta | Gamma:
        first, second = self._hyperparameters(coefficients)
        second = tidy(second, 0.0 if self.pair is Gamma else 1.0)
        return self.pair(tidy(first, 1.0), second).sized(self.entries)

    def log_increment(self, h: Any, rows: Successes | Events) -> Any:
        (one, other), (n, others, *_) = self._hyperparameters(h), rows.values()
        if self.pair is Gamma:
            return log_rising(one, n) - one * pt.log1p(others / other) - n * pt.log(other + others)
        return log_rising(one, n) + log_rising(other, others) - log_rising(one + other, n + others)

    def _hyperparameters(self, h: Any) -> tuple[Any, Any]:
        """Return alpha and beta, or shape and rate, of an array or of a graph."""
        return h[..., 0] + 1, h[..., 1] if self.pair is Gamma else h[..., 1] + 1


@final
@dataclass(frozen=True, eq=False)
class Simplices(Natural):
    """Probabilities that sum to one, side by side on the last axis, under Dirichlet priors.

    Its entries are (n_classes,) and, where several simplices of one length lie side by side, their number.

    Attributes
    ----------
    parameter : str
    sizes : tuple of int
        As :class:`~bayesppl.Dirichlet` takes them; empty where each class has one simplex.
    """

    words: ClassVar[str] = "Dirichlet"

    parameter: str = "probability"
    sizes: tuple[int, ...] = ()

    @property
    def events(self) -> Mapping[str, Event]:
        if len(set(self.sizes)) <= 1:
            return {self.parameter: "simplex"}
        last = np.cumsum(self.sizes) - 1
        return {self.parameter: tuple(cell for cell in range(sum(self.sizes)) if cell not in last)}

    def statistics(self, theta: Theta) -> Array:
        return np.log(theta[self.parameter])

    def belief(self, coefficients: Array) -> Dirichlet:
        concentration = tidy(coefficients + 1, 1.0).reshape((*self.entries[:1], -1))
        return Dirichlet(concentration).sized(concentration.shape, self.sizes, self.parameter)

    def log_increment(self, h: Any, rows: Counts) -> Any:
        alpha, counts = h + 1, rows.counts.reshape((*self.entries, -1))
        ends = [int(end) for end in np.cumsum(self.sizes)] if len(set(self.sizes)) > 1 else [alpha.type.shape[-1]]
        of_sums = [
            log_rising(alpha[..., first:last].sum(-1), counts[..., first:last].sum(-1))
            for first, last in pairwise([0, *ends])
        ]
        return log_rising(alpha, counts).sum(-1) - sum(of_sums)


def log_rising(a: Any, n: Any) -> Any:
    """Compute :func:`bayesppl.kernels.arrays.log_rising` of a graph ``a``."""
    small, series = pt.minimum(a, 16.0), log_rising_of_large(pt.maximum(a, 16.0), n, pt)
    return pt.where(a < 16.0, pt.gammaln(small + n) - pt.gammaln(small), series)


def tidy(values: Array, terms: Array | float = 0.0) -> Array:
    """Round numbers that were found by least squares, where they are within errors of one with few digits.

    Six digits: of numbers that have more, hardly any is as close as this to one with six.

    Parameters
    ----------
    terms : array, optional
        How large numbers are whose difference was taken: one that is as small as their rounding errors is zero.
        Other small numbers are in the unit of the rows, and may be as small as they like.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = 10.0 ** (5 - np.floor(np.log10(np.abs(values))))
        short = np.round(values * digits) / digits
    near = np.abs(values - short) <= 1e-10 * np.abs(values)
    return np.where(np.abs(values) < 1e-11 * terms, 0.0, np.where(near, short, values))
