"""Posterior, predictive, evidence and estimates agree with each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from bayesppl.conjugate import pair_forms as of_pairs
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.row_statistics import JointRows, RowStatistics, RowsWithBase
from bayesppl.data.labels import one_hot
from bayesppl.errors import UndefinedEstimateError
from bayesppl.evaluation.contract.case import Case, lead, log_likelihood, of_rows
from bayesppl.families import closed_forms
from bayesppl.families.family import ConjugateFamily
from bayesppl.kernels.arrays import select_draws


def check_candidates_formula(case: Case) -> None:
    """prior · likelihood / posterior is the evidence, at any θ (Besag 1989, "A candidate's formula")."""
    posterior, evidence = case.posterior, closed_forms.total_log_evidence(case.family, case.prior, case.statistics)
    theta = posterior.draw(5, case.rng)
    found = case.prior.log_prob(theta) + log_likelihood(case, theta) - posterior.log_prob(theta)
    np.testing.assert_allclose(found, evidence, rtol=1e-9, atol=1e-8)


def check_predictive_is_an_evidence_ratio(case: Case) -> None:
    """log p(x | y = k, data) is the log evidence of one further row."""
    posterior = case.posterior
    log_predictive = closed_forms.log_predictive(case.family, posterior)(case.X)
    for row in range(3):
        for k in range(case.n_classes):
            single = one_hot(np.asarray([k]), case.n_classes)
            added = closed_forms.sufficient_statistics(case.family, case.X[row : row + 1], single)
            np.testing.assert_allclose(
                log_predictive[row, k],
                closed_forms.total_log_evidence(case.family, posterior, added),
                rtol=1e-9,
                atol=1e-9,
            )


def check_leave_one_out(case: Case) -> None:
    """Taking a row out of the posterior leaves the posterior of the other rows, whatever the row's weight."""
    everyone = np.arange(len(case.codes))
    for weights in (np.ones(len(everyone)), case.rng.integers(0, 3, size=len(everyone)).astype(float)):
        statistics = of_rows(case, everyone, weights)
        posterior = case.prior.update(statistics)
        members = Membership(case.codes.astype(np.intp), weights)
        fitted, found = closed_forms.leave_one_out(case.family, posterior, statistics, case.X, members)
        np.testing.assert_allclose(
            fitted, closed_forms.log_predictive(case.family, posterior)(case.X), rtol=1e-9, atol=1e-9
        )
        for row in range(5):
            others = np.delete(everyone, row)
            refitted = case.prior.update(of_rows(case, others, weights[others]))
            expected = closed_forms.log_predictive(case.family, refitted)(case.X[row : row + 1])[0]
            np.testing.assert_allclose(found[row], expected, rtol=1e-8, atol=1e-8)


def check_quicker_formulas(case: Case) -> None:
    """Where a kind of rows has a quicker formula, it is that of the generic one, with all and without each row."""
    weights = case.rng.integers(1, 3, len(case.codes)).astype(float)
    members = Membership(case.codes.astype(np.intp), weights)
    everything = of_rows(case, np.arange(len(case.codes)), weights)
    posterior = case.prior.update(everything)
    for belief, statistics, rows in _single_kinds(posterior, everything, case.family.rows(case.X)):
        found = of_pairs.log_predictive(belief, case.n_classes)(rows)
        expected = of_pairs.generic_log_predictive(belief, case.n_classes)(rows)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        _, without = of_pairs.leave_one_out(belief, statistics, rows, members, case.n_classes)
        own = of_pairs.own_class_without(belief, rows, members)
        np.testing.assert_allclose(members.own(without), own, rtol=1e-8, atol=1e-8)


def _single_kinds(posterior: Any, statistics: Any, rows: Any) -> Iterator[tuple[Any, Any, RowStatistics]]:
    """Yield rows of one kind each, the belief that they update, and the statistics of all of them."""
    if isinstance(rows, JointRows):
        for name, part in rows.parts.items():
            yield from _single_kinds(posterior.parts[name], statistics.parts[name], part)
    elif isinstance(rows, RowsWithBase):
        yield from _single_kinds(posterior, statistics, rows.rows)
    else:
        yield posterior, statistics, rows


def check_units_add_up(case: Case) -> None:
    """The log density of a row is the sum over its factors, and zero for a row without cells."""
    family, everything = case.family, range(len(case.family.bound.factors))
    assert sorted(map(str, family.bound.measures)) == sorted(
        str(c) for unit in family.bound.factors for c in unit.columns
    )
    densities = [family.log_likelihood(select_draws(case.draw(1), 0))]
    if isinstance(family, ConjugateFamily):
        densities.append(closed_forms.log_predictive(family, case.posterior))
    for density in densities:
        single = [density(family.bound.marginal_rows(case.X, [unit])) for unit in everything]
        rows = density(case.X)
        if len(single) > 1:
            base = density(family.bound.marginal_rows(case.X, []))
            np.testing.assert_allclose(base, np.zeros_like(base), atol=1e-12)
        np.testing.assert_allclose(sum(single), rows, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(density(family.bound.marginal_rows(case.X, list(everything))), rows, rtol=1e-12)


def check_units_are_left_out(case: Case) -> None:
    """Taking a row out of every unit takes it out of them all."""
    members = Membership(case.codes.astype(np.intp), case.rng.integers(1, 3, len(case.codes)).astype(float))
    statistics = of_rows(case, np.arange(len(case.codes)), members.weights)
    posterior = case.prior.update(statistics)
    whole = closed_forms.leave_one_out(case.family, posterior, statistics, case.X, members)
    units = list(closed_forms.leave_one_out_of_factors(case.family, posterior, statistics, case.X, members))
    assert len(units) == len(case.family.bound.factors)
    for place, expected in enumerate(whole):
        np.testing.assert_allclose(sum(unit[place] for unit in units), expected, rtol=1e-8, atol=1e-8)


def check_draw_axes(case: Case) -> None:
    """The likelihood of several draws is that of each, stacked."""
    theta = case.draw(3)
    together = case.family.log_likelihood(theta)(case.X)
    for i in range(3):
        single = case.family.log_likelihood(select_draws(theta, i))(case.X)
        assert single.shape == (len(case.codes), case.n_classes)
        np.testing.assert_allclose(together[i], single, rtol=1e-10, atol=1e-10)


def check_kernel(case: Case) -> None:
    """Terms left out because all classes share them are the same for all classes of a row."""
    densities = [case.family.log_likelihood(theta) for theta in (case.draw(3), select_draws(case.draw(1), 0))]
    if isinstance(case.family, ConjugateFamily):
        densities.append(closed_forms.log_predictive(case.family, case.posterior))
    for density in densities:
        whole = density(case.X)
        left_out = whole - density.kernel(case.X)
        assert left_out.shape == whole.shape
        np.testing.assert_allclose(left_out, left_out[..., :1] + np.zeros(case.n_classes), rtol=1e-9, atol=1e-9)


def check_parameters(case: Case) -> None:
    """Estimates and draws have the declared names and shapes."""
    draws = case.draw(2)
    theta = case.posterior.mean() if case.prior.has_closed_form else select_draws(draws, 0)
    sizes = {"class": case.n_classes, **{dim: len(labels) for dim, labels in case.family.bound.coords.items()}}
    assert set(theta) == set(draws) == set(case.family.bound.dims)
    for name, dims in case.family.bound.dims.items():
        shape = tuple(sizes[dim] for dim in dims)
        assert theta[name].shape == shape, name
        assert draws[name].shape == (2, *shape), name


def check_mode_is_highest(case: Case) -> None:
    """No draw is denser than the mode, none likelier than the maximum likelihood estimate."""
    posterior = case.posterior
    draws = posterior.draw(200, case.rng)
    with suppress(UndefinedEstimateError):
        mode = posterior.mode()
        assert posterior.log_prob(lead(mode))[0] >= posterior.log_prob(draws).max()
        # a little way from the mode, towards the mean and away from it, one parameter at a time
        mean = posterior.mean()
        for name, step in product(mode, (-0.01, 0.01)):
            near = lead({**mode, name: mode[name] + step * (mean[name] - mode[name])})
            assert not posterior.log_prob(near)[0] > posterior.log_prob(lead(mode))[0], name
    with suppress(UndefinedEstimateError):
        best = log_likelihood(case, lead(case.family.mle(case.statistics)))[0]
        assert best >= log_likelihood(case, draws).max()


def check_draws_agree_with_closed_form(case: Case) -> None:
    """Averages over draws are within five standard errors of the closed form."""
    posterior, size = case.posterior, 4000
    draws, mean = posterior.draw(size, case.rng), posterior.mean()
    for name, values in draws.items():
        error = values.std(0) / np.sqrt(size)
        np.testing.assert_array_less(np.abs(values.mean(0) - mean[name]), 5 * error + 1e-12, err_msg=name)
    density = np.exp(case.family.log_likelihood(draws)(case.X[:5]))
    exact = np.exp(closed_forms.log_predictive(case.family, posterior)(case.X[:5]))
    # far in the tails a few draws carry the whole average, and its standard error cannot be estimated from the
    # draws
    estimable = density.sum(0) ** 2 > 200 * (density**2).sum(0)
    assert estimable.any()
    error = density.std(0) / np.sqrt(size)
    np.testing.assert_array_less(np.abs(density.mean(0) - exact)[estimable], (5 * error + 1e-12)[estimable])


def check_classes_are_exchangeable(case: Case) -> None:
    """Classes that swap their rows swap their parameters and predictives."""
    order = np.roll(np.arange(case.n_classes), 1)
    swapped = case._replace(codes=order[case.codes])
    mean = case.prior.mean()
    by_class = [name for name, dims in case.family.bound.dims.items() if dims[:1] == ("class",)]
    if not all(np.allclose(mean[name], mean[name][:1]) for name in by_class):
        return  # the prior is not symmetric
    before = closed_forms.log_predictive(case.family, case.posterior)(case.X)
    after = closed_forms.log_predictive(case.family, swapped.posterior)(case.X)
    np.testing.assert_allclose(after[:, order], before, rtol=1e-9, atol=1e-9)
