"""Rows of which the class is not known, or not for certain, and labels that may be wrong."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels given to rows, each by an annotator.

    Attributes
    ----------
    rows : (n_votes,)
        Places of the rows, in ascending order.
    annotators, labels : (n_votes,)
        Codes.
    names : tuple
        Of the annotators.
    errors : (n_annotators, n_classes, n_classes)
        Prior concentration of the labels (last axis) that an annotator gives to rows of each class, or their
        probabilities.
    are_known : bool
        Whether ``errors`` are the probabilities.
    """

    rows: Array
    annotators: Array
    labels: Array
    names: tuple[Hashable, ...]
    errors: Array
    are_known: bool

    def within(self, rows: slice) -> tuple[Array, Array, Array]:
        """Find rows (counted from the start of the range), annotators and labels of the votes on a range."""
        first, last = np.searchsorted(self.rows, [rows.start, rows.stop])
        return self.rows[first:last] - rows.start, self.annotators[first:last], self.labels[first:last]


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
    log_prior : (n_rows, n_classes), optional
        What is known of the class of each row beside its features and the class weights: the logarithm of a factor
        for every class, -inf where it is ruled out. None where nothing is.
    votes : Votes, optional
        Labels that may be wrong; their ``rows`` are places among these rows.
    is_informative : bool
        Whether labels may be missing for a reason, so that a missing one tells something of its row.
    """

    whole: Table
    places: Array
    weights: Array
    log_prior: Array | None = None
    votes: Votes | None = None
    is_informative: bool = False

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def table(self) -> Table:
        """Return the cells of these rows."""
        return self.whole.take(self.places)

    @property
    def is_unlabelled(self) -> bool:
        """Whether nothing is known of the classes beside the features."""
        return self.log_prior is None and self.votes is None and not self.is_informative

    @property
    def is_in_doubt(self) -> bool:
        """Whether labels that are there may be wrong."""
        return not (self.is_blank | self.is_certain).all()

    @property
    def is_certain(self) -> Array:
        """Whether the class of each row is certain, because only cells are missing: (n_rows,)."""
        if self.log_prior is None:
            return np.zeros(len(self), dtype=bool)
        return np.asarray(np.isfinite(self.log_prior).sum(1) == 1)

    @property
    def is_blank(self) -> Array:
        """Whether nothing is known of the class of each row beside its features: (n_rows,)."""
        blank = ~self.is_certain
        if self.log_prior is not None:
            blank &= (self.log_prior == self.log_prior[:, :1]).all(1)
        if self.votes is not None:
            blank[self.votes.rows] = False
        return blank

    def likeliest(self, n_classes: int) -> Array:
        """Return the class of each row that is given the most weight, or the most labels: (n_rows,)."""
        found = np.zeros((len(self), n_classes)) if self.log_prior is None else self.log_prior.copy()
        if self.votes is not None:
            np.add.at(found, (self.votes.rows, self.votes.labels), 1.0)
        return np.asarray(found.argmax(1))

    def certain(self, n_classes: int) -> Array:
        """Sum the weights of the rows of each class whose class is certain, for cells alone are missing."""
        if self.log_prior is None:
            return np.zeros(n_classes)
        return np.asarray((self.weights * self.is_certain) @ np.isfinite(self.log_prior))

    @cached_property
    def known_places(self) -> Array:
        """Mark the rows that are not among these."""
        return np.setdiff1d(np.arange(len(self.whole)), self.places, assume_unique=True)

    def scaled(self, factor: float) -> Self:
        """Return the same rows, the weights of those without any label multiplied by ``factor``."""
        return replace(self, weights=np.where(self.is_blank, factor, 1.0) * self.weights)
