"""The default prior of correlated Gaussian features: smooth, additive, free of units, and what its formulas
say."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import bayesppl as bp
from bayesppl.families import covariance_prior

STRUCTURES = ["full", "tied"]
IRIS = load_iris(return_X_y=True)


def classifier(covariance, **settings):
    return bp.GenerativeClassifier(bp.Gaussian(covariance), **settings)


def prior_of(clf):
    return clf.posterior_.prior.parts["features"]


def nested_rows(y, rng, n_first=2):
    """Rows in random order, after two of each class."""
    first = np.concatenate([rng.permutation(np.flatnonzero(y == k))[:n_first] for k in np.unique(y)])
    return np.r_[first, rng.permutation(np.setdiff1d(np.arange(len(y)), first))]


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_the_learning_curve_has_no_cliff(covariance, load):
    # one row more changes the mean of repetitions by no more than what one row explains; a prior read off the
    # covariance of all rows loses .3 to .6 of accuracy where the rows first outnumber the columns
    X, y = load(return_X_y=True)
    n_columns, curves = X.shape[1], []
    for seed in range(6):
        order = nested_rows(y, np.random.default_rng(seed))
        test = order[n_columns + 5 :]
        sizes = range(n_columns - 3, n_columns + 5)
        fits = [classifier(covariance).fit(X[order[:n]], y[order[:n]]) for n in sizes]
        curves.append([clf.score(X[test], y[test]) for clf in fits])
    mean = np.mean(curves, 0)
    assert np.abs(np.diff(mean)).max() < 0.03
    assert mean.min() > 0.85


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_rows_in_batches_give_the_prior_of_all_rows(covariance):
    X, y = IRIS
    order = np.random.default_rng(0).permutation(150)
    whole = classifier(covariance).fit(X, y)
    parts = classifier(covariance, classes=[0, 1, 2])
    for batch in np.array_split(order, 7):
        parts = parts.partial_fit(X[batch], y[batch])
    for name in ("location", "kappa", "nu", "psi"):
        np.testing.assert_allclose(
            getattr(prior_of(parts), name), getattr(prior_of(whole), name), rtol=1e-8, atol=1e-10
        )


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_units_shifts_and_the_order_of_columns_change_nothing(covariance):
    X, y = IRIS
    rows = X[::7]
    expected = classifier(covariance).fit(X[::2], y[::2]).predict_log_proba(rows)
    factors, shifts, order = np.array([1e-3, 1.0, 2.54, 1e4]), np.array([5.0, -3.0, 0.0, 100.0]), [2, 0, 3, 1]

    def moved(values):
        return (values * factors + shifts)[:, order]

    found = classifier(covariance).fit(moved(X[::2]), y[::2]).predict_log_proba(moved(rows))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_the_prior_is_continuous_in_weights(covariance):
    X, y = IRIS
    weights = np.random.default_rng(1).uniform(0.2, 2, 150)
    found = []
    for vanishing in (0.0, 1e-10):  # a row, and a whole class
        weights[7], weights[100:] = vanishing, vanishing
        found.append(prior_of(classifier(covariance, classes=[0, 1, 2]).fit(X, y, weights)))
    for name in ("location", "kappa", "nu", "psi"):
        np.testing.assert_allclose(getattr(found[1], name), getattr(found[0], name), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_a_weight_of_two_is_two_rows(covariance):
    X, y = IRIS
    weighted = prior_of(classifier(covariance).fit(X, y, np.repeat([1, 2], 75)))
    repeated = prior_of(classifier(covariance).fit(np.r_[X, X[75:]], np.r_[y, y[75:]]))
    np.testing.assert_allclose(weighted.psi, repeated.psi, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(weighted.nu, repeated.nu, rtol=1e-8)


def test_evidence_of_a_scatter_against_quadrature():
    # one dimension: S / σ² is chi-square with n degrees of freedom, and ν s / σ² is with ν
    squares, degrees, rows = 3.7, 5.0, np.array([0.5, 3.0, 40.0])

    def density(variance, nu):
        chi = stats.chi2.pdf(squares / variance, degrees) / variance
        return chi * stats.chi2.pdf(nu / variance, nu) * nu / variance**2

    exact = np.log([integrate.quad(density, 0, np.inf, args=(nu,), limit=200)[0] for nu in rows])
    found = covariance_prior._log_evidence(rows, rows, np.array([squares]), degrees)
    np.testing.assert_allclose(np.diff(found), np.diff(exact), rtol=1e-6)


def test_classes_of_one_covariance_share_it_and_others_do_not():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 100)
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 4)) + y[:, None]
    alike = X.copy()
    X[y == 1] = X[y == 1] @ np.diag([3.0, 1, 1, 0.3])
    strength = [prior_of(classifier("full").fit(values, y)).nu.mean() for values in (X, alike)]
    assert strength[0] < 30  # of 100 rows in each class
    assert strength[1] > 120
    tied, full = (classifier(covariance).fit(alike, y).predict_proba(alike) for covariance in ("tied", "full"))
    assert np.abs(tied - full).max() < 0.05


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_few_rows_constant_and_copied_columns_make_a_proper_prior(covariance):
    rng = np.random.default_rng(0)
    few, copied = rng.standard_normal((6, 10)), np.c_[IRIS[0], IRIS[0][:, 0]]
    constant = np.c_[few, np.full(6, 3.0)]
    for X, y in ((few, [0, 0, 0, 1, 1, 1]), (copied, IRIS[1]), (constant, [0, 1, 2, 3, 4, 4]), (few[:1], [0])):
        clf = classifier(covariance, classes=range(5)).fit(X, y)
        assert prior_of(clf).is_proper().all()
        assert np.isfinite(clf.predict_log_proba(X)).all()


# --- the evidence of classes with a covariance each -----------------------------------------------------------


def log_density(rows, location, kappa, nu, psi):
    """Log density of rows of one class, each predicted from those before it by scipy's multivariate t."""
    total, dimension = 0.0, rows.shape[1]
    for x in rows:
        dof = nu - dimension + 1
        total += stats.multivariate_t(location, psi * (kappa + 1) / (kappa * dof), dof).logpdf(x)
        psi = psi + kappa / (kappa + 1) * np.outer(x - location, x - location)
        location, kappa, nu = location + (x - location) / (kappa + 1), kappa + 1, nu + 1
    return total


@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("n_features", [1, 3])
def test_evidence_predicts_every_class_from_those_before_it(n_classes, n_features):
    X, y = IRIS[0][::4, :n_features], IRIS[1][::4]
    X, y = X[y < n_classes], y[y < n_classes]
    clf = classifier("full", classes=range(n_classes)).fit(X, y)
    # the numbers that all classes share, from the priors as resolved
    shared, own = prior_of(classifier("tied", classes=range(n_classes)).fit(X, y)), prior_of(clf)
    delta_0 = shared.nu - n_features + 1
    scatter = np.stack([(y == k).sum() * np.atleast_2d(np.cov(X[y == k].T, ddof=0)) for k in range(n_classes)])
    degrees = np.bincount(y) - 1.0
    worth, rows = own.nu - n_features + 1, delta_0 + degrees.sum() - degrees
    delta = worth[0] / (1 - worth[0] / rows[0])

    def log_evidence(order):
        total = 0.0
        for place, k in enumerate(order):
            before = list(order[:place])
            n_0 = delta_0 + degrees[before].sum()
            r = delta / (delta + n_0)
            psi = r * (shared.psi + scatter[before].sum(0))
            total += log_density(X[y == k], own.location[k], own.kappa[k], n_features - 1 + r * n_0, psi)
        return total

    metric = np.linalg.inv(shared.psi + scatter.sum(0))
    ring = sorted(range(n_classes), key=lambda k: np.trace(metric @ scatter[k]))
    orders = [log_evidence([*ring[first:], *ring[:first]]) for first in range(n_classes)]
    found = float(clf.log_evidence()["features"].sum())
    assert found == pytest.approx(np.mean(orders), rel=1e-10)
    assert found <= special.logsumexp(orders) - np.log(n_classes) + 1e-9


def test_evidence_depends_on_no_name_and_no_class_without_rows():
    X, y = load_wine(return_X_y=True)
    y = np.where(y == 2, 2 + np.arange(len(y)) % 3, y)  # five classes have many cyclic orders
    expected = classifier("full").fit(X, y).log_evidence()["features"].values
    renamed = classifier("full").fit(X, (y * 3 + 1) % 5).log_evidence()["features"].values
    np.testing.assert_allclose(renamed[(np.arange(5) * 3 + 1) % 5], expected, rtol=1e-12)
    empty = classifier("full", classes=range(7)).fit(X, y + 1).log_evidence()["features"].values
    np.testing.assert_allclose(empty, [0.0, *expected, 0.0], rtol=1e-9)


def test_evidence_counts_every_row_once():
    # columns without any relation to the classes: the plain product of evidences prefers a covariance for each of
    # many classes, for each was shown to its prior by all the others
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4)), np.arange(200) % 20
    full, tied = (classifier(covariance).fit(X, y) for covariance in ("full", "tied"))
    plain = prior_of(full).log_increment(full.posterior_.statistics.parts["features"]).sum()
    found, expected = (float(clf.log_evidence()["features"].sum()) for clf in (full, tied))
    assert found <= expected
    assert plain - 2 * 200 * np.log(2 * np.pi) > expected


# --- leave-one-out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_features", [1, 4])
@pytest.mark.parametrize(
    "gap", [0, 1e4]
)  # between the classes: a form that is linear in x would lose digits to the larger
def test_a_row_that_is_left_out_leaves_the_priors_of_the_other_classes(weighted, n_features, gap):
    X, y = IRIS[0][::6, :n_features] + gap * IRIS[1][::6, None], IRIS[1][::6]
    weights = np.random.default_rng(2).uniform(0.5, 2, len(y)) if weighted else np.ones(len(y))
    clf = classifier("full").fit(X, y, weights)
    found, prior = clf.loo().log_joint, prior_of(clf)
    shared = prior_of(classifier("tied").fit(X, y, weights))
    degrees = np.bincount(y, weights) - 1
    rows = shared.nu - n_features + 1 + degrees.sum() - degrees
    share = (prior.nu - n_features + 1) / rows

    def scatter(of_class, kept):
        at = (y == of_class) & kept
        gaps = X[at] - np.average(X[at], axis=0, weights=weights[at])
        return (weights[at, None] * gaps).T @ gaps

    for i, c in enumerate(y):
        kept = np.arange(len(y)) != i
        others = np.arange(3) != c
        lost = scatter(c, np.full(len(y), True)) - scatter(c, kept)
        held = bp.NormalInverseWishart(
            prior.location,
            prior.kappa,
            prior.nu - others * share * weights[i],
            prior.psi - (others * share)[:, None, None] * lost,
        )
        refitted = bp.QuadraticDiscriminantAnalysis(held).fit(X[kept], y[kept], weights[kept])
        np.testing.assert_allclose(found[i], refitted.predict_joint_log_proba(X[[i]])[0], rtol=1e-9)


def test_the_numbers_of_the_prior_are_found_once_for_a_fit_and_all_that_is_asked_of_it(monkeypatch):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60_000, 20)), np.arange(60_000) % 3  # left out in several ranges of rows
    found, find = [], covariance_prior.hierarchy
    monkeypatch.setattr(covariance_prior, "hierarchy", lambda *data: found.append(data) or find(*data))
    clf = classifier("full").fit(X, y)
    clf.loo()
    clf.log_evidence()
    assert len(found) == 1


def test_leave_one_out_predicts_like_fits_without_the_row():
    # a row that stays in the priors of the other classes looks like theirs
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::5], y[::5]
    loo = classifier("full").fit(X, y).loo()
    kept = ~np.eye(len(y), dtype=bool)
    refitted = [classifier("full").fit(X[rows], y[rows]).predict_proba(X[~rows])[0] for rows in kept]
    scores = np.log(np.take_along_axis(np.array(refitted), y[:, None], 1)[:, 0])
    assert loo.accuracy[0] == pytest.approx(np.mean(np.argmax(refitted, 1) == y), abs=loo.accuracy[1])
    assert loo.log_score[0] == pytest.approx(scores.mean(), abs=loo.log_score[1])
