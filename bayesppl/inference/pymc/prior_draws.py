"""Draws of the prior of a model in PyMC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
from pymc.distributions.transforms import Interval, _default_transform
from pytensor.compile.mode import Mode

from bayesppl.errors import NotConjugateError
from bayesppl.kernels.arrays import Theta

# Draws of a variable that a transform is tried on
_TRIED = 200


def draw_variables(
    model: pm.Model, variables: Sequence[Any], potentials: Sequence[Any], size: int, seed: int
) -> Theta:
    """Draw variables from the prior of a model, by name, the axis of the draws leading.

    Parameters
    ----------
    potentials : sequence of graphs
        Those that are factors of the prior.

    Raises
    ------
    NotConjugateError
        If a potential or a transform is a factor of the prior, or PyMC has no draws of a distribution.
    """
    if (words := cut_by(model, potentials)) is not None:
        raise NotConjugateError(f"{words}, which has no draws of its own")
    try:
        drawn = _draw(variables, size, seed)
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
    if potentials:
        return f"the potential {potentials[0].name!r} is a factor of the prior"
    for variable, transform in model.rvs_to_transforms.items():
        if transform is not None and _confines(transform, variable):
            return f"the transform {type(transform).__name__} confines the prior of {variable.name!r}"
    return None


def _confines(transform: Any, variable: Any) -> bool:
    """Whether draws of a variable lie outside of what a transform maps onto all numbers."""
    is_usual = type(transform) is type(_default_transform(variable.owner.op, variable))
    if is_usual and not isinstance(transform, Interval):
        return False
    try:
        image = _draw([transform.forward(variable, *variable.owner.inputs)], _TRIED, 0)[0]
    except NotImplementedError:  # without draws there is no telling
        return not is_usual
    return bool(np.isnan(image).any())


@np.errstate(invalid="ignore", divide="ignore")
def _draw(variables: Sequence[Any], size: int, seed: int) -> list[Any]:
    return list(pm.draw(list(variables), size, random_seed=seed, mode=Mode("py", None)))
