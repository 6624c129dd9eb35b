r"""The Laplace approximation: a normal distribution at the mode, in unconstrained coordinates.

With :math:`\ell` the log joint density of parameters and data and :math:`H = -\nabla^2 \ell` at its mode
:math:`\hat z`, both in the n unconstrained coordinates z, parameters are drawn from :math:`N(\hat z, H^{-1})`, and

.. math:: \log p(D) \approx \ell(\hat z) + \tfrac n2 \log 2\pi - \tfrac12 \log |H|

(Tierney & Kadane 1986, "Accurate approximations for posterior moments and marginal densities"). Its error is of
the order of one over the number of rows per class. Nothing is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from bayesppl.conjugate import Joint
from bayesppl.data.arguments import whole
from bayesppl.errors import UndefinedEstimateError
from bayesppl.inference.base import DrawingByStatistics, Draws
from bayesppl.inference.mode import WithGradient, maximise
from bayesppl.inference.pymc.build import hyperparameters
from bayesppl.inference.pymc.model_density import constrain, log_density
from bayesppl.kernels.arrays import LOG_2PI, Array
from bayesppl.model.declaration import GenerativeModel

# Searches, each in coordinates scaled by the curvature where the last one ended, and Newton steps at the end.
_SEARCHES = 4
_STEPS = 20

# Differences are taken over this part of the width of the density in a coordinate.
_PART = 1e-3

# Newton's steps end where a quadratic density would gain less than this.
_GAIN = 1e-10


@dataclass(frozen=True)
class Laplace(DrawingByStatistics):
    """The Laplace approximation: a normal distribution at the mode, in unconstrained coordinates.

    Close where classes have many rows, and ready in a second. It has no tails but normal ones, and one mode. The
    record holds ``log_marginal_likelihood``, an estimate of the log evidence: of the data up to factors that hold
    no parameter.

    Parameters
    ----------
    draws : int
        Drawn from the approximation, independently.
    random_state : int or None

    Examples
    --------
    >>> import bayesppl as bp
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = bp.GaussianNB(inference=bp.Laplace(random_state=1)).fit(X, y)
    >>> evidence = bp.GaussianNB().fit(X, y).log_evidence()["total"]
    >>> round(float(clf.posterior_.record["log_marginal_likelihood"] - evidence), 2)
    -0.2
    """

    draws: int = 2000
    random_state: int | None = None

    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        whole("Laplace: draws", self.draws, 1)
        density = log_density(pymc_model)
        mode, root = mode_and_root(density, density.centre)
        value = density(mode)[0]
        noise = np.random.default_rng(self.random_state).standard_normal((self.draws, len(mode)))
        points = mode + solve_triangular(root, noise.T, lower=True, trans="T").T
        names = [*model.dims, *hyperparameters(pymc_model)]
        draws = constrain(pymc_model, names, density.split(points))
        record = {
            "inference": "laplace",
            "approximation": "normal at the mode, in unconstrained coordinates",
            "draws": self.draws,
            "random_state": self.random_state,
            "log_marginal_likelihood": float(value + 0.5 * len(mode) * LOG_2PI - np.log(np.diagonal(root)).sum()),
        }
        return Draws({name: values[None] for name, values in draws.items()}, 1, self.draws, record, {})


def mode_and_root(density: WithGradient, start: Array) -> tuple[Array, Array]:
    """Find the mode of a density, and the Cholesky factor of its negative Hessian there.

    Raises
    ------
    UndefinedEstimateError
        If no mode is found.
    """
    point, scale = start, _widths(density, start, 1e-3 * np.maximum(1.0, np.abs(start)))
    for _ in range(_SEARCHES):
        point = maximise(density, point, scale)
        scale = _widths(density, point, _PART * scale)
    for _ in range(_STEPS):
        curvature = _curvature(density, point, _PART * scale)
        gradient = density(point)[1]
        try:
            # in coordinates of width one, so that units play no part
            root = np.linalg.cholesky(scale[:, None] * curvature * scale)
        except np.linalg.LinAlgError:
            break
        step = scale * cho_solve((root, True), scale * gradient)
        if not np.isfinite(step).all():
            break
        if gradient @ step < _GAIN:
            return point, root / scale[:, None]
        point = point + step
    raise UndefinedEstimateError(
        "the posterior density has no mode that can be found in unconstrained coordinates, so that there is no "
        "Laplace approximation. Use inference='nuts'."
    )


def _curvature(density: WithGradient, point: Array, steps: Array) -> Array:
    """Compute the negative Hessian by central differences of the gradient."""
    columns = [
        (density(point - e)[1] - density(point + e)[1]) / (2 * h)
        for e, h in zip(np.diag(steps), steps, strict=True)
    ]
    curvature = np.asarray(columns)
    return (curvature + curvature.T) / 2


def _widths(density: WithGradient, point: Array, steps: Array) -> Array:
    """Estimate the width of the density in every coordinate by its curvature; without any, by the step."""
    diagonal = np.diagonal(_curvature(density, point, steps))
    usable = np.isfinite(diagonal) & (diagonal > 0)
    return np.where(usable, 1 / np.sqrt(np.where(usable, diagonal, 1.0)), steps / _PART)
