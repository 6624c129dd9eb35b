"""A declared model evaluated at parameters that a source states, instead of learning them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from bayesppl.data.read_table import as_table
from bayesppl.families import Family
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.normalisation import log_probabilities

#: Priors so weak that the rows decide, as in the sources.
WEAK_PRIORS = {"full": "fraley-raftery", "tied": "fraley-raftery", "diag": "columnwise"}


def normal(
    mean: Sequence[Sequence[float]], variance: Sequence[Sequence[float]], weights: Sequence[float]
) -> Theta:
    """Return parameters of independent Gaussian features: (n_classes, n_features) means and variances."""
    return {"mean": np.asarray(mean), "variance": np.asarray(variance), CLASS_WEIGHTS: np.asarray(weights)}


def model(family: Family, theta: Theta, X: Sequence[Sequence[float]] | Array) -> tuple[GenerativeModel, Any]:
    """Make the model of a family with known class weights, and rows as it computes with them."""
    table = as_table(X)
    weights = theta[CLASS_WEIGHTS]
    classes = tuple(range(len(weights)))
    bound = family.bind(table, classes)
    return GenerativeModel(bound, weights, classes), bound.bound.encode(table)


def densities(family: Family, theta: Theta, X: Sequence[Sequence[float]] | Array) -> Array:
    """Compute p(x | y = k, θ): (n_rows, n_classes)."""
    declared, rows = model(family, theta, X)
    return np.exp(declared.family.log_likelihood(theta)(rows))


def log_joint(family: Family, theta: Theta, X: Sequence[Sequence[float]] | Array) -> Array:
    """Compute log p(y = k, x | θ): (n_rows, n_classes)."""
    declared, rows = model(family, theta, X)
    return declared.log_joint(theta)(rows)


def probabilities(family: Family, theta: Theta, X: Sequence[Sequence[float]]) -> Array:
    """Compute p(y = k | x, θ): (n_rows, n_classes)."""
    return np.exp(log_probabilities(log_joint(family, theta, X), theta[CLASS_WEIGHTS]))


def boundaries(family: Family, theta: Theta, low: float, high: float) -> list[float]:
    """Find where two classes of one feature are equally probable, numerically between ``low`` and ``high``."""

    def log_odds(x: float) -> float:
        first, second = log_joint(family, theta, [[x]])[0]
        return float(first - second)

    # offset by an odd amount, so that no boundary at a round number falls on the grid
    grid = np.linspace(low - 0.137, high + 0.137, 1001).tolist()
    signs = np.sign([log_odds(x) for x in grid])
    changes = np.flatnonzero(signs[:-1] != signs[1:])
    return [float(brentq(log_odds, grid[i], grid[i + 1], xtol=1e-13, rtol=1e-15)) for i in changes]
