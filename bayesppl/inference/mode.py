"""The mode of a posterior without closed form, in the natural parametrisation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.errors import UndefinedEstimateError
from bayesppl.inference.pymc.build import hyperparameters, to_pymc
from bayesppl.inference.pymc.model_density import constrain, log_density, unconstrain
from bayesppl.kernels.arrays import Array, Theta, join_chains, select_draws
from bayesppl.model.declaration import GenerativeModel

# Searches, from as many places, and draws that set how far apart these are.
_STARTS = 3
_DRAWS = 400

# A search that ends more spreads of the posterior away than this, or where the density is steeper, in such
# spreads, has found no mode.
_FAR, _STEEP = 1e3, 0.1

#: The value of a log density at a point, and its gradient there.
WithGradient = Callable[[Array], tuple[float, Array]]


def maximise(density: WithGradient, start: Array, scale: Array | float = 1.0) -> Array:
    """Search a maximum of a density by L-BFGS, in coordinates in which ``scale`` is one."""

    def downhill(z: Array) -> tuple[float, Array]:
        value, gradient = density(start + scale * z)
        return -value, -gradient * scale

    return start + scale * minimize(downhill, np.zeros(len(start)), jac=True, method="L-BFGS-B").x


def find_mode(
    model: GenerativeModel, prior: Joint, statistics: JointStatistics, samples: Theta | None = None
) -> Theta:
    """Maximise the joint posterior density of all parameters, as a density of the family's own parameters.

    A prior on a standard deviation or a Cholesky factor is turned into one on the variance or covariance, so that
    ``map`` means the same whatever the prior was declared on. Parts of the prior with a closed form are solved by
    it.

    Parameters
    ----------
    samples : Theta, optional
        Posterior draws, (chain, draw) leading: the search starts among them, in coordinates in which they have no
        correlation. Without them it starts around PyMC's initial point.

    Raises
    ------
    UndefinedEstimateError
        If the density has no maximum that can be found.
    """
    import pymc as pm
    import pytensor.tensor as pt

    pymc_model = to_pymc(model, prior, statistics)
    with pymc_model:
        for prefix, part in prior.leaves():
            if not part.has_closed_form:
                pm.Potential(
                    f"log_volume_{prefix}{part.parameters[0]}", pt.as_tensor(-part.log_volume(pymc_model, prefix))
                )
    density = log_density(pymc_model, jacobian=False)
    learned = list(hyperparameters(pymc_model))
    searched = {pymc_model.rvs_to_values[pymc_model[name]].name for name in learned}
    moves = np.concatenate([np.full(values.size, name in searched) for name, values in density.start.items()])
    point = density.centre
    rng = np.random.default_rng(0)
    if samples is None:
        points = point[moves] + rng.uniform(-0.5, 0.5, (_DRAWS, moves.sum()))
    else:
        flat = join_chains({name: samples[name] for name in learned})
        chosen = rng.integers(len(flat[learned[0]]), size=_DRAWS)
        drawn = unconstrain(pymc_model, learned, select_draws(flat, chosen))
        points = np.concatenate(
            [drawn[name].reshape(_DRAWS, -1) for name in density.shapes if name in searched], 1
        )
    centre, root = points.mean(0), _root(points)

    def whole(coordinates: Array) -> Array:
        full = point.copy()
        full[moves] = centre + root @ coordinates
        return full

    def downhill(coordinates: Array) -> tuple[float, Array]:
        value, gradient = density(whole(coordinates))
        return -value, -root.T @ gradient[moves]

    starts = [np.zeros(len(centre)), *np.linalg.solve(root, (points[: _STARTS - 1] - centre).T).T]
    options = {"ftol": 1e-13, "maxiter": 5000}
    with np.errstate(all="ignore"):  # a search for what has no mode runs out of numbers
        found = [minimize(downhill, at, jac=True, method="L-BFGS-B", options=options) for at in starts]
    best = min(found, key=lambda result: result.fun)
    if not np.isfinite(best.fun) or np.abs(best.x).max() > _FAR or not np.abs(best.jac).max() < _STEEP:
        raise UndefinedEstimateError(
            "the posterior density has no mode that can be found: it may grow without bound at an edge of the "
            "parameters. Use rule='mean' or 'predictive'."
        )
    modes = constrain(pymc_model, [*model.dims, *learned], density.split(whole(best.x)[None]))
    return {**select_draws(modes, 0), **_closed_form_modes(prior, statistics)}


def _root(points: Array) -> Array:
    """Compute a Cholesky factor of the covariance of points, a tenth of it shrunk to its diagonal.

    Shrunk, the covariance of a few points has a factor too.
    """
    covariance = np.atleast_2d(np.cov(points.T))
    return np.linalg.cholesky(0.9 * covariance + 0.1 * np.diag(np.diag(covariance)))


def _closed_form_modes(prior: Joint, statistics: JointStatistics, prefix: str = "") -> Theta:
    """Return the modes of the parts of the prior with a closed form; given the data, parts are independent too."""
    modes: Theta = {}
    for name, part in prior.parts.items():
        inner = prefix + prior.prefixes[name]
        if isinstance(part, Joint):
            modes |= _closed_form_modes(part, statistics.parts[name], inner)
        elif part.has_closed_form:
            modes |= {inner + key: value for key, value in part.update(statistics.parts[name]).mode().items()}
    return modes
