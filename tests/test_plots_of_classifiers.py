"""What is drawn is what was computed: checked on the artists, with existing axes and refusals."""

import matplotlib

matplotlib.use("agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.stats import beta

import bayesppl as bp
from bayesppl import plots
from bayesppl.datasets import load


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def iris():
    X, y = load("iris")
    keep = np.r_[0:10, 50:60, 100:110]
    return X.iloc[keep], y.iloc[keep]


@pytest.fixture
def two(iris):
    X, y = iris
    return X.iloc[:, [2, 1]], y


def test_every_picture_draws_into_the_axes_it_is_given(iris, two):
    X, y = iris
    clf, one = bp.GaussianNB().fit(X, y), X.iloc[:, [2]]
    table = bp.compare_models({"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}, X, y)
    draw = [
        lambda ax: plots.plot_decision_boundary(bp.GaussianNB().fit(*two), *two, resolution=12, draws=3, ax=ax),
        lambda ax: plots.plot_class_densities(bp.GaussianNB().fit(one, y), one, y, draws=20, ax=ax),
        lambda ax: plots.plot_intervals(clf, X.iloc[:3], draws=20, ax=ax),
        lambda ax: plots.plot_estimates(clf, "mean", draws=20, ax=ax),
        lambda ax: plots.plot_prior_posterior(
            clf, "mean", feature="petal length (cm)", draws=50, ax=ax, **{"class": "setosa"}
        ),
        lambda ax: plots.plot_reliability(y, clf.predict_proba(X), clf.classes_, ax=ax),
        lambda ax: plots.plot_comparison(table, ax=ax),
    ]
    _, axes = plt.subplots(1, len(draw))
    for ax, picture in zip(axes, draw, strict=True):
        assert picture(ax) is ax
        assert ax.has_data()


@pytest.mark.parametrize("rule", ["mle", "predictive"])
def test_the_boundary_is_where_the_rule_is_undecided(rule):
    # two classes of equal spread and weight: the boundary is the line halfway, x0 + x1 = 4
    offsets = np.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
    X, y = np.concatenate([offsets + 1, offsets + 3.0]), np.repeat(["a", "b"], 4)
    clf = bp.GenerativeClassifier(bp.Gaussian("tied"), class_weights="uniform").fit(X, y)
    ax = plots.plot_decision_boundary(clf, X, y, rule=rule, draws=0, resolution=40)
    (contour,) = ax.collections
    line = contour.get_paths()[0].vertices
    assert len(line) > 10
    np.testing.assert_allclose(line.sum(1), 4, atol=1e-9)


def test_draws_have_boundaries_of_their_own(two):
    clf = bp.GaussianNB().fit(*two)
    few, many = (len(plots.plot_decision_boundary(clf, *two, resolution=12, draws=n).collections) for n in (2, 10))
    assert many > few


def test_a_boundary_needs_two_features_and_densities_one(iris):
    X, y = iris
    clf = bp.GaussianNB().fit(X, y)
    with pytest.raises(ValueError, match="two features; the classifier has 4"):
        plots.plot_decision_boundary(clf, X, y)
    with pytest.raises(ValueError, match="one feature; the classifier has 4"):
        plots.plot_class_densities(clf, X, y)


def test_the_density_integrates_to_one_and_the_band_holds_the_plug_in(iris):
    X, y = iris
    one = X.iloc[:, [2]]
    clf = bp.GaussianNB().fit(one, y)
    ax = plots.plot_class_densities(clf, one, y, draws=400)
    for k, line in enumerate(ax.lines):
        x, density = line.get_data()
        assert np.trapezoid(density, x) == pytest.approx(1, abs=0.02)
        theta = clf.posterior_.theta("mean")
        mean, sd = theta["mean"][k, 0], np.sqrt(theta["variance"][k, 0])
        at = np.argmin(abs(x - mean))
        band = ax.collections[k].get_paths()[0].vertices
        here = band[np.isclose(band[:, 0], x[at]), 1]
        assert here.min() < 1 / (sd * np.sqrt(2 * np.pi)) < here.max()


def test_intervals_are_those_of_predict_interval(iris):
    X, y = iris
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    ax = plots.plot_intervals(clf, X.iloc[:4], draws=60, random_state=3)
    interval = clf.predict_interval(X.iloc[:4], draws=60, random_state=3)
    for k in range(3):
        segments = np.array(ax.collections[k].get_segments())
        np.testing.assert_allclose(segments[:, 0, 0], interval["lower"][:, k])
        np.testing.assert_allclose(segments[:, 1, 0], interval["upper"][:, k])
    np.testing.assert_allclose(ax.lines[1].get_xdata(), clf.predict_proba(X.iloc[:4])[:, 0])


def test_estimates_are_those_of_the_classifier_and_undefined_ones_are_left_out(iris):
    X, y = iris
    clf = bp.GaussianNB().fit(X, y)
    ax = plots.plot_estimates(clf, "variance", feature="petal length (cm)", draws=4000)
    table = clf.estimates()["variance"].sel(feature="petal length (cm)")
    for line, rule in zip(ax.lines, ("mle", "map", "mean"), strict=True):
        np.testing.assert_allclose(line.get_xdata(), table.sel(estimate=rule))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["setosa", "versicolor", "virginica"]
    constant = bp.GaussianNB().fit([[1.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    assert len(plots.plot_estimates(constant, "variance", draws=20).lines) == 2


def test_an_unknown_parameter_is_refused_with_the_known_ones(iris):
    with pytest.raises(
        ValueError, match="no parameter is called 'sigma'; there are class_weights, mean, variance"
    ):
        plots.plot_estimates(bp.GaussianNB().fit(*iris), "sigma")


def test_prior_and_posterior_histograms_are_densities_of_the_exact_beliefs():
    clf = bp.BernoulliNB(bp.Beta(2, 2)).fit([[1], [1], [1], [0]] * 2, list("aaab") * 2)
    choice = {"feature": "x0", "class": "a"}
    ax = plots.plot_prior_posterior(clf, "probability", draws=20_000, **choice)
    for patch, exact in zip(ax.patches, (beta(2, 2), beta(8, 2)), strict=True):
        x, height = patch.get_xy().T
        assert height.max() == pytest.approx(exact.pdf(np.linspace(0, 1, 999)).max(), rel=0.15)
        assert (x.min() >= 0) & (x.max() <= 1)
    with pytest.raises(ValueError, match="choose one label of 'class'"):
        plots.plot_prior_posterior(clf, "probability", feature="x0")


def test_an_improper_prior_has_no_picture(iris):
    clf = bp.GaussianNB("jeffreys").fit(*iris)
    with pytest.raises(bp.ImproperError, match="an improper prior has no density"):
        plots.plot_prior_posterior(clf, "mean", feature="petal length (cm)", **{"class": "setosa"})


def test_reliability_counts_every_class_of_every_row():
    # 3 of 4 events at 0.75 and, of the other class, 1 of 4 at 0.25
    p = np.column_stack([np.full(4, 0.75), np.full(4, 0.25)])
    ax = plots.plot_reliability(["a", "a", "a", "b"], p, ["a", "b"], bins=10, prob=0.9)
    container = ax.containers[0]
    np.testing.assert_allclose(container.lines[0].get_xydata(), [[0.25, 0.25], [0.75, 0.75]])
    (bars,) = container.lines[2]
    upper = bars.get_segments()[1][:, 1]
    np.testing.assert_allclose(sorted(upper), beta(3.5, 1.5).ppf([0.05, 0.95]))
