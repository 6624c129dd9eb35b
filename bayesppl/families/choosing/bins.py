r"""Edges of bins, and how many of them the data call for.

The evidence of M bins of widths :math:`w_m` under a Dirichlet prior of concentration α is exact,

.. math:: p(x \mid M) = \frac{\Gamma(M\alpha)}{\Gamma(M\alpha + n)}
   \prod_m \frac{\Gamma(\alpha + n_m)}{\Gamma(\alpha)\, w_m^{n_m}}

(Knuth 2006; 2019, "Optimal data-based binning for histograms and histogram-based probability density models"). Of
values that are rounded it grows without end as the bins become narrower than the rounding, so that they never do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln

from bayesppl.kernels.arrays import Array, log_rising

Spacing = Literal["equal", "quantile"]

#: Numbers of bins that are tried.
NUMBERS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)


# Far above the rounding of an edge, far below the width of a bin.
_BELOW = 1e-9


def equal_edges(low: float, high: float, n_bins: int) -> Array:
    """Return the edges of bins of one width: (n_bins + 1,).

    Those within lie a little lower, so that a value on an edge, as values on a grid often are, is above it in
    every unit.
    """
    edges = np.linspace(low, high, n_bins + 1)
    edges[1:-1] -= _BELOW * (high - low)
    return edges


def quantile_edges(ordered: Ordered, n_bins: int, bounds: tuple[float, float], least: float) -> Array:
    """Place edges at quantiles of ordered values, no closer than ``least``: perhaps fewer bins than asked for.

    Where many rows have the least or the largest value, the edge is in the middle between it and the next.
    """
    low, high = bounds
    least *= 1 - 1e-6  # distances on a grid are its steps but for rounding
    kept, values = [low], ordered.values
    after_first = np.searchsorted(values, values[0], "right") % len(values)
    before_last = np.searchsorted(values, values[-1]) - 1
    for edge in ordered.quantiles(n_bins):
        if edge == values[0]:
            edge = (edge + values[after_first]) / 2
        elif edge == values[-1]:
            edge = (edge + values[before_last]) / 2
            while len(kept) > 1 and edge - kept[-1] < least <= high - edge:
                kept.pop()
        if edge - kept[-1] >= least and high - edge >= least:
            kept.append(float(edge))
    return np.asarray([*kept, high])


def log_evidence(counts: Array, widths: Array, concentration: float) -> Array:
    """Return the log evidence of each class: (n_classes,), from counts (n_classes, n_bins)."""
    total = counts.shape[1] * concentration
    of_counts = log_rising(np.full(counts.shape, concentration), counts).sum(1)
    return np.asarray(of_counts - log_rising(np.asarray(total), counts.sum(1)) - counts @ np.log(widths))


class Ordered(NamedTuple):
    """Values of one class, ascending, and the weight of all those before each place."""

    values: Array
    weight_before: Array

    @classmethod
    def of(cls, values: Array, weights: Array | None = None) -> Ordered:
        if weights is None:
            return cls(np.sort(values, kind="stable"), np.arange(len(values) + 1.0))
        order = np.argsort(values, kind="stable")  # which takes little where they are sorted, or merge sorted runs
        return cls(values[order], np.concatenate([[0.0], np.cumsum(weights[order])]))

    @classmethod
    def merged(cls, each: Sequence[Ordered]) -> Ordered:
        """Merge the values of all classes."""
        values = np.concatenate([one.values for one in each])
        return cls.of(values, np.concatenate([np.diff(one.weight_before) for one in each]))

    @property
    def weight(self) -> float:
        return float(self.weight_before[-1])

    def quantiles(self, n_parts: int) -> Array:
        """Find the values that divide the weight into ``n_parts`` equal parts: (n_parts - 1,)."""
        below = np.arange(1, n_parts) * self.weight / n_parts
        places = np.searchsorted(self.weight_before, below, side="right") - 1
        return np.asarray(self.values[np.minimum(places, len(self.values) - 1)])

    def counts(self, edges: Array) -> Array:
        """Sum the weight in each bin, the outermost of which hold all that is beyond them: (n_bins,)."""
        places = np.searchsorted(self.values, edges[1:-1])
        return np.diff(self.weight_before[np.concatenate([[0], places, [len(self.values)]])])


class Bins(NamedTuple):
    """The bins of the highest evidence, and the logarithm of the number of bins they were chosen from."""

    edges: Array
    log_choices: float


def best_bins(
    by_class: Sequence[Ordered],
    spacings: Sequence[Spacing],
    concentration: float,
    bounds: tuple[float, float],
    rounding: float,
) -> Bins:
    """Find the edges of the highest evidence, summed over classes.

    Parameters
    ----------
    by_class : sequence of Ordered
        At least one value in all.
    spacings : sequence of {"equal", "quantile"}
    concentration : float
    bounds : (low, high)
        The outermost edges.
    rounding : float
        No bin is narrower.
    """
    ordered = Ordered.merged(by_class)
    found = []
    for edges, log_choices in candidates(ordered, spacings, bounds, rounding):
        counts = np.asarray([each.counts(edges) for each in by_class])
        gained = log_evidence(counts, np.diff(edges), concentration).sum() - log_choices
        found.append((float(gained), edges, log_choices))
    _, edges, log_choices = max(found, key=lambda each: each[0])
    return Bins(edges, float(log_choices + np.log(len(found))))


def candidates(
    ordered: Ordered, spacings: Sequence[Spacing], bounds: tuple[float, float], rounding: float
) -> Iterator[tuple[Array, float]]:
    """Yield edges to try, each with the logarithm of the number of choices that it is one of.

    The edges of bins of one width follow from their number. Those at quantiles are M − 1 of the places between the
    distinct values, and pay for having been chosen among them: otherwise their evidence would be that of bins
    known beforehand.
    """
    low, high = bounds
    least = max(rounding, (high - low) * 1e-6)
    n_distinct = int((np.diff(ordered.values) > rounding / 2).sum()) + 1
    most = 2 * ordered.weight**0.5 + 1
    yield np.asarray([low, high]), 0.0
    for n_bins in (n for n in NUMBERS if n <= most):
        if "equal" in spacings and (high - low) / n_bins >= least * (1 - 1e-6):
            yield equal_edges(low, high, n_bins), 0.0
        if "quantile" in spacings:
            edges = quantile_edges(ordered, n_bins, bounds, least)
            inner = len(edges) - 2
            if 0 < inner < n_distinct:
                yield edges, gammaln(n_distinct) - gammaln(inner + 1) - gammaln(n_distinct - inner)


def bounds_of(values: Array, rounding: float) -> tuple[float, float]:
    """Return the range of values that were rounded; of a single value, one about as wide as the value."""
    low, high = float(values.min()) - rounding / 2, float(values.max()) + rounding / 2
    half = max(abs(low), 1.0) / 2
    return (low, high) if high > low else (low - half, high + half)
