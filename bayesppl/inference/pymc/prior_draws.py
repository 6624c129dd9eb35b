"""Draws of the prior of a model in PyMC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymc as pm
from pymc.distributions.transforms import _default_transform
from pytensor.compile.mode import Mode

from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Theta


def draw_variables(model: pm.Model, variables: Sequence[Any], size: int, seed: int) -> Theta:
    """Draw variables from the prior of a model, by name, the axis of the draws leading.

    Raises
    ------
    NotConjugateError
        If a potential or a transform is a factor of the prior, or PyMC has no draws of a distribution.
    """
    if (words := cut_by(model, model.potentials)) is not None:
        raise NotConjugateError(f"{words}, which has no draws of its own")
    try:
        drawn = pm.draw(list(variables), size, random_seed=seed, mode=Mode("py", None))
    except NotImplementedError as error:  # of flat priors, and of those declared by a density alone
        raise NotConjugateError(f"PyMC has no draws of the prior: {error}") from None
    return {variable.name: values for variable, values in zip(variables, drawn, strict=True)}


def cut_by(model: pm.Model, potentials: Sequence[Any]) -> str | None:
    """Say which potential or transform makes the prior another than PyMC draws from; None where none does.

    Parameters
    ----------
    potentials : sequence of graphs
        Those that are factors of the prior.
    """
    for potential in potentials:
        return f"the potential {potential.name!r} is a factor of the prior"
    for variable, transform in model.rvs_to_transforms.items():
        if transform is not None and type(transform) is not type(_default_transform(variable.owner.op, variable)):
            return f"the transform {type(transform).__name__} confines the prior of {variable.name!r}"
    return None
