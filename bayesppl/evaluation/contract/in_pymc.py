"""The model that a family declares in PyMC has the density of the family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesppl.evaluation.contract.case import Case, lead, log_likelihood, of_rows
from bayesppl.inference.pymc.model_density import constrain
from bayesppl.kernels.arrays import Array, Theta, select_draws


def check_pymc_density(case: Case) -> None:
    """The PyMC model has the density of the rows, and by statistics that of the closed form up to a constant.

    Where the model's free variables are not the parameters themselves, the change of variables is accounted for by
    a numerical Jacobian.
    """
    for theta, log_prior, log_density, _ in _pymc_points(case, "rows"):
        # by its value: a factor of x alone, which no posterior shows, is a factor of the evidence
        np.testing.assert_allclose(
            log_density - log_prior,
            log_likelihood(case, theta)[0],
            rtol=1e-9,
            atol=1e-6,
            err_msg="log density of the rows in PyMC, and in the family (factors of x alone included)",
        )
    differences = []
    for theta, _, log_density, log_jacobian in _pymc_points(case, "statistics"):
        ours = float(case.prior.log_prob(theta)[0] + log_likelihood(case, theta)[0])
        differences.append(log_density - ours - log_jacobian)
    np.testing.assert_allclose(np.ptp(differences), 0.0, atol=1e-5, err_msg="likelihood='statistics'")


def check_pymc_likelihood(case: Case) -> None:
    """The PyMC model, by rows, by statistics and by statistics of weighted rows, has the likelihood of ours."""
    weights = case.rng.integers(1, 4, len(case.codes)).astype(float)
    weighted = of_rows(case, slice(None), weights)
    for observe, counted in (
        (lambda variables: case.family.observe_rows(variables, case.X, case.codes), np.ones(len(weights))),
        (lambda variables: case.family.observe_statistics(variables, case.statistics), np.ones(len(weights))),
        (lambda variables: case.family.observe_statistics(variables, weighted), weights),
    ):
        gaps = []
        for theta, log_density in _pymc_likelihoods(case, observe):
            rows = case.family.log_likelihood(theta)(case.X)[np.arange(len(case.codes)), case.codes]
            gaps.append(log_density - float((counted * rows).sum()))
        np.testing.assert_allclose(gaps, 0.0, atol=1e-6)


def _pymc_likelihoods(case: Case, observe: Callable[[Any], None]) -> Iterator[tuple[Theta, float]]:
    """Draw parameters from the prior, with the log density that PyMC has for what is observed."""
    import pymc as pm

    points = [select_draws(case.draw(1), 0) for _ in range(3)]
    with _empty_model(case) as model:
        observe({name: pm.Flat(name, shape=values.shape) for name, values in points[0].items()})
    log_density = model.compile_logp(jacobian=False, mode=_uncompiled())
    for theta in points:
        yield theta, float(log_density(theta))


def _pymc_points(case: Case, likelihood: str) -> Iterator[tuple[Theta, float, float, float]]:
    """Yield parameters at random points of the PyMC model, log densities of prior and model, and a volume.

    It is the log volume of the map from free variables to parameters.
    """
    from bayesppl.inference.pymc.graphs import Interpreter

    with _empty_model(case) as model:
        variables = case.prior.declare(case.family.bound.dims)
        log_prior = model.compile_logp(jacobian=False, mode=_uncompiled())
        if likelihood == "rows":
            case.family.observe_rows(variables, case.X, case.codes)
        else:
            case.family.observe_statistics(variables, case.statistics)
    log_density = model.compile_logp(jacobian=False, mode=_uncompiled())
    names = [variable.name for variable in model.free_RVs]
    parameters = Interpreter(model.free_RVs, (), [model[name] for name in case.family.bound.dims])
    for _ in range(4):
        start = {
            name: np.asarray(value) + 0.3 * case.rng.standard_normal(np.shape(value))
            for name, value in model.initial_point().items()
        }
        free = constrain(model, names, lead(start))
        theta = dict(zip(case.family.bound.dims, parameters(list(free.values())), strict=True))
        same = all(name in free and np.array_equal(values, free[name]) for name, values in theta.items())
        volume = 0.0 if same or likelihood == "rows" else _log_volume(parameters, list(free.values()))
        yield theta, float(log_prior(start)), float(log_density(start)), volume


def _empty_model(case: Case) -> Any:
    import pymc as pm

    coords = {"class": range(case.n_classes), **case.family.bound.coords, "row": range(len(case.codes))}
    return pm.Model(coords=coords)


def _uncompiled() -> Any:
    """Evaluate without a compiler: a handful of evaluations is not worth a minute of compilation."""
    from pytensor.compile.mode import Mode

    return Mode(linker="py", optimizer="fast_compile")


def _log_volume(parameters: Callable[[Sequence[Array]], list[Array]], free: Sequence[Array]) -> float:
    """Compute the log volume of the map from free variables to parameters, by central differences."""
    flat = np.concatenate([values.ravel() for values in free])
    steps = np.diag(1e-5 * np.maximum(1.0, np.abs(flat)))
    moved = np.split(np.concatenate([flat + steps, flat - steps]), np.cumsum([v.size for v in free])[:-1], axis=1)
    found = parameters([values.reshape(-1, *one.shape[1:]) for values, one in zip(moved, free, strict=True)])
    above, below = np.split(np.concatenate([values.reshape(2 * len(flat), -1) for values in found], axis=1), 2)
    jacobian = (above - below).T / (2 * np.diag(steps))
    # symmetric entries appear twice, which only adds a constant
    return 0.5 * float(np.linalg.slogdet(jacobian.T @ jacobian)[1])
