"""Normal features of known variance or covariance keep the contract; their evidence is that of normal rows."""

import numpy as np
import pytest
from scipy import stats
from support.examples import LABELS, POSITIVE, REAL

import bayesppl as bp
from bayesppl.conjugate.normal_means import NormalMeans, NormalMeanVectors
from bayesppl.evaluation.contract import checks_of, make_case
from bayesppl.families.gaussian_diagonal import KnownVariances
from bayesppl.families.gaussian_full import KnownCovariances
from bayesppl.families.lognormal import LogGaussian

_roots = np.random.default_rng(0).normal(size=(2, 3, 3, 3))
OF_MEANS, COVARIANCES = _roots @ np.swapaxes(_roots, -1, -2) + 0.2 * np.eye(3)
CENTRES = np.arange(9.0).reshape(3, 3)

FAMILIES = {
    "vectors": (KnownCovariances(NormalMeanVectors(CENTRES, np.linalg.inv(OF_MEANS), COVARIANCES)), REAL),
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


def _log_density_of_vectors(rows, k):
    """Of all rows of a class at once: they are normal, correlated by their mean."""
    n = len(rows)
    covariance = np.kron(np.eye(n), COVARIANCES[k]) + np.kron(np.ones((n, n)), OF_MEANS[k])
    return stats.multivariate_normal(np.tile(CENTRES[k], n), covariance).logpdf(rows.ravel())


def test_evidence_predictive_and_leave_one_out_of_vectors_are_those_of_all_rows_at_once():
    family, X = FAMILIES["vectors"]
    clf = bp.GenerativeClassifier(family, class_weights=[0.2, 0.3, 0.5]).fit(X, LABELS)
    rows, codes = X.to_numpy(), np.unique(LABELS, return_inverse=True)[1]
    total = [_log_density_of_vectors(rows[codes == k], k) for k in range(3)]
    expected = sum(total) + np.log([0.2, 0.3, 0.5]) @ np.bincount(codes)
    assert float(clf.log_evidence()["total"]) == pytest.approx(expected, rel=1e-11)
    found = clf.loo().proba
    for i in (0, 7, 15):
        others = np.delete(np.arange(len(rows)), i)
        joint = np.log([0.2, 0.3, 0.5])
        for k in range(3):
            own = rows[others[codes[others] == k]]
            joint[k] += _log_density_of_vectors(np.vstack([own, rows[i]]), k) - _log_density_of_vectors(own, k)
        np.testing.assert_allclose(found[i], np.exp(joint) / np.exp(joint).sum(), rtol=1e-9)


def test_missing_cells_of_vectors_are_integrated_out():
    family, X = FAMILIES["vectors"]
    clf = bp.GenerativeClassifier(family).fit(X, LABELS)
    found = clf.predict_proba(X.assign(**{"column 1": np.nan}))
    rows, codes = X.to_numpy(), np.unique(LABELS, return_inverse=True)[1]
    joint = np.zeros((len(rows), 3))
    for k in range(3):
        own = rows[codes == k]
        precision = np.linalg.inv(OF_MEANS[k]) + len(own) * np.linalg.inv(COVARIANCES[k])
        moved = np.linalg.inv(COVARIANCES[k]) @ (own - CENTRES[k]).sum(0)
        mean, spread = CENTRES[k] + np.linalg.solve(precision, moved), COVARIANCES[k] + np.linalg.inv(precision)
        joint[:, k] = stats.multivariate_normal(mean[::2], spread[::2, ::2]).logpdf(rows[:, ::2])
    joint += np.log(clf.posterior_.predictive_weights())
    expected = np.exp(joint - joint.max(1, keepdims=True))
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), rtol=1e-9)


def test_a_missing_cell_is_integrated_out():
    family, X = FAMILIES["normal"]
    clf = bp.GenerativeClassifier(family).fit(X, LABELS)
    found = clf.predict_proba(X.assign(**{"column 1": np.nan}))
    of_others = KnownVariances(NormalMeans(0.5, 0.7, [1.0, 9.0]))
    others = bp.GenerativeClassifier(of_others).fit(X.drop(columns="column 1"), LABELS)
    np.testing.assert_allclose(found, others.predict_proba(X.drop(columns="column 1")), rtol=1e-9)
