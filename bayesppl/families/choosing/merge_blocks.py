"""Blocks of columns that depend on each other within a class, put together as long as the evidence grows.

The pair that gains most is the best of many. It pays for the choice with the logarithm of their number: a Bayes
factor that is one on average exceeds P with a probability of at most 1/P, so that of P pairs of independent blocks
at most one is expected to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

Block = tuple[int, ...]


def merged_blocks(
    n_columns: int, log_evidence: Callable[[Block], float], allows: Callable[[Block], bool]
) -> tuple[Block, ...]:
    """Merge the pair of blocks that gains most until no gain exceeds the cost of the choice.

    Parameters
    ----------
    n_columns : int
        Each of them is a block at first.
    log_evidence : callable
        Of a block of columns that depend on each other; that of several blocks is the sum.
    allows : callable
        Whether a block may be tried.
    """
    found: dict[Block, float] = {(j,): log_evidence((j,)) for j in range(n_columns)}
    gains: dict[tuple[Block, Block], float] = {}

    def gain(one: Block, two: Block) -> float:
        """Gain of log evidence by one block in place of two."""
        if (one, two) not in gains:
            both = tuple(sorted(one + two))
            gains[one, two] = log_evidence(both) - found[one] - found[two] if allows(both) else 0.0
        return gains[one, two]

    while True:
        pairs = [(gain(one, two), one, two) for one, two in _pairs(sorted(found))]
        best, one, two = max(pairs, default=(0.0, (), ()))
        if best <= log(max(1, len(pairs))):
            return tuple(sorted(found))
        found[tuple(sorted(one + two))] = best + found.pop(one) + found.pop(two)


def _pairs(blocks: Sequence[Block]) -> list[tuple[Block, Block]]:
    return [(one, two) for i, one in enumerate(blocks) for two in blocks[i + 1 :]]
