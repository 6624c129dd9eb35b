"""Parameters as labelled arrays: estimates, convergence, and what a tree is made of."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import MEASURES
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.rules import ESTIMATES, RuleName

if TYPE_CHECKING:
    import xarray as xr


def coord(values: list[Hashable]) -> Array:
    """Labels of one dimension, in a type that netCDF can hold."""
    labels = np.asarray(values)
    return labels.astype(str) if labels.dtype.kind in "OSU" else labels


def dataset(
    model: GenerativeModel,
    theta: Theta,
    leading: Mapping[str, Any],
    hyper_dims: Mapping[str, tuple[str, ...]] | None = None,
) -> xr.Dataset:
    """Label the arrays of a ``Theta`` whose leading axes are those of ``leading``."""
    import xarray as xr

    dims = {**(hyper_dims or {}), **model.dims}
    coords = {name: coord(values) for name, values in model.coords.items()}
    used = {dim for name in theta for dim in dims[name]}
    return xr.Dataset(
        {name: ((*leading, *dims[name]), values) for name, values in theta.items()},
        coords={**leading, **{name: values for name, values in coords.items() if name in used}},
    )


def estimates(fitted: Fitted, rules: Sequence[RuleName] | None = None) -> xr.Dataset:
    """Point estimates of all parameters, along a dimension named "estimate".

    Parameters
    ----------
    fitted : Fitted
    rules : sequence of {"mle", "map", "mean"}, optional
        All three by default. One that does not exist for these data is then NaN, and the attribute ``undefined_map``, or that of
        another rule, holds the reason.

    Raises
    ------
    UndefinedEstimateError
        If one of the ``rules`` that are asked for by name does not exist for these data.
    """
    posterior, model = fitted.posterior, fitted.posterior.model
    thetas: list[Theta] = []
    reasons: dict[str, str] = {}
    wanted = ESTIMATES if rules is None else rules
    for rule in wanted:
        try:
            thetas.append(posterior.theta(rule))
        except (UndefinedEstimateError, NotConjugateError) as reason:
            if rules is not None:
                raise
            reasons[f"undefined_{rule}"] = str(reason)
            sizes = {name: [len(model.coords[dim]) for dim in dims] for name, dims in model.dims.items()}
            thetas.append({name: np.full(shape, np.nan) for name, shape in sizes.items()})
    stacked = {name: np.stack([theta[name] for theta in thetas]) for name in model.dims}
    return dataset(model, stacked, {"estimate": list(wanted)}).assign_attrs(reasons)


def diagnostics(fitted: Fitted) -> xr.Dataset:
    """Convergence of a sampled posterior: R-hat, bulk and tail effective sample size of every parameter.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        Along a dimension named "measure"; the attribute ``problems`` describes what is wrong, if anything.
        Closed forms and approximations have no chains to compare, and no variables here.
    """
    posterior = fitted.posterior
    diagnosis = posterior.diagnosis
    measures = dataset(posterior.model, diagnosis.measures, {"measure": list(MEASURES)}, posterior.hyper_dims)
    measures.attrs["problems"] = storable(diagnosis.problems)
    return measures


def storable(value: Any) -> Any:
    """Attributes that netCDF can hold."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return " | ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
