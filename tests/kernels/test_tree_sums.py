"""Sums over trees: enumeration, exact arithmetic, and scales at which a determinant has no digits."""

import itertools

import mpmath
import numpy as np
import pytest

from bayesppl.kernels.tree_sums import (
    directed_edges,
    draw_trees,
    edge_probabilities,
    eliminate,
    log_mean_over_trees,
    log_tree_sum,
)


def weights(n_nodes: int, scale: float, seed: int = 0) -> np.ndarray:
    drawn = np.tril(np.random.default_rng(seed).normal(scale=scale, size=(n_nodes, n_nodes)), -1)
    return drawn + drawn.T


def every_tree(n_nodes: int) -> np.ndarray:
    """All trees as adjacency matrices, from their Prüfer codes."""
    found = []
    for code in itertools.product(range(n_nodes), repeat=n_nodes - 2):
        tree, degree = np.zeros((n_nodes, n_nodes), bool), [1 + code.count(v) for v in range(n_nodes)]
        for end in code:
            leaf = degree.index(1)
            tree[leaf, end] = tree[end, leaf] = True
            degree[leaf], degree[end] = 0, degree[end] - 1
        first, second = (v for v in range(n_nodes) if degree[v] == 1)
        tree[first, second] = tree[second, first] = True
        found.append(tree)
    return np.array(found)


def log_weights_of_trees(log_weights: np.ndarray, trees: np.ndarray) -> np.ndarray:
    return (np.triu(trees) * log_weights).sum((1, 2))


@pytest.mark.parametrize("scale", [0.5, 5.0, 500.0])
def test_sums_averages_and_edges_are_those_of_all_trees(scale):
    trees, log_weights = every_tree(5), weights(5, scale)
    of_trees = log_weights_of_trees(log_weights, trees)
    total = np.logaddexp.reduce(of_trees)
    assert len(trees) == 125
    np.testing.assert_allclose(log_tree_sum(log_weights), total, rtol=1e-13)
    graph = eliminate(log_weights)
    edges = np.einsum("t,tij->ij", np.exp(of_trees - total), trees)
    np.testing.assert_allclose(edge_probabilities(graph), edges, atol=1e-13)
    factors = np.random.default_rng(1).normal(scale=3, size=(4, 10))
    factors[3] *= 1000  # beyond ordinary numbers
    changes = np.zeros((4, 5, 5))
    changes[:, *np.tril_indices(5, -1)] = factors
    expected = [
        np.logaddexp.reduce(of_trees + log_weights_of_trees(change + change.T, trees)) - total
        for change in changes
    ]
    np.testing.assert_allclose(log_mean_over_trees(graph, factors), expected, rtol=1e-11, atol=1e-11)


def test_the_number_of_trees_is_that_of_cayley():
    for n_nodes in (1, 2, 3, 7):
        expected = (n_nodes - 2) * np.log(n_nodes) if n_nodes > 1 else 0.0
        np.testing.assert_allclose(log_tree_sum(np.zeros((n_nodes, n_nodes))), expected, atol=1e-13)


def test_factors_that_overflow_along_the_way_are_taken_in_logarithms():
    """The star about one node, of weights e^200, outweighs all other trees, with the factors and without."""
    order = np.random.default_rng(0).permutation(40)
    log_weights = np.full((40, 40), -1500.0)
    log_weights[order[:-1], order[1:]] = log_weights[order[1:], order[:-1]] = 0.0
    log_weights[order[0], :] = log_weights[:, order[0]] = 200.0
    factors = np.where(log_weights[np.tril_indices(40, -1)] == 0, 60.0, -60.0)
    found = log_mean_over_trees(eliminate(log_weights), factors[None])
    np.testing.assert_allclose(found, -60 * 39, rtol=1e-14)


def test_a_determinant_without_a_digit_left_has_all_of_them():
    log_weights = weights(12, 400.0) - 300.0
    with mpmath.workdps(4000):
        laplacian = -mpmath.matrix([[mpmath.exp(w) for w in row] for row in log_weights.tolist()])
        for i in range(12):
            laplacian[i, i] = -sum(laplacian[i, j] for j in range(12) if j != i)
        expected = float(mpmath.log(mpmath.det(laplacian[1:, 1:])))
    assert abs(expected) > 500
    np.testing.assert_allclose(log_tree_sum(log_weights), expected, rtol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_draws_have_the_probabilities_of_trees(scale):
    size, rng = 20_000, np.random.default_rng(2)
    log_weights = weights(5, scale, seed=4)
    drawn, trees = draw_trees(eliminate(log_weights), size, rng), every_tree(5)
    of_trees = log_weights_of_trees(log_weights, trees)
    probability = np.exp(of_trees - np.logaddexp.reduce(of_trees))
    share = np.array([(drawn == tree).all((1, 2)).mean() for tree in trees])
    np.testing.assert_allclose(share.sum(), 1.0)
    error = np.sqrt(probability * (1 - probability) / size)
    np.testing.assert_array_less(np.abs(share - probability), 5 * error + 1 / size)


def test_edges_lead_away_from_the_first_node():
    trees = draw_trees(eliminate(weights(6, 1.0)), 30, np.random.default_rng(0))
    reached = [{0} for _ in trees]
    found = np.zeros_like(trees)
    for parent, child, which in directed_edges(trees):
        for tree in which:
            assert parent in reached[tree]
            assert child not in reached[tree]
            reached[tree].add(child)
            found[tree, parent, child] = found[tree, child, parent] = True
    np.testing.assert_array_equal(found, trees)
