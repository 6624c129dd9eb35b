"""Fewer combinations than all of them, in which every value meets every value that it could interfere with."""

from collections.abc import Sequence
from typing import Any


def in_turn(many: Sequence[Any], few: Sequence[Any], times: int = 1) -> list[tuple[Any, Any]]:
    """Combine each of ``many`` with ``times`` of ``few``, which take turns."""
    step = len(few) // times
    return [(one, few[(i + j * step) % len(few)]) for i, one in enumerate(many) for j in range(times)]


def pairwise(first: Sequence[Any], second: Sequence[Any], third: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
    """Combine all pairs of values of two lists with values of a third in turn, so that those meet all others too.

    The third list is no longer than either of the others.
    """
    return [(a, b, third[(i + j) % len(third)]) for i, a in enumerate(first) for j, b in enumerate(second)]
