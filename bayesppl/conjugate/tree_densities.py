"""Densities of rows along trees: the likelihood of levels, the predictive, and leave-one-out.

The predictive averages over all trees, as a ratio of two sums over them; see
:mod:`bayesppl.conjugate.averaged_trees`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from bayesppl.conjugate.averaged_trees import AveragedTrees, layout_of, require_one_tree
from bayesppl.conjugate.log_density import LogDensity, over_alternatives
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import Outcomes
from bayesppl.conjugate.tree_dirichlet import TreeDirichlet
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.ranges import row_blocks
from bayesppl.kernels.tree_sums import log_mean_over_trees, log_tree_sum

# numbers of the rows that are left out at once
_SCORED = 1 << 20


def trees_log_likelihood(theta: Theta, n_levels: tuple[int, ...]) -> LogDensity:
    """Return the density of rows along the edges of a tree, or of several; axes of draws lead."""
    layout, edge, probability = layout_of(n_levels), theta["edge"], theta["probability"]
    require_one_tree(edge)
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


def trees_log_predictive(posterior: AveragedTrees) -> LogDensity:
    """Return the log predictive of rows: the product of those of the columns, times an average over trees."""
    layout, graphs, densities = posterior.layout, posterior.graphs, posterior.table_densities()

    def log_density(rows: Any) -> Array:
        out = np.empty((len(rows), len(densities)))
        for block in row_blocks(len(rows), len(layout.sizes), _SCORED):
            those = rows[block]
            for k, density in enumerate(densities):
                of_columns, of_pairs = layout.split(density(those))
                out[block, k] = of_columns + log_mean_over_trees(graphs[k % len(graphs)], of_pairs)
        return out

    found = LogDensity(log_density)
    return found.map(over_alternatives) if isinstance(posterior, TreeDirichlet) else found


def log_predictive_of_seen(posterior: TreeDirichlet, rows: Outcomes) -> Array:
    """Compute the log predictive of the columns that each row has, as if the others were not in the table.

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
    posterior: AveragedTrees, statistics: Any, rows: Any, members: Membership
) -> tuple[Array, Array]:
    """Leave rows out: without one, tables have a row less, and edges another weight."""
    layout, densities = posterior.layout, posterior.table_densities()
    fitted = trees_log_predictive(posterior)(rows)
    without, n_classes = fitted.copy(), fitted.shape[1]
    # whose densities change with a row: those of all classes that share its tree
    changed = (
        [(np.flatnonzero(members.weights), range(n_classes))]
        if posterior.is_common
        else [(np.flatnonzero((members.codes == k) & (members.weights > 0)), [k]) for k in range(n_classes)]
    )
    of_each = len(layout.sizes) if members.few_weights is not None else layout.sizes.sum()
    for graph, (those, classes) in zip(posterior.graphs, changed, strict=True):
        for block in row_blocks(len(those), of_each, _SCORED):
            at = those[block]
            left = rows[at]
            (_, removed), (own_columns, own_pairs) = map(layout.split, posterior.without(left, members[at]))
            before = log_mean_over_trees(graph, -removed)
            for k in classes:
                of_columns, of_pairs = layout.split(densities[k](left))
                is_own = members.codes[at] == k
                of_columns = np.where(is_own, own_columns, of_columns)
                of_pairs = np.where(is_own[:, None], own_pairs, of_pairs)
                without[at, k] = of_columns + log_mean_over_trees(graph, of_pairs - removed) - before
    return fitted, without
