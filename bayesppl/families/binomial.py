r"""Binomial features: successes in a known number of trials, such as how often a word occurs in m words.

.. math:: x_d \mid y = k \sim \mathrm{Binomial}(m_d, \phi_{kd}), \qquad \phi_{kd} \sim \mathrm{Beta}(\alpha, \beta).

The posterior adds successes to α and failures to β (Bernardo & Smith 1994). The predictive is the
beta-binomial,

.. math:: p(x \mid D) = \binom{m}{x} \frac{B(\alpha_n + x, \beta_n + m - x)}{B(\alpha_n, \beta_n)},

which is wider than the binomial at the posterior mean. With one trial this is the Bernoulli family.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import gammaln

from bayesppl.conjugate import Beta
from bayesppl.conjugate.statistics import Successes
from bayesppl.data.table import Table
from bayesppl.errors import RowError
from bayesppl.families._bases.cells import cell_blocks
from bayesppl.families._bases.covariates import NO_COVARIATES, Covariates
from bayesppl.families._bases.factorised import COUNTS, CellFamily, per_column
from bayesppl.families._bases.family import Takes
from bayesppl.families._bases.missing import present_cells
from bayesppl.families._bases.one_parameter import ProbabilityFamily, log_association_of_successes
from bayesppl.families._bases.support import Support, locate
from bayesppl.kernels.arrays import Array, Theta, log_rising


@dataclass(frozen=True, eq=False)
class Binomial(ProbabilityFamily, CellFamily):
    """Independent binomial features with known numbers of trials.

    Parameters
    ----------
    trials : int, sequence of int, mapping of column to int, or str
        Number of trials: the same for all cells, one per column, or (a str) the column of the table that holds
        the number of each row, common to all its features; that column is then not a feature itself.
    probability : Beta
        Prior of the success probabilities; uniform by default.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GenerativeClassifier(bp.Binomial(10)).fit([[1], [2], [7], [9]], ["a", "a", "b", "b"])
    >>> clf.predict_proba([[3]]).round(3).tolist()
    [[0.956, 0.044]]
    """

    name: ClassVar[str] = "binomial"
    takes: ClassVar[Takes] = "whole numbers"
    support: ClassVar[Support] = COUNTS
    measure: ClassVar = "mass"
    allows_sparse: ClassVar[bool] = True
    per_row: ClassVar[str | None] = "trials"
    per_row_support: ClassVar[Support] = COUNTS

    trials: int | Sequence[int] | Mapping[Hashable, int] | str
    _: KW_ONLY
    probability: Beta | Any = Beta()

    def encode(self, table: Table) -> Any:
        X = self.read(table)
        for block in cell_blocks(X):
            part = X[block]
            successes, trials = (part.data, self.numbers[part.indices]) if issparse(X) else self.split(part)
            excess = successes > trials
            if excess.any():
                row, column = locate(part, 0, excess)
                raise RowError(
                    f"column {self.columns[column]!r} holds {part[row, column]:g} successes in row ",
                    block.start + row,
                    f", more than its {trials[excess][0]:g} trials. Correct the count, or the number of trials.",
                )
        return X

    @property
    def numbers(self) -> Array:
        """Numbers of trials by column; one, in place of those that a column of the table holds."""
        if isinstance(self.trials, str):
            return np.ones(1)
        trials = per_column(self.trials, self.columns)
        wrong = ~(np.isfinite(trials) & (trials > 0) & (trials == np.floor(trials)))
        if wrong.any():
            column = int(np.argmax(wrong))
            raise ValueError(
                f"trials must be positive whole numbers, found {trials[column]:g} for column {self.columns[column]!r}"
            )
        return trials

    def count(self, successes: Array, trials: Array) -> Successes:
        present = ~np.isnan(successes)
        x, m = np.where(present, successes, 0.0), np.where(present, trials, 0.0)
        few = np.minimum(x, m - x)  # a binomial coefficient is the same for successes and for failures
        return Successes(x, m - x, log_rising(m - few + 1, few) - gammaln(few + 1))

    def _log_dependence(self, prior: Any, common: Any, statistics: Successes) -> Array:
        return log_association_of_successes(prior, statistics)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        trials = self.per_row_of(covariates).astype(np.int64)
        return self.join(rng.binomial(trials, theta["probability"][codes]), covariates)

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        successes, trials = self.split(X)
        index, at, dims = present_cells(successes, codes, prefix)
        p = variables["probability"][index]
        n = self.declare_per_row(trials.astype(np.int64), at, prefix)
        pm.Binomial(f"{prefix}x", n=n, p=p, observed=successes[at], dims=dims)
