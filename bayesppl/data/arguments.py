"""Numbers that a caller passes beside the rows, and the refusal of what they cannot be."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np


def whole(name: str, value: Any, least: int) -> int:
    """A whole number.

    Raises
    ------
    TypeError, ValueError
        If it is none, or below ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        if isinstance(value, Real) and float(value) < least:
            raise ValueError(f"{name} must be at least {least}, found {value!r}")
        raise TypeError(f"{name} must be a whole number, at least {least}, found {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, found {value}")
    return int(value)


def real(name: str, value: Any, words: str, allowed: Callable[[float], bool]) -> float:
    """A number within a range, which ``words`` describe.

    Raises
    ------
    TypeError, ValueError
        If it is none, or outside of the range.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number and {words}, found {value!r}")
    if not allowed(float(value)):
        raise ValueError(f"{name} must {words}, found {value:g}")
    return float(value)


def generator(random_state: Any) -> np.random.Generator:
    """The random numbers that ``random_state`` stands for.

    Raises
    ------
    TypeError, ValueError
        If it is no seed.
    """
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state must be None, a whole number from zero, or a numpy.random.Generator, found {random_state!r}"
        ) from None
