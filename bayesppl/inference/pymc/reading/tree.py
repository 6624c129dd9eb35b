"""Draws and tables in the words of the user's model."""

from __future__ import annotations

from typing import Any

import numpy as np
from pytensor.graph.traversal import ancestors

from bayesppl.inference.pymc.graphs import Interpreter, substitute
from bayesppl.inference.pymc.reading.blocks import Reading
from bayesppl.inference.pymc.reading.fitted import block_names
from bayesppl.kernels.arrays import Theta
from bayesppl.model.declaration import CLASS_WEIGHTS


def recognition_table(reading: Reading) -> Any:
    """A row for every part of a model."""
    import pandas as pd

    rows = [
        {
            "block": reading.label.name if block.component.holds_label and not block.observed else block.name,
            "variables": ", ".join(v.name for v in block.component.free),
            "family": block.family,
            "prior": block.prior,
            "solution": block.solution,
            "why": block.why,
        }
        for block in reading.blocks
    ]
    return pd.DataFrame(rows).set_index("block")


def user_tree(reading: Reading, posterior: Any, draws: int, chains: int, random_state: int | None) -> Any:
    """Posterior draws of the user's variables, as a DataTree."""
    import xarray as xr

    theta = posterior.draws(chains, draws, np.random.default_rng(random_state))
    lead = theta[CLASS_WEIGHTS].shape[:2]
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in theta.items()}
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
        if block.component.holds_label:
            own = {CLASS_WEIGHTS: flat[CLASS_WEIGHTS]}
        else:
            prefix = f"{names[block]}_" if len(names) > 1 else ""
            own = {name: flat[prefix + name] for name in block.solved.belief.parameters}
        density = block.solved.density  # None where nothing is learned
        mapped = {} if density is None else density.variables_at(own, density.coordinates.start)
        if mapped is None:
            missing += [v.name for v in block.component.free]
            found |= own
        else:
            found |= mapped
    found |= deterministics(reading, found)
    data = {
        name: (("chain", "draw", *_dims(reading, name, values.ndim - 1)), values.reshape(*lead, *values.shape[1:]))
        for name, values in found.items()
    }
    used = {dim for dims, _ in data.values() for dim in dims}
    coords = {
        dim: np.asarray(labels)
        for dim, labels in reading.model.coords.items()
        if dim in used and labels is not None
    }
    dataset = xr.Dataset(data, coords={"chain": np.arange(lead[0]), "draw": np.arange(lead[1]), **coords})
    groups = {"posterior": dataset}
    if posterior.sample_stats:
        groups["sample_stats"] = xr.Dataset({k: (("chain", "draw"), v) for k, v in posterior.sample_stats.items()})
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"inference_library": "bayesppl", **{k: str(v) for k, v in posterior.record.items()}}
    if missing:
        tree.attrs["left_out"] = (
            f"{', '.join(missing)}: computed from the family's parameters only in the other direction"
        )
    for child in tree.children.values():
        child.attrs["sample_dims"] = ["chain", "draw"]
    return tree


def _dims(reading: Reading, name: str, ndim: int) -> tuple[str, ...]:
    own = reading.model.named_vars_to_dims.get(name)
    return tuple(own) if own and len(own) == ndim else tuple(f"{name}_dim_{axis}" for axis in range(ndim))


def deterministics(reading: Reading, draws: Theta) -> Theta:
    """Deterministic variables that are computed from free variables whose draws are known."""
    free = [v for v in reading.model.free_RVs if v.name in draws]
    others = [v for v in reading.model.free_RVs if v.name not in draws]
    observed = list(reading.model.observed_RVs)
    found: Theta = {}
    for variable in reading.model.deterministics:
        above = set(ancestors([variable]))
        dims = reading.model.named_vars_to_dims.get(variable.name) or ()
        rows = reading.model.named_vars_to_dims.get(reading.label.name) or ("row",)
        if above & set(others) or above & set(observed) or rows[0] in dims or not above & set(free):
            continue
        [graph] = substitute([variable], {v: reading.inputs[v] for v in free})
        call = Interpreter([reading.inputs[v] for v in free], (), [graph])
        [found[variable.name]] = call([draws[v.name] for v in free])
    return found
