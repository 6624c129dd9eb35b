r"""Categorical features: one of several levels, such as a colour or a country.

.. math:: x_d \mid y = k \sim \mathrm{Categorical}(\phi_{kd}), \qquad
   \phi_{kd} \sim \mathrm{Dirichlet}(\alpha_{d1}, \dots, \alpha_{dL_d}).

After :math:`n_{kdl}` rows at level l the posterior is :math:`\mathrm{Dirichlet}(\alpha_{dl} + n_{kdl})`, and the
predictive probability of a level is its mean :math:`(\alpha_{dl} + n_{kdl})/\sum_m(\alpha_{dm} + n_{kdm})` (Bernardo &
Smith 1994), so that the rules ``mean`` and ``predictive`` agree for one row. The
simplices of all columns lie side by side on one "cell" axis, for columns may have different numbers of levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.families._bases.level_names import cell_names
from bayesppl.families._bases.levels import LevelFamily, draw_outcomes
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.lookups import level_sums


@dataclass(frozen=True, eq=False)
class Categorical(LevelFamily):
    """Independent features that take one of several levels.

    Parameters
    ----------
    probability : Dirichlet, PyMC distribution or callable
        Prior of the level probabilities; uniform by default. A concentration per cell has shape (n_cells,) or
        (n_classes, n_cells), the cells of all columns in order; it may itself have a prior, as in
        ``bayesppl.Dirichlet(pm.Gamma.dist(2, 1))``. A distribution of a simplex, or a function of name and dims
        ("class", "feature", "level"), serves columns that have equally many levels.
    levels : sequence, or mapping of column to sequence, optional
        All levels that can occur, of any hashable type; a value that is not among them is refused. By default
        the levels are learned, and every column gets one more cell, "(unseen)", for those that did not occur in
        training, beside the categories of columns whose dtype declares them (pandas ``Categorical``, polars
        ``Enum``). Other readers of a file that holds such a column, polars, pyarrow and ``fit_parquet``, declare none:
        there the levels are those that occur.
    unseen : {"missing", "error", "learned"}
        What a level is that did not occur in training, where levels are learned. ``missing``: something new turns up as often
        in every class, and is no evidence for any; the cell is skipped, with an
        :class:`~bayesppl.UnseenLevelWarning`. ``error``: refused. ``learned``: an outcome of each class: with L levels
        seen in n rows of a class and concentration α it has the predictive probability α / (n + α(L + 1)), which is evidence
        for the class of the fewest rows. (Under ``rule="mle"`` it has none, and the row is impossible.)

    Notes
    -----
    Missing values (None, NaN, NA) are skipped exactly, when fitting and when predicting.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [["red", "S"], ["red", "M"], ["blue", "M"], ["blue", None]]
    >>> clf = bp.GenerativeClassifier(bp.Categorical(unseen="learned")).fit(X, ["a", "a", "b", "b"])
    >>> clf.predict_proba([["red", None], ["green", "M"]]).round(3).tolist()
    [[0.75, 0.25], [0.444, 0.556]]
    """

    name: ClassVar[str] = "categorical"
    allows_sparse: ClassVar[bool] = True

    @property
    def coords(self) -> dict[str, Any]:
        cells = (
            (column, level) for column, levels in zip(self.columns, self.outcomes, strict=True) for level in levels
        )
        return {"cell": cell_names(cells, "="), "feature": list(self.columns)}

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return ("class", "feature")

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        return simplex_prior(self.probability, statistics.counts.shape, self._sizes)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        probability = theta["probability"]
        with np.errstate(divide="ignore"):
            sums = level_sums(np.log(probability).reshape(-1, probability.shape[-1]), self._sizes)

        def log_mass(X: Array) -> Array:
            return np.moveaxis(sums(X).reshape(*probability.shape[:-1], len(X)), -2, -1)

        return LogDensity(log_mass)

    def averaged_predictive(
        self, posterior: Dirichlet, common: Dirichlet, log_odds: Mapping[str, Array]
    ) -> LogDensity:
        # a mixture of two tables is a table
        relevant = np.repeat(expit(log_odds[""]), self._sizes)
        irrelevant = np.repeat(expit(-log_odds[""]), self._sizes)
        mixed = relevant * posterior.mean()["probability"] + irrelevant * common.mean()["probability"]
        return self.log_likelihood({"probability": mixed})

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """Codes of the levels, -1 where missing."""
        return self.label_features(X.astype(np.int64), prefix)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        drawn = np.empty((len(codes), len(self.columns)), dtype=np.intp)
        for j, (start, stop) in enumerate(pairwise(self._edges)):
            drawn[:, j] = draw_outcomes(theta["probability"][:, start:stop], codes, rng)
        return drawn

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        for column, levels, (start, stop) in zip(self.columns, X.T, pairwise(self._edges), strict=True):
            present = np.flatnonzero(levels >= 0)
            p = variables["probability"][:, start:stop][codes[present]]
            dims = "row" if len(present) == len(codes) else None
            pm.Categorical(f"{prefix}x_{column}", p=p, observed=levels[present].astype(np.int64), dims=dims)

    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        pm.Potential(f"{prefix}x", (statistics.counts * pt.log(variables["probability"])).sum())

    @property
    def _edges(self) -> Array:
        return np.cumsum((0, *self._sizes))

    def _tables(self, X: Array) -> tuple[Array, tuple[int, ...]]:
        return X, self._sizes
