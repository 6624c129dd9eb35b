r"""Columns of levels that depend on each other along a tree, averaged over all trees (Meilă & Jaakkola 2006).

Given a tree T of edges between columns, a row has the probability

.. math:: p(x \mid \phi, T) = \prod_u \phi_u(x_u)
   \prod_{uv \in T} \frac{\phi_{uv}(x_u, x_v)}{\phi_u(x_u) \phi_v(x_v)}.

The probabilities of single columns and of pairs are Dirichlet, with prior counts :math:`\alpha_{uv}` whose margins
are the counts :math:`\alpha_u` of the columns, the same in whatever tree a pair is an edge (Heckerman, Geiger &
Chickering 1995). Let :math:`S_u` and :math:`P_{uv}` be the log evidences of the tables of a column and of a pair.
That of a tree is :math:`\sum_u S_u + \sum_{uv \in T} W_{uv}` with :math:`W_{uv} = P_{uv} - S_u - S_v`, so that the
trees remain independent of everything but a weight of each edge, and their sum is a determinant: see
:mod:`bayesppl.kernels.tree_sums`. A predictive is a ratio of two such sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from scipy.special import xlogy

from bayesppl.conjugate.conjugate import Conjugate, replace_unchecked
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.statistics import Counts
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.tree_sums import (
    Elimination,
    directed_edges,
    draw_trees,
    edge_probabilities,
    eliminate,
    log_tree_sum,
)


class PairTables(NamedTuple):
    """The tables of all columns and of all pairs of columns, one after the other.

    Attributes
    ----------
    n_levels : (n_columns,)
    pairs : (2, n_pairs)
        The columns of every pair, the first one before the second: 0 and 1, 0 and 2, 1 and 2, 0 and 3, and so on.
    sizes, starts : (n_tables,)
        The number of cells of each table, and where they begin.
    """

    n_levels: Array
    pairs: Array
    sizes: Array
    starts: Array

    def square(self, values: Array) -> Array:
        """Values of pairs (..., n_pairs) as symmetric matrices (..., n_columns, n_columns)."""
        square = np.zeros((*values.shape[:-1], len(self.n_levels), len(self.n_levels)))
        square[..., *self.pairs] = square[..., *self.pairs[::-1]] = values
        return square

    def split(self, values: Array) -> tuple[Array, Array]:
        """Sum values of tables (..., n_tables) over columns, and take those of its two columns from every pair."""
        singles = values[..., : len(self.n_levels)]
        of_pairs = values[..., len(self.n_levels) :] - singles.take(self.pairs[0], axis=-1)
        of_pairs -= singles.take(self.pairs[1], axis=-1)
        return singles.sum(-1), of_pairs

    def column(self, values: Array, column: int) -> Array:
        """The values (..., n_levels) of one column, from values of cells."""
        return values[..., self.starts[column] : self.starts[column] + self.sizes[column]]

    def table(self, values: Array, first: int, second: int) -> Array:
        """The table (..., n_levels, n_levels) of two columns, from values of cells."""
        low, high = sorted((first, second))
        cells = self.column(values, len(self.n_levels) + high * (high - 1) // 2 + low)
        table = cells.reshape(*values.shape[:-1], self.n_levels[low], self.n_levels[high])
        return table if low == first else table.swapaxes(-1, -2)


@cache
def layout_of(n_levels: tuple[int, ...]) -> PairTables:
    """The tables of columns with these numbers of levels."""
    levels, pairs = np.asarray(n_levels, dtype=np.intp), np.stack(np.tril_indices(len(n_levels), -1)[::-1])
    sizes = np.concatenate([levels, levels[pairs[0]] * levels[pairs[1]]])
    return PairTables(levels, pairs, sizes, np.cumsum(sizes) - sizes)


@dataclass(frozen=True, eq=False)
class TreeDirichlet(Conjugate):
    """Belief about a tree of columns and the probabilities along its edges.

    Parameters
    ----------
    concentration : (n_classes, n_cells)
        Prior counts of the cells of all columns and pairs; those of a pair add up to those of its columns.
    log_weights : (n_pairs,) or (n_classes, n_pairs)
        Trees have probabilities proportional to the product of the weights of their edges. All classes share one
        tree, or each has its own.
    n_levels : tuple of int
    """

    scalable: ClassVar[tuple[str, ...]] = ("concentration",)

    concentration: Array
    log_weights: Array
    n_levels: tuple[int, ...]

    @property
    def is_common(self) -> bool:
        """Whether all classes share one tree."""
        return self.log_weights.ndim == 1

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return ("log_weights",) if self.is_common else ()

    @property
    def layout(self) -> PairTables:
        return layout_of(self.n_levels)

    @property
    def tables(self) -> Dirichlet:
        """The belief about all tables, each by itself."""
        return Dirichlet(self.concentration, tuple(self.layout.sizes.tolist()))

    @property
    def factor_dims(self) -> tuple[str, ...]:
        """Dimensions of :meth:`log_increment`."""
        return () if self.is_common else ("class",)

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("edge", "probability")

    def update(self, statistics: Counts) -> Self:
        _, gained = self._gains(statistics)
        counts = self.concentration + statistics.counts
        return replace_unchecked(self, concentration=counts, log_weights=self.log_weights + gained)

    def log_increment(self, statistics: Counts) -> Array:
        of_columns, gained = self._gains(statistics)
        before, after = (
            log_tree_sum(self.layout.square(weights)) for weights in (self.log_weights, self.log_weights + gained)
        )
        return np.asarray((of_columns.sum() if self.is_common else of_columns) + after - before)

    def log_prob(self, theta: Theta) -> Array:
        edge, probability = theta["edge"], theta["probability"]
        edges = edge[..., None, :] if self.is_common else edge
        with np.errstate(invalid="ignore"):  # of pairs without an edge
            terms = np.add.reduceat(xlogy(self.concentration - 1, probability), self.layout.starts, axis=-1)
            of_columns, of_pairs = self.layout.split(terms - self.tables.log_normalizer())
            along = np.where(edges > 0, of_pairs, 0.0).sum(-1) + of_columns
        of_tree = (edge * self.log_weights).sum(-1) - log_tree_sum(self.layout.square(self.log_weights))
        return np.asarray(along.sum(-1) + (of_tree if self.is_common else of_tree.sum(-1)))

    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        layout, cells, edge = self.layout, np.arange(self.concentration.shape[1]), []
        probability = np.zeros((size, *self.concentration.shape))
        for k, graph in enumerate(self.graphs):
            classes = slice(None) if self.is_common else slice(k, k + 1)
            alpha, found = self.concentration[classes], probability[:, classes]
            trees = draw_trees(graph, size, rng)
            edge.append(trees[:, *layout.pairs].astype(np.float64))
            root = slice(0, self.n_levels[0])
            found[..., root] = Dirichlet(alpha[:, root]).draw(size, rng)["probability"]
            for parent, child, those in directed_edges(trees):
                given = Dirichlet(layout.table(alpha, parent, child)).draw(len(those), rng)["probability"]
                joint = found[those][..., layout.column(cells, parent), None] * given
                at, of_classes = those[:, None, None], np.arange(len(alpha))[:, None]
                found[at, of_classes, layout.table(cells, parent, child).ravel()] = joint.reshape(
                    *joint.shape[:2], -1
                )
                found[at, of_classes, layout.column(cells, child)] = joint.sum(-2)
        return {"edge": edge[0] if self.is_common else np.stack(edge, 1), "probability": probability}

    def declare(self, dims: Dims, prefix: str = "") -> NoReturn:
        refuse_pymc()

    def mean(self) -> Theta:
        """Edge probabilities; those of cells, zero in pairs that are no edge."""
        edge = np.stack([edge_probabilities(graph)[*self.layout.pairs] for graph in self.graphs])
        mean = self.tables.mean()["probability"]
        mean[:, sum(self.n_levels) :] *= edge.repeat(self.layout.sizes[len(self.n_levels) :], axis=1)
        return {"edge": edge[0] if self.is_common else edge, "probability": mean}

    def mode(self) -> Theta:
        raise UndefinedEstimateError(
            "trees are discrete and their probabilities are not, so that their joint density has no mode. Use "
            "rule='predictive', which averages over all trees."
        )

    @property
    def graphs(self) -> list[Elimination]:
        """The elimination of the nodes of every tree."""
        return [eliminate(weights) for weights in self.layout.square(np.atleast_2d(self.log_weights))]

    def _gains(self, statistics: Counts) -> tuple[Array, Array]:
        """Log evidence of the columns of each class, and what is added to the weights of each tree."""
        of_columns, of_pairs = self.layout.split(self.tables.log_increment(statistics))
        return of_columns, of_pairs.sum(0) if self.is_common else of_pairs


def refuse_pymc() -> NoReturn:
    """Refuse to declare a tree in PyMC."""
    raise ValueError(
        "trees have no model in PyMC: they are discrete, and samplers move along densities. Their posterior is "
        "exact, and its draws are independent: use inference='closed_form'"
    )
