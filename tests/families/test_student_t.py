"""Student-t class densities: against scipy, and what sampling on rows gives."""

import numpy as np
import pytest
from scipy import stats

import bayesppl as bp
from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.data.labels import one_hot
from bayesppl.data.read_table import as_table
from bayesppl.families import closed_forms

RNG = np.random.default_rng(5)
Y = np.repeat(["a", "b"], 40)
X = np.concatenate([RNG.standard_t(3.0, (40, 2)), 3 + 2 * RNG.standard_t(3.0, (40, 2))])
THETA = {"location": np.array([[0.0, 1.0], [2.0, -3.0]]), "scale": np.array([[1.0, 0.3], [4.0, 2.0]])}
LABELS = one_hot(np.repeat([0, 1], 40), 2)
LAPLACE = bp.Laplace(draws=200, random_state=1)


def bound(family):
    return family.bind(as_table(X), ("a", "b"))


@pytest.mark.parametrize("dof", [1.0, 3.5, 1e9])
def test_density_is_that_of_scipy(dof):
    found = bound(bp.StudentT(dof)).log_likelihood(THETA)(X)
    expected = stats.t.logpdf(X[:, None], dof, THETA["location"], THETA["scale"]).sum(-1)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_learned_degrees_of_freedom_are_a_parameter_of_each_class_and_column():
    dof = np.array([[1.0, 2.0], [30.0, 5.0]])
    family = bound(bp.StudentT(lambda name, dims: None))
    assert family.bound.dims["dof"] == ("class", "feature")
    expected = stats.t.logpdf(X[:, None], dof, THETA["location"], THETA["scale"]).sum(-1)
    np.testing.assert_allclose(family.log_likelihood({**THETA, "dof": dof})(X), expected, rtol=1e-11)


def test_missing_cells_are_integrated_out_when_predicting_and_refused_in_a_fit():
    holes = X.copy()
    holes[::3, 1] = np.nan
    found = bound(bp.StudentT(3.0)).log_likelihood(THETA)(holes)
    expected = np.nansum(stats.t.logpdf(holes[:, None], 3.0, THETA["location"], THETA["scale"]), -1)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    with pytest.raises(ValueError, match="missing values in column 'x1'"):
        bp.GenerativeClassifier(bp.StudentT(3.0), inference=LAPLACE).fit(holes, Y)


def test_default_priors_are_free_of_units():
    rows, changed = (closed_forms.sufficient_statistics(bound(bp.StudentT()), x, LABELS) for x in (X, 100 * X + 7))
    (centre, spread), (moved, stretched) = rows.median_and_spread(), changed.median_and_spread()
    np.testing.assert_allclose(moved, 100 * centre + 7, rtol=1e-12)
    np.testing.assert_allclose(stretched, 100 * spread, rtol=1e-12)
    reflected = closed_forms.sufficient_statistics(bound(bp.StudentT()), -X, LABELS).median_and_spread()
    np.testing.assert_allclose(reflected, [-centre, spread], rtol=1e-12)
    np.testing.assert_allclose(centre, np.median(X, axis=0), rtol=1e-12)
    for n in (11, 12):  # where quartiles lie on a row, and between two
        column = np.random.default_rng(n).normal(size=(n, 1))
        low, median, high = np.quantile(column, [0.25, 0.5, 0.75], method="averaged_inverted_cdf")
        for weight in (1.0, 0.7, 0.1, 1e3):  # which all rows share
            rows = WeightedRows(column, np.zeros(n, int), np.full(n, weight), 1)
            np.testing.assert_allclose(rows.median_and_spread(), [[median], [(high - low) / 1.349]], rtol=1e-12)
    # the quartiles of scipy, up to the distance between two neighbours
    np.testing.assert_allclose(spread, stats.iqr(X, axis=0) / 1.349, rtol=0.1)


def test_a_rare_class_far_from_the_others_is_where_its_rows_are():
    """Against maximum likelihood by scipy in each class."""
    rng, counts, mean = np.random.default_rng(0), (200, 20, 20), np.array([0.0, 200.0, 210.0])
    y, new = np.repeat([0, 1, 2], counts), np.repeat([1, 2], 100)
    rows, later = (stats.t.rvs(4, mean[labels], random_state=rng)[:, None] for labels in (y, new))
    score = bp.GenerativeClassifier(bp.StudentT(4.0), inference=LAPLACE, class_weights="uniform").fit(rows, y)
    found = score.predict_log_proba(later)[np.arange(200), new]
    fits = [stats.t.fit(rows[y == k, 0], f0=4) for k in range(3)]
    density = np.stack([stats.t.logpdf(later[:, 0], *fit) for fit in fits], 1)
    expected = (density - np.logaddexp.reduce(density, axis=1, keepdims=True))[np.arange(200), new]
    assert found.mean() > expected.mean() - 0.02


def test_the_spread_within_is_about_the_medians_of_the_classes():
    rng, y = np.random.default_rng(1), np.repeat([0, 1, 2], [11, 7, 1])
    column = (100.0 * y + rng.normal(size=19))[:, None]
    rows = WeightedRows(column, y, np.ones(19), 4)
    medians, within = rows.spread_within(*rows.median_and_spread())
    expected = [np.median(column[y == k]) for k in range(3)] + [np.median(column)]
    np.testing.assert_allclose(medians[:, 0], expected, rtol=1e-12)
    away = column[:, 0] - medians[y, 0]
    low, high = np.quantile(away, [0.25, 0.75], method="averaged_inverted_cdf")
    np.testing.assert_allclose(within, (high - low) / 1.349, rtol=1e-12)
    alone = WeightedRows(column[:3] * [[1.0], [1.0], [3.0]], np.arange(3), np.ones(3), 3)
    np.testing.assert_array_equal(alone.spread_within(*alone.median_and_spread())[1], alone.median_and_spread()[1])


def test_a_constant_column_has_its_magnitude_as_spread():
    for cells in ([5.0, 0.0], [0.1, 98.6], [0.7, -0.2]):  # an average of most of them is another number
        constant = closed_forms.sufficient_statistics(bound(bp.StudentT()), np.full((80, 2), cells), LABELS)
        expected = np.where(cells, np.abs(cells), 1.0)
        np.testing.assert_array_equal(constant.median_and_spread()[1], expected)
        np.testing.assert_array_equal(constant.spread_within(*constant.median_and_spread())[1], expected)
    rounded = np.where(np.random.default_rng(0).random((80, 1)) < 0.5, 0.3, 0.1 + 0.2)
    rows = WeightedRows(rounded, np.repeat([0, 1], 40), np.ones(80), 2)
    overall = rows.median_and_spread()
    np.testing.assert_allclose([overall[1], rows.spread_within(*overall)[1]], 0.3, rtol=1e-12)


def test_rows_as_statistics_come_and_go():
    family = bound(bp.StudentT())
    rows = closed_forms.sufficient_statistics(family, X, LABELS)
    some = closed_forms.sufficient_statistics(family, X[:30], LABELS[:30])
    left = rows + some - some - some
    expected = closed_forms.sufficient_statistics(family, X[30:], LABELS[30:]).merged()
    np.testing.assert_array_equal(left.X, expected.X)
    np.testing.assert_array_equal(left.codes, expected.codes)
    np.testing.assert_allclose(left.weights, 1.0)
    with pytest.raises(ValueError, match="never added"):
        _ = left - some


@pytest.mark.parametrize("dof", [0.0, -1.0, np.nan, np.inf])
def test_degrees_of_freedom_are_positive(dof):
    with pytest.raises(ValueError, match="dof must be positive and finite, or a prior, found"):
        bp.GenerativeClassifier(bp.StudentT(dof), inference=LAPLACE).fit(X, Y)


def test_what_has_no_closed_form_is_refused():
    with pytest.raises(bp.NotConjugateError):
        bp.GenerativeClassifier(bp.StudentT(), inference="closed_form").fit(X, Y)


@pytest.fixture(scope="module")
def fitted():
    return bp.GenerativeClassifier(bp.StudentT(3.0), inference=LAPLACE).fit(X, Y)


@pytest.mark.slow
def test_a_fit_finds_the_parameters_and_shrugs_off_an_outlier(fitted):
    outlier = np.concatenate([X, [[1e4, 1e4]]])
    moved = bp.GenerativeClassifier(bp.StudentT(3.0), inference=LAPLACE).fit(outlier, np.append(Y, "a"))
    before, after = fitted.posterior_.mean(), moved.posterior_.mean()
    sd = fitted.posterior_.samples["location"].std((0, 1))
    np.testing.assert_array_less(np.abs(before["location"] - [[0, 0], [3, 3]]), 4 * sd)
    np.testing.assert_array_less(np.abs(after["location"] - before["location"]), sd)


def test_a_row_of_weight_two_is_two_rows(fitted):
    weights = np.where(np.arange(80) % 3 == 0, 2.0, 1.0)
    weighted = bp.GenerativeClassifier(bp.StudentT(3.0), inference=LAPLACE).fit(X, Y, sample_weight=weights)
    rows = np.arange(80).repeat(weights.astype(int))
    repeated = bp.GenerativeClassifier(bp.StudentT(3.0), inference=LAPLACE).fit(X[rows], Y[rows])
    # the quartiles of the default prior are those of the rows, too
    for name, values in weighted.posterior_.mean().items():
        np.testing.assert_allclose(values, repeated.posterior_.mean()[name], rtol=1e-5, atol=1e-5)


def test_answers_of_a_fit_by_rows(fitted):
    assert (fitted.predict_proba(X).argmax(1) == (Y == "b")).mean() > 0.85
    with pytest.raises(bp.NotConjugateError):
        fitted.log_evidence()
    assert fitted.loo().accuracy[0] > 0.85  # by importance weights of the draws
    with pytest.raises(bp.UndefinedEstimateError, match="no closed form"):
        fitted.predict_proba(X, "mle")
    weights = fitted.posterior_.model.statistics(X, LABELS).parts["features"].weights
    assert weights.sum() == 80


@pytest.mark.slow
def test_blocks_beside_conjugate_ones():
    family = bp.Product({"heavy": ("x0", bp.StudentT(3.0)), "light": ("x1", bp.Gaussian())})
    clf = bp.GenerativeClassifier(family, inference=LAPLACE).fit(X, Y)
    assert set(clf.posterior_.mean()) == {
        "class_weights",
        "heavy_location",
        "heavy_scale",
        "light_mean",
        "light_variance",
    }
    np.testing.assert_allclose(clf.predict_proba(X).sum(1), 1.0)
