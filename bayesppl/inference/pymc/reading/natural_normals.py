"""Means with variances or covariance matrices, in the parametrisation of their conjugate priors; see :mod:`.naturals`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.inference.pymc.reading.naturals import Event, Natural, tidy
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class MeansAndVariances(Natural):
    """Means, (n_classes, n_features), and variances that may be shared over one of the two axes."""

    shape: tuple[int, ...]
    shared: tuple[int, ...] = ()
    words: ClassVar[str] = "NormalInverseGamma"

    @property
    def events(self) -> Mapping[str, Event]:
        return {"mean": "scalar", "variance": "scalar"}

    @property
    def factors(self) -> tuple[int, ...]:
        return tuple(n for n, kept in zip(self.shape, self._kept, strict=True) if kept)

    @property
    def entries(self) -> tuple[int, ...]:
        return self.shape

    @property
    def _kept(self) -> tuple[bool, ...]:
        return tuple(axis - len(self.shape) not in self.shared for axis in range(len(self.shape)))

    def statistics(self, theta: Theta) -> Array:
        variance = theta["variance"]
        mean = self.means_last(theta["mean"]) / variance[..., None]
        squares = self.means_last(theta["mean"]) * mean
        return np.concatenate([np.log(variance)[..., None], 1 / variance[..., None], mean, squares], axis=-1)

    def belief(self, coefficients: Array) -> NormalInverseGamma:
        n = (coefficients.shape[-1] - 2) // 2
        kappa = tidy(-2 * coefficients[..., 2 + n :])
        location = _location(coefficients[..., 2 : 2 + n], kappa)
        a = tidy(-coefficients[..., 0] - 1 - n / 2)
        b = tidy(-coefficients[..., 1] - (kappa * location**2).sum(-1) / 2)
        back = (self._classes_first(location), self._classes_first(kappa))
        return NormalInverseGamma(*back, a, b).sized(self.shape, self.shared)

    def means_last(self, mean: Array) -> Array:
        """Means with those of one variance on the last axis."""
        if not self.shared:
            return mean[..., None]
        return np.moveaxis(mean, self.shared[0], -1)

    def _classes_first(self, values: Array) -> Array:
        if not self.shared:
            return values[..., 0]
        return np.moveaxis(values, -1, self.shared[0])


@dataclass(frozen=True, eq=False)
class Means(Natural):
    """Means, (n_classes, n_features), of rows whose variances, of the same shape, are known."""

    variance: Array
    words: ClassVar[str] = "Normal"

    @property
    def events(self) -> Mapping[str, Event]:
        return {"mean": "scalar"}

    @property
    def factors(self) -> tuple[int, ...]:
        return self.variance.shape

    def given(self, known: Mapping[str, Array]) -> Means:
        return replace(self, **known)

    def statistics(self, theta: Theta) -> Array:
        mean = theta["mean"]
        return np.stack([mean, mean**2], axis=-1)

    def belief(self, coefficients: Array) -> NormalMeans:
        precision = tidy(-2 * coefficients[..., 1])
        location = _location(coefficients[..., 0], precision)
        return NormalMeans(location, precision, self.variance).sized(self.factors)


@dataclass(frozen=True, eq=False)
class MeansAndCovariances(Natural):
    """Mean vectors, (n_classes, n_features), and a covariance matrix each, or one for all."""

    n_classes: int
    n_features: int
    tied: bool
    words: ClassVar[str] = "NormalInverseWishart"

    @property
    def events(self) -> Mapping[str, Event]:
        return {"mean": "scalar", "covariance": "matrix"}

    @property
    def factors(self) -> tuple[int, ...]:
        return () if self.tied else (self.n_classes,)

    def by_factor(self, values: Any, shape: tuple[int, ...]) -> Any | None:
        if shape[1:] == (self.n_classes, self.n_features):  # independent means
            values, shape = values.sum(-1), shape[:-1]
        if self.tied:
            return values.reshape((shape[0], -1)).sum(-1)
        return super().by_factor(values, shape)

    def statistics(self, theta: Theta) -> Array:
        covariance = theta["covariance"]
        precision = np.linalg.inv(covariance)
        rows, columns = np.tril_indices(self.n_features)
        terms = [np.linalg.slogdet(covariance)[1][..., None], precision[..., rows, columns]]
        mean = theta["mean"]
        per_class = precision[:, None] if self.tied else precision
        linear = np.einsum("...ij,...j->...i", per_class, mean)
        squares = (linear * mean).sum(-1, keepdims=True)
        if self.tied:
            linear, squares = (part.reshape(len(mean), -1) for part in (linear, squares))
        return np.concatenate([*terms, linear, squares], axis=-1)

    def belief(self, coefficients: Array) -> NormalInverseWishart:
        kappa, location, nu, whole = self.unpacked(coefficients)
        kappa, location = tidy(kappa), tidy(location)
        psi = whole - self.between(kappa, location)
        scale = np.sqrt(np.abs(np.einsum("...ii->...i", psi)))
        psi = np.where(np.abs(psi) < 1e-10 * scale[..., :, None] * scale[..., None, :], 0.0, tidy(psi))
        return NormalInverseWishart(location, kappa, tidy(nu), psi).sized(
            (self.n_classes, self.n_features), self.tied
        )

    def unpacked(self, coefficients: Any) -> tuple[Any, Any, Any, Any]:
        """κ, the locations, ν, and Ψ with what lies between the locations and zero; of an array or of a graph."""
        d = self.n_features
        n_pairs, per = d * (d + 1) // 2, self.n_classes if self.tied else 1
        rows, columns = np.tril_indices(d)
        place = np.zeros((d, d), dtype=int)
        place[rows, columns] = place[columns, rows] = np.arange(n_pairs)
        # the trace counts what is off the diagonal twice
        whole = -coefficients[..., 1 : 1 + n_pairs][..., place] * (1 + np.eye(d))
        kappa = -2 * coefficients[..., 1 + n_pairs + per * d :].reshape((self.n_classes,))
        linear = coefficients[..., 1 + n_pairs : 1 + n_pairs + per * d].reshape((self.n_classes, d))
        return kappa, linear / kappa[:, None], -2 * coefficients[..., 0] - d - 1 - per, whole

    def between(self, weight: Any, vectors: Any) -> Any:
        """Products of vectors, one for each class, summed where the covariance is tied."""
        products = weight[:, None, None] * vectors[:, :, None] * vectors[:, None, :]
        return products.sum(0) if self.tied else products


def _location(linear: Array, precision: Array) -> Array:
    """Of normal means, by the coefficients of their density.

    Raises
    ------
    ValueError
        If it has no centre.
    """
    if not (precision > 0).all():
        raise ValueError("the density of the means is flat")
    return tidy(linear / precision)
