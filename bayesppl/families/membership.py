"""With which class and weight rows entered a posterior, for taking them out again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from bayesppl.arrays import Array

# With more different weights than these, every row is a group of its own.
_FEW_WEIGHTS = 8


class Groups(NamedTuple):
    """Rows of one class and one weight, which leave the same belief behind.

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
    """With which class and weight every row entered a posterior.

    Attributes
    ----------
    codes, weights : (n_rows,)
    """

    codes: Array
    weights: Array

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.codes[rows], self.weights[rows])

    @cached_property
    def has_common_weight(self) -> bool:
        """Whether all rows weigh the same."""
        return bool((self.weights == self.weights[:1]).all())

    @cached_property
    def groups(self) -> Groups:
        n_classes, n_rows = int(self.codes.max(initial=-1)) + 1, len(self.codes)
        if self.has_common_weight:
            return Groups(np.arange(n_classes), np.repeat(self.weights[:1], n_classes), self.codes)
        weights, which = np.unique(self.weights, return_inverse=True)
        if len(weights) > _FEW_WEIGHTS:
            return Groups(self.codes, self.weights, np.arange(n_rows))
        classes = np.tile(np.arange(n_classes), len(weights))
        return Groups(classes, weights.repeat(n_classes), which * n_classes + self.codes)

    def own(self, values: Array) -> Array:
        """Of (n_rows, n_classes) the values at the class of each row: (n_rows,)."""
        by_class = values.T.reshape(-1)
        return np.asarray(by_class.take(self._places))

    def replaced(self, values: Array, own: Array) -> Array:
        """A copy of (n_rows, n_classes) with other values at the class of each row."""
        by_class = values.T.flatten()
        by_class[self._places] = own
        return by_class.reshape(-1, len(values)).T

    @cached_property
    def _places(self) -> Array:
        """Where the class of each row is among values that are kept a class after the other."""
        return self.codes * len(self.codes) + np.arange(len(self.codes))
