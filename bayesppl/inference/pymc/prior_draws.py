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
    if model.potentials:
        raise NotConjugateError(
            f"the potential {model.potentials[0].name!r} is a factor of the prior, which has no draws of its own"
        )
    require_unconfined(model)
    try:
        drawn = pm.draw(list(variables), size, random_seed=seed, mode=Mode("py", None))
    except NotImplementedError as error:  # of flat priors, and of those declared by a density alone
        raise NotConjugateError(f"PyMC has no draws of the prior: {error}") from None
    return {variable.name: values for variable, values in zip(variables, drawn, strict=True)}


def require_unconfined(model: pm.Model) -> None:
    """Refuse a prior that a transform confines to a part of its support: PyMC draws from all of it.

    Raises
    ------
    NotConjugateError
    """
    for variable, transform in model.rvs_to_transforms.items():
        if transform is not None and type(transform) is not type(_default_transform(variable.owner.op, variable)):
            raise NotConjugateError(
                f"the transform {type(transform).__name__} confines the prior of {variable.name!r}, which has no "
                "draws of its own"
            )
