r"""Edges of bins, and how many of them the data call for.

The evidence of M bins of widths :math:`w_m` under a Dirichlet prior of concentration α is exact,

.. math:: p(x \mid M) = \frac{\Gamma(M\alpha)}{\Gamma(M\alpha + n)}
   \prod_m \frac{\Gamma(\alpha + n_m)}{\Gamma(\alpha)\, w_m^{n_m}}

(Knuth 2006; 2019, "Optimal data-based binning for histograms and histogram-based probability density models"). Of values that
are rounded it grows without end as the bins become narrower than the rounding, so that they never do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from scipy.special import gammaln

from bayesppl.kernels.arrays import Array, log_rising

Spacing = Literal["equal", "quantile"]

#: Numbers of bins that are tried.
NUMBERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128)


def rounding_of(values: Array) -> float:
    """The step of the decimal grid that all values lie on; zero where there is none down to nine digits below the largest.

    Parameters
    ----------
    values : (n_values,)
        None of them missing.
    """
    largest = np.abs(values).max(initial=0.0)
    if not largest:
        return 1.0
    for exponent in range(int(np.ceil(np.log10(largest))), int(np.floor(np.log10(largest))) - 9, -1):
        step = 10.0**exponent
        scaled = values / step
        if (np.abs(scaled - np.rint(scaled)) <= 1e-6).all():
            return step
    return 0.0


def equal_edges(low: float, high: float, n_bins: int) -> Array:
    """Edges of bins of one width."""
    return np.linspace(low, high, n_bins + 1)


def quantile_edges(ordered: Array, n_bins: int, least: float) -> Array:
    """Edges at quantiles of ordered values, no closer than ``least``; there may be fewer bins than asked for."""
    at = np.quantile(ordered, np.linspace(0, 1, n_bins + 1))
    kept = [at[0]]
    for edge in at[1:-1]:
        if edge - kept[-1] >= least and at[-1] - edge >= least:
            kept.append(edge)
    return np.asarray([*kept, at[-1]])


def log_evidence(counts: Array, widths: Array, concentration: float) -> Array:
    """Log evidence of each class: (n_classes,), from counts (n_classes, n_bins)."""
    total = counts.shape[1] * concentration
    of_counts = log_rising(np.full(counts.shape, concentration), counts).sum(1)
    return np.asarray(of_counts - log_rising(np.asarray(total), counts.sum(1)) - counts @ np.log(widths))


def candidates(ordered: Array, rounding: float, spacings: Sequence[Spacing]) -> Iterator[tuple[Array, float]]:
    """Edges to try, each with what its choice costs: minus the logarithm of the number of choices it is one of.

    The edges of bins of one width are decided by their range and number. Those at quantiles are M − 1 of the places
    between the distinct values: without its cost, their evidence would be that of bins known beforehand.

    Parameters
    ----------
    ordered : (n_values,)
        At least one; ascending.
    rounding : float
        Values are known up to half of it.
    """
    low, high = ordered[0] - rounding / 2, ordered[-1] + rounding / 2
    if high <= low:
        half = max(abs(low), 1.0) / 2
        low, high = low - half, high + half
    least = max(rounding, (high - low) * 1e-6)
    n_distinct = int((np.diff(ordered) > 0).sum()) + 1
    for n_bins in NUMBERS:
        if n_bins > 1 and n_bins > 2 * len(ordered) ** 0.5 + 1:
            return
        if "equal" in spacings and (high - low) / n_bins >= least * (1 - 1e-9):
            yield equal_edges(low, high, n_bins), 0.0
        if "quantile" in spacings and n_bins > 1:
            edges = quantile_edges(np.concatenate([[low], ordered, [high]]), n_bins, least)
            inner = len(edges) - 2
            if inner and inner < n_distinct:
                yield edges, -(gammaln(n_distinct) - gammaln(inner + 1) - gammaln(n_distinct - inner))


def best_edges(
    by_class: Sequence[Array], rounding: float, spacings: Sequence[Spacing], concentration: float
) -> tuple[Array, float]:
    """The edges of the highest evidence, and that evidence, summed over classes.

    Parameters
    ----------
    by_class : sequence of (n_values,)
        Ordered values of each class; at least one value in all.
    """
    ordered = np.sort(np.concatenate(by_class))
    best, highest = None, -np.inf
    for edges, cost in candidates(ordered, rounding, spacings):
        found = cost + log_evidence(counts_between(by_class, edges), np.diff(edges), concentration).sum()
        if best is None or found > highest:
            best, highest = edges, float(found)
    assert best is not None  # one bin is always tried
    return best, highest


def counts_between(by_class: Sequence[Array], edges: Array) -> Array:
    """How many ordered values lie in each bin, the last of which holds its upper edge: (n_classes, n_bins)."""
    return np.asarray(
        [
            np.diff(np.append(np.searchsorted(values, edges[:-1]), len(values))).astype(np.float64)
            for values in by_class
        ]
    )
