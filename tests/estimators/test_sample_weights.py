"""What weights mean: numbers of rows, however small or large, of which a default prior is a continuous
function."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.data.rows import LARGEST_WEIGHT, LEAST_WEIGHT

pytestmark = pytest.mark.filterwarnings("ignore:sample_weight sums to one")

X, Y = load_iris(return_X_y=True)
STRUCTURES = ["full", "tied", "diag", "tied_diag", "spherical"]
TOTALS = [1e-6, 1e-3, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.5, 2 - 1e-9, 2.0, 2 + 1e-9, 3.0, 150.0, 1e6]


def weights_of(total):
    weights = np.random.default_rng(3).uniform(0.5, 1.5, len(Y))
    return total * weights / weights.sum()


def fitted(structure, total, data=X, prior=None):
    return bp.GenerativeClassifier(bp.Gaussian(structure, prior)).fit(data, Y, weights_of(total))


def scale_matrix(clf):
    """Ψ of the prior of a fit, by structure a matrix, a vector or a number."""
    prior = clf.posterior_.prior.parts["features"]
    return np.asarray(prior.psi if isinstance(prior, bp.NormalInverseWishart) else prior.b)


def expected_covariance(total):
    """Of all rows: as if the weights, which are numbers of rows, added up to two at least."""
    weights = weights_of(max(total, 2.0))
    return np.cov(X.T, aweights=weights, ddof=0) * weights.sum() / (weights.sum() - 1)


@pytest.mark.parametrize("total", TOTALS)
def test_the_scale_is_a_covariance_whatever_the_weights_add_up_to(total):
    covariance = expected_covariance(total)
    full = scale_matrix(fitted("full", total, prior="fraley-raftery"))[0]
    diagonal = scale_matrix(fitted("diag", total, prior="columnwise"))[0]
    np.testing.assert_allclose(full, covariance / 3 ** (2 / 4), rtol=1e-9)
    # three rows of the variance within the classes, to which a third of the variance of all rows adds one
    weights = weights_of(total)
    own = [(weights[k == Y], X[k == Y]) for k in np.unique(Y)]
    degrees = np.array([max(w.sum() - 1, 0) for w, _ in own])
    shares = 3 / (3 + degrees)
    squares = [w @ (rows - np.average(rows, axis=0, weights=w)) ** 2 for w, rows in own]
    within = (shares @ squares + np.diagonal(covariance) / 3) / (shares @ degrees + 1)
    np.testing.assert_allclose(diagonal, 1.5 * within, rtol=1e-9)
    spherical = scale_matrix(fitted("spherical", total))
    np.testing.assert_allclose(spherical, np.trace(covariance) / 4 / 3 ** (2 / 4) / 2, rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_probabilities_are_continuous_in_the_weights(structure):
    for total in (1.0, 2.0):
        below, at, above = (fitted(structure, total * (1 + step)).predict_proba(X) for step in (-1e-9, 0, 1e-9))
        np.testing.assert_allclose(below, at, atol=1e-7)
        np.testing.assert_allclose(above, at, atol=1e-7)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("total", [1e-3, 0.5, 1.0, 1.5, 3.0, 1e6])
def test_shifts_of_the_data_change_no_probability(structure, total):
    shift = np.array([64.0, -32.0, 1024.0, 8.0])
    found, moved = fitted(structure, total), fitted(structure, total, X + shift)
    np.testing.assert_allclose(moved.predict_proba(X + shift), found.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_normalised_weights_still_separate_the_classes(structure):
    clf = fitted(structure, 1.0)
    assert (clf.predict(X) == Y).mean() > 0.75
    # two rows of half a weight each are one row, and the prior is worth the rest: no more certain than all the
    # rows are
    assert clf.predict_proba(X).max(1).mean() < fitted(structure, 150.0).predict_proba(X).max(1).mean()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_row_of_weight_two_is_two_rows(structure):
    weights = np.random.default_rng(0).integers(0, 3, len(Y))
    clf = bp.GenerativeClassifier(bp.Gaussian(structure)).fit(X, Y, weights)
    repeated = bp.GenerativeClassifier(bp.Gaussian(structure)).fit(
        np.repeat(X, weights, axis=0), np.repeat(Y, weights)
    )
    np.testing.assert_allclose(clf.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(float(clf.log_evidence().total), float(repeated.log_evidence().total), rtol=1e-10)


MEASURES = [*map(bp.Gaussian, STRUCTURES), bp.LogNormal(), bp.Exponential()]
COUNTS = [
    bp.Bernoulli(),
    bp.Binomial(3),
    bp.Poisson(),
    bp.NegativeBinomial(2.0),
    bp.Categorical(),
    bp.Multinomial(),
]


@pytest.mark.parametrize("family", [*MEASURES, *COUNTS], ids=lambda family: str(family)[:40])
@pytest.mark.parametrize("total", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_answers_are_finite_whatever_the_weights_add_up_to(family, total):
    rows = X if family in MEASURES else np.random.default_rng(1).integers(0, 2, X.shape)
    clf = bp.GenerativeClassifier(family).fit(rows, Y, weights_of(total))
    assert np.isfinite(float(clf.log_evidence().total))
    for rule in ("predictive", "mean", "mle"):
        probabilities = clf.predict_proba(rows, rule=rule)
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(1), 1)


# --- beyond what numbers hold ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [1e-300, 1e-101, 1e101, 1e300])
def test_weights_that_are_no_numbers_of_rows_are_refused(weight):
    weights = np.ones(len(Y))
    weights[7] = weight
    with pytest.raises(
        ValueError,
        match=rf"found {weight:g} in row 7: a weight is a number of rows. Divide all".replace("+", r"\+"),
    ):
        bp.GaussianNB().fit(X, Y, weights)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("prior", ["own", None, "fraley-raftery", "jeffreys"])
def test_sums_of_squares_beyond_the_largest_number_are_refused(structure, prior):
    own = bp.NormalInverseWishart() if structure in ("full", "tied") else bp.NormalInverseGamma()
    family = bp.Gaussian(structure, own if prior == "own" else prior)
    rows = X * [1, 1e107, 1, 1]
    with pytest.raises(ValueError, match="weighted sum of squares of column 'x1' is larger than any"):
        bp.GenerativeClassifier(family).fit(rows, Y, np.full(len(Y), 1e99))


# --- one unit for all columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("odd", ["zero", "missing"])
def test_units_change_nothing_where_a_column_that_shares_its_variance_is_zero_or_empty(unit, odd):
    rows = np.column_stack([X, np.zeros(len(Y)) if odd == "zero" else np.full(len(Y), np.nan)])
    new = np.column_stack([X, np.random.default_rng(0).normal(size=len(Y))])
    clf = bp.GenerativeClassifier(bp.Gaussian("spherical"))
    expected = clf.fit(rows, Y).predict_proba(new)
    np.testing.assert_allclose(clf.fit(rows * unit, Y).predict_proba(new * unit), expected, rtol=1e-9, atol=1e-12)


def test_the_scale_of_columns_that_share_a_variance_is_their_average():
    rows = np.column_stack([X, np.zeros(len(Y))])
    psi = np.trace(np.cov(rows.T)) / 5 / 3 ** (2 / 5)
    np.testing.assert_allclose(
        scale_matrix(bp.GenerativeClassifier(bp.Gaussian("spherical")).fit(rows, Y)), psi / 2
    )
    constant = bp.GenerativeClassifier(bp.Gaussian("spherical")).fit([[3.0, -4.0], [3.0, -4.0]], [0, 1])
    np.testing.assert_allclose(scale_matrix(constant), 12.5 / 2)  # not divided: no class varies less than all
    nothing = bp.GenerativeClassifier(bp.Gaussian("spherical")).fit(np.zeros((2, 2)), [0, 1])
    np.testing.assert_allclose(scale_matrix(nothing), 1 / 2)


# --- modes at the boundary ------------------------------------------------------------------------------------


def test_no_weights_make_the_mode_of_a_probability_more_than_one():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n_rows = int(rng.integers(4, 40))
        rows = pd.DataFrame({"always": np.ones(n_rows), "mixed": rng.integers(0, 2, n_rows)})
        labels = np.arange(n_rows) % 2
        clf = bp.GenerativeClassifier(bp.Bernoulli()).fit(rows, labels, rng.uniform(0.1, 3, n_rows))
        probability = clf.posterior_.belief.mode()["probability"]
        assert (probability[:, 0] == 1).all()
        probabilities = clf.predict_proba(rows, rule="map")
        assert np.isfinite(probabilities).all()


@pytest.mark.filterwarnings("ignore:sample_weight holds whole numbers")
@pytest.mark.parametrize("structure", ["diag", "tied_diag", "spherical"])
@pytest.mark.parametrize("weight", [3e3, 1e9, 1e18])
def test_rows_of_any_weight_are_left_out_as_by_refits(structure, weight):
    clf = bp.GenerativeClassifier(bp.Gaussian(structure, bp.NormalInverseGamma(3.0, 0.1, 2.0, 1.0)))
    found = clone(clf).fit(X, Y, np.full(150, weight)).loo()
    for i in (0, 70, 133):
        kept = np.arange(150) != i
        again = clone(clf).fit(X[kept], Y[kept], np.full(149, weight)).predict_proba(X[[i]])
        np.testing.assert_allclose(found.proba[[i]], again, rtol=1e-8, atol=1e-14)


def test_the_page_of_weights_gives_the_limits_that_are_kept():
    page = (Path(__file__).parents[2] / "docs" / "theory" / "meanings.md").read_text(encoding="utf-8")
    low, high = (round(np.log10(limit)) for limit in (LEAST_WEIGHT, LARGEST_WEIGHT))
    assert f"between $10^{{{low}}}$ and $10^{{{high}}}$" in " ".join(page.split())
    for weight in (LEAST_WEIGHT, LARGEST_WEIGHT):
        bp.GaussianNB().fit(X, Y, np.full(len(Y), weight))
    with pytest.raises(ValueError, match=r"must be zero or lie between 1e-100 and 1e\+100, found 1e\+101"):
        bp.GaussianNB().fit(X, Y, np.full(len(Y), 10 * LARGEST_WEIGHT))


NUMBERS = {"a": np.linspace(-1, 1, 40) ** 2, "b": np.sin(np.arange(40.0))}
LEVELS = {"a": list("ppqqq") * 8, "b": list("rsss") * 10}


@pytest.mark.parametrize(
    "estimator", [bp.JointCategoricalNB(), bp.TreeNB(), bp.TreeNB(tree="per_class")], ids=repr
)
@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnseenLevelWarning")
def test_gaps_and_levels_of_rows_of_weight_zero_are_no_hindrance(estimator):
    X, y = pd.DataFrame(LEVELS), np.arange(40) % 3
    weights = np.ones(40)
    weights[[3, 7]] = 0
    X.loc[3, "a"], X.loc[7, "b"] = np.nan, "never seen"
    counted = weights > 0
    whole = clone(estimator).fit(X, y, sample_weight=weights)
    alone = clone(estimator).fit(X[counted], y[counted])
    np.testing.assert_array_equal(whole.predict_proba(X), alone.predict_proba(X))
    left_out, others = whole.loo().proba, alone.predict_proba(X[~counted])
    np.testing.assert_allclose(left_out[counted], alone.loo().proba, rtol=1e-13)
    np.testing.assert_allclose(left_out[~counted], others, rtol=1e-12)


def test_several_models_learn_nothing_from_rows_of_weight_zero():
    X, y = pd.DataFrame({**NUMBERS, "c": LEVELS["a"]}), np.arange(40) % 2
    X.loc[3, "c"], X.loc[7, "b"] = "never seen", np.nan
    weights = np.ones(40)
    weights[[3, 7]] = 0
    whole = bp.AutoClassifier().fit(X, y, sample_weight=weights)
    alone = bp.AutoClassifier().fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(whole.weights_, alone.weights_)


@pytest.mark.slow
def test_weights_count_in_the_prior_of_a_column_half_of_whose_cells_are_equal():
    cells, classes = np.array([[0.0]] * 8 + [[1.0], [2.0], [-1.0], [3.0]]), np.array([0, 1] * 6)
    weights = np.array([1] * 10 + [3, 1])
    student = bp.GenerativeClassifier(bp.families.StudentT(), inference="laplace")
    at = np.repeat(np.arange(12), weights)
    weighted = clone(student).fit(cells, classes, sample_weight=weights.astype(float))
    repeated = clone(student).fit(cells[at], classes[at])
    new = [[1.5], [0.5]]
    np.testing.assert_allclose(
        weighted.predict_proba(new, rule="map"), repeated.predict_proba(new, rule="map"), atol=1e-5
    )
