"""What is drawn is what was computed: checked on the artists, with existing axes and refusals."""

import matplotlib

matplotlib.use("agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.stats import beta, norm

import bayesppl as bp
from bayesppl import plots
from bayesppl.data.names import short_names
from bayesppl.datasets import load
from bayesppl.plots.style import colour, marker


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
        lambda ax: plots.plot_intervals(clf, X.iloc[:3], draws=20, random_state=0, ax=ax),
        lambda ax: plots.plot_estimates(clf, "mean", draws=20, feature="sepal length (cm)", ax=ax),
        lambda ax: plots.plot_prior_posterior(
            clf, "mean", feature="petal length (cm)", draws=50, ax=ax, **{"class": "setosa"}
        ),
        lambda ax: plots.plot_reliability(clf, X, y, ax=ax),
        lambda ax: plots.plot_relevance(clf, ax=ax),
        lambda ax: plots.plot_learning_curve(bp.GaussianNB(), X, y, [6, 15], repeats=2, ax=ax),
        lambda ax: plots.plot_parameter_maps(clf, "mean", ax=ax),
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


def test_one_class_has_no_boundary():
    X = np.random.default_rng(0).normal(size=(40, 2))
    clf = bp.GaussianNB(classes=["only"]).fit(X, ["only"] * 40)
    ax = plots.plot_decision_boundary(clf, X)
    assert not any(len(lines.get_segments()) for lines in ax.collections if hasattr(lines, "get_segments"))


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
    ax = plots.plot_intervals(clf, X.iloc[:4], draws=60, random_state=3, logit=False)
    interval = clf.predict_proba_interval(X.iloc[:4], draws=60, random_state=3)
    for k in range(3):
        segments = np.array(ax.collections[k].get_segments())
        np.testing.assert_allclose(segments[:, 0, 0], interval["lower"][:, k])
        np.testing.assert_allclose(segments[:, 1, 0], interval["upper"][:, k])
    np.testing.assert_allclose(ax.lines[3].get_xdata(), clf.predict_proba(X.iloc[:4])[:, 0])


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


def test_reliability_is_that_of_its_twin(iris):
    X, y = iris
    clf = bp.GaussianNB().fit(X[::2], y[::2])
    found = bp.reliability(clf, X[1::2], y[1::2], prob=0.5, rule="map")
    ax = plots.plot_reliability(clf, X[1::2], y[1::2], prob=0.5, rule="map")
    np.testing.assert_allclose(
        ax.collections[1].get_offsets(), np.column_stack([found["confidence"], found["hit_rate"]])
    )
    bars = np.array(ax.collections[0].get_segments())[:, :, 1]
    np.testing.assert_allclose(bars[:, 0], np.minimum(found["lower"], found["hit_rate"]))
    np.testing.assert_allclose(bars[:, 1], np.maximum(found["upper"], found["hit_rate"]))


def test_a_result_and_the_arguments_of_its_twin_draw_the_same(iris):
    X, y = iris
    clf = bp.GaussianNB().fit(X, y)
    models = {"naive": bp.GaussianNB(), "tied": bp.LinearDiscriminantAnalysis()}
    interval = clf.predict_proba_interval(X[:3], random_state=1)
    pairs = [
        (plots.plot_reliability, (clf, X, y), bp.reliability(clf, X, y)),
        (plots.plot_relevance, (clf,), clf.feature_relevance()),
        (plots.plot_comparison, (models, X, y), bp.compare_models(models, X, y)),
        (
            plots.plot_learning_curve,
            (clf, X, y, [6, 12]),
            bp.learning_curve(clf, X, y, [6, 12]),
        ),
    ]
    for picture, arguments, result in pairs:
        shapes = [data_of(picture(*given)) for given in (arguments, (result,))]
        np.testing.assert_allclose(*shapes, err_msg=picture.__name__)
    lines = [
        ax.collections for ax in (plots.plot_intervals(interval), plots.plot_intervals(clf, X[:3], random_state=1))
    ]
    np.testing.assert_allclose(*(collections[0].get_segments() for collections in lines))


def data_of(ax):
    """Everything numeric that was drawn."""
    pieces = [line.get_xydata().ravel() for line in ax.lines]
    pieces += [np.ravel(patch.get_bbox().bounds) for patch in ax.patches]
    pieces += [
        np.ravel(segments) for c in ax.collections if hasattr(c, "get_segments") for segments in c.get_segments()
    ]
    return np.concatenate(pieces)


def test_a_result_is_drawn_as_it_is(iris):
    found = bp.reliability(bp.GaussianNB().fit(*iris), *iris)
    with pytest.raises(TypeError, match="a result of reliability is drawn as it is; found rule besides"):
        plots.plot_reliability(found, rule="mle")


def test_a_comparison_brings_its_own_intervals(iris):
    X, y = iris
    comparison = bp.compare(bp.GaussianNB(), X, y, X, y, draws=50, prob=0.5)
    ax = plots.plot_estimates(comparison, "mean", feature="petal length (cm)")
    assert ax.get_legend_handles_labels()[1] == ["50% interval", "mle", "map", "mean"]
    segments = np.array(ax.collections[0].get_segments())
    wanted = comparison.parameters["mean"].sel(feature="petal length (cm)")
    np.testing.assert_allclose(segments[:, 0, 0], wanted.sel(estimate="lower"))


def test_densities_of_another_rule_are_its_plug_in(iris):
    X, y = iris
    one = X.iloc[:, [2]]
    clf = bp.GaussianNB().fit(one, y)
    theta = clf.posterior_.theta("mle")
    for k, line in enumerate(plots.plot_class_densities(clf, one, y, rule="mle", draws=20).lines):
        x, density = line.get_data()
        exact = norm(theta["mean"][k, 0], np.sqrt(theta["variance"][k, 0]))
        np.testing.assert_allclose(density, exact.pdf(x), rtol=1e-9, atol=1e-300)


def test_counts_have_probabilities_at_whole_numbers():
    X, y = [[0], [2], [5], [9]], ["a", "a", "b", "b"]
    ax = plots.plot_class_densities(bp.PoissonNB().fit(X, y), X, y, draws=20)
    assert ax.lines[0].get_xdata().tolist() == list(range(10))
    assert ax.get_ylabel() == "probability in the class"


class TestMaps:
    @pytest.fixture
    def digits(self):
        X, y = load("digits")
        return X[:300], y[:300]

    @pytest.mark.parametrize("rule", ["mle", "map", "mean"])
    def test_every_class_shows_its_pixels(self, digits, rule):
        clf = bp.BernoulliNB().fit(digits[0] > 7, digits[1])
        ax = plots.plot_parameter_maps(clf, "probability", rule=rule)
        theta = clf.posterior_.theta(rule)["probability"]
        for k, image in enumerate(ax.images):
            np.testing.assert_allclose(image.get_array().ravel(), theta[k])
        assert [text.get_text() for text in ax.texts] == [str(k) for k in range(10)]
        assert len({image.norm.vmax for image in ax.images}) == 1

    def test_the_variances_of_a_covariance(self, digits):
        clf = bp.QuadraticDiscriminantAnalysis().fit(*digits)
        ax = plots.plot_parameter_maps(clf, "covariance", (4, 16))
        shown = ax.images[3].get_array()
        assert shown.shape == (4, 16)
        np.testing.assert_allclose(shown.ravel(), np.diag(clf.posterior_.theta("mean")["covariance"][3]))

    def test_pictures_do_not_overlap(self, digits):
        ax = plots.plot_parameter_maps(bp.GaussianNB().fit(*digits), "mean", columns=4)
        boxes = [image.get_extent() for image in ax.images]
        for i, (left, right, bottom, top) in enumerate(boxes):
            for other_left, other_right, other_bottom, other_top in boxes[:i]:
                apart = left >= other_right or right <= other_left or top >= other_bottom or bottom <= other_top
                assert apart

    def test_what_is_no_picture_is_refused(self, iris, digits):
        clf = bp.GaussianNB().fit(*digits)
        with pytest.raises(ValueError, match="64 features are not 8 times 9; give the shape"):
            plots.plot_parameter_maps(clf, "mean", (8, 9))
        with pytest.raises(ValueError, match="3 features are no square"):
            plots.plot_parameter_maps(bp.GaussianNB().fit(iris[0].iloc[:, :3], iris[1]), "mean")
        with pytest.raises(
            ValueError, match=r"'class_weights' is not a parameter with .* there are 'mean', 'variance'"
        ):
            plots.plot_parameter_maps(clf, "class_weights")
        with pytest.raises(ValueError, match=r"rule must name an estimate, one of .* found 'predictive'"):
            plots.plot_parameter_maps(clf, "mean", rule="predictive")


@pytest.mark.parametrize("size", [(4, 3), (11, 3.5)])
def test_long_names_leave_room_for_the_picture(iris, size):
    X, y = iris
    X = X.rename(columns=lambda name: f"{name}, as measured by two people independently of each other")
    y = y.map(lambda name: f"the species that botanists call {name} and nothing else")
    clf = bp.GaussianNB().fit(X, y)
    pictures = [
        lambda ax: plots.plot_estimates(clf, "mean", draws=20, ax=ax),
        lambda ax: plots.plot_relevance(clf, ax=ax),
        lambda ax: plots.plot_decision_boundary(
            bp.GaussianNB().fit(X.iloc[:, :2], y), X.iloc[:, :2], y, resolution=12, draws=2, ax=ax
        ),
        lambda ax: plots.plot_class_densities(
            bp.GaussianNB().fit(X.iloc[:, [0]], y), X.iloc[:, [0]], y, draws=20, ax=ax
        ),
    ]
    for picture in pictures:
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        picture(ax)
        figure.canvas.draw()
        assert ax.get_position().width > 0.25
        assert ax.get_position().height > 0.4


def test_no_two_classes_look_alike():
    assert len({colour(k) for k in range(10)}) == len({marker(k) for k in range(10)}) == 10
    assert len({(colour(k), marker(k)) for k in range(40)}) == 40


def test_shortened_names_stay_apart():
    names = [f"a column whose name is much too long to be written here, number {k}" for k in range(12)]
    assert len(set(short_names(names))) == 12
    assert max(map(len, short_names(names))) <= 24
    unlike = [f"{k % 3} and then a long name that ends in {k}" for k in range(6)]
    assert len(set(short_names(unlike, 10))) == 6


def test_rows_that_are_all_but_certain_are_drawn_on_the_scale_of_log_odds():
    X, y = bp.datasets.load("iris")
    clf = bp.LinearDiscriminantAnalysis().fit(X, y)
    rows = X.iloc[[1, 51, 102]]
    ax = plots.plot_intervals(clf, rows, random_state=0)
    assert ax.get_xscale() == "logit"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["row 1", "row 51", "row 102"]
    drawn = np.concatenate([line.get_xdata() for line in ax.lines])
    assert ((drawn > 0) & (drawn < 1)).all()
    assert plots.plot_intervals(clf, X.iloc[[70, 77, 133]], random_state=0).get_xscale() == "linear"


def test_each_of_many_classes_has_a_line_of_its_own():
    X, y = bp.datasets.load("digits")
    one = X[["pixel_3_4"]]
    ax = plots.plot_class_densities(bp.GaussianNB().fit(one, y), one, y, draws=20)
    for k, line in enumerate(ax.lines):
        base = 9 - k
        assert (line.get_ydata() >= base).all()
        assert np.max(line.get_ydata()) == pytest.approx(base + 0.8)
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(k) for k in range(10)]


def test_panels_of_long_names_are_named_by_what_differs():
    columns = [f"the share of rows with a gap in block {name} of the table" for name in "abc"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)), columns=columns)
    ax = plots.plot_estimates(bp.GaussianNB().fit(X, np.arange(12) % 3), "mean")
    titles = [panel.get_title() for panel in ax.child_axes]
    assert len(set(titles)) == 3
    assert all(f" {name}" in title for name, title in zip("abc", titles, strict=True))


def test_a_pair_of_features_is_drawn_once_and_what_was_selected_is_the_title(iris):
    X, y = iris
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    ax = plots.plot_estimates(clf, "covariance", draws=20, **{"class": "setosa"})
    assert len(ax.child_axes) == 10  # of 16
    assert ax.get_title() == "covariance, setosa"
    kept = clf.estimates()["covariance"].sel({"class": "setosa"}).sel(estimate="mean").values[np.triu_indices(4)]
    drawn = np.concatenate([panel.lines[-1].get_xdata() for panel in ax.child_axes])
    np.testing.assert_allclose(drawn, kept)


def test_every_feature_has_an_axis_of_its_own_and_probabilities_share_one(iris):
    X, y = iris
    ax = plots.plot_estimates(bp.GaussianNB().fit(X, y), "mean", draws=20)
    assert [panel.get_title() for panel in ax.child_axes] == list(X)
    widths = [np.ptp(panel.get_xlim()) for panel in ax.child_axes]
    assert len(set(widths)) == 4
    ax = plots.plot_estimates(bp.BernoulliNB().fit(X > 3, y), "probability", draws=20)
    assert not ax.child_axes
    assert len(ax.get_yticklabels()) == 12


def test_more_panels_than_a_picture_holds_are_refused():
    wide = bp.GaussianNB().fit(np.random.default_rng(0).normal(size=(8, 65)), list("ab") * 4)
    with pytest.raises(
        ValueError, match=r"mean has 65 entries .* 64 panels at most; select some, as in feature=\['x0'\]"
    ):
        plots.plot_estimates(wide, "mean", draws=2)


def test_trees_have_a_line_for_every_edge_that_is_probable(iris):
    X, y = iris
    clf = bp.TreeNB().fit(X, y)
    ax = plots.plot_tree(clf)
    edges = clf.edge_probabilities().to_numpy()
    assert len(ax.lines) == (np.triu(edges) >= 0.01).sum()
    assert sorted(line.get_alpha() for line in ax.lines) == sorted(edges[np.triu(edges) >= 0.01])
    assert {text.get_text() for text in ax.texts} == set(X.columns)
    with pytest.raises(ValueError, match="share one tree"):
        plots.plot_tree(clf, clf.classes_[0])
    each = bp.TreeNB("per_class").fit(X, y)
    assert plots.plot_tree(each, clf.classes_[0]).get_title() == str(clf.classes_[0])
    with pytest.raises(ValueError, match="each class has a tree of its own"):
        plots.plot_tree(each)


def test_densities_are_drawn_where_no_row_has_a_value():
    clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.0]], list("aabb"))
    ax = plots.plot_class_densities(clf, [[np.nan]], ["b"], draws=20)
    assert len(ax.lines) == 2


@pytest.mark.parametrize(
    "family",
    [bp.LogNormal(), bp.LogNormal("full"), bp.GammaRate(2.0), bp.Exponential(), bp.ZeroInflated(bp.LogNormal())],
    ids=str,
)
def test_axes_of_positive_numbers_begin_where_the_cells_do(family):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    X = rng.lognormal(0.8 * (y == "b")[:, None], 1.0, (60, 2))
    ax = plots.plot_decision_boundary(bp.GenerativeClassifier(family).fit(X, y), X, y, resolution=40, draws=3)
    assert 0 > ax.get_xlim()[0] - X[:, 0].min() > -0.02 * np.ptp(X[:, 0])
    assert ax.get_xlim()[1] > X[:, 0].max()
    one = X[:, :1]
    clf = bp.GenerativeClassifier(family).fit(one, y)
    if isinstance(family, bp.ZeroInflated):
        with pytest.raises(ValueError, match="a probability of zero beside its density; plot_columns draws both"):
            plots.plot_class_densities(clf, one, y)
        return
    drawn = plots.plot_class_densities(clf, one, y, draws=20).lines[0].get_xdata()
    assert drawn[0] == one.min()
    assert drawn[-1] > one.max()


@pytest.mark.parametrize(
    "clf",
    [bp.PoissonNB(), bp.BinomialNB(8), bp.MultinomialNB(), bp.GenerativeClassifier(bp.ZeroInflated(bp.Poisson()))],
)
def test_regions_of_counts_are_those_of_whole_numbers(clf):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    X = np.minimum(rng.poisson(2.0 + 2 * (y == "b")[:, None], (60, 2)), 7)
    fitted = clf.fit(X, y)
    ax = plots.plot_decision_boundary(fitted, X, y, draws=3)
    [picture] = ax.images
    low, high = X.min(0), X.max(0)
    assert picture.get_extent() == [low[0] - 0.5, high[0] + 0.5, low[1] - 0.5, high[1] + 0.5]
    assert picture.get_array().shape[:2] == (high[1] - low[1] + 1, high[0] - low[0] + 1)
    coarse = plots.plot_decision_boundary(fitted, X, y, draws=0, resolution=3).images[0].get_array()
    assert coarse.shape[:2] == (3, 3)


def test_words_have_no_densities_of_their_own():
    X, y = [[3, 1], [2, 0], [0, 4], [1, 5]], ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match="column 'x0' has a probability given the total of its row only"):
        plots.plot_columns(bp.MultinomialNB().fit(X, y), X, y)


def test_a_single_entry_is_drawn(iris):
    clf = bp.GaussianNB().fit(*iris)
    for parameter, choice in (("mean", {"feature": "petal length (cm)"}), ("class_weights", {})):
        ax = plots.plot_estimates(clf, parameter, draws=20, **{"class": "setosa"}, **choice)
        assert len(ax.lines) == 3
        assert ax.get_title() == ", ".join(["setosa", *choice.values()])
