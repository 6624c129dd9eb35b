r"""Documents whose words come in bursts: the Dirichlet compound multinomial as an exponential family.

A document of class k has word probabilities of its own (Madsen, Kauchak & Elkan 2005),

.. math:: \theta_i \mid y_i = k \sim \mathrm{Dirichlet}(c\,\phi_k), \qquad
   x_i \mid N_i, \theta_i \sim \mathrm{Multinomial}(N_i, \theta_i), \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha),

so that a word it has shown is likely to come again. No finite statistics are sufficient for :math:`\phi_k`. Two
facts give some:

* Words are rare. With :math:`\Gamma(a + x)/\Gamma(a) = a\,\Gamma(x) + O(a^2)` the density is (Elkan 2006, eq. 4)

  .. math:: q(x \mid \phi) = h(x) \prod_{w: x_w > 0} \phi_w, \qquad
     h(x) = \frac{N!\,\Gamma(c)}{\Gamma(c + N)} \prod_{w: x_w > 0} \frac{c}{x_w}.

  Only whether a word occurs depends on :math:`\phi`.
* Covariances of :math:`x_i` are those of a multinomial times :math:`(N + c)/(1 + c)` (Mosimann 1962): N words are
  worth :math:`N (1 + c)/(N + c)` independent ones, which is at most N and at most 1 + c. A document of :math:`d`
  different words therefore enters with the exponent :math:`e = \min(1, (1 + c)/d)`,

  .. math:: f(x \mid \phi) = h(x)\,V^{(e - 1) d} \prod_{w: x_w > 0} \phi_w^{e},

  which is q at the uniform distribution over V words, and q itself of documents of up to 1 + c different words.

The posterior is Dirichlet, :math:`\alpha + \sum_i e_i [x_i > 0]`; the statistics are weighted document
frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.conjugate import replace_unchecked, require_positive
from bayesppl.conjugate.documents import sparse_multinomial
from bayesppl.conjugate.words import Words, row_totals
from bayesppl.data.names import spelled
from bayesppl.families.covariates import NO_COVARIATES, Covariates, required
from bayesppl.families.multinomial import WordFamily
from bayesppl.kernels.arrays import Array, Theta, log_factorial, log_rising
from bayesppl.kernels.ranges import row_blocks


@dataclass(frozen=True, eq=False)
class DirichletMultinomial(WordFamily):
    """Counts of the words of documents, which repeat themselves; dense or sparse.

    Parameters
    ----------
    probability : "overall", Dirichlet, PyMC distribution or callable
        Prior of the mean word probabilities of a class. ``"overall"`` is worth as many words as there are columns,
        distributed as in all classes together, each word counted once more.
    concentration : float
        c, known: how alike documents of a class are. However long, none is worth more than 1 + c words.

    Notes
    -----
    The likelihood is an approximation for rare words, made for large vocabularies: for a few columns of large
    counts use :class:`~bayesppl.Multinomial`. Missing counts are refused, and so are weighted ones (tf-idf), which
    are no counts.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [[9, 0, 1, 0], [1, 1, 0, 0], [0, 1, 2, 0], [0, 0, 7, 1]], list("aabb")
    >>> clf = bp.GenerativeClassifier(bp.families.DirichletMultinomial()).fit(X, y)
    >>> clf.predict_proba([[1, 0, 0, 0], [90, 0, 0, 0]]).round(3).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """

    name: ClassVar[str] = "dirichlet multinomial"
    _measure: ClassVar = "approximate mass given the row total"

    probability: str | Dirichlet | Any = "overall"
    concentration: float = 60.0

    def __post_init__(self) -> None:
        require_positive(self, concentration=self.concentration)
        if np.ndim(self.concentration):
            raise TypeError(
                f"DirichletMultinomial: concentration must be one number, found {spelled(self.concentration)}"
            )

    def rows(self, X: Any) -> Words:
        """Return the exponent of every word that occurs, and the part of the log density without parameters."""
        counts, c = Words(X).stored, self.concentration
        x, starts = np.asarray(counts.data, dtype=np.float64), counts.indptr
        occurs = (x > 0).astype(np.float64)
        different, total = row_totals(occurs, starts), row_totals(x, starts)
        exponent = np.minimum(1.0, (1 + c) / np.maximum(different, 1.0))
        share = occurs * np.repeat(exponent, np.diff(starts))
        shares = csr_array((share, counts.indices, starts), shape=counts.shape)
        log_h = (
            log_factorial(total)
            - log_rising(np.asarray(c), total)
            + different * np.log(c)
            - row_totals(np.log(np.maximum(x, 1.0)), starts)
        )
        return Words(shares, log_h + (exponent - 1) * different * np.log(len(self.columns)))

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Any:
        """Draw from the compound itself: word probabilities of every document, then its words."""
        totals, means = required(covariates, "total").astype(np.int64), theta["probability"]
        if totals.sum() < len(codes) * means.shape[1]:
            return sparse_multinomial(totals, means, codes, rng, self.concentration)
        parts = []
        for rows in row_blocks(len(codes), means.shape[1]):
            compound = replace_unchecked(Dirichlet(), concentration=self.concentration * means[codes[rows]])
            with np.errstate(divide="ignore"):  # of a mean that is zero
                [own] = compound.draw(1, rng)["probability"]
            parts.append(rng.multinomial(totals[rows], own))
        return np.concatenate(parts)

    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        rows = self.rows(X)
        log_density = (rows.X.toarray() * pt.log(variables["probability"])[codes]).sum()
        pm.Potential(f"{prefix}x", log_density + rows.log_base.sum())
