"""``calibration="weights"`` as an option of estimators."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesppl as bp
from bayesppl.errors import NotConjugateError
from bayesppl.model.calibration import ColumnWeights
from bayesppl.plots import plot_weights

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :6]
TRAIN, TEST = slice(None, None, 2), slice(1, None, 2)


def table():
    """Numbers that depend on each other, and two columns of levels that do not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, :3], columns=["radius", "texture", "perimeter"])
    frame["level"] = np.where(rng.random(len(Y)) < 0.7, Y, 1 - Y).astype(str)
    frame["noise"] = rng.choice(list("abc"), len(Y))
    return frame


@pytest.fixture(scope="module")
def weighted():
    return bp.GaussianNB("columnwise", calibration="weights").fit(X[TRAIN], Y[TRAIN])


def test_probabilities_are_those_of_weighted_columns(weighted):
    weights = weighted.fitted_.calibration.weights
    total = np.log(weighted.posterior_.predictive_weights())
    for column, weight in enumerate(weights):
        alone = bp.GaussianNB("columnwise").fit(X[TRAIN, column : column + 1], Y[TRAIN])
        log_joint = alone.predict_joint_log_proba(X[TEST, column : column + 1])
        total = total + weight * (log_joint - np.log(alone.posterior_.predictive_weights()))
    np.testing.assert_allclose(
        weighted.predict_log_proba(X[TEST]), log_softmax(total, axis=1), rtol=1e-8, atol=1e-8
    )
    log_odds = weighted.fitted_.log_labels(X[TEST])
    np.testing.assert_allclose(log_softmax(log_odds, axis=1), log_softmax(total, axis=1), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rule", ["predictive", "map", "mean", "mle"])
def test_every_rule_is_learned_from_refits_without_each_row(rule):
    rows, labels = X[:40], Y[:40]
    prior = bp.NormalInverseGamma(rows.mean(0), 0.1, 2.0, rows.var(0))
    clf = bp.GaussianNB(prior, calibration="weights", rule=rule).fit(rows, labels)
    loo, calibration = clf.loo(), clf.fitted_.calibration
    for row in range(0, 40, 9):
        others = np.arange(40) != row
        refitted = bp.GaussianNB(prior, rule=rule).fit(rows[others], labels[others]).fitted_
        expected = replace(refitted, calibration=calibration).log_labels(rows[[row]])
        np.testing.assert_allclose(loo.log_proba[[row]], log_softmax(expected, axis=1), rtol=1e-7, atol=1e-7)
    plain = clf.set_params(calibration=None).fit(rows, labels).loo()
    assert calibration.log_score_uncalibrated == pytest.approx(plain.log_score[0])


def test_weights_of_one_are_no_calibration(weighted):
    ones = ColumnWeights(tuple("abcdef"), np.ones(6), np.eye(6), 1.0, 0.0, 0.0, 10)
    fitted = replace(weighted.fitted_, calibration=ones)
    plain = replace(fitted, calibration=None)
    np.testing.assert_allclose(
        log_softmax(fitted.log_labels(X[TEST]), axis=1), log_softmax(plain.log_labels(X[TEST]), axis=1), atol=1e-9
    )


def test_blocks_have_a_weight_where_their_columns_depend_on_each_other():
    family = bp.Product(
        {
            "size": (["radius", "perimeter"], bp.Gaussian("full")),
            "rest": (["level", "noise"], bp.Categorical()),
            "texture": (["texture"], bp.Gaussian()),
        }
    )
    frame = table()
    clf = bp.GenerativeClassifier(family, calibration="weights").fit(frame.iloc[TRAIN], Y[TRAIN])
    calibration = clf.fitted_.calibration
    assert calibration.names == ("size", "level", "noise", "texture")
    log_weights = np.log(clf.posterior_.predictive_weights())
    units = (["radius", "perimeter"], ["level"], ["noise"], ["texture"])
    families = (bp.Gaussian("full"), bp.Categorical(), bp.Categorical(), bp.Gaussian())
    total = log_weights
    for columns, alone, weight in zip(units, families, calibration.weights, strict=True):
        fitted = bp.GenerativeClassifier(alone).fit(frame.iloc[TRAIN][columns], Y[TRAIN])
        total = total + weight * (fitted.predict_joint_log_proba(frame.iloc[TEST][columns]) - log_weights)
    np.testing.assert_allclose(
        clf.predict_log_proba(frame.iloc[TEST]), log_softmax(total, axis=1), rtol=1e-7, atol=1e-7
    )
    found = clf.column_weights()
    assert float(found["weight"].sel(column="level")) > float(found["weight"].sel(column="size"))
    assert (found["lower"] < found["weight"]).all()


def test_missing_cells_weigh_nothing():
    frame = table()
    clf = bp.MixedNB(calibration="weights").fit(frame.iloc[TRAIN], Y[TRAIN])
    gap = frame.iloc[[1]].assign(level=None)
    weights, total = clf.fitted_.calibration, np.log(clf.posterior_.predictive_weights())
    seen = clf.set_params(calibration=None).explain(gap, against=0)["weight"].sel({"class": 1})[0]
    expected = float(total[1] - total[0]) + sum(
        weight * float(seen.sel(feature=name)) for name, weight in zip(weights.names, weights.weights, strict=True)
    )
    odds = np.diff(clf.set_params(calibration="weights").predict_log_proba(gap), axis=1)[0, 0]
    assert float(seen.sel(feature="level")) == 0.0 or odds == pytest.approx(expected)


def test_explanations_are_multiplied_by_the_weights(weighted):
    whole = weighted.explain(X[TEST][:5], against=0)
    plain = bp.GaussianNB("columnwise").fit(X[TRAIN], Y[TRAIN]).explain(X[TEST][:5], against=0)
    expected = plain["weight"].values * weighted.fitted_.calibration.weights[:, None]
    np.testing.assert_allclose(whole["weight"].values, expected, rtol=1e-8, atol=1e-8)
    assert whole.attrs["shares"] == "independent"
    log_odds = np.diff(weighted.predict_log_proba(X[TEST][:5]), axis=1)
    np.testing.assert_allclose(whole["log_odds"].values, log_odds, rtol=1e-8, atol=1e-8)


def test_every_question_of_labels_uses_them(weighted):
    draws = weighted.predict_proba_interval(X[TEST][:20], draws=400, random_state=0)["mean"]
    assert np.abs(draws - weighted.predict_proba(X[TEST][:20])).max() < 0.1
    assert weighted.expected_error_rate(draws=5, rows=100, random_state=0).shape == (5,)
    assert (weighted.predict_proba_mcse(X[:3]) == 0).all()
    assert np.isfinite(weighted.loo().elpd("label").p)
    np.testing.assert_array_equal(
        weighted.predict_joint_log_proba(X[:3]),
        bp.GaussianNB("columnwise").fit(X[TRAIN], Y[TRAIN]).predict_joint_log_proba(X[:3]),
    )


@pytest.mark.slow
def test_sampled_posteriors_have_monte_carlo_errors_of_the_weighted_probabilities():
    clf = bp.GaussianNB(inference=bp.Laplace(), calibration="weights").fit(X[:100, :3], Y[:100])
    error = clf.predict_proba_mcse(X[:5, :3])
    assert (error > 0).all()
    tiny = replace(clf.fitted_.calibration, weights=np.full(3, 1e-9))
    same = replace(clf.fitted_, calibration=tiny)
    # features count for nothing, and what is left is the error of the drawn class weights
    samples = clf.posterior_.samples["class_weights"].reshape(-1, 2)
    left = same.posterior.predictive_mcse(same.parts(same.encode(X[:5, :3])))
    n_batches = int(np.sqrt(len(samples)))
    np.testing.assert_allclose(
        left, np.tile(samples.std(0) / np.sqrt(len(samples)), (5, 1)), rtol=4 / np.sqrt(2 * (n_batches - 1))
    )


def test_it_survives_saving_cloning_and_pickling(weighted, tmp_path):
    weighted.save(tmp_path / "model.nc")
    for copy in (
        bp.load(tmp_path / "model.nc"),
        pickle.loads(pickle.dumps(weighted)),
        clone(weighted).fit(X[TRAIN], Y[TRAIN]),
    ):
        assert copy.fitted_.calibration.names == weighted.fitted_.calibration.names
        np.testing.assert_array_equal(copy.predict_proba(X[TEST]), weighted.predict_proba(X[TEST]))


def test_pipelines_and_comparisons_learn_them_in_every_fold():
    scores = [
        cross_val_score(
            make_pipeline(StandardScaler(), bp.GaussianNB(calibration=option)), X, Y, scoring="neg_log_loss", cv=3
        ).mean()
        for option in (None, "temperature", "weights")
    ]
    assert scores[2] > scores[1] > scores[0]
    models = {option: bp.GaussianNB(calibration=option) for option in ("temperature", "weights")}
    found = bp.compare_models(models, X[TRAIN], Y[TRAIN])
    assert float(found["temperature"].sel(model="weights")) > 1
    assert float(found["log_score"].diff("model")[0]) > 0


def test_the_summary_names_the_extremes(weighted):
    words = str(weighted.summary())
    order = np.argsort(weighted.fitted_.calibration.weights)
    assert f"(x{order[0]}) to" in words.replace("\n  ", " ")


@pytest.mark.parametrize(
    "clf",
    [bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()],
    ids=["linear", "quadratic"],
)
def test_families_of_one_block_are_refused_with_the_reason(clf):
    with pytest.raises(ValueError, match=r"has one here, for a single column or .*calibration='temperature'"):
        clone(clf).set_params(calibration="weights").fit(X, Y)


def test_counts_of_words_are_refused_and_too_many_columns():
    with pytest.raises(ValueError, match="the multinomial family has one here"):
        bp.MultinomialNB(calibration="weights").fit([[1, 2], [0, 3]], [0, 1])
    wide = np.random.default_rng(0).integers(0, 2, (20, 1001))
    with pytest.raises(ValueError, match=r"up to 1,000 columns or blocks, and here are 1,001"):
        bp.BernoulliNB(calibration="weights").fit(wide, np.arange(20) % 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning", "ignore::bayesppl.ConvergenceWarning")
def test_rows_completed_by_draws_are_refused():
    # sums of completed rows hold what a row left out had said of them
    labels = np.where(np.arange(60) < 30, Y[:60], None)
    gibbs = bp.Gibbs(draws=50, tune=20, chains=2, random_state=0)
    clf = bp.GaussianNB(calibration="weights", unlabelled="learn", unlabelled_weight=1.0, inference=gibbs)
    with pytest.raises(NotConjugateError, match=r"in closed form, .*calibration='temperature' weighs draws"):
        clf.fit(X[:60], labels)
    assert not clf.__sklearn_is_fitted__()
    sampled = bp.GenerativeClassifier(bp.StudentT(4.0), calibration="weights", inference=bp.Laplace(draws=50))
    with pytest.raises(NotConjugateError, match=r"in closed form, .*calibration='temperature' weighs draws"):
        sampled.fit(X[:60], Y[:60])
    found = clf.set_params(calibration="temperature").fit(X[:60], labels)
    assert found.loo().draws is not None


def test_batches_are_refused_and_change_nothing(weighted):
    clf = clone(weighted)
    with pytest.raises(ValueError, match=r"rows that come in batches"):
        clf.partial_fit(X, Y, classes=[0, 1])
    assert not clf.__sklearn_is_fitted__()


def test_weights_are_drawn_and_tabulated(weighted):
    ax = plot_weights(weighted, most=3)
    weights = weighted.column_weights()["weight"]
    largest = weights["column"].values[np.argsort(-weights.values)[:3]].tolist()
    assert [text.get_text() for text in ax.get_yticklabels()] == largest
    plain = bp.GaussianNB(calibration="temperature").fit(X, Y)
    with pytest.raises(ValueError, match="calibration='weights'"):
        plot_weights(plain)
    with pytest.raises(ValueError, match="most must be at least 1, found 0"):
        plot_weights(weighted, most=0)
