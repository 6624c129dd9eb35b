r"""Weights of several models of the same rows, learned from what each predicts of rows left out.

Stacking of predictive distributions (Yao, Vehtari, Simpson & Gelman 2018) chooses the weights on the simplex that
predict left-out labels best. Here they have a Dirichlet prior, and with :math:`p_{im} = p_m(y_i \mid x_i, D_{-i})`
the posterior

.. math::

   \omega \mid D \propto \mathrm{Dirichlet}(\omega \mid \alpha)
   \prod_i \Big(\sum_m \omega_m p_{im}\Big)^{w_i},

which treats the left-out scores as a likelihood. The weights used are its mode in log ratios, where it is flat at
the corners: without rows they are equal, and a model without merit keeps about :math:`\alpha / n`. The prior
weighs as much as four rows at most, however many models there are. Before they are
weighed, each model is tempered by how well it predicts rows left out; what matters is kept.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bayesppl.analysis.calibration import drawn_rows, learn, temper
from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.left_out_joints import density_of
from bayesppl.analysis.scores import hits, log_scores, weighted_average
from bayesppl.data.arguments import generator
from bayesppl.data.preprocessing import AnyRecoding
from bayesppl.data.read_table import Columns
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest, Member, spread_out
from bayesppl.model.normalisation import log_probabilities, tempered
from bayesppl.model.stack import Stack, mixed, sharpened
from bayesppl.model.training_rows import encoded

#: Folds by which rows are left out of a guest.
MOST_FOLDS = 5

# Rows of the fit that are kept, to average the probabilities of guests over where cells are not seen
_BACKGROUND = 32

#: Models of less weight are left out of the stack.
LEAST_WEIGHT = 0.01

#: Most rows that are left out: as many, drawn at random, determine temperatures within a percent or two.
MOST_LEFT_OUT = 5_000

#: Concentration of the Dirichlet prior, for each model; of more than four models, as much as of four in all.
CONCENTRATION = 1.0
_MOST_CONCENTRATION = 4.0

# A Newton step that gains less of the logarithm of the posterior, in nats, is the last one
_LEAST_GAIN = 1e-9
_LEAST_SHARE = 1e-9
_MOST_STEPS = 100
_DRAWS = 1000

# Most rows by which draws are weighted by the posterior itself; with more, its normal approximation is as good
_MOST_ROWS_WEIGHTED = 20_000
_PROPOSAL_CELLS = 8_000_000
_DOF = 4


class LeftOut(NamedTuple):
    """A model, and log p(y = k | x_i, D without row i) by it, tempered: (n_left_out, n_classes).

    Of a guest D is also without the other rows of the fold of row i. Of more than :data:`MOST_LEFT_OUT` rows, so
    many are left out.
    """

    member: Member | Guest
    log_proba: Array


def leave_out(
    name: str, recoding: AnyRecoding, fitted: Fitted, rows: Rows, copies: tuple[int, int] = (1, 1)
) -> LeftOut:
    """Predict rows from all others by one model, tempered by how well that goes unless it is calibrated.

    Parameters
    ----------
    rows : Rows
        Of the fit, recoded.
    copies : tuple of int
        How often a row that is left out is seen, and a new one, by columns that may say the same: so high are
        their temperatures where the labels do not say otherwise.
    """
    X, some = encoded(fitted.model.family, rows.table), drawn_rows(len(rows), MOST_LEFT_OUT)
    calibration = fitted.calibration
    found = leave_out_each(fitted.posterior, X, rows.codes, rows.weights, calibration=calibration, some=some)
    log_proba = found.log_proba
    if calibration is None:
        of_left_out, of_new = copies
        log_weights, weights = found.log_class_weights, np.exp(found.log_class_weights)
        log_joint = tempered(found.log_joint, weights, of_left_out)
        calibration = learn(density_of(log_joint, log_weights), log_weights, found.codes, found.weights)
        log_proba = log_probabilities(tempered(log_joint, weights, calibration.temperature), weights)
        fitted = replace(fitted, calibration=replace(calibration, temperature=calibration.temperature * of_new))
    score, error = weighted_average(log_scores(log_proba, found.codes), found.weights)
    return LeftOut(Member(name, recoding, fitted, score, error), log_proba)


def cross_validate(name: str, classifier: Any, rows: Rows, n_jobs: int | None = None) -> LeftOut:
    """Predict every row by a classifier of another package that was fitted to other folds, stratified by class.

    Parameters
    ----------
    classifier : estimator
        With ``predict_proba``; it is cloned. It takes weights of rows where some differ from one.
    rows : Rows
        Of the fit, as they were given.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    seen = np.flatnonzero(rows.weights > 0)
    X, y = rows.table.take(seen).native(), rows.classes[rows.codes[seen]]
    places, counts = np.unique(rows.codes[seen], return_counts=True)
    n_folds = int(np.clip(counts.min(), 2, MOST_FOLDS))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # of one row, in one fold
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    params: dict[str, Any] = {}
    if rows.given_weights is not None and not (rows.weights[seen] == 1).all():
        last = classifier.steps[-1][0] + "__" if isinstance(classifier, Pipeline) else ""
        params = {f"{last}sample_weight": rows.weights[seen]}
    proba = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba", n_jobs=n_jobs, params=params)
    log_proba = np.zeros((len(rows), len(rows.classes)))  # of rows without weight, which have no part in scores
    log_proba[seen] = spread_out(proba, places, len(rows.classes))
    some = drawn_rows(len(rows), MOST_LEFT_OUT)
    log_proba = log_proba[some]
    score, error = weighted_average(log_scores(log_proba, rows.codes[some]), rows.weights[some])
    shares = np.bincount(rows.codes, rows.weights, len(rows.classes)) / rows.weights.sum()
    fitted = clone(classifier).fit(X, y, **params)
    return LeftOut(Guest(name, fitted, places, shares, score, error), log_proba)


def combine(
    candidates: Sequence[LeftOut], rows: Rows, columns: Columns, facts: tuple[str, ...], random_state: int | None
) -> Stack:
    """Weigh models by their predictions of left-out rows, and keep those that matter."""
    table = {c.member.name: (c.member.temperature, c.member.log_score, c.member.log_score_se) for c in candidates}
    kept, some = list(candidates), drawn_rows(len(rows), MOST_LEFT_OUT)
    codes, weights = rows.codes[some], rows.weights[some]
    while True:
        scores = np.stack([log_scores(c.log_proba, codes) for c in kept])
        found = stack(scores, weights, random_state=random_state)
        matter = found.weights >= LEAST_WEIGHT
        if matter.all():
            break
        kept = [c for c, matters in zip(kept, matter, strict=True) if matters]
    order = np.argsort(-found.weights, kind="stable")
    average_proba = mixed([c.log_proba for c in kept], found.weights)
    temperature = temper(average_proba, np.zeros(len(rows.classes)), codes, weights)
    log_proba = sharpened(average_proba, temperature)
    cost = weighted_average(found.log_scores - found.honest_log_scores, weights)[0]
    score, error = weighted_average(log_scores(log_proba, codes), weights)
    return Stack(
        columns=columns,
        classes=rows.classes,
        class_count=np.bincount(rows.codes, rows.weights, len(rows.classes)),
        members=tuple(kept[m].member for m in order),
        weights=found.weights[order],
        weight_draws=found.draws[:, order],
        candidates=table,
        temperature=temperature,
        log_score=score - cost,
        log_score_se=error,
        accuracy=weighted_average(hits(log_proba, codes), weights)[0],
        cost_of_choosing=cost,
        facts=facts,
        cross_validated=tuple(c.member.name for c in candidates if isinstance(c.member, Guest)),
        background=_background(rows),
    )


def _background(rows: Rows) -> tuple[Table, Array]:
    """A few rows, of every class as many if it can be, and weights that restore the frequencies of classes."""
    order = np.random.default_rng(0).permutation(np.flatnonzero(rows.weights > 0))
    codes = rows.codes[order]
    most = max(1, _BACKGROUND // len(np.unique(codes)))
    some = np.concatenate([order[codes == k][:most] for k in np.unique(codes)])
    shares = np.bincount(rows.codes, rows.weights) / rows.weights.sum()
    kept = rows.codes[some]
    return rows.table.take(some).snapshot(copied=True), shares[kept] / np.bincount(kept)[kept]


class Stacking(NamedTuple):
    """Posterior of the weights.

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
        all: the number of candidates is no reason to believe that they are equally good.
    random_state : int, optional
        Of the draws.

    Notes
    -----
    Weights that have not seen row i have the posterior above, divided by the factor of that row; the average of
    :math:`p_i(\omega) = \sum_m \omega_m p_{im}` under it is :math:`1 / E[1 / p_i(\omega)]` under the whole
    posterior (Gelfand, Dey & Chang 1992), and no weights are learned again.

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
    with np.errstate(divide="ignore"):
        combined, honest = largest.copy(), largest.copy()
        combined[scored] += np.log(_averaged(likelihood, weights))
        honest[scored] += _without_own_row(likelihood, draws)
    return Stacking(weights, draws, combined, honest)


def _averaged(likelihood: Array, weights: Array) -> Array:
    """What the weights make of the likelihoods: (n_rows,).

    Without BLAS, whose threads wait for each other many times as long as this takes where the machine has other
    work.
    """
    return np.einsum("m,mn->n", weights, likelihood)


def _mode(likelihood: Array, row_weights: Array, concentration: float) -> Array:
    """The mode, by Newton steps that are halved until they climb.

    The sum of the weights is no constraint but a term: at the mode of what is maximised it is one.
    """
    n_models = len(likelihood)
    total = row_weights.sum() + concentration * n_models

    def height(weights: Array) -> float:
        if (weights <= 0).any():
            return -np.inf
        combined = _averaged(likelihood, weights)
        return float(
            (row_weights * np.log(combined)).sum() + concentration * np.log(weights).sum() - total * weights.sum()
        )

    weights = np.full(n_models, 1 / n_models)
    reached = height(weights)
    for _ in range(_MOST_STEPS):
        scaled = likelihood / _averaged(likelihood, weights)
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
    """Draws from the posterior: heavy-tailed ones around the mode, resampled by importance where rows are few."""
    n_models, n_rows = likelihood.shape
    if n_models == 1:
        return np.ones((_DRAWS, 1))
    contrasts = helmert(n_models)
    shares = likelihood * weights[:, None] / _averaged(likelihood, weights)
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
    target = np.array([(row_weights * logarithm(_averaged(likelihood, draw))).sum() for draw in draws])
    target += concentration * logs.sum(1)
    proposal = -(_DOF + n_models - 1) / 2 * np.log1p((standard**2).sum(1) / _DOF)
    importance = np.exp(target - proposal - (target - proposal).max())
    return draws[rng.choice(size, _DRAWS, p=importance / importance.sum())]


def _without_own_row(likelihood: Array, draws: Array) -> Array:
    """Logarithm of what weights that have not seen a row give to it: (n_rows,)."""
    few = draws[: max(50, min(len(draws), _PROPOSAL_CELLS // max(1, likelihood.shape[1])))]
    reciprocal = np.zeros(likelihood.shape[1])
    for draw in few:
        reciprocal += 1 / _averaged(likelihood, draw)
    return np.asarray(np.log(len(few) / reciprocal))
