"""Normalisation of class probabilities: the only place where it is done."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesppl.errors import ImpossibleRowWarning, warn
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.kernels.ranges import row_ranges


def log_probabilities(log_joint: Array, class_weights: Array) -> Array:
    """Normalise log p(y = k, x) over the classes.

    Parameters
    ----------
    log_joint : (..., n_classes)
    class_weights : (..., n_classes) or broadcastable
        Returned, with an :class:`~bayesppl.errors.ImpossibleRowWarning`, for rows whose density is zero under
        every class: such a row is no evidence of its class.

    Returns
    -------
    (..., n_classes)
        log p(y = k | x).
    """
    values, n_impossible = np.empty_like(log_joint), 0
    weights = np.broadcast_to(class_weights, log_joint.shape)
    for rows in row_ranges(len(log_joint), log_joint[:1].size):  # temporaries do not grow with the rows
        values[rows], impossible = normalise(log_joint[rows].copy(order="K"), weights[rows], log=True)
        n_impossible += impossible
    warn_of_impossible_rows(n_impossible, values[..., 0].size)
    return values


def normalise(log_joint: Array, class_weights: Array, *, log: bool) -> tuple[Array, int]:
    """Return (log) probabilities, and the number of rows that are impossible under every class.

    Parameters
    ----------
    log_joint : (..., n_classes)
        Overwritten, if its memory can serve.
    """
    # classes first: steps along rows are long, those along classes short
    values = np.ascontiguousarray(log_joint.transpose(-1, *range(log_joint.ndim - 1)))
    largest = values.max(0)
    impossible = np.isneginf(largest)
    n_impossible = int(np.count_nonzero(impossible))
    if n_impossible:
        largest[impossible] = 0.0
    values -= largest
    weights = np.exp(values, out=None if log else values)
    total = np.add.reduce(weights, axis=0, out=largest)
    if n_impossible:
        total[impossible] = 1.0
    if log:
        values -= np.log(total, out=total)
    else:
        values *= np.divide(1.0, total, out=total)
    out = values.transpose(*range(1, values.ndim), 0)
    if n_impossible:
        given = logarithm(class_weights) if log else class_weights
        out[impossible] = np.broadcast_to(given, out.shape)[impossible]
    return out, n_impossible


def warn_of_impossible_rows(n_impossible: int, n_rows: int, words: str = "rows") -> None:
    """Warn if there were rows that are impossible under every class, or draws of which they are."""
    if n_impossible:
        warn(
            f"{n_impossible} of {n_rows} {words} have probability zero under every class, and were classified by "
            "class weights alone. rule='mle' gives zero to a value never seen in training, rule='predictive' only "
            "to what the model itself excludes.",
            ImpossibleRowWarning,
        )


def tempered(log_joint: Array, class_weights: Array, temperature: float | Array) -> Array:
    """Return the log of π_k p(x | y = k)^(1/T), from log p(y = k, x): (..., n_classes).

    Parameters
    ----------
    log_joint : (..., n_classes)
    class_weights : (..., n_classes) or broadcastable
    temperature : float or broadcastable
        T; see :class:`~bayesppl.model.calibration.Calibration`.
    """
    return powered([(1 / temperature, log_joint)], class_weights)


def sharpened(log_proba: Array, class_weights: Array, temperature: float | Array) -> Array:
    """Raise what rows add to the odds of class weights to the power 1/T, and normalise: (..., n_classes)."""
    return log_probabilities(tempered(log_proba, class_weights, temperature), class_weights)


def powered(parts: Iterable[tuple[float | Array, Array]], class_weights: Array) -> Array:
    r"""Take log joints to powers: the log of :math:`\pi_k \prod_b p_b(x_b \mid y = k)^{w_b}`, (..., n_classes).

    Parameters
    ----------
    parts : iterable of (power, (..., n_classes)); powers are numbers, or broadcast
        At least one, used one after the other.
    class_weights : (..., n_classes) or broadcastable
        Those in every part.
    """
    remaining = iter(parts)
    power, out = next(remaining)
    if np.ndim(power) or power != 1.0:
        out = power * out
    total = power
    for power, log_joint in remaining:
        out = out + power * log_joint
        total += power
    if np.any(total != 1.0):
        out += (1 - total) * finite_logarithm(class_weights)
    return out


def finite_logarithm(class_weights: Array) -> Array:
    """Return logarithms of class weights, and zero for weights of zero: what is impossible remains so."""
    return np.asarray(np.log(np.where(class_weights > 0, class_weights, 1.0)))


def exchange_weights(log_joint: Array, old: Array, new: Array) -> Array:
    """Return log p(y = k, x) under other class weights, (n_classes,): (..., n_classes)."""
    impossible = ((old == 0) & (new > 0)).reshape(-1, len(new)).any(0)
    if impossible.any():
        raise ValueError(
            f"the fit gives class number {int(impossible.argmax())} the weight zero, so nothing is known of its "
            "density under new class weights; fit to rows of it, or, if no estimator of another library is among "
            "the models, with proper class weights, such as bayesppl.Dirichlet(1.0)"
        )
    return np.asarray(log_joint + (logarithm(new) - finite_logarithm(old)))
