"""What docs/comparison.md says of R's MASS, against numbers printed by MASS 7.3-58.2 (R 4.2.2).

Rows of iris are 0-based here. R: e <- iris[c(51:62, 101:112), ]; d <- iris[c(1:8, 51:58, 101:108), ];
u <- iris[c(51:57, 101:140), ]; predict(fit, iris[c(71, 73, 84, 134), 1:4], method = ...)$posterior.
"""

import numpy as np
from scipy.special import gammaln
from sklearn.datasets import load_iris

import bayesppl as bp

X, Y = load_iris(return_X_y=True)
NEW = X[[70, 72, 83, 133]]
EQUAL, UNEQUAL, THREE = np.r_[50:62, 100:112], np.r_[50:57, 100:140], np.r_[0:8, 50:58, 100:108]


def fitted(cls, rows, prior="jeffreys"):
    return cls(prior, class_weights="empirical").fit(X[rows], Y[rows])


def test_qda_predictive_is_that_of_mass_for_classes_of_equal_size():
    """qda(e[, 1:4], e$Species, method = "mle"), method = "predictive"."""
    versicolor = [0.68698348778, 0.22951392889, 0.02118363636, 0.39043866266]
    found = fitted(bp.QuadraticDiscriminantAnalysis, EQUAL).predict_proba(NEW)[:, 0]
    np.testing.assert_allclose(found, versicolor, rtol=1e-9)


def test_qda_plug_in_is_that_of_mass():
    """qda(e[, 1:4], e$Species, method = "mle"), method = "plug-in"."""
    versicolor = [6.868373066e-01, 3.521505086e-02, 6.194832377e-05, 1.217823597e-01]
    found = fitted(bp.QuadraticDiscriminantAnalysis, EQUAL).predict_proba(NEW, rule="mle")[:, 0]
    np.testing.assert_allclose(found, versicolor, rtol=1e-8)


def test_qda_predictive_of_mass_lacks_a_factor_and_mixes_two_covariances():
    """qda(u[, 1:4], u$Species): correcting both slips in its expression gives the exact predictive."""
    printed = [0.7478006740, 0.8343161983, 0.2385818146, 0.6704243647]
    as_printed, corrected = [], []
    for k in (1, 2):
        rows = X[UNEQUAL][Y[UNEQUAL] == k]
        n, p = rows.shape
        for divisor, factor, out in ((n - 1, 0.0, as_printed), (n, 1.0, corrected)):
            covariance = np.cov(rows.T) * (n - 1) / divisor
            centred = NEW - rows.mean(0)
            distance = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(covariance), centred)
            log_joint = np.log(n / 47) - 0.5 * np.linalg.slogdet(covariance)[1]
            log_joint = log_joint - n / 2 * np.log1p(distance / (n + 1)) - p / 2 * np.log(n + 1)
            out.append(log_joint + factor * _log_gamma_ratio(n, p))
    np.testing.assert_allclose(_first(as_printed), printed, rtol=1e-9)
    exact = fitted(bp.QuadraticDiscriminantAnalysis, UNEQUAL).predict_proba(NEW)[:, 0]
    np.testing.assert_allclose(_first(corrected), exact, rtol=1e-9)
    assert np.abs(exact - printed).max() > 0.3


def test_lda_predictive_of_mass_scales_rows_but_not_means_and_leaves_axes_out():
    """lda(d[, 1:4], d$Species): correcting both slips gives the exact predictive."""
    printed = [0.536153381048, 0.547632305294, 0.004818705652, 0.272075476843]
    rows, labels = X[THREE], Y[THREE]
    n, n_classes, per_class = 24, 3, 8
    means = np.array([rows[labels == k].mean(0) for k in range(3)])
    pooled = sum(np.cov(rows[labels == k].T) for k in range(3)) / n_classes
    whiten = np.linalg.inv(np.linalg.cholesky(pooled)).T
    centre = means.mean(0)
    # the axes of the discriminants: where the means differ
    axes = np.linalg.svd((means - centre) @ whiten, full_matrices=False)[2][:2].T
    stretch = np.sqrt(n / (n - n_classes))

    def posterior(basis, stretch_means):
        distance = [
            (((NEW - centre) @ basis * stretch - (mean - centre) @ basis * stretch_means) ** 2).sum(1)
            for mean in means
        ]
        density = (1 + np.array(distance) * per_class / (n * (per_class + 1))) ** (-(n - n_classes + 1) / 2)
        return density[1] / density.sum(0)

    np.testing.assert_allclose(posterior(whiten @ axes, 1.0), printed, rtol=1e-8)
    exact = fitted(bp.LinearDiscriminantAnalysis, THREE).predict_proba(NEW)[:, 1]
    np.testing.assert_allclose(posterior(whiten, stretch), exact, rtol=1e-9)
    assert np.abs(exact - printed).max() > 0.03


def _log_gamma_ratio(n, p):
    return gammaln(n / 2) - gammaln((n - p) / 2)


def _first(log_joint):
    first, second = log_joint
    return 1 / (1 + np.exp(second - first))


def test_leave_one_out_of_lda_is_that_of_mass():
    """lda(x, g, CV = TRUE), by the expressions of its source."""
    n, n_classes = len(Y), 3
    counts = np.bincount(Y)
    means = np.array([X[k == Y].mean(0) for k in range(3)])
    whiten = np.linalg.inv(np.linalg.cholesky(np.cov((X - means[Y]).T) * (n - 1) / (n - n_classes))).T
    deviation = (X[:, None] - means) @ whiten
    distance = (deviation**2).sum(-1)
    rows, own = np.arange(n), counts[Y]
    shrink = own / ((own - 1) * (n - n_classes))
    crossed = (deviation * deviation[rows, Y][:, None]).sum(-1) ** 2
    left = (n - 1 - n_classes) / (n - n_classes)
    found = left * (distance + crossed / (1 / shrink - distance[rows, Y])[:, None])
    found[rows, Y] = distance[rows, Y] * left * (own / (own - 1)) ** 2 / (1 - shrink * distance[rows, Y])
    density = np.exp(-0.5 * (found - found.min(1, keepdims=True))) * counts
    loo = fitted(bp.LinearDiscriminantAnalysis, rows, "unbiased").loo(rule="map")
    np.testing.assert_allclose(loo.proba, density / density.sum(1, keepdims=True), rtol=1e-8)
