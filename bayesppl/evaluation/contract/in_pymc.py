"""The model that a family declares in PyMC has the density of the family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bayesppl.evaluation.contract.case import Case, at, lead, log_likelihood, of_rows
from bayesppl.kernels.arrays import Array, Theta


def check_pymc_density(case: Case) -> None:
    """The PyMC model, by rows and by statistics, has the density of the closed form up to a constant.

    Where the model's free variables are not the parameters themselves, the change of variables is accounted for by
    a numerical Jacobian.
    """
    for likelihood in ("rows", "statistics"):
        differences = []
        for free, log_density in _pymc_points(case, likelihood):
            theta = lead(case.prior.recover(free))
            ours = float(case.prior.log_prob(theta)[0] + log_likelihood(case, theta)[0])
            differences.append(log_density - ours - _log_jacobian(case, free))
        np.testing.assert_allclose(np.ptp(differences), 0.0, atol=1e-5, err_msg=f"likelihood={likelihood!r}")


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
        np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9, atol=1e-8)


def _pymc_likelihoods(case: Case, observe: Callable[[Any], None]) -> Iterator[tuple[Theta, float]]:
    """Parameters drawn from the prior, with the log density that PyMC has for what is observed."""
    import pymc as pm

    points = [at(case.draw(1), 0) for _ in range(3)]
    with _empty_model(case) as model:
        observe({name: pm.Flat(name, shape=values.shape) for name, values in points[0].items()})
    log_density = model.compile_logp(jacobian=False, mode=_uncompiled())
    for theta in points:
        yield theta, float(log_density(theta))


def _pymc_points(case: Case, likelihood: str, n_points: int = 4) -> list[tuple[dict[str, Array], float]]:
    """Free variables at random points of the PyMC model, with its log density there."""
    with _empty_model(case) as model:
        variables = case.prior.declare(case.family.bound.dims)
        if likelihood == "rows":
            case.family.observe_rows(variables, case.X, case.codes)
        else:
            case.family.observe_statistics(variables, case.statistics)
    log_density = model.compile_logp(jacobian=False, mode=_uncompiled())
    constrain = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, mode=_uncompiled())
    points = []
    for _ in range(n_points):
        start = {
            name: np.asarray(value) + 0.3 * case.rng.standard_normal(np.shape(value))
            for name, value in model.initial_point().items()
        }
        values = {
            variable.name: value
            for variable, value in zip(model.unobserved_value_vars, constrain(start), strict=True)
        }
        recovered = case.prior.recover(values)
        for name in set(recovered) & set(values):
            np.testing.assert_allclose(recovered[name], values[name], rtol=1e-8, atol=1e-10, err_msg=name)
        free = {variable.name: values[variable.name] for variable in model.free_RVs}
        points.append((free, float(log_density(start))))
    return points


def _empty_model(case: Case) -> Any:
    import pymc as pm

    coords = {"class": range(case.n_classes), **case.family.bound.coords, "row": range(len(case.codes))}
    return pm.Model(coords=coords)


def _uncompiled() -> Any:
    """Evaluate without a compiler: a handful of evaluations is not worth a minute of compilation."""
    from pytensor.compile.mode import Mode

    return Mode(linker="py", optimizer="fast_compile")


def _log_jacobian(case: Case, free: dict[str, Array]) -> float:
    """Log volume of the map from free variables to parameters; zero where they are the same."""
    theta = case.prior.recover(free)
    if all(name in free and np.array_equal(theta[name], free[name]) for name in theta):
        return 0.0
    names, sizes = list(free), [free[name].size for name in free]
    flat = np.concatenate([free[name].ravel() for name in names])

    def parameters(point: Array) -> Array:
        pieces = np.split(point, np.cumsum(sizes)[:-1])
        unpacked = {name: piece.reshape(free[name].shape) for name, piece in zip(names, pieces, strict=True)}
        recovered = case.prior.recover(unpacked)
        return np.concatenate([recovered[name].ravel() for name in case.family.bound.dims])

    steps = 1e-5 * np.maximum(1.0, np.abs(flat))
    columns = [
        (parameters(flat + step * unit) - parameters(flat - step * unit)) / (2 * step)
        for step, unit in zip(steps, np.eye(len(flat)), strict=True)
    ]
    jacobian = np.stack(columns, axis=1)
    # symmetric entries appear twice, which only adds a constant
    return 0.5 * float(np.linalg.slogdet(jacobian.T @ jacobian)[1])
