"""Every column by itself: the drawn lines are densities of the column."""

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.plots import plot_class_densities, plot_columns


def test_lines_are_densities_and_bars_are_frequencies():
    rng = np.random.default_rng(0)
    y = np.repeat(["u", "v"], 150)
    X = pd.DataFrame(
        {
            "length": rng.normal(size=300),
            "place": rng.choice(["a", "b"], 300),
            "paid": rng.lognormal(size=300).round(2) * rng.binomial(1, 0.5, 300),
        }
    )
    clf = bp.MixedNB(columns="evidence").fit(X, y)
    figure = plot_columns(clf, X, y)
    length, place, paid = figure.axes
    alone = bp.MixedNB({"gaussian": ("length", bp.Gaussian())}).fit(X[["length"]], y)
    for k, line in enumerate(length.get_lines()):
        expected = np.exp(alone.predict_joint_log_proba(pd.DataFrame({"length": line.get_xdata()}))[:, k]) * 2
        np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-9)
    heights = [bar.get_height() for bar in place.patches]
    np.testing.assert_allclose(heights[:2], [np.mean(X["place"][:150] == level) for level in "ab"], rtol=1e-12)
    zeros = [(np.sum(X["paid"][rows] == 0) + 1) / 152 for rows in (slice(None, 149), slice(150, None))]
    assert paid.get_title() == "zero: " + ", ".join(f"{p:.2f}" for p in zeros)


def test_a_long_tail_has_a_logarithmic_axis_on_which_densities_add_up_to_one():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"income": rng.lognormal(sigma=2, size=400)})
    clf = bp.MixedNB({"income": ("income", bp.LogNormal())}).fit(X, np.repeat(["u", "v"], 200))
    [panel] = plot_columns(clf, X, np.repeat(["u", "v"], 200)).axes
    assert panel.get_xscale() == "log"
    for line in panel.get_lines():
        total = np.trapezoid(line.get_ydata(), np.log10(line.get_xdata()))
        assert 0.98 < total < 1  # the rest is beyond the least and the largest value
    areas = [(bar.get_data().values * np.diff(np.log10(bar.get_data().edges))).sum() for bar in panel.patches]
    np.testing.assert_allclose(areas, 1, rtol=1e-12)


@pytest.mark.parametrize("picture", [plot_columns, plot_class_densities])
def test_the_steps_of_histograms_are_drawn_however_narrow(picture):
    """At every value of a row the line is at the density of the row, also in bins a thousandth of the range."""
    rng = np.random.default_rng(2)
    y = np.repeat(["u", "v"], 200)
    fares = np.concatenate([rng.choice([7.25, 7.9, 8.05], 300), rng.uniform(-200, 500, 100)])
    edges = [-201, 7.2, 7.3, 7.85, 7.95, 8.0, 8.1, 501]
    X = pd.DataFrame({"fare": rng.permutation(fares)})
    clf = bp.MixedNB({"steps": (["fare"], bp.Histogram(edges=edges))}).fit(X, y)
    if picture is plot_class_densities:
        clf = bp.GenerativeClassifier(bp.Histogram(edges=edges)).fit(X, y)
    drawn = picture(clf, X, y)
    [panel] = drawn.axes if picture is plot_columns else [drawn]
    lines = [line for line in panel.get_lines() if len(line.get_xdata()) > 100]
    expected = 2 * np.exp(clf.predict_joint_log_proba(X))
    for k, line in enumerate(lines):
        found = np.interp(X["fare"], line.get_xdata(), line.get_ydata())
        np.testing.assert_allclose(found, expected[:, k], rtol=1e-9)


@pytest.mark.parametrize("picture", [plot_columns, plot_class_densities])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_bars_of_rounded_numbers_are_shares_of_their_values(picture, step):
    rng = np.random.default_rng(3)
    ratings, y = rng.integers(1, 6, 400), np.repeat(["u", "v"], 200)
    X = pd.DataFrame({"rating": (step * ratings).round(1)})
    drawn = picture(bp.GaussianNB().fit(X, y), X, y)
    [panel] = drawn.axes if picture is plot_columns else [drawn]
    bars = [patch.get_data() for patch in panel.patches]
    shares = [bar.values[bar.values > 0] * np.diff(bar.edges)[bar.values > 0] for bar in bars]
    expected = [np.bincount(ratings[y == label])[1:] / 200 for label in "uv"]
    np.testing.assert_allclose(shares, expected, rtol=1e-9)
    if picture is plot_columns:
        np.testing.assert_allclose(bars[0].edges, step * (np.arange(6) + 0.5), rtol=1e-9)


@pytest.mark.parametrize("cells", [["a", "b"] * 10, [None] * 20], ids=["levels", "none"])
def test_a_column_without_any_value_has_the_lines_of_the_fit_and_no_bars(cells):
    X = pd.DataFrame({"size": np.arange(20.0), "place": pd.Categorical(cells)})
    clf = bp.MixedNB().fit(X, np.repeat(["u", "v"], 10))
    figure = plot_columns(clf, X.assign(place=pd.Categorical([None] * 20)), np.repeat(["u", "v"], 10))
    place = figure.axes[1]
    shown = [label.get_text() for label in place.get_xticklabels()]
    assert shown == [level for level in ("a", "b") if level in cells]
    assert not any(bar.get_height() for bar in place.patches)
