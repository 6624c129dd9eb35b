"""Models some of whose labels or cells are missing, as models of complete rows and a list of the gaps.

PyMC takes a masked variable apart: what is there is observed, what is not is a variable that is learned, and a
deterministic variable joins the two. Here they become one observed variable again, with anything where there is
nothing: how a model is read does not depend on what its rows hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.distribution import PartialObservedRV, create_partial_observed_rv
from pytensor.graph.basic import equal_computations
from pytensor.graph.traversal import ancestors
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.subtensor import AdvancedSubtensor, Subtensor

from bayesppl.data.partly_known import PartlyKnown
from bayesppl.data.rows import Rows
from bayesppl.families.gaps import have_gaps
from bayesppl.inference.pymc.graphs import evaluate, substitute, value_of
from bayesppl.inference.pymc.reading.blocks import Reading
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import GenerativeModel


def complete(model: Any) -> tuple[Any, dict[str, Array]]:
    """Return the model with some value wherever labels or cells are missing, and where they are, by variable.

    Raises
    ------
    ValueError
        If it does not follow from a variable how the missing part of it is distributed.
    """
    names = {v.name: v.name.removesuffix("_observed") for v in model.observed_RVs}
    names = {held: name for held, name in names.items() if f"{name}_unobserved" in model.named_vars}
    if not names:
        return model, {}
    found, missing = pm.Model(), dict[str, Array]()
    for dim, labels in model.coords.items():
        found.add_coord(dim, labels, length=None if labels is not None else model.dim_lengths[dim])
    replaced: dict[Any, Any] = {}
    own_variables = set(model.basic_RVs)
    for own in model.named_vars.values():  # in the order of the user, by which rows in an array are found
        if own not in own_variables or own.name.removesuffix("_unobserved") in names.values():
            continue
        name, variable = names.get(own.name, own.name), own
        data: Any = evaluate([model.rvs_to_values[own]])[0] if own in model.observed_RVs else None
        if own.name in names:
            joined = model[name].owner.inputs[0].owner.inputs
            there = np.asarray(value_of(joined[2]))
            variable = _whole(own, there, name)
            data, missing[name] = _filled(data, there)
        # a variable belongs to one model
        [graph] = substitute([variable], replaced)
        new = graph.owner.clone().outputs[graph.owner.outputs.index(graph)]
        transform = model.rvs_to_transforms[own]
        dims, initial = model.named_vars_to_dims.get(name), model.rvs_to_initial_values.get(own)
        found.register_rv(new, name, observed=data, dims=dims, default_transform=transform, initval=initial)
        replaced |= {own: new, model[name]: new}
    with found:
        for kind, variables in ((pm.Potential, model.potentials), (pm.Deterministic, model.deterministics)):
            for own in variables:
                if own.name not in missing:
                    kind(own.name, substitute([own], replaced)[0], dims=model.named_vars_to_dims.get(own.name))
    return found, missing


def require_rows(model: Any, n_rows: int, missing: Mapping[str, Array]) -> None:
    """Refuse variables that others are computed from, that lack values, and that are no rows."""
    above = set(ancestors([v for own in model.basic_RVs for v in own.owner.inputs]))
    for name, gaps in missing.items():
        if len(gaps) != n_rows and model[name] in above:
            raise ValueError(
                f"{name!r}, from which others are computed, lacks a value, which is learned from rows alone; give "
                "what is known a variable of its own, and what is not known one without observed="
            )


def partly_known(reading: Reading, model: GenerativeModel, rows: Rows, missing: Mapping[str, Array]) -> Rows:
    """Set rows without labels apart from the others, and rows that lack cells which sums need.

    Raises
    ------
    ValueError
        If a part of the model has no closed form.
    """
    for block in reading.blocks:
        if block.solved is None and block.solution != "unused":
            why = f" ({block.why})" if block.why else ""
            raise ValueError(
                f"labels or cells of {', '.join(map(repr, missing))} are missing, which is learned from where all "
                f"parts have a closed form, and {block.name!r} has none{why}; give the model the rows that are "
                "known, and predict the others"
            )
    without = missing.get(reading.label.name, np.zeros(len(rows), dtype=bool))
    lacking = have_gaps(model.family, model.family.bound.encode(rows.table))
    known = np.flatnonzero(~without)
    labelled = replace(rows, table=rows.table.take(known), codes=rows.codes[known])
    if without.any():
        places = np.flatnonzero(without)
        labelled = replace(labelled, partly=PartlyKnown(rows.table, places, np.ones(len(places))))
    return labelled.with_partly(np.flatnonzero(lacking[known]))


def _whole(observed: Any, there: Array, name: str) -> Any:
    """Rebuild the variable of which this is the observed part.

    It is the right one if, when PyMC takes the observed cells out of it, their distribution is that of this part.
    """
    node = observed.owner
    if isinstance(node.op, PartialObservedRV):
        return node.inputs[0]
    size = there.shape
    rng, _, *parameters = node.inputs
    whole = node.op.make_node(rng, size, *map(_before_selection, parameters)).outputs[1]
    (again, _), _, _ = create_partial_observed_rv(whole, ~there)
    if not equal_computations(again.owner.inputs[2:], parameters):
        raise ValueError(
            f"some cells of {name!r} are missing, in a way that is not read; fill them in, or drop the rows"
        )
    return whole


def _before_selection(parameter: Any) -> Any:
    """Return a parameter of all cells, from that of the observed ones."""
    node = parameter.owner
    if node is not None and isinstance(node.op, DimShuffle):  # one for all cells
        node = node.inputs[0].owner
    is_selected = node is not None and isinstance(node.op, AdvancedSubtensor | Subtensor)
    return node.inputs[0] if is_selected else parameter


def _filled(values: Array, there: Array) -> tuple[Array, Array]:
    """Fill missing cells with the first value of their column, and return which are missing."""
    found = np.zeros((*there.shape, *values.shape[1:]), dtype=values.dtype)
    found[there] = values
    missing = np.broadcast_to(~there.reshape(*there.shape, *(1,) * (found.ndim - there.ndim)), found.shape)
    first = np.take_along_axis(found, missing.argmin(0)[None], 0)
    return np.where(missing, first, found), np.array(missing)
