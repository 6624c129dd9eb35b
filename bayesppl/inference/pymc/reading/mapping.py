"""Draws of a family's parameters as draws of the user's own variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesppl.inference.pymc.reading.graphs import substitute
from bayesppl.inference.pymc.reading.interpreter import Interpreter
from bayesppl.inference.pymc.reading.inverse import variables_at
from bayesppl.inference.pymc.reading.parts import Block, Reading
from bayesppl.kernels.arrays import Theta


def user_draws(block: Block, theta: Theta) -> Theta | None:
    """Free variables of a block at draws of its family's parameters; None where they cannot be found.

    Parameters
    ----------
    theta : Theta
        In the shapes of the family; the draw axis leads.
    """
    solved = block.solved
    if solved is None or solved.density is None:
        return {}
    n_draws = len(next(iter(theta.values())))
    start = [np.broadcast_to(values, (n_draws, *values.shape)) for values in solved.density.coordinates.start]
    return variables_at(solved.density, solved.natural, theta, start)


def deterministics(reading: Reading, draws: Theta) -> Theta:
    """Deterministic variables that are computed from free variables whose draws are known."""
    free = [v for v in reading.model.free_RVs if v.name in draws]
    others = [v for v in reading.model.free_RVs if v.name not in draws]
    observed = list(reading.model.observed_RVs)
    found: Theta = {}
    for variable in reading.model.deterministics:
        above = _above(variable)
        dims = reading.model.named_vars_to_dims.get(variable.name) or ()
        rows = reading.model.named_vars_to_dims.get(reading.label.name) or ("row",)
        if above & set(others) or above & set(observed) or rows[0] in dims or not above & set(free):
            continue
        [graph] = substitute([variable], {v: reading.inputs[v] for v in free})
        call = Interpreter([reading.inputs[v] for v in free], (), [graph])
        [found[variable.name]] = call([draws[v.name] for v in free])
    return found


def _above(variable: Any) -> set[Any]:
    from pytensor.graph.traversal import ancestors

    return set(ancestors([variable]))
