"""The classes and weights with which rows entered a posterior, for taking them out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from bayesppl.kernels.arrays import Array

# With more different weights than these, every row is a group of its own.
_FEW_WEIGHTS = 8


class Groups(NamedTuple):
    """Rows of one class and one weight: whichever of them is taken out, the same belief is left.

    Attributes
    ----------
    classes, weights : (n_groups,)
    of_rows : (n_rows,)
        The group of every row.
    """

    classes: Array
    weights: Array
    of_rows: Array


@dataclass(frozen=True, eq=False)
class Membership:
    """The class and the weight with which every row entered a posterior.

    Attributes
    ----------
    codes, weights : (n_rows,)
    """

    codes: Array
    weights: Array

    @classmethod
    def alike(cls, n_rows: int) -> Self:
        """Make rows of the first class, all of weight one."""
        return cls(np.zeros(n_rows, dtype=np.intp), np.ones(n_rows))

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.codes[rows], self.weights[rows])

    @cached_property
    def has_common_weight(self) -> bool:
        """Whether all rows weigh the same."""
        return bool((self.weights == self.weights[:1]).all())

    @cached_property
    def few_weights(self) -> Array | None:
        """Find the different weights, ascending; None where they are many."""
        found = self.weights[:1] if self.has_common_weight else np.unique(self.weights)
        return found if len(found) <= _FEW_WEIGHTS else None

    @property
    def classes(self) -> Array:
        """Find the classes that occur, ascending."""
        return np.flatnonzero(np.bincount(self.codes))

    @cached_property
    def groups(self) -> Groups:
        n_classes, n_rows = int(self.codes.max(initial=-1)) + 1, len(self.codes)
        weights = self.few_weights
        if weights is None:
            return Groups(self.codes, self.weights, np.arange(n_rows))
        of_rows = self.codes
        if len(weights) > 1:
            of_rows = of_rows + n_classes * np.searchsorted(weights, self.weights)
        return Groups(np.tile(np.arange(n_classes), len(weights)), weights.repeat(n_classes), of_rows)

    def own(self, values: Array) -> Array:
        """Select from (n_rows, n_classes) the value at the class of each row: (n_rows,)."""
        by_class = values.T.reshape(-1)
        return np.asarray(by_class.take(self._places))

    def replaced(self, values: Array, own: Array) -> Array:
        """Copy (n_rows, n_classes) with other values at the class of each row."""
        by_class = values.T.flatten()
        by_class[self._places] = own
        return by_class.reshape(-1, len(values)).T

    @cached_property
    def _places(self) -> Array:
        """Find the place of each row's own class among values that are kept one class after the other."""
        return self.codes * len(self.codes) + np.arange(len(self.codes))


def weight_by_weight(
    both: Callable[[float], Callable[[Any], Array]], rows: Any, members: Membership
) -> tuple[Array, Array]:
    """Evaluate the density of rows of few weights under all data, and without the row itself.

    Parameters
    ----------
    both : callable
        From a weight to the density of rows under every class as it is, and under every class without one of its
        rows, which has that weight: (n_rows, 2 n_classes).
    rows : Rows
    members : Membership
    """
    weights = np.unique(members.groups.weights)
    if members.has_common_weight:
        found = both(weights[0])(rows)
    else:
        places = [np.flatnonzero(members.weights == weight) for weight in weights]
        parts = [both(weight)(rows[at]) for weight, at in zip(weights, places, strict=True)]
        found = np.concatenate(parts)[np.argsort(np.concatenate(places))]
    fitted, without = np.hsplit(found, 2)
    return fitted, members.replaced(fitted, members.own(without))


def counts_without(counts: Array, weights: Array | float) -> Array:
    """Subtract a row of some weight from counts, or concentrations, that it was counted into.

    Zero where nothing positive is left, because of rounding or because the row was not counted there: the
    logarithm, -inf, marks the rows that this concerns.
    """
    return np.where(counts > weights * (1 + 1e-9), counts - weights, 0.0)
