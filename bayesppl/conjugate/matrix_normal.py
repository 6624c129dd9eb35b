r"""Belief about regressions of correlated numbers on predictors, one for each class.

.. math:: z \mid d, y = k \sim N(\mu_k + B_k^\top d, \Sigma_k), \qquad \Sigma_k \sim
   \mathrm{InverseWishart}(\nu, \Psi),

.. math:: B_k \mid \Sigma_k \sim \mathrm{MatrixNormal}(B_0, \Lambda^{-1}, \Sigma_k), \qquad
   \mu_k + B_k^\top c \mid B_k, \Sigma_k \sim N(m, \Sigma_k / \kappa)

(Bernardo & Smith 1994; Bishop 2006, section 3.3; Geiger & Heckerman 1994). Completing the square over the rows (d,
z) is the update of a normal-inverse-Wishart belief about both together, with the scale matrix

.. math:: \begin{pmatrix} \Lambda & \Lambda B_0 \\ B_0^\top \Lambda & \Psi + B_0^\top \Lambda B_0 \end{pmatrix},

from which the posterior of the regression is read off again: :math:`\Lambda_n` is its first block, :math:`B_n` the
regression on it, and :math:`\Psi_n` what that leaves. Nothing is believed about the predictors. Moments stay
centred throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from bayesppl.conjugate.conjugate import (
    FREELY,
    Conjugate,
    broadcast,
    replace_unchecked,
    require_finite,
    sum_trailing,
)
from bayesppl.conjugate.covariance_graphs import declare_regression
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.normal_inverse_wishart import NormalInverseWishart, matrix_of, require_definite
from bayesppl.kernels.arrays import LOG_2PI, Array, Theta, log_determinants
from bayesppl.kernels.definite import LOST, is_positive_definite, whitener_of


@dataclass(frozen=True, eq=False)
class MatrixNormalInverseWishart(Conjugate):
    r"""Belief about regressions: intercepts, effects of predictors and covariance matrices of what is left.

    Where the covariance is tied, the classes share the effects too, and each has an intercept of its own.

    Parameters
    ----------
    location : float or array broadcast to (n_classes, n_features)
        m, the prior mean of the numbers where the predictors are c.
    kappa : float or array broadcast to (n_classes,)
        κ, how many rows the prior location is worth.
    nu : float or array broadcast to (n_classes,), or a float where the covariance is tied
        ν, degrees of freedom; proper for ν > n_features − 1.
    psi : float, (n_features,), (n_features, n_features) or (n_classes, n_features, n_features)
        Ψ, the scale matrix; a float or a vector stands for a diagonal matrix.
    effect : float or array broadcast to (n_predictors, n_features), or to that of each class
        B₀, the prior mean of the effects.
    precision : float, (n_predictors,), (n_predictors, n_predictors) or that of each class
        Λ; a float or a vector stands for a diagonal matrix. An indicator with λ on the diagonal has effects that
        vary as much as the mean of 1/λ rows.
    centre : float or array broadcast to (n_classes, n_predictors)
        c, the predictors at which the location is believed.

    Examples
    --------
    The prior of the numbers of a location model, whose means depend on categories:

    >>> import bayesppl as bp
    >>> prior = bp.MatrixNormalInverseWishart(location=0.0, kappa=1.0, nu=3.0, psi=1.0, precision=1.0)
    >>> X, y = [[0.0, 1.5], [1.0, 4.5], [0.0, -1.5], [1.0, 0.5]] * 3, ["a", "a", "b", "b"] * 3
    >>> bp.LocationModel(prior=prior, categories=[0]).fit(X, y).predict([[1.0, 4.0], [1.0, 0.0]]).tolist()
    ['a', 'b']
    """

    parameters: ClassVar[tuple[str, ...]] = ("mean", "effect", "covariance")

    location: Any = 0.0
    kappa: Any = 1.0
    nu: Any = None
    psi: Any = 1.0
    effect: Any = 0.0
    precision: Any = 1.0
    centre: Any = 0.0

    #: As of :class:`NormalInverseWishart`.
    hierarchy: Any = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        require_finite(self, effect=self.effect, centre=self.centre, precision=self.precision)
        require_definite(self, "precision", self.precision, LOST)
        NormalInverseWishart(self.location, self.kappa, self.nu, self.psi)  # which checks these

    @property
    def is_tied(self) -> bool:
        """Whether all classes share one covariance matrix, and the effects."""
        return bool(self.psi.ndim == 2)

    def sized(self, shape: tuple[int, int], n_predictors: int, tied: bool) -> MatrixNormalInverseWishart:
        """Broadcast the hyperparameters to ``shape``, (n_classes, n_features)."""
        numbers = self.numbers.sized(shape, tied)
        batch = numbers.nu.shape
        precision = matrix_of(self.precision, n_predictors)
        return replace_unchecked(
            self._with(numbers),
            effect=broadcast(self, "effect", self.effect, (*batch, n_predictors, shape[1])),
            precision=broadcast(self, "precision", precision, (*batch, n_predictors, n_predictors)),
            centre=broadcast(self, "centre", self.centre, (shape[0], n_predictors)),
            hierarchy=None,
        )

    @property
    def numbers(self) -> NormalInverseWishart:
        """Return the belief about the numbers where the predictors are c."""
        return replace_unchecked(
            NormalInverseWishart(), location=self.location, kappa=self.kappa, nu=self.nu, psi=self.psi
        )

    @property
    def joint(self) -> NormalInverseWishart:
        """Return location, rows and scale of predictors and numbers together; it may be improper."""
        weighted = self.precision @ self.effect
        explained = np.swapaxes(self.effect, -1, -2) @ weighted
        return replace_unchecked(
            self.numbers,
            location=np.concatenate([self.centre, self.location], axis=1),
            psi=np.block([[self.precision, weighted], [np.swapaxes(weighted, -1, -2), self.psi + explained]]),
        )

    def update(self, statistics: Moments) -> Self:
        """Return the belief after rows of predictors and numbers side by side."""
        n_predictors, joint = self.centre.shape[1], self.joint.update(statistics)
        precision, cross = (
            joint.psi[..., :n_predictors, :n_predictors],
            joint.psi[..., :n_predictors, n_predictors:],
        )
        effect = np.linalg.solve(precision, cross)
        psi = joint.psi[..., n_predictors:, n_predictors:] - np.swapaxes(cross, -1, -2) @ effect
        return replace_unchecked(
            self,
            location=joint.location[:, n_predictors:],
            centre=joint.location[:, :n_predictors],
            kappa=joint.kappa,
            nu=joint.nu,
            psi=0.5 * (psi + np.swapaxes(psi, -1, -2)),
            effect=effect,
            precision=precision,
        )

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return ("nu", "psi", "effect", "precision") if self.is_tied else ()

    @property
    def tunable(self) -> dict[str, tuple[float, float]]:
        """The hyperparameters that can be rescaled: those of :class:`NormalInverseWishart`, and ``precision``."""
        return {**self.numbers.tunable, "precision": FREELY}

    def rescaled(self, factors: Mapping[str, float]) -> Self:
        changed = self._with(self.numbers.rescaled(factors))
        return replace_unchecked(changed, precision=self.precision * factors.get("precision", 1.0))

    def is_proper(self) -> Array:
        return np.asarray(self.numbers.is_proper() & is_positive_definite(self.precision, LOST))

    def log_normalizer(self) -> Array:
        n_predictors, n_features = self.effect.shape[-2:]
        of_effects = n_predictors * LOG_2PI - log_determinants(self.precision)
        return np.asarray(self.numbers.log_normalizer() + 0.5 * n_features * of_effects)

    def log_increment(self, statistics: Moments) -> Array:
        after, (n_predictors, n_features) = self.update(statistics), self.effect.shape[-2:]
        of_effects = 0.5 * n_features * (log_determinants(self.precision) - log_determinants(after.precision))
        # log h of the statistics has a factor for every column; of predictors there is no density
        count = statistics.count.sum() if self.is_tied else statistics.count
        of_predictors = 0.5 * LOG_2PI * n_predictors * count
        return np.asarray(self.numbers.log_gain(after.numbers, statistics.count) + of_effects + of_predictors)

    def log_prob(self, theta: Theta) -> Array:
        covariance, apart = theta["covariance"], theta["effect"] - self.effect
        whitener, log_det = whitener_of(covariance)
        root = np.linalg.cholesky(self.precision)
        whitened = np.swapaxes(root, -1, -2) @ apart @ np.swapaxes(whitener, -1, -2)
        n_predictors, n_features = self.effect.shape[-2:]
        constant = n_features * (n_predictors * LOG_2PI - log_determinants(self.precision))
        of_effects = -0.5 * ((whitened**2).sum((-1, -2)) + n_predictors * log_det + constant)
        mean = theta["mean"] + self._at_centre(theta["effect"])
        of_numbers = self.numbers.log_prob({"mean": mean, "covariance": covariance})
        return np.asarray(of_numbers + sum_trailing(of_effects, self.nu.ndim))

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        theta = self.numbers.draw(size, rng)
        root = np.linalg.cholesky(theta["covariance"])
        noise = rng.standard_normal((size, *self.effect.shape))
        return self._theta(theta["mean"], self.spread(noise, root), theta["covariance"])

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        self._require_proper()
        return declare_regression(self, dims, prefix)

    def mean(self) -> Theta:
        return self._theta(**self.numbers.mean())

    def mode(self) -> Theta:
        # every effect adds a power of the determinant of the covariance
        per_covariance = replace_unchecked(self.numbers, nu=self.nu + self.effect.shape[-2])
        return self._theta(**per_covariance.mode())

    def spread(self, whitened: Array, root: Array) -> Array:
        """Make effects from independent standard normals, with the root of the covariance."""
        inverse, _ = whitener_of(self.precision)
        return np.asarray(self.effect + np.swapaxes(inverse, -1, -2) @ whitened @ np.swapaxes(root, -1, -2))

    def _theta(self, mean: Array, effect: Array | None = None, covariance: Array | None = None) -> Theta:
        """Return the parameters, given the mean where the predictors are c."""
        effect = self.effect if effect is None else effect
        return {"mean": mean - self._at_centre(effect), "effect": effect, "covariance": np.asarray(covariance)}

    def _at_centre(self, effect: Array) -> Array:
        """Compute what these effects add to the mean where the predictors are c: (..., n_classes, n_features)."""
        return np.einsum("kq,...qp->...kp" if self.is_tied else "kq,...kqp->...kp", self.centre, effect)

    def _with(self, numbers: NormalInverseWishart) -> Self:
        return replace_unchecked(
            self, location=numbers.location, kappa=numbers.kappa, nu=numbers.nu, psi=numbers.psi
        )
