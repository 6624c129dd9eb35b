"""Rows whose class is not known: completed by the probabilities of the classes given the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesppl.conjugate.statistics import Counts, JointStatistics
from bayesppl.data.partly_known import Votes
from bayesppl.inference.augmentation import Augmentation, Completion
from bayesppl.kernels.arrays import Array, Theta, draw_shares, logarithm
from bayesppl.kernels.ranges import cells_per_row
from bayesppl.model.declaration import CLASS_WEIGHTS, CONFUSION, GenerativeModel


@dataclass(frozen=True, eq=False)
class UnknownClasses(Augmentation):
    """Rows of unknown class; the class of each is independent of the others' given the parameters.

    Attributes
    ----------
    model : GenerativeModel
    X : encoded rows
        Indexed by ranges of rows.
    weights : (n_rows,)
        A row of whole weight w is w rows, each with a class of its own. By Gibbs sampling a fraction of a row has
        one class that counts as that fraction, which approximates the density to that power.
    log_prior : (n_rows, n_classes), optional
    votes : Votes, optional
        See :class:`~bayesppl.data.partly_known.PartlyKnown`.
    """

    model: GenerativeModel
    X: Any
    weights: Array
    log_prior: Array | None
    votes: Votes | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(self.X.shape[0])

    @property
    def total_weight(self) -> float:  # type: ignore[override]
        return float(self.weights.sum())

    @property
    def cells_per_row(self) -> int:  # type: ignore[override]
        return max(cells_per_row(self.X), self.model.n_classes)

    def shares(self, theta: Theta) -> Callable[[slice], tuple[Any, Array, float]]:
        """Return a function of a range that finds its rows, their class probabilities, and their log density."""
        log_joint = self.model.log_joint(theta)
        log_errors = None if self.votes is None else logarithm(theta[CONFUSION])

        def find(rows: slice) -> tuple[Any, Array, float]:
            X = self.X[rows]
            found = log_joint(X)
            if self.log_prior is not None:
                found += self.log_prior[rows]
            if self.votes is not None and log_errors is not None:
                of_rows, annotators, labels = self.votes.within(rows)
                np.add.at(found, of_rows, log_errors[annotators, :, labels])
            largest = found.max(1)
            impossible = np.isneginf(largest)
            found -= np.where(impossible, 0.0, largest)[:, None]
            np.exp(found, out=found)
            # a row that no class explains is completed by the class weights
            found[impossible] = theta[CLASS_WEIGHTS]
            total = found.sum(1)
            found /= total[:, None]
            count = self.weights[rows] > 0  # those that do not may be impossible
            return X, found, float(self.weights[rows][count] @ (largest + np.log(total))[count])

        return find

    def expect(self, theta: Theta) -> Callable[[slice], Completion]:
        find = self.shares(theta)

        def complete(rows: slice) -> Completion:
            X, shares, log_density = find(rows)
            shares *= self.weights[rows, None]
            statistics = self.model.share_statistics(X, shares, theta)
            return Completion(self.with_votes(statistics, rows, shares), log_density)

        return complete

    def draw(self, theta: Theta) -> Callable[[slice, np.random.Generator], Completion]:
        find = self.shares(theta)

        def complete(rows: slice, rng: np.random.Generator) -> Completion:
            X, shares, log_density = find(rows)
            drawn = draw_shares(shares, self.weights[rows], rng)
            statistics = self.model.share_statistics(X, drawn, theta, rng)
            return Completion(self.with_votes(statistics, rows, drawn), log_density)

        return complete

    def with_votes(self, statistics: JointStatistics, rows: slice, shares: Array) -> JointStatistics:
        """Add the statistics of the votes on the rows: how often annotators gave rows of a class each label."""
        if self.votes is None:
            return statistics
        of_rows, annotators, labels = self.votes.within(rows)
        counts = np.zeros(self.votes.errors.shape)
        by_vote: Any = (annotators, slice(None), labels)
        np.add.at(counts, by_vote, shares[of_rows])
        return with_part(statistics, Counts(counts, np.zeros(())))


def with_part(statistics: JointStatistics, counts: Counts) -> JointStatistics:
    """Add the part of the errors of annotators: how often they gave rows of a class each label."""
    return replace(statistics, parts={**statistics.parts, CONFUSION: counts})
