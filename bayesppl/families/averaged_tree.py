r"""Columns that depend on each other along a tree, averaged over all trees.

.. math:: p(x \mid y = k, \phi, T) = \prod_u \phi_{ku}(x_u)
   \prod_{uv \in T} \frac{\phi_{kuv}(x_u, x_v)}{\phi_{ku}(x_u)\, \phi_{kv}(x_v)}, \qquad T \sim \text{all trees}.

The sum over the :math:`p^{p-2}` trees of p columns is a determinant, and so posterior, evidence and predictive are
exact (Meilă & Jaakkola 2006, "Tractable Bayesian learning of tree belief networks"); see
:mod:`bayesppl.conjugate.averaged_trees`. Numbers enter by the bins they fall into; for normal ones see
:mod:`bayesppl.families.gaussian_tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from bayesppl.conjugate.averaged_trees import layout_of
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.statistics import Counts
from bayesppl.conjugate.tree_densities import trees_log_likelihood
from bayesppl.conjugate.tree_dirichlet import TreeDirichlet
from bayesppl.data.arguments import by_name, whole
from bayesppl.data.table import Table
from bayesppl.families.bound import JointColumns
from bayesppl.families.categorical import draw_outcomes
from bayesppl.families.covariates import NO_COVARIATES, Covariates
from bayesppl.families.family import Missing
from bayesppl.families.find_levels import Levels
from bayesppl.families.level_columns import Cuts, LevelColumns, Unseen, outcomes_of
from bayesppl.families.support import ANYTHING, Support, present_numbers
from bayesppl.families.trees import TreeFamily, require_few_columns
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.tree_sums import directed_edges

_INCOMPLETE = (
    "trees cannot be fitted to incomplete rows in closed form. Drop or impute them, write gaps among texts as a "
    "level of their own, as by X['column'].fillna('missing'), or use bayesppl.MixedNB, which skips missing cells "
    "exactly. A level that was never learned counts as missing."
)


@dataclass(frozen=True, eq=False)
class AveragedTree(TreeFamily):
    """Columns that depend on each other along a tree, averaged over all trees exactly.

    Parameters
    ----------
    tree : {"common", "per_class"}
        Whether the classes share one tree, with probabilities of their own along its edges, or have one each.
    prior : "evidence" or float
        How many rows of each class the prior is worth, spread evenly over the cells of every table; by default the
        number of the highest evidence.
    bins : int
        Columns of numbers are cut into so many bins, which hold about equally many of the first rows. Values that
        occur often have a bin of their own; so has every value of a column of at most so many.
    levels, unseen
        See :class:`bayesppl.Categorical`. Columns are levels if ``levels`` names them (all of them, if it is one
        sequence), or if they hold no numbers.

    Notes
    -----
    Trees have equal prior probabilities. A fit needs complete rows. When predicting, a row with missing cells is
    the sum over the levels they can have, as long as these are few.

    Time and memory grow with the square of the number of columns, and those of a prediction with the cube: 60
    columns take about a millisecond for each row and class, and 600, the most there may be, 4 GB.

    Numbers that lie beyond those of the first rows are in the outermost bins, and rows that are simulated hold one
    value for each bin.

    Examples
    --------
    Exclusive or, which no model of independent features can learn:

    >>> import bayesppl as bp
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]] * 5, [0, 1, 1, 0] * 5
    >>> clf = bp.GenerativeClassifier(bp.families.AveragedTree()).fit(X, y)
    >>> clf.predict(X[:4]).tolist()
    [0, 1, 1, 0]
    """

    name: ClassVar[str] = "averaged_tree"
    support: ClassVar[Support] = ANYTHING
    missing: ClassVar[Missing] = "predicted"
    sums_over_gaps: ClassVar[bool] = True
    has_fixed_margins: ClassVar[bool] = True
    bins: int = 5
    levels: Levels | None = None
    unseen: Unseen = "missing"

    #: Levels of every column once bound, or a value of every bin; and where numbers are cut.
    outcomes: tuple[tuple[Hashable, ...], ...] = field(default=(), kw_only=True, repr=False)
    cuts: tuple[Cuts, ...] = field(default=(), kw_only=True, repr=False)

    @cached_property
    def bound(self) -> JointColumns:
        places = range(len(self.columns))
        pairs = ((first, second) for second in places for first in range(second))
        unseen = self.unseen if self.levels is None else None
        groups = (*((j,) for j in places), *pairs)
        tables = LevelColumns(self.name, self.columns, self.outcomes, unseen, groups, False, self.cuts)
        dims = {"edge": self.edge_dims, "probability": ("class", "cell")}
        names = {"feature": list(self.columns), "pair": tables.table_names[len(self.columns) :]}
        return JointColumns(tables, self.name, dims, names)

    @property
    def n_levels(self) -> tuple[int, ...]:
        """The number of outcomes of every column."""
        return tuple(map(len, self.outcomes))

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        whole("bins", self.bins, 2)
        require_few_columns(len(table.names))
        bins: list[tuple[Cuts, tuple[Hashable, ...]]] = list(zip(self.cuts, self.outcomes, strict=True))
        if not bins:  # further rows do not move them
            levels, weights = (
                by_name({} if self.levels is None else self.levels),
                np.ones(len(table)) if members is None else members.weights,
            )
            declared = levels if isinstance(levels, Mapping) else table.names
            bins = [
                (None, ()) if name in declared else _cut_into_bins(table, name, weights, self.bins)
                for name in table.names
            ]
        of_levels = [name for name, (cuts, _) in zip(table.names, bins, strict=True) if cuts is None]
        found = iter(outcomes_of(table.select(of_levels), self.levels, self.unseen) if of_levels else ())
        return replace(
            self,
            columns=table.names,
            classes=tuple(classes),
            outcomes=tuple(next(found) if cuts is None else values for cuts, values in bins),
            cuts=tuple(cuts for cuts, _ in bins),
        )

    def rows(self, X: Array) -> Outcomes:
        return Outcomes(X, self.bound.within.tables, _INCOMPLETE)

    def priors(self, statistics: Counts) -> Callable[[float], TreeDirichlet]:
        layout, n_classes = layout_of(self.n_levels), len(statistics.counts)

        def worth(strength: float) -> TreeDirichlet:
            concentration = np.tile(np.repeat(strength / layout.sizes, layout.sizes), (n_classes, 1))
            return TreeDirichlet(self.even_weights(n_classes), concentration, self.n_levels)

        return worth

    def log_likelihood(self, theta: Theta) -> LogDensity:
        return trees_log_likelihood(theta, self.n_levels).of(self.rows)

    def simulate(
        self, theta: Theta, codes: Array, rng: np.random.Generator, covariates: Covariates = NO_COVARIATES
    ) -> Array:
        layout, drawn = layout_of(self.n_levels), np.empty((len(codes), len(self.columns)), dtype=np.intp)
        drawn[:, 0] = draw_outcomes(theta["probability"][:, : self.n_levels[0]], codes, rng)
        edge = theta["edge"][None] if self.is_common else theta["edge"]
        trees = np.zeros((len(edge), len(self.columns), len(self.columns)), dtype=bool)
        trees[:, *layout.pairs] = edge > 0
        for parent, child, those in directed_edges(trees):
            for k in range(len(self.classes)) if self.is_common else those:
                own, table = codes == k, layout.table(theta["probability"][k], parent, child)
                with np.errstate(invalid="ignore"):  # levels without probability are not drawn
                    given = table / table.sum(1, keepdims=True)
                drawn[own, child] = draw_outcomes(given, drawn[own, parent], rng)
        return drawn


def _cut_into_bins(table: Table, name: Hashable, weights: Array, n_bins: int) -> tuple[Cuts, tuple[Hashable, ...]]:
    """Find where to cut a column of numbers, and the middle value of each bin; return None for one of levels."""
    if table.kind(name) not in ("continuous", "integer"):
        return None, ()
    refusal = "has no value in these rows to place bins by; drop the column, or begin with rows that have some"
    x, present = present_numbers(table, name, AveragedTree.name, refusal)
    values, places = np.unique(x, return_inverse=True)
    below = np.cumsum(np.bincount(places, weights[present]))
    shares = below / below[-1]
    last = np.arange(len(values))  # of each bin
    if len(values) > n_bins:
        last = np.unique(np.searchsorted(shares, np.arange(1, n_bins + 1) / n_bins - 1e-9))
        if 1 - shares[-2] >= 1 / n_bins:  # the largest value occurs often
            last = np.union1d(last, len(values) - 2)
    cuts = (values[last[:-1]] + values[last[:-1] + 1]) / 2
    middle = (np.concatenate([[0.0], shares[last[:-1]]]) + shares[last]) / 2
    return tuple(cuts.tolist()), tuple(values[np.searchsorted(shares, middle)].tolist())
