"""Rows to compare densities at: like those observed, and others."""

from __future__ import annotations

import numpy as np

from bayesppl.kernels.arrays import Array

#: How many rows are tried.
ROWS = 24


def rows_like(observed: Array, support: str, rng: np.random.Generator, bounds: Array | None = None) -> Array:
    """Rows from the support of a distribution, in the shape and type of those observed: (ROWS, ...).

    Parameters
    ----------
    support : {"real", "positive", "count", "binary", "level", "shares"}
    bounds : array, optional
        Largest counts, or numbers of levels.
    """
    taken = observed[rng.integers(0, len(observed), ROWS)]
    shape, dtype = taken.shape, taken.dtype
    if support == "real":
        scale = float(np.std(observed)) or 1.0
        return (taken + scale * rng.normal(size=shape)).astype(dtype)
    if support == "positive":
        return (taken * np.exp(rng.normal(size=shape))).astype(dtype)
    if support == "count":
        counts = taken + rng.integers(0, 4, shape)
        if bounds is None:
            return counts.astype(dtype)
        limits = np.broadcast_to(bounds.reshape(-1, 1) if len(bounds) == ROWS else bounds, (ROWS, counts[0].size))
        return np.minimum(counts, limits.reshape(shape)).astype(dtype)
    if support == "shares":
        return np.asarray(rng.permuted(taken, axis=-1))
    n_levels = np.asarray(2 if bounds is None else np.broadcast_to(bounds, (taken[0].size,)).reshape(shape[1:]))
    return rng.integers(0, n_levels, shape).astype(dtype)


def given_like(held: Array, rng: np.random.Generator) -> Array:
    """What is given with rows, such as exposures: (ROWS, ...)."""
    taken = held[rng.integers(0, len(held), ROWS)]
    if taken.dtype.kind == "f":
        return np.asarray(taken * np.exp(rng.normal(size=taken.shape)))
    return np.asarray(taken + rng.integers(0, 3, taken.shape, dtype=taken.dtype))
