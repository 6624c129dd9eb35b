r"""Vectors of counts, such as the words of a document.

.. math:: x \mid N, y = k \sim \mathrm{Multinomial}(N, \phi_k), \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha).

The predictive is the Dirichlet–multinomial (Bernardo & Smith 1994)

.. math:: p(x \mid N, D) = \frac{N!}{\prod_j x_j!}\, \frac{\Gamma(A_k)}{\Gamma(A_k + N)}
   \prod_j \frac{\Gamma(\alpha_{kj} + x_j)}{\Gamma(\alpha_{kj})}, \qquad A_k = \sum_j \alpha_{kj},

with α updated by the counts of the class. It is *not* the multinomial at the posterior mean, which is what
smoothed Naive Bayes uses (rule ``mean``): a word that occurred once in a document is likelier to occur in it again
("burstiness", Madsen, Kauchak & Elkan 2005). Columns with a count of zero contribute nothing to either, so that
the cost is that of the non-zeros.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import issparse

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.documents import sparse_multinomial
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.conjugate.words import (
    Words,
    log_coefficients_of_sizes,
    narrowed_words,
    one_class_each,
)
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.bound import Measure, NumberColumns
from bayesppl.families.covariates import NO_COVARIATES, Covariates, required
from bayesppl.families.family import ConjugateFamily, Missing, OfColumns
from bayesppl.families.support import COUNTS, Support
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, dense
from bayesppl.kernels.class_sums import count_sums

#: Counts of words, which are often passed as weights instead.
WORD_COUNTS = COUNTS._replace(
    remedy="Weights, such as tf-idf, are no counts and have no mass: pass the counts themselves, as "
    "CountVectorizer makes them. Otherwise correct the value, or choose a family of real numbers."
)


@dataclass(frozen=True, eq=False)
class WordFamily(OfColumns, ConjugateFamily):
    """Counts of words given their total, dense or sparse, with a simplex of probabilities for every class."""

    support: ClassVar[Support] = WORD_COUNTS
    allows_sparse: ClassVar[bool] = True
    missing: ClassVar[Missing] = "refused"
    has_fixed_margins: ClassVar[bool] = True

    _measure: ClassVar[Measure]

    probability: Any = Dirichlet()

    @abstractmethod
    def rows(self, X: Any) -> Words:
        """Return the counts of rows as statistics not summed yet."""

    @final
    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        declared = self.probability
        if not isinstance(declared, str):
            return simplex_prior(declared, statistics.counts.shape)
        if declared != "overall":
            raise ValueError(
                f"probability={declared!r} is not known; choose one of 'overall', or pass a bayesppl.Dirichlet"
            )
        # as many words as there are columns, distributed as in all classes together, each counted once more
        shown = statistics.counts.sum(0) + 1
        return Dirichlet(np.broadcast_to(shown * (len(shown) / shown.sum()), statistics.counts.shape))

    @cached_property
    def bound(self) -> NumberColumns:
        return NumberColumns(
            self,
            {"probability": ("class", "feature")},
            is_separate=False,
            covariate_supports={"total": COUNTS},
            measure_of=self._measure,
        )

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        return Words.log_likelihood(theta["probability"]).of(self.rows)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        Dirichlet.observe(f"{prefix}x", variables["probability"], statistics)


@closed_forms.narrowed.register(WordFamily)
def _(family: WordFamily, posterior: Dirichlet, X: Any) -> tuple[Dirichlet, Any]:
    return narrowed_words(posterior, X)


@dataclass(frozen=True, eq=False)
class Multinomial(WordFamily):
    """Count vectors given their totals; dense or sparse.

    Parameters
    ----------
    probability : "overall", Dirichlet, PyMC distribution or callable
        Prior of the probabilities of the columns; uniform by default. ``"overall"`` is worth as many words as
        there are columns, distributed as in all classes together: where classes of very different numbers of rows
        resemble each other, it predicts better than the uniform one. A concentration per column has shape
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
    _measure: ClassVar = "mass given the row total"

    probability: str | Dirichlet | Any = Dirichlet()

    def rows(self, X: Any) -> Words:
        return Words(X)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        totals, probability = required(covariates, "total").astype(np.int64), theta["probability"]
        if totals.sum() < len(codes) * probability.shape[1]:
            return sparse_multinomial(totals, probability, codes, rng)
        return rng.multinomial(totals, probability[codes])

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        counts = dense(X).astype(np.int64)
        p = variables["probability"][codes]
        pm.Multinomial(f"{prefix}x", n=counts.sum(1), p=p, observed=counts, dims=("row", f"{prefix}feature"))


@closed_forms.read_statistics.register(Multinomial)
def _(family: Multinomial, table: Table, responsibilities: Responsibilities) -> Counts:
    X = table.numeric(family.columns)
    if issparse(X) and X.has_canonical_format and one_class_each(responsibilities):
        found = count_sums(X, responsibilities.indices, responsibilities.shape[1])
        if found is not None:
            return Counts(
                found.sums, log_coefficients_of_sizes(found.sizes, found.totals, responsibilities.indices)
            )
    return family.rows(family.bound.encode(table)).sum_rows(responsibilities)


@closed_forms.simulate_predictive.register(Multinomial)
def _(
    family: Multinomial,
    posterior: Dirichlet,
    codes: Array,
    rng: np.random.Generator,
    covariates: Covariates = NO_COVARIATES,
) -> Any:
    """Draw rows; the probabilities of classes that do not occur are not drawn."""
    classes, codes = np.unique(codes, return_inverse=True)
    [probability] = posterior.select_classes(classes).draw(1, rng)["probability"]
    return family.simulate({"probability": probability}, codes, rng, covariates)
