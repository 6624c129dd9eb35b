r"""Categorical features: one of several levels, such as a colour or a country.

.. math:: x_d \mid y = k \sim \mathrm{Categorical}(\phi_{kd}), \qquad
   \phi_{kd} \sim \mathrm{Dirichlet}(\alpha_{d1}, \dots, \alpha_{dL_d}).

After :math:`n_{kdl}` rows at level l the posterior is :math:`\mathrm{Dirichlet}(\alpha_{dl} + n_{kdl})`, and the
predictive probability of a level is its mean :math:`(\alpha_{dl} + n_{kdl})/\sum_m(\alpha_{dm} + n_{kdm})`
(Bernardo & Smith 1994), so that the rules ``mean`` and ``predictive`` agree for one row. The
simplices of all columns lie side by side on one "cell" axis, for columns may have different numbers of levels.

Several discrete features without an independence assumption have the full joint table of every class,

.. math:: x \mid y = k \sim \mathrm{Categorical}(\phi_k) \text{ over the cells of } L_1 \times \dots \times L_D,
   \qquad \phi_k \sim \mathrm{Dirichlet}(\alpha).

The posterior adds the counts of the cells to α, and the predictive probability of a set of cells is the sum of
their posterior means (Bernardo & Smith 1994). A row that lacks some of its values lies in
one of several cells: its probability is the sum over them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self, final

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.simplices import SimplexPrior, simplex_prior
from bayesppl.conjugate.statistics import Counts
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import ConjugateFamily, Missing
from bayesppl.families.find_levels import Levels
from bayesppl.families.level_columns import LevelColumns, Unseen, outcomes_of
from bayesppl.families.support import LEVELS, Support
from bayesppl.kernels.arrays import Array, Responsibilities, Theta

#: More cells than this cannot be estimated from any table that fits in memory.
MOST_CELLS = 10_000_000


@dataclass(frozen=True, eq=False)
class TableFamily(ConjugateFamily):
    """Columns of levels, some of which may share a table; encoded rows are codes, -1 where a cell is missing."""

    support: ClassVar[Support] = LEVELS
    allows_sparse: ClassVar[bool] = True
    has_fixed_margins: ClassVar[bool] = True

    #: Whether all columns share one table, so that nothing has a dimension of tables.
    is_joint: ClassVar[bool] = False
    #: Name of the observed variable of the k-th table in PyMC, by the number of the table or its first column.
    _observed_as: ClassVar[str]

    probability: Dirichlet | Any = Dirichlet()
    levels: Levels | None = None
    unseen: Unseen = "missing"

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    #: Levels of every column once bound, in the order of ``columns``, and the columns of each table, by place.
    outcomes: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, repr=False)
    groups: tuple[tuple[int, ...], ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def _choose_groups(self, table: Table, members: Membership | None) -> tuple[tuple[int, ...], ...]:
        """Choose the columns of each table, by place, once the family has the columns and levels of ``table``."""

    @cached_property
    def bound(self) -> LevelColumns:
        unseen = self.unseen if self.levels is None else None
        cuts = (None,) * len(self.columns)
        return LevelColumns(self.name, self.columns, self.outcomes, unseen, self.groups, self.is_joint, cuts)

    @final
    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        outcomes = outcomes_of(table, self.levels, self.unseen)
        bound = replace(self, columns=table.names, classes=tuple(classes), outcomes=outcomes)
        if sum(map(len, self.groups)) != len(outcomes):
            bound = replace(bound, groups=bound._choose_groups(table, members))
        for group in bound.groups:
            n_cells = prod(len(outcomes[j]) for j in group)
            if len(group) > 1 and n_cells > MOST_CELLS:
                raise ValueError(
                    f"the joint table of {len(group)} columns has {n_cells:,} cells per class, more than the "
                    f"{MOST_CELLS:,} allowed; use bayesppl.Categorical, or several smaller tables in a "
                    "bayesppl.Product"
                )
        return bound

    @final
    def rows(self, X: Array) -> Outcomes:
        return Outcomes(X, self.bound.tables)

    @final
    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior:
        tables, declared = self.bound.tables, self.probability
        if self.is_joint:
            return simplex_prior(declared, statistics.counts.shape)
        some_share = len(tables.groups) < len(self.columns)
        if some_share and isinstance(declared, Dirichlet) and np.ndim(declared.concentration) == 0:
            # a table has the mass of its widest column
            widest = [max(tables.shape(group)) for group in tables.groups]
            shares = np.repeat(np.divide(widest, tables.sizes), tables.sizes)
            declared = replace(declared, concentration=declared.concentration * shares)
        return simplex_prior(declared, statistics.counts.shape, tables.sizes)

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def log_likelihood(self, theta: Theta) -> LogDensity:
        return Outcomes.log_likelihood(theta["probability"], self.bound.tables.sizes).of(self.rows)

    @final
    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        tables, drawn = self.bound.tables, np.empty((len(codes), len(self.columns)), dtype=np.intp)
        for group, cells in tables.cells():
            of_table = draw_outcomes(theta["probability"][:, cells], codes, rng)
            drawn[:, list(group)] = np.stack(np.unravel_index(of_table, tables.shape(group)), axis=1)
        return drawn

    @final
    def observe_rows(self, variables: dict[str, Any], X: Array, codes: Array, prefix: str = "") -> None:
        import pymc as pm

        rows = self.rows(X)
        for k, (observed, (group, cells)) in enumerate(zip(rows.codes.T, rows.tables.cells(), strict=True)):
            present = np.flatnonzero(observed >= 0)
            p = variables["probability"][:, cells][codes[present]]
            dims = "row" if len(present) == len(codes) else None
            name = prefix + self._observed_as.format(k=k, column=self.columns[group[0]])
            pm.Categorical(name, p=p, observed=observed[present].astype(np.int64), dims=dims)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        Dirichlet.observe(f"{prefix}x", variables["probability"], statistics)


@closed_forms.read_statistics.register(TableFamily)
def _(family: TableFamily, table: Table, responsibilities: Responsibilities) -> Counts:
    # here only rows of weight zero can hold unseen levels
    return family.rows(family.bound.codes(table)).sum_rows(responsibilities)


def draw_outcomes(probability: Array, codes: Array, rng: np.random.Generator) -> Array:
    """Draw one outcome for each class code: (n_rows,), from probabilities (n_classes, n_outcomes)."""
    edges, heights = np.cumsum(probability, axis=1)[:, :-1], rng.random(len(codes))
    out = np.empty(len(codes), dtype=np.intp)
    for k, steps in enumerate(edges):
        own = codes == k
        out[own] = np.searchsorted(steps, heights[own], side="right")
    return out


@dataclass(frozen=True, eq=False)
class Categorical(TableFamily):
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
        ``Enum``, dictionaries of pyarrow). polars declares none when it reads such a column from a file: there
        the levels are those that occur.
    unseen : {"missing", "error", "learned"}
        What a level is that did not occur in training, where levels are learned. ``missing``: something new turns
        up as often in every class, and is no evidence for any; the cell is skipped, with an
        :class:`~bayesppl.errors.UnseenLevelWarning`. ``error``: refused. ``learned``: an outcome of each class:
        with L levels seen in n rows of a class and concentration α it has the predictive probability α / (n + α(L
        + 1)), which is evidence for the class of the fewest rows. (Under ``rule="mle"`` it has none, and the row
        is impossible.)

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
    _observed_as: ClassVar[str] = "x_{column}"

    def _choose_groups(self, table: Table, members: Membership | None) -> tuple[tuple[int, ...], ...]:
        return tuple((j,) for j in range(len(self.columns)))


@dataclass(frozen=True, eq=False)
class JointCategorical(TableFamily):
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
    >>> clf = bp.GenerativeClassifier(bp.families.JointCategorical(levels=["no", "yes"])).fit(X, y)
    >>> clf.predict(X).tolist()
    [0, 1, 1, 0]
    >>> clf.predict_proba([["yes", None]]).tolist()
    [[0.5, 0.5]]
    """

    name: ClassVar[str] = "joint_categorical"
    missing: ClassVar[Missing] = "predicted"
    sums_over_gaps: ClassVar[bool] = True
    is_joint: ClassVar[bool] = True
    _observed_as: ClassVar[str] = "x"

    def _choose_groups(self, table: Table, members: Membership | None) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(len(self.columns))),)
