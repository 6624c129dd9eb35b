"""Likelihoods that could be those of a family: parameters per class, by the distribution of the observed variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from bayesppl.inference.pymc.reading.graphs import evaluate, substitute
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.proposals import BUILDERS, ENTRYWISE, PER_ROW, At, Proposal
from bayesppl.inference.pymc.reading.rows import Observed


def propose(
    observed: Sequence[Observed], n_classes: int, coordinates: Coordinates, rng: np.random.Generator
) -> Proposal | str:
    """The family that observed variables of one block could be, or the reason why there is none."""
    kinds = {type(x.clone.owner.op) for x in observed}
    if len(kinds) > 1:
        return "variables of different distributions share parameters"
    [kind] = kinds
    build = BUILDERS.get(kind)
    if build is None:
        return f"{_words(observed[0])} is no family with a closed form"
    if len(observed) > 1 and kind not in ENTRYWISE:
        return "several vectors share parameters"
    given = {name: values for x in observed for name, values in x.held.items()}
    parameters = [_per_class(x, n_classes) for x in observed]
    at = At(coordinates, coordinates.draw(3, rng))
    if not given:
        return build(parameters, at)
    if kind not in PER_ROW or len(given) > 1 or next(iter(given.values())).size != len(observed[0].observed):
        return f"its rows depend on {', '.join(map(repr, given))}, given for each row"
    return PER_ROW[kind](parameters, at, next(iter(given)))


def _per_class(observed: Observed, n_classes: int) -> list[Any]:
    """Parameters of the distribution for every class, the class axis leading."""
    codes = np.arange(n_classes)
    n_codes = max(n_classes, observed.length or 0)
    padded = np.concatenate([codes, np.zeros(n_codes - n_classes, dtype=np.int64)])
    parameters = observed.clone.owner.op.dist_params(observed.clone.owner)
    units = {  # of what is given per row, one: the parameters are those of a row with unit exposure
        new: pt.ones((n_codes, *np.shape(observed.held[name])[1:]), dtype=new.dtype)
        for name, new in observed.given.items()
    }
    replaced = substitute(parameters, {observed.codes: pt.constant(padded), **units})
    op, lead = observed.clone.owner.op, observed.observed.shape[1:]
    batch = (n_codes, *lead[: len(lead) - op.ndim_supp])
    return [
        _filled(parameter, batch, n)[:n_classes] for parameter, n in zip(replaced, op.ndims_params, strict=True)
    ]


def _filled(parameter: Any, batch: tuple[int, ...], n_core: int) -> Any:
    """A parameter broadcast to the axes before those of its own."""
    lead = parameter.ndim - n_core
    if parameter.type.shape[:lead] == batch:
        return parameter
    core = parameter.type.shape[lead:]
    if None in core:
        core = tuple(evaluate([parameter.shape[lead:]])[0])
    # not broadcast_to, which looks for the static shape of what it makes at great length
    return pt.second(pt.constant(np.zeros((*batch, *core), dtype=np.int8)), parameter)


def _words(observed: Observed) -> str:
    op = observed.variable.owner.op
    name = getattr(op, "_print_name", None)
    return str(name[0] if name else op.name or type(op).__name__)
