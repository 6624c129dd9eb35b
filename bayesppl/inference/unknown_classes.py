"""Rows whose class is not known: completed by the probabilities of the classes given the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.data.rows import Rows
from bayesppl.inference.augmentation import Augmentation, Completion, Incomplete, search_start
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.ranges import cells_per_row
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.training_rows import encoded


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
        See :class:`~bayesppl.data.partly_known.PartlyKnown`.
    """

    model: GenerativeModel
    X: Any
    weights: Array
    log_prior: Array | None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(self.X.shape[0])

    @property
    def cells_per_row(self) -> int:  # type: ignore[override]
        return max(cells_per_row(self.X), self.model.n_classes)

    def shares(self, theta: Theta) -> Callable[[slice], tuple[Any, Array, float]]:
        """Return what finds of a range the rows, the probabilities of their classes, and their log density."""
        log_joint = self.model.log_joint(theta)

        def find(rows: slice) -> tuple[Any, Array, float]:
            X = self.X[rows]
            found = log_joint(X)
            if self.log_prior is not None:
                found += self.log_prior[rows]
            log_density = logsumexp(found, axis=1)
            # a row that no class explains is completed by the class weights
            impossible = np.isneginf(log_density)
            with np.errstate(divide="ignore"):
                found[impossible] = np.log(theta[CLASS_WEIGHTS])
            found -= np.where(impossible, 0.0, log_density)[:, None]
            return X, np.exp(found), float(self.weights[rows] @ log_density)

        return find

    def expect(self, theta: Theta) -> Callable[[slice], Completion]:
        find = self.shares(theta)

        def complete(rows: slice) -> Completion:
            X, shares, log_density = find(rows)
            shares *= self.weights[rows, None]
            return Completion(self.model.share_statistics(X, shares), log_density)

        return complete

    def draw(self, theta: Theta) -> Callable[[slice, np.random.Generator], Completion]:
        find = self.shares(theta)

        def complete(rows: slice, rng: np.random.Generator) -> Completion:
            X, shares, log_density = find(rows)
            weights = self.weights[rows]
            if (weights > 1.5).any():
                times = np.maximum(1, np.round(weights)).astype(np.int64)
                drawn = rng.multinomial(times, shares / shares.sum(1, keepdims=True))
                counted = drawn * (weights / times)[:, None]
                return Completion(self.model.share_statistics(X, counted), log_density)
            edges = np.cumsum(shares, axis=1)
            codes = (rng.random(len(edges))[:, None] * edges[:, -1:] >= edges[:, :-1]).sum(1)
            return Completion(self.model.statistics(X, one_hot(codes, self.model.n_classes, weights)), log_density)

        return complete


def incomplete(
    model: GenerativeModel, known: JointStatistics, rows: Rows, restarts: int, seed: int | None
) -> Incomplete:
    """The rows of a fit some of which have no label.

    Priors that depend on the data are resolved from the rows that have one. Where some class has none, all rows
    are completed first, by a search from ``restarts`` random places.

    Parameters
    ----------
    model : GenerativeModel
    known : JointStatistics
        Of the rows that have a label.
    rows : Rows
        With those that have none.
    restarts : int
    seed : int or None
        Of the random places.
    """
    partly = rows.partly
    assert partly is not None
    X = encoded(model.family, partly.table)
    augmentation = UnknownClasses(model, X, partly.weights, partly.log_prior)
    empty = np.flatnonzero(known.parts[CLASS_WEIGHTS].counts == 0)
    first = known
    if len(empty):
        even = np.full((len(partly), model.n_classes), 1 / model.n_classes) * partly.weights[:, None]
        common = model.prior(known + model.share_statistics(X[:], even))

        def seeds(rng: np.random.Generator) -> JointStatistics:
            """All rows, each in the class it is likest to: its known rows, or one drawn at random."""
            chosen = rng.choice(len(partly), len(empty), replace=len(partly) < len(empty))
            beginning = known + model.statistics(X[chosen], one_hot(empty, model.n_classes))
            codes = model.family.log_likelihood(common.update(beginning).mean())(X[:]).argmax(1)
            return known + model.statistics(X[:], one_hot(codes, model.n_classes, partly.weights))

        rng = np.random.default_rng(seed)
        first = search_start(model, known, augmentation, seeds, restarts, rng)
    return Incomplete(model, model.prior(first), known, augmentation, first)
