r"""Several discrete features without an independence assumption: the full joint table of every class.

.. math:: x \mid y = k \sim \mathrm{Categorical}(\phi_k) \text{ over the cells of } L_1 \times \dots \times L_D,
   \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha).

The posterior adds the counts of the cells to α, and the predictive probability of a set of cells is the sum of their
posterior means (Bernardo & Smith 1994). A row that lacks some of its values lies in
one of several cells: its probability is the sum over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.families._bases.level_names import cell_names
from bayesppl.families._bases.levels import LevelFamily, draw_outcomes
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.kernels.arrays import Array, Theta

#: More cells than this cannot be estimated from any table that fits in memory.
MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class JointCategorical(LevelFamily):
    """The full joint table of discrete features, one per class.

    Parameters
    ----------
    probability : Dirichlet, PyMC distribution or callable
        Prior of the cell probabilities; uniform by default. A concentration per cell has shape (n_cells,) or
        (n_classes, n_cells), the last column varying fastest.
    levels : sequence, or mapping of column to sequence, optional
        All levels that can occur, of any hashable type; a value that is not among them is refused. By default
        the levels are learned, and every column gets one more, "(unseen)", for those that did not occur in
        training; its cells share the prior like all others.
    unseen : {"missing", "error", "learned"}
        See :class:`bayesppl.Categorical`.

    Notes
    -----
    The table has as many cells as there are combinations of levels. When predicting, a row with missing values
    (None, NaN, NA) is marginalised exactly, by a sum over its cells. A fit needs complete rows: an incomplete one
    has no conjugate posterior.

    Examples
    --------
    Exclusive or, which no model of independent features can learn:

    >>> import bayesppl as bp
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]
    >>> clf = bp.GenerativeClassifier(bp.JointCategorical(levels=["no", "yes"])).fit(X, y)
    >>> clf.predict(X).tolist()
    [0, 1, 1, 0]
    >>> clf.predict_proba([["yes", None]]).tolist()
    [[0.5, 0.5]]
    """

    name: ClassVar[str] = "joint_categorical"
    allows_sparse: ClassVar[bool] = True
    fits_missing: ClassVar[bool] = False

    @property
    def coords(self) -> dict[str, Any]:
        return {"cell": cell_names(product(*self.outcomes), ", ")}

    @property
    def factor_dims(self) -> tuple[str, ...]:
        return ("class",)

    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        return simplex_prior(self.probability, statistics.counts.shape)

    def log_likelihood(self, theta: Theta) -> LogDensity:
        probability = theta["probability"]
        table = probability.reshape(*probability.shape[:-1], *self._sizes)

        def log_mass(X: Array) -> Array:
            out = np.empty((*probability.shape[:-1], len(X)))
            patterns, group = np.unique(X < 0, axis=0, return_inverse=True)
            for g, absent in enumerate(patterns):  # the probabilities of what is present are a margin of the table
                margin = table.sum(tuple(np.flatnonzero(absent) - len(absent)))
                margin = margin.reshape(*probability.shape[:-1], -1)
                rows = np.flatnonzero(group == g)
                cells = _cells(X[np.ix_(rows, ~absent)], np.asarray(self._sizes)[~absent])
                with np.errstate(divide="ignore"):
                    out[..., rows] = np.log(margin)[..., cells]
            return np.moveaxis(out, -2, -1)

        return LogDensity(log_mass)

    def label_rows(self, X: Array, prefix: str = "") -> dict[str, tuple[tuple[str, ...], Array]]:
        """The code of the cell of each row."""
        return {f"{prefix}x": (("row",), self._tables(X)[0][:, 0])}

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        drawn = draw_outcomes(theta["probability"], codes, rng)
        return np.stack(np.unravel_index(drawn, self._sizes), axis=1)

    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        pm.Categorical(
            f"{prefix}x", p=variables["probability"][codes], observed=self._tables(X)[0][:, 0], dims="row"
        )

    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        pm.Potential(f"{prefix}x", (statistics.counts * pt.log(variables["probability"])).sum())

    def _tables(self, X: Array) -> tuple[Array, tuple[int, ...]]:
        n_cells = prod(self._sizes)
        if n_cells > MOST_CELLS:
            raise ValueError(
                f"the joint table of {len(self.columns)} columns has {n_cells:,} cells per class, more than the "
                f"{MOST_CELLS:,} allowed; use bayesppl.Categorical, or several smaller tables in a bayesppl.Product"
            )
        if X.min(initial=0) < 0:
            raise ValueError(self._why_incomplete(X))
        return _cells(X, np.asarray(self._sizes))[:, None], (n_cells,)

    def _why_incomplete(self, X: Array) -> str:
        gaps = X < 0
        names = ", ".join(repr(name) for name, gap in zip(self.columns, gaps.T, strict=True) if gap.any())
        return (
            f"NaN: missing values in column {names} ({gaps.any(1).sum()} rows); a joint table cannot be fitted to "
            "incomplete rows in closed form. Drop or impute them, or use bayesppl.Categorical, which skips missing "
            "cells exactly. (Missing cells are fine when predicting.)"
        )


def _cells(codes: Array, sizes: Array) -> Array:
    """The cell of every row of complete codes in a table of these sizes, the last column varying fastest."""
    strides = sizes.prod() // np.cumprod(sizes)
    return codes.astype(np.intp) @ strides.astype(np.intp)
