"""The orders in which columns, or blocks of them, may be seen, over which their shares are averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.special import comb

from bayesppl.data.arguments import one_of, whole
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges

Shares = Literal["shapley", "sequential"]

#: Most units of which all orders are averaged, through all sets of units; of more, orders are drawn.
MOST_UNITS = 12

#: Log odds held at once.
MOST_NUMBERS = 1 << 21


class Steps(NamedTuple):
    """Ways from no unit to all of them, one unit at a time.

    Attributes
    ----------
    sets : (n_sets, n_units) bool
    before, after : (n_steps,)
        Places of sets; ``after`` has one unit more.
    unit : (n_steps,)
        That unit.
    weight : (n_steps,)
    lot : (n_steps,)
        Steps of one lot are a share by themselves; lots are independent.
    """

    sets: Array
    before: Array
    after: Array
    unit: Array
    weight: Array
    lot: Array


#: Places of rows and of their units, and the ways through these.
Task = tuple[Array, Array, Callable[[], Steps]]


def all_orders(n: int) -> Steps:
    """Enumerate every order of ``n`` units, by the sets that stand before each unit (Shapley 1953)."""
    sets = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool)
    before, unit = np.nonzero(~sets)
    weight = 1 / (n * comb(n - 1, sets.sum(1)[before]))
    return Steps(sets, before, before + (1 << unit), unit, weight, np.zeros(len(unit), np.intp))


def in_orders(orders: Sequence[Array]) -> Steps:
    """Average a few orders of the units; an order and the next one, its reverse, are a lot."""
    n = len(orders[0])
    ways = (np.argsort(orders, axis=1)[:, None] < np.arange(n + 1)[:, None]).reshape(-1, n)
    _, first, places = np.unique(np.packbits(ways, axis=1), axis=0, return_index=True, return_inverse=True)
    places = places.reshape(len(orders), n + 1)
    return Steps(
        ways[first],
        places[:, :-1].ravel(),
        places[:, 1:].ravel(),
        np.concatenate(orders),
        np.full(len(orders) * n, 1 / len(orders)),
        np.repeat(np.arange(len(orders)) // 2, n),
    )


def steps_of(n: int, shares: Shares, orders: int, rng: np.random.Generator) -> Steps:
    """Choose the ways through ``n`` units by which their shares are averaged."""
    if shares == "sequential" and n:
        return in_orders([np.arange(n)])
    if n <= MOST_UNITS:
        return all_orders(n)
    forward = [rng.permutation(n) for _ in range(max(2, -(-orders // 2)))]
    return in_orders([order for one in forward for order in (one, one[::-1])])


def group_rows(
    present: Array, per_row: int, shares: Shares, orders: int, rng: np.random.Generator
) -> Iterator[Task]:
    """Group rows that have the same units, as many as can be held, with these units and a function of their steps.

    Orders are drawn when this function is first called: where evidence adds up, none are.

    Parameters
    ----------
    present : (n_rows, n_units) bool
    per_row : int
        Numbers that are held for a row and a set of units.
    """
    one_of("shares", shares, get_args(Shares))
    whole("orders", orders, 1)
    distinct, group = np.unique(present, axis=0, return_inverse=True)
    for g, pattern in enumerate(distinct):
        rows, at = np.flatnonzero(group.ravel() == g), np.flatnonzero(pattern)
        steps = cache(partial(steps_of, len(at), shares, orders, rng))
        n_orders = orders if shares == "shapley" else 1
        n_sets = 1 << len(at) if len(at) <= MOST_UNITS else n_orders * len(at) + 1
        yield from ((rows[some], at, steps) for some in row_ranges(len(rows), per_row * n_sets, MOST_NUMBERS))
