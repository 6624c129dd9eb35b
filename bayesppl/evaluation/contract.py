"""The contract of a family as a public suite: ``check_family`` proves that a family keeps it.

Every check is a statement that holds for any correct family, whatever its density: statistics add up, the evidence
obeys Candidate's formula, the predictive is an evidence ratio, the PyMC model has the same density as the closed
form. Data are simulated from the family itself. A new family is tested by adding an :class:`Example` of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from bayesppl.beliefs import Conjugate
from bayesppl.beliefs.weighted_rows import WeightedRows
from bayesppl.data.labels import encode_labels, one_hot
from bayesppl.data.table import as_table
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.families._bases.conjugate_family import ConjugateFamily
from bayesppl.families._bases.covariates import of_rows
from bayesppl.families._bases.family import Family
from bayesppl.families._bases.membership import Membership
from bayesppl.kernels.arrays import Array, Responsibilities, Theta, leaves


class Case(NamedTuple):
    """A bound family, a proper prior, and rows simulated from it."""

    family: Family
    prior: Any
    X: Any
    codes: Array
    n_classes: int
    rng: np.random.Generator

    @property
    def responsibilities(self) -> Responsibilities:
        return one_hot(self.codes, self.n_classes)

    @property
    def statistics(self) -> Any:
        return self.family.sufficient_statistics(self.X, self.responsibilities)

    @property
    def posterior(self) -> Any:
        return self.prior.update(self.statistics)

    def draw(self, size: int) -> Theta:
        """Parameters drawn from the posterior, or from a prior that has none in closed form."""
        return _draw(self.family, self.prior, self.statistics, self.n_classes, size, self.rng)


def make_case(family: Family, X: Any, y: Any, seed: int = 0, n_rows: int = 40) -> Case:
    """Bind ``family`` to a small table and simulate rows from a posterior draw.

    Parameters
    ----------
    family : Family
        With a proper prior.
    X, y : table and labels
        A few rows that show the columns (and levels); they also resolve data-dependent defaults, and
        their covariates are those of the simulated rows.
    """
    table = as_table(X)
    classes, codes = encode_labels(y)
    bound = family.bind(table, tuple(classes.tolist()))
    shown = bound.encode(table)
    statistics = bound.sufficient_statistics(shown, one_hot(codes, len(classes)))
    prior = bound.resolve_prior(statistics)
    with suppress(NotConjugateError):
        bound = bound.with_prior(prior)  # which reads nothing off the rows to come
    rng = np.random.default_rng(seed)
    theta = _at(_draw(bound, prior, statistics, len(classes), 1, rng), 0)
    # every class has rows, in uneven numbers and no particular order
    codes = rng.permutation(np.r_[np.arange(len(classes)).repeat(8), rng.integers(len(classes), size=n_rows)])
    covariates = of_rows(bound.covariates(shown), np.arange(len(codes)) % len(table))
    return Case(bound, prior, bound.simulate(theta, codes, rng, covariates), codes, len(classes), rng)


def check_family(family: Family, X: Any, y: Any, seed: int = 0) -> None:
    """Run every check of the contract; raises AssertionError with the name of the first that fails.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.evaluation.contract import check_family
    >>> X = [[0, 1], [1, 1], [1, 0], [0, 0]]
    >>> check_family(bp.Bernoulli(bp.Beta(2, 3)), X, ["a", "a", "b", "b"])  # doctest: +SKIP
    """
    for check in checks_of(family):
        check(make_case(family, X, y, seed))


def checks_of(family: Family) -> tuple[Callable[[Case], None], ...]:
    """The checks that apply: all of them to a conjugate family, those without closed forms to any other."""
    return CHECKS if isinstance(family, ConjugateFamily) else PLAIN_CHECKS


# --- statistics ---------------------------------------------------------------------------------------------


def check_statistics_add_up(case: Case) -> None:
    """Halves add up to the whole; what was added can be subtracted; the order of rows does not matter."""
    half = len(case.codes) // 2
    first, second = (_of_rows(case, rows) for rows in (slice(None, half), slice(half, None)))
    order = case.rng.permutation(len(case.codes))
    _assert_same(first + second, case.statistics)
    _assert_same(second + first, case.statistics)
    _assert_same(case.statistics - second, first, rtol=1e-7, atol=1e-7)
    _assert_same(_of_rows(case, order), case.statistics)


def check_weight_two_is_a_duplicate(case: Case) -> None:
    """A row of weight 2 counts as two rows, a row of weight 0 as none."""
    weights = case.rng.integers(0, 3, size=len(case.codes))
    weighted = case.family.sufficient_statistics(
        case.X, one_hot(case.codes, case.n_classes, weights.astype(float))
    )
    _assert_same(weighted, _of_rows(case, np.arange(len(case.codes)).repeat(weights)))
    _assert_same(case.statistics.scale(3.0), case.statistics + case.statistics + case.statistics)


def check_units_add_up(case: Case) -> None:
    """The log density of a row is the sum of those of its units, each seen by itself; of a row unseen, it is zero."""
    family, everything = case.family, range(len(case.family.units))
    assert sorted(map(str, family.measures)) == sorted(str(c) for unit in family.units for c in unit.columns)
    densities = [family.log_likelihood(_at(case.draw(1), 0))]
    if isinstance(family, ConjugateFamily):
        densities.append(family.log_predictive(case.posterior))
    for density in densities:
        single = [density(family.seen(case.X, [unit])) for unit in everything]
        rows = density(case.X)
        if len(single) > 1:
            base = density(family.seen(case.X, []))
            np.testing.assert_allclose(base, np.zeros_like(base), atol=1e-12)
        np.testing.assert_allclose(sum(single), rows, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(density(family.seen(case.X, list(everything))), rows, rtol=1e-12)


def check_units_are_left_out(case: Case) -> None:
    """Taking a row out of every unit takes it out of them all."""
    members = Membership(case.codes.astype(np.intp), case.rng.integers(1, 3, len(case.codes)).astype(float))
    posterior = case.prior.update(_of_rows(case, np.arange(len(case.codes)), members.weights))
    whole = case.family.loo_log_predictive(posterior, case.X, members)
    units = list(case.family.loo_of_units(posterior, case.X, members))
    assert len(units) == len(case.family.units)
    for place, expected in enumerate(whole):
        np.testing.assert_allclose(sum(unit[place] for unit in units), expected, rtol=1e-8, atol=1e-8)


# --- closed forms -------------------------------------------------------------------------------------------


def check_candidates_formula(case: Case) -> None:
    """prior · likelihood / posterior is the evidence, at any θ (Besag 1989, "A candidate's formula")."""
    posterior, evidence = case.posterior, _evidence(case, case.prior, case.statistics)
    theta = posterior.draw(5, case.rng)
    found = case.prior.log_prob(theta) + _log_likelihood(case, theta) - posterior.log_prob(theta)
    np.testing.assert_allclose(found, evidence, rtol=1e-9, atol=1e-8)


def check_predictive_is_an_evidence_ratio(case: Case) -> None:
    """log p(x | y = k, data) is the log evidence of one further row."""
    posterior = case.posterior
    log_predictive = case.family.log_predictive(posterior)(case.X)
    for row in range(3):
        for k in range(case.n_classes):
            single = one_hot(np.asarray([k]), case.n_classes)
            added = case.family.sufficient_statistics(case.X[row : row + 1], single)
            np.testing.assert_allclose(
                log_predictive[row, k], _evidence(case, posterior, added), rtol=1e-9, atol=1e-9
            )


def check_leave_one_out(case: Case) -> None:
    """Taking a row out of the posterior leaves the posterior of the other rows, whatever the row's weight."""
    everyone = np.arange(len(case.codes))
    for weights in (np.ones(len(everyone)), case.rng.integers(0, 3, size=len(everyone)).astype(float)):
        posterior = case.prior.update(_of_rows(case, everyone, weights))
        members = Membership(case.codes.astype(np.intp), weights)
        fitted, found = case.family.loo_log_predictive(posterior, case.X, members)
        np.testing.assert_allclose(fitted, case.family.log_predictive(posterior)(case.X), rtol=1e-9, atol=1e-9)
        for row in range(5):
            others = np.delete(everyone, row)
            refitted = case.prior.update(_of_rows(case, others, weights[others]))
            expected = case.family.log_predictive(refitted)(case.X[row : row + 1])[0]
            np.testing.assert_allclose(found[row], expected, rtol=1e-8, atol=1e-8)


def check_draw_axes(case: Case) -> None:
    """The likelihood of several draws is that of each, stacked."""
    theta = case.draw(3)
    together = case.family.log_likelihood(theta)(case.X)
    for i in range(3):
        single = case.family.log_likelihood(_at(theta, i))(case.X)
        assert single.shape == (len(case.codes), case.n_classes)
        np.testing.assert_allclose(together[i], single, rtol=1e-10, atol=1e-10)


def check_kernel(case: Case) -> None:
    """Terms left out because all classes share them are the same for all classes of a row."""
    densities = [case.family.log_likelihood(theta) for theta in (case.draw(3), _at(case.draw(1), 0))]
    if case.prior.has_closed_form:
        densities.append(case.family.log_predictive(case.posterior))
    for density in densities:
        whole = density(case.X)
        left_out = whole - density.kernel(case.X)
        assert left_out.shape == whole.shape
        np.testing.assert_allclose(left_out, left_out[..., :1] + np.zeros(case.n_classes), rtol=1e-9, atol=1e-9)


def check_parameters(case: Case) -> None:
    """Estimates and draws have the declared names and shapes."""
    theta, draws = case.posterior.mean(), case.posterior.draw(2, case.rng)
    sizes = {"class": case.n_classes, **{dim: len(labels) for dim, labels in case.family.coords.items()}}
    assert set(theta) == set(draws) == set(case.family.dims)
    for name, dims in case.family.dims.items():
        shape = tuple(sizes[dim] for dim in dims)
        assert theta[name].shape == shape, name
        assert draws[name].shape == (2, *shape), name


def check_mode_is_highest(case: Case) -> None:
    """No draw is denser than the mode, none likelier than the maximum likelihood estimate."""
    posterior = case.posterior
    draws = posterior.draw(200, case.rng)
    try:
        mode = posterior.mode()
        assert posterior.log_prob(_lead(mode))[0] >= posterior.log_prob(draws).max()
        for name, values in _nearby(mode, posterior.mean()):
            assert not posterior.log_prob(_lead(values))[0] > posterior.log_prob(_lead(mode))[0], name
    except UndefinedEstimateError:
        pass
    try:
        best = _log_likelihood(case, _lead(case.family.mle(case.statistics)))[0]
        assert best >= _log_likelihood(case, draws).max()
    except UndefinedEstimateError:
        pass


def check_draws_agree_with_closed_form(case: Case) -> None:
    """Averages over draws are within five standard errors of the closed form."""
    posterior, size = case.posterior, 4000
    draws, mean = posterior.draw(size, case.rng), posterior.mean()
    for name, values in draws.items():
        error = values.std(0) / np.sqrt(size)
        np.testing.assert_array_less(np.abs(values.mean(0) - mean[name]), 5 * error + 1e-12, err_msg=name)
    density = np.exp(case.family.log_likelihood(draws)(case.X[:5]))
    exact = np.exp(case.family.log_predictive(posterior)(case.X[:5]))
    # far in the tails a few draws carry the whole average, and its standard error cannot be told from the draws
    told = density.sum(0) ** 2 > 200 * (density**2).sum(0)
    assert told.any()
    error = density.std(0) / np.sqrt(size)
    np.testing.assert_array_less(np.abs(density.mean(0) - exact)[told], (5 * error + 1e-12)[told])


def check_classes_are_exchangeable(case: Case) -> None:
    """Classes that swap their rows swap their parameters and predictives."""
    order = np.roll(np.arange(case.n_classes), 1)
    swapped = case._replace(codes=order[case.codes])
    if not _prior_is_symmetric(case):
        return
    before = case.family.log_predictive(case.posterior)(case.X)
    after = case.family.log_predictive(swapped.posterior)(case.X)
    np.testing.assert_allclose(after[:, order], before, rtol=1e-9, atol=1e-9)


# --- simulation ---------------------------------------------------------------------------------------------


def check_simulated_rows_keep_their_covariates(case: Case) -> None:
    """What rows bring along is what they are simulated with, given parameters or the data."""
    codes, given = case.codes[::-1], case.family.covariates(case.X)
    assert given.keys() == case.family.covariate_supports.keys()
    theta = {name: values[0] for name, values in case.posterior.draw(1, case.rng).items()}
    for rows in (
        case.family.simulate(theta, codes, case.rng, given),
        case.family.simulate_predictive(case.posterior, codes, case.rng, given),
    ):
        assert rows.shape == case.X.shape
        found = case.family.covariates(rows)
        assert found.keys() == given.keys()
        for name, values in found.items():
            np.testing.assert_array_equal(values, given[name])


def check_narrowed_rows_have_the_same_predictive(case: Case) -> None:
    """A smaller posterior and its rows have the densities of the whole."""
    posterior, rows = case.family.narrowed(case.posterior, case.X[:3])
    np.testing.assert_allclose(
        case.family.log_predictive(posterior)(rows),
        case.family.log_predictive(case.posterior)(case.X[:3]),
        rtol=1e-9,
        atol=1e-9,
    )


# --- PyMC ---------------------------------------------------------------------------------------------------


def check_pymc_density(case: Case) -> None:
    """The PyMC model, by rows and by statistics, has the density of the closed form up to a constant.

    Where the model's free variables are not the parameters themselves, the change of variables is accounted for by
    a numerical Jacobian.
    """
    differences = {}
    for likelihood in ("rows", "statistics"):
        points = _pymc_points(case, likelihood)
        differences[likelihood] = [
            log_density - _log_density_at(case, free) - _log_jacobian(case, free) for free, log_density in points
        ]
        np.testing.assert_allclose(
            np.ptp(differences[likelihood]), 0.0, atol=1e-5, err_msg=f"likelihood={likelihood!r}"
        )


def check_pymc_likelihood(case: Case) -> None:
    """The PyMC model, by rows, by statistics and by statistics of weighted rows, has the likelihood of ours."""
    weights = case.rng.integers(1, 4, len(case.codes)).astype(float)
    weighted = _of_rows(case, slice(None), weights)
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


def check_decoded_rows_are_the_rows(case: Case) -> None:
    """Encoding what was decoded gives the same rows."""
    import pandas as pd

    again = case.family.encode(as_table(pd.DataFrame(case.family.decode(case.X))))
    np.testing.assert_array_equal(again, case.X)


def check_simulated_rows_have_the_density(case: Case) -> None:
    """Rows of class k are denser under k than under any other class, on average."""
    theta = _at(case.draw(1), 0)
    codes = np.repeat(np.arange(case.n_classes), 2000)
    log_density = case.family.log_likelihood(theta)(case.family.simulate(theta, codes, case.rng))
    gap = log_density[np.arange(len(codes)), codes][:, None] - log_density
    for k in range(case.n_classes):
        # the average of the gap is a Kullback–Leibler divergence, which is not negative
        own = gap[codes == k]
        error = own.std(0) / np.sqrt(len(own))
        np.testing.assert_array_less(-5 * error - 1e-12, own.mean(0))


CHECKS: tuple[Callable[[Case], None], ...] = (
    check_statistics_add_up,
    check_weight_two_is_a_duplicate,
    check_candidates_formula,
    check_predictive_is_an_evidence_ratio,
    check_leave_one_out,
    check_units_add_up,
    check_units_are_left_out,
    check_draw_axes,
    check_kernel,
    check_parameters,
    check_mode_is_highest,
    check_draws_agree_with_closed_form,
    check_classes_are_exchangeable,
    check_simulated_rows_keep_their_covariates,
    check_narrowed_rows_have_the_same_predictive,
    check_pymc_density,
)

#: Of families that are fitted by their rows.
PLAIN_CHECKS: tuple[Callable[[Case], None], ...] = (
    check_statistics_add_up,
    check_weight_two_is_a_duplicate,
    check_units_add_up,
    check_draw_axes,
    check_kernel,
    check_decoded_rows_are_the_rows,
    check_simulated_rows_have_the_density,
    check_pymc_likelihood,
)


# --- what the checks share ----------------------------------------------------------------------------------


def _of_rows(case: Case, rows: Any, weights: Array | None = None) -> Any:
    return case.family.sufficient_statistics(case.X[rows], one_hot(case.codes[rows], case.n_classes, weights))


def _draw(
    family: Family, prior: Any, statistics: Any, n_classes: int, size: int, rng: np.random.Generator
) -> Theta:
    if prior.has_closed_form:
        found: Theta = prior.update(statistics).draw(size, rng)
        return found
    import pymc as pm
    from pytensor.compile.mode import Mode

    with pm.Model(coords={"class": range(n_classes), **family.coords}):
        variables = prior.declare(family.dims)
    seed = int(rng.integers(2**31))
    drawn = pm.draw([variables[name] for name in family.dims], size, random_seed=seed, mode=Mode("py", None))
    return {
        name: np.reshape(values, (size, *np.shape(values)[-2:]))
        for name, values in zip(family.dims, drawn, strict=True)
    }


def _pymc_likelihoods(case: Case, observe: Callable[[Any], None]) -> Iterator[tuple[Theta, float]]:
    """Parameters drawn from the prior, with the log density that PyMC has for what is observed."""
    import pymc as pm
    from pytensor.compile.mode import Mode

    coords = {"class": list(range(case.n_classes)), **case.family.coords, "row": list(range(len(case.codes)))}
    points = [_at(case.draw(1), 0) for _ in range(3)]
    with pm.Model(coords=coords) as model:
        observe({name: pm.Flat(name, shape=values.shape) for name, values in points[0].items()})
    log_density = model.compile_logp(jacobian=False, mode=Mode(linker="py", optimizer="fast_compile"))
    for theta in points:
        yield theta, float(log_density(theta))


def _evidence(case: Case, prior: Conjugate, statistics: Any) -> float:
    parts = case.family.log_evidence(prior, statistics)
    return float(sum(part.values.sum() for part in parts.values()))


def _log_likelihood(case: Case, theta: Theta) -> Array:
    """Log likelihood of all rows under their own class, one value per draw."""
    every = case.family.log_likelihood(theta)(case.X)
    return np.asarray(every[..., np.arange(len(case.codes)), case.codes].sum(-1))


def _lead(theta: Theta) -> Theta:
    return {name: values[None] for name, values in theta.items()}


def _at(theta: Theta, draw: int) -> Theta:
    return {name: values[draw] for name, values in theta.items()}


def _nearby(mode: Theta, mean: Theta) -> Iterator[tuple[str, Theta]]:
    """Points a little way from the mode, towards the mean and away from it, one parameter at a time."""
    for name in mode:
        for step in (-0.01, 0.01):
            yield name, {**mode, name: mode[name] + step * (mean[name] - mode[name])}


def _prior_is_symmetric(case: Case) -> bool:
    mean = case.prior.mean()
    return all(
        np.allclose(mean[name], mean[name][:1])
        for name, dims in case.family.dims.items()
        if dims[:1] == ("class",)
    )


def _assert_same(found: Any, expected: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
    if isinstance(found, WeightedRows):  # equal up to the order of rows and to duplicates
        found, expected = found.merged(), expected.merged()
    for (path, left), (_, right) in zip(_numbers(found), _numbers(expected), strict=True):
        np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, err_msg=path)


def _numbers(value: Any) -> list[tuple[str, Any]]:
    """The arrays of statistics, without the pairs that track their rounding, which need not be there."""
    return [(path, array) for path, array in leaves(value) if ".sums" not in path]


def _pymc_points(case: Case, likelihood: str, n_points: int = 4) -> list[tuple[dict[str, Array], float]]:
    """Free variables at random points of the PyMC model, with its log density there."""
    import pymc as pm
    from pytensor.compile.mode import Mode

    # no compiler: a handful of evaluations is not worth a minute of compilation
    mode = Mode(linker="py", optimizer="fast_compile")
    coords = {"class": list(range(case.n_classes)), **case.family.coords, "row": list(range(len(case.codes)))}
    with pm.Model(coords=coords) as model:
        variables = case.prior.declare(case.family.dims)
        if likelihood == "rows":
            case.family.observe_rows(variables, case.X, case.codes)
        else:
            case.family.observe_statistics(variables, case.statistics)
    log_density = model.compile_logp(jacobian=False, mode=mode)
    constrain = model.compile_fn(model.unobserved_value_vars, inputs=model.value_vars, mode=mode)
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


def _log_density_at(case: Case, free: dict[str, Array]) -> float:
    theta = _lead(case.prior.recover(free))
    return float(case.prior.log_prob(theta)[0] + _log_likelihood(case, theta)[0])


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
        return np.concatenate([recovered[name].ravel() for name in case.family.dims])

    steps = 1e-5 * np.maximum(1.0, np.abs(flat))
    columns = [
        (parameters(flat + step * unit) - parameters(flat - step * unit)) / (2 * step)
        for step, unit in zip(steps, np.eye(len(flat)), strict=True)
    ]
    jacobian = np.stack(columns, axis=1)
    # symmetric entries appear twice, which only adds a constant
    return 0.5 * float(np.linalg.slogdet(jacobian.T @ jacobian)[1])
