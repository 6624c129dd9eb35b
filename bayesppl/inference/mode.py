"""The mode of a posterior without closed form, in the natural parametrisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from bayesppl.arrays import Theta
from bayesppl.conjugates import Joint
from bayesppl.errors import UndefinedEstimateError
from bayesppl.inference.compiled import compile_density, constrain
from bayesppl.inference.pymc_model import hyperparameters, to_pymc
from bayesppl.model import GenerativeModel
from bayesppl.statistics import JointStatistics

_STARTS = 3


def find_mode(model: GenerativeModel, prior: Joint, statistics: JointStatistics) -> Theta:
    """Maximise the joint posterior density of all parameters, as a density of the family's own parameters.

    A prior on a standard deviation or a Cholesky factor is turned into one on the variance or covariance, so that
    ``map`` means the same whatever the prior was declared on. Parts of the prior with a closed form are solved by it.

    Raises
    ------
    UndefinedEstimateError
        If the density has no maximum that can be found.
    """
    import pymc as pm
    import pytensor.tensor as pt

    pymc_model = to_pymc(model, prior, statistics, None, None, "statistics")
    with pymc_model:
        for prefix, part in prior.leaves():
            if not part.has_closed_form:
                pm.Potential(
                    f"log_volume_{prefix}{part.parameters[0]}", pt.as_tensor(-part.log_volume(pymc_model, prefix))
                )
    density = compile_density(pymc_model, jacobian=False, interpreted=True)
    start = pymc_model.initial_point(0)
    centre = np.concatenate([np.ravel(start[name]) for name in density.shapes])
    rng = np.random.default_rng(0)
    found = [
        minimize(lambda point: _downhill(density, point), centre + spread, jac=True, method="L-BFGS-B")
        for spread in rng.uniform(-0.5, 0.5, (_STARTS, len(centre)))
    ]
    best = min(found, key=lambda result: result.fun)
    if not np.isfinite(best.fun) or np.abs(best.x).max() > 1e3 + np.abs(centre).max() * 1e3:
        raise UndefinedEstimateError(
            "the posterior density has no mode that can be found: it may grow without bound at an edge of the parameters. "
            "Use rule='mean' or 'predictive'."
        )
    names = [*model.dims, *hyperparameters(pymc_model)]
    modes = constrain(pymc_model, names, density.split(best.x[None]))
    return {**{name: values[0] for name, values in modes.items()}, **_closed_form_modes(prior, statistics)}


def _closed_form_modes(prior: Joint, statistics: JointStatistics, prefix: str = "") -> Theta:
    """Modes of the parts of the prior that have a closed form; parts are independent given the data too."""
    modes: Theta = {}
    for name, part in prior.parts.items():
        inner = prefix + prior.prefixes[name]
        if isinstance(part, Joint):
            modes |= _closed_form_modes(part, statistics.parts[name], inner)
        elif part.has_closed_form:
            modes |= {inner + key: value for key, value in part.update(statistics.parts[name]).mode().items()}
    return modes


def _downhill(density: Any, point: Any) -> tuple[float, Any]:
    value, gradient = density(point)
    return -value, -gradient
