r"""Class frequencies where a classifier is used that are not those of training ("prior shift").

What a row of class k looks like, p(x | y = k), is taken to be the same; only p(y) differs. Class probabilities
then follow from the ones at hand by exchanging one set of weights for another, and the new weights are estimated
from unlabelled rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import log_softmax, softmax

from bayesppl.analysis.parameter_tables import PROB, coord, tails
from bayesppl.analysis.uncertainty import probability_draws
from bayesppl.conjugate import Dirichlet
from bayesppl.data.arguments import generator, whole
from bayesppl.data.names import spelled
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import exchange_weights
from bayesppl.model.rules import RuleName
from bayesppl.model.stack import Stack

if TYPE_CHECKING:
    import xarray as xr


_TOLERANCE, _MAX_STEPS = 1e-12, 10_000

# A log density that is lower by so much is that of the mode, as far as proposals go.
_NEAR = 1e-6

# Draws of the parameters; proposals of which a chain begins at one, by importance; and their degrees of freedom
_THETAS, _FIRST, _DF = 100, 50, 10

# Class probabilities under draws that are held at once: 128 megabytes
_HELD = 1 << 24


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
    prior is sampled by independent proposals about its mode (Tierney 1994). Under the predictive rule that is
    done for each of a hundred draws of the parameters from their posterior (of many rows, for as many as 128
    megabytes of probabilities hold), on which these rows have no further bearing: the interval contains the
    uncertainty of the densities. A plug-in rule takes them as known.

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
    drawn = log_density[None]
    if not is_plug_in:
        # as many as there is room for, two at least
        size = int(np.clip(_HELD // max(1, log_density.size), 2, min(_THETAS, max(2, draws))))
        # a sampled posterior has its own number of draws, in random order
        parts = probability_draws(fitted, X, size, rng, lambda proba: proba[:size], "uniform")
        drawn = logarithm(np.concatenate(list(parts), axis=1))
    is_possible = ~np.isneginf(log_density).all(1)  # an impossible row is no evidence of its class
    log_density, drawn = log_density[is_possible], drawn[:, is_possible]
    concentration = prior.sized(even.shape).concentration
    if not len(log_density):
        raise ValueError(
            "X has no row that is possible under any class, so that nothing follows about class weights; pass rows"
        )
    em = _maximise(log_density)
    of_each = -(-draws // len(drawn))
    samples = np.concatenate([_draw_weights(each, concentration, of_each, rng) for each in drawn])[:draws]
    lower, upper = np.quantile(samples, bounds, axis=0)
    summary = {"em": em, "mean": samples.mean(0), "sd": samples.std(0), "lower": lower, "upper": upper}
    return xr.Dataset(
        {
            **{name: ("class", values) for name, values in summary.items()},
            "draws": (("chain", "draw", "class"), samples[None]),
        },
        coords={"class": coord(fitted.classes.tolist()), "chain": [0], "draw": np.arange(draws)},
        attrs={"prob": prob, "rows": len(log_density)},
    )


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
    """Draw weights given densities of rows, by Metropolis–Hastings: (draws, n_classes).

    Proposals are independent, of a t distribution about the mode of the log odds against the last class. Drawing
    labels and weights in turn would take hundreds of sweeps for one draw where classes overlap.
    """
    log_density = log_density[~np.isneginf(log_density).all(1)]
    target = _Posterior(np.exp(log_density - log_density.max(1, keepdims=True)), concentration)
    mode, root = target.mode()
    n_steps = _FIRST + draws
    scale = np.sqrt(_DF / rng.chisquare(_DF, n_steps))
    steps = rng.standard_normal((n_steps, len(mode))) * scale[:, None]
    odds = mode + np.linalg.solve(root.T, steps.T).T
    log_proposal = -(_DF + len(mode)) / 2 * np.log1p((steps**2).sum(1) / _DF)
    log_ratio = np.array([target.log_density(each) for each in odds]) - log_proposal
    at, chain = int(rng.choice(_FIRST, p=softmax(log_ratio[:_FIRST]))), []
    for step, level in enumerate(np.log(rng.random(draws)), start=_FIRST):
        at = step if level < log_ratio[step] - log_ratio[at] else at
        chain.append(at)
    return np.asarray(softmax(np.pad(odds[chain], ((0, 0), (0, 1))), axis=1))


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
            gradient = (shares.sum(0) + self.concentration - total * weights)[:-1]
            step = cho_solve((root, True), gradient)
            if step @ gradient < _NEAR:
                break
            level = self.log_density(odds)
            while self.log_density(odds + step) < level - _NEAR:
                step = step / 2
            odds = odds + step
        return odds, root
