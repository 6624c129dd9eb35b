r"""Rows that hold one outcome of each of several independent tables, such as the level of every column.

The probabilities of the outcomes of a table are Dirichlet, and so the predictive probability of an outcome is its
posterior mean :math:`(\alpha_l + n_l)/\sum_m(\alpha_m + n_m)` (Bernardo & Smith 1994). Columns that share a table
have one outcome, the combination of their levels; a row that lacks some of them lies in one of several cells, and
its probability is the sum over these.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple, final

import numpy as np
from scipy.special import expit

from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership, counts_without, weight_by_weight
from bayesppl.conjugate.rows import Rows
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import Array, Responsibilities
from bayesppl.kernels.levels import outcome_counts
from bayesppl.kernels.lookups import level_sums
from bayesppl.kernels.ranges import row_blocks


class Tables(NamedTuple):
    """Which columns share a table.

    Attributes
    ----------
    groups : tuple of tuples of int
        The columns of each table, by place.
    n_levels : tuple of int
        How many levels each column has.
    columns : tuple
        Their names.
    """

    groups: tuple[tuple[int, ...], ...]
    n_levels: tuple[int, ...]
    columns: tuple[Hashable, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple(prod(self.n_levels[j] for j in group) for group in self.groups)

    def shape(self, group: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of levels of the columns of a table."""
        return tuple(self.n_levels[j] for j in group)

    def cells(self) -> Iterator[tuple[tuple[int, ...], slice]]:
        """Yield the columns of each table, and the place of its cells among those of all tables."""
        start = 0
        for group, size in zip(self.groups, self.sizes, strict=True):
            yield group, slice(start, start + size)
            start += size


@dataclass(frozen=True, eq=False)
class Outcomes(Rows):
    """Rows of levels, as outcomes of tables.

    Attributes
    ----------
    X : (n_rows, n_columns)
        Codes of the levels, -1 where one is missing.
    tables : Tables
    """

    X: Array
    tables: Tables

    @final
    def __getitem__(self, rows: Array) -> Outcomes:
        return Outcomes(self.X[rows], self.tables)

    @cached_property
    def codes(self) -> Array:
        """The cell of each table, the last column varying fastest, -1 where a level is missing."""
        groups = self.tables.groups
        if groups == tuple((j,) for j in range(self.X.shape[1])):
            return self.X
        out = np.empty((len(self.X), len(groups)), dtype=np.intp)
        for table, group in enumerate(groups):
            levels = self.X[:, list(group)]
            out[:, table] = np.where((levels < 0).any(1), -1, _cell(levels, self.tables.shape(group)))
        return out

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Counts:
        self._refuse_gaps()
        counts = outcome_counts(responsibilities, self.codes, self.tables.sizes)
        return Counts(counts, np.zeros((len(counts), len(self.tables.groups))))

    @final
    def blocks(self) -> Iterator[tuple[slice, Counts]]:
        sizes = self.tables.sizes
        starts = np.cumsum((0, *sizes))[:-1]
        for block in row_blocks(len(self), sum(sizes)):
            codes = self.codes[block]
            counts = np.zeros((len(codes), sum(sizes)))
            row, table = np.nonzero(codes >= 0)
            counts[row, codes[row, table] + starts[table]] = 1.0
            yield block, Counts(counts, np.zeros(codes.shape))

    def _refuse_gaps(self) -> None:
        together = [j for group in self.tables.groups if len(group) > 1 for j in group]
        gaps = self.X[:, together] < 0
        if gaps.any():
            names = ", ".join(
                repr(self.tables.columns[j]) for j, gap in zip(together, gaps.T, strict=True) if gap.any()
            )
            raise ValueError(
                f"NaN: missing values in column {names} ({gaps.any(1).sum()} rows); a joint table cannot "
                "be fitted to incomplete rows in closed form. Drop or impute them, or use bayesppl.Categorical, "
                "which skips missing cells exactly. (Missing cells are fine when predicting.)"
            )

    def _incomplete(self) -> Iterator[tuple[slice, tuple[int, ...], Array, Array]]:
        """Yield the cells and columns of a table, and rows that lack the same of these, with which are missing."""
        for group, cells in self.tables.cells():
            if len(group) == 1:
                continue
            missing = self.X[:, list(group)] < 0
            some = np.flatnonzero(missing.any(1) & ~missing.all(1))
            patterns, of_rows = np.unique(missing[some], axis=0, return_inverse=True)
            for pattern, absent in enumerate(patterns):
                yield cells, group, some[of_rows.ravel() == pattern], absent

    @staticmethod
    def log_likelihood(probability: Array, sizes: tuple[int, ...]) -> LogDensity:
        """The density of rows under probabilities (..., n_classes, n_cells) of tables of these sizes."""
        with np.errstate(divide="ignore"):
            sums = level_sums(np.log(probability).reshape(-1, probability.shape[-1]), sizes)

        def log_mass(rows: Outcomes) -> Array:
            out = sums(rows.codes).reshape(*probability.shape[:-1], len(rows))
            for cells, group, incomplete, absent in rows._incomplete():
                shape = np.asarray(rows.tables.shape(group))
                table = probability[..., cells].reshape(*probability.shape[:-1], *shape)
                # the probabilities of what is present are a margin of the table
                margin = table.sum(tuple(np.flatnonzero(absent) - len(absent)))
                present = np.asarray(group)[~absent]
                at = _cell(rows.X[np.ix_(incomplete, present)], tuple(shape[~absent]))
                with np.errstate(divide="ignore"):
                    out[..., incomplete] += np.log(margin).reshape(*probability.shape[:-1], -1)[..., at]
            return np.moveaxis(out, -2, -1)

        return LogDensity(log_mass)


def _cell(levels: Array, shape: tuple[int, ...]) -> Array:
    """The cell of every row of codes in a table of this shape, the last column varying fastest."""
    strides = prod(shape) // np.cumprod(shape)
    return np.asarray(levels.astype(np.intp) @ strides.astype(np.intp))


def outcomes_log_predictive(posterior: Dirichlet) -> LogDensity:
    """The predictive of outcomes: the likelihood at the mean."""
    return Outcomes.log_likelihood(posterior.mean()[posterior.parameter], posterior.lengths)


def outcomes_average(posterior: Dirichlet, common: Dirichlet, log_odds: Array) -> LogDensity:
    """The inclusion-averaged predictive of outcomes: a mixture of two tables is a table."""
    relevant, irrelevant = (np.repeat(expit(odds), posterior.lengths) for odds in (log_odds, -log_odds))
    name = posterior.parameter
    mixed = relevant * posterior.mean()[name] + irrelevant * common.mean()[name]
    return Outcomes.log_likelihood(mixed, posterior.lengths)


def outcomes_leave_one_out(
    posterior: Dirichlet, statistics: Counts, rows: Outcomes, members: Membership
) -> tuple[Array, Array] | None:
    """Leave-one-out of outcomes of few different weights: one less of each that the row holds."""
    alpha, totals = posterior.concentration, posterior.totals.repeat(posterior.lengths, axis=1)

    def without(weight: float) -> LogDensity:
        with np.errstate(divide="ignore", invalid="ignore"):  # a class without rows has none to lose
            left = counts_without(alpha, weight) / (totals - weight)
            return Outcomes.log_likelihood(np.concatenate([alpha / totals, left]), posterior.lengths)

    return None if members.few_weights is None else weight_by_weight(without, rows, members)
