"""The log-normal family against scipy, quadrature, and the Gaussian family at the logarithms."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from support.pymc_density import pymc_log_density

import bayesppl as bp

LABELS = np.asarray(list("aaaabbbbb"))
TABLE = pd.DataFrame(
    {"wait": [0.2, 1.1, 0.7, 2.4, 5.0, 9.1, 3.3, 14.0, 6.6], "size": [30, 12.5, 41, 8.25, 3, 1.5, 2, 7, 0.5]}
)
ROWS = pd.DataFrame({"wait": [0.1, 3.0, 200.0], "size": [5.0, 0.001, 60.0]})
NIG = bp.NormalInverseGamma(location=0.5, kappa=0.7, a=2.5, b=1.5)
STRUCTURES = ["diag", "tied_diag", "spherical", "full", "tied"]


def classifier(family, **options):
    return bp.GenerativeClassifier(family, class_weights="uniform", **options)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_classifies_as_the_gaussian_at_the_logarithms(structure):
    found = classifier(bp.LogNormal(structure)).fit(TABLE, LABELS)
    logs = classifier(bp.Gaussian(structure)).fit(np.log(TABLE), LABELS)
    for rule in ("predictive", "mle", "map", "mean"):
        np.testing.assert_allclose(
            found.predict_proba(ROWS, rule), logs.predict_proba(np.log(ROWS), rule), rtol=1e-11
        )
        expected = logs.predict_joint_log_proba(np.log(ROWS), rule) - np.log(ROWS.to_numpy()).sum(1)[:, None]
        np.testing.assert_allclose(found.predict_joint_log_proba(ROWS, rule), expected, rtol=1e-12)
    for total, other in zip(found.log_evidence().values(), logs.log_evidence().values(), strict=True):
        assert total.dims == other.dims
    expected = logs.log_evidence()["total"] - np.log(TABLE.to_numpy()).sum()
    np.testing.assert_allclose(found.log_evidence()["total"], expected, rtol=1e-12)


def test_likelihood_is_scipys():
    clf = classifier(bp.LogNormal()).fit(TABLE, LABELS)
    found = clf.predict_joint_log_proba(ROWS, rule="mle")
    for k, label in enumerate("ab"):
        logs = np.log(TABLE[label == LABELS])
        expected = stats.lognorm(logs.std(ddof=0), scale=np.exp(logs.mean())).logpdf(ROWS).sum(1)
        np.testing.assert_allclose(found[:, k], expected + np.log(0.5), rtol=1e-11)


def test_predictive_is_log_student_t_and_integrates_to_one():
    clf = classifier(bp.LogNormal(prior=NIG)).fit(TABLE[["wait"]], LABELS)

    def density(x, k):
        return 2 * np.exp(clf.predict_joint_log_proba([[x]])[0, k])

    logs = np.log(TABLE.wait[LABELS == "a"])
    kappa, a = 0.7 + 4, 2.5 + 2
    location = (0.7 * 0.5 + logs.sum()) / kappa
    b = 1.5 + 0.5 * ((logs - logs.mean()) ** 2).sum() + 0.5 * 0.7 * 4 / kappa * (logs.mean() - 0.5) ** 2
    student = stats.t(2 * a, location, np.sqrt(b * (kappa + 1) / (a * kappa)))
    for x in (0.01, 0.7, 25.0):
        assert density(x, 0) == pytest.approx(student.pdf(np.log(x)) / x, rel=1e-11)
    mass, _ = integrate.quad(lambda u: density(np.exp(u), 1) * np.exp(u), -40, 40, points=[1.0, 2.0, 3.0])
    assert mass == pytest.approx(1.0, abs=1e-7)


def test_evidence_is_a_density_of_the_column_itself():
    # one row under the prior alone: an integral over mean and variance of scipy's log-normal
    clf = classifier(bp.LogNormal(prior=NIG)).fit([[0.7], [4.0]], ["a", "b"])
    found = clf.log_evidence()["features"].values[:, 0]
    for k, x in enumerate((0.7, 4.0)):

        def integrand(mean, variance, x=x):
            sd = np.sqrt(variance)
            prior = stats.invgamma(2.5, scale=1.5).pdf(variance) * stats.norm(0.5, sd / np.sqrt(0.7)).pdf(mean)
            return prior * stats.lognorm(sd, scale=np.exp(mean)).pdf(x)

        # Gauss-Legendre in (mean, log variance), where the integrand is smooth
        nodes, weights = np.polynomial.legendre.leggauss(200)
        u = 6.0 * nodes  # log variance
        variance = np.exp(u)
        means = 0.5 + 40 * np.sqrt(variance) * nodes[:, None] / 2
        values = integrand(means, variance) * variance * 20 * np.sqrt(variance) * 6.0
        exact = np.log(np.einsum("i,j,ij->", weights, weights, values))
        assert found[k] == pytest.approx(exact, rel=1e-6)


def test_units_do_not_matter():
    unit = np.asarray([1e-6, 3600.0])
    plain, scaled = (classifier(bp.LogNormal()).fit(TABLE * s, LABELS) for s in (1.0, unit))
    np.testing.assert_allclose(scaled.predict_proba(ROWS * unit), plain.predict_proba(ROWS), rtol=1e-9)
    change = -len(TABLE) * np.log(unit).sum()
    np.testing.assert_allclose(scaled.log_evidence()["total"], plain.log_evidence()["total"] + change, rtol=1e-11)


def test_missing_cells_are_skipped():
    holes = TABLE.copy()
    holes.loc[[1, 6], "wait"] = np.nan
    kept = np.asarray([0, 2, 3, 4, 5, 7, 8])
    found = classifier(bp.LogNormal(prior=NIG)).fit(holes, LABELS)
    alone = classifier(bp.LogNormal(prior=NIG)).fit(TABLE[["wait"]].iloc[kept], LABELS[kept])
    np.testing.assert_allclose(
        found.log_evidence()["features"].sel(feature="wait"), alone.log_evidence()["features"][:, 0], rtol=1e-12
    )
    without = classifier(bp.LogNormal(prior=NIG)).fit(TABLE[["size"]], LABELS)
    np.testing.assert_allclose(
        found.predict_joint_log_proba(ROWS.assign(wait=np.nan)),
        without.predict_joint_log_proba(ROWS[["size"]]),
        rtol=1e-12,
    )


def test_pymc_has_the_density_of_the_column():
    holes = TABLE.copy()
    holes.loc[[1, 6], "wait"] = np.nan
    clf = classifier(bp.LogNormal(prior=NIG)).fit(holes, LABELS)
    point = {"mean": np.asarray([[0.2, 0.3], [0.6, 2.1]]), "variance": np.asarray([[1.2, 0.3], [0.6, 2.1]])}
    theta = {"class_weights": np.full(2, 0.5), **point}
    joint = clf.posterior_.model.log_joint(theta)(holes.to_numpy())
    expected = clf.posterior_.prior.log_prob(theta) + joint[np.arange(9), (LABELS == "b").astype(int)].sum()
    for likelihood in ("rows", "statistics"):
        assert pymc_log_density(clf, likelihood, point) == pytest.approx(expected, rel=1e-10), likelihood


@pytest.mark.parametrize(("value", "found"), [(0.0, "0"), (-3.0, "-3"), (np.inf, "inf")])
def test_refuses_values_that_are_not_positive(value, found):
    table = TABLE.assign(size=[*TABLE["size"][:-1], value])
    message = rf"column 'size' holds {found} in row 8, but the lognormal family models positive real numbers"
    with pytest.raises(ValueError, match=message):
        classifier(bp.LogNormal()).fit(table, LABELS)


def test_maximum_likelihood_refuses_a_constant_column():
    clf = classifier(bp.LogNormal()).fit(TABLE.assign(size=[2.0] * 4 + [1, 2, 3, 4, 5.0]), LABELS)
    with pytest.raises(bp.UndefinedEstimateError, match=r"column 'size' is constant within class 'a'"):
        clf.predict(ROWS, rule="mle")
