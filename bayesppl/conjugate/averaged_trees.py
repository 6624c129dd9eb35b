r"""Columns that depend on each other along a tree, averaged over all trees, whatever their densities.

Given a tree T of edges between columns, a row has the density

.. math:: p(x \mid \phi, T) = \prod_u p(x_u \mid \phi_u)
   \prod_{uv \in T} \frac{p(x_u, x_v \mid \phi_{uv})}{p(x_u \mid \phi_u)\, p(x_v \mid \phi_v)}.

The parameters of a pair have the margins of its columns, and the prior of each is the same in whatever tree the
pair is an edge (hyper-Markov laws: Dawid & Lauritzen 1993). Let :math:`S_u` and :math:`P_{uv}` be the log
evidences of a column and of a pair. That of a tree is :math:`\sum_u S_u + \sum_{uv \in T} W_{uv}` with
:math:`W_{uv} = P_{uv} - S_u - S_v`, so that the trees remain independent of everything but a weight of each
edge, and their sum is a determinant (Meilă & Jaakkola 2006): see :mod:`bayesppl.kernels.tree_sums`. A
predictive is a ratio of two such sums.

"Tables" are the columns and the pairs of columns, one after the other.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, NoReturn, Self, final

import numpy as np

from bayesppl.conjugate.conjugate import Conjugate, replace_unchecked
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.log_density import Evaluate
from bayesppl.conjugate.membership import Membership
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.tree_sums import Elimination, draw_trees, edge_probabilities, eliminate, log_tree_sum


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
        """Write values of pairs (..., n_pairs) as symmetric matrices (..., n_columns, n_columns)."""
        square = np.zeros((*values.shape[:-1], len(self.n_levels), len(self.n_levels)))
        square[..., *self.pairs] = square[..., *self.pairs[::-1]] = values
        return square

    def split(self, values: Array) -> tuple[Array, Array]:
        """Return sums over columns, and the value of each pair less those of its columns, from (..., n_tables)."""
        singles = values[..., : len(self.n_levels)]
        of_pairs = values[..., len(self.n_levels) :] - singles.take(self.pairs[0], axis=-1)
        of_pairs -= singles.take(self.pairs[1], axis=-1)
        return singles.sum(-1), of_pairs

    def pair(self, first: int, second: int) -> int:
        """Return the place of a pair of columns among all pairs."""
        low, high = sorted((first, second))
        return high * (high - 1) // 2 + low

    def column(self, values: Array, column: int) -> Array:
        """Select the values (..., n_levels) of one column among those of all cells."""
        return values[..., self.starts[column] : self.starts[column] + self.sizes[column]]

    def table(self, values: Array, first: int, second: int) -> Array:
        """Select the table (..., n_levels, n_levels) of two columns among the values of all cells."""
        low, high = sorted((first, second))
        cells = self.column(values, len(self.n_levels) + self.pair(first, second))
        table = cells.reshape(*values.shape[:-1], self.n_levels[low], self.n_levels[high])
        return table if low == first else table.swapaxes(-1, -2)


@cache
def layout_of(n_levels: tuple[int, ...]) -> PairTables:
    """Lay out the tables of columns with these numbers of levels."""
    levels, pairs = np.asarray(n_levels, dtype=np.intp), np.stack(np.tril_indices(len(n_levels), -1)[::-1])
    sizes = np.concatenate([levels, levels[pairs[0]] * levels[pairs[1]]])
    return PairTables(levels, pairs, sizes, np.cumsum(sizes) - sizes)


@dataclass(frozen=True, eq=False)
class AveragedTrees(Conjugate):
    """Belief about a tree of columns, and about the parameters of columns and pairs.

    Parameters
    ----------
    log_weights : (n_pairs,) or (n_classes, n_pairs)
        Trees have probabilities proportional to the product of the weights of their edges. All classes share one
        tree, or each has its own.
    """

    log_weights: Array

    @property
    @abstractmethod
    def layout(self) -> PairTables:
        """Return the tables of columns and pairs."""

    @abstractmethod
    def _gains(self, statistics: Any) -> Array:
        """Compute the log evidence of every table by itself: (n_classes, n_tables)."""

    @abstractmethod
    def _updated(self, statistics: Any) -> dict[str, Array]:
        """Return the hyperparameters of the tables after these rows."""

    @abstractmethod
    def _log_prob_of_tables(self, theta: Theta) -> Array:
        """Compute the log density of the parameters of every table: (..., n_classes, n_tables)."""

    @abstractmethod
    def _draw_along(self, trees: Array, classes: slice, rng: np.random.Generator) -> Theta:
        """Draw the parameters of these classes along trees (size, n_columns, n_columns), zero where no edge is."""

    @abstractmethod
    def _mean_of_tables(self, edge: Array) -> Theta:
        """Return the means of the parameters, those of pairs times the probabilities of their edges."""

    @abstractmethod
    def table_densities(self) -> list[Evaluate]:
        """Return, for each class, the log predictive of every table by itself: from rows to (n_rows, n_tables)."""

    @abstractmethod
    def without(self, rows: Any, members: Membership) -> tuple[Array, Array]:
        """Compute what each row adds to the log evidence of its class, and its log predictive without it.

        Both are (n_rows, n_tables), of every table by itself; the first leaves out terms of a pair that are the
        sum of those of its two columns.
        """

    @property
    def is_common(self) -> bool:
        """Whether all classes share one tree."""
        return self.log_weights.ndim == 1

    @property
    def shared_by_classes(self) -> tuple[str, ...]:
        return ("log_weights",) if self.is_common else ()

    @final
    def update(self, statistics: Any) -> Self:
        log_weights = self.log_weights + self._split_gains(statistics)[1]
        return replace_unchecked(self, **self._updated(statistics), log_weights=log_weights)

    @final
    def log_increment(self, statistics: Any) -> Array:
        of_columns, gained = self._split_gains(statistics)
        before, after = (
            log_tree_sum(self.layout.square(weights)) for weights in (self.log_weights, self.log_weights + gained)
        )
        return np.asarray((of_columns.sum() if self.is_common else of_columns) + after - before)

    @final
    def log_prob(self, theta: Theta) -> Array:
        edge = theta["edge"]
        edges = edge[..., None, :] if self.is_common else edge
        with np.errstate(invalid="ignore"):  # of pairs without an edge
            of_columns, of_pairs = self.layout.split(self._log_prob_of_tables(theta))
            along = np.where(edges > 0, of_pairs, 0.0).sum(-1) + of_columns
        of_tree = (edge * self.log_weights).sum(-1) - log_tree_sum(self.layout.square(self.log_weights))
        return np.asarray(along.sum(-1) + (of_tree if self.is_common else of_tree.sum(-1)))

    @final
    def draw(self, size: int, rng: np.random.Generator) -> Theta:
        edge, found = [], []
        for k, graph in enumerate(self.graphs):
            trees = draw_trees(graph, size, rng)
            edge.append(trees[:, *self.layout.pairs].astype(np.float64))
            found.append(self._draw_along(trees, slice(None) if self.is_common else slice(k, k + 1), rng))
        drawn = {name: np.concatenate([each[name] for each in found], axis=1) for name in found[0]}
        return {"edge": edge[0] if self.is_common else np.stack(edge, 1), **drawn}

    @final
    def declare(self, dims: Dims, prefix: str = "") -> NoReturn:
        refuse_pymc()

    @final
    def mean(self) -> Theta:
        """Return edge probabilities, and means of parameters; those of pairs are zero where there is no edge."""
        edge = np.stack([edge_probabilities(graph)[*self.layout.pairs] for graph in self.graphs])
        return {"edge": edge[0] if self.is_common else edge, **self._mean_of_tables(edge)}

    @final
    def mode(self) -> Theta:
        raise UndefinedEstimateError(
            "trees are discrete and their parameters are not, so that their joint density has no mode. Use "
            "rule='predictive', which averages over all trees; in place of inference='em', 'gibbs'."
        )

    @final
    @property
    def graphs(self) -> list[Elimination]:
        """Return the elimination of the nodes for every tree."""
        return [eliminate(weights) for weights in self.layout.square(np.atleast_2d(self.log_weights))]

    @final
    def _split_gains(self, statistics: Any) -> tuple[Array, Array]:
        """Return the log evidence of the columns of each class, and what it adds to the log weights of trees."""
        of_columns, of_pairs = self.layout.split(self._gains(statistics))
        return of_columns, of_pairs.sum(0) if self.is_common else of_pairs


def require_one_tree(edge: Array) -> None:
    """Refuse the mean of several trees in place of one."""
    if ((edge != 0) & (edge != 1)).any():
        raise UndefinedEstimateError(
            "the mean of several trees is no tree, so that it has no density. Use rule='predictive', which "
            "averages over all trees; labels in doubt are learned by inference='gibbs', and rows without one are "
            "left out by unlabelled='drop'."
        )


def refuse_pymc() -> NoReturn:
    """Refuse to declare a tree in PyMC."""
    raise ValueError(
        "trees have no model in PyMC: they are discrete, and samplers move along densities. Their posterior is "
        "exact, and its draws are independent: use inference='closed_form'"
    )
