"""``calibration="temperature"``: a temperature learned by exact leave-one-out, used wherever labels are
predicted."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesppl as bp
from bayesppl.analysis import decisions, predictions, uncertainty
from bayesppl.analysis.leave_one_out import leave_one_out
from bayesppl.model.calibration import Calibration

X, Y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(None, None, 2), slice(1, None, 2)


@pytest.fixture(scope="module")
def plain():
    return bp.GaussianNB().fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def tempered():
    return bp.GaussianNB(calibration="temperature").fit(X[TRAIN], Y[TRAIN])


def test_dependent_columns_are_too_sure_and_a_temperature_mends_it(plain, tempered):
    calibration = tempered.fitted_.calibration
    assert calibration.interval[0] > 3
    assert calibration.log_score > calibration.log_score_uncalibrated + 0.3
    own = np.arange(len(Y[TEST])), Y[TEST]
    before, after = (clf.predict_log_proba(X[TEST])[own].mean() for clf in (plain, tempered))
    assert after > before + 0.3


def test_probabilities_are_those_of_the_power(plain, tempered):
    weights = np.log(plain.posterior_.predictive_weights())
    density = plain.predict_joint_log_proba(X[TEST]) - weights
    T = tempered.fitted_.temperature
    expected = log_softmax(density / T + weights, axis=1)
    np.testing.assert_allclose(tempered.predict_log_proba(X[TEST]), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(tempered.predict_proba(X[TEST]), np.exp(expected), rtol=1e-9, atol=1e-12)
    new = np.log([0.9, 0.1])
    shifted = log_softmax(density / T + new, axis=1)
    np.testing.assert_allclose(
        tempered.predict_log_proba(X[TEST], class_weights=[0.9, 0.1]), shifted, rtol=1e-9, atol=1e-9
    )


def test_densities_are_those_of_the_model(plain, tempered):
    for ask in ("predict_joint_log_proba", "log_density"):
        np.testing.assert_array_equal(getattr(tempered, ask)(X[TEST]), getattr(plain, ask)(X[TEST]))


def test_the_temperature_is_that_of_refits_without_each_row():
    """The prior is explicit, so that a refit without a row is the model of the others."""
    rows, labels = X[:60, :6], Y[:60]
    clf = bp.GaussianNB(bp.NormalInverseGamma(rows.mean(0), 0.1, 2.0, rows.var(0)), calibration="temperature")
    found = clf.fit(rows, labels)
    density, weights = np.empty((60, 2)), np.empty((60, 2))
    for i in range(60):
        others = np.arange(60) != i
        without = clone(clf).set_params(calibration=None).fit(rows[others], labels[others])
        weights[i] = np.log(without.posterior_.predictive_weights())
        density[i] = without.predict_joint_log_proba(rows[[i]])[0] - weights[i]
    grid = np.linspace(-2, 3, 5001)
    scores = [
        log_softmax(density * np.exp(-t) + weights, axis=1)[np.arange(60), labels].sum() - t**2 / 2 for t in grid
    ]
    assert np.log(found.fitted_.temperature) == pytest.approx(grid[np.argmax(scores)], abs=1.1e-3)


def test_leave_one_out_is_calibrated_too(tempered):
    loo, calibration = tempered.loo(), tempered.fitted_.calibration
    assert loo.log_score[0] == pytest.approx(calibration.log_score, rel=1e-9)
    assert loo.calibration == calibration
    assert loo.temperature == calibration.temperature
    np.testing.assert_allclose(loo.log_proba_fitted, tempered.predict_log_proba(X[TRAIN]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rule", ["mle", "map", "mean", "predictive"])
def test_every_question_about_labels_uses_it(tempered, rule):
    """At a temperature so high that nothing but the class weights is left."""
    fitted = replace(tempered.fitted_, calibration=Calibration(1e9, 0.1, 0.0, 0.0), rule=rule)
    weights = fitted.posterior.scorer(rule).class_weights
    np.testing.assert_allclose(predictions.probabilities(fitted, X[:5]), np.tile(weights, (5, 1)), atol=1e-4)
    assert set(predictions.labels(fitted, X)) == {weights.argmax()}
    draws = uncertainty.predict_proba_interval(fitted, X[:5], draws=200, random_state=0)["mean"].values
    np.testing.assert_allclose(draws, np.tile(weights, (5, 1)), atol=0.01)
    rates = decisions.expected_error_rate(fitted, draws=20, rows=500, random_state=0)
    assert rates.mean() == pytest.approx(1 - weights.max(), abs=0.05)
    if rule == "predictive":
        loo = leave_one_out(fitted)
        np.testing.assert_allclose(loo.proba, np.tile(weights, (len(loo.codes), 1)), atol=0.01)


def test_the_discriminant_is_that_of_the_probabilities():
    clf = bp.LinearDiscriminantAnalysis(calibration="temperature", rule="mean").fit(X[TRAIN, :5], Y[TRAIN])
    assert clf.fitted_.temperature != 1.0
    log_odds = np.diff(clf.predict_log_proba(X[TEST, :5]), axis=1)[:, 0]
    np.testing.assert_allclose(clf.decision_function(X[TEST, :5]), log_odds, rtol=1e-8, atol=1e-8)
    by_coefficients = X[TEST, :5] @ clf.coef_[0] + clf.intercept_[0]
    np.testing.assert_allclose(by_coefficients, log_odds, rtol=1e-6, atol=1e-8)
    quadratic = clf.quadratic()
    np.testing.assert_allclose(X[TEST, :5] @ quadratic.w + quadratic.b, log_odds, rtol=1e-6, atol=1e-8)


def test_it_survives_saving_cloning_and_pickling(tempered, tmp_path):
    import pickle

    tempered.save(tmp_path / "model.nc")
    for copy in (bp.load(tmp_path / "model.nc"), pickle.loads(pickle.dumps(tempered))):
        assert copy.fitted_.calibration == tempered.fitted_.calibration
        np.testing.assert_array_equal(copy.predict_proba(X[TEST]), tempered.predict_proba(X[TEST]))
    assert clone(tempered).fit(X[TRAIN], Y[TRAIN]).fitted_.calibration == tempered.fitted_.calibration


def test_pipelines_and_cross_validation_learn_it_in_every_fold():
    scores = [
        cross_val_score(
            make_pipeline(StandardScaler(), bp.GaussianNB(calibration=option)), X, Y, scoring="neg_log_loss", cv=3
        ).mean()
        for option in (None, "temperature")
    ]
    assert scores[1] > scores[0] + 0.2


def test_comparisons_use_and_report_it():
    rows, labels = X[:300], Y[:300]
    models = {option or "plain": bp.GaussianNB(calibration=option) for option in (None, "temperature")}
    with pytest.warns(bp.OverconfidentWarning):
        table = bp.compare_models(models, rows, labels)
    assert table["temperature"].values.tolist()[0] == 1.0
    assert float(table["temperature"].sel(model="temperature")) > 2
    assert float(table["log_score"].diff("model")[0]) > 0.2
    assert float(table["log_evidence"].diff("model")[0]) == 0.0
    result = bp.compare(models["temperature"], rows, labels, X[300:], Y[300:], draws=20)
    assert result.scores.attrs["temperature"] == result.classifier.fitted_.temperature
    np.testing.assert_allclose(
        result.probabilities.sel(rule="predictive"), result.classifier.predict_proba(X[300:]), rtol=1e-10
    )


def test_rows_with_weights_are_rows_repeated():
    rows, labels, weights = X[:50, :4], Y[:50], np.r_[np.full(10, 3), np.ones(40)]
    again = np.repeat(np.arange(50), weights.astype(int))
    density = bp.GaussianNB(bp.NormalInverseGamma(rows.mean(0), 0.1, 2.0, rows.var(0)), calibration="temperature")
    weighted = clone(density).fit(rows, labels, weights).fitted_.temperature
    # a row of weight three leaves with its whole weight, copies leave one by one: near, not equal
    repeated = clone(density).fit(rows[again], labels[again]).fitted_.temperature
    assert weighted == pytest.approx(repeated, rel=0.2)


def test_batches_are_refused_and_change_nothing(tempered):
    clf = clone(tempered)
    with pytest.raises(ValueError, match=r"rows that come in batches .*, or are merged.*Fit all rows at once"):
        clf.partial_fit(X, Y, classes=[0, 1])
    assert not clf.__sklearn_is_fitted__()
    clf.fit(X[TRAIN], Y[TRAIN])
    for change in (clf.partial_fit, clf.forget):
        with pytest.raises(ValueError, match=r"set_params\(calibration=None\)"):
            change(X[:3:2], Y[:3:2])
    with pytest.raises(ValueError, match="merged"):
        clf.merge(tempered)
    assert clf.fitted_.calibration == tempered.fitted_.calibration


def test_an_unknown_option_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match=r"calibration must be one of None, 'temperature'.*, found 'platt'"):
        bp.GaussianNB(calibration="platt").fit(X, Y)


def test_overconfidence_is_warned_of_where_models_are_compared(plain, tempered):
    gain = tempered.loo().log_score[0] - plain.loo().log_score[0]
    said = rf"GaussianNB\(\)' is badly overconfident.*calibration='temperature' it attains .*gain of {gain:.3g} a"
    with pytest.warns(bp.OverconfidentWarning, match=said):
        bp.compare_models([plain], X[TRAIN], Y[TRAIN])
    bp.compare_models([tempered], X[TRAIN], Y[TRAIN])  # no warning: warnings are errors here
    bp.compare_models([bp.LinearDiscriminantAnalysis()], *load_iris(return_X_y=True))


def test_what_is_expected_of_the_labels_is_an_average_over_them(tempered):
    loo = tempered.loo()
    assert loo.confidence.expected == pytest.approx((loo.proba * loo.log_proba).sum(1).mean(), rel=1e-9)
    assert loo.confidence.attained == pytest.approx(loo.log_score[0], rel=1e-12)


def test_a_right_model_is_hardly_ever_called_overconfident():
    rng = np.random.default_rng(0)
    for _ in range(50):
        labels = np.arange(60) % 2
        clf = bp.GaussianNB().fit(rng.normal(labels[:, None], 1, (60, 3)), labels)
        assert not clf.loo().confidence.is_far_too_high


@pytest.mark.filterwarnings("ignore:a few draws carry")
def test_sampled_posteriors_have_monte_carlo_errors_of_the_tempered_probabilities():
    clf = bp.GaussianNB(inference=bp.Laplace(), calibration="temperature").fit(X[:100, :3], Y[:100])
    fitted, samples = clf.fitted_, clf.posterior_.samples["class_weights"]
    assert samples.shape[0] * samples.shape[1] >= 100
    assert (clf.predict_proba_mcse(X[:5, :3]) > 0).all()
    # features count for nothing, and what is left is the error of the drawn class weights
    hot = replace(fitted, calibration=Calibration(1e9, 0.1, 0.0, 0.0))
    draws = samples.reshape(-1, 2)
    n_batches = int(np.sqrt(len(draws)))
    expected = np.tile(draws.std(0) / np.sqrt(len(draws)), (5, 1))
    np.testing.assert_allclose(
        predictions.predict_proba_mcse(hot, X[:5, :3]), expected, rtol=4 / np.sqrt(2 * (n_batches - 1))
    )


@pytest.mark.parametrize("calibration", ["temperature", "weights"])
def test_rows_of_enormous_weight_have_a_temperature(calibration):
    rows, labels = load_iris(return_X_y=True)
    some = np.random.default_rng(6).permutation(150)[:40]
    clf = bp.GaussianNB(calibration=calibration).fit(rows[some], labels[some], np.full(40, 1e9))
    proba = clf.predict_proba(rows)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(1), 1)
