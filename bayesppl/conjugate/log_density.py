"""A log density as a function of encoded rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from bayesppl.kernels.arrays import Array

#: From encoded rows to one number for every row and class: (..., n_rows, n_classes), draw axes leading. The result
#: is an array of its own, which the caller may overwrite.
Evaluate = Callable[[Any], Array]


class LogDensity:
    """log p(x | y = k) as a function of encoded rows x: a term log h(x) that all classes share, and a kernel.

    Class probabilities under one θ need the kernel only. The shared term may depend on θ: an average over several
    θ needs the whole density.

    Parameters
    ----------
    evaluate : callable
        The whole log density, from encoded rows to (..., n_rows, n_classes).
    kernel : callable, optional
        The same, up to a term that all classes of a row share, where that is cheaper.

    Attributes
    ----------
    evaluate, kernel : callable
    """

    def __init__(self, evaluate: Evaluate, kernel: Evaluate | None = None) -> None:
        self.evaluate = evaluate
        self.kernel = evaluate if kernel is None else kernel

    def __call__(self, X: Any) -> Array:
        """Evaluate log p(x | y = k) of encoded rows: (..., n_rows, n_classes)."""
        return self.evaluate(X)

    def map(self, change: Callable[[Evaluate], Evaluate]) -> LogDensity:
        """Make the same change to the whole density and to its kernel."""
        return LogDensity(change(self.evaluate), change(self.kernel))

    def of(self, rows: Callable[[Any], Any]) -> LogDensity:
        """Return the density as a function of whatever ``rows`` turns into encoded rows."""
        return LogDensity(lambda X: self.evaluate(rows(X)), lambda X: self.kernel(rows(X)))

    def plus(self, term: Array) -> LogDensity:
        """Multiply by a factor that does not depend on the rows, given by its logarithm: (..., 1, n_classes)."""

        def with_term(evaluate: Evaluate) -> Evaluate:
            def log_density(X: Any) -> Array:
                out = evaluate(X)
                out += term
                return out

            return log_density

        return self.map(with_term)


def on_first_use(make: Callable[[], Evaluate]) -> Evaluate:
    """Make a function of rows when the first rows come: often only one of a density and its kernel is used."""
    made = cache(make)
    return lambda X: made()(X)


def over_alternatives(evaluate: Evaluate) -> Evaluate:
    """Change a density of complete rows to that of rows with alternatives, such as
    :class:`~bayesppl.conjugate.row_statistics.JointRows`: the sum over those that an incomplete row can be."""

    def log_density(rows: Any) -> Array:
        out = evaluate(rows)
        for places, alternatives in rows.alternatives():
            total = np.full_like(out[..., places, :], -np.inf)
            for each in alternatives:
                found = evaluate(each)
                several = found.reshape(*found.shape[:-2], -1, len(places), found.shape[-1])
                np.logaddexp(total, logsumexp(several, axis=-3), out=total)
            out[..., places, :] = total
        return out

    return log_density


def mixture(
    log_predictive: Callable[[Any], LogDensity], posterior: Any, common: Any, log_odds: Array
) -> LogDensity:
    """Average the predictive over whether the rows depend on the class, with these log odds that they do."""
    of_class, of_all = log_predictive(posterior), log_predictive(common)
    relevant, irrelevant = log_expit(log_odds), log_expit(-log_odds)
    return LogDensity(lambda rows: np.logaddexp(relevant + of_class(rows), irrelevant + of_all(rows)))
