"""Exact leave-one-out against refitting, and against PSIS-LOO from draws."""

import pickle
import tracemalloc

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.sparse import csr_array
from scipy.stats import t
from sklearn.base import clone
from sklearn.datasets import load_iris
from support.examples import CHOSEN
from support.pairs import in_turn

import bayesppl as bp
from bayesppl.data.labels import one_hot

IRIS = load_iris(return_X_y=True)
NIW = bp.NormalInverseWishart(location=[5.8, 3, 4, 1], kappa=0.5, nu=6.5, psi=0.4)
NIG = bp.NormalInverseGamma(location=4.0, kappa=0.3, a=1.7, b=0.9)


# defaults that depend on the data are resolved anew by a refit, and tested below
EXPLICIT = [name for name in CHOSEN if "default prior" not in name]


# rows of one class and one weight are left out together, unless there are as many weights as rows
WEIGHTS = {
    "none": lambda rng, n_rows: None,
    "common": lambda rng, n_rows: np.full(n_rows, 0.75),
    "few": lambda rng, n_rows: rng.choice([0.0, 0.3, 1.0, 2.0], n_rows),
    "many": lambda rng, n_rows: rng.gamma(1.0, size=n_rows),
}


@pytest.mark.parametrize(("name", "kind"), in_turn(EXPLICIT, list(WEIGHTS), 2))
def test_equals_refitting_without_each_row(name, kind):
    family, X, y = CHOSEN[name]
    X = X[: len(y)]
    weights = WEIGHTS[kind](np.random.default_rng(1), len(y))
    clf = bp.GenerativeClassifier(family, class_weights=bp.Dirichlet([1.0, 2.0, 0.5]), classes=sorted(set(y)))
    loo = clone(clf).fit(X, y, weights).loo()
    for row in range(0, len(y), 4):  # of every class
        others = np.delete(np.arange(len(y)), row)
        refitted = clone(clf).fit(
            X.iloc[others], np.asarray(y)[others], None if weights is None else weights[others]
        )
        expected = refitted.predict_joint_log_proba(X.iloc[[row]])[0]
        np.testing.assert_allclose(loo.log_joint[row], expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(loo.proba[row], refitted.predict_proba(X.iloc[[row]])[0], atol=1e-10)


@pytest.mark.parametrize("covariance", ["tied", "spherical"])
def test_default_priors_are_held_fixed(covariance):
    X, y = IRIS[0][::5], IRIS[1][::5]
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance), class_weights="empirical").fit(X, y)
    loo, model, prior = clf.loo(), clf.posterior_.model, clf.posterior_.prior
    for row in (0, 12, 29):
        weights = np.ones(len(y))
        weights[row] = 0
        statistics = model.statistics(X, one_hot(y, 3, weights))
        expected = model.log_joint_predictive(prior.update(statistics))(X[[row]])[0]
        np.testing.assert_allclose(loo.log_joint[row], expected, rtol=1e-9)


def test_scores_are_averages_with_standard_errors():
    weights = np.r_[np.full(75, 2.0), np.ones(75)]
    loo = bp.GaussianNB().fit(*IRIS, sample_weight=weights).loo()
    correct = loo.proba.argmax(1) == IRIS[1]
    assert loo.accuracy[0] == pytest.approx(np.average(correct, weights=weights))
    unweighted = bp.GaussianNB().fit(*IRIS).loo()
    score = unweighted.log_score_i
    assert unweighted.log_score == pytest.approx((score.mean(), score.std(ddof=1) / np.sqrt(150)))
    dataset = unweighted.to_dataset()
    assert dataset["proba"].dims == ("row", "class")
    np.testing.assert_allclose(dataset["proba"].sum("class"), 1)


def test_arviz_compares_exact_elpds():
    quadratic = bp.GenerativeClassifier(bp.Gaussian("full", NIW)).fit(*IRIS).loo()
    naive = bp.GenerativeClassifier(bp.Gaussian("diag", NIG)).fit(*IRIS).loo()
    for target in ("joint", "label"):
        elpds = {"full": quadratic.elpd(target), "naive": naive.elpd(target)}
        table = az.compare(elpds, round_to="none")
        gap = elpds["naive"].elpd_i - elpds["full"].elpd_i
        found = table["elpd_diff"].iloc[1]
        assert abs(found) == pytest.approx(abs(float(gap.sum())))
        assert table["dse"].iloc[1] == pytest.approx(float(np.sqrt(150 * gap.var())))
    assert quadratic.elpd().elpd > naive.elpd().elpd


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["full", "tied", "diag"])
def test_agrees_with_psis_loo_from_exact_draws(covariance):
    prior = NIG if covariance == "diag" else NIW
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior)).fit(*IRIS)
    posterior = clf.posterior_
    theta = posterior.draws(4, 1000, np.random.default_rng(7))
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in theta.items()}
    log_joint = posterior.model.log_joint(flat)(IRIS[0])[:, np.arange(150), IRIS[1]].reshape(4, 1000, 150)
    tree = az.from_dict(
        {"posterior": {"class_weights": theta["class_weights"]}, "log_likelihood": {"row": log_joint}}
    )
    approximate, exact = az.loo(tree, pointwise=True), clf.loo().elpd()
    # Each term is a self-normalised importance sampling estimate of 1/E[1/p]; its error is that of the mean of the
    # weights, sd(w)/(mean(w) √S), here for all rows together (the draws are common, so errors add up linearly).
    weights = np.exp(-log_joint.reshape(-1, 150))
    errors = weights.std(0) / weights.mean(0) / np.sqrt(4000)
    gap = np.abs(approximate.elpd_i.values - exact.elpd_i.values)
    np.testing.assert_array_less(gap, 5 * errors + 1e-12)
    assert approximate.p == pytest.approx(exact.p, abs=5 * errors.sum())
    assert isinstance(approximate.elpd_i, xr.DataArray)
    for elpd in (
        approximate,
        exact,
    ):  # one convention: the variance of the sum of n terms, each with their sample variance
        assert elpd.se == pytest.approx(float(np.sqrt(150 * elpd.elpd_i.values.var(ddof=1))))


def test_rows_may_be_passed_again():
    clf = bp.GaussianNB().fit(*IRIS)
    expected = clf.loo().log_joint
    clf = pickle.loads(pickle.dumps(clf))  # holds no rows
    with pytest.raises(ValueError, match="pass X and y"):
        clf.loo()
    np.testing.assert_array_equal(clf.loo(*IRIS).log_joint, expected)
    with pytest.raises(
        ValueError, match="not the rows of the fit: class 0 has the weight 100 in them, and 50 in the fit"
    ):
        clf.loo(*IRIS, sample_weight=2.0)


def test_an_improper_posterior_is_refused():
    X, y = np.r_[IRIS[0][40:45], IRIS[0][50:60]], np.r_[IRIS[1][40:45], IRIS[1][50:60]]
    clf = bp.QuadraticDiscriminantAnalysis("jeffreys").fit(X, y)
    with pytest.raises(bp.ImproperError, match="without row 0 the posterior of its class is improper"):
        clf.loo()
    one = bp.GaussianNB("jeffreys").fit(X[[0, 1, 6, 7, 8], :2], y[[0, 1, 6, 7, 8]])
    with pytest.raises(bp.ImproperError, match="without row 0"):
        one.loo()


def test_unknown_target_is_refused():
    with pytest.raises(ValueError, match="target must be one of 'joint', 'label', found 'both'"):
        bp.GaussianNB().fit(*IRIS).loo().elpd("both")


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "tied_diag", "spherical"])
def test_an_outlier_of_enormous_leverage_is_left_out_exactly(covariance):
    # subtracting the outlier from sums it dominates would leave nothing but rounding errors
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), np.repeat([0, 1], 12)
    X[3] = [3e6, -1e6]
    diagonal = bp.NormalInverseGamma(0.0, 1e-3, 1.5, 0.5)
    prior = bp.NormalInverseWishart(0.0, 1e-3, 4, 1.0) if covariance in ("full", "tied") else diagonal
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior))
    loo = clone(clf).fit(X, y).loo()
    for row in (0, 3, 20):
        refitted = clone(clf).fit(np.delete(X, row, 0), np.delete(y, row))
        np.testing.assert_allclose(loo.log_joint[row], refitted.predict_joint_log_proba(X[[row]])[0], rtol=1e-6)


def test_one_row_of_a_class_under_a_proper_prior():
    X, y = IRIS[0][[0, 50, 51, 52]], [0, 1, 1, 1]
    clf = bp.QuadraticDiscriminantAnalysis(NIW, classes=[0, 1])
    refitted = clone(clf).fit(X[1:], y[1:])
    found = clone(clf).fit(X, y).loo().log_joint[0]
    np.testing.assert_allclose(found, refitted.predict_joint_log_proba(X[:1])[0], rtol=1e-10)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "tied_diag", "spherical"])
def test_few_rows_of_many_columns(covariance):
    # every row holds a good part of the squares of its class, and the product over columns of what is left is tiny
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((12, 70)) + 1e3, np.arange(12) % 2
    correlated = covariance in ("full", "tied")
    prior = bp.NormalInverseWishart(1e3, 0.1, 71, 1.0) if correlated else bp.NormalInverseGamma(1e3, 0.1, 1.0, 0.1)
    clf = bp.GenerativeClassifier(bp.Gaussian(covariance, prior))
    np.testing.assert_allclose(clone(clf).fit(X, y).loo().log_joint, _refitted(clf, X, y, np.ones(12)), rtol=1e-9)


@pytest.mark.parametrize("draw_weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_a_column_that_a_class_lacks_altogether(draw_weights, monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    X[y == 0, 0] = np.nan
    X[rng.random((20, 3)) < 0.2] = np.nan
    clf, weights = bp.GenerativeClassifier(bp.Gaussian("diag", NIG)), draw_weights(rng, 20)
    fitted = clone(clf).fit(X, y, weights)
    expected = _refitted(clf, X, y, np.ones(20) if weights is None else weights)

    def refuse(*_):
        raise AssertionError("sums of the others are taken anew")

    monkeypatch.setattr("bayesppl.analysis.left_out_joints._predict_from_others", refuse)
    np.testing.assert_allclose(fitted.loo().log_joint, expected, rtol=1e-9)


@pytest.mark.parametrize("draw_weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_sparse_words(draw_weights):
    rng = np.random.default_rng(0)
    X, y = csr_array((rng.random((30, 12)) < 0.2).astype(float)), np.arange(30) % 3
    weights = draw_weights(rng, 30)
    sparse = bp.BernoulliNB(bp.Beta(0.01, 1e-6)).fit(X, y, weights).loo()
    for row in range(30):
        others = np.delete(np.arange(30), row)
        refitted = bp.BernoulliNB(bp.Beta(0.01, 1e-6), classes=[0, 1, 2]).fit(
            X[others], y[others], None if weights is None else weights[others]
        )
        expected = refitted.predict_joint_log_proba(X[[row]])[0]
        np.testing.assert_allclose(sparse.log_joint[row], expected, rtol=1e-7)


def _refitted(clf, X, y, weights):
    """log p(x_i, y = k | the other rows) by fits without each row."""
    rows, without = np.arange(len(y)), []
    for row in rows:
        kept = np.where(rows == row, 0.0, weights)
        without.append(clone(clf).fit(X, y, kept).predict_joint_log_proba(X[[row]])[0])
    return np.asarray(without)


@pytest.mark.parametrize("strength", [1e-17, 1e-300, 1e17])
@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_counts_under_priors_lost_beside_them(strength, weight, sparse, words):
    X, y = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [1, 1]]), np.array([0, 0, 1, 1, 1])
    if words:  # small counts are looked up, and some are larger
        X = X * [[2, 1], [1, 1], [1, 30], [1, 6], [9, 5]]
        clf = bp.MultinomialNB(bp.Dirichlet(strength), class_weights="uniform")
    else:
        clf = bp.BernoulliNB(bp.Beta(strength, strength), class_weights="uniform")
    rows, weights = csr_array(X) if sparse else X, np.full(5, weight)
    expected = _refitted(clf, rows, y, weights)
    np.testing.assert_allclose(clone(clf).fit(rows, y, weights).loo().log_joint, expected, rtol=1e-9)


@pytest.mark.parametrize("draw_weights", WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("largest", [2, 6, 7, 40])
def test_counts_of_any_size(largest, draw_weights):
    rng = np.random.default_rng(largest)
    X, y = csr_array(rng.integers(0, largest + 1, (18, 5)) * (rng.random((18, 5)) < 0.6)), np.arange(18) % 3
    weights = draw_weights(rng, 18)
    clf = bp.MultinomialNB(bp.Dirichlet(0.7), classes=[0, 1, 2])
    expected = _refitted(clf, X, y, np.ones(18) if weights is None else weights)
    np.testing.assert_allclose(clone(clf).fit(X, y, weights).loo().log_joint, expected, rtol=1e-9)


def test_a_weight_that_only_another_class_has_is_no_matter() -> None:
    """The other class may weigh less than it: without such a row, of which there is none, it would have less than
    nothing."""
    X, y, weights = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1], [10.5, 1.0, 1.0, 1.0]
    found = bp.GaussianNB("columnwise").fit(X, y, weights).loo().log_proba
    for row in range(4):
        others = [i for i in range(4) if i != row]
        prior = bp.GaussianNB("columnwise").fit(X, y, weights).posterior_.prior.parts["features"]
        clf = bp.GaussianNB(prior).fit(
            [X[i] for i in others], [y[i] for i in others], [weights[i] for i in others]
        )
        expected = clf.predict_log_proba([X[row]])[0]
        np.testing.assert_allclose(np.asarray(found)[row], expected, rtol=1e-9)


@pytest.mark.parametrize("name", CHOSEN)
def test_ranges_of_rows_are_left_out_as_all_rows_are(name, monkeypatch):
    example = CHOSEN[name]
    weights = np.random.default_rng(4).choice([0.3, 1.0, 2.0], len(example.y))
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y, weights)
    expected = clf.loo()
    monkeypatch.setattr("bayesppl.analysis.left_out_joints.RANGE_CELLS", 1)
    monkeypatch.setattr("bayesppl.analysis.left_out_joints._CELLS_PER_NUMBER", 0)
    monkeypatch.setattr(
        "bayesppl.kernels.ranges.Extent.ranges", lambda extent: [slice(0, 1), slice(1, extent.n_rows)]
    )
    found = clf.loo()
    for of in ("log_joint", "log_joint_fitted", "log_class_weights", "log_proba"):
        np.testing.assert_allclose(getattr(found, of), getattr(expected, of), rtol=1e-10, atol=1e-10, err_msg=of)


@pytest.mark.parametrize(
    ("make", "named"),
    [(bp.GaussianNB, True), (bp.QuadraticDiscriminantAnalysis, False), (bp.LinearDiscriminantAnalysis, False)],
)
def test_memory_beyond_the_result_does_not_grow_with_the_rows(make, named):
    n_rows, rng = 400_000, np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 16))  # 51 MB
    y = (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    clf = make().fit(pd.DataFrame(X) if named else X, y)
    tracemalloc.start()
    found = clf.loo()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    of_result = {id(values): values.nbytes for values in vars(found).values() if isinstance(values, np.ndarray)}
    assert peak < sum(of_result.values()) + 32e6


def test_a_row_is_scored_as_often_as_it_weighs():
    X, y = IRIS[0][::5], IRIS[1][::5]
    weights = np.random.default_rng(5).integers(1, 4, len(y)).astype(float)
    clf = bp.GaussianNB(NIG).fit(X, y, weights)
    expected = []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        refitted = clone(clf).fit(X[others], y[others], weights[others])
        expected.append(weights[row] * refitted.predict_joint_log_proba(X[[row]])[0, y[row]])
    found = clf.loo().elpd()
    np.testing.assert_allclose(found.elpd_i, expected, rtol=1e-9)
    np.testing.assert_allclose(
        [found.elpd, found.se], [np.sum(expected), np.std(expected, ddof=1) * len(y) ** 0.5]
    )


def half_labelled(weight_of_first=1.0, first_row=None):
    """Sixty rows, of which twelve have a label and the others lie a little elsewhere."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 2)) + 2.0 * y[:, None]
    X[12:] += 1.0
    if first_row is not None:
        X[0] = first_row
    weights = np.ones(60)
    weights[0] = weight_of_first
    return X, np.where(np.arange(60) < 12, y.astype(object), None), weights


LEARNING = {"unlabelled": "learn", "inference": "em", "unlabelled_weight": 1.0}


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("family", [bp.Gaussian(), bp.Gaussian("tied_diag"), bp.Gaussian("full")])
@pytest.mark.parametrize("rule", ["predictive", "map", "mean", "mle"])
def test_a_row_without_weight_leaves_nothing_behind_beside_rows_without_a_label(family, rule):
    X, y, weights = half_labelled(weight_of_first=0.0)
    clf = bp.GenerativeClassifier(family, rule=rule, **LEARNING).fit(X, y, sample_weight=weights)
    expected = clf.predict_joint_log_proba(X[:1])[0]
    np.testing.assert_allclose(clf.loo().log_joint[0], expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
@pytest.mark.parametrize("family", [bp.Gaussian(), bp.Gaussian("tied_diag"), bp.Gaussian("full")])
def test_beside_rows_without_a_label_the_prior_is_held(family):
    X, y, _ = half_labelled()
    clf = bp.GenerativeClassifier(family, **LEARNING).fit(X, y)
    found, posterior = clf.loo().log_joint, clf.posterior_
    for row in range(12):
        of_row = posterior.model.statistics(X[[row]], one_hot(np.array([y[row]]), 2))
        belief = posterior.prior.update(posterior.statistics - of_row)
        expected = posterior.model.log_joint_predictive(belief)(X[[row]])[0]
        np.testing.assert_allclose(found[row], expected, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_where_sums_are_taken_anew_rows_without_a_label_are_among_them():
    X, y, _ = half_labelled(first_row=100.0)
    prior = bp.NormalInverseGamma(1.0, 1.0, 2.0, 2.0)
    clf = bp.GaussianNB(prior, class_weights="uniform", **LEARNING).fit(X, y)
    # the row has no part in the other class
    assert clf.loo().log_joint[0, 1] == pytest.approx(clf.predict_joint_log_proba(X[:1])[0, 1])


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_the_only_labelled_row_of_a_class_is_left_out_of_a_fit_by_em():
    """Of rows without a label, which lie far away, its class has next to nothing: the prior is left of it."""
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(0, 1, (18, 2)), rng.normal(5, 1, (18, 2)), [[20.0, 21.0]]]
    y = np.r_[[0] * 8, [-1] * 10, [1] * 8, [-1] * 10, [2]]
    clf = bp.GaussianNB(unlabelled_label=-1, **LEARNING).fit(X, y)
    found, prior = clf.loo(), clf.posterior_.prior.parts["features"]
    scale = np.sqrt(prior.b[2] * (prior.kappa[2] + 1) / (prior.a[2] * prior.kappa[2]))
    expected = t.logpdf(X[-1], 2 * prior.a[2], prior.location[2], scale).sum()
    assert found.log_joint[-1, 2] - found.log_class_weights[-1, 2] == pytest.approx(expected, rel=1e-6)
    # its weight has the mode zero without the row
    assert clf.loo(rule="map").log_joint[-1, 2] == -np.inf
