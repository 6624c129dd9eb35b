"""Columns of levels that depend on each other along a tree, averaged over all trees (Meilă & Jaakkola 2006).

The probabilities of single columns and of pairs are Dirichlet, with prior counts of pairs whose margins are the
counts of the columns, the same in whatever tree a pair is an edge (Heckerman, Geiger & Chickering 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from scipy.special import xlogy

from bayesppl.conjugate.averaged_trees import AveragedTrees, PairTables, layout_of
from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.log_density import Evaluate
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Array, Theta, log_rising
from bayesppl.kernels.tree_sums import directed_edges, log_tree_sum


@final
@dataclass(frozen=True, eq=False)
class TreeDirichlet(AveragedTrees):
    """Belief about a tree of columns and the probabilities along its edges.

    Parameters
    ----------
    log_weights : (n_pairs,) or (n_classes, n_pairs)
        See :class:`~bayesppl.conjugate.averaged_trees.AveragedTrees`.
    concentration : (n_classes, n_cells)
        Prior counts of the cells of all columns and pairs; those of a pair add up to those of its columns.
    n_levels : tuple of int
    """

    scalable: ClassVar[tuple[str, ...]] = ("concentration",)
    parameters: ClassVar[tuple[str, ...]] = ("edge", "probability")

    concentration: Array
    n_levels: tuple[int, ...]

    @property
    def layout(self) -> PairTables:
        return layout_of(self.n_levels)

    @property
    def tables(self) -> Dirichlet:
        """Return the belief about all tables, each by itself."""
        return Dirichlet(self.concentration, tuple(self.layout.sizes.tolist()))

    def log_association(self, statistics: Counts) -> Array:
        """Compute the log Bayes factor of classes and outcomes, given the outcomes, averaged over their trees: ().

        Bins hold equally many rows, more evenly than chance: as evidence of one distribution, that would be
        rewarded for every class.
        """
        before = self.select_classes(np.arange(1)).update(statistics.pooled()).log_weights[0]
        of_columns, gained = self.layout.split(self.tables.log_association(statistics))
        trees = (log_tree_sum(self.layout.square(weights)) for weights in (before + gained, before))
        return np.asarray(of_columns + np.subtract(*trees))

    def _gains(self, statistics: Counts) -> Array:
        return self.tables.log_increment(statistics)

    def _updated(self, statistics: Counts) -> dict[str, Array]:
        return {"concentration": self.concentration + statistics.counts}

    def _log_prob_of_tables(self, theta: Theta) -> Array:
        terms = np.add.reduceat(xlogy(self.concentration - 1, theta["probability"]), self.layout.starts, axis=-1)
        return np.asarray(terms - self.tables.log_normalizer())

    def _draw_along(self, trees: Array, classes: slice, rng: np.random.Generator) -> Theta:
        layout, cells, alpha = self.layout, np.arange(self.concentration.shape[1]), self.concentration[classes]
        found, root = np.zeros((len(trees), *alpha.shape)), slice(0, self.n_levels[0])
        found[..., root] = Dirichlet(alpha[:, root]).draw(len(trees), rng)["probability"]
        for parent, child, those in directed_edges(trees):
            given = Dirichlet(layout.table(alpha, parent, child)).draw(len(those), rng)["probability"]
            joint = found[those][..., layout.column(cells, parent), None] * given
            at, of_classes = those[:, None, None], np.arange(len(alpha))[:, None]
            found[at, of_classes, layout.table(cells, parent, child).ravel()] = joint.reshape(*joint.shape[:2], -1)
            found[at, of_classes, layout.column(cells, child)] = joint.sum(-2)
        return {"probability": found}

    def _mean_of_tables(self, edge: Array) -> Theta:
        mean = self.tables.mean()["probability"]
        mean[:, sum(self.n_levels) :] *= edge.repeat(self.layout.sizes[len(self.n_levels) :], axis=1)
        return {"probability": mean}

    def table_densities(self) -> list[Evaluate]:
        starts = self.layout.starts

        def of_class(log_mean: Array) -> Evaluate:
            def log_mass(rows: Outcomes) -> Array:
                found = log_mean[rows.codes + starts]
                found[(rows.X < 0).all(1)] = 0.0  # a row without any cell
                return found

            return log_mass

        return [of_class(log_mean) for log_mean in np.log(self.tables.mean()["probability"])]

    def without(self, rows: Outcomes, members: Membership) -> tuple[Array, Array]:
        groups, sizes, cells = members.groups, self.layout.sizes, rows.codes + self.layout.starts
        weights = groups.weights[:, None]
        counts = self.concentration[groups.classes] - weights
        totals = self.tables.totals[groups.classes] - weights
        # defined where the group has a row in the cell
        with np.errstate(divide="ignore", invalid="ignore"):
            added = log_rising(counts, weights) - log_rising(totals, weights).repeat(sizes, axis=1)
            log_mean = np.log(counts / totals.repeat(sizes, axis=1))
        return added[groups.of_rows[:, None], cells], log_mean[groups.of_rows[:, None], cells]
