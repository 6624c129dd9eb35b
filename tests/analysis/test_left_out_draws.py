"""Leave-one-out from draws, against the closed form, and against integrals over a grid."""

import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import stats
from scipy.special import gammaln, logsumexp

import bayesppl as bp
from bayesppl.analysis.left_out_draws import joints_of_draws
from bayesppl.errors import ConvergenceWarning, NotConjugateError
from bayesppl.inference.pymc.reading import part_draws
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import DrawsReport
from bayesppl.model.sampled import Sampled

RNG = np.random.default_rng(5)
CODES = np.repeat([0, 1], [14, 10])
COUNTS = RNG.poisson(np.array([2.0, 5.0])[CODES])
NUMBERS = RNG.normal(np.array([0.0, 2.0])[CODES], 1.0)

#: log rates on a fine grid, and the log of what their prior gives to each.
GRID = np.linspace(-3.0, 4.0, 4001)
PRIOR = stats.norm(0.5, 1.0).logpdf(GRID)


def partly_known():
    """Counts whose rates have log-normal priors, which is not conjugate, beside numbers that are."""
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=CODES)
        log_rate = pm.Normal("log_rate", 0.5, 1.0, shape=2)
        pm.Poisson("n", pm.math.exp(log_rate)[label], observed=COUNTS)
        mean = pm.Normal("mean", 0.0, 3.0, shape=2)
        pm.Normal("x", mean[label], 1.0, observed=NUMBERS)
    return model


def log_rates(counts):
    """The log posterior of a log rate on the grid, of counts of one class."""
    log_posterior = PRIOR + stats.poisson(np.exp(GRID)).logpmf(counts[:, None]).sum(0)
    return log_posterior - logsumexp(log_posterior)


def draws_of(codes, counts, size=4000):
    """Exact draws of the log rates, as ``pm.sample`` would return them."""
    rng = np.random.default_rng(1)
    drawn = [rng.choice(GRID, size, p=np.exp(log_rates(counts[codes == k]))) for k in (0, 1)]
    values = np.stack(drawn, axis=1).reshape(4, size // 4, 2)
    posterior = xr.Dataset({"log_rate": (("chain", "draw", "log_rate_dim_0"), values)})
    return xr.DataTree.from_dict({"posterior": posterior})


def expected():
    """log p(x_i, n_i, y = k | D without i): counts by the grid, numbers and labels by their closed forms."""
    found = np.empty((len(CODES), 2))
    for i in range(len(CODES)):
        others = np.arange(len(CODES)) != i
        for k in (0, 1):
            own = others & (k == CODES)
            precision = 1 / 9 + own.sum()
            found[i, k] = (
                np.log((own.sum() + 1) / (len(CODES) + 1))
                + stats.norm(NUMBERS[own].sum() / precision, np.sqrt(1 + 1 / precision)).logpdf(NUMBERS[i])
                + logsumexp(log_rates(COUNTS[own]) + stats.poisson(np.exp(GRID)).logpmf(COUNTS[i]))
            )
    return found


@pytest.fixture(scope="module")
def clf():
    return bp.from_pymc(partly_known(), draws=draws_of(CODES, COUNTS))


@pytest.fixture(scope="module")
def loo(clf):
    return clf.loo()


def test_parts_known_by_draws_are_left_out_by_importance_weights_and_others_exactly(clf, loo):
    assert clf.recognition()["solution"].tolist() == ["exact", "compressed", "exact"]
    oracle = expected()
    # densities vary by at most 0.8 of their mean over the four thousand independent draws
    np.testing.assert_allclose(loo.log_joint, oracle, atol=5 * 0.8 / np.sqrt(4000))
    np.testing.assert_allclose(
        loo.log_class_weights,
        np.log((15 - (CODES == 0))[:, None] / 25) * [1, 0] + np.log((11 - (CODES == 1))[:, None] / 25) * [0, 1],
        rtol=1e-12,
    )
    scores = np.take_along_axis(oracle, CODES[:, None], 1)[:, 0] - logsumexp(oracle, axis=1)
    z = (loo.log_score_i - scores) / loo.draws.mcse
    assert np.abs(z).max() < 5
    assert 0.2 < np.sqrt((z**2).mean()) < 2.5
    assert abs(loo.log_score[0] - scores.mean()) < 5 * loo.draws.log_score_mcse
    assert loo.draws.pareto_k.max() < loo.draws.good_k
    assert not loo.draws.refitted


def test_containers_of_draws_report_k_hat(loo):
    for target in ("joint", "label"):
        elpd = loo.elpd(target)
        assert elpd.n_samples == 4000
        np.testing.assert_array_equal(elpd.pareto_k, loo.draws.pareto_k)
        assert "Pareto k" in str(elpd)
    assert {"pareto_k", "mcse"} <= set(loo.to_dataset())
    assert "k-hat" in repr(loo)


def test_the_score_of_rows_is_that_of_arviz(clf, loo):
    import arviz as az

    tree = clf.to_datatree(groups=["posterior", "log_likelihood"], random_state=1)
    by_arviz = az.loo(tree)
    # ArviZ weighs draws of all parameters, of which those in closed form vary too
    assert abs(by_arviz.elpd - loo.elpd().elpd) < 0.3


@pytest.mark.parametrize("rule", ["mean", "map", "mle"])
def test_estimates_without_a_row_are_refused(clf, rule):
    with pytest.raises(NotConjugateError, match="rule='predictive'"):
        clf.loo(rule=rule)


def test_a_row_of_great_influence_is_reported():
    counts = COUNTS.copy()
    counts[3] = 40
    clf = bp.from_pymc(partly_known_of(counts), draws=draws_of(CODES, counts))
    with pytest.warns(ConvergenceWarning, match=r"k-hat is up to \S+, above 0\.70; .*raise refits=0"):
        found = clf.loo(refits=0)
    assert found.draws.pareto_k.argmax() == 3
    assert found.elpd().warning


def partly_known_of(counts):
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2)), observed=CODES)
        log_rate = pm.Normal("log_rate", 0.5, 1.0, shape=2)
        pm.Poisson("n", pm.math.exp(log_rate)[label], observed=counts)
    return model


@pytest.mark.slow
def test_a_row_of_great_influence_is_left_out_by_sampling_anew():
    counts = COUNTS.copy()
    counts[3] = 16
    clf = bp.from_pymc(
        partly_known_of(counts), draws=draws_of(CODES, counts), inference=bp.NUTS(4000, 300, random_state=1)
    )
    found = clf.loo()
    assert 3 in found.draws.refitted
    assert found.draws.pareto_k[3] == 0
    own = (np.arange(len(CODES)) != 3) & (CODES == 0)
    weights, density = np.exp(log_rates(counts[own])), stats.poisson(np.exp(GRID)).pmf(16)
    average = weights @ density
    error = np.sqrt(weights @ (density / average - 1) ** 2 / 4000)  # of the 16,000 draws a quarter counts
    assert abs(found.log_joint[3, 0] - np.log(14 / 25 * average)) < 4 * error < 0.7
    assert clf.fitted_.log_joint(counts[[3]].reshape(-1, 1))[0, 0] - found.log_joint[3, 0] > 2


def _sampled(clf, size=4000):
    """The posterior of a fit as if it were known by draws alone."""
    exact = clf.posterior_
    theta = exact.draws(4, size // 4, np.random.default_rng(2))
    report = DrawsReport({"inference": "closed_form"}, {}, Diagnosis({}, []), {})
    return Sampled(exact.model, exact.statistics, exact.prior, theta, report)


@pytest.mark.parametrize("weighted", [False, True])
def test_draws_of_our_own_families_are_weighted_alike(weighted):
    X = np.column_stack([NUMBERS, RNG.normal(size=len(CODES))])
    weights = np.where(np.arange(len(CODES)) % 3, 1.0, 2.0) if weighted else np.ones(len(CODES))
    clf = bp.GaussianNB("columnwise").fit(X, CODES, weights)
    exact = clf.loo(X, CODES, weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of a row of weight two
        found, about = joints_of_draws(_sampled(clf), clf.fitted_.encode(X), CODES, weights, 0)
    good = about.pareto_k < about.good_k
    assert good.mean() > 0.8
    scores = log_probabilities(found.without, found.class_weights)[np.arange(len(CODES)), CODES]
    z = (scores - exact.log_score_i)[good] / about.mcse[good]
    assert np.abs(z).max() < 5
    assert abs((scores - exact.log_score_i)[good].sum()) < 5 * np.sqrt((about.mcse[good] ** 2).sum())
    np.testing.assert_allclose(np.exp(found.fitted), np.exp(exact.log_joint_fitted), atol=0.005)
    np.testing.assert_allclose(found.log_class_weights[good], exact.log_class_weights[good], atol=0.05)


def test_draws_are_calibrated_by_the_same_leave_one_out(clf, loo):
    from bayesppl.analysis.column_weights import calibrated

    fitted = calibrated(clf.fitted_, clf.fitted_.rows, "temperature")
    assert fitted.temperature == pytest.approx(loo.calibration.temperature)
    again = bp.from_pymc(partly_known(), draws=draws_of(CODES, COUNTS), calibration="temperature")
    assert again.fitted_.temperature == pytest.approx(fitted.temperature)
    rows = {"n": COUNTS, "x": NUMBERS}
    odds = [np.diff(one.predict_log_proba(rows))[:, 0] for one in (clf, again)]
    np.testing.assert_allclose(
        odds[1] - np.log(11 / 15), (odds[0] - np.log(11 / 15)) / fitted.temperature, rtol=1e-8
    )


@pytest.mark.slow
def test_rows_without_a_label_are_not_taken_for_observed_ones():
    X = np.column_stack([NUMBERS, RNG.normal(size=len(CODES))])
    y = [None if i % 4 == 3 else int(k) for i, k in enumerate(CODES)]
    clf = bp.GaussianNB(inference=bp.Gibbs(draws=250, random_state=1), unlabelled="learn", unlabelled_weight=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = clf.fit(X, y).loo()
    assert found.draws is not None
    assert len(found.codes) == sum(label is not None for label in y)


def test_draws_of_a_sampler_that_does_not_move_are_not_trusted():
    values = np.broadcast_to(np.array([0.5, 1.0])[:, None, None], (2, 200, 2))
    posterior = xr.Dataset({"log_rate": (("chain", "draw", "log_rate_dim_0"), values)})
    clf = bp.from_pymc(partly_known(), draws=xr.DataTree.from_dict({"posterior": posterior}))
    with pytest.warns(ConvergenceWarning, match="k-hat is up to inf"):
        found = clf.loo(refits=0)
    assert np.isinf(found.draws.pareto_k).all()
    assert "R-hat at most inf" in str(clf.summary())


@pytest.mark.slow
def test_a_collapsed_part_integrates_its_parameters_without_the_row(monkeypatch):
    """Counts whose rates have a gamma prior with a learned rate, beside integrals over that rate."""
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=CODES)
        spread = pm.LogNormal("spread", 0.0, 0.7)
        rate = pm.Gamma("rate", 2.0, spread, shape=2)
        pm.Poisson("x", rate[label], observed=COUNTS)
    grid = np.exp(np.linspace(-4, 4, 2001))
    prior = stats.norm(0, 0.7).logpdf(np.log(grid))

    def log_evidence(counts):
        n, total = len(counts), counts.sum()
        return stats.nbinom(2.0, grid / (grid + max(n, 1))).logpmf(total) if n else np.zeros(len(grid))

    def log_predictive(counts, value):
        a, b = 2.0 + counts.sum(), grid + len(counts)
        return stats.nbinom(a, b / (b + 1)).logpmf(value)

    from bayesppl.inference.pymc.reading.recognition import read

    reading = read(model, "y")
    [block] = [b for b in reading.blocks if b.solution == "collapsed"]
    assert block.name == "x"
    of_all = prior + log_evidence(COUNTS[CODES == 0]) + log_evidence(COUNTS[CODES == 1])
    drawn = np.random.default_rng(3).choice(grid, 2000, p=np.exp(of_all - logsumexp(of_all)))
    monkeypatch.setattr(part_draws, "compile_density", lambda density, notify: None)  # nothing is run
    clf = bp.from_pymc(model, inference=_Given(drawn))
    found = clf.loo()
    for i in (0, 5, 20):
        kept = np.arange(len(CODES)) != i
        weights = prior + sum(log_evidence(COUNTS[kept & (k == CODES)]) for k in (0, 1))
        weights -= logsumexp(weights)
        oracle = [
            np.log(0.5) + logsumexp(weights + log_predictive(COUNTS[kept & (k == CODES)], COUNTS[i]))
            for k in (0, 1)
        ]
        np.testing.assert_allclose(found.log_joint[i], oracle, atol=0.01)
    assert found.draws.pareto_k.max() < 0.5


@pytest.mark.slow
def test_a_row_of_great_influence_is_taken_out_of_a_collapsed_part_once():
    """Counts whose rates have a gamma prior with learned shape and rate, beside integrals over both."""
    codes, counts = np.repeat([0, 1], 5), np.array([2, 1, 3, 50, 2, 1, 2, 0, 3, 2])
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=codes)
        shape, spread = pm.Exponential("shape", 0.5), pm.Exponential("spread", 1.0)
        rate = pm.Gamma("rate", shape, spread, shape=2)
        pm.Poisson("x", rate[label], observed=counts)
    found = bp.from_pymc(model, inference=bp.NUTS(4000, 500, chains=2, target_accept=0.98, random_state=2)).loo()
    assert 3 in found.draws.refitted
    assert found.draws.pareto_k[3] == 0

    a, b = np.meshgrid(np.geomspace(1e-3, 200, 500), np.geomspace(1e-3, 100, 500), indexing="ij")
    kept = np.arange(len(codes)) != 3
    log_weights = np.log(a * b) - 0.5 * a - b  # of logarithmic steps
    after = []
    for k in (0, 1):
        n, total = (kept & (k == codes)).sum(), counts[kept & (k == codes)].sum()
        log_weights = log_weights + gammaln(a + total) - gammaln(a) + a * np.log(b) - (a + total) * np.log(b + n)
        after.append(stats.nbinom(a + total, (b + n) / (b + n + 1)))
    weights = np.exp(log_weights - logsumexp(log_weights))
    for k, density in enumerate(after):
        average = (weights * density.pmf(50)).sum()
        error = np.sqrt(
            (weights * (density.pmf(50) / average - 1) ** 2).sum() / 1000
        )  # an eighth of the draws counts
        assert abs(found.log_joint[3, k] - np.log(0.5 * average)) < 4 * error < 0.7


class _Given(bp.NUTS):
    """A sampler whose draws of a positive variable are given."""

    def __init__(self, values):
        super().__init__(random_state=1)
        object.__setattr__(self, "values", values)

    def run(self, density, compiled):
        return np.log(self.values).reshape(2, -1, 1), {}
