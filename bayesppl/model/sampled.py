"""Posteriors known by draws, and what a file keeps of those whose model it cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate import Joint
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.errors import ConvergenceWarning, NotConjugateError, warn
from bayesppl.kernels.arrays import Array, Theta, join_chains, log_mean_exp, logarithm, select_draws
from bayesppl.model.calibration import Power
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.drawn_factors import DrawnFactor, Factors
from bayesppl.model.normalisation import normalise, powered
from bayesppl.model.posterior import CHUNK_CELLS, DrawsReport, Posterior, in_log_odds
from bayesppl.model.rules import RuleName

# Of an average density, relative to it; and the least probability of a class for which that matters
_MOST_VARIANCE, _LEAST_SHARE = 0.25**2, 1e-5

#: From model, prior, statistics and draws to the mode.
ModeFinder = Callable[[GenerativeModel, Joint, JointStatistics, Theta], Theta]


def no_mode_finder(model: GenerativeModel, prior: Joint, statistics: JointStatistics, samples: Theta) -> Theta:
    """Refuse to search a mode without the code of the prior."""
    raise NotConjugateError(
        "the mode under a prior without a closed form has to be searched for, and a file holds no code of it: use "
        "rule='mean' or 'predictive'. Declare the model again, and fit it, for rule='map'"
    )


@dataclass(frozen=True, eq=False, repr=False)
class Sampled(Posterior):
    """A posterior known by draws.

    Attributes
    ----------
    samples : Theta
        Axes (chain, draw) lead. Parameters of the prior that were learned too follow those of the model.
    report : DrawsReport
        What is known about the draws.
    find_mode : callable
        Searches the mode of (model, prior, statistics, samples) where it has no closed form. A file does not keep
        it.
    resample : callable, optional
        Samples the posterior of other statistics under the same prior. A file does not keep it.
    """

    is_exact: ClassVar[bool] = False

    samples: Theta
    report: DrawsReport
    find_mode: ModeFinder = field(default=no_mode_finder, metadata={"stored": False})
    resample: Callable[[JointStatistics], Sampled] | None = field(default=None, metadata={"stored": False})

    @property
    def about_draws(self) -> DrawsReport:
        return self.report

    def mode(self) -> Theta:
        try:
            # what the closed form solves needs no draws
            return in_log_odds(self.prior).update(self.statistics).mode()
        except NotConjugateError:
            return self.find_mode(self.model, self.prior, self.statistics, self.samples)

    def mean(self) -> Theta:
        return {name: values.mean((0, 1)) for name, values in self.samples.items()}

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        return self.samples

    def predictive_weights(self) -> Array:
        return self.mean()[CLASS_WEIGHTS]

    def log_joint_predictive(self) -> LogDensity:
        # terms that classes share depend on the draw, and weigh the draws
        return LogDensity(lambda X: log_mean_exp(self._batches(X, 1)))

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """Estimate the error by batch means, (n_rows, n_classes).

        Batches of √draws consecutive draws are nearly independent (Flegal, Haran & Jones 2008).

        The probability is a function of averages over draws, the joint densities of all classes, whose error is
        taken to first order (delta method).
        """
        n_chains, n_draws = self.samples[CLASS_WEIGHTS].shape[:2]
        per_chain = int(np.sqrt(n_draws))
        if n_chains * per_chain < 4:
            raise ValueError(f"{n_chains} x {n_draws} draws are too few to estimate their Monte-Carlo error")
        averages, change = [], np.zeros(())
        for power, X in parts:
            batches = self._batches(X, per_chain)
            average = log_mean_exp(batches)
            averages.append((power, average))
            change = change + power * relative(batches, average)
        weights = self.predictive_weights()
        # every density has a power, and the class weights have the power one
        left = 1.0 - sum(power for power, _ in averages)
        of_weights = weights_by_batches(self.samples[CLASS_WEIGHTS], per_chain)
        change = change + left * relative(of_weights, log_mean_exp(of_weights))
        share = normalise(powered(averages, weights), weights, log=False)[0]
        return np.asarray(np.sqrt(variance_of_shares(share, change)))

    def factors(self, X: Any, codes: Array, weights: Array) -> Factors:
        def densities(rows: Any, members: Membership) -> tuple[Array, Array]:
            found = self.model.log_joint(flat)(rows)
            return found, found

        def without(row: int) -> DrawnFactor:
            kept = np.delete(np.arange(len(codes)), row)
            others = one_hot(codes[kept], self.model.n_classes, weights[kept])
            assert self.resample is not None
            return self.resample(self.model.statistics(X[kept], others)).factors(X, codes, weights).drawn[0]

        n_chains, n_draws, _ = self.samples[CLASS_WEIGHTS].shape
        flat = join_chains(self.samples)
        again = None if self.resample is None else without
        return Factors(None, [], [DrawnFactor(X, densities, (n_chains, n_draws), flat[CLASS_WEIGHTS], again)])

    def _batches(self, X: Any, per_chain: int) -> Array:
        """Average p(y = k, x) over batches of consecutive draws, by logarithms: (n_batches, n_rows, n_classes)."""
        n_chains, n_draws, n_classes = self.samples[CLASS_WEIGHTS].shape

        def log_joint(chain: int, draws: slice) -> Array:
            return self.model.log_joint(select_draws(self.samples, (chain, draws)))(X)

        return log_batch_means(log_joint, n_chains, n_draws, per_chain, (X.shape[0], n_classes))


def relative(batches: Array, average: Array) -> Array:
    """Divide densities by their average, zero where that is zero, all by their logarithms."""
    return np.asarray(np.exp(batches - np.where(np.isneginf(average), 0.0, average)))


def variance_of_shares(share: Array, change: Array) -> Array:
    """Return the Monte-Carlo variance of class probabilities to first order: (n_rows, n_classes).

    A warning names rows for which that says little: a few draws carry the average density of a class that counts.

    Parameters
    ----------
    share : (n_rows, n_classes)
        The probabilities.
    change : (n_batches, n_rows, n_classes)
        Joint densities averaged over each batch of draws, relative to those averaged over all.
    """
    few = ((change.var(0, ddof=1) / len(change) > _MOST_VARIANCE) & (share > _LEAST_SHARE)).any(-1)
    if few.any():
        warn(
            f"a few draws carry the average density of a class in {few.sum()} of {len(few)} rows, such as row "
            f"{few.argmax()}: neither the probabilities nor their errors are to be trusted there. Fit in closed "
            "form where there is one, or take many more draws",
            ConvergenceWarning,
        )
    influence = share * (change - (share * change).sum(-1, keepdims=True))
    return np.asarray((influence**2).sum(0) / (len(change) - 1) / len(change))


def log_batch_means(
    log_density: Callable[[int, slice], Array], n_chains: int, n_draws: int, per_chain: int, shape: tuple[int, int]
) -> Array:
    """Average densities over batches of consecutive draws, by their logarithms: (n_batches, n_rows, n_classes).

    Parameters
    ----------
    log_density : callable
        Of a chain and some of its draws: (n_draws, n_rows, n_classes). Draws are taken in portions, so that
        nothing as large as all of them is ever held.
    n_chains, n_draws, per_chain : int
        Numbers of chains, of draws in each, and of batches that these are cut into, of equal length but for the
        first one, which takes what is left over.
    shape : numbers of rows and classes
    """
    length = n_draws // per_chain
    edges = [0, *(n_draws - left * length for left in reversed(range(per_chain)))]
    portion = max(1, CHUNK_CELLS // max(1, shape[0] * shape[1]))
    batches = []
    for chain in range(n_chains):
        for first, last in pairwise(edges):
            total = np.full(shape, -np.inf)
            for start in range(first, last, portion):
                at = slice(start, min(start + portion, last))
                total = np.logaddexp(total, logsumexp(log_density(chain, at), axis=0))
            batches.append(total - np.log(last - first))
    return np.asarray(batches)


def weights_by_batches(weights: Array, per_chain: int) -> Array:
    """Average class weights, (n_chains, n_draws, n_classes), over batches of draws, by their logarithms.

    The one row of the result, (n_batches, 1, n_classes), stands for any.
    """
    n_chains, n_draws, n_classes = weights.shape

    def log_weights(chain: int, draws: slice) -> Array:
        return logarithm(weights[chain, draws])[:, None]

    return log_batch_means(log_weights, n_chains, n_draws, per_chain, (1, n_classes))


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """Draws of a model written in PyMC, and a fingerprint by which the model is recognised.

    Attributes
    ----------
    label : str
    rule : {"predictive", "mle", "map", "mean"}
    classes, names : tuple, optional
        Of the labels and the columns that an estimator was fitted to, as the model has them.
    points : mapping of str to (n_chains, n_draws, n_coordinates)
        Where the sampler was, by part of the model.
    reported : mapping of str to mapping of str to (n_chains, n_draws)
        What it reported of each draw.
    samples : mapping of str to (n_chains, n_draws, ...)
        Draws that the user had, by variable.
    fingerprint : mapping of str to array
        Log densities of the model and its data at two points.
    calibration : Power, optional
    order : tuple
        Names of all columns, in order, of the table that the model was built of.
    """

    label: str
    rule: RuleName
    classes: tuple[Hashable, ...] | None
    names: tuple[Hashable, ...] | None
    points: Mapping[str, Array]
    reported: Mapping[str, Mapping[str, Array]]
    samples: Mapping[str, Array]
    fingerprint: Mapping[str, Array]
    calibration: Power | None = None
    order: tuple[Hashable, ...] = ()
