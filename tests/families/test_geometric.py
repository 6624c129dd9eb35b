"""Numbers of trials up to the first success keep the contract, and are scipy's geometric numbers."""

import numpy as np
import pytest
from scipy import special, stats
from support.examples import LABELS

import bayesppl as bp
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families.negative_binomial import Geometric

FAMILY = Geometric(bp.Beta(2.0, 1.5))
X = stats.geom(0.4).rvs((len(LABELS), 2), random_state=3)


@pytest.mark.parametrize("check", checks_of(FAMILY), ids=lambda check: check.__name__)
def test_contract(check):
    import pandas as pd

    check(make_case(FAMILY, pd.DataFrame(X, columns=["one", "two"]), LABELS))


def test_density_and_predictive_are_those_of_scipy():
    clf = bp.GenerativeClassifier(FAMILY, class_weights="uniform").fit(X, LABELS)
    new = np.array([[1, 1], [2, 5], [9, 1]])
    joint = []
    for label in clf.classes_:
        own = X[np.asarray(LABELS) == label]
        a, b = 2.0 + len(own), 1.5 + (own - 1).sum(0)
        joint.append(np.exp(special.betaln(a + 1, b + new - 1) - special.betaln(a, b)).prod(1))
    expected = np.transpose(joint) / np.sum(joint, 0)[:, None]
    np.testing.assert_allclose(clf.predict_proba(new), expected, rtol=1e-10)
    family = clf.fitted_.model.family
    p = np.full((len(clf.classes_), 2), 0.3)
    found = family.log_likelihood({"probability": p})(family.bound.encode(clf.fitted_.rows.table))
    np.testing.assert_allclose(found[:, 0], stats.geom(0.3).logpmf(X).sum(1), rtol=1e-12)


def test_a_zero_is_refused():
    with pytest.raises(ValueError, match="counts from one"):
        bp.GenerativeClassifier(FAMILY).fit([[1], [0]], ["a", "b"])
