r"""Sums over all trees on a set of nodes, by eliminating one node after the other.

The sum over all spanning trees of the product of their edges' weights is a determinant of the Laplacian without
one row and column (Kirchhoff 1847). Its pivots are sums of weights: taking a node k out of a graph of weights
:math:`w` leaves a graph on the others with

.. math:: w'_{ij} = w_{ij} + \frac{w_{ik} w_{kj}}{\sum_l w_{kl}},

whose sum over trees is that of the whole, divided by :math:`\sum_l w_{kl}` (the star-mesh transformation). Nothing
is subtracted, so that nothing cancels: in logarithms weights of any size leave every digit, where a determinant in
floating-point numbers comes out negative.

The last node is taken out first. Of a matrix of weights the diagonal is not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.special import expit

from bayesppl.kernels.ranges import row_blocks

# weights that change by more than a factor of e to this are eliminated in logarithms, others in ordinary numbers
_FAR = 200.0

# numbers of a block of rows
_BLOCK = 1 << 18


class Elimination(NamedTuple):
    """A graph of which all nodes but the first are taken out.

    Attributes
    ----------
    log_weights : (n_nodes, n_nodes)
    log_shares : list of (n_others,)
        For each node that is taken out, the last one first: of each of its edges in the sum of all it has left.
    kept : list of (n_others, n_others)
        The part of the weight between two others that does not lead through the node.
    start : (n_nodes, n_nodes)
        Weights, as parts of those that they grow to before one of their nodes is taken out.
    meshed : (n_nodes, n_steps, n_nodes)
        What each step adds to them.
    """

    log_weights: np.ndarray
    log_shares: list[np.ndarray]
    kept: list[np.ndarray]
    start: np.ndarray
    meshed: np.ndarray


def _take_out_nodes(log_weights: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield the log sum of the weights of a node, these, those of the others before, and what is added to them."""
    for node in range(log_weights.shape[-1] - 1, 0, -1):
        out, others = log_weights[..., node, :node], log_weights[..., :node, :node]
        strength = np.logaddexp.reduce(out, axis=-1)
        through = out[..., :, None] + (out - strength[..., None])[..., None, :]
        yield strength, out, others, through
        log_weights = np.logaddexp(others, through)


def log_tree_sum(log_weights: np.ndarray) -> np.ndarray:
    """Compute the log of the sum over all trees of the product of their weights.

    Parameters
    ----------
    log_weights : (..., n_nodes, n_nodes), symmetric

    Returns
    -------
    (...,)
    """
    return sum((strength for strength, *_ in _take_out_nodes(log_weights)), np.zeros(log_weights.shape[:-2]))


def eliminate(log_weights: np.ndarray) -> Elimination:
    """Take out all nodes but the first, of a graph whose weights have these logarithms: (n_nodes, n_nodes)."""
    n_nodes, steps = len(log_weights), list(_take_out_nodes(log_weights))
    grown, meshed = np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_nodes, n_nodes))
    for _, out, *_ in steps:
        grown[len(out), : len(out)] = grown[: len(out), len(out)] = out
    np.fill_diagonal(grown, np.inf)
    for step, (_, out, _, through) in enumerate(steps):
        others = slice(len(out))
        meshed[others, step, others] = np.exp(through - grown[others, others])
    log_shares = [out - strength for strength, out, *_ in steps]
    kept = [expit(others - through) for *_, others, through in steps]
    return Elimination(log_weights, log_shares, kept, np.exp(log_weights - grown), meshed)


def log_mean_over_trees(graph: Elimination, log_factors: np.ndarray) -> np.ndarray:
    """Compute the log of the average over trees of the product of a factor for every edge.

    Trees have probabilities proportional to the products of their weights. Factors that are not far from one are
    taken in ordinary numbers, and in logarithms where these overflow.

    Parameters
    ----------
    graph : Elimination
    log_factors : (n_rows, n_pairs)
        Of the pairs (1, 0), (2, 0), (2, 1), (3, 0) and so on.

    Returns
    -------
    (n_rows,)
    """
    out, n_nodes = np.zeros(len(log_factors)), len(graph.start)
    far = (np.abs(log_factors) > _FAR).any(1)
    near = np.flatnonzero(~far)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for block in row_blocks(len(near), n_nodes**2, _BLOCK):
            factors, n_rows = np.exp(log_factors[near[block]].T), len(near[block])
            edges, strengths = np.empty((n_nodes, n_nodes, n_rows)), np.empty((n_nodes, n_rows))
            for step, log_share in enumerate(graph.log_shares):
                node, before = n_nodes - 1 - step, edges[:step]
                first, own = node * (node - 1) // 2, edges[step, :node]
                np.multiply(factors[first : first + node], graph.start[node, :node, None], out=own)
                if step:
                    ratios, meshed = before[:, node] / strengths[:step], graph.meshed[node, :step, :node]
                    own += np.einsum("li,lin,ln->in", meshed, before[:, :node], ratios)
                strengths[step] = np.exp(log_share) @ own
            out[near[block]] = np.log(strengths[:-1]).sum(0)
    for row in np.flatnonzero(far | ~np.isfinite(out)):
        changed = np.zeros_like(graph.start)
        changed[np.tril_indices(n_nodes, -1)] = log_factors[row]
        out[row] = log_tree_sum(graph.log_weights + changed + changed.T) - log_tree_sum(graph.log_weights)
    return out


def edge_probabilities(graph: Elimination) -> np.ndarray:
    """Compute the probability that a tree has each edge: (n_nodes, n_nodes), zero on the diagonal.

    Each is the derivative of the log of the sum over trees by the log of a weight, taken back through the
    elimination; it equals the weight times the effective resistance, which the inverse Laplacian has.
    """
    found = np.zeros((1, 1))
    for log_share, kept in zip(reversed(graph.log_shares), reversed(graph.kept), strict=True):
        through = found * (1 - kept)
        to_node = through.sum(1) + np.exp(log_share) * (1 - through.sum() / 2)
        found = np.pad(found * kept, (0, 1))
        found[-1, :-1] = found[:-1, -1] = np.clip(to_node, 0.0, 1.0)  # which rounding may leave
    return found


def draw_trees(graph: Elimination, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independent trees with probabilities proportional to the products of their weights.

    Nodes return in the order opposite to that in which they were taken out. An edge of the tree so far leads
    through the node with the probability that the elimination has for it; every set of nodes that hold together
    without such edges is connected to the node by one of its own. The random walks of Wilson's algorithm
    would stay too long between two nodes with a large weight.

    Returns
    -------
    (size, n_nodes, n_nodes) bool, symmetric
    """
    edges = np.empty((3, 0), dtype=np.intp)  # of which draw, from which node, to which
    for log_share, kept in zip(reversed(graph.log_shares), reversed(graph.kept), strict=True):
        n = len(kept)
        edges = edges[:, rng.random(edges.shape[1]) < kept[edges[1], edges[2]]]
        ends = tuple(edges[0] * n + edges[1:])
        links = coo_array((np.ones(edges.shape[1]), ends), shape=(size * n, size * n))
        n_components, component = connected_components(links, directed=False)
        ascending = np.argsort((log_share + rng.gumbel(size=(size, n))).ravel())
        nearest = np.empty(n_components, dtype=np.intp)
        nearest[component[ascending]] = ascending  # the last one of each component stays
        edges = np.hstack([edges, [nearest // n, nearest % n, np.full(n_components, n)]])
    trees = np.zeros((size, len(graph.start), len(graph.start)), dtype=bool)
    trees[edges[0], edges[1], edges[2]] = True
    return trees | trees.swapaxes(1, 2)


def directed_edges(trees: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield the edges of several trees on the same nodes away from the first one, the nearest to it first.

    Parameters
    ----------
    trees : (n_trees, n_nodes, n_nodes) bool
        Whether there is an edge, in one of the two places at least.

    Yields
    ------
    parent, child : int
    which : (n_some,)
        The trees that have the edge at the same distance from the first node.
    """
    n_trees, n_nodes, _ = trees.shape
    tree, *ends = np.nonzero(trees)
    # one more node is linked to the first ones of all trees
    roots, beyond = np.arange(n_trees) * n_nodes, n_trees * n_nodes
    first, second = (
        np.concatenate([tree * n_nodes + end, at])
        for end, at in zip(ends, (roots, beyond + 0 * roots), strict=True)
    )
    links = coo_array((np.ones(len(first)), (first, second)), shape=(beyond + 1, beyond + 1)).tocsr()
    distance, parent = dijkstra(links, False, beyond, return_predecessors=True, unweighted=True)
    child = np.setdiff1d(np.arange(beyond), roots)
    steps = np.stack([distance[child].astype(np.intp), parent[child] % n_nodes, child % n_nodes])
    kinds, kind_of = np.unique(steps, axis=1, return_inverse=True)
    for kind, (_, start, end) in enumerate(kinds.T.tolist()):
        yield start, end, child[kind_of.ravel() == kind] // n_nodes
