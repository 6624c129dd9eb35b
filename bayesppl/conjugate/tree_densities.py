"""Densities of rows of levels along trees: the likelihood, the predictive, and of every row left out.

The predictive averages over all trees, as a ratio of two sums over them; see
:mod:`bayesppl.conjugate.tree_dirichlet`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from bayesppl.conjugate.log_density import LogDensity, over_alternatives
from bayesppl.conjugate.membership import Groups, Membership
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.statistics import Counts
from bayesppl.conjugate.tree_dirichlet import TreeDirichlet, layout_of
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta, log_rising
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.ranges import row_blocks
from bayesppl.kernels.tree_sums import (
    log_mean_over_trees,
    log_tree_sum,
)

# numbers of the rows that are left out at once
_SCORED = 1 << 20


def trees_log_likelihood(theta: Theta, n_levels: tuple[int, ...]) -> LogDensity:
    """The density of rows along the edges of a tree, or of several; axes of draws lead."""
    layout, edge, probability = layout_of(n_levels), theta["edge"], theta["probability"]
    if ((edge != 0) & (edge != 1)).any():
        raise UndefinedEstimateError(
            "the mean of several trees is no tree, so that it has no density. Use rule='predictive', which "
            "averages over all trees."
        )
    if edge.ndim < probability.ndim:
        edge = edge[..., None, :]
    # a pair counts where it is an edge, and every column once less for each of its edges
    times = np.concatenate([1 - layout.square(edge).sum(-1), edge], axis=-1).repeat(layout.sizes, axis=-1)
    terms = xlogy(times, np.where(probability > 0, probability, 1.0))
    # a level without probability does not occur, however many edges its column has
    terms[(probability == 0) & ((np.arange(times.shape[-1]) < sum(n_levels)) | (times > 0))] = -np.inf
    sums = level_sums(terms.reshape(-1, terms.shape[-1]), layout.sizes.tolist())

    def log_mass(rows: Outcomes) -> Array:
        return np.moveaxis(sums(rows.codes).reshape(*terms.shape[:-1], len(rows)), -2, -1)

    return LogDensity(log_mass).map(over_alternatives)


def trees_log_predictive(posterior: TreeDirichlet) -> LogDensity:
    """The predictive of rows of levels: the likelihood at the mean of the tables, averaged over trees."""
    layout, graphs = posterior.layout, posterior.graphs
    log_mean = np.log(posterior.tables.mean()["probability"])

    def log_mass(rows: Outcomes) -> Array:
        out = np.empty((len(rows), len(log_mean)))
        for block in row_blocks(len(rows), len(layout.sizes), _SCORED):
            cells = rows[block].codes + layout.starts
            for k, terms in enumerate(log_mean):
                of_columns, of_pairs = layout.split(terms[cells])
                out[block, k] = of_columns + log_mean_over_trees(graphs[k % len(graphs)], of_pairs)
        out[(rows.X < 0).all(1)] = 0.0
        return out

    return LogDensity(log_mass).map(over_alternatives)


def log_predictive_of_seen(posterior: TreeDirichlet, rows: Outcomes) -> Array:
    """The predictive of rows by the columns that each of them has, as if the others were not in the table.

    That is the average over all trees of these columns, and no sum over the levels of the others: (n_rows,
    n_classes).
    """
    layout, seen, n_columns = posterior.layout, rows.X >= 0, len(posterior.n_levels)
    graphs = layout.square(np.atleast_2d(posterior.log_weights))[:, None]
    log_mean = np.log(posterior.tables.mean()["probability"])
    out = np.empty((len(log_mean), len(rows)))
    for block in row_blocks(len(rows), len(log_mean) * n_columns**2, _SCORED):
        filled = replace(rows, X=np.maximum(rows.X[block], 0))
        found = log_mean[:, filled.codes + layout.starts]
        of_pairs, inside = layout.square(layout.split(found)[1]), seen[block]
        out[:, block] = np.where(inside, found[..., :n_columns], 0.0).sum(-1)
        patterns, pattern_of = np.unique(inside, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            those, kept = np.flatnonzero(pattern_of.ravel() == place), np.flatnonzero(pattern)
            if len(kept) > 1:
                graph = graphs[..., kept[:, None], kept]
                changed = graph + of_pairs[:, those[:, None, None], kept[:, None], kept]
                sums = log_tree_sum(np.concatenate([graph + np.zeros_like(changed[:, :1]), changed], axis=1))
                out[:, block][:, those] += sums[:, 1:] - sums[:, :1]
    return out.T


def trees_leave_one_out(
    posterior: TreeDirichlet, statistics: Counts, rows: Outcomes, members: Membership
) -> tuple[Array, Array]:
    """Leave-one-out of rows of levels: without one, tables have a count less, and edges another weight."""
    layout, n_columns = posterior.layout, len(posterior.n_levels)
    fitted = trees_log_predictive(posterior)(rows)
    without, n_classes = fitted.copy(), fitted.shape[1]
    log_mean = np.log(posterior.tables.mean()["probability"])
    # whose densities change with a row: those of all classes that share its tree
    changed = (
        [(np.arange(len(rows)), range(n_classes))]
        if posterior.is_common
        else [(np.flatnonzero(members.codes == k), [k]) for k in range(n_classes)]
    )
    of_few = members.few_weights is not None
    for graph, (those, classes) in zip(posterior.graphs, changed, strict=True):
        for block in row_blocks(len(those), n_columns**2 if of_few else log_mean.shape[1], _SCORED):
            at = those[block]
            cells, own, groups = rows[at].codes + layout.starts, members.codes[at], members[at].groups
            (_, removed), (own_columns, own_pairs) = (
                layout.split(values[groups.of_rows[:, None], cells]) for values in _without_one(posterior, groups)
            )
            before = log_mean_over_trees(graph, -removed)
            for k in classes:
                of_columns, of_pairs = layout.split(log_mean[k][cells])
                is_own = own == k
                of_columns = np.where(is_own, own_columns, of_columns)
                of_pairs = np.where(is_own[:, None], own_pairs, of_pairs)
                without[at, k] = of_columns + log_mean_over_trees(graph, of_pairs - removed) - before
    return fitted, without


def _without_one(posterior: TreeDirichlet, groups: Groups) -> tuple[Array, Array]:
    """What a row of each group adds to the evidence of a table by its cell, and log means of cells without it.

    Both are (n_groups, n_cells), and have a meaning where the group has a row in the cell.
    """
    sizes, weights = posterior.layout.sizes, groups.weights[:, None]
    counts = posterior.concentration[groups.classes] - weights
    totals = posterior.tables.totals[groups.classes] - weights
    with np.errstate(divide="ignore", invalid="ignore"):
        added = log_rising(counts, weights) - log_rising(totals, weights).repeat(sizes, axis=1)
        return added, np.log(counts / totals.repeat(sizes, axis=1))
