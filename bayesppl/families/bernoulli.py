r"""Bernoulli features: yes or no, word present or absent.

.. math:: x_d \mid y = k \sim \mathrm{Bernoulli}(\phi_{kd}), \qquad \phi_{kd} \sim \mathrm{Beta}(\alpha, \beta).

The posterior is :math:`\mathrm{Beta}(\alpha + s, \beta + n - s)` after s successes in n rows (Bernardo & Smith 1994).
The predictive probability of a success is the posterior mean, so for one row the rules ``mean`` and ``predictive``
agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from bayesppl.conjugate import Beta
from bayesppl.conjugate.statistics import Successes, remainder
from bayesppl.families._bases.columns import NumericFamily
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.family import Measure, Takes
from bayesppl.families._bases.leave_one_out import counts_without, weight_by_weight
from bayesppl.families._bases.log_density import Evaluate, LogDensity, on_first_use
from bayesppl.families._bases.membership import Membership
from bayesppl.families._bases.missing import observed_weight, present_cells, split_missing
from bayesppl.families._bases.one_parameter import LogFactors, ProbabilityFamily, log_association_of_successes
from bayesppl.families._bases.support import Support
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, dense, dot_log, log_contrast, log_dotter
from bayesppl.kernels.class_sums import class_sums


@dataclass(frozen=True, eq=False)
class Bernoulli(ProbabilityFamily, NumericFamily):
    """Independent Bernoulli features; absent words count as evidence too.

    Parameters
    ----------
    probability : Beta
        Prior of the success probabilities; uniform by default.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> clf = bp.GenerativeClassifier(bp.Bernoulli(bp.Beta(1, 1))).fit(X, ["a", "a", "b", "b"])
    >>> clf.predict_proba([[1, 0]]).round(3).tolist()
    [[0.75, 0.25]]
    """

    name: ClassVar[str] = "bernoulli"
    takes: ClassVar[Takes] = "whole numbers"
    support: ClassVar[Support] = Support(
        "0 and 1 (or False and True)",
        lambda x: (x == 0) | (x == 1),
        "Binarise the column, or choose a family of counts or real numbers.",
        (0, 1),
    )
    measure: ClassVar[Measure] = "mass"
    allows_sparse: ClassVar[bool] = True

    probability: Beta | Any = Beta()

    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Successes:
        filled, present = split_missing(X)
        successes = class_sums(responsibilities, filled)
        trials = observed_weight(responsibilities, filled, present)
        return Successes(successes, remainder(trials, successes), np.zeros_like(successes))

    def log_predictive(self, posterior: Beta) -> LogDensity:
        # not the logarithms of the mean: one that rounds to 0 or 1 would make the other outcome impossible
        log_total = np.log(posterior.alpha + posterior.beta)
        return _log_mass((np.log(posterior.alpha) - log_total, np.log(posterior.beta) - log_total))

    def loo_log_predictive(
        self, posterior: Beta, statistics: Any, X: Any, members: Membership
    ) -> tuple[Array, Array]:
        if members.few_weights is not None:
            return weight_by_weight(partial(self._by_class, posterior), X, members)
        return super().loo_log_predictive(posterior, statistics, X, members)

    def _by_class(self, posterior: Beta, X: Any, members: Membership) -> tuple[Array, Array]:
        """Where all rows weigh the same: each class as it is and as it is without one of its rows, in one product.

        A failure less where the row failed, a success less where it succeeded.
        """
        w, yes, no = members.weights[0], posterior.alpha, posterior.beta
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without rows has none to lose
            log_yes = np.log(np.concatenate([yes, counts_without(yes, w)]))
            log_no = np.log(np.concatenate([no, counts_without(no, w)]))
            log_total = np.log(np.concatenate([yes + no, yes + no - w]))
        both = _log_mass((log_yes - log_total, log_no - log_total))(X)
        fitted, without = both[:, : len(yes)], both[:, len(yes) :]
        return fitted, members.replaced(fitted, members.own(without))

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return _log_mass(self.log_factors(theta))

    def averaged_predictive(self, posterior: Beta, common: Beta, log_odds: Mapping[str, Array]) -> LogDensity:
        # a mixture of two Bernoulli distributions is one
        relevant, irrelevant = expit(log_odds[""]), expit(-log_odds[""])
        of_classes, of_all = posterior.alpha + posterior.beta, common.alpha + common.beta
        yes = relevant * (posterior.alpha / of_classes) + irrelevant * (common.alpha / of_all)
        no = relevant * (posterior.beta / of_classes) + irrelevant * (common.beta / of_all)
        return _log_mass((np.log(yes), np.log(no)))

    def _log_dependence(self, prior: Any, common: Any, statistics: Successes) -> Array:
        return log_association_of_successes(prior, statistics)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        return rng.binomial(1, theta["probability"][codes])

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        cells = dense(X)
        index, at, dims = present_cells(cells, codes, prefix)
        pm.Bernoulli(f"{prefix}x", variables["probability"][index], observed=cells[at], dims=dims)


def _log_mass(log_factors: LogFactors) -> LogDensity:
    """Σ over present cells of log p where the cell is 1, and of log(1 − p) where it is 0, as a function of the rows."""
    log_yes, log_no = log_factors
    # Every row starts as "all absent", one constant per class; what is present corrects it. Columns that are
    # certain (probability one) cannot be absent at all, which the constant must not turn into inf - inf.
    certain = np.isneginf(log_no)
    log_absent = np.where(certain, 0.0, log_no)
    constant, n_certain = log_absent.sum(-1)[..., None, :], certain.sum(-1)[..., None, :]
    correct = log_dotter(log_yes - log_absent)
    contrast = on_first_use(lambda: log_contrast(log_yes - log_absent, of_bits=True))
    count_certain = log_dotter(1.0 * certain)

    def log_mass(X: Any, correct: Evaluate = correct) -> Array:
        filled, present = split_missing(X)
        out = correct(filled)
        out += constant if present is None else dot_log(present, log_absent)
        if certain.any():
            required = n_certain if present is None else count_certain(present)
            out[count_certain(filled) < required] = -np.inf
        return out

    return LogDensity(log_mass, partial(log_mass, correct=contrast))
