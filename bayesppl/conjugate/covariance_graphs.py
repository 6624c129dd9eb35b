"""Covariance matrices in PyMC without linear algebra, by Cholesky factors or partial correlations.

A solver would cost a minute of compilation. Elimination goes through the columns one by one instead, all rows and
classes together, with elementwise operations only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np


class Spread(ABC):
    """What a model needs of covariance matrices to be observed."""

    @abstractmethod
    def root(self) -> Any:
        """Cholesky factors: (class, feature, feature), or (feature, feature) where tied."""

    @abstractmethod
    def log_det(self) -> Any:
        """Log determinants of the covariances: (class,), or a scalar."""

    @abstractmethod
    def whiten(self, vectors: Any) -> Any:
        """The root solved for ``vectors``, (..., feature, vector)."""


@dataclass(frozen=True)
class Triangular(Spread):
    """Given by the Cholesky factors themselves."""

    factor: Any

    def root(self) -> Any:
        return self.factor

    def log_det(self) -> Any:
        import pytensor.tensor as pt

        return 2 * pt.log(pt.diagonal(self.factor, axis1=-2, axis2=-1)).sum(-1)

    def whiten(self, vectors: Any) -> Any:
        import pytensor.tensor as pt

        diagonal = pt.diagonal(self.factor, axis1=-2, axis2=-1)
        n_features = vectors.type.shape[-2]
        below = self.factor * np.tri(n_features, k=-1) / diagonal[..., None, :]
        for j in range(n_features - 1):
            vectors = vectors - below[..., :, j, None] * vectors[..., j, None, :]
        return vectors / diagonal[..., None]


@dataclass(frozen=True)
class ByPartials(Spread):
    """Given by standard deviations, and partial correlations below the diagonal of otherwise empty matrices."""

    sd: Any
    partials: Any

    def root(self) -> Any:
        import pytensor.tensor as pt

        n_features = self.partials.type.shape[-1]
        lengths = pt.exp(log_lengths(log_left(self.partials)))
        return self.sd[..., None] * (self.partials + np.eye(n_features)) * lengths

    def log_det(self) -> Any:
        import pytensor.tensor as pt

        return 2 * (pt.log(self.sd) + log_left(self.partials).sum(-1)).sum(-1)

    def whiten(self, vectors: Any) -> Any:
        """Every feature in turn is regressed out of those after it, which keep the variance one."""
        import pytensor.tensor as pt

        shrink = pt.exp(-log_left(self.partials))
        vectors = vectors / self.sd[..., None]
        for j in range(vectors.type.shape[-2] - 1):
            explained = self.partials[..., :, j, None] * vectors[..., j, None, :]
            vectors = (vectors - explained) * shrink[..., :, j, None]
        return vectors


def below_diagonal(values: Any, n_features: int) -> Any:
    """Values below the diagonal of otherwise empty matrices, by one gather."""
    import pytensor.tensor as pt

    place = np.zeros((n_features, n_features), dtype=int)
    rows, columns = np.tril_indices(n_features, -1)
    place[rows, columns] = 1 + np.arange(len(rows))
    zero = pt.zeros((*values.shape[:-1], 1))
    return pt.concatenate([zero, values], axis=-1)[..., place]


def log_left(partials: Any) -> Any:
    """log of the share of its standard deviation that regression on one more feature leaves to each feature."""
    import pytensor.tensor as pt

    return 0.5 * pt.log1p(-(partials**2))


def log_lengths(left: Any) -> Any:
    """log of what the columns before leave of each row of unit length."""
    import pytensor.tensor as pt

    return pt.cumsum(left, axis=-1) - left
