"""Gaussian families against published values, scipy, scikit-learn, and each other."""

from itertools import product

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.fixes import parse_version

import bayesppl as bp
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families import closed_forms

IRIS = load_iris(return_X_y=True)
WINE = load_wine(return_X_y=True)
STRUCTURES = ["full", "tied", "diag", "tied_diag", "spherical"]


def bound(family, X, n_classes):
    return family.bind(as_table(X), tuple(range(n_classes)))


def posterior_of(family, X, codes, n_classes):
    family = bound(family, X, n_classes)
    statistics = closed_forms.sufficient_statistics(family, X, one_hot(codes, n_classes))
    prior = family.resolve_prior(statistics)
    return family, prior, prior.update(statistics), statistics


# --- published values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["diag", "tied_diag", "spherical"])
def test_predictive_and_evidence_of_three_numbers(covariance):
    # NIG(28, 2, 1, 120) on 20, 30, 40, by the formulas of Murphy (2007); one column and one occupied class
    X = np.array([[20.0], [30.0], [40.0], [0.0]])
    family = bp.Gaussian(covariance, bp.NormalInverseGamma(28, 2, 1, 120))
    family, prior, posterior, statistics = posterior_of(family, X[:3], np.zeros(3, int), 1)
    density = np.exp(closed_forms.log_predictive(family, posterior)(np.array([[23.0]])))
    np.testing.assert_allclose(density, [[0.029822246851240995]], rtol=1e-12)
    evidence = closed_forms.log_evidence(family, prior, statistics)[""].values.sum()
    np.testing.assert_allclose(evidence, -11.6539802582, atol=1e-10)


def test_evidence_of_iris_per_class():
    clf = bp.QuadraticDiscriminantAnalysis(bp.NormalInverseWishart(0, 1, 6, 1.0)).fit(*IRIS)
    expected = [-52.4682132629, -91.3155877429, -125.5060731640]
    np.testing.assert_allclose(clf.log_evidence()["features"], expected, atol=1e-10)


def test_evidence_is_the_density_of_a_matrix_t():
    # the evidence by another route: a chain of multivariate t predictives of scipy (chain rule)
    X, nu, kappa, psi, location = IRIS[0][:12], 6.5, 0.4, np.diag([1.0, 2.0, 3.0, 4.0]), np.full(4, 0.7)
    chain = 0.0
    for x in X:
        dof = nu - 4 + 1
        chain += stats.multivariate_t(location, psi * (kappa + 1) / (kappa * dof), dof).logpdf(x)
        gap = x - location
        psi = psi + kappa / (kappa + 1) * np.outer(gap, gap)
        location, kappa, nu = location + gap / (kappa + 1), kappa + 1, nu + 1
    family = bp.Gaussian("full", bp.NormalInverseWishart(0.7, 0.4, 6.5, [1.0, 2.0, 3.0, 4.0]))
    family, prior, _, statistics = posterior_of(family, X, np.zeros(12, int), 1)
    np.testing.assert_allclose(
        closed_forms.log_evidence(family, prior, statistics)[""].values.sum(), chain, rtol=1e-12
    )


# --- predictives of the vague limits (Geisser 1964) -----------------------------------------------------------


def test_jeffreys_qda_is_geissers_t():
    X, y = IRIS
    clf = bp.QuadraticDiscriminantAnalysis("jeffreys", class_weights="uniform").fit(X, y)
    for k in range(3):
        rows = X[y == k]
        n, d = rows.shape
        scatter = np.cov(rows.T, ddof=0) * n
        t = stats.multivariate_t(rows.mean(0), scatter * (n + 1) / (n * (n - d)), n - d)
        np.testing.assert_allclose(clf.predict_joint_log_proba(X)[:, k], t.logpdf(X) - np.log(3), rtol=1e-10)


def test_jeffreys_lda_is_geissers_t():
    X, y = IRIS
    clf = bp.LinearDiscriminantAnalysis("jeffreys", class_weights="uniform").fit(X, y)
    n_rows, d = X.shape
    scatter = sum(np.cov(X[y == k].T, ddof=0) * 50 for k in range(3))
    dof = n_rows - 3 - d + 1
    for k in range(3):
        t = stats.multivariate_t(X[y == k].mean(0), scatter * 51 / (50 * dof), dof)
        np.testing.assert_allclose(clf.predict_joint_log_proba(X)[:, k], t.logpdf(X) - np.log(3), rtol=1e-10)


def test_jeffreys_naive_bayes_is_a_product_of_ts():
    X, y = IRIS
    clf = bp.GaussianNB("jeffreys", class_weights="uniform").fit(X, y)
    for k in range(3):
        rows = X[y == k]
        scale = rows.std(0, ddof=1) * np.sqrt(1 + 1 / 50)
        expected = stats.t(49, rows.mean(0), scale).logpdf(X).sum(1) - np.log(3)
        np.testing.assert_allclose(clf.predict_joint_log_proba(X)[:, k], expected, rtol=1e-10)


# --- maximum likelihood is scikit-learn's ---------------------------------------------------------------------


@pytest.mark.parametrize("data", [IRIS, WINE])
def test_mle_naive_bayes_is_scikit_learns(data):
    X, y = data
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    ours = bp.GaussianNB(rule="mle").fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    estimates = ours.estimates(["mle"]).sel(estimate="mle")
    np.testing.assert_allclose(estimates["mean"], theirs.theta_)
    np.testing.assert_allclose(estimates["variance"], theirs.var_)


@pytest.mark.parametrize("data", [IRIS, WINE])
def test_mle_lda_is_scikit_learns(data):
    X, y = data
    theirs = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(X, y)
    ours = bp.LinearDiscriminantAnalysis(rule="mle").fit(X, y)
    np.testing.assert_allclose(ours.estimates(["mle"])["covariance"][0], theirs.covariance_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_mle_qda_is_scikit_learns():
    X, y = IRIS
    theirs = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    before = parse_version(sklearn.__version__) < parse_version("1.9")  # which divided by n - 1
    family, rule = (bp.Gaussian("full", "unbiased"), "map") if before else (bp.Gaussian("full"), "mle")
    ours = bp.GenerativeClassifier(family, rule=rule).fit(X, y)
    np.testing.assert_allclose(ours.estimates([rule])["covariance"][0], theirs.covariance_, rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-12)


def test_map_under_the_unbiased_prior_divides_as_textbooks_do():
    X, y = IRIS
    covariances = np.array([np.cov(X[y == k].T) for k in range(3)])  # numpy divides by n - 1
    variances = np.diagonal(covariances, axis1=1, axis2=2)
    expected = {  # classes of equal size: a pooled estimate is an average
        "full": covariances,
        "tied": covariances.mean(0),
        "diag": variances,
        "tied_diag": variances.mean(0),
        "spherical": variances.mean(1),
    }
    for covariance, values in expected.items():
        clf = bp.GenerativeClassifier(bp.Gaussian(covariance, "unbiased")).fit(X, y)
        estimates = clf.estimates(["map"]).sel(estimate="map")
        found = estimates["covariance" if covariance in ("full", "tied") else "variance"]
        np.testing.assert_allclose(found, values, rtol=1e-12)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_map_under_a_flat_prior_is_mle(covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, "flat")).fit(*IRIS)
    estimates = clf.estimates(["mle", "map"])
    for name in estimates:
        mle, map_ = estimates[name].transpose("estimate", ...).values
        np.testing.assert_allclose(map_, mle, rtol=1e-12)


# --- coincidences ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [("full", "diag"), ("tied", "tied_diag"), ("diag", "spherical")])
def test_structures_coincide_for_one_column(one, other):
    X, y = IRIS[0][:, :1], IRIS[1]
    first, second = (
        bp.GenerativeClassifier(bp.Gaussian(covariance, "fraley-raftery")).fit(X, y) for covariance in (one, other)
    )
    for rule in ("mle", "map", "mean", "predictive"):
        np.testing.assert_allclose(
            first.predict_proba(X, rule=rule), second.predict_proba(X, rule=rule), rtol=1e-9
        )
    np.testing.assert_allclose(first.log_evidence().total, second.log_evidence().total)


@pytest.mark.parametrize(
    ("covariance", "prior"),
    [
        *product(["full", "tied"], ["hierarchical", "fraley-raftery", "regularised", "jeffreys"]),
        *product(["diag", "tied_diag"], ["hierarchical", "columnwise", "jeffreys"]),
    ],
)
def test_units_do_not_matter(covariance, prior):
    X, y = IRIS
    units = np.array([1e-3, 7.0, 1e6, 0.3])
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior))
    np.testing.assert_allclose(
        clf.fit(X, y).predict_proba(X), clf.fit(X * units, y).predict_proba(X * units), rtol=1e-7
    )


def test_units_of_a_constant_column_do_not_matter():
    X = np.c_[IRIS[0], np.full(150, 0.1)]
    clf = bp.GaussianNB()
    scaled = X * np.array([1, 1, 1, 1, 1e4])
    np.testing.assert_allclose(
        clf.fit(X, IRIS[1]).predict_proba(X), clf.fit(scaled, IRIS[1]).predict_proba(scaled)
    )


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_order_of_columns_does_not_matter(covariance):
    X, y = IRIS
    order = [2, 0, 3, 1]
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance))
    np.testing.assert_allclose(
        clf.fit(X, y).predict_log_proba(X), clf.fit(X[:, order], y).predict_log_proba(X[:, order]), rtol=1e-8
    )


def test_fraley_raftery_hyperparameters():
    X, y = IRIS
    wishart = bp.QuadraticDiscriminantAnalysis("fraley-raftery").fit(X, y).posterior_.prior.parts["features"]
    np.testing.assert_allclose(wishart.psi[0], np.cov(X.T) / 3 ** (2 / 4), rtol=1e-12)
    np.testing.assert_allclose(wishart.location[0], X.mean(0))
    assert wishart.nu[0] == 6
    assert wishart.kappa[0] == 0.01


def test_columnwise_hyperparameters():
    """Three rows of the variance within the classes, to which a third of that of all rows adds one."""
    X, y = IRIS
    X = X.copy()
    X[:40, 1] = np.nan  # ten cells are left in the first class
    prior = bp.GaussianNB("columnwise").fit(X, y).posterior_.prior.parts["features"]
    squares = np.array([np.nanvar(X[y == k], axis=0) * (~np.isnan(X[y == k])).sum(0) for k in range(3)])
    degrees = np.array([[49, 9, 49, 49], [49] * 4, [49] * 4])
    shares = 3 / (3 + degrees)  # no class counts for more than three
    variance = ((shares * squares).sum(0) + np.nanvar(X, axis=0, ddof=1) / 3) / ((shares * degrees).sum(0) + 1)
    np.testing.assert_allclose(prior.b, [1.5 * variance] * 3, rtol=1e-12)
    np.testing.assert_allclose(prior.location, [np.nanmean(X, axis=0)] * 3, rtol=1e-12)
    assert (prior.a == 1.5).all()
    assert (prior.kappa == 0.01).all()


@pytest.mark.slow
def test_intervals_and_novelty_hold_from_few_rows_on():
    """Rows from the model itself: five in each of two classes, four columns of variance one."""
    covered, novel = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, truth = np.repeat([0, 1], 5), rng.integers(0, 2, 50)
        X, new = (rng.normal(size=(len(labels), 4)) + labels[:, None] for labels in (y, truth))
        clf = bp.GaussianNB(class_weights="uniform").fit(X, y)
        proba = 1 / (1 + np.exp(2 - new.sum(1)))
        found = clf.predict_proba_interval(new, draws=300, random_state=0).sel({"class": 1})
        covered.append(((found["lower"] <= proba) & (proba <= found["upper"])).mean())
        novel.append(clf.novelty(new, level=0.05, random_state=0, draws=300)["is_novel"].mean())
    assert 0.75 < np.mean(covered) < 0.95  # of the default intervals, which are of 89 %
    assert np.mean(novel) < 0.05 + 4 * np.std(novel) / np.sqrt(40)


def test_regularised_covariances_lie_halfway_to_a_diagonal_matrix():
    """Of many rows: regularised discriminant analysis at γ = ½ (Friedman 1989), in units of the variances within
    the classes."""
    rng = np.random.default_rng(0)
    roots = np.array([[[1.0, 0.0], [0.9, 0.3]], [[2.0, 0.0], [-1.0, 1.5]]])
    y = np.repeat([0, 1], 50_000)
    X = np.einsum("nij,nj->ni", roots[y], rng.standard_normal((100_000, 2))) * [1.0, 50.0]
    clf = bp.QuadraticDiscriminantAnalysis("regularised").fit(X, y)
    own = np.array([np.cov(X[y == k].T) for k in (0, 1)])
    halfway = (own + np.diag(np.diagonal(own.mean(0)))) / 2
    np.testing.assert_allclose(clf.estimates(["mean"])["covariance"][0], halfway, rtol=1e-3, atol=1e-3 * own.max())


@pytest.mark.parametrize("prior", ["hierarchical", "fraley-raftery", "regularised"])
def test_priors_cope_with_fewer_rows_than_columns_and_copied_columns(prior):
    rng = np.random.default_rng(0)
    few = rng.standard_normal((6, 10))
    copied = np.c_[IRIS[0], IRIS[0][:, 0]]
    for X, y in ((few, [0, 0, 0, 1, 1, 1]), (copied, IRIS[1])):
        probabilities = bp.QuadraticDiscriminantAnalysis(prior).fit(X, y).predict_proba(X)
        assert np.isfinite(probabilities).all()


# --- missing cells --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", STRUCTURES)
@pytest.mark.parametrize("rule", ["mle", "map", "mean", "predictive"])
def test_a_missing_cell_is_integrated_over(covariance, rule):
    X, y = IRIS
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, y)
    row = X[[70]].copy()
    # independent: integrate the density of the complete row over the missing cell on a fine, wide grid
    grid = np.linspace(-100, 100, 50_001)
    complete = np.repeat(row, len(grid), axis=0)
    complete[:, 1] = grid
    expected = np.trapezoid(np.exp(clf.predict_joint_log_proba(complete, rule=rule)), grid, axis=0)
    row[0, 1] = np.nan
    found = np.exp(clf.predict_joint_log_proba(row, rule=rule))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_a_row_of_missing_cells_predicts_the_class_weights(covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance), class_weights=[0.2, 0.3, 0.5]).fit(*IRIS)
    np.testing.assert_allclose(clf.predict_proba(np.full((1, 4), np.nan)), [[0.2, 0.3, 0.5]])


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariance", "prior", "n_rows", "message"),
    [
        ("full", "jeffreys", 4, "at least 5 rows in each class"),
        ("full", "flat", 9, "at least 10 rows in each class"),
        ("full", "unbiased", 10, "at least 11 rows in each class"),
        ("diag", "jeffreys", 1, "at least 2 rows in each class"),
        ("tied", "jeffreys", 2, "at least 6 rows in all"),
    ],
)
def test_too_few_rows_for_an_improper_prior(covariance, prior, n_rows, message):
    X, y = np.random.default_rng(0).standard_normal(IRIS[0].shape), IRIS[1]  # iris has ties
    rows = np.r_[0:n_rows, 50 : 50 + n_rows]
    if covariance == "tied":
        rows = rows[: n_rows * 2 - 1]
    with pytest.raises(bp.ImproperError, match=f"{message}.*rows found: 0: {n_rows}"):
        bp.GenerativeClassifier(bp.Gaussian(covariance, prior)).fit(X[rows], y[rows])
    more = np.r_[0 : n_rows + 1, 50 : 50 + n_rows + 1]
    if covariance != "tied":
        bp.GenerativeClassifier(bp.Gaussian(covariance, prior)).fit(X[more], y[more])


def test_evidence_of_an_improper_prior_is_refused():
    with pytest.raises(bp.ImproperError, match="evidence is undefined under the improper prior"):
        bp.GaussianNB("jeffreys").fit(*IRIS).log_evidence()


@pytest.mark.parametrize("covariance", STRUCTURES)
def test_pymc_refuses_an_improper_prior(covariance):
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, "jeffreys")).fit(*IRIS)
    with pytest.raises(bp.ImproperError, match="prior is improper: PyMC"):
        clf.to_pymc()


def test_mle_of_a_constant_column_is_refused_and_nothing_else_is():
    X, y = np.c_[IRIS[0], np.where(IRIS[1] == 1, 3.0, IRIS[0][:, 0])], IRIS[1]
    clf = bp.GaussianNB().fit(X, y)
    with pytest.raises(bp.UndefinedEstimateError, match=r"column 'x4' is constant within class 1"):
        clf.predict(X, rule="mle")
    for rule in ("map", "mean", "predictive"):
        assert np.isfinite(clf.predict_proba(X, rule=rule)).all()


@pytest.mark.parametrize("tied", [False, True])
def test_mle_of_a_singular_covariance_is_refused(tied):
    X = np.c_[IRIS[0], IRIS[0][:, 0]]
    clf = bp.GenerativeClassifier(bp.Gaussian("tied" if tied else "full")).fit(X, IRIS[1])
    with pytest.raises(bp.UndefinedEstimateError, match=r"covariance .* is singular"):
        clf.predict(X, rule="mle")


@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_missing_cells_are_refused_at_fit_where_they_cannot_be_skipped(covariance):
    X = IRIS[0].copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"column 'x2' \(1 of \d+ rows\).*bayesppl\.GaussianNB"):
        bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, IRIS[1])


def test_infinities_are_refused_by_name():
    X = IRIS[0].copy()
    X[3, 2] = -np.inf
    with pytest.raises(ValueError, match="column 'x2' holds -inf in row 3"):
        bp.GaussianNB().fit(X, IRIS[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"covariance": "round"}, "covariance must be one of 'full'.*found 'round'"),
        ({"covariance": "spherical", "prior": "columnwise"}, "prior='columnwise' is not known"),
        ({"covariance": "spherical", "prior": "hierarchical"}, "prior='hierarchical' is not known"),
        ({"prior": "haldane"}, "prior='haldane' is not known; choose one of 'hierarchical', 'columnwise', 'fra"),
    ],
)
def test_unknown_names_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        bp.GenerativeClassifier(bp.Gaussian(**arguments)).fit(*IRIS)


@pytest.mark.parametrize("covariance", ["diag", "spherical", "full"])
def test_a_student_t_of_very_many_degrees_of_freedom_is_the_normal(covariance):
    a = 1e14
    prior = (
        bp.NormalInverseWishart(0, 1, 2 * a, 2 * a) if covariance == "full" else bp.NormalInverseGamma(0, 1, a, a)
    )
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior), class_weights="uniform")
    X = np.array([[0.3, -0.2], [1.0, 0.4]])
    found = clf.fit(X, [0, 1]).predict_joint_log_proba([[0.5, 2.0]])
    expected = [stats.norm(row / 2, np.sqrt(1.5)).logpdf([0.5, 2.0]).sum() for row in X]
    np.testing.assert_allclose(found[0] - np.log(0.5), expected, rtol=1e-12)


@pytest.mark.parametrize("covariance", ["diag", "tied_diag", "full", "tied"])
def test_units_of_a_column_that_never_varies_change_no_probability(covariance):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], [3, 7, 11])
    X = np.column_stack([rng.normal(size=21) + y, np.full(21, 0.3)])
    rows = np.array([[0.5, 0.3], [1.5, 0.7]])
    found = [
        bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X * units, y).predict_proba(rows * units)
        for units in (np.array([1.0, 1.0]), np.array([1.0, 1e-6]), np.array([3.0, 1e7]))
    ]
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)


@pytest.mark.parametrize("weights", [None, [1.3, 0.5, 0.2, 2.4, 0.1, 0.2]])
def test_priors_are_those_of_fraley_and_raftery(weights):
    X, y = np.array([[0.0, 1], [1, 3], [3, 2], [4, 0], [6, 1], [2, 7]]), [0, 0, 1, 1, 2, 2]
    covariance = np.cov(X, rowvar=False, aweights=weights, ddof=0)
    total = 6 if weights is None else sum(weights)
    covariance *= total / (total - 1)
    priors = {
        (structure, prior): bp.GenerativeClassifier(bp.Gaussian(structure, prior))
        .fit(X, y, weights)
        .posterior_.prior.parts["features"]
        for structure, prior in (
            ("full", "fraley-raftery"),
            ("diag", "fraley-raftery"),
            ("spherical", None),
        )
    }
    # ν = D + 2 and the scale Σ / K^(2/D); an inverse gamma has half of either, and of independent columns their
    # mean variance for a scale (function defaultPrior of mclust)
    np.testing.assert_allclose(priors["full", "fraley-raftery"].nu, 4)
    np.testing.assert_allclose(priors["full", "fraley-raftery"].psi, [covariance / 3] * 3)
    for published in (priors["diag", "fraley-raftery"], priors["spherical", None]):
        np.testing.assert_allclose(published.a, 2)
        np.testing.assert_allclose(published.b, np.trace(covariance) / 2 / 3 / 2)


@pytest.mark.parametrize("structure", ["full", "tied"])
def test_a_class_without_rows_has_no_mean(structure):
    X, y = load_iris(return_X_y=True)
    clf = bp.GenerativeClassifier(bp.Gaussian(structure), classes=[0, 1, 2, 3], rule="mle").fit(X, y)
    with pytest.raises(UndefinedEstimateError, match="class 3 has no rows"):
        clf.predict(X)


def test_rows_are_drawn_from_a_prior_of_columns_that_copy_each_other():
    X, y = load_iris(return_X_y=True)
    clf = bp.LinearDiscriminantAnalysis().fit(np.c_[X, X[:, 0]], y)
    tree = clf.to_datatree(draws=200, groups=["prior_predictive"], random_state=0)
    assert all(np.isfinite(values).all() for values in tree["prior_predictive"].data_vars.values())
