"""Beliefs about the probabilities of outcomes: Dirichlet, or known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, xlogy

from bayesppl.conjugate.association import log_association
from bayesppl.conjugate.conjugate import (
    Conjugate,
    broadcast,
    replace_unchecked,
    require_defined,
    require_positive,
    sum_trailing,
)
from bayesppl.conjugate.declared_priors import Dims, is_declaration, named
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Array, Theta, log_rising


@dataclass(frozen=True, eq=False)
class Dirichlet(Conjugate):
    """Dirichlet belief about the probabilities of outcomes.

    Parameters
    ----------
    concentration : float or array broadcast to (..., n_outcomes), PyMC distribution or callable
        Prior counts. 1 is uniform on the simplex, 0.5 is Jeffreys'. A declared prior of the concentration makes it
        one more parameter to learn, and the fit is sampled; see :mod:`bayesppl.conjugate.simplices`.
    sizes : tuple of int, optional
        The last axis may hold several independent simplices side by side; ``sizes`` are their lengths.
    parameter : str
        Name of the probabilities in a ``Theta``.

    Examples
    --------
    Of classes that 3 and 1 rows have, one pseudo-row for each makes 4/6 and 2/6:

    >>> import bayesppl as bp
    >>> clf = bp.BernoulliNB(class_weights=bp.Dirichlet(1.0)).fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
    >>> clf.estimates(["mean"])["class_weights"].values.ravel().round(3).tolist()
    [0.667, 0.333]
    """

    scalable: ClassVar[tuple[str, ...]] = ("concentration",)

    concentration: Any = 1.0
    sizes: tuple[int, ...] = field(default=(), repr=False)
    parameter: str = field(default="probability", repr=False)

    def __post_init__(self) -> None:
        if not is_declaration(self.concentration):  # one that is learned is checked where it is declared
            require_positive(self, concentration=self.concentration)

    @property
    def factor_dims(self) -> tuple[str, ...]:
        """The dimensions of :meth:`log_normalizer`: simplices that lie side by side belong to features."""
        return ("class", "feature") if self.sizes else ("class",)

    @staticmethod
    def observe(name: str, probability: Any, statistics: Counts) -> None:
        """Declare the likelihood of counts in the current ``pm.Model``."""
        import pymc as pm
        import pytensor.tensor as pt

        log_density = (statistics.counts * pt.log(probability)).sum()
        pm.Potential(name, log_density + statistics.log_base.sum())

    def log_association(self, statistics: Counts) -> Array:
        """Compute the log Bayes factor of classes and outcomes of every simplex: (n_simplices,), or () of one."""
        found = log_association(self.concentration, statistics.counts, self._starts)
        return np.asarray(found if self.sizes else found[0])

    def sized(
        self, shape: tuple[int, ...], sizes: tuple[int, ...] = (), parameter: str = "probability"
    ) -> Dirichlet:
        """Broadcast the hyperparameters to ``shape``, refusing values that make no prior."""
        require_positive(self, concentration=self.concentration)
        concentration = broadcast(self, "concentration", self.concentration, shape)
        return Dirichlet(concentration, sizes, parameter)

    def update(self, statistics: Counts) -> Self:
        return replace_unchecked(self, concentration=self.concentration + statistics.counts)

    def is_proper(self) -> Array:
        return np.logical_and.reduceat(self.concentration > 0, self._starts, axis=-1)

    def log_normalizer(self) -> Array:
        terms = self._sum(gammaln(self.concentration)) - gammaln(self._sum(self.concentration))
        return np.asarray(terms if self.sizes else terms[..., 0])

    def log_increment(self, statistics: Counts) -> Array:
        counts, alpha = statistics.counts, self.concentration
        terms = self._sum(log_rising(alpha, counts)) - log_rising(self._sum(alpha), self._sum(counts))
        return np.asarray(terms if self.sizes else terms[..., 0])

    def log_prob(self, theta: Theta) -> Array:
        p = theta[self.parameter]
        log_density = np.where(p < 0, -np.inf, xlogy(self.concentration - 1, p))
        return sum_trailing(log_density, self.concentration.ndim) - self.log_normalizer().sum()

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        alpha = self.concentration
        # Gamma(α) = Gamma(α + 1) · U^(1/α), taken in logarithms: no draw underflows to 0/0 for tiny α.
        log_gamma = np.log(rng.standard_gamma(alpha + 1, (size, *alpha.shape)))
        log_gamma -= rng.standard_exponential((size, *alpha.shape)) / alpha
        largest = np.maximum.reduceat(log_gamma, self._starts, axis=-1)
        weights = np.exp(log_gamma - self._spread(largest))
        return {self.parameter: weights / self._spread(self._sum(weights))}

    def mean(self) -> Theta:
        return {self.parameter: self.concentration / self._spread(self._sum(self.concentration))}

    def mode(self) -> Theta:
        excess = self.concentration - 1
        total = self._spread(self._sum(excess))
        require_defined(
            (excess < 0) | (total <= 0),
            f"the density of {self.parameter!r} has no single mode",
            ": MAP needs every concentration ≥ 1, and one above it, after the data. Use a prior with "
            "concentration > 1; in place of rule='map', 'mean' or 'predictive'; in place of inference='em', "
            "'gibbs'.",
        )
        return {self.parameter: excess / total}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        variable = dirichlets(self.concentration, self.sizes, **named(dims, prefix, self.parameter))
        return {self.parameter: variable}

    def mle(self, statistics: Counts) -> Theta:
        """Return observed frequencies; raise UndefinedEstimateError where nothing was counted."""
        total = self._spread(self._sum(statistics.counts))
        require_defined(
            total <= 0,
            f"nothing was counted for {self.parameter!r}",
            ", so its maximum likelihood estimate does not exist. Use rule='mean' or 'predictive'.",
        )
        return {self.parameter: statistics.counts / total}

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of outcomes of the simplices that lie side by side."""
        return self.sizes or (self.concentration.shape[-1],)

    @property
    def totals(self) -> Array:
        """The total concentration of each simplex: (..., n_simplices)."""
        return self._sum(self.concentration)

    @property
    def _starts(self) -> Array:
        return np.cumsum((0, *self.lengths[:-1]))

    def _sum(self, values: Array) -> Array:
        return np.add.reduceat(values, self._starts, axis=-1)

    def _spread(self, values: Array) -> Array:
        return np.repeat(values, self.lengths, axis=-1)


@dataclass(frozen=True, eq=False)
class Fixed(Conjugate):
    """A parameter known exactly; observing rows does not change it."""

    value: Array
    parameter: str = field(default="probability", repr=False)

    def update(self, statistics: Counts) -> Self:
        return self

    def log_normalizer(self) -> Array:
        return np.asarray(0.0)

    def log_increment(self, statistics: Counts) -> Array:
        """Return the log likelihood itself: nothing is integrated out."""
        return np.asarray(xlogy(statistics.counts, self.value).sum())

    def log_prob(self, theta: Theta) -> Array:
        return np.zeros(theta[self.parameter].shape[: -self.value.ndim])

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        return {self.parameter: np.broadcast_to(self.value, (size, *self.value.shape))}

    def mean(self) -> Theta:
        return {self.parameter: self.value}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        """Declare the value as data of the current ``pm.Model``."""
        import pymc as pm

        return {self.parameter: pm.Data(**named(dims, prefix, self.parameter), value=self.value)}

    def mle(self, statistics: Counts) -> Theta:
        """Return the value, whatever was counted."""
        return self.mean()


def dirichlets(concentration: Any, sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare Dirichlet distributions of the shape of the dims in the current ``pm.Model``."""
    import pymc as pm

    if not sizes:
        return pm.Dirichlet(name, a=concentration, dims=dims)
    # simplices of equal length are declared together: the graph compiles faster
    drawn = [
        pm.Dirichlet(free, a=concentration[:, cells])
        for free, cells in zip(free_names(sizes, name), _cells_by_size(sizes), strict=True)
    ]
    return side_by_side(drawn, sizes, name, dims)


def side_by_side(simplices: list[Any], sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare simplices (class, column, outcome), grouped by size, as one variable, all on its last axis."""
    import pymc as pm
    import pytensor.tensor as pt

    flat = [values.reshape((values.shape[0], -1)) for values in simplices]
    order = np.argsort(np.concatenate([cells.ravel() for cells in _cells_by_size(sizes)]))
    return pm.Deterministic(name, pt.concatenate(flat, axis=1)[:, order], dims=dims)


def free_names(sizes: tuple[int, ...], name: str) -> list[str]:
    """Name the free variables: one for every size that occurs."""
    return [f"{name}_of_{size}" for size in np.unique(sizes)] if sizes else [name]


def _cells_by_size(sizes: tuple[int, ...]) -> list[Array]:
    """Return the places of all simplices of each size, (n_simplices, size), the smallest size first."""
    starts, lengths = np.cumsum((0, *sizes[:-1])), np.asarray(sizes)
    return [starts[lengths == size, None] + np.arange(size) for size in np.unique(lengths)]
