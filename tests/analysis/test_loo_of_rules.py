"""Leave-one-out under every rule against fits without each row, and against published numbers."""

import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import MultinomialNB
from support.examples import EXAMPLES, SIMILAR
from support.pairs import pairwise
from support.priors import with_prior

import bayesppl as bp
from bayesppl.conjugate.sums_of_others import sums_of_others
from bayesppl.data.labels import one_hot
from bayesppl.families.closed_forms import rebuilt
from bayesppl.model.rules import ESTIMATES, RULES

X, Y = load_iris(return_X_y=True)
WEIGHTED = np.random.default_rng(5).choice([0.0, 0.5, 1.0, 2.3], 16)


def left_out(fit, rows, y, weights, of):
    """What fits without each of some rows make of it, and the first row without which there is none."""
    joints = []
    for row in of:
        others = np.delete(np.arange(len(y)), row)
        try:
            refitted = fit(rows.iloc[others], np.asarray(y)[others], None if weights is None else weights[others])
            joints.append(refitted.predict_joint_log_proba(rows.iloc[[row]])[0])
        except bp.UndefinedEstimateError:
            return None, row
    return np.asarray(joints), None


@pytest.mark.filterwarnings("ignore::bayesppl.ImpossibleRowWarning")
@pytest.mark.parametrize(
    ("name", "rule", "weighting"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case[0] in SIMILAR))
        for case in pairwise(list(EXAMPLES), ESTIMATES, ["unweighted", "weighted"])
    ],
)
def test_equals_refitting_with_the_same_prior(name, rule, weighting):
    weights = WEIGHTED if weighting == "weighted" else None
    family, rows, y = EXAMPLES[name]
    rows = rows[: len(y)]
    clf = bp.GenerativeClassifier(
        family, class_weights=bp.Dirichlet([2.0, 3.0, 1.5]), classes=sorted(set(y)), rule=rule
    )
    fitted = clone(clf).fit(rows, y, weights)
    model, prior = fitted.posterior_.model, fitted.posterior_.prior.parts["features"]

    def fit(X, y, weights):
        codes = np.searchsorted(sorted(set(y)), y)
        others = model.statistics(fitted.fitted_.encode(X), one_hot(codes, model.n_classes, weights))
        # a prior that is made of the rows is made of these
        family = with_prior(model.family, rebuilt(prior, others.parts["features"]))
        return clone(clf).set_params(family=family).fit(X, y, weights)

    try:
        loo = fitted.loo()
    except bp.UndefinedEstimateError:
        _, undefined = left_out(fit, rows, y, weights, range(len(y)))
        assert undefined is not None
        try:
            fitted.predict(rows)
            reason = f"^without row {undefined}, of class '{y[undefined]}', there is no estimate for rule='{rule}'"
        except bp.UndefinedEstimateError as error:  # not of all rows either
            reason = f"^{re.escape(str(error))}"
        with pytest.raises(bp.UndefinedEstimateError, match=reason):
            fitted.loo()
        return
    some = range(0, len(y), 4)  # of every class
    expected, undefined = left_out(fit, rows, y, weights, some)
    assert undefined is None
    np.testing.assert_allclose(loo.log_joint[some], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(loo.log_joint_fitted, fitted.predict_joint_log_proba(rows), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(loo.log_proba_fitted), fitted.predict_proba(rows), atol=1e-9)
    assert loo.rule == rule


@pytest.mark.filterwarnings("ignore::bayesppl.ImpossibleRowWarning")
@pytest.mark.parametrize("rule", ESTIMATES)
@pytest.mark.parametrize("clf", [bp.BernoulliNB(bp.Beta(2.0, 1.5)), bp.MultinomialNB(bp.Dirichlet(1.3))], ids=repr)
def test_sparse_rows(clf, rule):
    rng = np.random.default_rng(0)
    rows, y = csr_array((rng.random((24, 6)) < 0.4).astype(float)), np.arange(24) % 3
    clf = clone(clf).set_params(rule=rule)
    found = clone(clf).fit(rows, y).loo().log_joint
    for row in range(24):
        others = np.delete(np.arange(24), row)
        refitted = clone(clf).fit(rows[others], y[others])
        np.testing.assert_allclose(found[row], refitted.predict_joint_log_proba(rows[[row]])[0], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_the_rule_is_that_of_the_classifier_unless_another_is_given(rule):
    clf = bp.GaussianNB(rule=rule).fit(X, Y)
    np.testing.assert_array_equal(clf.loo().log_joint, bp.GaussianNB().fit(X, Y).loo(rule=rule).log_joint)
    assert (
        len({bp.GaussianNB().fit(X, Y).loo(rule=other).log_score for other in ("mle", "mean", "predictive")}) == 3
    )
    with pytest.raises(ValueError, match="rule must be one of"):
        clf.loo(rule="median")


# rows that are misclassified, with their posterior probabilities of versicolor and virginica
PUBLISHED = {68: (0.3134, 0.6866), 70: (0.1616, 0.8384), 83: (0.0713, 0.9287), 133: (0.6632, 0.3368)}


class TestQuadraticDiscriminantOfIris:
    """SAS/STAT 14.1 User's Guide, PROC DISCRIM, example 35.3: crossvalidation, unbiased covariances, equal
    priors."""

    @staticmethod
    def unbiased():
        # the posterior mean of Σ is (Ψ + S) / (ν + n − D − 1), which is S / (n − 1) for ν = D and Ψ, κ next to
        # nothing
        prior = bp.NormalInverseWishart(location=X.mean(0), kappa=1e-9, nu=4, psi=1e-9)
        return bp.QuadraticDiscriminantAnalysis(prior, class_weights="uniform", rule="mean")

    def test_published_probabilities_of_unbiased_covariances(self):
        loo = self.unbiased().fit(X, Y).loo()
        assert round(1 - loo.accuracy[0], 4) == 0.0267
        assert np.flatnonzero(loo.proba.argmax(1) != Y).tolist() == list(PUBLISHED)
        for row, published in PUBLISHED.items():
            assert loo.proba[row, 1:].round(4).tolist() == list(published)

    def test_published_error_of_maximum_likelihood(self):
        loo = bp.QuadraticDiscriminantAnalysis(class_weights="uniform", rule="mle").fit(X, Y).loo()
        assert round(1 - loo.accuracy[0], 4) == 0.0267
        assert np.flatnonzero(loo.proba.argmax(1) != Y).tolist() == list(PUBLISHED)
        # and its resubstitution error, .02
        assert (loo.log_proba_fitted.argmax(1) != Y).sum() == 3

    @pytest.mark.parametrize(("rule", "lost"), [("mean", 1), ("mle", 0)], ids=["unbiased", "mle"])
    def test_scipy_row_by_row(self, rule, lost):
        proba = self.unbiased().fit(X, Y).loo(rule=rule).proba
        rows = np.arange(150)
        for row in range(0, 150, 7):
            of_classes = [X[(rows != row) & (k == Y)] for k in range(3)]
            densities = [
                multivariate_normal(own.mean(0), np.cov(own.T, ddof=lost)).pdf(X[row]) for own in of_classes
            ]
            np.testing.assert_allclose(proba[row], densities / np.sum(densities), atol=1e-7)


def test_scikit_learn_plug_ins_row_by_row():
    rows = np.arange(150)
    tied = bp.LinearDiscriminantAnalysis(rule="mle", class_weights="uniform").fit(X, Y).loo().proba
    counts = np.rint(X * 3)
    words = bp.MultinomialNB(bp.Dirichlet(1.7), class_weights="uniform", rule="mean").fit(counts, Y).loo().proba
    for row in range(0, 150, 11):
        kept = rows != row
        lda = LinearDiscriminantAnalysis("lsqr", priors=np.full(3, 1 / 3)).fit(X[kept], Y[kept])
        # theirs weighs the covariances of the classes by their priors, ours by their rows
        assert lda.predict(X[[row]])[0] == tied[row].argmax()
        nb = MultinomialNB(alpha=1.7, fit_prior=False).fit(counts[kept], Y[kept])
        np.testing.assert_allclose(words[row], nb.predict_proba(counts[[row]])[0], atol=1e-10)


def test_an_outlier_leaves_no_rounding_error_behind():
    rows = X[:100].copy()
    rows[3] = 1e9
    clf = bp.GaussianNB(rule="mle")
    loo = clone(clf).fit(rows, Y[:100]).loo()
    without = clone(clf).fit(np.delete(rows, 3, 0), np.delete(Y[:100], 3))
    np.testing.assert_allclose(loo.log_joint[3], without.predict_joint_log_proba(rows[[3]])[0], rtol=1e-13)


def test_a_column_that_is_constant_without_a_row_has_no_maximum():
    rows = np.array([[0.1, 1.0], [0.1, 2.0], [0.7, 4.0], [0.1, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 7.0]])
    y = np.array(list("aaaabbb"))
    with pytest.raises(bp.UndefinedEstimateError, match=r"without row 2, of class 'a', .*column 'x0' is constant"):
        bp.GaussianNB(rule="mle").fit(rows, y).loo()
    with pytest.raises(bp.UndefinedEstimateError, match="model 'plug-in': without row 2"):
        bp.compare_models({"exact": bp.GaussianNB(), "plug-in": bp.GaussianNB(rule="mle")}, rows, y)


def test_a_class_of_one_row_has_no_maximum_without_it():
    clf = bp.BernoulliNB(rule="mle").fit([[1], [0], [1]], ["a", "a", "b"])
    with pytest.raises(
        bp.UndefinedEstimateError, match=r"without row 2, of class 'b', .*rule='mean' or 'predictive'"
    ):
        clf.loo()
    assert np.isfinite(clf.loo(rule="mean").log_joint).all()


@pytest.mark.parametrize("rule", ["map", "mean"])
def test_an_improper_posterior_is_refused(rule):
    rows, y = np.r_[X[:1], X[50:65]], np.r_[Y[:1], Y[50:65]]
    clf = bp.LinearDiscriminantAnalysis("jeffreys", rule=rule)
    with pytest.raises(bp.ImproperError, match="without row 0, of class 0, there is no estimate for rule="):
        clf.fit(rows, y).loo()


@pytest.mark.filterwarnings("error")
def test_impossible_rows_score_minus_infinity_and_have_no_error():
    rows, y = np.array([[2], [0], [0], [1], [1]]), np.array(list("aaabb"))
    clf = bp.CategoricalNB(levels={"x0": [0, 1, 2]}, rule="mle").fit(rows, y)
    with pytest.warns(bp.ImpossibleRowWarning, match="1 of 5 rows"):
        loo = clf.loo()
    assert loo.log_joint[0].tolist() == [-np.inf, -np.inf]
    np.testing.assert_allclose(loo.proba[0], [0.5, 0.5])  # the class weights of the four others
    assert loo.elpd().elpd == -np.inf
    assert np.isnan(loo.elpd().se)
    assert np.isfinite(loo.log_score[0])
    assert np.isnan(loo.elpd().p) or loo.elpd().p == np.inf


@pytest.mark.filterwarnings("ignore::bayesppl.ImpossibleRowWarning")
def test_a_row_of_weight_zero_is_no_row():
    rows, y = np.array([[2], [0], [0], [1], [1], [0], [1]]), np.array(list("aaabbba"))
    clf = bp.CategoricalNB(levels={"x0": [0, 1, 2]}, rule="mle")
    weights = np.array([0.0, 1, 2, 1, 1, 3, 1])  # without weight, the only 2 is impossible
    found, expected = clone(clf).fit(rows, y, weights).loo(), clone(clf).fit(rows[1:], y[1:], weights[1:]).loo()
    for target in ("joint", "label"):
        one, other = found.elpd(target), expected.elpd(target)
        assert [one.elpd, one.se, one.p] == pytest.approx([other.elpd, other.se, other.p], nan_ok=True)
        assert one.n_data_points == other.n_data_points == 6
        assert one.elpd_i["row"].values.tolist() == [1, 2, 3, 4, 5, 6]
    assert found.log_score == pytest.approx(expected.log_score, nan_ok=True)
    assert found.accuracy == pytest.approx(expected.accuracy)


@pytest.mark.parametrize("rule", RULES)
def test_elpd_of_weights_is_that_of_duplicates_left_out_together(rule):
    rng = np.random.default_rng(2)
    rows, y = X[::5], Y[::5]
    weights = rng.integers(0, 4, len(y))
    prior = bp.NormalInverseGamma(location=4.0, kappa=0.3, a=2.7, b=0.9)
    clf = bp.GaussianNB(prior, class_weights=bp.Dirichlet(2.0), rule=rule)
    each = np.repeat(np.arange(len(y)), weights)
    everything = clone(clf).fit(rows[each], y[each])
    without, within = [], []
    for row in each:  # a term for every copy
        others = each[each != row]
        refitted = clone(clf).fit(rows[others], y[others])
        without.append((refitted, row))
        within.append((everything, row))

    def total(pairs, predict):
        return sum(float(getattr(fit, predict)(rows[[row]])[0, y[row]]) for fit, row in pairs)

    loo = clone(clf).fit(rows, y, sample_weight=weights).loo()
    for target, predict in {"joint": "predict_joint_log_proba", "label": "predict_log_proba"}.items():
        elpd = loo.elpd(target)
        assert elpd.elpd == pytest.approx(total(without, predict), rel=1e-9)
        assert elpd.p == pytest.approx(total(within, predict) - total(without, predict), rel=1e-7)
        assert float(elpd.elpd_i.sum()) == pytest.approx(elpd.elpd)
        counted = elpd.elpd_i.values
        assert elpd.se == pytest.approx(np.sqrt(len(counted) * counted.var(ddof=1)))


def test_models_are_compared_under_their_rules():
    plug_in, averaged = bp.GaussianNB(rule="mle"), bp.GaussianNB()
    table = bp.compare_models({"plug-in": plug_in, "averaged": averaged}, X, Y)
    assert table["rule"].values.tolist() == ["mle", "predictive"]
    assert table["log_evidence"][0] == table["log_evidence"][1]
    rows = np.arange(150)
    expected = 0.0
    for row in rows:
        refitted = clone(plug_in).fit(X[rows != row], Y[rows != row])
        expected += refitted.predict_joint_log_proba(X[[row]])[0, Y[row]]
    assert float(table["elpd"][0]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 64, 100])
def test_sums_of_others_are_exact(n_rows):
    class Sum(Fraction):
        def __add__(self, other):
            return Sum(Fraction.__add__(self, other))

    values = [Sum(7 * row + 1, 3**row) for row in range(n_rows)]
    calls = []

    def take(rows):
        calls.append(rows.stop - rows.start)
        return sum(values[rows], Sum(0))

    found = list(sums_of_others(take, n_rows))
    assert found == [(row, sum(values, Sum(0)) - values[row]) for row in range(n_rows)]
    assert sum(calls) <= n_rows * (int(np.log2(n_rows)) + 1)  # additions of rows


def test_differences_of_models_are_those_of_arviz():
    import arviz as az

    X, y = load_iris(return_X_y=True)
    models = {"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}
    table = bp.compare_models(models, X, y)
    elpds = {name: clf.fit(X, y).loo().elpd() for name, clf in models.items()}
    expected = az.compare(elpds, method="pseudo-BMA", round_to="none")
    for name in models:
        found = table.sel(model=name)
        assert abs(float(found["elpd_difference"])) == pytest.approx(
            abs(float(expected["elpd_diff"][name])), rel=1e-9
        )
        # ArviZ divides the squares by n, and the sample variance of Vehtari, Gelman & Gabry (2017) by n - 1
        dse = float(expected["dse"][name]) * np.sqrt(len(y) / (len(y) - 1))
        assert float(found["elpd_difference_se"]) == pytest.approx(dse, rel=1e-9)


def test_rows_have_their_places_among_those_given():
    rows = np.array([[9.0], [8.0], [0.1], [0.7], [3.0], [3.3]])
    labels = np.array([None, None, "a", "a", "b", "b"], dtype=object)
    clf = bp.GaussianNB(unlabelled="drop").fit(rows, labels)
    assert clf.loo().to_dataset()["row"].values.tolist() == [2, 3, 4, 5] == sorted(clf.suspicious_rows().index)
    with pytest.raises(bp.UndefinedEstimateError, match="without row 2, of class 'a'"):
        clf.loo(rule="mle")
    with pytest.raises(bp.ImproperError, match="without row 2 the posterior of its class is improper"):
        bp.GaussianNB("jeffreys", unlabelled="drop").fit(rows, labels).loo()
