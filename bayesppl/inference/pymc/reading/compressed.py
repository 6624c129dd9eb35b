"""Few rows that stand for many: the same log likelihood, up to a constant, at the cost of a handful of rows.

The user's graph stays as it is; only the rows it is given change. A Gaussian log density is quadratic in the row,
so that its sum over the rows of a class depends on their mean and scatter, which 2D weighted points share. Counts
enter linearly, so that two values with weights stand for all. Of any other density, each distinct value stands for
all that equal it. Whatever is proposed is compared with the rows themselves before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from pytensor.tensor.random import basic

from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """Rows that stand for those of the fit.

    Codes (n,), values (n, ...), and weights of rows (n,) or of every entry (n, ...).
    """

    codes: Array
    values: Array
    weights: Array
    given: Mapping[str, Array]


#: Relative difference up to which sums over rows are the same.
TOLERANCE = 1e-9


def compress(observed: Observed, codes: Array, theta: Theta) -> CompressedRows | None:
    """Find rows that stand for those of the fit; return None where there are none, or no fewer.

    Parameters
    ----------
    theta : Theta
        Several draws of the free variables, at which the two sums are compared.
    """
    if observed.given or observed.length is not None:
        return None
    op = observed.clone.owner.op
    build = _BUILDERS.get(type(op), _distinct_rows if op.ndim_supp else _distinct_cells)
    parts = []
    for k in np.unique(codes):
        values, weights = build(observed.observed[codes == k])
        parts.append((np.full(len(values), k), values, weights))
    stacked, values, weights = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    found = CompressedRows(stacked, values, weights, {})
    if len(found.codes) >= len(codes) or not _same(observed, codes, found, theta):
        return None
    return found


def all_rows(observed: Observed, codes: Array) -> CompressedRows:
    """Return the rows of the fit themselves."""
    return CompressedRows(codes, observed.observed, np.ones(len(codes)), observed.held)


def without(observed: Observed, codes: Array, n_classes: int, row: int) -> CompressedRows:
    """Return rows that take one out again: it in every class, of weight -1 in its own and zero in the others.

    So the graph is the same whichever row it is. Where it takes a fixed number of rows, these are all rows, the
    others of weight zero.
    """
    if observed.length is not None:
        return CompressedRows(
            codes, observed.observed, np.where(np.arange(len(codes)) == row, -1.0, 0.0), observed.held
        )
    times = [row] * n_classes
    given = {name: values[times] for name, values in observed.held.items()}
    own = np.arange(n_classes) == codes[row]
    return CompressedRows(np.arange(n_classes), observed.observed[times], np.where(own, -1.0, 0.0), given)


def _same(observed: Observed, codes: Array, found: CompressedRows, theta: Theta) -> bool:
    """Whether the sums over the rows and over those that stand for them differ by a constant."""
    sums = []
    for rows in (all_rows(observed, codes), found):
        entries = observed.entries(theta, rows.codes, rows.values)
        weights = rows.weights.reshape(rows.weights.shape + (1,) * (entries.ndim - 1 - rows.weights.ndim))
        sums.append((entries * weights).reshape(len(entries), -1).sum(1))
    gap = sums[0] - sums[1]
    return bool(np.isfinite(gap).all() and np.ptp(gap) <= TOLERANCE * max(1.0, np.abs(sums[0]).max()))


def _normal(values: Array) -> tuple[Array, Array]:
    """Return one standard deviation below and above the mean, each with half the weight."""
    mean, sd = values.mean(0), values.std(0)
    return np.stack([mean - sd, mean + sd]), np.full(2, len(values) / 2)


def _log_normal(values: Array) -> tuple[Array, Array]:
    logs, weights = _normal(np.log(values))
    return np.exp(logs), weights


def _multivariate_normal(values: Array) -> tuple[Array, Array]:
    """Return sigma points: a step below and above the mean along each axis of the scatter."""
    mean, d = values.mean(0), values.shape[-1]
    centred = values - mean
    eigenvalues, vectors = np.linalg.eigh(centred.T @ centred / len(values))
    steps = np.sqrt(d * np.maximum(eigenvalues, 0.0))[:, None] * vectors.T
    return np.concatenate([mean - steps, mean + steps]), np.full(2 * d, len(values) / (2 * d))


def _linear(values: Array) -> tuple[Array, Array]:
    """Return zero and one, each with its weight, for a log density that is linear in the value."""
    total = values.sum(0).astype(np.float64)
    rows = np.stack([np.zeros_like(values[0]), np.ones_like(values[0])])
    return rows, np.stack([len(values) - total, total])


def _multinomial(values: Array) -> tuple[Array, Array]:
    """Return one event of each outcome, as often as it was counted."""
    return np.eye(values.shape[-1], dtype=values.dtype), values.sum(0).astype(np.float64)


def _distinct_rows(values: Array) -> tuple[Array, Array]:
    """Return every distinct row, as often as it occurs."""
    rows, counts = np.unique(values, axis=0, return_counts=True)
    return rows, counts.astype(np.float64)


def _distinct_cells(values: Array) -> tuple[Array, Array]:
    """Return every distinct value of a column, as often as it occurs; weights of zero fill shorter columns up."""
    columns = [np.unique(column, return_counts=True) for column in values.reshape(len(values), -1).T]
    n_rows = max(len(distinct) for distinct, _ in columns)
    rows = np.stack([np.resize(distinct, n_rows) for distinct, _ in columns], axis=1)
    weights = np.stack([np.pad(counts, (0, n_rows - len(counts))) for _, counts in columns], axis=1)
    shape = (n_rows, *values.shape[1:])
    return rows.reshape(shape), weights.reshape(shape).astype(np.float64)


_BUILDERS: Mapping[type, Callable[[Array], tuple[Array, Array]]] = {
    basic.NormalRV: _normal,
    basic.LogNormalRV: _log_normal,
    basic.MvNormalRV: _multivariate_normal,
    basic.PoissonRV: _linear,
    basic.ExponentialRV: _linear,
    basic.BinomialRV: _linear,
    basic.MultinomialRV: _multinomial,
}
