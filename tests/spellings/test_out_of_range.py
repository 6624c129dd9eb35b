"""Parameters that depend on what is given with each row: a row out of their range has no density by itself."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.distributions.dist_math import check_parameters
from scipy import stats
from scipy.special import logsumexp

import bayesppl as bp

CODES = np.array([0, 1] * 6)
GIVEN = np.linspace(0.5, 2.0, 12)
# at a negative number, at 3 and at 40 some or all draws are out of range, and one dose is missing as a code
NEW = np.array([1.0, 1.5, -0.5, 3.0, 40.0, -999.0])

RNG = np.random.default_rng(3)
DRAWS = {"a": RNG.uniform(0.1, 0.4, (1, 50, 2)), "slope": RNG.uniform(-0.04, 0.25, (1, 50))}


def noise(name, a, slope, given, x):
    pm.Normal(name, a, a + slope * given, observed=x)


def counts(name, a, slope, given, x):
    pm.Poisson(name, a + slope * given, observed=x)


def counts_of_zeros(name, a, slope, given, x):
    pm.ZeroInflatedPoisson(name, 0.7, a + slope * given, observed=x)


def truths(name, a, slope, given, x):
    pm.Bernoulli(name, a + slope * given, observed=x)


def kinds(name, a, slope, given, x):
    p = a + slope * given
    pm.Categorical(name, pt.stack([1 - p, p], axis=-1), observed=x)


def truncated(name, a, slope, given, x):
    pm.Truncated(name, pm.Normal.dist(a, a + slope * given), upper=0.625, observed=x)


def censored(name, a, slope, given, x):
    pm.Censored(name, pm.Exponential.dist(a + slope * given), lower=None, upper=0.5, observed=x)


def stacked(name, a, slope, given, x):
    def logp(value, mean, sd):
        demands = pt.all([sd > 0, pt.isfinite(mean)])
        return check_parameters(pm.logp(pm.Normal.dist(mean, pt.abs(sd)), value), demands)

    pm.CustomDist(name, a, a + slope * given, logp=logp, observed=x)


def density(declare, a, slope, given, x):
    p = a + slope * given
    scale = np.where(p > 0, p, 1.0)
    if declare is censored:
        return np.where(p > 0, np.where(x < 0.5, np.log(scale) - scale * x, -scale * 0.5), -np.inf)
    if declare is truncated:
        mass = stats.norm.logcdf(0.625, a, scale)
        return np.where(p > 0, stats.norm.logpdf(x, a, scale) - mass, -np.inf)
    if declare in (noise, stacked):
        return np.where(p > 0, stats.norm.logpdf(x, a, scale), -np.inf)
    if declare in (truths, kinds):
        inside = (p >= 0) & (p <= 1)
        return np.where(inside, stats.bernoulli.logpmf(x, np.where(inside, p, 0.5)), -np.inf)
    found = stats.poisson.logpmf(x, scale)
    if declare is counts_of_zeros:
        found = np.where(x == 0, np.logaddexp(np.log(0.3), np.log(0.7) + found), np.log(0.7) + found)
    return np.where(p >= 0, found, -np.inf)


DISCRETE = (counts, counts_of_zeros, truths, kinds)


@pytest.mark.parametrize("declare", [noise, stacked, truncated, censored, *DISCRETE])
def test_a_row_out_of_range_leaves_the_density_of_others_as_it_is(declare):
    clf, x = classifier(declare)
    new = x[: len(NEW)]
    of_draws = np.array(
        [density(declare, DRAWS["a"][0, :, [k]].T, DRAWS["slope"][0, :, None], NEW, new) for k in (0, 1)]
    )
    with np.errstate(divide="ignore"):
        expected = np.log(0.5) + logsumexp(of_draws, axis=1).T - np.log(50)
    found = clf.predict_joint_log_proba({"x": new, "given": NEW})
    # PyMC takes the root of two in 32 bits where it computes the mass beyond a limit
    np.testing.assert_allclose(found, expected, rtol=1e-7 if declare is truncated else 1e-10)
    assert np.isneginf(of_draws[:, :, 2:]).any()


def test_draws_that_exclude_a_row_are_counted_as_draws():
    clf, _ = classifier(noise)
    excluding = int((DRAWS["a"][0] + 40.0 * DRAWS["slope"][0][:, None] <= 0).all(1).sum())
    assert 0 < excluding < 50
    with pytest.warns(
        bp.ImpossibleRowWarning, match=f"{excluding} of 50 rows given a draw of the parameters have"
    ):
        clf.predict_proba_interval({"x": [0.3], "given": [40.0]}, draws=50)


def classifier(declare):
    x = np.array([1, 0, 0] * 4 if declare in DISCRETE else [0.3, 0.5] * 6)
    with pm.Model() as model:
        y = pm.Bernoulli("y", 0.5, observed=CODES)
        given = pm.Data("given", GIVEN)
        a, slope = pm.Normal("a", 0.3, 0.1, shape=2), pm.Normal("slope", 0.1, 0.1)
        declare("x", a[y], slope, given, x)
    return bp.from_pymc(model, draws=xr.DataTree.from_dict({"posterior": _dataset()})), x


def _dataset():
    return xr.Dataset(
        {"a": (("chain", "draw", "a_dim_0"), DRAWS["a"]), "slope": (("chain", "draw"), DRAWS["slope"])}
    )
