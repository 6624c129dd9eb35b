r"""One weight per column, learned from rows left out.

Columns that repeat each other are counted twice by a model that holds them independent, and no temperature, which
trusts all of them less, can mend that. Weights can:

.. math:: p_w(y = k \mid x, D) \propto \pi_k \prod_b p(x_b \mid y = k, D)^{w_b},

with a factor b for every column that is independent of the others given the class, and for every block of columns
that are not. Zaidi, Cerquides, Carman & Webb (2013) maximise the score of the rows of the fit, which rewards
columns that fit these very rows; here every row is predicted from all others, exactly. The weights maximise

.. math::

   \sum_i r_i \log p_w(y_i \mid x_i, D_{-i}) - \tfrac12 u^\top (\tau^2 I + 11^\top)^{-1} u, \qquad u = \log w,

that is, log w is normal around a common level with standard deviation τ, and the level is normal around 0, as log
T is under ``calibration="temperature"``, to which this comes down as τ → 0. Above 0 log w has a half-normal
penalty besides, as there: a few rows that a column happens to separate would make its weight very large. τ is the
one of a few values that has the highest evidence, by Laplace's approximation, under a half-normal prior of
standard deviation one (MacKay 1992).
The first term is concave in w, and not in log w.

Weights that were learned from a row predict it too well. What the weights would be without it follows from the
curvature at the maximum, to first order (Rad & Maleki 2020), and with it log odds that have not seen the label of
their row; a last temperature, learned from these, divides the weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.left_out_joints import density_of, factor_joints
from bayesppl.analysis.parameter_tables import coord
from bayesppl.analysis.temperature import ABOVE_ONE_SD, PENALTY_SD, Scores, drawn_rows
from bayesppl.data.rows import Rows, warn_of_counts
from bayesppl.errors import NotConjugateError
from bayesppl.families.bound import Factor
from bayesppl.families.family import Family
from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import ColumnWeights, Option
from bayesppl.model.fitted import Fitted
from bayesppl.model.training_rows import encoded, require_known_rows

if TYPE_CHECKING:
    import xarray as xr

#: With more factors than these, the curvature of the score takes longer than all the rest.
MOST_FACTORS = 1000

# Most rows, and numbers (rows × classes × factors, 64 MB), that weights are learned from; of more, rows are drawn
# at random.
_MOST_ROWS, _MOST_NUMBERS = 5_000, 1 << 23

# Weights that are all but equal, up to weights that differ by factors of tens.
_SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


def require_factors(family: Family) -> tuple[Factor, ...]:
    """Return the factors of a family that has several, and refuse any other family.

    Raises
    ------
    ValueError
        If there is one, or if there are too many.
    """
    factors = family.bound.factors
    if len(factors) == 1:
        raise ValueError(
            "calibration='weights' learns a weight of every column, or block of columns, that is independent of "
            f"the others given the class, and the {family.name} family has one here, for a single column or for "
            "columns that it models together. It is learned by calibration='temperature'"
        )
    if len(factors) > MOST_FACTORS:
        raise ValueError(
            f"calibration='weights' learns the weights of up to {MOST_FACTORS:,} columns or blocks, and here are "
            f"{len(factors):,}; use calibration='temperature', or choose columns"
        )
    return factors


def calibrated(fitted: Fitted, rows: Rows, option: Option) -> Fitted:
    """Calibrate the fit of these rows by its exact leave-one-out under its rule.

    It is calibrated by one temperature, or by a weight of every column.
    """
    try:
        require_known_rows(rows)
    except NotConjugateError as error:
        raise NotConjugateError(f"calibration={option!r} leaves rows out: {error}") from None
    warn_of_counts(rows)
    X = encoded(fitted.model.family, rows.table)
    data = fitted.posterior, X, rows.codes, rows.weights, fitted.rule
    if option == "temperature":
        return replace(fitted, calibration=leave_out_each(*data).calibration)
    factors = require_factors(fitted.model.family)
    some = drawn_rows(len(rows), max(1, min(_MOST_ROWS, _MOST_NUMBERS // (len(rows.classes) * len(factors)))))
    names = tuple(factor.name for factor in factors)
    try:
        left_out = [(joint.without, joint.log_class_weights) for joint in factor_joints(*data, some)]
    except NotConjugateError:
        raise NotConjugateError(
            "calibration='weights' leaves out every row in closed form, column by column, which this fit has not; "
            "calibration='temperature' weighs draws where there is none"
        ) from None
    return replace(fitted, calibration=learn_weights(names, left_out, rows.codes[some], rows.weights[some]))


def column_weights(fitted: Fitted) -> xr.Dataset:
    """Return how far every column is trusted where labels are predicted, under ``calibration="weights"``.

    Returns
    -------
    xarray.Dataset
        Over "column" (the name of the block, where several columns are one): ``weight``, w; ``log_sd``, the
        standard error of log w; ``lower`` and ``upper``, two of them below and above it.

    Raises
    ------
    ValueError
        If the fit has no weights.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> clf = bp.GaussianNB(calibration="weights").fit(*load("iris"))
    >>> clf.column_weights()["weight"].idxmax().item()
    'petal length (cm)'
    """
    import xarray as xr

    found = fitted.calibration
    if not isinstance(found, ColumnWeights):
        raise ValueError("this fit has no weights of its columns: fit with calibration='weights'")
    lower, upper = found.intervals
    values = {"weight": found.weights.copy(), "log_sd": found.log_sd, "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: ("column", value) for name, value in values.items()}, coords={"column": coord(list(found.names))}
    )


def learn_weights(
    names: tuple[Hashable, ...], left_out: Iterable[tuple[Array, Array]], codes: Array, row_weights: Array
) -> ColumnWeights:
    """Learn the weights that predict left-out labels best, how well they are known, and what they gain.

    Parameters
    ----------
    names : (n_factors,) tuple
    left_out : iterable of pairs of (n_rows, n_classes)
        For every factor, log p(x_ib, y = k | D without row i), and log p(y = k | D without row i).
    codes, row_weights : (n_rows,)

    Examples
    --------
    Of three columns the second repeats the first:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(2, size=2000)
    >>> x = rng.normal(codes, 1.0, (2, 2000))
    >>> densities = [-0.5 * (column[:, None] - [0, 1]) ** 2 for column in (x[0], x[0], x[1])]
    >>> even = np.log(np.full((2000, 2), 0.5))
    >>> found = learn_weights(("a", "a again", "b"), [(d + even, even) for d in densities], codes, np.ones(2000))
    >>> found.weights.round(1).tolist()
    [0.5, 0.5, 1.0]
    """
    scores = scores_of(left_out, codes, row_weights)
    together = replace(scores, contrast=scores.contrast.sum(0, keepdims=True))
    apart = [replace(scores, contrast=scores.contrast[[b]]) for b in range(len(names))]
    # of several maxima, the higher one that is met from weights that are alike, or from those of columns alone
    alike = _path(scores, _SPREADS, -np.log([together.temperature()] * len(names)))
    alone = _path(scores, _SPREADS[::-1], -np.log([column.temperature() for column in apart]))
    points = [max(pair, key=lambda point: point.height) for pair in zip(alike, alone[::-1], strict=True)]
    best = max(points, key=lambda point: point.log_evidence)
    # of log odds whose weights have not seen the row
    unseen = replace(scores, contrast=without_rows(scores, best)[None])
    temperature = unseen.temperature()
    # the last temperature sets the level of all weights; how they differ was found before
    centred = best.covariance - best.covariance.mean(0)
    centred -= centred.mean(1, keepdims=True)
    return ColumnWeights(
        names,
        np.exp(best.log_weights) / temperature,
        centred + unseen.temperature_variance(temperature),
        best.spread,
        unseen.average(1 / temperature),
        scores.average(np.ones(len(names))),
        len(codes),
    )


class Point(NamedTuple):
    """The maximum of the penalised score for one τ.

    Attributes
    ----------
    spread : float
        τ.
    log_weights : (n_factors,)
    covariance : (n_factors, n_factors)
        Of their errors.
    height : float
        Of the penalised score.
    log_evidence : float
    root : tuple
        Of the curvature there, as :func:`scipy.linalg.cho_factor` has it.
    """

    spread: float
    log_weights: Array
    covariance: Array
    height: float
    log_evidence: float
    root: Any


def _path(scores: Scores, spreads: Iterable[float], start: Array) -> list[Point]:
    """Follow a maximum from one τ to the next."""
    points = list[Point]()
    for spread in spreads:
        points.append(maximum(scores, spread, points[-1].log_weights if points else start))
    return points


def scores_of(left_out: Iterable[tuple[Array, Array]], codes: Array, row_weights: Array) -> Scores:
    """Score rows by the densities of all factors."""
    pairs = list(left_out)
    return Scores.of(np.stack([density_of(*pair) for pair in pairs], axis=-1), pairs[-1][1], codes, row_weights)


def maximum(scores: Scores, spread: float, start: Array) -> Point:
    """Find the weights of the highest penalised score, and what follows from the curvature there."""
    # the inverse of τ² I + s² 11ᵀ, by the formula of Sherman & Morrison
    n, common = len(start), PENALTY_SD**2
    precision = (np.eye(n) - common / (spread**2 + n * common)) / spread**2

    def value(u: Array) -> float:
        penalty = u @ precision @ u + (np.maximum(u, 0.0) ** 2).sum() / ABOVE_ONE_SD**2
        return 0.5 * float(penalty) - float(scores.row_weights @ scores.log_scores(np.exp(u)))

    def slope(u: Array) -> Array:
        of_penalty = precision @ u + np.maximum(u, 0.0) / ABOVE_ONE_SD**2
        return np.asarray(of_penalty - scores.gradients(np.exp(u)) @ scores.row_weights)

    def penalty(u: Array) -> Array:
        return precision + np.diag((u > 0) / ABOVE_ONE_SD**2)

    def penalised(u: Array) -> Array:
        return penalty(u) + curvature(scores, u)

    found = minimize(value, start, jac=slope, hess=penalised, method="trust-exact", options={"gtol": 1e-5})
    root = cho_factor(penalised(found.x))
    covariance = scores.covariance(np.exp(found.x), penalty(found.x))
    log_determinants = np.linalg.slogdet(precision)[1] - 2 * np.log(np.diag(root[0])).sum()
    log_evidence = 0.5 * float(log_determinants) - float(found.fun) - 0.5 * spread**2
    return Point(spread, found.x, covariance, -float(found.fun), log_evidence, root)


def curvature(scores: Scores, u: Array) -> Array:
    """Compute minus the second derivative of the total score by log w: (n_factors, n_factors)."""
    weights = np.exp(u)
    return scores.information(weights) - np.diag(scores.gradients(weights) @ scores.row_weights)


def without_rows(scores: Scores, point: Point) -> Array:
    r"""Compute weighted log densities of every row under the weights of all other rows: (n_classes, n_rows).

    With the derivatives of a row's log odds by log w in A, its probabilities p, and
    :math:`W = \mathrm{diag}(p) - pp^\top`, a Newton step takes the row out of a maximum of curvature H: its
    log odds change by
    :math:`-S (I - W S)^{-1} (e_{y} - p)`, where :math:`S = A H^{-1} A^\top` (Rad & Maleki 2020, by Woodbury's
    identity).
    """
    weights = np.exp(point.log_weights)
    A = scores.contrast.T * weights
    n_rows, n_classes, n_factors = A.shape
    solved = cho_solve(point.root, A.reshape(-1, n_factors).T).T.reshape(A.shape)
    S = A @ solved.swapaxes(1, 2)
    proba, r = scores.normalised(weights)[0].T, scores.row_weights[:, None, None]
    WS = r * (proba[:, :, None] * S - proba[:, :, None] * (proba[:, None] @ S))
    error = -proba
    error[np.arange(n_rows), scores.codes] += 1
    change = S @ np.linalg.solve(np.eye(n_classes) - WS, r * error[:, :, None])
    return np.asarray((A.sum(-1) - change[:, :, 0]).T)
