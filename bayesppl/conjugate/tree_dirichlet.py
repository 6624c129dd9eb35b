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

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, final

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from bayesppl.conjugate.conjugate import Conjugate, replace_unchecked
from bayesppl.conjugate.declared_priors import Dims
from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.log_density import Evaluate, LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.rows import Rows
from bayesppl.conjugate.statistics import Counts
from bayesppl.errors import UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, log_rising
from bayesppl.kernels.levels import outcome_counts
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.ranges import row_blocks
from bayesppl.kernels.tree_sums import (
    Elimination,
    directed_edges,
    draw_trees,
    edge_probabilities,
    eliminate,
    log_mean_over_trees,
    log_tree_sum,
)

#: A row that lacks levels is one of at most so many.
MOST_COMPLETIONS = 4096

# outcomes of rows that are counted at once
_COUNTED = 1 << 22

# numbers of the rows that are left out at once
_SCORED = 1 << 20


class Layout(NamedTuple):
    """The tables of all columns and of all pairs of columns, one after the other.

    Attributes
    ----------
    n_levels : (n_columns,)
    pairs : (2, n_pairs)
        The columns of every pair, the first one before the second: 0 and 1, 0 and 2, 1 and 2, 0 and 3, and so on.
    sizes, starts : (n_tables,)
        The number of cells of each table, and where they begin.
    margins : (2, n_cells_of_pairs)
        For every cell of a pair, the cells of its two columns.
    """

    n_levels: Array
    pairs: Array
    sizes: Array
    starts: Array
    margins: Array

    def square(self, values: Array) -> Array:
        """Values of pairs (..., n_pairs) as symmetric matrices (..., n_columns, n_columns)."""
        square = np.zeros((*values.shape[:-1], len(self.n_levels), len(self.n_levels)))
        square[..., *self.pairs] = square[..., *self.pairs[::-1]] = values
        return square

    def split(self, values: Array) -> tuple[Array, Array]:
        """Sum values of tables (..., n_tables) over columns, and take those of its two columns from every pair."""
        singles = values[..., : len(self.n_levels)]
        of_columns = singles[..., self.pairs[0]] + singles[..., self.pairs[1]]
        return singles.sum(-1), values[..., len(self.n_levels) :] - of_columns

    def given_columns(self, values: Array) -> Array:
        """Logarithms of cells (..., n_cells), those of pairs less those of their columns."""
        n_cells = self.n_levels.sum()
        of_columns = values[..., self.margins[0]] + values[..., self.margins[1]]
        return np.concatenate([values[..., :n_cells], values[..., n_cells:] - of_columns], axis=-1)

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
def layout_of(n_levels: tuple[int, ...]) -> Layout:
    """The tables of columns with these numbers of levels."""
    levels, pairs = np.asarray(n_levels, dtype=np.intp), np.stack(np.tril_indices(len(n_levels), -1)[::-1])
    of_pairs = levels[pairs[0]] * levels[pairs[1]]
    sizes = np.concatenate([levels, of_pairs])
    starts = np.cumsum(sizes) - sizes
    pair = np.repeat(np.arange(len(of_pairs)), of_pairs)
    within = np.arange(len(pair)) - np.repeat(starts[len(levels) :] - levels.sum(), of_pairs)
    margins = starts[pairs[:, pair]] + np.divmod(within, levels[pairs[1, pair]])
    return Layout(levels, pairs, sizes, starts, margins)


@dataclass(frozen=True, eq=False)
class PairedLevels(Rows):
    """Rows of levels, as outcomes of the tables of columns and pairs.

    Attributes
    ----------
    X : (n_rows, n_columns)
        Codes of the levels, -1 where one is missing.
    n_levels : tuple of int
    columns : tuple
        Their names.
    """

    X: Array
    n_levels: tuple[int, ...]
    columns: tuple[Hashable, ...]

    @final
    def __len__(self) -> int:
        return len(self.X)

    @final
    def __getitem__(self, rows: Any) -> PairedLevels:
        return replace(self, X=self.X[rows])

    @property
    def layout(self) -> Layout:
        return layout_of(self.n_levels)

    @property
    def outcomes(self) -> Array:
        """The outcome of every table: (n_rows, n_tables)."""
        X, layout = self.X.astype(np.intp, copy=False), self.layout
        first, second = layout.pairs
        return np.hstack([X, X[:, first] * layout.n_levels[second] + X[:, second]])

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Counts:
        gaps = self.X < 0
        if gaps.any():
            names = ", ".join(repr(name) for name, gap in zip(self.columns, gaps.T, strict=True) if gap.any())
            raise ValueError(
                f"NaN: missing values in column {names} ({gaps.any(1).sum()} rows); trees cannot be fitted to "
                "incomplete rows in closed form. Drop or impute them, make missing a level of its own, or use "
                "bayesppl.CategoricalNB, which skips missing cells exactly. (Missing cells are fine when "
                "predicting.)"
            )
        sizes = self.layout.sizes
        counts = np.zeros((responsibilities.shape[1], sizes.sum()))
        for block in row_blocks(len(self), len(sizes), _COUNTED):
            counts += outcome_counts(responsibilities[block], self[block].outcomes, sizes.tolist())
        return Counts(counts, np.zeros((len(counts), 1)))

    @final
    def blocks(self) -> Iterator[tuple[slice, Counts]]:
        for block in row_blocks(len(self), self.layout.sizes.sum()):
            cells = self[block].outcomes + self.layout.starts
            counts = np.zeros((len(cells), self.layout.sizes.sum()))
            counts[np.arange(len(cells))[:, None], cells] = 1.0
            yield block, Counts(counts, np.zeros((len(cells), 1)))


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
    def layout(self) -> Layout:
        return layout_of(self.n_levels)

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
            terms = self._sum(xlogy(self.concentration - 1, probability) - gammaln(self.concentration))
            of_columns, of_pairs = self.layout.split(terms + gammaln(self.totals))
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
        mean = self.concentration / self.totals.repeat(self.layout.sizes, axis=1)
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

    @property
    def totals(self) -> Array:
        """Total concentration of each table: (n_classes, n_tables)."""
        return self._sum(self.concentration)

    def _sum(self, values: Array) -> Array:
        return np.add.reduceat(values, self.layout.starts, axis=-1)

    def _gains(self, statistics: Counts) -> tuple[Array, Array]:
        """Log evidence of the columns of each class, and what is added to the weights of each tree."""
        terms = self._sum(log_rising(self.concentration, statistics.counts))
        of_columns, of_pairs = self.layout.split(terms - log_rising(self.totals, self._sum(statistics.counts)))
        return of_columns, of_pairs.sum(0) if self.is_common else of_pairs


def uniform_counts(
    strength: float, n_levels: tuple[int, ...], n_classes: int, *, is_common: bool
) -> TreeDirichlet:
    """A prior that is worth so many rows of each class, spread evenly over the cells of every table."""
    layout = layout_of(n_levels)
    concentration = np.tile(np.repeat(strength / layout.sizes, layout.sizes), (n_classes, 1))
    of_trees = () if is_common else (n_classes,)
    return TreeDirichlet(concentration, np.zeros((*of_trees, layout.pairs.shape[1])), n_levels)


def refuse_pymc() -> NoReturn:
    """Refuse to declare a tree in PyMC."""
    raise ValueError(
        "trees have no model in PyMC: they are discrete, and samplers move along densities. Their posterior is "
        "exact, and its draws are independent: use inference='closed_form'"
    )


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
    is_edge = edge.repeat(layout.sizes[len(n_levels) :], axis=-1) > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = layout.given_columns(np.log(probability))
    # a level without probability counts once, with its column
    of_pairs = terms[..., sum(n_levels) :]
    of_pairs[~is_edge | np.isnan(of_pairs)] = 0.0
    sums = level_sums(terms.reshape(-1, terms.shape[-1]), layout.sizes.tolist())

    def log_mass(rows: PairedLevels) -> Array:
        return np.moveaxis(sums(rows.outcomes).reshape(*terms.shape[:-1], len(rows)), -2, -1)

    return LogDensity(_over_levels(log_mass))


def trees_log_predictive(posterior: TreeDirichlet) -> LogDensity:
    """The predictive of rows of levels: the likelihood at the mean of the tables, averaged over trees."""
    layout, graphs, n_columns = posterior.layout, posterior.graphs, len(posterior.n_levels)
    log_mean = np.log(posterior.concentration / posterior.totals.repeat(layout.sizes, axis=1))

    def log_mass(rows: PairedLevels) -> Array:
        cells, out = rows.outcomes + layout.starts, np.empty((len(rows), len(log_mean)))
        for k, terms in enumerate(layout.given_columns(log_mean)):
            found = terms[cells]
            of_trees = log_mean_over_trees(graphs[k % len(graphs)], found[:, n_columns:])
            out[:, k] = found[:, :n_columns].sum(1) + of_trees
        return out

    return LogDensity(_over_levels(log_mass))


def trees_leave_one_out(
    posterior: TreeDirichlet, statistics: Counts, rows: PairedLevels, members: Membership
) -> tuple[Array, Array]:
    """Leave-one-out of rows of levels: without one, tables have a count less, and edges another weight."""
    layout, alpha, n_columns = posterior.layout, posterior.concentration, len(posterior.n_levels)
    fitted = trees_log_predictive(posterior)(rows)
    without, n_classes = fitted.copy(), len(alpha)
    terms = layout.given_columns(np.log(alpha / posterior.totals.repeat(layout.sizes, axis=1)))
    # whose densities change with a row: those of all classes that share its tree
    changed = (
        [(np.arange(len(rows)), range(n_classes))]
        if posterior.is_common
        else [(np.flatnonzero(members.codes == k), [k]) for k in range(n_classes)]
    )
    for graph, (those, classes) in zip(posterior.graphs, changed, strict=True):
        for block in row_blocks(len(those), n_columns**2, _SCORED):
            at = those[block]
            cells, own, weight = rows[at].outcomes + layout.starts, members.codes[at], members.weights[at, None]
            counts, totals = alpha[own[:, None], cells] - weight, posterior.totals[own] - weight
            _, removed = layout.split(log_rising(counts, weight) - log_rising(totals, weight))
            own_columns, own_pairs = layout.split(np.log(counts / totals))
            before = log_mean_over_trees(graph, -removed)
            for k in classes:
                found, is_own = terms[k][cells], own == k
                of_columns = np.where(is_own, own_columns, found[:, :n_columns].sum(1))
                of_pairs = np.where(is_own[:, None], own_pairs, found[:, n_columns:])
                without[at, k] = of_columns + log_mean_over_trees(graph, of_pairs - removed) - before
    return fitted, without


def _over_levels(evaluate: Evaluate) -> Evaluate:
    """The density of rows some of whose levels are missing: the sum over the levels that they can have."""

    def log_mass(rows: PairedLevels) -> Array:
        out = evaluate(replace(rows, X=np.maximum(rows.X, 0)))
        gaps = np.flatnonzero((rows.X < 0).any(1))
        patterns, pattern_of = np.unique(rows.X[gaps] < 0, axis=0, return_inverse=True)
        for place, pattern in enumerate(patterns):
            found, absent = gaps[pattern_of.ravel() == place], np.flatnonzero(pattern)
            if pattern.all():
                out[..., found, :] = 0.0
                continue
            n_completions = int(np.prod([rows.n_levels[j] for j in absent], dtype=float))
            if n_completions > MOST_COMPLETIONS:
                names = ", ".join(repr(rows.columns[j]) for j in absent)
                raise ValueError(
                    f"a row lacks columns {names}, which have {n_completions:,} combinations of levels, and its "
                    f"density is the sum over them; at most {MOST_COMPLETIONS:,} are summed. Fill some of the "
                    "cells, or use bayesppl.CategoricalNB or MixedNB, which leave missing cells out."
                )
            levels = np.asarray(list(product(*(range(rows.n_levels[j]) for j in absent))))
            for block in row_blocks(len(found), n_completions, _COUNTED // len(rows.columns) ** 2):
                filled = rows.X[found[block]].astype(np.intp).repeat(n_completions, axis=0)
                filled[:, absent] = np.tile(levels, (len(filled) // n_completions, 1))
                every = evaluate(replace(rows, X=filled))
                shape = (*every.shape[:-2], -1, n_completions, every.shape[-1])
                out[..., found[block], :] = logsumexp(every.reshape(shape), axis=-2)
        return out

    return log_mass
