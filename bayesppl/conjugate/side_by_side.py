"""Simplices of different lengths that lie side by side on one axis, declared in PyMC."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.kernels.arrays import Array


def dirichlets(concentration: Any, sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare Dirichlet distributions of the shape of the dims in the current ``pm.Model``."""
    import pymc as pm

    if not sizes:
        return pm.Dirichlet(name, a=concentration, dims=dims)
    # simplices of equal length are declared together: the graph compiles faster
    drawn = [
        pm.Dirichlet(free, a=concentration[:, cells])
        for free, cells in zip(free_names(sizes, name), _cells_by_size(sizes), strict=True)
    ]
    return side_by_side(drawn, sizes, name, dims)


def side_by_side(simplices: list[Any], sizes: tuple[int, ...], name: str, dims: tuple[str, ...]) -> Any:
    """Declare simplices (class, column, outcome), grouped by size, as one variable, all on its last axis."""
    import pymc as pm
    import pytensor.tensor as pt

    flat = [values.reshape((values.shape[0], -1)) for values in simplices]
    order = np.argsort(np.concatenate([cells.ravel() for cells in _cells_by_size(sizes)]))
    return pm.Deterministic(name, pt.concatenate(flat, axis=1)[:, order], dims=dims)


def free_names(sizes: tuple[int, ...], name: str) -> list[str]:
    """Name the free variables: one for every size that occurs."""
    return [f"{name}_of_{size}" for size in np.unique(sizes)] if sizes else [name]


def _cells_by_size(sizes: tuple[int, ...]) -> list[Array]:
    """Return the places of all simplices of each size, (n_simplices, size), the smallest size first."""
    starts, lengths = np.cumsum((0, *sizes[:-1])), np.asarray(sizes)
    return [starts[lengths == size, None] + np.arange(size) for size in np.unique(lengths)]
