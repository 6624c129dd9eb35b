"""Tuned priors: the evidence is at its maximum, and small samples are predicted better."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.examples import EXAMPLES

import bayesppl as bp

IRIS = load_iris(return_X_y=True)


def test_beta_hyperparameters_maximise_the_beta_binomial_likelihood():
    rng = np.random.default_rng(0)
    p = rng.beta(2.0, 6.0, (2, 300))
    y = np.repeat([0, 1], 12)
    X = (rng.random((24, 300)) < p[y]).astype(int)
    tuned = bp.BernoulliNB().fit(X, y).tune_prior()
    found = tuned.tuning_["factor"][-1].values  # the start is Beta(1, 1)
    s = np.stack([X[:12].sum(0), X[12:].sum(0)])

    def loss(logs):
        a, b = np.exp(logs)
        return -(betaln(a + s, b + 12 - s) - betaln(a, b)).sum()

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    np.testing.assert_allclose(found, np.exp(best.x), rtol=1e-2)
    evidence = float(tuned.log_evidence()["features"].sum())
    assert evidence == pytest.approx(-best.fun, abs=1e-3)
    assert float(tuned.tuning_["objective"][-1]) == pytest.approx(evidence)
    # 600 probabilities drawn from Beta(2, 6) tell its parameters to a tenth or so
    np.testing.assert_allclose(found, [2.0, 6.0], rtol=0.3)


# a prior of each class that is made of the rows of the others has no evidence of its own to start from
@pytest.mark.filterwarnings("ignore:the search for hyperparameters ended")  # labels that say nothing
@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "gaussian full, default prior"])
def test_every_family_can_be_tuned_and_refitted(name):
    family, X, y = EXAMPLES[name]
    X = X[: len(y)]
    clf = bp.GenerativeClassifier(family).fit(X, y)
    tuned = clf.tune_prior(max_steps=5)
    path = tuned.tuning_["objective"].values
    of_factors = (np.log(tuned.tuning_["factor"].values) ** 2).sum(1) / 200  # normal, of standard deviation 10
    assert (np.diff(path - of_factors) >= -1e-9).all()
    if not tuned.fitted_.search.fixed:  # else it starts without the correlations of the default
        assert path[0] == pytest.approx(float(clf.log_evidence()["total"] - clf.log_evidence()["class_weights"]))
    assert path[-1] == pytest.approx(float(tuned.log_evidence()["total"] - tuned.log_evidence()["class_weights"]))
    # it is a declaration, which finds the same prior again
    again = clone(tuned).fit(X, y)
    np.testing.assert_allclose(again.predict_log_proba(X), tuned.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tuned.loo().log_joint, again.loo().log_joint, rtol=1e-9)


def _log_scores(clf, X, y):
    return clf.predict_log_proba(X)[np.arange(len(y)), y]


def _gains(X, y, family, size, repeats, **options):
    """Gain of the held-out log score over the default prior, for several training sets."""
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(repeats):
        order = rng.permutation(len(y))
        train, test = order[:size], order[size:]
        fitted = bp.GenerativeClassifier(family, classes=np.unique(y).tolist()).fit(X[train], y[train])
        tuned = fitted.tune_prior(**options)
        gains.append((_log_scores(tuned, X[test], y[test]) - _log_scores(fitted, X[test], y[test])).mean())
    return np.asarray(gains)


@pytest.mark.parametrize("covariance", ["diag", "tied"])
def test_evidence_finds_a_better_prior_for_few_rows_of_many_columns(covariance):
    X, y = load_digits(return_X_y=True)
    X = X[:, X.std(0) > 4]  # 32 pixels, 40 rows of ten classes
    prior = "columnwise" if covariance == "diag" else "fraley-raftery"
    gains = _gains(X, y, bp.Gaussian(covariance, prior), size=40, repeats=6)
    assert gains.mean() > 4 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_leave_one_out_finds_a_better_prior_where_naive_bayes_is_wrong():
    # neighbouring pixels repeat each other: Naive Bayes is far too sure, and the evidence makes it surer still
    X, y = load_digits(return_X_y=True)
    X = (X >= 8).astype(int)
    by_loo = _gains(X, y, bp.Bernoulli(), size=100, repeats=12, objective="loo")
    by_evidence = _gains(X, y, bp.Bernoulli(), size=100, repeats=12)
    for gains in (by_loo, by_loo - by_evidence, -by_evidence):
        assert gains.mean() > 4 * gains.std(ddof=1) / np.sqrt(len(gains))


def test_loo_objective_is_the_leave_one_out_log_score():
    clf = bp.GaussianNB().fit(*IRIS)
    tuned = clf.tune_prior(["kappa", "b"], objective="loo", max_steps=4)
    assert float(tuned.tuning_["objective"][0]) == pytest.approx(clf.loo().log_score_i.sum())
    assert float(tuned.tuning_["objective"][-1]) == pytest.approx(tuned.loo().log_score_i.sum())
    assert float(tuned.tuning_["objective"][-1]) > float(tuned.tuning_["objective"][0])


def test_loo_objective_weighs_the_rows():
    weights = 1.0 + np.arange(150) % 3
    clf = bp.GaussianNB(bp.NormalInverseGamma(4.0, 0.3, 1.7, 0.9)).fit(*IRIS, weights)
    tuned = clf.tune_prior(["kappa"], objective="loo", max_steps=1)
    assert float(tuned.tuning_["objective"][0]) == pytest.approx(weights @ clf.loo().log_score_i)


def test_only_what_is_named_is_tuned():
    clf = bp.LinearDiscriminantAnalysis("fraley-raftery").fit(*IRIS)
    tuned = clf.tune_prior(["correlation", "nu"])
    before, after = (c.posterior_.prior.parts["features"] for c in (clf, tuned))
    np.testing.assert_array_equal(after.kappa, before.kappa)
    np.testing.assert_allclose(np.diagonal(after.psi), np.diagonal(before.psi))
    factors = tuned.tuning_["factor"][-1]
    assert factors["hyperparameter"].values.tolist() == ["correlation", "nu"]
    assert float(factors[0]) <= 1
    np.testing.assert_allclose(after.psi[0, 1], before.psi[0, 1] * factors[0])
    np.testing.assert_allclose(after.nu - 3, (before.nu - 3) * factors[1])


WINE = load_wine(return_X_y=True)


def test_a_default_prior_does_not_tune_itself_to_what_it_has_seen():
    """From the covariance of the very rows, the degrees of freedom ran away: accuracy .395 with 16 rows of
    wine."""
    rng, hits = np.random.default_rng(0), []
    for _ in range(6):
        order = rng.permutation(178)
        while len(set(WINE[1][order[:16]])) < 3:
            order = rng.permutation(178)
        train, test = order[:16], order[16:]
        clf = bp.QuadraticDiscriminantAnalysis("fraley-raftery", tuning="evidence")
        tuned = clf.fit(WINE[0][train], WINE[1][train])
        assert tuned.fitted_.search.fixed == {"correlation": 0.0}
        hits.append(tuned.score(WINE[0][test], WINE[1][test]))
    assert np.mean(hits) > 0.8


@pytest.mark.parametrize("size", [15, 40])
def test_left_out_labels_of_classes_far_apart_do_not_run_away(size):
    rng = np.random.default_rng(0)
    order = rng.permutation(150)
    train, test = order[:size], order[size:]
    clf = bp.LinearDiscriminantAnalysis(tuning="loo").fit(IRIS[0][train], IRIS[1][train])
    assert abs(np.log(clf.tuning_["factor"].values)).max() < 8  # four standard deviations of the hyperprior
    assert _log_scores(clf, IRIS[0][test], IRIS[1][test]).mean() > -0.35


def test_the_score_of_left_out_labels_has_a_hyperprior():
    """At the optimum, the slope of the score is that of the hyperprior."""
    rows = (IRIS[0] > IRIS[0].mean(0)).astype(int)[::3], IRIS[1][::3]
    clf = bp.BernoulliNB(tuning="loo").fit(*rows)
    logs = np.log(clf.tuning_["factor"][-1].values)

    def score(t):
        a, b = np.exp(t)
        return bp.BernoulliNB(bp.Beta(a, b)).fit(*rows).loo().log_score_i.sum()

    for d, step in enumerate(1e-4 * np.eye(2)):
        slope = (score(logs + step) - score(logs - step)) / 2e-4
        assert slope == pytest.approx(logs[d] / 4, abs=5e-3)


def test_what_reaches_a_bound_is_named_and_has_not_converged():
    # constant columns: the smaller the variances, the better
    y = np.arange(20) % 2
    clf = bp.GaussianNB().fit(np.ones((20, 2)), y)
    with pytest.warns(bp.ConvergenceWarning, match="ended at the bound of 'b'"):
        tuned = clf.tune_prior(["b"])
    assert tuned.tuning_.attrs["converged"] == 0
    assert tuned.tuning_.attrs["at_bound"] == "b"


def _evidence(family):
    return lambda: bp.GenerativeClassifier(family, tuning="evidence")


NUMBERS = {
    "naive": lambda: bp.GaussianNB(tuning="evidence"),
    "mixed": lambda: bp.MixedNB(
        {"one": ([0], bp.Gaussian()), "two": ([1, 2], bp.Gaussian("tied"))}, tuning="evidence"
    ),
    "tied": _evidence(bp.Gaussian("tied")),
    "tied, regularised": _evidence(bp.Gaussian("tied", "regularised")),
    "tied, fraley-raftery": _evidence(bp.Gaussian("tied", "fraley-raftery")),
    "full, regularised": _evidence(bp.Gaussian("full", "regularised")),
    "full, fraley-raftery": _evidence(bp.Gaussian("full", "fraley-raftery")),
    "left-out labels": lambda: bp.GaussianNB(tuning="loo"),
}
COUNTS = {
    "poisson": lambda: bp.PoissonNB(tuning="evidence"),
    "multinomial": lambda: bp.MultinomialNB(tuning="evidence"),
    "dirichlet multinomial": lambda: bp.DirichletMultinomialNB(tuning="evidence"),
    "categories": lambda: bp.CategoricalNB(tuning="evidence"),
}


@pytest.mark.filterwarnings("ignore:the search for hyperparameters ended")  # labels that say nothing
@pytest.mark.parametrize("name", [*NUMBERS, *COUNTS])
def test_the_same_data_are_tuned_to_the_same_prior(name):
    """Where classes do not differ, the evidence is level: log probabilities were up to .2 apart."""
    rng = np.random.default_rng(0)
    n, d = 30, 3
    y = np.arange(n) % 3
    numbers = (rng.normal(size=(n, d)) @ rng.normal(size=(d, d))).round(3)
    X, make = (numbers, NUMBERS[name]) if name in NUMBERS else (rng.poisson(2, (n, d)), COUNTS[name])
    once, order, twice = make().fit(X, y), rng.permutation(n), np.tile(np.arange(n), 2)
    pairs = {
        "rows": (once.predict_log_proba(X), make().fit(X[order], y[order]).predict_log_proba(X)),
        "classes": (once.predict_log_proba(X), make().fit(X, -y).predict_log_proba(X)[:, ::-1]),
    }
    if name != "left-out labels":  # of which two rows are left out one by one, and one of weight two as a whole
        weighted, repeated = make().fit(X, y, sample_weight=np.full(n, 2)), make().fit(X[twice], y[twice])
        pairs["weights"] = weighted.predict_log_proba(X), repeated.predict_log_proba(X)
    if name != "mixed":  # whose blocks are of these columns
        turned = make().fit(X[:, ::-1], y).predict_log_proba(X[:, ::-1])
        pairs["columns"] = once.predict_log_proba(X), turned
    if name in NUMBERS:
        other = X * [0.01, 3.0, 2000.0]
        pairs["units"] = once.predict_log_proba(X), make().fit(other, y).predict_log_proba(other)
    for what, (one, same) in pairs.items():
        np.testing.assert_allclose(same, one, rtol=0, atol=1e-7, err_msg=what)


def test_the_search_ends_on_level_evidence_where_the_slope_is_that_of_the_hyperprior():
    # every row alike: the evidence of Beta(a, b) grows as a does and as b falls, towards that of a sure thing
    X, y = np.ones((20, 30), dtype=int), np.arange(20) % 2
    clf = bp.BernoulliNB(tuning="evidence").fit(X, y)
    assert clf.tuning_.attrs["converged"] == 1
    logs = np.log(clf.tuning_["factor"][-1].values)

    def evidence(t):
        a, b = np.exp(t)
        return 60 * (betaln(a + 10, b) - betaln(a, b))

    for log, step in zip(logs, 1e-4 * np.eye(2), strict=True):
        slope = (evidence(logs + step) - evidence(logs - step)) / 2e-4
        assert slope == pytest.approx(log / 100, abs=1e-4)


def test_blocks_that_are_tuned_together_are_tuned_as_each_by_itself():
    blocks = {str(j): ([j], bp.Gaussian()) for j in range(4)}
    clf = bp.MixedNB(blocks, tuning="evidence").fit(*IRIS)
    assert clf.tuning_.attrs["converged"] == 1
    alone = [
        bp.GaussianNB(tuning="evidence").fit(IRIS[0][:, [j]], IRIS[1]).tuning_["factor"][-1] for j in range(4)
    ]
    np.testing.assert_allclose(clf.tuning_["factor"][-1], np.concatenate(alone), rtol=1e-7)


def test_a_tuned_estimator_is_refitted_to_other_columns_classes_and_levels():
    colours = np.asarray(["red", "blue", "green", "grey"])
    rows, labels = colours[(IRIS[0] // 2).astype(int)], IRIS[1]
    one = bp.CategoricalNB().fit(rows[:, :2], labels).tune_prior()
    other = clone(one).fit(rows[50:], labels[50:].astype(str))
    assert other.n_features_in_ == 4
    assert other.tuning_["hyperparameter"].values.tolist() == ["concentration"]
    scores = cross_val_score(make_pipeline(StandardScaler(), bp.GaussianNB(tuning="evidence")), *IRIS)
    assert scores.mean() > 0.9


def test_batches_tune_to_what_one_fit_tunes_to(tmp_path):
    whole = bp.GaussianNB(tuning="evidence").fit(*IRIS)
    parts = bp.GaussianNB(tuning="evidence")
    for rows in (slice(0, None, 2), slice(1, None, 2)):
        parts.partial_fit(IRIS[0][rows], IRIS[1][rows], classes=[0, 1, 2])
    np.testing.assert_allclose(
        parts.predict_log_proba(IRIS[0]), whole.predict_log_proba(IRIS[0]), rtol=1e-3, atol=1e-4
    )
    parts.save(tmp_path / "model.nc")
    loaded = bp.load(tmp_path / "model.nc")
    np.testing.assert_array_equal(loaded.predict_proba(IRIS[0]), parts.predict_proba(IRIS[0]))
    assert loaded.tuning_.equals(parts.tuning_)
    again = loaded.tune_prior()  # from the sums alone
    np.testing.assert_allclose(again.predict_log_proba(IRIS[0]), parts.predict_log_proba(IRIS[0]), rtol=1e-9)
    with pytest.raises(ValueError, match=r"rows of the fit, which are not held any more.*Tune by 'evidence'"):
        loaded.tune_prior(objective="loo")


def test_evidence_of_a_tuned_prior_is_marked_as_having_seen_the_data():
    models = {"tuned": bp.BernoulliNB(tuning="evidence"), "declared": bp.BernoulliNB()}
    X = (IRIS[0] > IRIS[0].mean(0)).astype(int)
    table = bp.compare_models(models, X, IRIS[1])
    assert table["prior_depends_on_data"].values.tolist() == [True, False]


def test_an_unknown_hyperparameter_is_refused():
    with pytest.raises(ValueError, match=r"names must be one or several of 'kappa', 'a', 'b', found .'alpha'"):
        bp.GaussianNB().fit(*IRIS).tune_prior(["alpha"])


def test_an_improper_prior_is_refused():
    with pytest.raises(bp.ImproperError, match="evidence is undefined"):
        bp.GaussianNB("jeffreys").fit(*IRIS).tune_prior()


@pytest.mark.parametrize("known", [{"y": [[0.9, 0.1], [0.2, 0.8]] * 75}, {"annotations": [[0], [1]] * 75}])
def test_a_fit_without_a_row_that_is_known_tunes_nothing(known, tmp_path):
    clf = bp.GaussianNB(inference="em", classes=[0, 1]).fit(IRIS[0], **known)
    with pytest.raises(ValueError, match="tuned by rows that are known completely, and this fit has none"):
        clf.tune_prior()
    with pytest.raises(ValueError, match="tuned by rows that are known completely"):
        clone(clf).set_params(tuning="evidence").fit(IRIS[0], **known)
    clf.save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="completed again and again"):
        bp.load(tmp_path / "model.npz").tune_prior()


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="objective must be one of 'evidence', 'loo', found 'waic'"):
        bp.GaussianNB().fit(*IRIS).tune_prior(objective="waic")


@pytest.mark.parametrize("objective", ["evidence", "loo"])
@pytest.mark.parametrize("family", [bp.Gaussian("full"), bp.LogNormal("full")])
def test_a_prior_made_of_other_classes_has_nothing_to_tune(family, objective):
    """No factor moves its evidence, and its correlations, which are its point, would be dropped before the
    search."""
    with pytest.raises(ValueError, match=r"no hyperparameter to tune.*'hierarchical'.*'fraley-raftery'"):
        bp.GenerativeClassifier(family, tuning=objective).fit(*IRIS)
    clf = bp.GenerativeClassifier(family).fit(*IRIS)
    with pytest.raises(ValueError, match="no hyperparameter to tune"):
        clf.tune_prior(["kappa"])


def test_blocks_beside_a_prior_made_of_other_classes_are_tuned():
    blocks = {"all": ([0, 1], bp.Gaussian("full")), "one": ([2, 3], bp.Gaussian())}
    clf = bp.MixedNB(blocks).fit(*IRIS)
    tuned = clf.tune_prior()
    assert {name.split(".")[0] for name in tuned.fitted_.search.factors} == {"one"}
    before, after = (c.posterior_.prior.parts["features"].parts["all"] for c in (clf, tuned))
    np.testing.assert_array_equal(after.psi, before.psi)
    codes = np.arange(150), IRIS[1]
    scores = tuned.loo().log_joint[codes] - clf.loo().log_joint[codes]
    assert np.isfinite(scores).all()


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_completed_rows_are_tuned_as_they_were_read():
    y = np.where(np.arange(150) % 3 == 0, -1, IRIS[1])
    options = {"unlabelled": "learn", "unlabelled_label": -1, "inference": "em", "unlabelled_weight": 1.0}
    clf = bp.GaussianNB("fraley-raftery", **options).fit(IRIS[0], y)
    assert clf.tune_prior().fitted_.search.converged
    with pytest.raises(ValueError, match="what becomes of rows without a label"):
        clf.set_params(unlabelled="drop").tune_prior()
