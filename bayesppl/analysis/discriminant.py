r"""Boundaries, distances and axes of Gaussian classes, from one estimate of their parameters.

With means :math:`\mu_k`, covariances :math:`\Sigma_k` and class weights :math:`\pi_k` the log odds of two classes
are
:math:`x^\top A x + w^\top x + b`, where

.. math:: A = -\tfrac12 (\Sigma_1^{-1} - \Sigma_0^{-1}), \quad w = \Sigma_1^{-1}\mu_1 - \Sigma_0^{-1}\mu_0, \quad
   b = -\tfrac12 (\mu_1^\top \Sigma_1^{-1} \mu_1 - \mu_0^\top \Sigma_0^{-1} \mu_0)
       - \tfrac12 \log\frac{|\Sigma_1|}{|\Sigma_0|} + \log\pi_1 - \log\pi_0

(Hastie, Tibshirani & Friedman 2009, eq. 4.9 and 4.12; the class weights enter b, which is easily forgotten). Under
the predictive rule the boundary is another one, of Student t densities; coefficients and axes then are those of
the posterior mean, and ``decision_function`` is what classifies.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from bayesppl.data.names import spelled
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array, Theta, logarithm
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import tempered
from bayesppl.model.rules import TABLE, RuleName, check_rule


class Quadratic(NamedTuple):
    """Log odds of the second class against the first, xᵀ A x + wᵀ x + b."""

    A: Array
    w: Array
    b: float


class Axes(NamedTuple):
    """Discriminant axes: what is subtracted, the directions (n_features, n_axes), and their share of variance."""

    centre: Array
    directions: Array
    explained_variance_ratio: Array


def decision_function(fitted: Fitted, X: Any, rule: RuleName | None = None) -> Array:
    """Compute scores, the largest of which is that of the predicted class.

    Returns
    -------
    (n_rows,) for two classes
        log p(y = 1 | x) − log p(y = 0 | x), positive where the second class is predicted.
    (n_rows, n_classes) for more
        log p(y = k, x).
    """
    log_joint = fitted.log_labels(X, rule)
    return log_joint[:, 1] - log_joint[:, 0] if log_joint.shape[1] == 2 else log_joint


def mahalanobis(fitted: Fitted, X: Any, rule: RuleName | None = None) -> Array:
    """Compute the squared Mahalanobis distance of every row from every class mean: (n_rows, n_classes)."""
    theta, X = plug_in(fitted, rule), numbers(fitted, X)
    n_classes, n_features = theta["mean"].shape
    roots = np.linalg.cholesky(np.broadcast_to(theta["covariance"], (n_classes, n_features, n_features)))
    out = np.empty((len(X), n_classes))
    for k, root in enumerate(roots):
        out[:, k] = (np.linalg.solve(root, (X - theta["mean"][k]).T) ** 2).sum(0)
    return out


def quadratic(fitted: Fitted, rule: RuleName | None = None) -> Quadratic:
    """Return coefficients A, w, b of the log odds of two classes; see :mod:`bayesppl.analysis.discriminant`.

    Raises
    ------
    ValueError
        If there are more than two classes.
    """
    theta = plug_in(fitted, rule)
    n_classes, n_features = theta["mean"].shape
    if n_classes != 2:
        raise ValueError(f"log odds are between two classes, and here are {n_classes}: {fitted.classes.tolist()}")
    covariance = np.broadcast_to(theta["covariance"], (2, n_features, n_features))
    precision = np.linalg.inv(covariance)
    weighted = np.einsum("kij,kj->ki", precision, theta["mean"])
    constant = logarithm(theta[CLASS_WEIGHTS]) - 0.5 * (
        np.einsum("ki,ki->k", theta["mean"], weighted) + np.linalg.slogdet(covariance)[1]
    )
    A, w, power = -0.5 * (precision[1] - precision[0]), weighted[1] - weighted[0], 1 / fitted.temperature
    b = tempered(constant, theta[CLASS_WEIGHTS], fitted.temperature)
    return Quadratic(power * A, power * w, b[1] - b[0])


def plug_in(fitted: Fitted, rule: RuleName | None = None) -> Theta:
    """Return the estimate of a rule; the posterior mean where the rule is predictive."""
    chosen = fitted.rule if rule is None else rule
    check_rule(chosen)
    return fitted.posterior.theta(chosen if TABLE[chosen].is_plug_in else "mean")


def numbers(fitted: Fitted, X: Any) -> Array:
    """Return rows as numbers, (n_rows, n_features), and refuse rows that are not complete."""
    values = np.asarray(fitted.encode(X), dtype=np.float64)
    if np.isnan(values).any():
        row, column = np.argwhere(np.isnan(values))[0]
        raise RowError(
            f"column {fitted.columns.names[column]!r} is missing (NaN) in row ",
            int(row),
            ", and a row with gaps has no distance or place on an axis. Fill it in, or drop the row; "
            "predict_proba needs neither",
        )
    return values


def linear(theta: Theta, temperature: float = 1.0) -> tuple[Array, Array]:
    """Compute coefficients (n_classes, n_features) and intercepts (n_classes,) of log p(y = k | x).

    Up to a term that all classes share.

    For two classes the difference of both, (1, n_features) and (1,), as in scikit-learn.
    """
    coefficients = np.linalg.solve(theta["covariance"], theta["mean"].T).T
    intercepts = logarithm(theta[CLASS_WEIGHTS]) - 0.5 * np.einsum("ki,ki->k", theta["mean"], coefficients)
    coefficients, intercepts = coefficients / temperature, tempered(intercepts, theta[CLASS_WEIGHTS], temperature)
    if len(intercepts) == 2:
        return coefficients[1:] - coefficients[:1], intercepts[1:] - intercepts[:1]
    return coefficients, intercepts


def check_n_components(n_components: Any, n_classes: int, n_features: int) -> None:
    """Refuse a number of axes that these classes and columns do not have; None stands for all there are."""
    most = min(n_classes - 1, n_features)
    is_whole = isinstance(n_components, Integral) and not isinstance(n_components, bool)
    if n_components is not None and not (is_whole and 0 < n_components <= most):
        raise ValueError(
            f"n_components must be a whole number and lie between 1 and min(n_classes - 1, n_features) = {most}, "
            f"found {spelled(n_components)}"
        )


def axes(theta: Theta, n_components: int | None = None) -> Axes:
    r"""Find the directions along which class means differ most, relative to the spread within classes (Rao 1948).

    They solve :math:`B v = \lambda \Sigma v` with B the covariance of the class means, and are scaled to unit
    variance within classes.

    Parameters
    ----------
    theta : Theta
    n_components : int, optional
        Number of axes; by default as many as there are.
    """
    mean, weights = theta["mean"], theta[CLASS_WEIGHTS]
    centre = weights @ mean
    between = (weights[:, None] * (mean - centre)).T @ (mean - centre)
    values, vectors = eigh(between, theta["covariance"])
    most = min(len(mean) - 1, mean.shape[1])
    check_n_components(n_components, *mean.shape)
    order = np.argsort(values)[::-1][:most]
    explained = np.maximum(values[order], 0.0)
    kept = slice(n_components)
    return Axes(centre, vectors[:, order[kept]], explained[kept] / explained.sum())
