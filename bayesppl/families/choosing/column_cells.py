"""The cells of one column of numbers as candidate densities take them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families.choosing.column_choice import Ranges
from bayesppl.families.choosing.rounding import rounding_of
from bayesppl.families.support import REAL_NUMBERS, check_support, numbers_of
from bayesppl.kernels.arrays import Array, Responsibilities

# Equal values of a class are spread over no more places than these, however much they weigh.
_MOST_PLACES = 64


class Cells(NamedTuple):
    """Sort the present cells of a column: each value of a class once, with its total weight."""

    name: Hashable
    values: Array
    responsibilities: Responsibilities
    classes: Sequence[Hashable]
    rounding: float
    is_rounded: bool
    low: float
    bounds: tuple[float, float] | None

    def where(self, chosen: Array) -> Cells:
        return self._replace(values=self.values[chosen], responsibilities=self.responsibilities[chosen])

    def spread(self) -> Cells:
        """The same weights where they may have been before values were rounded: evenly over a step, from −½ to ½.

        A weight of m is spread over m places, whether it is that of one row or of many. A number by itself is
        where it is.
        """
        if not self.is_rounded:
            return self
        weights, codes = self.responsibilities.data, self.responsibilities.indices
        # sums of fractions, such as ten times .1, may be a little more than the whole number that they are meant
        # to be
        sizes = np.clip(np.ceil(weights - 1e-6 * weights), 1, _MOST_PLACES).astype(np.intp)
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        noise = (place + 0.5) / np.repeat(sizes, sizes) - 0.5
        return self._replace(
            values=np.repeat(self.values, sizes) + noise * self.rounding,
            responsibilities=one_hot(
                np.repeat(codes, sizes), len(self.classes), np.repeat(weights / sizes, sizes)
            ),
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
    of_cells = responsibilities[present]
    levels, places = np.unique(x, return_inverse=True)
    n_classes = len(classes)
    weights = np.bincount(places * n_classes + of_cells.indices, of_cells.data)
    at = np.flatnonzero(weights)
    gathered = one_hot(at % n_classes, n_classes, weights[at])
    return Cells(name, levels[at // n_classes], gathered, classes, step, bool(rounding), low, bounds)


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
                f"the range of column {name!r} must be two numbers (low, high) that ascend, such as (0, 120) or "
                f"(0, numpy.inf), found {bounds!r}"
            )
    return dict(ranges or {})
