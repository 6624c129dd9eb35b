"""Find the step of rounding: the largest number of which all values are multiples."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.arrays import Array

# Digits of the largest value: beyond them floating-point numbers leave none to recognise multiples by
_MOST = 9


def rounding_of(values: Array) -> float:
    """The step of the grid through zero that all values lie on; zero where there is none.

    The step is decimal, or decimal in another unit, such as inches in centimetres, or thirds; no smaller than the
    ninth digit of the largest value.

    Parameters
    ----------
    values : (n_values,)
        None of them missing.
    """
    levels = np.unique(np.abs(values))
    levels = levels[levels > 0]
    if not len(levels):
        return 1.0
    step = _decimal_step(levels)
    if not step and _is_single_precision(levels):
        digits = 10.0 ** (6 - np.floor(np.log10(levels)))
        step = _decimal_step(np.rint(levels * digits) / digits)
    return step or _common_step(levels)


def _decimal_step(levels: Array) -> float:
    largest = levels[-1]
    for exponent in range(int(np.ceil(np.log10(largest))), int(np.floor(np.log10(largest))) - _MOST, -1):
        step = 10.0**exponent
        if step and (_beside(levels, step) <= 1e-6).all():
            return float(step * np.gcd.reduce(np.rint(levels / step).astype(np.int64)))
    return 0.0


def _common_step(levels: Array) -> float:
    """Greatest common divisor of positive numbers, ascending; zero if it is too small.

    Euclid's algorithm with two small multiples loses few digits, and the larger of them gives the lost ones back.
    """
    step = float(levels[0])
    while step > 10.0**-_MOST * levels[-1]:
        others = np.flatnonzero(_beside(levels, step) > 1e-6)
        if not len(others):
            return float(levels[-1] / np.rint(levels[-1] / step))
        level, known = float(levels[others[0]]), step
        rest = level
        while rest > 1e-6 * level:
            step, rest = rest, abs(step - rest * np.rint(step / rest))
        if step > known / 1.5:  # a divisor of both would be half of it at most
            return 0.0
        step = level / np.rint(level / step)
    return 0.0


def _beside(levels: Array, step: float) -> Array:
    """How far each level is from a multiple, in steps."""
    steps = levels / step
    return np.asarray(np.abs(steps - np.rint(steps)))


def _is_single_precision(levels: Array) -> bool:
    with np.errstate(over="ignore", under="ignore"):
        return bool((levels.astype(np.float32) == levels).all())
