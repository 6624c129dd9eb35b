"""The trees along which columns depend on each other: probabilities of their edges, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from bayesppl.analysis.parameter_tables import coord
from bayesppl.conjugate.averaged_trees import AveragedTrees
from bayesppl.data.arguments import generator, whole
from bayesppl.kernels import tree_sums
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact

if TYPE_CHECKING:
    import xarray as xr


def edge_probabilities(fitted: Fitted) -> xr.DataArray:
    """Compute the posterior probability that two columns are connected by an edge of the tree.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.DataArray
        Over "column" and "neighbour", after "class" where every class has a tree of its own. Exact: every
        probability is that of all trees with the edge. A tree of p columns has p − 1 edges, and so half of the
        sum of all numbers is p − 1.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [["no", "a", "r"], ["no", "b", "r"], ["yes", "a", "r"], ["yes", "b", "s"]] * 9, [0, 1, 1, 0] * 9
    >>> edges = bp.TreeNB().fit(X, y).edge_probabilities()
    >>> edges.sel(column="x0", neighbour="x1").round(2).item()
    1.0
    """
    belief = belief_of(fitted)
    found = np.stack([tree_sums.edge_probabilities(graph) for graph in belief.graphs])
    return _labelled(fitted, belief, found, ())


def sample_trees(fitted: Fitted, draws: int = 100, random_state: int | None = None) -> xr.DataArray:
    """Draw trees from their posterior.

    Parameters
    ----------
    fitted : Fitted
    draws : int
    random_state : int, optional

    Returns
    -------
    xarray.DataArray of bool
        Over "draw", "column" and "neighbour", with "class" after "draw" where every class has a tree of its own.
        Draws are independent, and exact.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = [["no", "a", "r"], ["no", "b", "r"], ["yes", "a", "r"], ["yes", "b", "s"]] * 9, [0, 1, 1, 0] * 9
    >>> trees = bp.TreeNB().fit(X, y).sample_trees(50, random_state=0)
    >>> (trees.sum(["column", "neighbour"]) / 2).to_numpy().max().item()
    2.0
    """
    whole("draws", draws, 1)
    belief, rng = belief_of(fitted), generator(random_state)
    found = np.stack([tree_sums.draw_trees(graph, draws, rng) for graph in belief.graphs], axis=1)
    return _labelled(fitted, belief, found, ("draw",))


def belief_of(fitted: Fitted) -> AveragedTrees:
    """Return the posterior of the trees and of the probabilities along them."""
    # the posterior of trees is known in closed form only
    return cast(AveragedTrees, cast(Exact, fitted.posterior).belief.parts["features"])


def _labelled(fitted: Fitted, belief: AveragedTrees, found: Array, before: tuple[str, ...]) -> xr.DataArray:
    """Label matrices of columns by columns, one for each tree, with the names of the columns."""
    import xarray as xr

    names = coord(list(fitted.columns.names))
    coords = {"column": names, "neighbour": names}
    if belief.is_common:
        return xr.DataArray(found.squeeze(len(before)), coords, (*before, *coords))
    return xr.DataArray(found, {"class": coord(fitted.classes.tolist()), **coords}, (*before, "class", *coords))
