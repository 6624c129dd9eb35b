"""Everything a fit knows, as an ``xarray.DataTree`` by ArviZ's schema."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.arrays import Array, Theta
from bayesppl.model import GenerativeModel

if TYPE_CHECKING:
    import xarray as xr


def coord(values: list[Hashable]) -> Array:
    """Labels of one dimension, in a type that netCDF can hold."""
    labels = np.asarray(values)
    return labels.astype(str) if labels.dtype.kind in "OSU" else labels


def dataset(model: GenerativeModel, theta: Theta, leading: Mapping[str, Any]) -> xr.Dataset:
    """Label the arrays of a ``Theta`` whose leading axes are those of ``leading``."""
    import xarray as xr

    dims = model.dims
    coords = {name: coord(values) for name, values in model.coords.items()}
    used = {dim for name in theta for dim in dims[name]}
    return xr.Dataset(
        {name: ((*leading, *dims[name]), values) for name, values in theta.items()},
        coords={**leading, **{name: values for name, values in coords.items() if name in used}},
    )


def posterior_tree(
    model: GenerativeModel, theta: Theta, sample_stats: Mapping[str, Array], attrs: dict[str, Any]
) -> xr.DataTree:
    """Group draws and sampler statistics as ArviZ expects them."""
    import xarray as xr

    n_chains, n_draws = next(iter(theta.values())).shape[:2]
    leading = {"chain": np.arange(n_chains), "draw": np.arange(n_draws)}
    posterior = dataset(model, theta, leading)
    posterior.attrs = {
        "inference_library": "bayesppl",
        "inference_library_version": version("bayesppl"),
        "sample_dims": ["chain", "draw"],
        **attrs,
    }
    groups = {"posterior": posterior}
    if sample_stats:
        groups["sample_stats"] = xr.Dataset(
            {name: (("chain", "draw"), values) for name, values in sample_stats.items() if values.ndim == 2},
            coords=leading,
        )
    return xr.DataTree.from_dict(groups)
