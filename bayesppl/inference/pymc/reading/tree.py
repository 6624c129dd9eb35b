"""Draws and tables in the words of the user's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.traversal import ancestors

from bayesppl.data.names import listed
from bayesppl.errors import NotConjugateError
from bayesppl.inference.pymc.graphs import Interpreter, evaluate, substitute
from bayesppl.inference.pymc.model_density import log_priors
from bayesppl.inference.pymc.prior_draws import draw_variables
from bayesppl.inference.pymc.reading.blocks import Reading
from bayesppl.inference.pymc.reading.solving import block_names
from bayesppl.kernels.arrays import Theta
from bayesppl.model.declaration import CLASS_WEIGHTS


def recognition_table(reading: Reading) -> Any:
    """Return a table with a row for every part of a model."""
    import pandas as pd

    rows = [
        {
            "block": reading.label.name if block.holds_label and not block.observed else block.name,
            "variables": ", ".join(v.name for v in block.coordinates.free),
            "family": block.family,
            "prior": block.prior,
            "solution": block.solution,
            "why": block.why,
        }
        for block in reading.blocks
    ]
    return pd.DataFrame(rows).set_index("block")


def posterior_group(reading: Reading, posterior: Any, flat: Theta, lead: Mapping[str, Any]) -> Any:
    """Return posterior draws of the user's variables, as a Dataset.

    Parameters
    ----------
    flat : Theta
        Draws of the parameters, their axis leading.
    lead : mapping of str to labels
        Of the chains and draws that this axis is made of.
    """
    found, missing = _variables(reading, posterior, flat)
    dataset = _dataset(reading, found | deterministics(reading, found), lead)
    if missing:
        dataset.attrs["left_out"] = (
            f"{', '.join(missing)}: computed from the family's parameters only in the other direction"
        )
    return dataset


def in_order_of(model: pm.Model, tree: Any) -> Any:
    """Return posterior draws in the order of the model's dims and coords.

    Raises
    ------
    ValueError
        If they have other coords, no chains or too few draws, or were drawn given other values.
    """
    drawn = tree["posterior"].to_dataset()
    sizes = {dim: drawn.sizes.get(dim, 0) for dim in ("chain", "draw")}
    if not sizes["chain"] or sizes["draw"] < 2:
        raise ValueError(
            f"draws must have chains of two draws or more, as pm.sample returns them, found the sizes {sizes}: "
            "sample two draws or more, and keep the dims chain and draw, as by isel(chain=[0])"
        )
    of_model = {v.name: tuple(model.named_vars_to_dims.get(v.name) or ()) for v in model.free_RVs}
    for dim in {dim for dims in of_model.values() for dim in dims} & drawn.indexes.keys():
        own, labels = drawn.indexes[dim], list(model.coords[dim] or drawn.indexes[dim])
        order = _places(own, labels)
        if sorted(order) != list(range(len(own))):
            raise ValueError(
                f"the draws have the coords {listed(own.tolist())} of {dim!r}, and the model has "
                f"{listed(labels)}: pass what pm.sample returns for this model"
            )
        drawn = drawn.isel({dim: order})
    seen = tree.children.get("observed_data", {})
    for variable in model.observed_RVs:
        [values] = evaluate([model.rvs_to_values[variable]])
        if variable.name in seen and not np.array_equal(seen[variable.name].values, values, equal_nan=True):
            raise ValueError(
                f"the draws were made given other values of {variable.name!r} than the model holds: sample it "
                "again"
            )
    for name in of_model.keys() & drawn.keys():
        if set(of_model[name]) <= set(drawn[name].dims):
            drawn[name] = drawn[name].transpose("chain", "draw", *of_model[name], ...)
    return drawn


def _places(index: Any, labels: list[Any]) -> list[int]:
    """Find labels in an index, which holds them as xarray does: dates as time stamps, of other types texts."""
    try:
        sought = type(index)(labels).astype(index.dtype)
        if index.equals(sought):
            return list(range(len(index)))
        return index.get_indexer(sought).tolist() if index.is_unique else []
    except (TypeError, ValueError):
        return []


def log_prior_group(reading: Reading, posterior: Any, flat: Theta, lead: Mapping[str, Any]) -> Any:
    """Compute the prior log density of every variable, and potentials of the prior, at posterior draws."""
    found, missing = _variables(reading, posterior, flat)
    model = reading.model
    free = [variable for variable in model.free_RVs if variable.name in found]
    if missing or (model.potentials and len(free) < len(model.free_RVs)):
        raise NotConjugateError(f"draws of {', '.join(missing) or 'unused variables'} are not known")
    return _dataset(reading, log_priors(free, model.potentials, found), lead)


def prior_group(reading: Reading, lead: Mapping[str, Any], seed: int) -> Any:
    """Draw from the prior of the user's variables."""
    model = reading.model
    size = int(np.prod([len(labels) for labels in lead.values()]))
    found = draw_variables(model, model.free_RVs, model.potentials, size, seed)
    return _dataset(reading, found | deterministics(reading, found), lead)


def _variables(reading: Reading, posterior: Any, flat: Theta) -> tuple[Theta, list[str]]:
    """Return draws of the user's variables, and the names of those that the draws do not determine."""
    found: Theta = {}
    missing: list[str] = []
    names = block_names(reading)
    for block in reading.blocks:
        if block.solution == "unused":
            continue
        if block.solved is None:
            part = posterior.sampled[names.get(block, CLASS_WEIGHTS)]
            samples = part.samples if part.family is None else part.family.in_model(part.samples)
            found |= {name: values.reshape(-1, *values.shape[2:]) for name, values in samples.items()}
            continue
        if block.holds_label:
            own = {CLASS_WEIGHTS: flat[CLASS_WEIGHTS]}
        else:
            prefix = f"{names[block]}_" if len(names) > 1 else ""
            own = {name: flat[prefix + name] for name in block.solved.belief.parameters}
        density = block.solved.density  # None where nothing is learned
        mapped = {} if density is None else density.variables_at(own, density.coordinates.start)
        if mapped is None:
            missing += [v.name for v in block.coordinates.free]
            found |= own
        else:
            found |= mapped
    return found, missing


def _dataset(reading: Reading, found: Theta, lead: Mapping[str, Any]) -> Any:
    """Give draws of variables of the model its dims and coords."""
    import xarray as xr

    shape = tuple(len(labels) for labels in lead.values())
    data = {
        name: (
            ("chain", "draw", *_dims(reading, name, values.ndim - 1)),
            values.reshape(*shape, *values.shape[1:]),
        )
        for name, values in found.items()
    }
    used = {dim for dims, _ in data.values() for dim in dims}
    coords = {
        dim: np.asarray(labels)
        for dim, labels in reading.model.coords.items()
        if dim in used and labels is not None
    }
    return xr.Dataset(data, coords={**lead, **coords})


def _dims(reading: Reading, name: str, ndim: int) -> tuple[str, ...]:
    own = reading.model.named_vars_to_dims.get(name)
    return tuple(own) if own and len(own) == ndim else tuple(f"{name}_dim_{axis}" for axis in range(ndim))


def deterministics(reading: Reading, draws: Theta) -> Theta:
    """Compute deterministic variables from draws of the free variables, where all they need are known."""
    free = [v for v in reading.model.free_RVs if v.name in draws]
    unknown = {*reading.model.observed_RVs, *reading.model.free_RVs}.difference(free)
    found: Theta = {}
    for variable in reading.model.deterministics:
        above = set(ancestors([variable]))
        dims = reading.model.named_vars_to_dims.get(variable.name) or ()
        rows = reading.model.named_vars_to_dims.get(reading.label.name) or ("row",)
        if above & unknown or rows[0] in dims or not above & set(free):
            continue
        [graph] = substitute([variable], {v: reading.inputs[v] for v in free})
        call = Interpreter([reading.inputs[v] for v in free], (), [graph])
        [found[variable.name]] = call([draws[v.name] for v in free])
    return found
