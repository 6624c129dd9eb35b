"""The cells of one column of numbers as candidate densities take them, and the step that they are rounded to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from bayesppl.data.labels import one_hot
from bayesppl.data.table import Table
from bayesppl.families.support import present_numbers
from bayesppl.kernels.arrays import Array, Responsibilities

# Digits of the largest value: beyond them floating-point numbers leave none to recognise multiples by
_MOST = 9

# Equal values of a class are spread over no more places than these, however much they weigh.
_MOST_PLACES = 64


class Cells(NamedTuple):
    """The present cells of a column, sorted: each value of a class once, with its total weight."""

    name: Hashable
    values: Array
    responsibilities: Responsibilities
    classes: Sequence[Hashable]
    rounding: float
    is_rounded: bool

    def where(self, chosen: Array) -> Cells:
        return self._replace(values=self.values[chosen], responsibilities=self.responsibilities[chosen])

    def spread(self) -> Cells:
        """Spread each weight evenly over the step that its value was rounded to, from −½ to ½.

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
) -> Cells:
    refusal = "holds no value to choose a density by; drop it"
    x, present = present_numbers(table, name, "real-valued", refusal)
    rounding = rounding_of(x)
    # values on no grid: their digits end somewhere, and where is the same for all densities
    step = rounding or 1e-9 * float(np.ptp(x))
    of_cells = responsibilities[present]
    levels, places = np.unique(x, return_inverse=True)
    n_classes = len(classes)
    weights = np.bincount(places * n_classes + of_cells.indices, of_cells.data)
    at = np.flatnonzero(weights)
    gathered = one_hot(at % n_classes, n_classes, weights[at])
    return Cells(name, levels[at // n_classes], gathered, classes, step, bool(rounding))


def rounding_of(values: Array) -> float:
    """Find the step of the grid through zero that all values lie on; zero where there is none.

    The step is decimal, or decimal in another unit, such as inches in centimetres, or thirds; no smaller than the
    ninth digit of the largest value.

    Parameters
    ----------
    values : (n_values,)
        None of them missing.
    """
    levels = np.unique(np.abs(values))
    # 0.1 + 0.2 and 0.3 are one level
    levels = levels[np.diff(levels, prepend=0.0) > 1e-12 * levels]
    if not len(levels):
        return 1.0
    step = _decimal_step(levels)
    with np.errstate(over="ignore", under="ignore"):
        is_single_precision = (levels.astype(np.float32) == levels).all()
    if not step and is_single_precision:
        digits = 10.0 ** (6 - np.floor(np.log10(levels)))
        step = _decimal_step(np.unique(np.rint(levels * digits) / digits))
    return step or _common_step(levels)


def _decimal_step(levels: Array) -> float:
    largest = levels[-1]
    for exponent in range(int(np.ceil(np.log10(largest))), int(np.floor(np.log10(largest))) - _MOST, -1):
        step = 10.0**exponent
        if step and (_steps_off(levels, step) <= 1e-6).all() and _are_apart(levels, step):
            return float(step * np.gcd.reduce(np.rint(levels / step).astype(np.int64)))
    return 0.0


def _common_step(levels: Array) -> float:
    """Find the greatest common divisor of positive numbers, ascending; zero if it is too small.

    Euclid's algorithm with two small multiples loses few digits, and the larger of them gives the lost ones back.
    """
    step = float(levels[0])
    while step > 10.0**-_MOST * levels[-1]:
        others = np.flatnonzero(_steps_off(levels, step) > 1e-6)
        if not len(others):
            return float(levels[-1] / np.rint(levels[-1] / step)) if _are_apart(levels, step) else 0.0
        level, known = float(levels[others[0]]), step
        rest = level
        while rest > 1e-6 * level:
            step, rest = rest, abs(step - rest * np.rint(step / rest))
        if step > known / 1.5:  # a divisor of both would be half of it at most
            return 0.0
        step = level / np.rint(level / step)
    return 0.0


def _steps_off(levels: Array, step: float) -> Array:
    """Return how far each level is from a multiple of the step, in steps."""
    steps = levels / step
    return np.asarray(np.abs(steps - np.rint(steps)))


def _are_apart(levels: Array, step: float) -> bool:
    """Whether no two levels are the same multiple of the step, as 10,000,001 and 10,000,002 are of ten million."""
    return bool(np.diff(np.rint(levels / step)).all())
