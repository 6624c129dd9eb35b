"""Texts, marks and sizes of pictures: what a reader sees, not only that something is drawn."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from scipy.stats import nbinom
from test_sizes import check

import bayesppl as bp
from bayesppl import plots
from bayesppl.datasets import load

IRIS, SPECIES = load("iris")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def names_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_legend_of_a_comparison_is_written_on_one_line():
    ax = plots.plot_comparison(
        {"naive": bp.GaussianNB(), "linear": bp.LinearDiscriminantAnalysis()}, IRIS, SPECIES
    )
    assert legend_of(ax) == ["log evidence", "leave-one-out (elpd)"]


def test_the_probabilities_are_a_figure_that_show_shows():
    figure = plots.plot_probabilities(
        bp.GaussianNB(), IRIS[::2], SPECIES[::2], IRIS[1::2], SPECIES[1::2], draws=20
    )
    assert plt.get_fignums() == [figure.number]
    check(figure)


ROWS = IRIS.iloc[[0, 20, 60, 70, 100, 134]].set_axis(list("uvwxyz"))


@pytest.fixture(scope="module")
def interval():
    return bp.GaussianNB().fit(IRIS, SPECIES).predict_proba_interval(ROWS, random_state=0)


@pytest.mark.parametrize("logit", [True, False])
def test_marks_lie_in_their_intervals_on_the_scale_of_log_odds(logit, interval):
    assert (interval["mean"] > interval["upper"]).any()  # of draws that are all but zero, and a few that are not
    ax = plots.plot_intervals(interval, logit=logit)
    centre = "median" if logit else "mean"
    assert legend_of(ax)[-1] == f"{centre} of draws"
    ranges = {
        round(float(y), 6): (x0, x1) for lines in ax.collections for (x0, y), (x1, _) in lines.get_segments()
    }
    marks = [(x, ranges[round(float(y), 6)]) for line in ax.lines for x, y in line.get_xydata()]
    assert len(marks) == 18
    assert all(low <= x <= high for x, (low, high) in marks) == logit
    check(ax.get_figure(root=True))


def test_the_median_halves_the_draws(interval):
    one = bp.GaussianNB().fit(IRIS, SPECIES).predict_proba_interval(ROWS, prob=1e-9, random_state=0)
    np.testing.assert_allclose(interval["median"], (one["lower"] + one["upper"]) / 2, rtol=1e-6, atol=1e-12)


def test_open_marks_are_probabilities_under_the_class_weights_of_the_intervals():
    clf, weights = bp.GaussianNB().fit(IRIS, SPECIES), [0.9, 0.05, 0.05]
    ax = plots.plot_intervals(clf, ROWS, logit=False, class_weights=weights, draws=20, random_state=0)
    open_marks = [line.get_xdata() for line in ax.lines if line.get_markerfacecolor() == "none"][:3]
    np.testing.assert_allclose(np.transpose(open_marks), clf.predict_proba(ROWS, class_weights=weights))


def test_rows_are_named_by_the_index_of_their_frame():
    for clf in (bp.GaussianNB(), bp.AutoClassifier({"one": bp.GaussianNB()})):
        found = clf.fit(IRIS, SPECIES).predict_proba_interval(ROWS, random_state=0)
        assert found["row"].values.tolist() == list("uvwxyz")
        assert clf.uncertainty(ROWS, random_state=0)["row"].values.tolist() == list("uvwxyz")
        ax = plots.plot_intervals(found)
        assert names_of(ax) == [f"row {name}" for name in "uvwxyz"]
        check(ax.get_figure(root=True))
    direct = plots.plot_intervals(bp.GaussianNB().fit(IRIS, SPECIES), ROWS, random_state=0)
    assert names_of(direct) == [f"row {name}" for name in "uvwxyz"]
    several = ROWS.set_axis(pd.MultiIndex.from_product([["a", "b"], [1, 2, 3]]))
    found = bp.GaussianNB().fit(IRIS, SPECIES).predict_proba_interval(several, random_state=0)
    assert found["row"].values.tolist() == list(range(6))


LONG = "length of the left fin in winter"


def test_names_of_columns_are_whole_beside_their_cells():
    table = pd.DataFrame({LONG: [0.0, 1.0, 4.0, 5.5], "width": [3.0, 4.0, 3.1, 3.9]})
    ax = plots.plot_explanation(bp.GaussianNB().fit(table, list("aabb")), table.iloc[[1]])
    assert names_of(ax) == [f"{LONG} = 1", "width = 4", "class prior"]
    check(ax.get_figure(root=True))


def test_names_of_models_are_whole_beside_their_temperatures():
    models = {"naive Bayes with flat variances": bp.GaussianNB(), "quadratic": bp.QuadraticDiscriminantAnalysis()}
    ax = plots.plot_stack(bp.AutoClassifier(models).fit(IRIS, SPECIES))
    assert {name.partition(", T = ")[0] for name in names_of(ax)} <= set(models)
    check(ax.get_figure(root=True))


@pytest.mark.slow
def test_a_nomogram_of_thirty_columns_fits_a_page():
    X, y = load("breast_cancer")
    ax = plots.plot_nomogram(bp.GaussianNB().fit(X, y), X, "malignant")
    assert ax.get_figure(root=True).get_size_inches()[1] < 12.5
    assert len(names_of(ax)) == 31
    check(ax.get_figure(root=True))


LONG_CLASSES = np.repeat(
    ["a long name of a class of animals in the lake", "another class, whose name is as long"], 10
)


@pytest.mark.parametrize("n_rows", [1, 7])
def test_long_names_of_classes_leave_room_for_the_rest_of_the_label(n_rows):
    X = np.random.default_rng(0).normal(size=(20, 2)) + np.arange(20)[:, None] / 10
    clf = bp.GaussianNB().fit(X, LONG_CLASSES)
    axes = [
        plots.plot_explanation(clf, X[:n_rows]),
        plots.plot_explanation(clf, X[:n_rows], LONG_CLASSES[0], label=LONG_CLASSES[-1]),
        plots.plot_nomogram(clf, X, *dict.fromkeys(LONG_CLASSES)),
    ]
    for ax, end in zip(axes, ["in nats" if n_rows == 1 else "of the rows"] * 2 + ["sum of weights"], strict=True):
        ax.figure.draw_without_rendering()
        assert ax.get_xlabel().replace("\n", " ").endswith(end)
        assert ax.figure.bbox.containsx(ax.xaxis.label.get_window_extent().x0)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e9])
def test_ticks_of_large_numbers_are_short_and_several(scale):
    X = 1e12 + scale * (np.random.default_rng(0).normal(size=(20, 2)) + np.arange(20)[:, None] / 10)
    clf = bp.GaussianNB().fit(X, LONG_CLASSES)
    ax = plots.plot_decision_boundary(clf, X, resolution=20, draws=0)
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    shown = [tick for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert len(shown) >= 3
    assert max(len(tick.label1.get_text()) for tick in shown) <= 8


def test_long_labels_of_reliability_stay_inside_the_picture():
    X = np.random.default_rng(0).normal(size=(20, 2)) + np.arange(20)[:, None] / 10
    clf = bp.GaussianNB().fit(X, LONG_CLASSES)
    ax = plots.plot_reliability(clf, X, LONG_CLASSES, label="calibrated by all rows $a$ " * 5)
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert legend.x1 <= ax.figure.bbox.x1
    assert ax.get_window_extent().width > 0.5 * ax.figure.bbox.width


def test_columns_in_bins_show_a_mark_and_a_bar_for_every_bin():
    clf = bp.TreeNB().fit(IRIS, SPECIES)
    figure = plots.plot_columns(clf, IRIS, SPECIES)
    for ax in figure.axes:
        assert len(ax.get_xticks()) == 5
        assert [sum(line.get_ydata()) for line in ax.lines] == pytest.approx([1.0] * 3)
        assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(3.0)
    one = IRIS.iloc[:, :1]
    with pytest.raises(
        ValueError, match="holds levels or bins, which have probabilities and no density; plot_columns"
    ):
        plots.plot_class_densities(bp.TreeNB().fit(one, SPECIES), one, SPECIES)
    two = IRIS.iloc[:, 2:]
    ax = plots.plot_decision_boundary(bp.TreeNB().fit(two, SPECIES), two, SPECIES)
    assert ax.get_xlim()[1] > two.iloc[:, 0].max()  # laid beyond the cells, as of measurements


def test_codes_of_levels_are_no_counts():
    X, y = [[10], [200], [5000], [10]] * 5, [0, 1, 1, 0] * 5
    with pytest.raises(ValueError, match="holds levels or bins"):
        plots.plot_class_densities(bp.CategoricalNB().fit(X, y), X, y)
    texts, own = pd.DataFrame({"k": list("pq") * 20, "l": list("rrss") * 10}), list("ab") * 20
    with pytest.raises(ValueError, match="column 'k' holds levels or bins"):
        plots.plot_class_densities(bp.CategoricalNB().fit(texts[["k"]], own), texts[["k"]], own)
    with pytest.raises(ValueError, match="along numbers, and column 'k' holds levels; plot_columns draws"):
        plots.plot_decision_boundary(bp.CategoricalNB().fit(texts, own), texts)


def test_what_is_known_has_no_density_to_draw():
    clf = bp.GaussianNB(class_weights="uniform").fit([[0.0], [1.0], [3.0], [5.0]], ["u", "u", "v", "v"])
    with pytest.raises(ValueError, match=r"'class_weights' is known to be 0\.5, so that there is no density"):
        plots.plot_prior_posterior(clf, "class_weights", **{"class": "u"})


def test_probabilities_beside_densities_of_models_written_in_pymc():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = np.maximum(rng.normal(y, 1.0), 0.0)

    def read(declare):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.5, 0.5], observed=y)
            declare(pm.Normal("mu", 0, 1, shape=2)[label])
        posterior = xr.Dataset({"mu": (("chain", "draw", "k"), rng.normal(size=(1, 50, 2)))})
        return bp.from_pymc(model, draws=xr.DataTree.from_dict({"posterior": posterior}))

    hurdle = read(lambda mu: pm.HurdleLogNormal("x", 0.6, mu, 1.0, observed=X))
    (ax,) = plots.plot_columns(hurdle, X[:, None], y).axes
    assert ax.get_title() == "zero: 0.40, 0.40"
    with pytest.raises(ValueError, match="a probability of zero beside its density; plot_columns"):
        plots.plot_class_densities(hurdle, X[:, None], y)
    censored = read(lambda mu: pm.Censored("x", pm.Normal.dist(mu, 1.0), lower=0.0, upper=None, observed=X))
    for draw in (plots.plot_columns, plots.plot_class_densities):
        with pytest.raises(ValueError, match="'x' is censored, and has probabilities at its limits"):
            draw(censored, X[:, None], y)


def test_counts_are_drawn_for_one_exposure():
    rng = np.random.default_rng(0)
    y, hours = rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    X = pd.DataFrame({"calls": rng.poisson(hours * (1 + 2 * y)), "hours": hours})
    clf = bp.PoissonNB(exposure="hours").fit(X, y)
    for draw in (lambda of, y: plots.plot_columns(clf, of, y), lambda of, y: plots.plot_nomogram(clf, of, 1)):
        with pytest.raises(
            ValueError, match=r"column 'hours' is no feature.*one value, as in X\[X\['hours'\] == \d"
        ):
            draw(X, y)
    same = hours == 2
    (ax,) = plots.plot_columns(clf, X[same], y[same]).axes
    drawn = {
        int(name.get_text()): mark
        for name, mark in zip(ax.get_xticklabels(), ax.lines[1].get_ydata(), strict=True)
    }
    post = clf.posterior_.belief.parts["features"]
    expected = nbinom(post.shape[1, 0], post.rate[1, 0] / (post.rate[1, 0] + 2)).pmf(list(drawn))
    np.testing.assert_allclose(list(drawn.values()), expected)


def test_very_many_counts_are_drawn_in_bins():
    counts = np.concatenate([np.arange(100_000, 200_000, 2_500), np.arange(400_000, 440_000, 1_000)])
    y = np.repeat(["few", "many"], 40)
    clf = bp.GenerativeClassifier(bp.families.NegativeBinomial(2.0)).fit(counts[:, None], y)
    ax = plots.plot_class_densities(clf, counts[:, None], y, draws=20)
    for line, stairs in zip(ax.lines, ax.patches, strict=True):
        assert len(line.get_xdata()) <= 300
        heights, edges, _ = stairs.get_data()
        assert (heights * np.diff(edges)).sum() == pytest.approx(1)


def test_cells_that_a_family_skips_have_no_density():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 40)
    X = pd.DataFrame({"dose": np.exp(rng.normal(size=80) + (y == "b"))})
    clf = bp.MixedNB(columns="evidence").fit(X, y)
    line = plots.plot_class_densities(clf, X, y, draws=20).lines[0]
    assert line.get_xdata().min() >= 0
    assert 0.8 < np.trapezoid(line.get_ydata(), line.get_xdata()) < 1.01
    with pytest.warns(bp.errors.ImpossibleCellWarning):
        (ax,) = plots.plot_columns(clf, pd.concat([X, X[:1] - 50]), np.append(y, "a")).axes
    assert min(line.get_xdata().min() for line in ax.lines) > 0

    towns = pd.DataFrame({"town": list("uv") * 40})
    clf = bp.CategoricalNB().fit(towns, y)
    with pytest.warns(bp.errors.UnseenLevelWarning):
        (ax,) = plots.plot_columns(
            clf, pd.concat([towns, pd.DataFrame({"town": ["new"]})]), np.append(y, "a")
        ).axes
    shown = dict(zip((text.get_text() for text in ax.get_xticklabels()), ax.lines[0].get_ydata(), strict=True))
    assert np.isnan(shown.pop("new"))
    assert 0 < sum(shown.values()) <= 1


def test_weights_near_one_have_more_than_one_number_on_their_axis():
    rng, y = np.random.default_rng(1), np.repeat([0, 1], 100)
    clf = bp.GaussianNB(calibration="weights").fit(rng.normal(size=(200, 3)) + y[:, None], y)
    assert [text.get_text() for text in plots.plot_weights(clf).get_xticklabels()] == ["0.5", "1", "2"]


def test_the_axis_is_named_within_a_figure_of_long_names():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], 100)
    names = [f"mean concentration of analyte {j} in serum (mg/dl)" for j in range(3)]
    table = pd.DataFrame(rng.normal(size=(200, 3)) + y[:, None], columns=names)
    labels = np.array(["non-keratinising squamous cell carcinoma", "acantholytic squamous cell carcinoma"])[y]
    clf = bp.GaussianNB().fit(table, labels)
    ax = plots.plot_explanation(clf.explain(table[:1], against=labels[-1]))
    ax.figure.canvas.draw()
    assert ax.xaxis.label.get_window_extent().x1 <= ax.figure.bbox.width


def test_counts_of_a_wide_range_are_drawn_on_an_axis_of_numbers():
    """Of 84 different counts the twelve most frequent ones stood side by side."""
    rng, y = np.random.default_rng(0), np.arange(300) % 2
    table = pd.DataFrame({"words": rng.poisson(100 + 40 * y), "few": rng.poisson(1 + y).clip(max=5)})
    clf = bp.PoissonNB().fit(table, y)
    rate = clf.posterior_.belief.parts["features"]
    wide, narrow = plots.plot_columns(clf, table, y).axes
    for patch, line, k in zip(wide.patches, wide.lines, range(2), strict=True):
        values, edges = patch.get_data().values, patch.get_data().edges
        middle = (edges[1:] + edges[:-1]) / 2
        assert np.isclose(values @ np.diff(edges), 1)  # all rows
        assert np.isclose(np.average(middle, weights=values), table["words"][y == k].mean(), rtol=0.02)
        predictive = nbinom(rate.shape[k, 0], rate.rate[k, 0] / (rate.rate[k, 0] + 1))
        averages = np.diff(predictive.cdf(edges)) / np.diff(edges)
        np.testing.assert_allclose(line.get_ydata(), averages, rtol=1e-6)
    assert [text.get_text() for text in narrow.get_xticklabels()] == ["0", "1", "2", "3", "4", "5"]
    unknown = pd.DataFrame(np.full((300, 2), np.nan), columns=table.columns)
    assert plots.plot_columns(clf, unknown, y).axes[0].get_xticks().size == 0
