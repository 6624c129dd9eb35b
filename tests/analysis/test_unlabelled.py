"""How much rows without a label count, chosen by labelled rows left out."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.analysis import unlabelled_weight
from bayesppl.analysis.left_out_joints import row_joints
from bayesppl.errors import ConvergenceWarning, UndefinedEstimateError, UnlabelledWarning

RNG = np.random.default_rng(3)


def hidden(y, per_class):
    """The labels, but for a few of each class."""
    out = np.full(len(y), None, dtype=object)
    for label in np.unique(y):
        out[np.flatnonzero(y == label)[:per_class]] = label
    return out


#: Two normal classes, as the model has them; and classes that differ in one column, beside copies of another one,
#: which the model would take for independent.
RIGHT = RNG.normal(size=(300, 8)) + 1.1 * (np.arange(300) % 2)[:, None], np.arange(300) % 2
#: The same of so many columns that a few labelled rows say little of them.
WIDE = np.random.default_rng(1).normal(size=(300, 100)) + 0.35 * RIGHT[1][:, None], RIGHT[1]
_COPIES = RNG.normal(size=(300, 1)) + 0.1 * RNG.normal(size=(300, 15))
WRONG = np.c_[RNG.normal(size=300) + 2.5 * RIGHT[1], _COPIES], RIGHT[1]


def learned(data, per_class=12, **options):
    X, y = data
    return bp.GaussianNB(inference="em", unlabelled="learn", **options).fit(X, hidden(y, per_class))


@pytest.mark.slow
def test_rows_that_help_are_used():
    found = learned(WIDE, 24).unlabelled_gain()
    assert found.weight > 0
    assert found.gain > found.standard_error
    assert found.weights.tolist() == list(unlabelled_weight.WEIGHTS)
    assert found.gain < found.log_scores.max() - found.log_scores[0]  # by which the weight was chosen
    X, y = WIDE
    alone = bp.GaussianNB(unlabelled="drop").fit(X, hidden(y, 24))
    log_scores = [clf.predict_log_proba(X)[np.arange(300), y].mean() for clf in (learned(WIDE, 24), alone)]
    assert log_scores[0] > log_scores[1]


def test_the_gain_of_a_choice_has_no_bias_where_choices_gain_nothing():
    """Differences of mean zero, so large that one of four choices often looks sure."""
    rng, weights, groups = np.random.default_rng(0), np.ones(24), np.arange(24) % 12
    by_halves, naive = [], []
    for _ in range(200):
        scores = np.vstack([np.zeros(24), rng.normal(size=(4, 24))])
        by_halves.append(unlabelled_weight._cross_fit(scores, weights, groups).mean())
        naive.append(scores[unlabelled_weight._best(scores, weights)].mean())
    errors = [np.std(found) / np.sqrt(200) for found in (by_halves, naive)]
    assert abs(np.mean(by_halves)) < 4 * errors[0]
    assert np.mean(naive) > 10 * errors[1]


def test_rows_that_hurt_are_left_out():
    X, y = WRONG
    clf = learned(WRONG, 20)
    assert clf.unlabelled_gain().weight == 0
    assert str(clf.unlabelled_gain()).startswith("weight 0, so that they change nothing but by the temperature")
    alone = bp.GaussianNB(unlabelled="drop").fit(X, hidden(y, 20))
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(X), alone.predict_joint_log_proba(X), rtol=1e-12, atol=1e-12
    )


def test_promised_scores_are_those_of_labelled_rows():
    """And not of the one row more that the temperature is learned from."""
    X, y = WRONG
    clf = learned(WRONG, 12)
    assert clf.unlabelled_gain().weight == 0
    labels = hidden(y, 12)
    is_labelled = np.array([label is not None for label in labels])
    alone = bp.GaussianNB().fit(X[is_labelled], y[is_labelled])
    calibration = clf.fitted_.calibration
    assert calibration.log_score_uncalibrated == pytest.approx(alone.loo().log_score[0])
    assert calibration.log_score == pytest.approx(clf.loo().log_score[0])


def test_a_given_weight_that_hurts_is_warned_of():
    X, y = WRONG
    clf = bp.GaussianNB(unlabelled="learn", inference="em", unlabelled_weight=1.0)
    with pytest.warns(UnlabelledWarning, match="make the predictions of labelled rows worse: weight 1, gain -"):
        clf.fit(X, hidden(y, 20))
    assert clf.unlabelled_gain().hurts
    assert clf.fitted_.calibration is None


@pytest.mark.parametrize("calibration", [None, "temperature"])
def test_the_gain_of_a_given_weight_is_that_of_the_fit_as_it_is(calibration, monkeypatch):
    """Copies of a column make naive Bayes far too sure, which a temperature would mend and hide."""
    monkeypatch.setattr(unlabelled_weight, "_FEW_GROUPS", 24)
    options = {"unlabelled_weight": 1.0, "calibration": calibration}
    with pytest.warns(UnlabelledWarning, match="weight 1, gain -"):
        found = learned(WRONG, 12, **options).unlabelled_gain()
    assert found.gain == pytest.approx(found.log_scores[1] - found.log_scores[0], abs=1e-12)
    alone = bp.GaussianNB(unlabelled="drop").fit(WRONG[0], hidden(WRONG[1], 12)).loo().log_score[0]
    if calibration is None:
        assert found.calibration.temperature == 1.0
        assert found.log_scores[0] == pytest.approx(alone, rel=1e-9)
    else:
        assert found.calibration.temperature > 1.0
        assert found.log_scores[0] > alone


#: Many heaps whose labels say nothing of each other: EM has several fixed points, and labels lead to one of them.
HEAPS = np.repeat(RNG.normal(scale=6.0, size=(8, 2)), 10, axis=0) + RNG.normal(size=(80, 2)), np.arange(80) % 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")  # of the heaps
@pytest.mark.parametrize("data", [RIGHT, HEAPS], ids=["one fixed point", "several"])
def test_left_out_scores_are_those_of_refits(data, monkeypatch):
    """Every row is predicted as by a fit that never saw its label."""
    X, y = data
    labels = hidden(y, 4)
    family = bp.Gaussian("diag", bp.NormalInverseGamma(location=1.0, kappa=0.5, a=2.5, b=2.0))
    options = {"class_weights": bp.Dirichlet(2.0), "unlabelled": "learn", "inference": bp.EM(tol=1e-10)}
    monkeypatch.setattr(unlabelled_weight, "_EM", bp.EM(tol=1e-10))
    monkeypatch.setattr(unlabelled_weight, "_FEW_GROUPS", 8)
    clf = bp.GenerativeClassifier(family, unlabelled_weight=0.3, **options).fit(X, labels)
    found = clf.unlabelled_gain()
    at = np.flatnonzero(labels != None)  # noqa: E711
    scores = []
    for row in at:
        kept = np.delete(np.arange(len(X)), row)
        one = bp.GenerativeClassifier(family, unlabelled_weight=0.3, **options).fit(X[kept], labels[kept])
        log_joint = one.predict_joint_log_proba(X[[row]])[0]
        scores.append(log_joint[y[row]] - np.logaddexp(*log_joint))
    assert found.log_scores[1] == pytest.approx(np.mean(scores), abs=1e-4)  # EM ends before its fixed point


@pytest.mark.parametrize("weight", [0.0, 1e-12])
@pytest.mark.parametrize(
    "model",
    [partial(bp.GaussianNB, "columnwise"), bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis],
    ids=["GaussianNB", "LDA", "QDA"],
)
def test_rows_without_weight_leave_the_scores_of_labelled_rows_alone(model, weight):
    """By quadratic discriminant analysis a row leaves the priors of the other classes too, which hold it."""
    X, labels = RIGHT[0], hidden(RIGHT[1], 12)
    clf = model(unlabelled="learn", inference="em", unlabelled_weight=1e-12).fit(X, labels)
    rows, learned, n_rows = clf.fitted_.rows, clf.fitted_.learned, 24
    alone = model(unlabelled="drop").fit(X, labels)
    found = unlabelled_weight._left_out(learned.model, learned.statistics, rows, weight, np.arange(n_rows))
    codes, ones = rows.codes, np.ones(n_rows)
    expected = row_joints(alone.posterior_, X[:n_rows], codes, ones, "predictive")
    np.testing.assert_allclose(found[0], expected.without, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[1], expected.class_weights, rtol=1e-9)


def test_what_is_reported():
    clf = learned(WIDE, 24)
    assert "rows without a label: weight" in str(clf.summary())
    assert "252 rows partly known" in " ".join(str(clf.summary()).split())
    with pytest.raises(ValueError, match=r"there is no gain to report\. This needs unlabelled='learn' or"):
        bp.GaussianNB().fit(*RIGHT).unlabelled_gain()
    with pytest.raises(
        ValueError, match=r"unlabelled_weight must be 'loo' or positive \(unlabelled='drop' leaves"
    ):
        learned(RIGHT, unlabelled_weight=0.0)


MISSING = {
    "None": [0, 1, None, 0, 1, None],
    "NaN": [0.0, 1.0, np.nan, 0.0, 1.0, np.nan],
    "NA": pd.array([0, 1, None, 0, 1, None], dtype="Int64"),
    "text": pd.Series(["a", "b", None, "a", "b", None]),
    "categories": pd.Categorical(["a", "b", None, "a", "b", None]),
    "dates": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01", None] * 2)),
    "masked": np.ma.masked_array([0, 1, 5, 0, 1, 5], mask=[0, 0, 1, 0, 0, 1]),
}


@pytest.mark.parametrize("kind", MISSING)
def test_labels_that_are_missing(kind):
    X, y = RNG.normal(size=(6, 2)), MISSING[kind]
    kept = [0, 1, 3, 4]
    dropped = bp.GaussianNB(unlabelled="drop").fit(X, y)
    alone = bp.GaussianNB().fit(X[kept], [0, 1, 0, 1])
    assert np.array_equal(dropped.predict_proba(X), alone.predict_proba(X))
    with pytest.raises(ValueError, match=r"row 2 .*unlabelled='drop' leaves them out, unlabelled='learn'"):
        bp.GaussianNB().fit(X, y)


def test_a_label_that_marks_rows_without_one():
    X, y = RNG.normal(size=(6, 2)), [0, 1, -1, 0, 2, -1]
    clf = bp.GaussianNB(unlabelled="drop", unlabelled_label=-1).fit(X, y)
    assert clf.classes_.tolist() == [0, 1, 2]
    both = np.asarray([0, 1, -1, 0, 2, pd.NA], dtype=object)
    assert np.array_equal(clf.fit(X, both).class_count_, [2, 1, 1])
    with pytest.warns(UserWarning, match=r"-1 is taken for a class, beside 0 to 2.*unlabelled_label=-1"):
        assert bp.GaussianNB().fit(X, y).classes_.tolist() == [-1, 0, 1, 2]
    bp.GaussianNB(classes=[-1, 0, 1, 2]).fit(X, y)  # declared, so meant
    bp.GaussianNB().fit(X, [-1, 1, -1, 1, 1, -1])


def test_batches_drop_rows_without_a_label(tmp_path):
    import dask.array as da

    X, y = RNG.normal(size=(40, 2)), np.where(np.arange(40) % 4 == 3, np.nan, np.arange(40) % 2)
    clf = bp.GaussianNB(unlabelled="drop", classes=[0.0, 1.0])
    expected = clf.fit(X, y).predict_proba(X)
    found = (
        bp.GaussianNB(unlabelled="drop", classes=[0.0, 1.0])
        .partial_fit(X[:20], y[:20])
        .partial_fit(X[20:], y[20:])
    )
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=1e-10)
    lazy = bp.GaussianNB(unlabelled="drop").fit(da.from_array(X, chunks=(10, 2)), da.from_array(y, chunks=10))
    np.testing.assert_allclose(lazy.predict_proba(X), expected, rtol=1e-10)
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "rows.parquet")
    files = bp.GaussianNB(unlabelled="drop").fit_parquet(tmp_path / "rows.parquet", "y")
    named = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_allclose(files.predict_proba(named), expected, rtol=1e-10)


#: 48 labelled rows, and others
N, N_LABELLED = 200, 48
FEW_X, FEW_Y = WIDE[0][:N], np.where(np.arange(N) < N_LABELLED, RIGHT[1][:N], None)


def same_choice(found, expected):
    """The same up to the rounding of sums: EM takes the same steps."""
    found_gain, expected_gain = found.unlabelled_gain(), expected.unlabelled_gain()
    assert found_gain.weight == expected_gain.weight > 0
    for name in ("gain", "standard_error", "log_scores"):
        np.testing.assert_allclose(getattr(found_gain, name), getattr(expected_gain, name), rtol=1e-7, atol=1e-10)
    temperatures = [gain.calibration.temperature for gain in (found_gain, expected_gain)]
    assert temperatures[0] == pytest.approx(temperatures[1], rel=1e-7)
    np.testing.assert_allclose(
        found.predict_proba(WIDE[0]), expected.predict_proba(WIDE[0]), rtol=1e-7, atol=1e-10
    )


def test_rows_of_weight_zero_are_no_rows():
    """Rows of no weight with wrong labels, and some far away without any."""
    X, y = np.r_[FEW_X, FEW_X[:24], FEW_X + 50], np.r_[FEW_Y, 1 - FEW_Y[:24], [None] * N]
    order = np.r_[N : N + 24, :N, N + 24 : len(y)]
    weights = (order < N).astype(float)
    found = bp.GaussianNB(inference="em", unlabelled="learn").fit(X[order], y[order], weights)
    same_choice(found, bp.GaussianNB(inference="em", unlabelled="learn").fit(FEW_X, FEW_Y))


@pytest.mark.slow
def test_a_row_of_weight_two_is_two_rows_left_out_together(monkeypatch):
    monkeypatch.setattr(unlabelled_weight, "_groups", lambda n_rows, _: np.arange(n_rows) % N_LABELLED)
    weighed = bp.GaussianNB(inference="em", unlabelled="learn").fit(FEW_X, FEW_Y, np.full(N, 2.0))
    twice = bp.GaussianNB(inference="em", unlabelled="learn").fit(np.tile(FEW_X, (2, 1)), np.tile(FEW_Y, 2))
    same_choice(weighed, twice)


@pytest.mark.parametrize("weight", [1.0, "loo"])
def test_sampling_needs_no_mode(weight):
    """The class of ones has no mode of its probability: fewer than one failure, prior included."""
    X, y = np.array([1, 1, 1, 0, 0, 1, 1, 0, 1, 1])[:, None], [0, 0, 0, 1, 1, 1, None, None, None, None]
    options = {"class_weights": bp.Dirichlet(2.0), "unlabelled": "learn", "unlabelled_weight": weight}
    family = bp.Bernoulli(bp.Beta(2.0, 0.7))
    gibbs = bp.Gibbs(draws=50, tune=10, chains=2, random_state=0)
    clf = bp.GenerativeClassifier(family, inference=gibbs, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UnlabelledWarning)
        clf.fit(X, y)
    assert np.isfinite(clf.unlabelled_gain().log_scores).all()
    with pytest.raises(UndefinedEstimateError, match="MAP"):  # a mode is what EM is asked for
        bp.GenerativeClassifier(family, inference="em", **{**options, "unlabelled_weight": 1e-9}).fit(X, y)


def in_doubt(X, y, **options):
    known = np.array([[0.8, 0.2], [0.3, 0.7]])
    return bp.GaussianNB(inference=bp.EM(tol=1e-12), unlabelled="learn", label_noise=known, **options).fit(X, y)


def test_a_given_weight_counts_where_labels_are_in_doubt():
    """Weight two: every row without a label given twice. By default they count fully."""
    twice = np.r_[:N, N_LABELLED:N]
    found, expected = in_doubt(FEW_X, FEW_Y, unlabelled_weight=2.0), in_doubt(FEW_X[twice], FEW_Y[twice])
    np.testing.assert_allclose(found.predict_proba(WIDE[0]), expected.predict_proba(WIDE[0]), atol=1e-4)
    once = [in_doubt(FEW_X, FEW_Y, **options).predict_proba(WIDE[0]) for options in ({}, {"unlabelled_weight": 1})]
    assert np.array_equal(*once)
    assert np.abs(once[0] - found.predict_proba(WIDE[0])).max() > 0.01
    with pytest.raises(ValueError, match="unlabelled_weight must be 'loo' or positive"):
        in_doubt(FEW_X, FEW_Y, unlabelled_weight=0.0)


def test_a_given_weight_counts_where_a_class_has_no_label():
    y = np.where(FEW_Y == 0, FEW_Y, None)
    options = {"inference": bp.EM(tol=1e-12), "unlabelled": "learn", "classes": [0, 1]}
    found = bp.GaussianNB(unlabelled_weight=0.3, **options).fit(FEW_X, y)
    expected = bp.GaussianNB(**options).fit(FEW_X, y, np.where(y == None, 0.3, 1.0))  # noqa: E711
    assert np.array_equal(found.predict_proba(FEW_X), expected.predict_proba(FEW_X))


@pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning", "ignore::bayesppl.errors.UnseenLevelWarning")
@pytest.mark.parametrize("soft", [False, True])
def test_a_level_that_only_a_row_of_weight_zero_holds_is_no_level(soft: bool) -> None:
    rng = np.random.default_rng(0)
    truth = np.arange(30) % 2
    X = pd.DataFrame({"a": np.where(rng.random(30) < 0.3 + 0.4 * truth, "u", "v"), "b": rng.normal(truth)})
    X.loc[3, "a"] = "w"
    labels = np.c_[0.9 - 0.8 * truth, 0.1 + 0.8 * truth] if soft else np.where(np.arange(30) < 10, None, truth)
    at = np.delete(np.arange(30), 3)
    options = {} if soft else {"unlabelled": "learn", "unlabelled_weight": 1.0}
    clf = bp.MixedNB(classes=[0, 1], inference="em", **options)
    weights = np.ones(30)
    weights[3] = 0.0
    gone = clf.fit(X.iloc[at], labels[at]).predict_proba(X.iloc[at])
    np.testing.assert_allclose(clf.fit(X, labels, weights).predict_proba(X.iloc[at]), gone, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesppl.UnlabelledWarning")
def test_a_row_of_weight_zero_may_be_impossible() -> None:
    X, labels = np.array([[0, 1], [0, 2], [0, 4], [0, 5], [0, 1], [0, 6], [7, 3]]), [0, 0, 1, 1, None, None, None]
    clf = bp.PoissonNB(unlabelled="learn", unlabelled_weight=1.0, inference=bp.EM("mle"))
    gone = clf.fit(X[:6], labels[:6]).predict_proba(X[:6])
    found = clf.fit(X, labels, [1, 1, 1, 1, 1, 1, 0]).predict_proba(X[:6])
    np.testing.assert_allclose(found, gone, rtol=1e-9)


@pytest.mark.parametrize("calibration", ["temperature", "weights"])
def test_a_calibration_that_is_asked_for_takes_the_place_of_the_temperature(calibration):
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X, few = rng.normal(y[:, None], [1.0, 1.0, 2.0]), np.where(rng.random(150) < 0.6, -1, y)
    clf = bp.GaussianNB(calibration=calibration, unlabelled="learn", unlabelled_label=-1, inference="em").fit(
        X, few
    )
    assert str(clf.unlabelled_gain()) == "weight 0, so that they change nothing"
    labelled = few >= 0
    alone = bp.GaussianNB(calibration=calibration).fit(X[labelled], few[labelled])
    np.testing.assert_allclose(clf.predict_proba(X), alone.predict_proba(X), rtol=1e-9)
