r"""Vectors of counts, such as the words of a document.

.. math:: x \mid N, y = k \sim \mathrm{Multinomial}(N, \phi_k), \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha).

The predictive is the Dirichlet–multinomial (Bernardo & Smith 1994)

.. math:: p(x \mid N, D) = \frac{N!}{\prod_j x_j!}\, \frac{\Gamma(A_k)}{\Gamma(A_k + N)}
   \prod_j \frac{\Gamma(\alpha_{kj} + x_j)}{\Gamma(\alpha_{kj})}, \qquad A_k = \sum_j \alpha_{kj},

with α updated by the counts of the class. It is *not* the multinomial at the posterior mean, which is what smoothed
Naive Bayes uses (rule ``mean``): a word that occurred once in a document is likelier to occur in it again ("burstiness",
Madsen, Kauchak & Elkan 2005). Columns with a count of zero contribute nothing to either, so that the cost is that of
the non-zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity, on_first_use
from bayesppl.conjugate.membership import Membership, counts_without
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.table import Table
from bayesppl.families._bases.dirichlet_multinomial import (
    narrowed_words,
    nonzeros,
    own_rising_sums,
    rising_contrast,
    rising_sums,
    rising_sums_with_and_without,
    row_totals,
)
from bayesppl.families._bases.sparse_multinomial import sparse_multinomial
from bayesppl.families._bases.word_family import WordFamily
from bayesppl.families.covariates import NO_COVARIATES, Covariates, required
from bayesppl.kernels.arrays import (
    Array,
    Responsibilities,
    Theta,
    dense,
    log_contrast,
    log_dotter,
    log_factorial,
    log_rising,
)
from bayesppl.kernels.blocks import row_blocks
from bayesppl.kernels.class_sums import class_sums
from bayesppl.kernels.counts import MANY, count_histogram, count_sums

# dense counts that are made sparse at once
_DENSE_CELLS = 1 << 19


@dataclass(frozen=True, eq=False)
class Multinomial(WordFamily):
    """Count vectors given their totals; dense or sparse.

    Parameters
    ----------
    probability : Dirichlet, PyMC distribution or callable
        Prior of the probabilities of the columns; uniform by default. A concentration per column has shape
        (n_columns,) or (n_classes, n_columns).

    Notes
    -----
    Log densities hold the multinomial coefficient of every row. It is the same for all classes and cancels in
    class probabilities; evidences need it. Sparse input stays sparse (only ``to_pymc(likelihood="rows")`` makes it
    dense). Missing counts are refused: the likelihood of an incomplete row depends on the unknown total.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [1, 0, 4]], list("aabb")
    >>> clf = bp.GenerativeClassifier(bp.Multinomial(bp.Dirichlet(1.0))).fit(X, y)
    >>> clf.predict_proba([[2, 0, 0]]).round(4).tolist()
    [[0.9085, 0.0915]]
    """

    name: ClassVar[str] = "multinomial"
    measure: ClassVar = "mass given the row total"

    probability: Dirichlet | Any = Dirichlet()

    def sufficient_statistics(self, X: Any, responsibilities: Responsibilities) -> Counts:
        sums = class_sums(responsibilities, X)
        if issparse(X):
            return Counts(sums, _sum_log_coefficients(nonzeros(X), responsibilities))
        log_base = np.zeros(len(sums))
        # all at once, the indices of bytes would take many times their memory
        for rows in row_blocks(X.shape[0], X.shape[1], _DENSE_CELLS):
            log_base += _sum_log_coefficients(nonzeros(X[rows]), responsibilities[rows])
        return Counts(sums, log_base)

    def read_statistics(self, table: Table, responsibilities: Responsibilities) -> Counts:
        X = self.numbers(table)
        if issparse(X) and X.has_canonical_format and _one_class_each(responsibilities):
            found = count_sums(X, responsibilities.indices, responsibilities.shape[1])
            if found is not None:
                return Counts(found.sums, _of_sizes(found.sizes, found.totals, responsibilities.indices))
        return self.sufficient_statistics(self.encode(table), responsibilities)

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        return simplex_prior(self.probability, statistics.counts.shape)

    def log_predictive(self, posterior: Dirichlet) -> LogDensity:
        alpha = posterior.concentration
        total = alpha.sum(1)
        sums, contrast = (on_first_use(partial(make, alpha)) for make in (rising_sums, rising_contrast))

        def log_mass(X: Any) -> Array:
            counts = nonzeros(X)
            return _given_totals(sums(counts), total, row_totals(counts)) + _log_coefficients(counts)[:, None]

        def kernel(X: Any) -> Array:
            counts = nonzeros(X)
            return _given_totals(contrast(counts), total, row_totals(counts))

        return LogDensity(log_mass, kernel)

    def loo_log_predictive(
        self, posterior: Dirichlet, statistics: Any, X: Any, members: Membership
    ) -> tuple[Array, Array]:
        counts, alpha = nonzeros(X), posterior.concentration
        total, totals, log_coefficients = alpha.sum(1), row_totals(counts), _log_coefficients(counts)
        if (members.weights == 1).all():
            fitted, without = rising_sums_with_and_without(alpha)(counts)
            own = members.own(without)
        else:
            fitted, own = rising_sums(alpha)(counts), own_rising_sums(alpha, counts, members)
        fitted = _given_totals(fitted, total, totals)
        fitted += log_coefficients[:, None]
        remaining = counts_without(total[members.codes], members.weights * totals)
        with np.errstate(invalid="ignore"):  # of a class that rounding leaves nothing of
            own += log_coefficients - log_rising(remaining, totals)
        return fitted, members.replaced(fitted, own)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        with np.errstate(divide="ignore"):
            log_probability = np.log(theta["probability"])
        weigh = log_dotter(log_probability)
        return LogDensity(
            lambda X: weigh(X) + _log_coefficients(nonzeros(X))[:, None], log_contrast(log_probability)
        )

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        totals, probability = required(covariates, "total").astype(np.int64), theta["probability"]
        if totals.sum() < len(codes) * probability.shape[1]:
            return sparse_multinomial(totals, probability, codes, rng)
        return rng.multinomial(totals, probability[codes])

    def simulate_predictive(
        self, posterior: Dirichlet, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        classes, codes = np.unique(codes, return_inverse=True)
        theta = {name: values[0] for name, values in posterior.select_classes(classes).draw(1, rng).items()}
        return self.simulate(theta, codes, rng, covariates)

    def narrowed(self, posterior: Dirichlet, X: Any) -> tuple[Dirichlet, Any]:
        """The probabilities of some words, and of all others together, are Dirichlet too (Bernardo & Smith 1994)."""
        return narrowed_words(posterior, X)

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        counts = dense(X).astype(np.int64)
        p = variables["probability"][codes]
        pm.Multinomial(f"{prefix}x", n=counts.sum(1), p=p, observed=counts, dims=("row", f"{prefix}feature"))


def _given_totals(sums: Array, total: Array, totals: Array) -> Array:
    """Log mass of rows given their totals, up to their coefficients, from the sums of their cells; overwrites these."""
    sums -= _rising_totals(total, totals)
    return sums


def _rising_totals(total: Array, n: Array) -> Array:
    """log Γ(A_k + n_i) − log Γ(A_k) for every row and class; many rows have the same total."""
    largest = int(n.max(initial=0))
    if largest >= len(n):
        return log_rising(total, n[:, None])
    return np.asarray(log_rising(total, np.arange(largest + 1.0)[:, None])[n.astype(np.intp)])


def _log_coefficients(counts: csr_array) -> Array:
    """Log multinomial coefficient of every row: (n_rows,)."""
    of_cells = csr_array((log_factorial(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    return np.asarray(log_factorial(row_totals(counts)) - of_cells.sum(axis=1))


def _sum_log_coefficients(counts: csr_array, responsibilities: Responsibilities) -> Array:
    """Log multinomial coefficients, summed over the rows of every class: (n_classes,)."""
    if _one_class_each(responsibilities):
        owners = responsibilities.indices
        sizes = count_histogram(counts.data, counts.indptr, owners, responsibilities.shape[1])
        if not sizes[:, MANY].any():
            return _of_sizes(sizes, row_totals(counts), owners)
    return np.asarray(responsibilities.T @ _log_coefficients(counts))


def _one_class_each(responsibilities: Responsibilities) -> bool:
    """Whether every row belongs to one class, with the weight one."""
    single = responsibilities.nnz == responsibilities.shape[0] and (np.diff(responsibilities.indptr) == 1).all()
    return bool(single and (responsibilities.data == 1).all())


def _of_sizes(sizes: Array, totals: Array, owners: Array) -> Array:
    """:func:`_sum_log_coefficients` from the number of counts of each size: most are small, and many are equal."""
    of_cells = sizes[:, :MANY] @ log_factorial(np.arange(MANY))
    return np.asarray(np.bincount(owners, log_factorial(totals), len(sizes)) - of_cells)
