"""Means with variances or covariance matrices, in the coordinates of their conjugate priors: :mod:`.naturals`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import pytensor.tensor as pt

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.covariance_graphs import whitened
from bayesppl.conjugate.moments import Moments
from bayesppl.conjugate.normal_means import NormalMeans, NormalMeanVectors
from bayesppl.inference.pymc.reading.naturals import Event, Natural, log_rising, tidy
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.kernels.definite import is_positive_definite, root_by_eigenvalues


@final
@dataclass(frozen=True, eq=False)
class MeansAndVariances(Natural):
    """Means, (n_classes, n_features), and variances that may be shared over one of the two axes."""

    words: ClassVar[str] = "NormalInverseGamma"
    events: ClassVar[Mapping[str, Event]] = {"mean": "scalar", "variance": "scalar"}

    def statistics(self, theta: Theta) -> Array:
        variance = theta["variance"][..., None]
        mean = self._means_last(theta["mean"])
        linear = mean / variance
        return np.concatenate([np.log(variance), 1 / variance, linear, mean * linear], axis=-1)

    def belief(self, coefficients: Array) -> NormalInverseGamma:
        n = (coefficients.shape[-1] - 2) // 2
        kappa = tidy(-2 * coefficients[..., 2 + n :])
        location = _location(coefficients[..., 2 : 2 + n], kappa)
        a = tidy(-coefficients[..., 0] - 1 - n / 2, 1.0)
        between = (kappa * location**2).sum(-1) / 2
        b = tidy(-coefficients[..., 1] - between, between)
        if not self.shared:
            return NormalInverseGamma(location[..., 0], kappa[..., 0], a, b).sized(self.entries)
        location, kappa = (np.moveaxis(values, -1, self.shared[0]) for values in (location, kappa))
        return NormalInverseGamma(location, kappa, a, b).sized(self.entries, self.shared)

    def log_increment(self, h: Any, rows: Moments) -> Any:
        count, scatter = (
            self._means_last(np.broadcast_to(values, self.entries)) for values in (rows.count, rows.scatter)
        )
        mean = pt.moveaxis(rows.mean, self.shared[0], -1) if self.shared else rows.mean[..., None]
        n = count.shape[-1]
        kappa, b = -2 * h[..., 2 + n :], -h[..., 1]
        squares = (scatter + kappa * count / (kappa + count) * mean**2).sum(-1) / 2
        shape, half = -h[..., 0] - 1 - n / 2, count.sum(-1) / 2
        of_variance = log_rising(shape, half) - shape * pt.log1p(squares / b) - half * pt.log(b + squares)
        return of_variance - 0.5 * pt.log1p(count / kappa).sum(-1)

    def location(self, h: Any) -> tuple[Any, slice]:
        linear = slice(2, 2 + int(np.prod(self.entries)) // int(np.prod(self.factors)))
        centres = -h[..., linear] / (2 * h[..., linear.stop :])
        return (pt.moveaxis(centres, -1, self.shared[0]) if self.shared else centres[..., 0]), linear

    def _means_last(self, mean: Array) -> Array:
        """Move means that share a variance to the last axis."""
        return np.moveaxis(mean, self.shared[0], -1) if self.shared else mean[..., None]


@final
@dataclass(frozen=True, eq=False)
class Means(Natural):
    """Means, (n_classes, n_features), of rows whose variances, of the same shape, are known."""

    words: ClassVar[str] = "Normal"

    events: ClassVar[Mapping[str, Event]] = {"mean": "scalar"}

    variance: Any = None

    def statistics(self, theta: Theta) -> Array:
        mean = theta["mean"]
        return np.stack([mean, mean**2], axis=-1)

    def belief(self, coefficients: Array) -> NormalMeans:
        precision = tidy(-2 * coefficients[..., 1])
        location = _location(coefficients[..., 0], precision)
        return NormalMeans(location, precision, self.variance).sized(self.factors)

    def log_increment(self, h: Any, rows: Moments) -> Any:
        variance, n = self.variance, rows.count
        precision = -2 * h[..., 1]
        own = precision * variance
        squares = rows.scatter + own * n / (own + n) * (rows.mean - h[..., 0] / precision) ** 2
        return -0.5 * (n * pt.log(variance) + pt.log1p(n / own) + squares / variance)


@final
@dataclass(frozen=True, eq=False)
class MeansOfVectors(Natural):
    """Mean vectors, (n_classes, n_features), given the covariances of the rows, one for each class."""

    words: ClassVar[str] = "MvNormal"
    events: ClassVar[Mapping[str, Event]] = {"mean": "scalar"}

    covariance: Any = None

    def statistics(self, theta: Theta) -> Array:
        mean = theta["mean"]
        rows, columns = np.tril_indices(self.entries[1])
        return np.concatenate([mean, mean[..., rows] * mean[..., columns]], axis=-1)

    def belief(self, coefficients: Array) -> NormalMeanVectors:
        linear, precision = self._unpacked(coefficients)
        if not is_positive_definite(precision).all():
            raise ValueError("the density of the means is flat")
        precision = tidy(precision)
        location = tidy(np.linalg.solve(precision, linear[..., None])[..., 0])
        return NormalMeanVectors(location, precision, self.covariance).sized(self.entries)

    def log_increment(self, h: Any, rows: Moments) -> Any:
        linear, precision = self._unpacked(h)
        n, (n_classes, d) = rows.count[:, None, None], self.entries
        covariance = pt.as_tensor(self.covariance)
        _, root = whitened(precision, np.broadcast_to(np.eye(d), (n_classes, d, d)))
        spread = (root[:, :, :, None] * root[:, :, None, :]).sum(1)
        location = (spread * linear[:, None, :]).sum(-1)
        log_det, within = whitened(covariance, root_by_eigenvalues(rows.scatter))
        gap = np.sqrt(n) * (rows.mean - location)[:, :, None]
        log_det_of_means, between = whitened(covariance + n * spread, gap)
        # |Λ + nΣ⁻¹| / |Λ| = |Σ + nΛ⁻¹| / |Σ|
        log_dets = (rows.count - 1) * log_det + log_det_of_means
        return -0.5 * (log_dets + (within**2).sum((1, 2)) + (between**2).sum((1, 2)))

    def _unpacked(self, coefficients: Any) -> tuple[Any, Any]:
        """Return the coefficients of the means, and of their products as a matrix; of an array or of a graph."""
        d = self.entries[1]
        return coefficients[..., :d], -_symmetric(coefficients[..., d:], d)


@final
@dataclass(frozen=True, eq=False)
class MeansAndCovariances(Natural):
    """Mean vectors, (n_classes, n_features), and a covariance matrix each, or one that the classes share."""

    words: ClassVar[str] = "NormalInverseWishart"
    events: ClassVar[Mapping[str, Event]] = {"mean": "scalar", "covariance": "matrix"}

    @property
    def _tied(self) -> bool:
        return -2 in self.shared

    def statistics(self, theta: Theta) -> Array:
        covariance = theta["covariance"]
        precision = np.linalg.inv(covariance)
        rows, columns = np.tril_indices(self.entries[1])
        terms = [np.linalg.slogdet(covariance)[1][..., None], precision[..., rows, columns]]
        mean = theta["mean"]
        per_class = precision[:, None] if self._tied else precision
        linear = np.einsum("...ij,...j->...i", per_class, mean)
        squares = (linear * mean).sum(-1, keepdims=True)
        if self._tied:
            linear, squares = (part.reshape(len(mean), -1) for part in (linear, squares))
        return np.concatenate([*terms, linear, squares], axis=-1)

    def belief(self, coefficients: Array) -> NormalInverseWishart:
        kappa, location, nu, whole = self._unpacked(coefficients)
        kappa, location = tidy(kappa), tidy(location)
        psi = whole - self._between(kappa, location)
        scale = np.sqrt(np.abs(np.einsum("...ii->...i", psi)))
        psi = np.where(np.abs(psi) < 1e-10 * scale[..., :, None] * scale[..., None, :], 0.0, tidy(psi))
        return NormalInverseWishart(location, kappa, tidy(nu, 1.0), psi).sized(self.entries, self._tied)

    def log_increment(self, h: Any, rows: Moments) -> Any:
        kappa, _, nu, psi = self._unpacked(h)
        n, d = rows.count, self.entries[1]
        gained = rows.scatter + self._between(kappa * n / (kappa + n), rows.mean)
        before, after = (pt.linalg.slogdet(matrix)[1] for matrix in (psi, psi + gained))
        of_means = 0.5 * d * pt.log1p(n / kappa)
        n, of_means = (n.sum(), of_means.sum()) if self._tied else (n, of_means)
        of_degrees = sum(log_rising((nu - j) / 2, n / 2) for j in range(d))
        return of_degrees + 0.5 * nu * (before - after) - 0.5 * n * after - of_means

    def location(self, h: Any) -> tuple[Any, slice]:
        n_classes, d = self.entries
        first = 1 + d * (d + 1) // 2
        return self._unpacked(h)[1], slice(first, first + d * (n_classes if self._tied else 1))

    def _unpacked(self, coefficients: Any) -> tuple[Any, Any, Any, Any]:
        """Return κ, the locations, ν, and Ψ plus their scatter about zero; of an array or of a graph."""
        n_classes, d = self.entries
        n_pairs, per = d * (d + 1) // 2, n_classes if self._tied else 1
        whole = -_symmetric(coefficients[..., 1 : 1 + n_pairs], d)
        kappa = -2 * coefficients[..., 1 + n_pairs + per * d :].reshape((n_classes,))
        linear = coefficients[..., 1 + n_pairs : 1 + n_pairs + per * d].reshape((n_classes, d))
        return kappa, linear / kappa[:, None], -2 * coefficients[..., 0] - d - 1 - per, whole

    def _between(self, weight: Any, vectors: Any) -> Any:
        """Multiply vectors, one for each class, with themselves; sum over classes where the covariance is tied."""
        products = weight[:, None, None] * vectors[:, :, None] * vectors[:, None, :]
        return products.sum(0) if self._tied else products


def _symmetric(coefficients: Any, d: int) -> Any:
    """Return M for which tr(M S) / 2 is linear in the lower triangle of S, with these coefficients."""
    rows, columns = np.tril_indices(d)
    place = np.zeros((d, d), dtype=int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    # the trace counts what is off the diagonal twice
    return coefficients[..., place] * (1 + np.eye(d))


def _location(linear: Array, precision: Array) -> Array:
    """Compute normal means from the coefficients of their density.

    Raises
    ------
    ValueError
        If it has no centre.
    """
    if not (precision > 0).all():
        raise ValueError("the density of the means is flat")
    return tidy(linear / precision)
