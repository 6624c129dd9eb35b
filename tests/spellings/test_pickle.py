"""A model that was read goes through pickles, and to other processes."""

import io
import pickle
import warnings

import joblib
import numpy as np
import picklable
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import bayesppl as bp

_rng = np.random.default_rng(3)
y = np.where(np.arange(60) % 3 == 0, "rare", "usual")
X = np.minimum(_rng.poisson(np.where(y == "rare", 5.0, 2.0)[:, None], (60, 3)), 9)


def _dumped(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return file


@pytest.mark.parametrize(
    "through",
    [lambda clf: pickle.loads(pickle.dumps(clf)), lambda clf: joblib.load(_dumped(clf))],
    ids=["pickle", "joblib"],
)
def test_a_fit_answers_the_same_after_it_was_pickled(through):
    clf = bp.PyMCClassifier(picklable.rates).fit(X, y)
    back = through(clf)
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.recognition().equals(clf.recognition())
    trees = [fit.to_datatree(draws=5, chains=1, random_state=1)["posterior"] for fit in (clf, back)]
    assert trees[0].equals(trees[1])
    assert back.build is picklable.rates
    assert float(back.log_evidence()["total"]) == float(clf.log_evidence()["total"])


def test_a_model_read_by_from_pymc_is_pickled_with_its_model():
    clf = bp.from_pymc(picklable.rates(X, (y == "usual").astype(int)))
    back = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.to_pymc().basic_RVs[0].name == clf.to_pymc().basic_RVs[0].name


@pytest.mark.slow
def test_a_function_of_no_module_is_pickled_too():
    most = 2

    def rates(X, y):
        return picklable.rates(X, np.minimum(y, most))

    clf = bp.PyMCClassifier(rates).fit(X, y)
    back = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.fit(X, y).predict(X).tolist() == clf.predict(X).tolist()


def test_a_clone_holds_the_same_function_and_no_fit():
    clf = bp.PyMCClassifier(picklable.rates, rule="mean").fit(X, y)
    copy = clone(clf)
    assert copy.build is picklable.rates
    assert copy.rule == "mean"
    assert not copy.__sklearn_is_fitted__()


@pytest.mark.slow
def test_sampled_and_collapsed_parts_answer_the_same_after_they_were_pickled():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        clf = bp.PyMCClassifier(picklable.rates_and_levels, inference=bp.NUTS(200, 200, 2, random_state=1)).fit(
            X, y
        )
    assert clf.recognition()["solution"].tolist() == ["exact", "exact", "collapsed", "compressed"]
    back = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    one, other = (fit.to_datatree(random_state=1)["posterior"] for fit in (clf, back))
    assert one.equals(other)


@pytest.mark.slow
def test_scores_of_two_processes_are_those_of_one():
    clf = bp.PyMCClassifier(picklable.rates)
    scores = [cross_val_score(clf, X, y, cv=4, scoring="neg_log_loss", n_jobs=n) for n in (1, 2)]
    np.testing.assert_array_equal(*scores)
    search = GridSearchCV(clf, {"rule": ["predictive", "mean"]}, cv=3, n_jobs=2).fit(X, y)
    assert search.best_estimator_.predict(X).shape == (60,)
