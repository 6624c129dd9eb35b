r"""Log joints of rows predicted from all other rows, by importance weights of posterior draws.

A factor of the joint density that is known at draws :math:`\theta_s` of the posterior is, without row i,

.. math:: p(x_i, y_i = k \mid D_{-i}) = \sum_s w_{is}\, p(x_i, y_i = k \mid \theta_s, D_{-i}), \qquad
   w_{is} \propto p(x_i, y_i \mid \theta_s, D_{-i})^{-1},

the weights smoothed by a generalised Pareto distribution (Vehtari, Simpson, Gelman, Yao & Gabry 2024, "Pareto
smoothed importance sampling"), whose shape k-hat shows whether they can be trusted. Parameters that are integrated
out given the draw are integrated without the row, so that the weights vary less. Independent factors are weighted
each by itself, those in closed form are exact, and a factor whose weights cannot be trusted is sampled again
without the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from bayesppl.analysis.left_out_joints import Joints, density_of, labels_without, row_joints
from bayesppl.conjugate.membership import Membership
from bayesppl.errors import ConvergenceWarning, warn
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Array, log_mean_exp, logarithm
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.drawn_factors import DrawnFactor
from bayesppl.model.posterior import CHUNK_CELLS, Posterior
from bayesppl.model.sampled import relative


@dataclass(frozen=True, eq=False)
class ImportanceSampled:
    """The accuracy of leave-one-out from draws.

    Attributes
    ----------
    pareto_k : (n_rows,)
        The largest shape k-hat among the factors of each row; zero where the row was left out by sampling anew.
    good_k : float
        Up to which the weights of S draws can be trusted: min(1 - 1 / log10(S), 0.7).
    refitted : tuple of int
        Rows without which the model was sampled anew.
    mcse : (n_rows,)
        Monte-Carlo standard error of log p(y_i | x_i, D without row i).
    log_score_mcse : float
        That of the average of these, by weight.
    n_draws : int
    """

    pareto_k: Array
    good_k: float
    refitted: tuple[int, ...]
    mcse: Array
    log_score_mcse: float
    n_draws: int

    def __str__(self) -> str:
        return (
            f"from {self.n_draws} draws: largest k-hat {self.pareto_k.max():.2f}, mcse {self.log_score_mcse:.1g}"
        )


#: A fifth of the draws is the tail that is smoothed; it takes five.
LEAST_DRAWS = 25


class _Weighted(NamedTuple):
    """A factor at some rows: its logarithm at draws, and the weights that draws have without each row.

    ``fitted`` and ``without`` are (n_draws, n_rows, n_classes), ``log_weights`` is (n_draws, n_rows, 1).
    """

    factor: DrawnFactor
    fitted: Array
    without: Array
    log_weights: Array
    pareto_k: Array


def joints_of_draws(
    posterior: Posterior, X: Any, codes: Array, weights: Array, refits: int
) -> tuple[Joints, ImportanceSampled]:
    """Return log p(x_i, y = k) given the others and given all rows, where factors are known by draws.

    Parameters
    ----------
    posterior : Posterior
        Of these rows and no others.
    X : encoded rows
    codes, weights : (n_rows,)
    refits : int
        Most rows without which the model is sampled anew: those whose weights can be trusted least.
    """
    codes = codes.astype(np.intp)
    members = Membership(codes, weights)
    labels, exact_factors, drawn = posterior.factors(X, codes, weights)
    exact = _exact_joints(posterior, labels, exact_factors, members)
    found = Joints(*(values.copy() for values in exact))
    n_draws = min(int(np.prod(factor.shape)) for factor in drawn)
    if n_draws < LEAST_DRAWS:
        raise ValueError(
            f"{n_draws} draws are too few to leave rows out by their weights, whose tail is smoothed: sample at "
            f"least {LEAST_DRAWS}, better a thousand"
        )
    good_k = min(1 - 1 / np.log10(n_draws), 0.7)
    pareto_k, variance, of_batches = np.zeros(len(codes)), np.zeros(len(codes)), [np.zeros(1)] * len(drawn)
    for at in row_ranges(len(codes), n_draws * len(found.fitted_weights), CHUNK_CELLS):
        factors = [_weigh(factor, at, members) for factor in drawn]
        influences = _add_drawn(exact, found, factors, at, codes)
        pareto_k[at] = np.max([one.pareto_k for one in factors], axis=0)
        variance[at] = sum(map(_variance, influences))
        trusted = weights[at] * (pareto_k[at] <= good_k)
        of_batches = [total + values @ trusted for total, values in zip(of_batches, influences, strict=True)]
    bad = np.flatnonzero(pareto_k > good_k)
    can_sample = all(factor.without for factor in drawn)
    again = bad[np.argsort(-pareto_k[bad], kind="stable")][: refits if can_sample else 0].tolist()
    for row in counted(again, "sampling anew without rows whose importance weights cannot be trusted"):
        at = slice(row, row + 1)
        factors = [_sample_anew(_weigh(factor, at, members), at, members, good_k) for factor in drawn]
        variance[at] = sum(map(_variance, _add_drawn(exact, found, factors, at, codes)))
        pareto_k[row] = 0.0
    if (pareto_k > good_k).any():
        warn(
            f"{int((pareto_k > good_k).sum())} of {len(codes)} rows are so influential that their importance "
            f"weights cannot be trusted (k-hat is up to {pareto_k.max():.2f}, above {good_k:.2f}; loo().draws has "
            "that of every row): "
            + (
                f"raise refits={refits}, the number of rows without which the model is sampled anew"
                if can_sample
                else "a fit that was loaded, or has learned from rows partly known, is not sampled anew "
                "(refits=); fit the other rows, and predict such a row"
            ),
            ConvergenceWarning,
        )
    total = sum(map(_variance, of_batches)) + (weights[bad] ** 2 * variance[bad]).sum()
    about = ImportanceSampled(
        pareto_k, good_k, tuple(sorted(again)), np.sqrt(variance), float(np.sqrt(total)) / weights.sum(), n_draws
    )
    return found._replace(class_weights=np.exp(found.log_class_weights)), about


def _add_drawn(exact: Joints, found: Joints, factors: Sequence[_Weighted], at: slice, codes: Array) -> list[Array]:
    """Add factors known by draws at some rows to those in closed form, and write the sums into ``found``.

    Returns
    -------
    list of (n_batches, n_rows)
        Of each factor, the influence of draws on the scores of these rows, summed over batches of draws.
    """
    found.fitted[at], found.without[at] = exact.fitted[at], exact.without[at]
    parts = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for one in factors:
            found.fitted[at] += log_mean_exp(one.fitted)
            weighted = one.without + one.log_weights
            parts.append((weighted, logsumexp(weighted, axis=0)))
            found.without[at] += parts[-1][1]
            if one.factor.class_weights is not None:
                of_draws = np.log(one.factor.class_weights)[:, None] + one.log_weights
                found.log_class_weights[at] = logsumexp(of_draws, axis=0)
        change = np.eye(found.without.shape[1])[codes[at]] - softmax(found.without[at], axis=1)
        densities = [relative(weighted, average) for weighted, average in parts]
    return [
        _over_batches((values * change).sum(2), one.factor.shape)
        for values, one in zip(densities, factors, strict=True)
    ]


def _exact_joints(
    posterior: Posterior, labels: Any, exact: Sequence[tuple[Posterior, Any]], members: Membership
) -> Joints:
    """Multiply the factors in closed form, with class weights of one where those are known by draws only."""
    shape = len(members.codes), posterior.model.n_classes
    fitted, without, log_class_weights = np.zeros((3, *shape))
    fitted_weights = posterior.predictive_weights()
    if labels is not None:
        fitted_weights, _, log_class_weights = labels_without(labels, members, shape[1])
        fitted, without = fitted + logarithm(fitted_weights), without + log_class_weights
    for part, rows in exact:
        found = row_joints(part, rows, members.codes, members.weights, "predictive")
        fitted = fitted + density_of(found.fitted, logarithm(np.broadcast_to(found.fitted_weights, shape)))
        without = without + density_of(found.without, found.log_class_weights)
    return Joints(without, np.exp(log_class_weights), log_class_weights, fitted, fitted_weights)


def _weigh(factor: DrawnFactor, at: slice, members: Membership) -> _Weighted:
    """Evaluate a factor at some rows, and weight its draws as if each row were not among the data."""
    from arviz_stats.base import array_stats

    of_rows = members[at]
    fitted, without = factor.densities(factor.rows[at], of_rows)
    own = without[:, np.arange(len(of_rows.codes)), of_rows.codes] * of_rows.weights
    ordered = np.sort(np.where(np.isfinite(own).all(0), own, np.inf), axis=0)
    # the draws of largest weights, which are smoothed; those of a sampler that does not move are all the same
    tail = ordered[: int(min(len(own) / 5, 3 * np.sqrt(len(own))))]
    possible = tail[0] < tail[-1]
    log_weights = np.full(own.shape, -np.log(len(own)))
    pareto_k = np.where(np.isfinite(tail[0]) & (ordered[0] == ordered[-1]), 0.0, np.inf)
    if possible.any():
        smoothed, pareto_k[possible] = array_stats.psislw(own[:, possible], axis=0)
        log_weights[:, possible] = smoothed.T
    return _Weighted(factor, fitted, without, log_weights[:, :, None], pareto_k)


def _sample_anew(one: _Weighted, at: slice, members: Membership, good_k: float) -> _Weighted:
    """Sample the factor from all other rows, if the weights of its draws cannot be trusted."""
    if one.pareto_k[0] <= good_k or one.factor.without is None:
        return one
    anew = one.factor.without(at.start)
    densities, _ = anew.densities(one.factor.rows[at], members[at])  # given all rows that it was sampled from
    log_weights = np.full((len(densities), 1, 1), -np.log(len(densities)))
    return _Weighted(anew, one.fitted, densities, log_weights, np.zeros(1))


def _over_batches(influence: Array, shape: tuple[int, int]) -> Array:
    """Sum the influences of draws over batches of √draws consecutive draws: (n_batches, n_rows)."""
    n_chains, n_draws = shape
    edges = np.linspace(0, n_draws, int(np.sqrt(n_draws)) + 1).astype(int)[:-1]
    starts = (np.arange(n_chains)[:, None] * n_draws + edges).ravel()
    return np.asarray(np.add.reduceat(influence, starts, axis=0))


def _variance(batches: Array) -> Array:
    """Estimate the variance of a sum over draws from sums over batches of them (Flegal, Haran & Jones 2008)."""
    return np.asarray((batches**2).sum(0) * len(batches) / max(1, len(batches) - 1))
