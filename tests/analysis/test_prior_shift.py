"""New class frequencies from unlabelled rows, against direct optimisation and quadrature."""

import arviz as az
import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import logsumexp, xlogy
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis import prior_shift
from bayesppl.analysis.prior_shift import _draw_weights

IRIS = load_iris(return_X_y=True)


def _sample(rng, weights, n):
    labels = rng.choice(3, size=n, p=weights)
    centres = np.asarray([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    return centres[labels] + rng.standard_normal((n, 2)), labels


@pytest.fixture(scope="module")
def shifted():
    rng = np.random.default_rng(0)
    train, labels = _sample(rng, [1 / 3] * 3, 600)
    test, truth = _sample(rng, [0.8, 0.15, 0.05], 800)
    return bp.GaussianNB().fit(train, labels), test, truth


def _log_density(clf, X):
    log_joint = clf.predict_joint_log_proba(X)  # the mean of the class weights is that of both rules used here
    return log_joint - np.log(clf.posterior_.predictive_weights())


def test_new_weights_replace_old_ones(shifted):
    clf, test, _ = shifted
    weights = np.asarray([0.7, 0.2, 0.1])
    joint = np.exp(_log_density(clf, test)) * weights
    expected = joint / joint.sum(1, keepdims=True)
    np.testing.assert_allclose(clf.predict_proba(test, class_weights=weights), expected, rtol=1e-10)
    np.testing.assert_allclose(clf.predict_proba(test, class_weights={0: 0.7, 1: 0.2, 2: 0.1}), expected)
    fixed = bp.GaussianNB(class_weights=weights).fit(*IRIS)
    shift = bp.GaussianNB().fit(*IRIS).predict_proba(IRIS[0], class_weights=weights)
    np.testing.assert_allclose(shift, fixed.predict_proba(IRIS[0]), atol=1e-12)
    assert (clf.predict(test, class_weights=[1.0, 0.0, 0.0]) == 0).all()


@pytest.mark.parametrize("weights", [[0.5, 0.5], [0.9, 0.9, 0.9], {"a": 1.0}])
def test_weights_that_do_not_fit_are_refused(shifted, weights):
    with pytest.raises(ValueError, match="class_weights must"):
        shifted[0].predict_proba(shifted[1], class_weights=weights)


def test_a_class_of_weight_zero_has_no_density():
    clf = bp.GaussianNB(class_weights=[0.5, 0.5, 0.0]).fit(*IRIS)
    with pytest.raises(ValueError, match="class number 2 the weight zero"):
        clf.predict_proba(IRIS[0], class_weights=[0.4, 0.3, 0.3])


def test_em_is_the_maximum_likelihood(shifted):
    clf, test, _ = shifted
    log_density = _log_density(clf, test)

    def loss(free):
        log_weights = np.append(free, 0.0) - logsumexp(np.append(free, 0.0))
        return -logsumexp(log_density + log_weights, axis=1).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12}).x
    expected = np.exp(np.append(best, 0.0) - logsumexp(np.append(best, 0.0)))
    np.testing.assert_allclose(clf.estimate_class_weights(test, draws=2)["em"], expected, atol=1e-6)


@pytest.mark.slow
def test_posterior_of_two_weights_by_quadrature():
    rng = np.random.default_rng(2)
    labels = np.arange(100) % 2
    clf = bp.GaussianNB(rule="mean").fit(rng.normal(1.5 * labels)[:, None], labels)
    test = rng.normal(1.5 * (rng.random(40) < 0.85))[:, None]
    log_density = _log_density(clf, test)
    grid = (np.arange(20_000) + 0.5) / 20_000
    log_weights = np.log(np.stack([1 - grid, grid], axis=1))
    log_posterior = logsumexp(log_density[None] + log_weights[:, None], axis=2).sum(1)
    log_posterior += xlogy(1.0, 1 - grid) + xlogy(2.0, grid)  # Dirichlet(2, 3)
    mass = np.exp(log_posterior - log_posterior.max())
    mass /= mass.sum()
    mean = grid @ mass
    sd = np.sqrt(mass @ (grid - mean) ** 2)
    found = clf.estimate_class_weights(test, bp.Dirichlet([2.0, 3.0]), draws=5_000, prob=0.94, random_state=0)
    draws = found["draws"].sel({"class": 1}).values
    assert float(found["mean"][1]) == pytest.approx(
        mean, abs=4 * sd / np.sqrt(float(az.ess(draws, method="mean")))
    )
    assert float(found["sd"][1]) == pytest.approx(sd, abs=4 * sd / np.sqrt(float(az.ess(draws, method="sd"))))
    for name, tail in (("lower", 0.03), ("upper", 0.97)):
        at = np.searchsorted(np.cumsum(mass), tail)
        error = np.sqrt(tail * (1 - tail) / float(az.ess(draws, method="quantile", prob=tail))) / (
            mass[at] * 20_000
        )
        assert float(found[name][1]) == pytest.approx(grid[at], abs=4 * error)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_under_densities_that_many_rows_determine_the_posterior_is_that_of_known_ones(share):
    """Of classes that overlap, where a chain moves slowly: means and sds of eight seeds within 4 errors."""
    rng, labels = np.random.default_rng(1), np.repeat([0, 1], 20_000)
    clf = bp.GaussianNB().fit(rng.normal(0.3 * labels)[:, None], labels)
    test = rng.normal(0.3 * (rng.random(500) < share))[:, None]
    grid = (np.arange(2000) + 0.5) / 2000
    log_weights = np.log(np.stack([1 - grid, grid], axis=1))
    log_posterior = logsumexp(_log_density(clf, test)[None] + log_weights[:, None], axis=2).sum(1)
    mass = np.exp(log_posterior - logsumexp(log_posterior))
    mean = grid @ mass
    found = [clf.estimate_class_weights(test, random_state=seed).sel({"class": 1}) for seed in range(8)]
    for name, expected in (("mean", mean), ("sd", np.sqrt(mass @ (grid - mean) ** 2))):
        values = np.array([float(one[name]) for one in found])
        assert abs(values.mean() - expected) < 4 * values.std(ddof=1) / np.sqrt(8)


@pytest.mark.slow
def test_a_shifted_test_set_is_mended(shifted):
    clf, test, truth = shifted
    found = clf.estimate_class_weights(test, random_state=0)
    np.testing.assert_array_less(np.abs(found["mean"] - [0.8, 0.15, 0.05]), 4 * found["sd"])

    def scores(weights):
        log_proba = clf.predict_log_proba(test, class_weights=weights)
        return log_proba[np.arange(len(truth)), truth], log_proba.argmax(1) == truth

    (before, hits_before), (after, hits_after) = scores(None), scores(found["mean"].values)
    gain = after - before
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))
    assert hits_after.mean() > hits_before.mean() + 0.05


@pytest.mark.slow
def test_gibbs_and_em_ignore_impossible_rows():
    X = [[1, 0], [1, 0], [0, 1], [0, 1]]
    clf = bp.BernoulliNB(rule="mle").fit(X, list("aabb"))
    found = clf.estimate_class_weights([[1, 0], [1, 1], [1, 0], [0, 1]], draws=4000, random_state=0)
    assert found.attrs["rows"] == 3
    # two rows are a, one is b, for certain
    np.testing.assert_allclose(found["em"], [2 / 3, 1 / 3], atol=1e-9)
    exact = stats.beta(3, 2)
    assert float(found["mean"][0]) == pytest.approx(exact.mean(), abs=4 * exact.std() / np.sqrt(4000))


@pytest.mark.slow
def test_intervals_hold_what_few_rows_do_not_say_of_the_classes():
    rng, covered = np.random.default_rng(0), []
    for seed in range(40):
        centres, y = rng.normal(0, 1.5, (3, 3)), np.arange(30) % 3
        clf = bp.GaussianNB().fit(centres[y] + rng.normal(size=(30, 3)), y)
        weights = rng.dirichlet([2.0, 2.0, 2.0])
        new = centres[rng.choice(3, 300, p=weights)] + rng.normal(size=(300, 3))
        found = clf.estimate_class_weights(new, draws=80, random_state=seed)
        covered.append(((found["lower"] <= weights) & (weights <= found["upper"])).mean())
    # with the densities taken as known, half of them do
    assert abs(np.mean(covered) - 0.89) < 3 * np.std(covered) / np.sqrt(40)


def test_the_mode_is_found_where_the_first_step_would_lead_far_beyond_it():
    rng = np.random.default_rng(20)
    y, truth = np.repeat([0, 1, 2], 20), rng.choice(3, 800, p=[0.6, 0.3, 0.1])
    places = np.array([[0, 0], [1.5, 0], [0, 1.5]])
    X, new = (rng.normal(size=(len(labels), 2)) + places[labels] for labels in (y, truth))
    found = bp.GaussianNB().fit(X, y).estimate_class_weights(new, draws=200, random_state=0)
    shares = np.bincount(truth) / 800
    assert ((found["lower"] < shares) & (shares < found["upper"])).all()


@pytest.mark.slow
def test_intervals_of_a_stack_hold_the_true_frequencies():
    rng = np.random.default_rng(4)
    y, labels = np.arange(60) % 2, rng.random(400) < 0.9
    clf = bp.AutoClassifier().fit(rng.normal(size=(60, 2)) + 1.5 * y[:, None], y)
    found = clf.estimate_class_weights(rng.normal(size=(400, 2)) + 1.5 * labels[:, None], random_state=0)
    known = stats.beta(1 + labels.sum(), 1 + (~labels).sum()).std()  # if all labels were seen
    assert float(found["lower"][1]) < labels.mean() < float(found["upper"][1])
    assert known < float(found["sd"][1]) < 5 * known


@pytest.mark.slow
def test_a_sampled_posterior_lends_the_draws_it_has():
    rng, y = np.random.default_rng(3), np.arange(40) % 2
    clf = bp.GaussianNB(inference=bp.Laplace(draws=30, random_state=0)).fit(rng.normal(1.5 * y)[:, None], y)
    found = clf.estimate_class_weights(rng.normal(size=(200, 1)), draws=100, random_state=0)
    assert found["draws"].shape == (1, 100, 2)
    assert float(found["lower"][0]) > 0.5


@pytest.mark.slow
def test_the_posterior_of_weights_is_averaged_over_draws_of_the_densities():
    """Of few training rows and classes that overlap: four seeds against grids under 400 draws, within 4 errors.

    Both depend on the draws of the densities: the standard error is that of averages of 100 and of 400 of them.
    """
    rng, labels = np.random.default_rng(5), np.repeat([0, 1], 150)
    clf = bp.GaussianNB().fit(rng.normal(0.3 * labels)[:, None], labels)
    test = rng.normal(0.3 * (rng.random(400) < 0.5))[:, None]
    grid = (np.arange(400) + 0.5) / 400
    log_weights = np.log(np.stack([1 - grid, grid], axis=1))
    theta = clf.posterior_.draws(1, 400, np.random.default_rng(0))
    means, seconds = [], []
    for mean, variance in zip(theta["mean"][0, :, :, 0], theta["variance"][0, :, :, 0], strict=True):
        log_density = stats.norm.logpdf(test, mean, np.sqrt(variance))
        log_posterior = logsumexp(log_density[None] + log_weights[:, None], axis=2).sum(1)
        mass = np.exp(log_posterior - logsumexp(log_posterior))
        means.append(grid @ mass)
        seconds.append(grid**2 @ mass)
    found = [clf.estimate_class_weights(test, random_state=seed)["draws"][0, :, 1].values for seed in range(4)]
    for power, expected in ((1, means), (2, seconds)):
        value = np.mean([(draws**power).mean() for draws in found])
        error = np.std(expected) * np.sqrt(1 / 400 + 1 / 400) + np.std(found[0] ** power) / np.sqrt(4000)
        assert abs(value - np.mean(expected)) < 4 * error


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_without_evidence_the_posterior_of_weights_is_the_prior(n_classes):
    concentration = np.arange(1.0, n_classes + 1)
    draws = _draw_weights(np.zeros((3, n_classes)), concentration, 2_500, np.random.default_rng(0))
    known = stats.dirichlet(concentration)
    np.testing.assert_allclose(draws.sum(1), 1.0)
    for k in range(n_classes if n_classes > 1 else 0):
        ess = float(az.ess(draws[None, :, k], method="mean"))
        assert abs(draws[:, k].mean() - known.mean()[k]) < 4 * np.sqrt(known.var()[k] / ess)
        second = draws[:, k] ** 2
        error = second.std() / np.sqrt(float(az.ess(second[None], method="mean")))
        assert abs(second.mean() - known.var()[k] - known.mean()[k] ** 2) < 4 * error


@pytest.mark.slow
def test_few_draws_under_each_of_many_densities_are_those_of_long_chains():
    """Ten classes, few rows: ten draws by 600 seeds against labels and weights drawn in turn, 30,000 times."""
    rng = np.random.default_rng(0)
    log_density = 1.5 * rng.normal(size=(100, 10))
    few = np.stack(
        [_draw_weights(log_density, np.ones(10), 10, np.random.default_rng(seed)) for seed in range(600)]
    )
    weights, long = np.full(10, 0.1), np.empty((30_000, 10))
    for sweep in range(len(long)):
        shares = weights * np.exp(log_density)
        labels = (rng.random((100, 1)) * shares.sum(1, keepdims=True) > shares.cumsum(1)).sum(1)
        weights = long[sweep] = rng.dirichlet(1.0 + np.bincount(labels, minlength=10))
    for power in (1, 2):
        averages, chain = (few**power).mean(1), long**power
        ess = [float(az.ess(chain[None, :, k], method="mean")) for k in range(10)]
        error = np.hypot(averages.std(0) / np.sqrt(600), chain.std(0) / np.sqrt(ess))
        assert (np.abs(averages.mean(0) - chain.mean(0)) < 4 * error).all()


@pytest.mark.slow
@pytest.mark.parametrize("concentration", [1.0, 0.1])
def test_intervals_of_classes_that_no_row_is_of_are_those_of_the_dirichlet(concentration):
    """Of classes that are apart, with default draws: the share of the posterior in 89 % intervals, by class."""
    counts = np.array([0, 0, 60, 0, 0, 0, 30, 0, 0, 0])
    labels = np.repeat(np.arange(10), counts)
    y = np.repeat(np.arange(10), 20)
    clf = bp.GaussianNB(rule="mean").fit((y + np.linspace(-0.01, 0.01, len(y)))[:, None], y)
    known = stats.beta(concentration + counts, 9 * concentration + 90 - counts)
    inside = []
    for seed in range(4):
        found = clf.estimate_class_weights(labels[:, None], bp.Dirichlet(concentration), random_state=seed)
        inside.append(known.cdf(found["upper"]) - known.cdf(found["lower"]))
        ess = [float(az.ess(found["draws"].sel({"class": k}).values, method="mean")) for k in range(10)]
        np.testing.assert_array_less(np.abs(found["mean"] - known.mean()), 5 * known.std() / np.sqrt(ess))
    # each end is a quantile of 1000 draws of at least 200 independent ones, four times
    np.testing.assert_allclose(np.mean(inside, axis=0), 0.89, atol=4 * np.sqrt(2 * 0.055 * 0.945 / 800))


def test_as_many_densities_are_drawn_whatever_the_number_of_rows(monkeypatch):
    y = np.arange(40) % 2
    X = np.linspace(-1, 1, 40)[:, None] + y[:, None]
    clf, few = bp.GaussianNB().fit(X, y), []
    monkeypatch.setattr(prior_shift, "_draw_weights", lambda each, *_: few.append(each) or np.full((10, 2), 0.5))
    for fitted in (clf, bp.AutoClassifier().fit(X, y)):
        few.clear()
        monkeypatch.setattr(prior_shift, "_HELD", 7 * 40 * 2)
        fitted.estimate_class_weights(X, random_state=0)
        assert len(few) == 100
        assert all(each.shape == (40, 2) for each in few)


def test_a_stack_of_sparse_rows_estimates_class_weights():
    X = csr_array(np.tile(np.array([[2, 0, 1], [0, 3, 1], [1, 0, 2], [0, 1, 0]]), (10, 1)))
    stack = bp.AutoClassifier().fit(X, list("abab") * 10)
    found = stack.estimate_class_weights(X[::2], draws=150, random_state=0)
    assert found["draws"].shape == (1, 150, 2)
    assert float(found["mean"][0]) > 0.8
