"""The value of a label: as by refits, never negative, nothing where nothing can be learned."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp

X, Y = load_iris(return_X_y=True)
KNOWN, POOL, LATER = slice(0, None, 15), slice(1, None, 25), slice(2, None, 17)

CASES = {
    "columns": (lambda **given: bp.GaussianNB(bp.NormalInverseGamma(3.0, 0.1, 2.0, 1.0), **given), X),
    "tied": (
        lambda **given: bp.LinearDiscriminantAnalysis(bp.NormalInverseWishart(3.0, 0.1, 6.0, np.eye(4)), **given),
        X,
    ),
    "truth values": (lambda **given: bp.BernoulliNB(**given), (np.median(X, 0) < X).astype(int)),
}


@pytest.mark.parametrize("case", CASES)
def test_gains_are_those_of_refits(case):
    make, rows = CASES[case]
    clf = make().fit(rows[KNOWN], Y[KNOWN])
    before, expected = clf.predict_proba(rows[LATER]), []
    for row, labels in zip(rows[POOL], clf.predict_proba(rows[POOL]), strict=True):
        gain = 0.0
        for label, probability in zip(clf.classes_, labels, strict=True):
            after = make().fit(np.vstack([rows[KNOWN], row]), np.append(Y[KNOWN], label))
            proba = after.predict_proba(rows[LATER])
            gain += probability * (proba * np.log(proba / before)).sum(1).mean()
        expected.append(gain)
    found = clf.value_of_labels(rows[POOL], rows[LATER])
    # labels less probable than 1e-8 are not tried; none moves a prediction by more than some ten nats
    np.testing.assert_allclose(found.gain, expected, rtol=1e-6, atol=3 * 1e-8 * 20)
    assert found.best == int(np.argmax(expected))
    assert (found.gain >= 0).all()


def test_temperatures_are_held():
    make, rows = CASES["columns"]
    clf = make(calibration="temperature").fit(rows[::5], Y[::5])
    assert clf.fitted_.temperature != 1
    assert (clf.value_of_labels(rows[POOL]).gain > 0).all()
    assert not np.allclose(
        clf.value_of_labels(rows[POOL]).gain, make().fit(rows[::5], Y[::5]).value_of_labels(rows[POOL]).gain
    )


def test_targets_are_the_rows_themselves_or_a_choice_of_them():
    clf = bp.GaussianNB().fit(X[KNOWN], Y[KNOWN])
    np.testing.assert_array_equal(clf.value_of_labels(X[POOL]).gain, clf.value_of_labels(X[POOL], X[POOL]).gain)
    few = clf.value_of_labels(X[POOL], X[LATER], most=3)
    assert not np.allclose(few.gain, clf.value_of_labels(X[POOL], X[LATER]).gain)


def test_it_ends_where_a_label_costs_more_than_it_brings():
    clf = bp.GaussianNB().fit(X[KNOWN], Y[KNOWN])
    values = clf.value_of_labels(X[POOL])
    assert values.worth_asking(n_rows=2 / values.gain.max())
    assert not values.worth_asking(n_rows=0.5 / values.gain.max())
    assert values.worth_asking(n_rows=0.5 / values.gain.max(), cost=0.4)
    # more rows of the same kind leave less to learn
    assert bp.GaussianNB().fit(np.tile(X, (20, 1)), np.tile(Y, 20)).value_of_labels(X[POOL]).gain.max() < 1e-4


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnlabelledWarning")
def test_a_fit_that_completes_labels_is_refused():
    y = np.where(np.arange(150) % 7, Y.astype(float), np.nan)
    completed = bp.GaussianNB(unlabelled="learn", unlabelled_weight=1.0, inference="em").fit(X, y)
    with pytest.raises(bp.NotConjugateError, match="the value of a label needs a posterior in closed form"):
        completed.value_of_labels(X[:3])


@pytest.mark.parametrize(
    "ask",
    [lambda clf, rows: clf.value_of_labels(rows, X[LATER]).gain, lambda clf, rows: clf.predict_set(rows).p_values],
    ids=["value of labels", "prediction sets"],
)
@pytest.mark.parametrize("clf", [bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()])
def test_a_row_with_gaps_in_correlated_columns_is_refused_until_it_is_filled(clf, ask):
    holes = X[:3].copy()
    holes[1, 2] = np.nan
    clf.fit(X, Y)
    with pytest.raises(ValueError, match=r"cells are missing in row 1, .*: fill them first, as impute does"):
        ask(clf, holes)
    filled = ask(clf, clf.impute(holes, random_state=0))
    np.testing.assert_array_equal(filled[[0, 2]], ask(clf, X[:3])[[0, 2]])


def test_no_targets_are_refused():
    clf = bp.GaussianNB().fit([[0.0], [0.3], [4.0], [4.2]], list("aabb"))
    with pytest.raises(ValueError, match="targets has no rows"):
        clf.value_of_labels([[0.1]], np.empty((0, 1)))
    with pytest.raises(ValueError, match="most must be at least 1, found 0"):
        clf.value_of_labels([[0.1]], most=0)


@pytest.mark.parametrize("targets", [None, X[LATER]])
def test_where_nothing_is_left_to_ask_for_it_is_said(targets):
    clf = bp.GaussianNB().fit(X[KNOWN], Y[KNOWN])
    with pytest.raises(ValueError, match="X has no rows, so that there is no label to ask for"):
        clf.value_of_labels(X[:0], targets)
