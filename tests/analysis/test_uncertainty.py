"""Credible intervals of class probabilities and the entropy split, against analytic and brute-force answers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, entr, expit, logit
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis import draws as analysis_draws
from bayesppl.analysis import uncertainty
from bayesppl.model.calibration import Calibration, ColumnWeights

X, y = load_iris(return_X_y=True)


def test_the_winner_flips_between_the_two_averages():
    rows, columns = np.r_[50:59, 100:103], [0, 2]
    prior = bp.NormalInverseWishart(location=0, kappa=1, nu=4, psi=1.0)
    clf = bp.QuadraticDiscriminantAnalysis(prior).fit(X[rows][:, columns], y[rows])
    row = X[[120]][:, columns]
    np.testing.assert_allclose(clf.predict_proba(row), [[0.5227, 0.4773]], atol=5e-4)
    draws = 20_000
    interval = clf.predict_proba_interval(row, draws=draws, random_state=1)
    mean, error = float(interval["mean"][0, 0]), float(interval["sd"][0, 0]) / np.sqrt(draws)
    # five million draws by Bartlett's decomposition, written out in numpy
    assert mean == pytest.approx(0.48817, abs=4 * error)
    assert mean + 3 * error < 0.5


def row_that_says_nothing():
    """All cells missing: p(y | x, θ) is the class weights, whose posterior is Dirichlet(4, 3, 8)."""
    clf = bp.GaussianNB(class_weights=bp.Dirichlet([1, 1, 2])).fit(X[45:110:6], np.repeat([0, 1, 2], [3, 2, 6]))
    assert clf.class_count_.tolist() == [3, 2, 6]
    return clf, np.full((1, 4), np.nan), np.asarray([4.0, 3.0, 8.0])


def test_interval_of_class_weights_is_that_of_their_dirichlet():
    clf, nothing, alpha = row_that_says_nothing()
    draws = 20_000
    interval = clf.predict_proba_interval(nothing, prob=0.9, draws=draws, random_state=0).sel(row=0)
    marginals = [stats.beta(a, alpha.sum() - a) for a in alpha]
    for k, beta in enumerate(marginals):
        error = beta.std() / np.sqrt(draws)
        assert float(interval["mean"][k]) == pytest.approx(beta.mean(), abs=4 * error)
        # the sd of an sd is at most that of a normal times √((kurtosis − 1)/2); kurtosis here is below 4
        assert float(interval["sd"][k]) == pytest.approx(beta.std(), abs=4 * error * np.sqrt(1.5))
        for name, tail in (("lower", 0.05), ("upper", 0.95)):
            quantile = beta.ppf(tail)
            error = np.sqrt(0.05 * 0.95 / draws) / beta.pdf(quantile)
            assert float(interval[name][k]) == pytest.approx(quantile, abs=4 * error)


def test_entropy_split_of_class_weights_is_analytic():
    clf, nothing, alpha = row_that_says_nothing()
    draws = 20_000
    split = clf.uncertainty(nothing, draws=draws, random_state=0).sel(row=0)
    total = alpha.sum()
    mean = alpha / total
    # the average entropy of a Dirichlet (Wolpert & Wolf 1995)
    aleatoric = digamma(total + 1) - (mean * digamma(alpha + 1)).sum()
    samples = np.random.default_rng(5).dirichlet(alpha, draws)
    error = entr(samples).sum(1).std() / np.sqrt(draws)
    assert float(split["aleatoric"]) == pytest.approx(aleatoric, abs=5 * error)
    # error of H at the averaged probabilities, by its gradient −(1 + log p)
    total_error = ((1 + np.log(mean)) * samples).sum(1).std() / np.sqrt(draws)
    assert float(split["total"]) == pytest.approx(entr(mean).sum(), abs=5 * total_error)
    assert float(split["predictive_entropy"]) == pytest.approx(entr(mean).sum(), rel=1e-12)
    assert float(split["epistemic"]) == pytest.approx(float(split["total"] - split["aleatoric"]), abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_blocks_of_rows_and_draws_change_nothing(monkeypatch, covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, y)
    theta = clf.posterior_.draws(1, 50, np.random.default_rng(3))
    flat = {name: values[0] for name, values in theta.items()}
    joint = np.exp(clf.posterior_.model.log_joint(flat)(X))
    expected = joint / joint.sum(-1, keepdims=True)
    for block, chunk, held in ((1 << 23, 1 << 20, 1 << 21), (400, 30, 1 << 21), (400, 30, 0)):
        monkeypatch.setattr(uncertainty, "_BLOCK_CELLS", block)
        monkeypatch.setattr(uncertainty, "CHUNK_CELLS", chunk)
        monkeypatch.setattr(analysis_draws, "_HELD", held)
        interval = clf.predict_proba_interval(X, prob=0.5, draws=50, random_state=3)
        np.testing.assert_allclose(interval["mean"], expected.mean(0), atol=1e-12)
        np.testing.assert_allclose(interval["sd"], expected.std(0), atol=1e-12)
        np.testing.assert_allclose(interval["upper"], np.quantile(expected, 0.75, axis=0), atol=1e-12)


def test_epistemic_uncertainty_is_what_more_data_removes():
    rng = np.random.default_rng(0)
    between = [[1.0]]
    few, many = (
        bp.GaussianNB().fit(rng.normal(2.0 * (labels := np.arange(n) % 2))[:, None], labels).uncertainty(between)
        for n in (10, 10_000)
    )
    assert float(many["epistemic"][0]) < 0.01 * float(few["epistemic"][0])
    # x = 1 lies half way between N(0, 1) and N(2, 1): a coin is tossed, whatever is learned
    assert float(many["aleatoric"][0]) == pytest.approx(np.log(2), abs=1e-3)
    assert (few["epistemic"] >= 0).all()


@pytest.mark.parametrize(("name", "options"), [("prob", {"prob": 1.5}), ("draws", {"draws": 1})])
def test_settings_out_of_range_are_refused(name, options):
    with pytest.raises(ValueError, match=f"{name} must"):
        bp.GaussianNB().fit(X, y).predict_proba_interval(X, **options)


def test_the_predictive_entropy_is_that_of_the_predictive_whatever_the_rule():
    clf = bp.GaussianNB(rule="mle").fit(X[::9], y[::9])
    proba = clf.predict_proba(X, rule="predictive")
    found = clf.uncertainty(X, draws=5, random_state=0)["predictive_entropy"]
    np.testing.assert_allclose(found, entr(proba).sum(1), rtol=1e-12)
    assert not np.allclose(found, entr(clf.predict_proba(X)).sum(1), rtol=0.1)


def test_intervals_hold_the_error_of_the_temperature():
    """Of so many rows that nothing else is uncertain, the log odds are those of the row times a log-normal 1/T."""
    rng = np.random.default_rng(0)
    labels = np.arange(200_000) % 2
    rows, new = rng.normal(size=(200_000, 1)) + 2 * labels[:, None], np.array([[2.5]])
    fitted = bp.GaussianNB(class_weights="uniform").fit(rows, labels).fitted_
    log_odds = np.diff(np.log(bp.GaussianNB(class_weights="uniform").fit(rows, labels).predict_proba(new)))[0, 0]
    draws, log_sd, prob = 20_000, 0.5, 0.8
    tempered = replace(fitted, calibration=Calibration(2.0, log_sd, 0.0, 0.0))
    found = uncertainty.predict_proba_interval(tempered, new, prob, draws, 1)
    for name, level in (("lower", 0.1), ("median", 0.5), ("upper", 0.9)):
        z = np.log(logit(found[name].values[0, 1]) * 2 / log_odds) / log_sd
        error = np.sqrt(level * (1 - level) / draws) / stats.norm.pdf(stats.norm.ppf(level))
        assert z == pytest.approx(stats.norm.ppf(level), abs=5 * error)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.9, 1.0, -1.0])
def test_weights_of_columns_err_together_as_far_as_they_are_learned_together(correlation):
    """Log odds of two equal parts grow by exp(c), c the mean of the errors: what one has more the other lacks."""
    rng = np.random.default_rng(0)
    labels = np.arange(200_000) % 2
    rows, new = rng.normal(size=(200_000, 2)) + 2 * labels[:, None], np.array([[2.5, 2.0]])
    clf = bp.GaussianNB(class_weights="uniform").fit(rows, labels)
    weights = 1 / clf.explain(new, against=0)["weight"].values[0, :, 0]
    covariance = 0.3**2 * np.array([[1, correlation], [correlation, 1]])
    of_columns = ColumnWeights(("x0", "x1"), weights, covariance, 0.1, 0.0, 0.0, 100)
    weighted, draws = replace(clf.fitted_, calibration=of_columns), 20_000
    drawn = np.concatenate(list(uncertainty.probability_draws(weighted, new, draws, 1, np.copy)), axis=1)[:, 0, 1]
    log_odds, of_mean = logit(drawn), covariance.mean()
    variance = 4 * np.exp(of_mean) * np.expm1(of_mean)
    of_parameters = 1e-4  # of so many rows
    error = np.sqrt((variance + of_parameters) / draws)
    assert log_odds.mean() == pytest.approx(2 * np.exp(of_mean / 2), abs=5 * error)
    kurtosis = stats.kurtosis(log_odds, fisher=False)
    tolerance = of_parameters + 5 * variance * np.sqrt((kurtosis - 1) / draws)
    assert log_odds.var() == pytest.approx(variance, abs=tolerance)


@pytest.mark.slow
def test_intervals_of_calibrated_fits_cover_the_probability():
    covered = {"temperature": [], None: []}
    rng = np.random.default_rng(12)
    for _ in range(100):
        means, labels = rng.normal(size=(2, 3)), rng.integers(0, 2, 80)
        rows, new = rng.normal(size=(80, 3)) + means[labels], rng.normal(size=(10, 3)) + means[np.arange(10) % 2]
        log_density = stats.norm.logpdf(new[:, None], means).sum(2)
        truth = expit(log_density[:, 1] - log_density[:, 0])
        for calibration, of in covered.items():
            clf = bp.GaussianNB(calibration=calibration).fit(rows, labels)
            found = clf.predict_proba_interval(new, draws=300, random_state=0).sel({"class": 1})
            of.append(((found["lower"] <= truth) & (truth <= found["upper"])).mean())
    for of in covered.values():
        assert np.mean(of) == pytest.approx(0.89, abs=3 * np.std(of) / 10)


def test_portions_of_draws_have_class_weights_of_their_own(monkeypatch):
    clf = bp.GaussianNB(calibration="temperature").fit(
        X[::9], y[::9]
    )  # whose powers are those of the densities alone
    found = []
    for block, chunk in ((1 << 23, 1 << 20), (400, 30)):
        monkeypatch.setattr(uncertainty, "_BLOCK_CELLS", block)
        monkeypatch.setattr(uncertainty, "CHUNK_CELLS", chunk)
        found.append(clf.predict_proba_interval(X, draws=50, random_state=3)["mean"])
    np.testing.assert_allclose(found[1], found[0], atol=1e-12)
