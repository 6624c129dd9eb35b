r"""Histogram features: a piecewise constant density, with a probability for every bin.

.. math:: p(x_d \mid y = k, \phi) = \phi_{kdm} / w_{dm} \text{ for } x_d \text{ in bin } m, \qquad
   \phi_{kd} \sim \mathrm{Dirichlet}(\alpha).

Which bin a value falls into is a category, so that posterior and evidence are those of
:class:`~bayesppl.Categorical`, times the widths :math:`w_{dm}` of the bins, which are the same for all classes
(Knuth 2006; 2019). So that no real number is impossible there is a bin below and a bin above all others, each with
an exponential density of the scale of their whole range.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.membership import Membership
from bayesppl.data.arguments import by_name, one_of
from bayesppl.data.names import spelled
from bayesppl.data.table import Table
from bayesppl.families.bound import NumberColumns
from bayesppl.families.categorical import Categorical
from bayesppl.families.choosing.bins import (
    Ordered,
    Spacing,
    best_bins,
    bounds_of,
    equal_edges,
    quantile_edges,
)
from bayesppl.families.choosing.column_cells import rounding_of
from bayesppl.families.support import present_numbers
from bayesppl.families.transformed import Transformed
from bayesppl.kernels.arrays import Array

Edges = Sequence[float] | Mapping[Hashable, Sequence[float]]


@dataclass(frozen=True, eq=False)
class Histogram(Transformed):
    """Independent features with a piecewise constant density.

    Parameters
    ----------
    bins : int or "evidence"
        Number of bins between the least and the largest value of the first rows; by default the one of the highest
        evidence of all rows, whatever their class (Knuth's rule), among numbers in growing steps: 1 to 6, 8, 10,
        12, 16 and so on. Bins are never narrower than the step by which values are rounded.
    spacing : {"equal", "quantile"}
        Whether bins have equal widths, or hold about equally many of the first rows.
    edges : sequence of float, or mapping of column to sequence, optional
        The edges themselves, ascending, in place of ``bins`` and ``spacing``: the density then depends on the rows
        through its probabilities alone, and its evidence compares with any other.
    probability : Dirichlet
        Prior of the probabilities of the bins, the two outermost ones included; Jeffreys' by default.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1], [0.2], [3.9], [3.8], [1.9], [2.0]]
    >>> clf = bp.GenerativeClassifier(bp.Histogram(edges=[0, 1, 2, 3, 4])).fit(X, list("aaaabb"))
    >>> clf.predict([[0.5], [1.5], [3.5]]).tolist()
    ['a', 'b', 'a']
    """

    name: ClassVar[str] = "histogram"
    bins: int | Literal["evidence"] = "evidence"
    spacing: Spacing = "equal"
    edges: Edges | None = None
    probability: Dirichlet | Any = Dirichlet(0.5)

    #: The edges of every column, once bound.
    places: tuple[tuple[float, ...], ...] = field(default=(), kw_only=True, repr=False)

    @cached_property
    def bound(self) -> NumberColumns:
        coords = {"cell": self.inner.bound.coords["cell"], "feature": list(self.columns)}
        return NumberColumns(self, {"probability": ("class", "cell")}, True, row_dim="column", other_coords=coords)

    def bind(self, table: Table, classes: Sequence[Hashable], members: Membership | None = None) -> Self:
        weights = np.ones(len(table)) if members is None else members.weights
        # bins that were placed by rows are those of all further ones
        places = self.places or tuple(self._edges(table, name, weights) for name in table.names)
        bins = Categorical(
            self.probability,
            (),
            columns=table.names,
            classes=tuple(classes),
            outcomes=tuple(_intervals(edges) for edges in places),
            groups=tuple((j,) for j in range(len(places))),
        )
        return replace(self, inner=bins, places=places)

    def transform(self, X: Array) -> Array:
        """Return the bin of every cell, -1 where it is missing."""
        out = np.empty(X.shape, dtype=np.intp)
        for j, edges in enumerate(self.places):
            x = X[:, j]
            bins = np.searchsorted(edges, x, side="right")
            bins[x == edges[-1]] -= 1  # the last bin holds its upper edge
            out[:, j] = np.where(np.isnan(x), -1, bins)
        return out

    def restore(self, rows: Array, rng: np.random.Generator) -> Array:
        """Draw numbers from the density within each bin."""
        heights = rng.random(rows.shape)
        out = np.empty(rows.shape)
        for j, edges in enumerate(np.asarray(places) for places in self.places):
            bins, height = rows[:, j], heights[:, j]
            widths, scale = np.diff(edges), edges[-1] - edges[0]
            within = np.clip(bins - 1, 0, len(widths) - 1)
            values = edges[within] + height * widths[within]
            tail = -scale * np.log1p(-height)
            values = np.where(bins == 0, np.minimum(edges[0] - tail, np.nextafter(edges[0], -np.inf)), values)
            out[:, j] = np.where(
                bins == len(edges), np.maximum(edges[-1] + tail, np.nextafter(edges[-1], np.inf)), values
            )
        return out

    def log_base(self, X: Array, rows: Array) -> Array:
        """Return the log density within the bin of every cell, zero where it is missing."""
        out = np.zeros(X.shape)
        for j, edges in enumerate(np.asarray(places) for places in self.places):
            scale = edges[-1] - edges[0]
            log_widths = np.log([scale, *np.diff(edges), scale, 1.0])  # the last one of missing cells
            beyond = np.fmax(np.fmax(edges[0] - X[:, j], X[:, j] - edges[-1]), 0.0) / scale
            out[:, j] = -log_widths[rows[:, j]] - np.where(rows[:, j] < 0, 0.0, beyond)
        return out

    def _edges(self, table: Table, name: Hashable, weights: Array) -> tuple[float, ...]:
        if self.edges is not None:
            return _declared(self.edges, name)
        one_of("spacing", self.spacing, get_args(Spacing))
        refusal = "has no value in these rows to place bins by; declare edges, or drop the column"
        x, present = present_numbers(table, name, self.name, refusal)
        ordered, rounding = Ordered.of(x, weights[present]), rounding_of(x)
        bounds = bounds_of(x, rounding)
        if self.bins == "evidence":
            return tuple(best_bins([ordered], [self.spacing], 0.5, bounds, rounding).edges.tolist())
        if not isinstance(self.bins, int) or self.bins < 1:
            raise ValueError(f"bins must be a positive integer or 'evidence', found {spelled(self.bins)}")
        if self.spacing == "equal":
            return tuple(equal_edges(*bounds, self.bins).tolist())
        least = max(rounding, (bounds[1] - bounds[0]) * 1e-6)
        return tuple(quantile_edges(ordered, self.bins, bounds, least).tolist())


def _declared(edges: Edges, name: Hashable) -> tuple[float, ...]:
    edges = by_name(edges)
    if isinstance(edges, Mapping):
        if name not in edges:
            raise ValueError(f"no edges are given for column {name!r}; name every column once")
        edges = edges[name]
    places = np.asarray(edges, dtype=np.float64)
    if places.ndim != 1 or len(places) < 2 or not np.isfinite(places).all() or not (np.diff(places) > 0).all():
        raise ValueError(
            f"the edges of column {name!r} must be at least two finite numbers that ascend, found "
            f"{places.tolist()}"
        )
    return tuple(places.tolist())


def _intervals(edges: tuple[float, ...]) -> tuple[str, ...]:
    """Name the bins, with as many digits as distinguish them."""
    for digits in range(3, 18):
        words = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(words)) == len(words):
            break
    inner = [f"[{low}, {high})" for low, high in list(pairwise(words))[:-1]]
    return (f"(-inf, {words[0]})", *inner, f"[{words[-2]}, {words[-1]}]", f"({words[-1]}, inf)")
