r"""Weights of several models of the same rows, learned from what each predicts of rows left out.

Stacking of predictive distributions (Yao, Vehtari, Simpson & Gelman 2018) chooses the weights on the simplex that
predict left-out labels best. Here they have a Dirichlet prior, and with :math:`p_{im} = p_m(y_i \mid x_i, D_{-i})`
the posterior

.. math::

   \omega \mid D \propto \mathrm{Dirichlet}(\omega \mid \alpha)
   \prod_i \Big(\sum_m \omega_m p_{im}\Big)^{w_i},

which treats the left-out scores as a likelihood. The weights used are its mode in log ratios, where it is flat at
the corners: without rows they are equal, and a model without merit keeps about :math:`\alpha / n`. The prior
weighs as much as four rows at most, however many models there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert
from scipy.special import logsumexp

from bayesppl.data.arguments import generator
from bayesppl.kernels.arrays import Array, logarithm

#: Concentration of the Dirichlet prior, for each model; of more than four models, as much as of four in all.
CONCENTRATION = 1.0
_MOST_CONCENTRATION = 4.0

# A Newton step that gains less of the logarithm of the posterior, in nats, is the last one
_LEAST_GAIN = 1e-9
_LEAST_SHARE = 1e-9
_MOST_STEPS = 100
_DRAWS = 1000

# Effective draws below which a row is left out by drawing anew, and most rows that are
_LEAST_EFFECTIVE = 400
_MOST_LEFT_OUT = 50

# Most rows by which draws are weighted by the posterior itself; with more, its normal approximation is as good
_MOST_ROWS_WEIGHTED = 20_000
_PROPOSAL_CELLS = 8_000_000
_DOF = 4


class Stacking(NamedTuple):
    """The posterior of the weights.

    ``weights``, (n_models,), the mode in log ratios; ``draws``, (n_draws, n_models); ``log_scores``, (n_rows,), of
    the combined predictions with these weights, and ``honest_log_scores``, with weights that have not seen the
    row.
    """

    weights: Array
    draws: Array
    log_scores: Array
    honest_log_scores: Array


def stack(
    log_scores: Array,
    row_weights: Array,
    concentration: float | None = None,
    random_state: int | None = 0,
) -> Stacking:
    r"""Learn the weights of models from their scores of left-out rows.

    Parameters
    ----------
    log_scores : (n_models, n_rows)
        log p_m(y_i | x_i, D without row i).
    row_weights : (n_rows,)
    concentration : float, optional
        Of the Dirichlet prior, for each model. By default one, and of more than four models as much as of four in
        all: many candidates are not a reason to believe that all of them are equally good.
    random_state : int, optional
        Of the draws.

    Notes
    -----
    Weights that have not seen row i have the posterior above, divided by the factor of that row; the average of
    :math:`p_i = \sum_m \omega_m p_{im}` under it is :math:`E[p_i^{1 - w_i}] / E[p_i^{-w_i}]` under the whole
    posterior (Gelfand, Dey & Chang 1992). Weights are learned again only without rows of so much influence, by
    their weight as a rule, that few of its draws count.

    Examples
    --------
    >>> import numpy as np
    >>> good, poor = np.log([[0.9] * 40, [0.5] * 40])
    >>> stack(np.array([good, poor]), np.ones(40)).weights.round(2).tolist()
    [0.95, 0.05]
    """
    if concentration is None:
        concentration = min(CONCENTRATION, _MOST_CONCENTRATION / len(log_scores))
    largest = log_scores.max(0)
    scored = np.isfinite(largest) & (row_weights > 0)
    likelihood = np.ascontiguousarray(np.exp(log_scores[:, scored] - largest[scored]))
    weights = _mode(likelihood, row_weights[scored], concentration)
    rng = generator(random_state)
    draws = _draw(likelihood, row_weights[scored], weights, concentration, rng)
    combined, honest = largest.copy(), largest.copy()
    combined[scored] += logarithm(_average(likelihood, weights))
    without, n_effective = _without_own_row(likelihood, row_weights[scored], draws)
    few = np.flatnonzero(n_effective < _LEAST_EFFECTIVE)
    for row in few[np.argsort(n_effective[few])][:_MOST_LEFT_OUT]:
        # too few of the draws, which have seen it, are probable without it
        rest = np.delete(likelihood, row, axis=1), np.delete(row_weights[scored], row)
        drawn = _draw(*rest, _mode(*rest, concentration), concentration, rng)
        without[row] = np.log((drawn @ likelihood[:, row]).mean())
    honest[scored] += without
    return Stacking(weights, draws, combined, honest)


def _average(likelihood: Array, weights: Array) -> Array:
    """Average the likelihoods of the models by their weights: (n_rows,).

    Without BLAS, whose threads wait for each other many times as long as this takes where the machine has other
    work.
    """
    return np.einsum("m,mn->n", weights, likelihood)


def _mode(likelihood: Array, row_weights: Array, concentration: float) -> Array:
    """Find the mode by Newton steps that are halved until they climb.

    That the weights add up to one is not a constraint: what is maximised has a term by which they do at its mode.
    """
    n_models = len(likelihood)
    total = row_weights.sum() + concentration * n_models

    def height(weights: Array) -> float:
        if (weights <= 0).any():
            return -np.inf
        combined = _average(likelihood, weights)
        return float(
            (row_weights * np.log(combined)).sum() + concentration * np.log(weights).sum() - total * weights.sum()
        )

    weights = np.full(n_models, 1 / n_models)
    reached = height(weights)
    for _ in range(_MOST_STEPS):
        scaled = likelihood / _average(likelihood, weights)
        gradient = (scaled * row_weights).sum(1) + concentration / weights - total
        curvature = (scaled * row_weights) @ scaled.T + np.diag(concentration / weights**2)
        step = cho_solve(cho_factor(curvature), gradient)
        gain = float(gradient @ step)
        if gain < _LEAST_GAIN:
            break
        share, tried = 1.0, height(weights + step)
        while tried < reached + 0.25 * share * gain and share > _LEAST_SHARE:
            share /= 2
            tried = height(weights + share * step)
        weights, reached = weights + share * step, tried
    return np.asarray(weights / weights.sum())


def _draw(
    likelihood: Array, row_weights: Array, weights: Array, concentration: float, rng: np.random.Generator
) -> Array:
    """Draw from the posterior: heavy-tailed around the mode, resampled by importance where rows are few."""
    n_models, n_rows = likelihood.shape
    if n_models == 1:
        return np.ones((_DRAWS, 1))
    contrasts = helmert(n_models)
    shares = likelihood * weights[:, None] / _average(likelihood, weights)
    total = row_weights.sum() + concentration * n_models
    curvature = (
        concentration * np.eye(n_models) + (shares * row_weights) @ shares.T - total * np.outer(weights, weights)
    )
    precision = contrasts @ curvature @ contrasts.T
    values, vectors = np.linalg.eigh((precision + precision.T) / 2)
    spread = vectors / np.sqrt(np.maximum(values, concentration / n_models))
    mode = contrasts @ np.log(weights)
    is_weighted = n_rows <= _MOST_ROWS_WEIGHTED
    size = int(np.clip(_PROPOSAL_CELLS // max(1, n_rows), 400, 4 * _DRAWS)) if is_weighted else _DRAWS
    standard = rng.standard_normal((size, n_models - 1))
    if is_weighted:
        standard /= np.sqrt(rng.chisquare(_DOF, (size, 1)) / _DOF)
    logs = (mode + standard @ spread.T) @ contrasts
    logs -= logsumexp(logs, axis=1, keepdims=True)
    draws = np.exp(logs)
    if not is_weighted:
        return draws
    # a draw far out, where models hold a row impossible
    target = np.array([(row_weights * logarithm(_average(likelihood, draw))).sum() for draw in draws])
    target += concentration * logs.sum(1)
    proposal = -(_DOF + n_models - 1) / 2 * np.log1p((standard**2).sum(1) / _DOF)
    importance = np.exp(target - proposal - (target - proposal).max())
    return draws[rng.choice(size, _DRAWS, p=importance / importance.sum())]


def _without_own_row(likelihood: Array, row_weights: Array, draws: Array) -> tuple[Array, Array]:
    """Weigh draws by the inverse factor of each row, for weights that have not seen it.

    Returns
    -------
    log_likelihood : (n_rows,)
    n_effective : (n_rows,)
        How many draws count.
    """
    few = draws[: max(50, min(len(draws), _PROPOSAL_CELLS // max(1, likelihood.shape[1])))]
    without = np.full(likelihood.shape[1], -np.inf)
    seen, squares = without.copy(), without.copy()
    for draw in few:
        log_p = np.log(np.maximum(_average(likelihood, draw), np.finfo(np.float64).tiny))
        without = np.logaddexp(without, -row_weights * log_p)
        seen = np.logaddexp(seen, (1 - row_weights) * log_p)
        squares = np.logaddexp(squares, -2 * row_weights * log_p)
    return seen - without, np.exp(2 * without - squares)
