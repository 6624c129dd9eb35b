r"""Rows of counts given their totals, such as the words of documents, whose probabilities are Dirichlet.

With :math:`A = \sum_j \alpha_j` and N the total of a row, the predictive of counts, or of what they are worth, is
(Bernardo & Smith 1994)

.. math:: p(x \mid D) = h(x)\, \frac{\Gamma(A)}{\Gamma(A + N)}
   \prod_j \frac{\Gamma(\alpha_j + x_j)}{\Gamma(\alpha_j)}.

Columns with a count of zero contribute nothing, so that the cost is that of the others. Most counts are small, and
their factors are looked up: :math:`\log \alpha`, :math:`\log \alpha + \log(\alpha + 1)` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.conjugate.dirichlet import Dirichlet
from bayesppl.conjugate.log_density import LogDensity, on_first_use
from bayesppl.conjugate.membership import Membership, counts_without
from bayesppl.conjugate.row_statistics import SingleRows
from bayesppl.conjugate.statistics import Counts
from bayesppl.kernels.arrays import (
    Array,
    Responsibilities,
    dense,
    log_contrast,
    log_dotter,
    log_factorial,
    log_rising,
    logarithm,
)
from bayesppl.kernels.class_sums import MANY, class_sums, row_view, sparse_of, stored_once
from bayesppl.kernels.ranges import RANGE_CELLS, cells_per_row, row_blocks

# Counts up to this are looked up in a table, as far as it has no more numbers than that; log gamma is dearer.
_LOOKED_UP, _TABLE = 6, 1 << 21

# where log gamma and its series take turns in log_rising
_LARGE = 16.0

# columns from which on it pays to leave out those without counts
_WIDE = 1 << 10


@dataclass(frozen=True, eq=False)
class Words(SingleRows):
    """Rows of counts given their totals, or of what the counts are worth.

    Attributes
    ----------
    X : (n_rows, n_columns), dense or sparse
    weighed : (n_rows,), optional
        log h of each row; by default its multinomial coefficient.
    """

    X: Any
    weighed: Array | None = None

    @cached_property
    def stored(self) -> csr_array:
        """Return the counts, each cell stored at most once."""
        return stored_once(self.X if issparse(self.X) else csr_array(self.X))

    @cached_property
    def is_whole(self) -> bool:
        """Whether all numbers are whole, as counts are."""
        return self.weighed is None or bool((self.stored.data == np.floor(self.stored.data)).all())

    @cached_property
    def totals(self) -> Array:
        """Sum every row: (n_rows,)."""
        return row_totals(self.stored.data, self.stored.indptr)

    @cached_property
    def log_base(self) -> Array:
        """Compute log h of every row: (n_rows,)."""
        if self.weighed is not None:
            return self.weighed
        counts = self.stored
        return np.asarray(log_factorial(self.totals) - row_totals(log_factorial(counts.data), counts.indptr))

    @final
    def sum_rows(self, responsibilities: Responsibilities) -> Counts:
        sums, log_base = class_sums(responsibilities, self.X), np.zeros(responsibilities.shape[1])
        # temporaries do not grow with the rows
        for rows in row_blocks(len(self), cells_per_row(self.X), RANGE_CELLS // 4):
            X = row_view(self.X, rows.start, rows.stop) if issparse(self.X) else self.X[rows]
            some = Words(X, None if self.weighed is None else self.weighed[rows])
            log_base += responsibilities[rows].T @ some.log_base
        return Counts(sums, log_base)

    @final
    def blocks(self) -> Iterator[tuple[slice, Counts]]:
        for block in row_blocks(*self.X.shape):
            yield block, Counts(dense(self.X[block]).astype(np.float64), self.log_base[block])

    @staticmethod
    def log_likelihood(probability: Array) -> LogDensity:
        """Return the density of rows under probabilities (..., n_classes, n_columns)."""
        log_probability = logarithm(probability)
        weigh, contrast = log_dotter(log_probability), log_contrast(log_probability)
        return LogDensity(lambda rows: weigh(rows.X) + rows.log_base[:, None], lambda rows: contrast(rows.X))


def one_class_each(responsibilities: Responsibilities) -> bool:
    """Whether every row belongs to one class, with the weight one."""
    single = responsibilities.nnz == responsibilities.shape[0] and (np.diff(responsibilities.indptr) == 1).all()
    return bool(single and (responsibilities.data == 1).all())


def log_coefficients_of_sizes(sizes: Array, totals: Array, owners: Array) -> Array:
    """Sum log multinomial coefficients by class, from the number of counts of each size: most are small.

    Parameters
    ----------
    sizes : (n_classes, MANY + 1)
    totals, owners : (n_rows,)
        Total and class of each row.

    Returns
    -------
    (n_classes,)
    """
    of_cells = sizes[:, :MANY] @ log_factorial(np.arange(MANY))
    return np.asarray(np.bincount(owners, log_factorial(totals), len(sizes)) - of_cells)


def row_totals(values: Array, starts: Array) -> Array:
    """Sum the values of every row, which begin at these places, in float64: (n_rows,)."""
    totals, filled = np.zeros(len(starts) - 1), np.flatnonzero(np.diff(starts))
    totals[filled] = np.add.reduceat(values, starts[filled], dtype=np.float64)
    return totals


def words_log_predictive(posterior: Dirichlet) -> LogDensity:
    """Return the log predictive of counts, at the cost of those that are stored."""
    alpha = posterior.concentration
    total = alpha.sum(1)
    sums, contrast = (
        on_first_use(partial(rising_sums, alpha, contrast=short)) for short in (False, len(alpha) == 2)
    )

    def kernel(rows: Words, of_cells: Callable[[Words], Array] = contrast) -> Array:
        out = of_cells(rows)
        out -= rising_totals(total, rows.totals)
        return out

    return LogDensity(lambda rows: kernel(rows, sums) + rows.log_base[:, None], kernel)


def words_leave_one_out(
    posterior: Dirichlet, statistics: Counts, rows: Words, members: Membership
) -> tuple[Array, Array]:
    """Leave out rows of counts, at the cost of those that are stored."""
    alpha, totals = posterior.concentration, rows.totals
    if rows.is_whole and (members.weights == 1).all():
        both = rising_sums(alpha, without=True)(rows)
        fitted, own = both[:, : len(alpha)], members.own(both[:, len(alpha) :])
    else:
        fitted, own = rising_sums(alpha)(rows), _own_rising_sums(alpha, rows.stored, members)
    fitted = fitted - rising_totals(alpha.sum(1), totals) + rows.log_base[:, None]
    remaining = counts_without(alpha.sum(1)[members.codes], members.weights * totals)
    with np.errstate(invalid="ignore"):  # of a class that rounding leaves nothing of
        own = own + rows.log_base - log_rising(remaining, totals)
    return fitted, members.replaced(fitted, own)


def rising_sums(alpha: Array, *, contrast: bool = False, without: bool = False) -> Callable[[Words], Array]:
    """Return Σ_j log Γ(α_kj + x_ij) − log Γ(α_kj) for every row and class, as a function of the rows.

    Parameters
    ----------
    alpha : (n_classes, n_columns)
    contrast : bool
        Up to a term that the classes share, which are two: of small counts, the first one has zeros.
    without : bool
        Beside that, Σ_j log Γ(α_kj) − log Γ(α_kj − x_ij), for a row of weight one that is taken out of its class;
        undefined for other classes. It is not finite where rounding leaves nothing of α − x.

    Returns
    -------
    function of n_rows rows to (n_rows, n_classes), or (n_rows, 2 n_classes)
    """
    n_classes, n_columns = alpha.shape
    width = 2 * n_classes if without else n_classes
    n_looked_up = max(1, min(_LOOKED_UP, _TABLE // max(1, width * n_columns)))
    numbers = [alpha.T + m for m in range(n_looked_up)]
    if contrast:
        numbers = [a[:, 1:] / a[:, :1] for a in numbers]
    if without:
        numbers = [np.hstack([a, counts_without(alpha.T - m, np.ones(()))]) for m, a in enumerate(numbers)]
    table = logarithm(numbers)
    table = np.add.accumulate(table, axis=0, out=table).reshape(-1, table.shape[-1])

    def sums(rows: Words) -> Array:
        counts = rows.stored if rows.stored.data.min(initial=1) > 0 else _above(rows.stored, 0)
        out, done = np.zeros((len(rows), width)), 0
        if rows.is_whole:
            out[:, width - table.shape[1] :] = _look_up(counts, table, n_looked_up)
            done = n_looked_up
        if counts.data.max(initial=0) > done or not rows.is_whole:
            left = _above(counts, done)
            for k, a in enumerate(alpha):
                of_cells = a[left.indices]
                out[:, k] += _sum_rising(of_cells + done, left, done)
                if without:
                    out[:, n_classes + k] += _sum_rising(counts_without(of_cells, left.data), left, done)
        return out

    return sums


def _look_up(counts: csr_array, table: Array, n_looked_up: int) -> Array:
    """Sum over the stored cells what the table holds for their column and their count, at most the largest."""
    n_rows, n_columns = counts.shape
    places = np.minimum(counts.data, n_looked_up).astype(np.int32)
    places -= 1
    places *= np.int32(n_columns)
    places += counts.indices
    ones = np.ones(counts.nnz)
    return np.asarray(sparse_of(csr_array, ones, places, counts.indptr, (n_rows, len(table))) @ table)


def _above(counts: csr_array, least: int) -> csr_array:
    """Select the entries greater than ``least``."""
    at = np.flatnonzero(counts.data > least)
    starts = np.searchsorted(at, counts.indptr).astype(counts.indptr.dtype)
    return sparse_of(csr_array, counts.data[at], counts.indices[at], starts, counts.shape)


def _sum_rising(start: Array, counts: csr_array, done: int = 0) -> Array:
    """Sum log Γ(start + x − done) − log Γ(start) over the stored cells of every row: (n_rows,)."""
    rest, rising = np.subtract(counts.data, done, dtype=np.float64), np.empty(counts.nnz)
    is_large = start >= _LARGE
    with np.errstate(invalid="ignore"):
        # by themselves, each takes one series only
        for part in filter(len, (np.flatnonzero(is_large), np.flatnonzero(~is_large))):
            rising[part] = log_rising(start[part], rest[part])
    return row_totals(rising, counts.indptr)


def _own_rising_sums(alpha: Array, counts: csr_array, members: Membership) -> Array:
    """Sum log Γ(α_kj − w_i x_ij + x_ij) − log Γ(α_kj − w_i x_ij) over j for the class k of each row: (n_rows,)."""
    of_cells = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    taken = members.weights[of_cells] * counts.data
    return _sum_rising(counts_without(alpha[members.codes[of_cells], counts.indices], taken), counts)


def rising_totals(total: Array, n: Array) -> Array:
    """Compute log Γ(A_k + n_i) − log Γ(A_k) for every row and class; many rows of counts have the same total."""
    largest = int(n.max(initial=0))
    if largest >= len(n) or (n != np.floor(n)).any():
        return log_rising(total, n[:, None])
    return np.asarray(log_rising(total, np.arange(largest + 1.0)[:, None])[n.astype(np.intp)])


def narrowed_words(posterior: Dirichlet, X: Any) -> tuple[Dirichlet, Any]:
    """Narrow a belief to the words that rows show and all others together, and rows to the same columns.

    The probabilities of some words, and of all others together, are Dirichlet too (Bernardo & Smith 1994).
    """
    if X.shape[1] < _WIDE:
        return posterior, X
    counts = Words(X).stored
    words, inverse = np.unique(counts.indices, return_inverse=True)
    if 2 * len(words) > X.shape[1]:
        return posterior, counts
    alpha = posterior.concentration
    others = np.delete(alpha, words, axis=1).sum(1, keepdims=True)
    shape = (counts.shape[0], len(words) + 1)
    narrow = csr_array((counts.data, inverse, counts.indptr), shape=shape)
    return Dirichlet(np.hstack([alpha[:, words], others])), narrow
