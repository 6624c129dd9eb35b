"""Rows of which the class is not known, or not for certain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class PartlyKnown:
    """Rows whose class is not known, or not for certain, among the rows given to a fit.

    Attributes
    ----------
    whole : Table
        All rows given, those whose class is known too.
    places : (n_rows,)
        Which of them these are, in ascending order.
    weights : (n_rows,)
        All positive.
    log_prior : (n_rows, n_classes), optional
        What is known of the class of each row beside its features and the class weights: the logarithm of a factor
        for every class, -inf where it is ruled out. None where nothing is.
    """

    whole: Table
    places: Array
    weights: Array
    log_prior: Array | None = None

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def table(self) -> Table:
        """The cells of these rows."""
        return self.whole.take(self.places)

    @cached_property
    def known_places(self) -> Array:
        """Which of all rows are not among these."""
        return np.setdiff1d(np.arange(len(self.whole)), self.places, assume_unique=True)

    def scaled(self, factor: float) -> Self:
        """The same rows, each with its weight multiplied by ``factor``."""
        return replace(self, weights=factor * self.weights)
