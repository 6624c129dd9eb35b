"""Feature relevance against contingency tables, and averaging against the sum over all subsets of features."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaln, expit, gammaln, logit
from scipy.stats import betabinom
from sklearn.datasets import load_iris
from support.examples import EXAMPLES

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import closed_forms
from bayesppl.families.covariance_prior import hierarchy

IRIS = load_iris(return_X_y=True)
TABLES = ["bernoulli", "binomial", "categorical", "histogram"]
NAIVE = [*TABLES, "gaussian diag", "gaussian tied_diag", "poisson", "negative binomial", "lognormal"]


def test_bayes_factor_of_a_two_by_two_table():
    # class a: 7 of 10, class b: 2 of 9; beta(2, 3) priors; conditional on both margins
    X = np.r_[np.ones(7), np.zeros(3), np.ones(2), np.zeros(7)][:, None]
    clf = bp.BernoulliNB(bp.Beta(2, 3)).fit(X, np.repeat(["a", "b"], [10, 9]))
    q = 10 / 19  # the prior masses, 4 of ones and 6 of zeros, are divided among the classes by their sizes
    yes, no = (4 * q, 4 * (1 - q)), (6 * q, 6 * (1 - q))
    by_outcome = betaln(yes[0] + 7, yes[1] + 2) - betaln(*yes) + betaln(no[0] + 3, no[1] + 7) - betaln(*no)
    # the number of rows of class a under dependence, and the beta-binomial of its mean and variance
    rows_of_a = np.convolve(betabinom.pmf(np.arange(10), 9, *yes), betabinom.pmf(np.arange(11), 10, *no))
    assert rows_of_a @ np.arange(20) == pytest.approx(10)
    variance = rows_of_a @ (np.arange(20) - 10) ** 2
    mass = brentq(lambda a: betabinom.var(19, a * q, a * (1 - q)) - variance, 0.1, 100, xtol=1e-14)
    of_all = betaln(mass * q + 10, mass * (1 - q) + 9) - betaln(mass * q, mass * (1 - q))
    found = clf.feature_relevance(prior=0.2)
    assert float(found["log_bayes_factor"][0]) == pytest.approx(by_outcome - of_all, rel=1e-8)
    assert float(found["probability"][0]) == pytest.approx(expit(by_outcome - of_all + logit(0.2)))


@pytest.mark.parametrize(
    "family",
    [
        bp.Bernoulli(),
        bp.Bernoulli("overall"),
        bp.Categorical(),
        bp.Poisson(),
        bp.AveragedTree(),
        *map(bp.Gaussian, ["diag", "tied_diag", "full", "tied", "spherical"]),
        *(bp.Gaussian(covariance, "fraley-raftery") for covariance in ("diag", "tied_diag", "full", "tied")),
        bp.Gaussian("tied_diag", "sparse"),
        bp.families.GaussianTree(),
    ],
    ids=str,
)
def test_classes_without_rows_say_nothing(family):
    """Whatever a column depends on, the distribution of such a class integrates to one."""
    rows = IRIS[0][:100, :3]
    if "Gaussian" not in type(family).__name__:
        rows = (rows > np.median(rows, 0)).astype(int)
    seen, more = (
        bp.GenerativeClassifier(family, classes=list(range(k))).fit(rows, IRIS[1][:100]).feature_relevance()
        for k in (2, 12)
    )
    np.testing.assert_allclose(more["log_bayes_factor"], seen["log_bayes_factor"], rtol=1e-6)


def _subset_evidences(name, X, y, prior):
    """Log probability of every subset of relevant features, and the predictive of every row under it, by brute
    force."""
    family = EXAMPLES[name].family
    clf = bp.GenerativeClassifier(family, class_weights="empirical").fit(X, y)
    model, rows = clf.posterior_.model, clf.fitted_.rows
    n, n_classes = len(y), model.n_classes
    singles = []
    for column in X.columns:
        for codes, k in ((rows.codes, n_classes), (np.zeros(n, int), 1)):
            alone = family.bind(as_table(X[[column]]), model.classes[:k])
            encoded = alone.bound.encode(as_table(X[[column]]))
            statistics = closed_forms.sufficient_statistics(alone, encoded, one_hot(codes, k))
            belief = alone.resolve_prior(statistics)
            after = belief.update(statistics)
            evidence = sum(
                part.values.sum() for part in closed_forms.log_evidence(alone, belief, statistics).values()
            )
            singles.append(
                (evidence, np.broadcast_to(closed_forms.log_predictive(alone, after)(encoded), (n, n_classes)))
            )
    if name in TABLES:  # given the margins, only the Bayes factors are known
        factors = clf.feature_relevance()["log_bayes_factor"].values
        singles = [(0.0 if d % 2 else factors[d // 2], log_p) for d, (_, log_p) in enumerate(singles)]
    log_weights, log_joints = [], []
    for subset in product([0, 1], repeat=len(X.columns)):
        chosen = [singles[2 * d + irrelevant] for d, irrelevant in enumerate(subset)]
        log_prior = sum(np.log(1 - prior if irrelevant else prior) for irrelevant in subset)
        log_weights.append(log_prior + sum(evidence for evidence, _ in chosen))
        log_joints.append(sum(log_p for _, log_p in chosen) + np.log(clf.posterior_.predictive_weights()))
    return clf, np.asarray(log_weights), np.asarray(log_joints)


@pytest.mark.parametrize("prior", [0.5, 0.1])
@pytest.mark.parametrize("name", NAIVE)
def test_averaging_is_the_sum_over_all_subsets(name, prior):
    _, X, y = EXAMPLES[name]
    X = X[: len(y)]
    clf, log_weights, log_joints = _subset_evidences(name, X, y, prior)
    weights = np.exp(log_weights - np.logaddexp.reduce(log_weights))
    joint = np.einsum("s,snk->nk", weights, np.exp(log_joints))
    np.testing.assert_allclose(clf.averaged_proba(X, prior), joint / joint.sum(1, keepdims=True), rtol=1e-8)
    relevant = np.asarray([[not irrelevant for irrelevant in s] for s in product([0, 1], repeat=X.shape[1])])
    np.testing.assert_allclose(clf.feature_relevance(prior)["probability"], weights @ relevant, rtol=1e-8)


@pytest.mark.parametrize("covariance", ["full", "tied", "spherical"])
def test_correlated_features_are_judged_as_a_block(covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(*IRIS)
    found = clf.feature_relevance()
    assert found["feature"].values.tolist() == ["all features"]
    # one class, whose prior has the numbers of the first prior of the classes, written out, and a mean that is the
    # average of three
    prior = clf.posterior_.prior.parts["features"]
    if covariance == "full":
        found_of_all = hierarchy(clf.posterior_.statistics.parts["features"], False, range(4))
        rows = found_of_all.independence * found_of_all.others / (found_of_all.others + found_of_all.independence)
        psi = np.diag(rows * found_of_all.sd**2)
        declared = bp.NormalInverseWishart(prior.location[0], 3 * prior.kappa[0], 3 + rows, psi)
    elif covariance == "tied":
        declared = bp.NormalInverseWishart(prior.location[0], 3 * prior.kappa[0], float(prior.nu), prior.psi)
    else:
        declared = "fraley-raftery"
    pooled = bp.Gaussian(covariance, declared).bind(as_table(IRIS[0]), (0,))
    statistics = closed_forms.sufficient_statistics(pooled, IRIS[0], one_hot(np.zeros(150, int), 1))
    common = closed_forms.log_evidence(pooled, pooled.resolve_prior(statistics), statistics)[""].values.sum()
    dependent = float(clf.log_evidence()["features"].sum())
    assert float(found["log_bayes_factor"][0]) == pytest.approx(dependent - common, rel=1e-10)
    np.testing.assert_allclose(clf.averaged_proba(IRIS[0]), clf.predict_proba(IRIS[0]), atol=1e-9)


def test_noise_is_found_irrelevant_and_stops_to_matter():
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 2
    train = np.c_[rng.normal(1.5 * labels), rng.normal(size=(40, 60))]
    labels_of_test = np.arange(2000) % 2
    test = np.c_[rng.normal(1.5 * labels_of_test), rng.normal(size=(2000, 60))]
    clf = bp.GaussianNB().fit(train, labels)
    probability = clf.feature_relevance()["probability"].values
    assert probability[0] == max(probability)
    assert probability[1:].mean() < 0.4

    def log_score(p):
        return np.log(p[np.arange(2000), labels_of_test])

    gain = log_score(clf.averaged_proba(test, prior=0.1)) - log_score(clf.predict_proba(test))
    assert gain.mean() > 5 * gain.std() / np.sqrt(2000)


def log_evidence_of_normals(X, location, kappa, a, b):
    """Of the cells of one class, column by column (Murphy 2007, equation 200)."""
    n, squares = len(X), len(X) * X.var(0)
    b_n = b + squares / 2 + kappa * n * (X.mean(0) - location) ** 2 / (2 * (kappa + n))
    of_variance = gammaln(a + n / 2) - (a + n / 2) * np.log(b_n) - gammaln(a) + a * np.log(b)
    return of_variance + 0.5 * np.log(kappa / (kappa + n)) - n / 2 * np.log(2 * np.pi)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
@pytest.mark.parametrize("is_tuned", [False, True])
def test_one_class_in_place_of_four_has_the_variance_of_all_rows_about_one_mean(is_tuned):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    X = rng.normal(size=(40, 6)) + np.outer(y, [0, 0, 0, 0, 0, 2])
    clf = bp.GaussianNB().fit(X, y)
    nu = 2 * clf.posterior_.prior.parts["features"].a[0]
    clf = clf.tune_prior() if is_tuned else clf
    prior = clf.posterior_.prior.parts["features"]
    location, kappa, a, b = prior.location[0], np.minimum(prior.kappa[0], 1), prior.a[0], prior.b[0]
    apart = sum(log_evidence_of_normals(X[y == k], location, kappa, a, b) for k in range(4))
    squares, variance, share = sum(10 * X[y == k].var(0) for k in range(4)), X.var(0, ddof=1), nu / (nu + 9)
    within = (share * squares + variance / 4) / (share * 36 + 1)
    one = log_evidence_of_normals(X, location, 4 * kappa, a, b * (39 * variance + variance) / 40 / within)
    np.testing.assert_allclose(clf.feature_relevance()["log_bayes_factor"], apart - one, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.ConvergenceWarning")
def test_a_tuned_prior_is_that_of_one_distribution_too():
    """As the same hyperparameters do when they are declared."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 4)), rng.integers(0, 2, 150)
    tuned = bp.GaussianNB("columnwise", tuning="evidence").fit(X, y)
    prior = tuned.posterior_.prior.parts["features"]
    declared = bp.GaussianNB(bp.NormalInverseGamma(prior.location[0], prior.kappa[0], prior.a[0], prior.b[0])).fit(
        X, y
    )
    for found, expected in (
        (tuned.feature_relevance()["log_bayes_factor"], declared.feature_relevance()["log_bayes_factor"]),
        (tuned.averaged_proba(X), declared.averaged_proba(X)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    counts = rng.poisson(5.0, size=(150, 4))
    found = bp.PoissonNB(tuning="evidence").fit(counts, y).feature_relevance()["log_bayes_factor"]
    assert (np.abs(found) < 2).all()


def test_a_prior_out_of_range_is_refused():
    with pytest.raises(ValueError, match="prior must lie between 0 and 1, found 1"):
        bp.GaussianNB().fit(*IRIS).feature_relevance(prior=1.0)


def test_an_improper_prior_is_refused():
    with pytest.raises(bp.ImproperError, match="evidence is undefined"):
        bp.GaussianNB("jeffreys").fit(*IRIS).feature_relevance()
