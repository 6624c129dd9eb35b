"""Candidates of a user: pipelines left out exactly, classifiers of other packages left out by folds."""

import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import chi2_contingency
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import bayesppl as bp
from bayesppl.analysis import uncertainty
from bayesppl.analysis.stacking import _folds
from bayesppl.estimators.candidates import summarise
from bayesppl.estimators.reading import read_all
from bayesppl.model.sampled import Sampled

X, CODES = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())
QUADRATIC = make_pipeline(StandardScaler(), PCA(3), bp.QuadraticDiscriminantAnalysis("fraley-raftery"))


@pytest.fixture(scope="module")
def fitted() -> bp.AutoClassifier:
    return bp.AutoClassifier({"logistic": LOGISTIC, "naive": bp.GaussianNB(), "pca": QUADRATIC}).fit(X, Y)


def test_the_score_of_a_guest_is_that_of_cross_validation(fitted: bp.AutoClassifier) -> None:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(LOGISTIC, X, Y, cv=folds, method="predict_proba")
    scores = np.log(proba[np.arange(len(Y)), CODES])
    found = fitted.candidate_scores().sel(model="logistic")
    assert float(found["log_score"]) == pytest.approx(scores.mean(), rel=1e-12)
    assert float(found["log_score_se"]) == pytest.approx(scores.std(ddof=1) / np.sqrt(len(Y)), rel=1e-12)
    assert found["left_out"] == "by folds"
    assert float(found["temperature"]) == 1.0
    assert "logistic (by folds)" in fitted.summary()


def test_the_last_step_of_a_pipeline_is_left_out_exactly_and_its_transformers_are_held() -> None:
    """Against refits of the last step, whose prior does not depend on the rows."""
    table, labels = X[::5], Y[::5]
    prior = bp.NormalInverseGamma(0.0, 0.1, 2.0, 1.0)
    pipeline = make_pipeline(StandardScaler(), PCA(2), bp.GaussianNB(prior=prior))
    clf = bp.AutoClassifier({"pipeline": pipeline, "naive": bp.GaussianNB()}).fit(table, labels)
    temperature, expected, _ = clf.stack_.candidates["pipeline"]
    recoded = clone(pipeline[:-1]).fit_transform(table)
    scores = []
    for row in range(len(labels)):
        rest = np.delete(np.arange(len(labels)), row)
        refit = bp.GaussianNB(prior=prior).fit(recoded[rest], labels[rest])
        weights = np.log(refit.posterior_.predictive_weights())
        joint = (refit.predict_joint_log_proba(recoded[[row]])[0] - weights) / temperature + weights
        scores.append(log_softmax(joint)[CODES[::5][row]])
    assert np.mean(scores) == pytest.approx(expected, rel=1e-9)
    assert clf.candidate_scores()["left_out"].sel(model="pipeline") == "exactly"


def test_probabilities_are_the_weighted_average_of_all_members(fitted: bp.AutoClassifier) -> None:
    members, expected = fitted.stack_.members, np.zeros((len(Y), 3))
    assert len(members) == 3
    own = {"logistic": clone(LOGISTIC).fit(X, Y).predict_proba(X)}
    for member, weight in zip(members, fitted.weights_.values, strict=True):
        model = fitted.members_[member.name]
        proba = own.get(member.name)
        if proba is None:
            log_weights = np.log(model.posterior_.predictive_weights())
            joint = model.predict_joint_log_proba(fitted.recode(X, member.name))
            proba = np.exp(log_softmax((joint - log_weights) / member.temperature + log_weights, axis=1))
        expected += weight * proba
    expected **= 1 / fitted.stack_.temperature
    np.testing.assert_allclose(fitted.predict_proba(X), expected / expected.sum(1, keepdims=True), rtol=1e-9)
    assert fitted.members_["logistic"].predict(X[:1]).tolist() == ["setosa"]
    assert fitted.recode(X[:2], "logistic").shape == (2, 4)


def test_intervals_draw_a_guest_by_its_weight_as_it_is(fitted: bp.AutoClassifier) -> None:
    found = fitted.predict_proba_interval(X[60:70], draws=4000, random_state=0)
    assert (found["lower"] < found["upper"]).all()
    alone = bp.AutoClassifier([LOGISTIC]).fit(X, Y)
    found = alone.predict_proba_interval(X[60:70], draws=10, random_state=0)
    np.testing.assert_allclose(found["lower"], alone.predict_proba(X[60:70]))
    np.testing.assert_allclose(found["upper"], found["lower"])
    assert len(alone.summary().splitlines()) == 3


def test_intervals_use_the_draws_of_a_sampled_member() -> None:
    stack, rows = bp.AutoClassifier([bp.GaussianNB()]).fit(X, Y).stack_, X[60:70]
    [member] = stack.members
    exact = member.fitted.posterior
    theta = exact.draws(4, 250, np.random.default_rng(0))
    sampled = Sampled(exact.model, exact.statistics, exact.prior, theta, cast(Any, None))
    known = replace(member.fitted.calibration, log_sd=0.0)
    fitted = replace(member.fitted, inferred=sampled, calibration=known)
    stack = replace(stack, members=(replace(member, fitted=fitted),))
    flat = {name: np.concatenate(values) for name, values in theta.items()}
    log_weights = np.log(flat["class_weights"])[:, None]
    temperature = member.temperature * stack.temperature
    joint = (exact.model.log_joint(flat)(rows) - log_weights) / temperature + log_weights
    expected = softmax(joint, axis=-1)
    [found] = uncertainty.probability_draws(stack, rows, 1000, 0, np.copy)
    np.testing.assert_allclose(np.sort(found, 0), np.sort(expected, 0), rtol=1e-10)
    [some] = uncertainty.probability_draws(stack, rows, 200, 0, np.copy)
    assert len(some) == 200
    assert np.isin(some.round(9), expected.round(9)).all()


def score_by_folds(candidate: Any, rows: Any) -> float:
    """The average log probability of the labels, by scikit-learn's cross-validation."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(candidate, rows, Y, cv=folds, method="predict_proba")
    return float(np.log(proba[np.arange(len(Y)), CODES]).mean())


@pytest.mark.parametrize("transformer", [SelectKBest(k=2), LinearDiscriminantAnalysis()], ids=str)
def test_a_transformer_that_wants_labels_makes_the_pipeline_a_guest(transformer) -> None:
    pipeline = make_pipeline(transformer, bp.GaussianNB())
    found = bp.AutoClassifier({"chosen": pipeline, "naive": bp.GaussianNB()}).fit(X, Y).candidate_scores()
    assert found["left_out"].values.tolist() == ["by folds", "exactly"]
    assert float(found["log_score"].sel(model="chosen")) == pytest.approx(score_by_folds(pipeline, X), rel=1e-12)


def test_columns_of_a_data_frame_are_transformed_by_their_names() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    words = np.array([["sun", "beach"], ["rain", "wind"]])
    text = [" ".join(rng.choice(words[k if rng.random() < 0.95 else 1 - k], 4)) for k in y]
    table = pd.DataFrame({"text": text, "size": rng.standard_normal(80)})
    counts = make_column_transformer((CountVectorizer(), "text"), remainder="drop")
    guest = make_pipeline(counts, KNeighborsClassifier())
    clf = bp.AutoClassifier([make_pipeline(counts, bp.MultinomialNB()), guest]).fit(table[:60], y[:60])
    assert list(clf.stack_.candidates) == [
        "ColumnTransformer, MultinomialNB",
        "ColumnTransformer, KNeighborsClassifier",
    ]
    assert clf.score(table[60:], y[60:]) > 0.8
    assert clf.candidate_scores()["left_out"].values.tolist() == ["exactly", "by folds"]


@pytest.mark.slow
def test_weights_of_columns_are_learned_without_the_rows_that_they_predict() -> None:
    """Against refits: of as many columns as rows, most of which hold nothing, weights fit the labels too well."""
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, 60)
    rows = rng.normal(size=(60, 60)) + codes[:, None] * np.r_[np.ones(5), np.zeros(55)]
    naive = bp.GaussianNB(calibration="weights")
    clf = bp.AutoClassifier({"weighted": naive}).fit(rows, codes)
    found = clf.candidate_scores().sel(model="weighted")
    assert found["left_out"] == "by folds"
    scores = np.empty(60)
    for row in range(60):
        rest = np.delete(np.arange(60), row)
        refit = clone(naive).fit(rows[rest], codes[rest])
        scores[row] = refit.predict_log_proba(rows[[row]])[0, codes[row]]
    assert abs(float(found["log_score"]) - scores.mean()) < 2 * scores.std() / np.sqrt(60)
    assert scores.mean() < clone(naive).fit(rows, codes).loo().log_score[0] - 0.05


def test_rows_that_repeat_are_left_out_as_any_others() -> None:
    """Against cross-validation by scikit-learn, of other folds: within a standard error of the score."""
    rng = np.random.default_rng(0)
    codes = (rng.random(300) < 0.4).astype(int)
    sex, child, deck = rng.random(300) < 0.25 + 0.5 * codes, rng.random(300) < 0.1, rng.integers(0, 3, 300)
    rows = pd.DataFrame({"sex": sex, "child": child, "deck": deck}).astype(str)
    naive = bp.CategoricalNB(calibration="weights")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(naive, rows, codes, cv=folds, method="predict_proba")
    found = bp.AutoClassifier({"weighted": naive}).fit(rows, codes).candidate_scores().sel(model="weighted")
    expected = np.log(proba[np.arange(300), codes]).mean()
    assert abs(float(found["log_score"]) - expected) < float(found["log_score_se"])
    dealt = _folds(read_all(rows, codes, None, None))
    for of_class in (codes == 0, codes == 1):
        assert np.ptp(np.bincount(dealt[of_class])) <= 1
        assert chi2_contingency(np.histogram2d(dealt[of_class], deck[of_class], (5, 3))[0]).pvalue > 0.001
    order, names = rng.permutation(300), np.array(["later", "earlier"])
    other = bp.AutoClassifier({"weighted": naive}).fit(rows.iloc[order, ::-1], names[codes[order]])
    assert other.stack_.candidates["weighted"][1] == pytest.approx(float(found["log_score"]), rel=1e-9)


def test_the_order_of_equal_rows_of_other_weights_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    rows, codes = pd.DataFrame(rng.choice(list("uv"), (120, 2))).add_prefix("c"), rng.integers(0, 2, 120)
    weights, order = rng.gamma(2.0, 1.0, 120), rng.permutation(120)
    naive = bp.CategoricalNB(calibration="weights")
    one, other = (
        bp.AutoClassifier({"weighted": naive}).fit(rows.iloc[at], codes[at], weights[at])
        for at in (np.arange(120), order)
    )
    assert one.stack_.log_score == pytest.approx(other.stack_.log_score, rel=1e-9)


def test_counts_in_the_place_of_weights_are_pointed_out() -> None:
    """As they are left out together: of a table of counts, no row is left that is like the one left out."""
    cells = pd.DataFrame({"a": list("uuvvuv"), "b": list("ststts")})
    counts, codes = np.array([9, 4, 3, 8, 2, 5]), [0, 1, 0, 1, 0, 1]
    fitted = bp.CategoricalNB().fit(cells, codes, counts)
    for answer in (fitted.loo, fitted.suspicious_rows, lambda: fitted.tune_prior(objective="loo")):
        with pytest.warns(UserWarning, match=r"whole numbers, 5.17 on average, .*repeat the rows"):
            answer()
    for clf in (bp.AutoClassifier(), bp.CategoricalNB(calibration="temperature")):
        with pytest.warns(UserWarning, match=r"whole numbers, 5.17 on average, .*repeat the rows"):
            clf.fit(cells, codes, counts)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clf.fit(cells.loc[cells.index.repeat(counts)], np.repeat(codes, counts))
            clf.fit(cells, codes, counts / counts.mean())


def test_weights_of_rows_reach_guests() -> None:
    weight = np.ones(len(Y))
    weight[::3], weight[1::3] = 0.0, 2.0
    clf = bp.AutoClassifier({"logistic": LOGISTIC, "naive": bp.GaussianNB()}).fit(X, Y, weight)
    kept = weight > 0
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    params = {"logisticregression__sample_weight": weight[kept]}
    proba = cross_val_predict(LOGISTIC, X[kept], Y[kept], cv=folds, method="predict_proba", params=params)
    expected = np.average(np.log(proba[np.arange(kept.sum()), CODES[kept]]), weights=weight[kept])
    assert clf.stack_.candidates["logistic"][1] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("classes", [[1, 2], ["low", "tall"]])
def test_guests_see_the_labels_themselves_in_every_fold(classes) -> None:
    rng = np.random.default_rng(0)
    codes = (rng.random(200) < 0.2).astype(int)
    rows, labels = rng.normal(size=(200, 2)) + codes[:, None], np.array(classes)[codes]
    guest = LogisticRegression(class_weight={classes[0]: 10.0})
    clf = bp.AutoClassifier({"weighted": guest}).fit(rows, labels)
    scores = np.empty(200)
    for kept, left_out in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, labels):
        proba = clone(guest).fit(rows[kept], labels[kept]).predict_proba(rows[left_out])
        scores[left_out] = np.log(proba[np.arange(len(left_out)), codes[left_out]])
    assert clf.stack_.candidates["weighted"][1] == pytest.approx(scores.mean(), rel=1e-12)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_label_that_every_guest_holds_impossible_scores_minus_infinity() -> None:
    tree, forest = DecisionTreeClassifier(random_state=0), RandomForestClassifier(10, random_state=0)
    clf = bp.AutoClassifier({"tree": tree, "forest": forest}).fit(X, Y)
    assert clf.stack_.log_score == -np.inf
    assert np.isfinite(clf.stack_.cost_of_choosing)
    assert "log score -inf, accuracy" in clf.summary()
    parts = clf.explain(X[:1])["model_part"]
    assert parts.notnull().all()
    np.testing.assert_allclose(parts.sum("model"), [[1.0, 0.0, 0.0]], atol=1e-12)


def test_a_class_in_place_of_a_candidate_is_refused() -> None:
    for candidates in ([bp.GaussianNB], {"naive": bp.GaussianNB}):
        with pytest.raises(TypeError, match=r"hold the class GaussianNB; make one of it, as in GaussianNB\(\)"):
            bp.AutoClassifier(candidates).fit(X, Y)


def test_names_of_candidates_that_a_file_could_not_hold_are_refused() -> None:
    with pytest.raises(TypeError, match=r"names of candidates must be text, found 0.1; write '0.1'"):
        bp.AutoClassifier({0.1: bp.GaussianNB(), 1.0: bp.LinearDiscriminantAnalysis()}).fit(X, Y)


@pytest.mark.filterwarnings("ignore:sample_weight holds whole numbers")
def test_a_candidate_that_cannot_be_fitted_is_named() -> None:
    with pytest.raises(TypeError, match="sample_weight") as caught:
        bp.AutoClassifier({"near": KNeighborsClassifier()}).fit(X, Y, np.arange(1.0, len(Y) + 1))
    assert caught.value.__notes__ == ["This was raised by candidates['near']."]


def test_guests_that_pass_weights_on_take_them() -> None:
    weights = np.where(np.arange(len(Y)) % 2, 1.0, 2.0)
    guest = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=3)
    clf = bp.AutoClassifier({"naive": bp.GaussianNB(), "guest": guest}).fit(X, Y, weights)
    assert clf.score(X, Y) > 0.9


def test_one_candidate_needs_no_rows_to_be_chosen() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.AutoClassifier([bp.GaussianNB()]).fit(X[::15], Y[::15])


def test_a_model_is_called_too_sure_only_where_its_temperature_is_known_to_be_high() -> None:
    rows = np.random.default_rng(3).normal(size=(60, 3)) + np.outer(np.arange(60) % 2, [0.8, 0.4, 0.0])
    clf = bp.AutoClassifier({"linear": bp.LinearDiscriminantAnalysis()}).fit(rows, np.arange(60) % 2)
    (member,) = clf.stack_.members
    low, high = member.fitted.calibration.interval
    assert low < 1 < high
    assert "'linear' by itself is about as sure as it should be" in clf.summary()
    calibration = replace(member.fitted.calibration, temperature=9.0)
    sure = replace(member, fitted=replace(member.fitted, calibration=calibration))
    assert "is too sure" in summarise(replace(clf.stack_, members=(sure,)))


def test_classes_that_a_guest_has_not_seen_are_impossible_for_it_alone() -> None:
    clf = bp.AutoClassifier({"logistic": LOGISTIC, "naive": bp.GaussianNB()}, classes=[*np.unique(Y), "other"])
    clf.fit(X, Y)
    proba = clf.predict_proba(X)
    assert proba.shape == (150, 4)
    assert (proba[:, 3] > 0).all()
    np.testing.assert_array_equal(
        np.exp(clf.stack_.members[0].log_proba(clf.stack_.columns.align(X))).shape, proba.shape
    )


def test_candidates_of_a_list_have_names_of_their_own() -> None:
    clf = bp.AutoClassifier([bp.GaussianNB(), bp.GaussianNB(calibration="weights"), LOGISTIC]).fit(X, Y)
    assert list(clf.stack_.candidates) == [
        "GaussianNB (1)",
        "GaussianNB (2)",
        "StandardScaler, LogisticRegression",
    ]
    copy = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(copy.predict_proba(X), clf.predict_proba(X))
    np.testing.assert_array_equal(clone(clf).fit(X, Y).predict_proba(X), clf.predict_proba(X))


def test_guests_and_their_transformers_are_not_saved(tmp_path: Path, fitted: bp.AutoClassifier) -> None:
    with pytest.raises(TypeError, match=r"candidate 'logistic' is a Pipeline, and a file holds no code.*joblib"):
        fitted.save(tmp_path / "model.npz")
    listed = bp.AutoClassifier([bp.GaussianNB(), bp.LinearDiscriminantAnalysis()]).fit(X, Y)
    listed.save(tmp_path / "model.npz")
    np.testing.assert_array_equal(bp.load(tmp_path / "model.npz").predict_proba(X), listed.predict_proba(X))


@pytest.mark.slow
def test_a_mixture_is_left_out_by_folds(tmp_path: Path) -> None:
    mixture = bp.GenerativeClassifier(bp.Mixture(bp.Gaussian("diag"), components=2), inference="em")
    clf = bp.AutoClassifier({"mixture": mixture, "naive": bp.GaussianNB()}).fit(X, Y)
    assert clf.candidate_scores()["left_out"].values.tolist() == ["by folds", "exactly"]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = cross_val_predict(mixture, X, Y, cv=folds, method="predict_proba")
    expected = np.log(proba[np.arange(len(Y)), CODES]).mean()
    assert float(clf.candidate_scores()["log_score"].sel(model="mixture")) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(TypeError, match="candidate 'mixture' is a GenerativeClassifier"):
        clf.save(tmp_path / "stack.npz")
    in_closed_form = bp.GenerativeClassifier(bp.Mixture(bp.Gaussian("diag"), components=2))
    with pytest.raises(bp.NotConjugateError, match="inference='em'"):
        bp.AutoClassifier([in_closed_form]).fit(X, Y)
    with pytest.raises(TypeError, match="a family goes into"):
        bp.AutoClassifier([bp.Mixture(bp.Gaussian("diag"), components=2)]).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last", "hidden"),
    [
        (bp.GenerativeClassifier(bp.Mixture(bp.Gaussian("diag"), components=2), inference="em"), 0),
        (bp.GenerativeClassifier(bp.families.MultivariateT(), inference="em"), 0),
        (bp.GenerativeClassifier(bp.Gaussian("full"), inference="em"), 11),
    ],
    ids=["components", "weights", "cells"],
)
@pytest.mark.parametrize("before", [(), (StandardScaler(),)], ids=["alone", "in a pipeline"])
def test_what_completes_rows_is_left_out_by_folds(last: Any, hidden: int, before: tuple[Any, ...]) -> None:
    rows = X.copy()
    rows[:hidden, 1] = np.nan
    candidate = make_pipeline(*before, last) if before else last
    found = bp.AutoClassifier({"completed": candidate, "naive": bp.GaussianNB()}).fit(rows, Y).candidate_scores()
    assert found["left_out"].values.tolist() == ["by folds", "exactly"]
    expected = score_by_folds(candidate, rows)
    assert float(found["log_score"].sel(model="completed")) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_what_is_left_out_by_weights_of_draws_is_not_called_exact() -> None:
    inference = bp.Laplace(draws=400, random_state=0)
    heavy, rows, labels = (
        bp.GenerativeClassifier(bp.families.StudentT(), inference=inference),
        X[50::2, 2:],
        Y[50::2],
    )
    conjugate = bp.GaussianNB(inference=inference)
    clf = bp.AutoClassifier({"heavy": heavy, "conjugate": conjugate, "naive": bp.GaussianNB()}).fit(rows, labels)
    assert clf.candidate_scores()["left_out"].values.tolist() == ["from draws", "exactly", "exactly"]
    assert "heavy (from draws) 0." in clf.summary()
    assert "naive 0." in clf.summary()


def test_members_keep_the_class_weights_that_their_candidates_declare() -> None:
    member = bp.AutoClassifier([bp.GaussianNB(class_weights=[0.5, 0.25, 0.25])]).fit(X, Y).members_["GaussianNB"]
    assert member.class_weights == [0.5, 0.25, 0.25]
    np.testing.assert_array_equal(clone(member).fit(X, Y).predict_proba(X), member.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "mle"}, r"rule='mle'"),
        ({"classes": ["a", "b"]}, r"classes=\['a', 'b'\]"),
        ({"classes": np.array(["a", "b"])}, r"classes="),
        ({"label_noise": bp.LabelNoise(0.7, 5.0), "inference": "em"}, r"label_noise=LabelNoise\(accuracy=0\.7"),
        ({"label_noise": np.eye(3), "inference": "em"}, r"label_noise="),
        ({"unlabelled": "drop", "unlabelled_label": "setosa"}, r"unlabelled_label='setosa'"),
    ],
    ids=["rule", "classes", "array of classes", "noise", "array of noise", "label"],
)
def test_options_that_members_do_not_have_are_refused(options: dict[str, Any], words: str) -> None:
    candidates = {"naive": bp.GaussianNB(**options), "joint": bp.LinearDiscriminantAnalysis()}
    with pytest.raises(ValueError, match=rf"'naive'\] has {words}.*, but members.*leave the option out"):
        bp.AutoClassifier(candidates).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"class_weights": [0.5, 0.25, 0.25]},
        {"inference": bp.Laplace(draws=50, random_state=0)},
        {"tuning": "evidence"},
        {"unlabelled": "learn", "unlabelled_weight": 0.5, "inference": "em"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_members_are_what_their_candidates_learn_by_themselves(options: dict[str, Any]) -> None:
    candidate = bp.GaussianNB(**options)
    member = bp.AutoClassifier([candidate]).fit(X, Y).members_["GaussianNB"]
    np.testing.assert_allclose(member.predict_proba(X), candidate.fit(X, Y).predict_proba(X), rtol=1e-9)


def test_a_candidate_whose_densities_labels_choose_is_tempered():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = pd.DataFrame(rng.normal(y[:, None], 1, (80, 1)) + 0.1 * rng.normal(size=(80, 4)))  # one column four times
    X.columns = list("abcd")
    plain, tempered = bp.MixedNB(columns="evidence"), bp.MixedNB(columns="evidence", calibration="temperature")
    scores = bp.AutoClassifier({"plain": plain, "tempered": tempered}).fit(X, y).candidate_scores()
    assert scores["temperature"].values.min() > 2
    assert scores["temperature"].values[0] == scores["temperature"].values[1]


def test_class_weights_beside_candidates_are_refused() -> None:
    """Which have their own, and would not take them."""
    X, y = load_iris(return_X_y=True)
    clf = bp.AutoClassifier({"nb": bp.GaussianNB()}, class_weights="uniform")
    with pytest.raises(ValueError, match=r"class_weights='uniform' is for candidates that are picked"):
        clf.fit(X, y)


@pytest.mark.parametrize("y", [["a", "b", "a", "a"], ["a", "b", "c", "d"]])
def test_an_estimator_of_another_library_needs_two_classes_that_can_be_left_out(y) -> None:
    X = [[0.0], [1.0], [2.0], [3.0]]
    with pytest.raises(ValueError, match=r"compared by folds, .* two rows or more, found \[.*: fit more rows"):
        bp.AutoClassifier([LogisticRegression()]).fit(X, y)
    found = bp.AutoClassifier([LogisticRegression()]).fit([*X, [0.5]], ["a", "b", "a", "b", "c"])
    assert found.predict_proba(X).shape == (4, 3)


def test_the_model_that_is_advised_is_one_that_answers() -> None:
    better = make_pipeline(StandardScaler(), LogisticRegression(C=100.0))
    clf = bp.AutoClassifier({"logistic": better, "naive": bp.GaussianNB()}).fit(X, Y)
    assert next(iter(clf.members_)) == "logistic"
    with pytest.raises(AttributeError, match=r"use one of them, as in clf\.members_\['naive'\]"):
        clf.estimates()
    with pytest.raises(
        AttributeError, match="its members are estimators of other libraries; fit a declared model"
    ):
        bp.AutoClassifier([LOGISTIC]).fit(X, Y).estimates()
