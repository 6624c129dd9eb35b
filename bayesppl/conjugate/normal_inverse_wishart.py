"""Beliefs about mean vectors and covariance matrices of multivariate normal distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import multigammaln

from bayesppl.conjugate.conjugate import (
    FREELY,
    Conjugate,
    broadcast,
    log_constant,
    replace_unchecked,
    require_defined,
    require_finite,
    require_positive,
    sum_trailing,
)
from bayesppl.conjugate.covariance_graphs import declare_normal_inverse_wishart
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.moments import Moments
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, log_determinants, log_rising
from bayesppl.kernels.definite import LOST, TOLERANCE, inverses_of_triangles, is_positive_definite, whitener_of


@dataclass(frozen=True, eq=False)
class NormalInverseWishart(Conjugate):
    r"""Belief about mean vectors and covariance matrices.

    :math:`\Sigma \sim \mathrm{InverseWishart}(\nu, \Psi)` and :math:`\mu_k \mid \Sigma \sim N(m, \Sigma/\kappa)`.

    Parameters
    ----------
    location : float or array broadcast to (n_classes, n_features)
        m, the prior mean of the means.
    kappa : float or array broadcast to (n_classes,)
        κ, how many rows the prior location is worth.
    nu : float or array broadcast to (n_classes,), or a float where the covariance is tied
        ν, degrees of freedom; proper for ν > n_features − 1. The mean of Σ is Ψ / (ν − n_features − 1).
    psi : float, (n_features,), (n_features, n_features) or (n_classes, n_features, n_features)
        Ψ, the scale matrix; a float or a vector stands for a diagonal matrix.

    Examples
    --------
    A location that is worth two rows, beside two rows of mean (4, 2):

    >>> import bayesppl as bp
    >>> prior = bp.NormalInverseWishart(location=[0.0, 0.0], kappa=2.0, nu=5.0, psi=1.0)
    >>> X = [[3.0, 1.0], [5.0, 3.0], [-1.0, 0.0], [1.0, 0.0]]
    >>> clf = bp.QuadraticDiscriminantAnalysis(prior).fit(X, ["a", "a", "b", "b"])
    >>> clf.estimates(["mean"])["mean"].sel({"class": "a"}).values.ravel().tolist()
    [2.0, 1.0]
    """

    parameters: ClassVar[tuple[str, ...]] = ("mean", "covariance")

    location: Any = 0.0
    kappa: Any = 1.0
    nu: Any = None
    psi: Any = 1.0

    #: How hyperparameters were found that the classes share, where they were: see
    #: :mod:`bayesppl.families.covariance_prior`.
    hierarchy: Any = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        require_finite(self, location=self.location, psi=self.psi)
        require_positive(self, kappa=self.kappa)
        require_definite(self, "psi", self.psi, TOLERANCE)
        if self.nu is not None:
            self._require_nu(self.nu, np.shape(self.psi)[-1] if np.ndim(self.psi) else 1)

    @property
    def is_tied(self) -> bool:
        """Whether all classes share one covariance matrix."""
        return bool(self.psi.ndim == 2)

    def sized(self, shape: tuple[int, ...], tied: bool = False) -> NormalInverseWishart:
        """Broadcast the hyperparameters to ``shape``."""
        n_classes, n_features = shape
        batch = () if tied else (n_classes,)
        nu = n_features + 2 if self.nu is None else self.nu
        psi = broadcast(self, "psi", matrix_of(self.psi, n_features), (*batch, n_features, n_features))
        self._require_nu(nu, n_features)
        return replace_unchecked(
            self,
            location=broadcast(self, "location", self.location, shape),
            kappa=broadcast(self, "kappa", self.kappa, (n_classes,)),
            nu=broadcast(self, "nu", nu, batch),
            psi=psi,
            hierarchy=None,
        )

    def _require_nu(self, nu: Any, n_features: int) -> None:
        excess = np.asarray(nu, dtype=np.float64) - n_features + 1
        require_positive(self, **{f"nu − n_features + 1 (nu = {np.min(nu):g}, n_features = {n_features})": excess})

    @classmethod
    def improper(cls, shape: tuple[int, ...], tied: bool, power: float) -> NormalInverseWishart:
        """Make the density |Σ|^−power: (D + 1)/2 is Jeffreys' (Geisser 1964), 0 flat, −m/2 unbiased."""
        n_classes, n_features = shape
        batch = () if tied else (n_classes,)
        nu = 2 * power - (n_features + 1) - (n_classes if tied else 1)
        return replace_unchecked(
            cls(),
            location=np.zeros(shape),
            kappa=np.zeros(n_classes),
            nu=np.full(batch, float(nu)),
            psi=np.zeros((*batch, n_features, n_features)),
        )

    def update(self, statistics: Moments) -> Self:
        n = statistics.n_rows.sum() if self.is_tied else statistics.n_rows
        after = Moments(self.kappa, self.location, self.psi).merged(statistics)
        return replace_unchecked(self, location=after.mean, kappa=after.count, nu=self.nu + n, psi=after.scatter)

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return ("nu", "psi") if self.is_tied else ()

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        """The hyperparameters that can be rescaled: ``nu`` counted from n_features − 1, and correlations of Ψ too.

        A prior that is made of the rows of other classes has nothing to rescale. The evidence has chosen how many
        of these rows it holds, and no factor changes that number.
        """
        if self.hierarchy is not None and self.hierarchy.is_lent:
            return {}
        return {"kappa": FREELY, "nu": FREELY, "psi": FREELY, "correlation": (FREELY[0], 0.0)}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        least = self.location.shape[1] - 1
        nu = least + (self.nu - least) * factors.get("nu", 1.0)
        off_diagonal = 1 - np.eye(least + 1)
        shrunk = self.psi * np.where(off_diagonal, factors.get("correlation", 1.0), 1.0)
        return replace_unchecked(
            self, kappa=self.kappa * factors.get("kappa", 1.0), nu=nu, psi=shrunk * factors.get("psi", 1.0)
        )

    def is_proper(self) -> Array:
        located = self.kappa > 0
        enough = self.nu > self.location.shape[1] - 1
        return np.asarray((located.all() if self.is_tied else located) & enough & is_positive_definite(self.psi))

    def log_normalizer(self) -> Array:
        n_features = self.location.shape[1]
        of_means = 0.5 * n_features * (LOG_2PI - np.log(self.kappa))
        return np.asarray(
            0.5 * self.nu * n_features * np.log(2)
            + multigammaln(self.nu / 2, n_features)
            - 0.5 * self.nu * log_determinants(self.psi)
            + (of_means.sum() if self.is_tied else of_means)
        )

    def log_increment(self, statistics: Moments) -> Array:
        return self.log_gain(self.update(statistics), statistics.count)

    def log_gain(self, after: NormalInverseWishart, count: Array) -> Array:
        """Compute what the belief ``after`` so many rows of each class adds to ``log_normalizer`` of this one."""
        n_features = self.location.shape[1]
        of_means = -0.5 * n_features * np.log1p(count / self.kappa)
        gain = inverse_wishart_gain(
            self.nu, after.nu - self.nu, n_features, log_determinants(self.psi), log_determinants(after.psi)
        )
        return np.asarray(gain + (of_means.sum() if self.is_tied else of_means))

    def log_prob(self, theta: Theta) -> Array:
        of_means, of_covariance = self.log_prob_of_parts(theta)
        return sum_trailing(of_means, 1) + sum_trailing(of_covariance, self.nu.ndim)

    def log_prob_of_parts(self, theta: Theta) -> tuple[Array, Array]:
        """Compute log densities of the mean and of the covariance of every class, or of the one covariance."""
        n_classes, n_features = self.location.shape
        covariance = theta["covariance"]
        whitener, log_det = whitener_of(covariance)
        trace = np.einsum("...ij,...jk,...ik->...", whitener, self.psi, whitener)
        per_class = whitener[..., None, :, :] if self.is_tied else whitener
        residual = np.einsum("...kij,...kj->...ki", per_class, theta["mean"] - self.location)
        means_per_covariance = n_classes if self.is_tied else 1
        exponent = 0.5 * (self.nu + n_features + 1 + means_per_covariance)
        of_covariance = -exponent * log_det - 0.5 * trace - log_constant(self)
        return -0.5 * self.kappa * (residual**2).sum(-1), of_covariance

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        n_features = self.location.shape[1]
        # Bartlett (1933): A Aᵀ ~ Wishart(ν, I) for a triangle of normals below the roots of chi-squares.
        lower = np.tril(rng.standard_normal((size, *self.psi.shape)), -1)
        chi_square = 2 * rng.standard_gamma(
            (self.nu[..., None] - np.arange(n_features)) / 2, (size, *self.psi.shape[:-1])
        )
        require_defined(
            (chi_square < np.finfo(np.float64).tiny).any((0, -1)),
            "draws of 'covariance' are too large to be numbers",
            f": nu exceeds n_features - 1 by {np.min(self.nu) - n_features + 1:.2g} after the data. Add rows, or "
            "use a prior with a larger nu.",
        )
        np.einsum("...ii->...i", lower)[...] = np.sqrt(chi_square)
        root = np.linalg.cholesky(self.psi) @ np.swapaxes(inverses_of_triangles(lower), -1, -2)
        noise = rng.standard_normal((size, *self.location.shape)) / np.sqrt(self.kappa)[:, None]
        per_class = root[:, None] if self.is_tied else root
        return {
            "mean": self.location + np.einsum("...kij,...kj->...ki", per_class, noise),
            "covariance": root @ np.swapaxes(root, -1, -2),
        }

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        self._require_proper()
        return declare_normal_inverse_wishart(self, dims, prefix)

    def mean(self) -> Theta:
        exponent = self.nu - self.location.shape[1] - 1
        require_defined(
            exponent <= 0,
            "the posterior mean of 'covariance' is infinite",
            f": it needs nu > n_features + 1 = {self.location.shape[1] + 1} after the data, found "
            f"{np.min(self.nu):g}. Add rows, use a prior with a larger nu, or rule='predictive'.",
        )
        return {"mean": np.asarray(self.location), "covariance": self.psi / exponent[..., None, None]}

    def mode(self) -> Theta:
        n_classes, n_features = self.location.shape
        exponent = self.nu + n_features + 1 + (n_classes if self.is_tied else 1)
        require_defined(
            (exponent <= 0) | ~is_positive_definite(self.psi, LOST),
            "the density of 'covariance' has no mode",
            ": with this prior each class needs more rows than features, not on a common plane. Use a proper "
            "prior, or add rows.",
        )
        return {"mean": np.asarray(self.location), "covariance": self.psi / exponent[..., None, None]}


def inverse_wishart_gain(nu: Array, n: Array, n_features: int, before: Array, after: Array) -> Array:
    """Compute what n rows add to the log normaliser of an inverse Wishart, given log determinants of its scale."""
    halves = (nu[..., None] - np.arange(n_features)) / 2
    return np.asarray(
        log_rising(halves, n[..., None] / 2).sum(-1)
        + 0.5 * n * (n_features * np.log(2) - after)
        - 0.5 * nu * (after - before)
    )


def require_definite(owner: object, name: str, value: Any, tolerance: float) -> None:
    """Refuse what is neither a symmetric, positive definite matrix nor the positive numbers of its diagonal."""
    matrix = np.asarray(value, dtype=np.float64)
    if matrix.ndim < 2:
        require_positive(owner, **{name: matrix})
        return
    square = matrix.shape[-1] == matrix.shape[-2] and np.allclose(matrix, np.swapaxes(matrix, -1, -2))
    if not square or not is_positive_definite(matrix, tolerance).all():
        raise ValueError(
            f"{type(owner).__name__}: {name} must be a symmetric, positive definite matrix, whose correlations "
            f"have no eigenvalue below {tolerance:g}, or the numbers of its diagonal"
        )


def matrix_of(value: Any, size: int) -> Array:
    """Return a matrix as it is, or make one of its diagonal."""
    matrix = np.asarray(value, dtype=np.float64)
    return matrix[..., None] * np.eye(size) if matrix.ndim < 2 else matrix
