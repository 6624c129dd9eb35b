"""The cells of one column of numbers, as candidate densities see them: in ascending order, with the step of their rounding."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families._bases.column_choice import Ranges
from bayesppl.families._bases.rounding import rounding_of
from bayesppl.families._bases.support import REAL_NUMBERS, check_support, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities


class Cells(NamedTuple):
    """The cells of one column that are present, in ascending order."""

    name: Hashable
    values: Array
    responsibilities: Responsibilities
    classes: Sequence[Hashable]
    rounding: float
    noise: Array
    is_rounded: bool
    low: float
    bounds: tuple[float, float] | None

    def where(self, chosen: Array) -> Cells:
        return self._replace(
            values=self.values[chosen], responsibilities=self.responsibilities[chosen], noise=self.noise[chosen]
        )

    def gathered(self) -> Cells:
        """The same cells, each value of a class once with the weight of all its rows; without noise."""
        levels = np.unique(self.values)
        places = np.searchsorted(levels, self.values)
        n_classes = len(self.classes)
        weights = np.bincount(places * n_classes + self.responsibilities.indices, self.responsibilities.data)
        at = np.flatnonzero(weights)
        values, codes = levels[at // n_classes], at % n_classes
        return self._replace(
            values=values, responsibilities=one_hot(codes, n_classes, weights[at]), noise=np.zeros(len(at))
        )


def read_cells(
    table: Table,
    name: Hashable,
    responsibilities: Responsibilities,
    classes: Sequence[Hashable],
    bounds: tuple[float, float] | None,
) -> Cells:
    X = numbers_of(table, [name], "columns='evidence'", REAL_NUMBERS)
    check_support(X, [name], "real-valued", REAL_NUMBERS)
    x = np.asarray(X[:, 0], dtype=np.float64)
    present = np.flatnonzero(~np.isnan(x))
    if not len(present):
        raise ValueError(f"column {name!r} holds no value to choose a density by; drop it, or name its block")
    x = x[present]
    low, high = float(x.min()), float(x.max())
    rounding = rounding_of(x)
    # values on no grid: their digits end somewhere, and where is the same for all densities
    step = rounding or 1e-9 * max(abs(low), abs(high))
    if bounds is not None:
        if not bounds[0] <= low <= high <= bounds[1]:
            raise ValueError(
                f"column {name!r} holds values from {low:g} to {high:g}, outside its range {bounds!r}"
            )
        low = float(bounds[0])
    noise = _within_rounding(x, responsibilities[present]) * rounding
    ascending = np.argsort(x + noise)
    x, noise, present = x[ascending], noise[ascending], present[ascending]
    return Cells(name, x, responsibilities[present], classes, step, noise, bool(rounding), low, bounds)


def _within_rounding(values: Array, responsibilities: Responsibilities) -> Array:
    """Where numbers may have been before they were rounded: those of a class that are equal evenly over a step, from −½ to ½.

    By their weight, and not by the order of the rows, which is no matter. A number by itself is where it is.
    """
    weights = np.zeros(len(values))
    codes = np.zeros(len(values), dtype=np.intp)
    counted = np.diff(responsibilities.indptr) > 0
    weights[counted], codes[counted] = responsibilities.data, responsibilities.indices
    order = np.lexsort([weights, codes, values])
    values, codes, weights = values[order], codes[order], weights[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(values) != 0) | (np.diff(codes) != 0)])
    sizes = np.diff(np.r_[starts, len(values)])
    place = np.arange(len(values)) - np.repeat(starts, sizes)
    out = np.empty(len(values))
    out[order] = (place + 0.5) / np.repeat(sizes, sizes) - 0.5
    return out


def checked_ranges(ranges: Ranges | None, table: Table) -> dict[Hashable, tuple[float, float]]:
    """The ranges of columns of numbers."""
    if not isinstance(ranges, Mapping | None):
        raise TypeError(
            f"ranges must be a mapping of columns to (low, high), as in {{'age': (0, 120)}}, found {ranges!r}"
        )
    for name, bounds in (ranges or {}).items():
        if name not in table.names:
            raise ValueError(f"ranges names {name!r}, which is no column of the data")
        if table.kind(name) in ("boolean", "category"):
            raise ValueError(f"ranges names {name!r}, which holds no numbers; drop it")
        try:
            low, high = map(float, bounds)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not low < high:
            raise ValueError(
                f"the range of column {name!r} must be two numbers (low, high) that ascend, such as (0, 120) or (0, numpy.inf), "
                f"found {bounds!r}"
            )
    return dict(ranges or {})
