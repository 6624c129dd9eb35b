r"""Class frequencies where a classifier is used that are not those of training ("prior shift").

What a row of class k looks like, p(x | y = k), is taken to be the same; only p(y) differs. Class probabilities
then follow from the ones at hand by exchanging one set of weights for another, and the new weights are estimated
from unlabelled rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_softmax, softmax

from bayesppl.analysis.draws import log_joint_under_draws, portions, power_factors
from bayesppl.analysis.parameter_tables import PROB, coord, tails
from bayesppl.analysis.uncertainty import probability_draws
from bayesppl.conjugate import Dirichlet
from bayesppl.data.arguments import generator, whole
from bayesppl.data.names import spelled
from bayesppl.kernels.arrays import Array, draw_codes, logarithm
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import exchange_weights
from bayesppl.model.posterior import CHUNK_CELLS
from bayesppl.model.rules import RuleName
from bayesppl.model.stack import Stack

if TYPE_CHECKING:
    import xarray as xr


_TOLERANCE, _MAX_STEPS = 1e-12, 10_000

# A log density that is lower by so much is that of the mode, as far as proposals go.
_NEAR = 1e-6

# The longest step towards it, in log odds: curvature far from the mode says little of it.
_LONGEST = 3.0

# Draws of the parameters; steps of a chain before it is kept
_THETAS, _BURN_IN = 100, 5

# Points of a trajectory, and bounds of the time between two of them, in standard deviations at the mode
_POINTS, _PACE = 8, (0.1, 0.5)

# Class probabilities of a stack under draws that are held at once: 128 megabytes
_HELD = 1 << 24

_TINY = np.finfo(float).tiny


def estimate_class_weights(
    fitted: Fitted | Stack,
    X: Any,
    prior: Dirichlet = Dirichlet(1.0),
    *,
    draws: int = 1000,
    prob: float = PROB,
    rule: RuleName | None = None,
    random_state: int | None = None,
) -> xr.Dataset:
    r"""Estimate the class frequencies among unlabelled rows.

    The likelihood of new weights w is :math:`\prod_i \sum_k w_k\,p(x_i \mid y = k)`, the labels summed out. ``em``
    is its maximum by the iteration of Saerens, Latinne & Decaestecker (2002). The posterior under a Dirichlet
    prior is sampled by a Markov chain of Hamiltonian and of Gibbs steps in turn (Neal 2011). Under the predictive
    rule there is one for each of a hundred draws of the parameters from their posterior, on which these rows have
    no further bearing: the interval contains the uncertainty of the densities. A plug-in rule takes them as known.
    The time grows with the rows; of a million of them, a part drawn at random says nearly as much.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
        Rows without labels.
    prior : Dirichlet
        Prior of the new weights.
    draws : int
        Number of draws, as many under each draw of the parameters.
    prob : float
        Probability of the equal-tailed credible intervals.
    rule : optional
        As for ``predict_proba``.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        Over "class": ``em``, and ``mean``, ``sd``, ``lower``, ``upper`` of the posterior; ``draws`` (chain, draw,
        class). Pass ``em`` or ``mean`` to ``predict_proba(X, class_weights=…)``.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> clf = bp.GaussianNB().fit(rng.normal(2.0 * y)[:, None], y)
    >>> shifted = rng.normal(2.0 * (rng.random(400) < 0.9))[:, None]
    >>> found = clf.estimate_class_weights(shifted, random_state=0)
    >>> bool(found["lower"][1] < 0.9 < found["upper"][1])
    True
    """
    import xarray as xr

    whole("draws", draws, 1)
    if not isinstance(prior, Dirichlet):
        raise TypeError(f"prior must be a bayesppl.Dirichlet, found {spelled(prior)}")
    bounds, rng = tails(prob), generator(random_state)
    even = np.ones(len(fitted.classes))
    if isinstance(fitted, Stack):
        log_density, is_plug_in = fitted.log_proba(X, even / len(even)), False
    else:
        log_density = fitted.log_labels(X, rule, lambda log_joint, old: exchange_weights(log_joint, old, even))
        is_plug_in = (fitted.rule if rule is None else rule) != "predictive"
    is_possible = ~np.isneginf(log_density).all(1)  # an impossible row is no evidence of its class
    if not is_possible.any():
        raise ValueError(
            "X has no row that is possible under any class, so that nothing follows about class weights; pass rows"
        )
    em = _maximise(log_density[is_possible])
    concentration = prior.sized(even.shape).concentration
    size = 1 if is_plug_in else min(_THETAS, draws)
    drawn = [log_density] if is_plug_in else _densities_under_draws(fitted, X, size, log_density.size, rng)
    of_each = -(-draws // size)
    samples = np.concatenate([_draw_weights(each[is_possible], concentration, of_each, rng) for each in drawn])
    samples = samples[np.sort(rng.choice(len(samples), draws, replace=False))]
    lower, upper = np.quantile(samples, bounds, axis=0)
    summary = {"em": em, "mean": samples.mean(0), "sd": samples.std(0), "lower": lower, "upper": upper}
    return xr.Dataset(
        {
            **{name: ("class", values) for name, values in summary.items()},
            "draws": (("chain", "draw", "class"), samples[None]),
        },
        coords={"class": coord(fitted.classes.tolist()), "chain": [0], "draw": np.arange(draws)},
        attrs={"prob": prob, "rows": int(is_possible.sum())},
    )


def _densities_under_draws(
    fitted: Fitted | Stack, X: Any, size: int, n_cells: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield log p(x | y = k, θ) of all rows, up to a number for each, under one draw after the other."""
    if isinstance(fitted, Stack):  # a member is drawn anew in every range of draws
        for some in row_ranges(size, n_cells, _HELD):
            parts = probability_draws(fitted, X, some.stop - some.start, rng, logarithm, "uniform")
            yield from np.concatenate(list(parts), axis=1)
        return
    factors, drawn = power_factors(fitted, size, rng), portions(fitted.posterior, size, rng)
    for log_joints, weights in log_joint_under_draws(fitted, drawn, factors, fitted.encode(X), CHUNK_CELLS):
        yield from exchange_weights(log_joints, weights, np.ones(len(fitted.classes)))


def _maximise(log_density: Array) -> Array:
    n_classes = log_density.shape[1]
    weights = np.full(n_classes, 1 / n_classes)
    for _ in range(_MAX_STEPS):
        updated = softmax(logarithm(weights) + log_density, axis=1).mean(0)
        if np.abs(updated - weights).max() < _TOLERANCE:
            break
        weights = updated
    return np.asarray(weights)


def _draw_weights(log_density: Array, concentration: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draw weights given densities of rows, by a Markov chain: (draws, n_classes).

    Labels and weights drawn in turn move freely where classes are apart, or have no rows, but take hundreds of
    sweeps for one draw where classes overlap. There, trajectories (Neal 2011, section 5.3) cross the posterior of
    the log odds against the last class, in coordinates in which it has unit width at its mode.
    """
    log_density = log_density[~np.isneginf(log_density).all(1)]
    target = _Posterior(np.exp(log_density - log_density.max(1, keepdims=True)), concentration)
    mode, root = target.mode()
    spread = np.linalg.inv(root).T
    odds, chain = mode + spread @ rng.standard_normal(len(mode)), np.empty((_BURN_IN + draws, len(concentration)))
    for step in range(len(chain)):
        point, momentum, time = odds, rng.standard_normal(len(mode)), rng.uniform(*_PACE)
        energy, force = momentum @ momentum / 2 - target.log_density(point), target.gradient(point) @ spread
        for _ in range(_POINTS):
            momentum = momentum + time / 2 * force
            point = point + time * spread @ momentum
            force = target.gradient(point) @ spread
            momentum = momentum + time / 2 * force
        if np.log(rng.random()) < energy - momentum @ momentum / 2 + target.log_density(point):
            odds = point
        chain[step] = target.sweep(odds, rng)
        log_weights = np.log(np.maximum(chain[step], _TINY))
        odds = log_weights[:-1] - log_weights[-1]
    return chain[_BURN_IN:]


class _Posterior(NamedTuple):
    """The posterior of weights given densities of rows, of their log odds against the last class.

    Attributes
    ----------
    density : (n_rows, n_classes)
        Each row in a unit of its own.
    concentration : (n_classes,)
        Of the Dirichlet prior of the weights.
    """

    density: Array
    concentration: Array

    @np.errstate(divide="ignore")  # of odds so far out that a row becomes impossible
    def log_density(self, odds: Array) -> float:
        log_weights = log_softmax(np.append(odds, 0.0))
        return float(np.log(self.density @ np.exp(log_weights)).sum() + self.concentration @ log_weights)

    @np.errstate(divide="ignore", invalid="ignore")
    def gradient(self, odds: Array) -> Array:
        weights = softmax(np.append(odds, 0.0))
        counts = self.concentration + weights * ((1 / (self.density @ weights)) @ self.density)
        return np.asarray(counts - (len(self.density) + self.concentration.sum()) * weights)[:-1]

    def sweep(self, odds: Array, rng: np.random.Generator) -> Array:
        """Draw the labels of all rows given the weights, and return weights drawn given the labels."""
        labels = draw_codes(self.density * softmax(np.append(odds, 0.0)), rng)
        counts = np.bincount(labels, minlength=len(self.concentration))
        return Dirichlet(self.concentration + counts).draw(1, rng)["probability"][0]

    def mode(self) -> tuple[Array, Array]:
        """Find the mode by Newton's method, and the Cholesky factor of the information there.

        Where the density is not concave, the information of labelled rows bounds its curvature (Böhning 1992).
        """
        odds = np.zeros(len(self.concentration) - 1)
        for _ in range(_MAX_STEPS):
            weights = softmax(np.append(odds, 0.0))
            shares = self.density * weights
            shares /= shares.sum(1, keepdims=True)
            total = len(shares) + self.concentration.sum()
            bound = total * (np.diag(weights) - np.outer(weights, weights))[:-1, :-1]
            known = (np.diag(shares.sum(0)) - shares.T @ shares)[:-1, :-1]
            try:
                root = np.linalg.cholesky(bound - known)
            except np.linalg.LinAlgError:
                root = np.linalg.cholesky(bound)
            gradient = self.gradient(odds)
            step = cho_solve((root, True), gradient)
            step *= min(1.0, _LONGEST / np.abs(step).max(initial=_TINY))
            if step @ gradient < _NEAR:
                break
            level = self.log_density(odds)
            while self.log_density(odds + step) < level - _NEAR:
                step = step / 2
            odds = odds + step
        return odds, root
