"""Normal features of known variance keep the contract, and their evidence is that of correlated normal rows."""

import numpy as np
import pytest
from scipy import stats
from support.examples import LABELS, POSITIVE, REAL

import bayesppl as bp
from bayesppl.conjugate.normal_means import NormalMeans
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families.gaussian_diagonal import KnownVariances
from bayesppl.families.lognormal import LogGaussian

FAMILIES = {
    "normal": (KnownVariances(NormalMeans(0.5, 0.7, [1.0, 2.0, 9.0])), REAL),
    "log-normal": (LogGaussian(KnownVariances(NormalMeans(0.5, 0.7, 2.5))), POSITIVE),
}


@pytest.mark.parametrize(
    ("name", "check"),
    [(name, check) for name, (family, _) in FAMILIES.items() for check in checks_of(family)],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_contract(name, check):
    family, X = FAMILIES[name]
    check(make_case(family, X, LABELS))


def test_the_evidence_and_the_predictive_are_those_of_correlated_normal_rows():
    family, X = FAMILIES["normal"]
    clf = bp.GenerativeClassifier(family, class_weights=[0.2, 0.3, 0.5]).fit(X, LABELS)
    evidence, new = 0.0, np.zeros((1, 3))
    joint = np.log(clf.posterior_.predictive_weights())
    for k, label in enumerate(clf.classes_):
        rows = X[np.asarray(LABELS) == label].to_numpy()
        for own, variance, x in zip(rows.T, [1.0, 2.0, 9.0], new[0], strict=True):
            both = np.append(own, x)
            covariance = variance * np.eye(len(both)) + 1 / 0.7
            without = stats.multivariate_normal(np.full(len(own), 0.5), covariance[1:, 1:]).logpdf(own)
            evidence += without
            joint[k] += stats.multivariate_normal(np.full(len(both), 0.5), covariance).logpdf(both) - without
    assert float(clf.log_evidence()["total"]) == pytest.approx(
        evidence + np.log([0.2, 0.3, 0.5]) @ np.bincount(np.unique(LABELS, return_inverse=True)[1]), rel=1e-12
    )
    np.testing.assert_allclose(clf.predict_proba(new)[0], np.exp(joint) / np.exp(joint).sum(), rtol=1e-10)


def test_a_missing_cell_is_integrated_out():
    family, X = FAMILIES["normal"]
    clf = bp.GenerativeClassifier(family).fit(X, LABELS)
    found = clf.predict_proba(X.assign(**{"column 1": np.nan}))
    of_others = KnownVariances(NormalMeans(0.5, 0.7, [1.0, 9.0]))
    others = bp.GenerativeClassifier(of_others).fit(X.drop(columns="column 1"), LABELS)
    np.testing.assert_allclose(found, others.predict_proba(X.drop(columns="column 1")), rtol=1e-9)
