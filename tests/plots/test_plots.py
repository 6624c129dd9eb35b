"""The picture shows what it says: checked on the drawn bars, not on pixels."""

import numpy as np
import pytest
import xarray as xr

import bayesppl as bp
from bayesppl.datasets import load
from bayesppl.plots import plot_learning_curve, plot_probabilities, plot_relevance


@pytest.fixture(scope="module")
def result():
    X, y = load("iris")
    return bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], draws=10)


def test_bars_are_the_probabilities(result):
    figure = plot_probabilities(result.probabilities, most_rows=7)
    assert [panel.get_title() for panel in figure.axes] == ["mle", "map", "mean", "predictive"]
    for panel in figure.axes:
        widths = np.array([bar.get_width() for bar in panel.patches]).reshape(3, 7).T
        np.testing.assert_allclose(widths.sum(1), 1.0, rtol=1e-12)
        rows = [int(label.get_text().split("row ")[1]) for label in figure.axes[0].get_yticklabels()]
        expected = result.probabilities.sel(rule=panel.get_title(), row=rows)
        np.testing.assert_allclose(widths, expected, rtol=1e-12)


def test_the_rows_shown_are_those_on_which_rules_differ_most(result):
    figure = plot_probabilities(result.probabilities, most_rows=7)
    rows = {int(label.get_text().split("row ")[1]) for label in figure.axes[0].get_yticklabels()}
    p = result.probabilities
    distance = 0.5 * abs(p - p.sel(rule="predictive")).sum("class").max("rule").values
    assert rows == set(np.argsort(-distance)[:7].tolist())


def test_wrong_decisions_are_crossed(result):
    figure = plot_probabilities(result.probabilities)
    wrong = result.probabilities["class"][result.probabilities.argmax("class")] != result.probabilities["label"]
    rows = [int(label.get_text().split("row ")[1]) for label in figure.axes[0].get_yticklabels()]
    for panel in figure.axes:
        crosses = panel.lines[0].get_ydata()
        assert [rows[int(at)] for at in crosses] == [
            row for row in rows if wrong.sel(rule=panel.get_title(), row=row)
        ]


def test_an_undefined_rule_says_so(result):
    p = result.probabilities.copy()
    p.loc[{"rule": "mle"}] = np.nan
    figure = plot_probabilities(p, undefined={"mle": "no maximum"})
    assert figure.axes[0].texts[0].get_text() == "undefined: no maximum"
    assert not figure.axes[0].patches


@pytest.mark.parametrize(("n_rows", "n_classes"), [(1, 2), (3, 12), (40, 3)])
@pytest.mark.parametrize("share_wrong", [0.0, pytest.param(0.5, marks=pytest.mark.slow)])
def test_panels_keep_their_room(n_rows, n_classes, share_wrong, tmp_path):
    """Also where a rule makes no mistake, classes outnumber the colours, or a single row is shown."""
    rng = np.random.default_rng(0)
    p = xr.DataArray(
        rng.dirichlet(np.ones(n_classes), (4, n_rows)),
        dims=("rule", "row", "class"),
        coords={"rule": ["mle", "map", "mean", "predictive"], "class": [f"class {k}" for k in range(n_classes)]},
    ).assign_coords(row=np.arange(n_rows))
    best = p.sel(rule="predictive").argmax("class").values
    labels = np.where(rng.random(n_rows) < share_wrong, (best + 1) % n_classes, best)
    figure = plot_probabilities(p.assign_coords(label=("row", p["class"].values[labels])), most_rows=40)
    figure.savefig(tmp_path / "picture.png", dpi=50)
    for panel in figure.axes:
        assert panel.get_position().width > 0.1
        assert panel.get_position().height > 0.3


def test_relevance_has_a_bar_per_feature():
    X, y = load("iris")
    found = bp.GaussianNB().fit(X, y).feature_relevance()
    axes = plot_relevance(found, most=3)
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, np.sort(found["log_bayes_factor"].values)[:-4:-1])
    axes.figure.canvas.draw()


def test_learning_curve_has_a_line_per_plug_in_rule():
    X, y = load("iris")
    curve = bp.learning_curve(bp.QuadraticDiscriminantAnalysis(), X, y, [9, 60], repeats=3)
    axes = plot_learning_curve(curve)
    assert axes.get_legend_handles_labels()[1] == ["mle (1 not finite)", "map", "mean"]
    first = axes.containers[0].lines[0]  # mle does not exist for nine rows
    assert first.get_xdata().tolist() == pytest.approx([60], rel=0.05)
    axes.figure.canvas.draw()


def test_outliers_of_a_learning_curve_do_not_flatten_the_others_and_undefined_rules_are_named():
    rules = ["mle", "map", "mean", "predictive"]
    difference = np.array([[np.nan, -0.1, -0.02, 0], [-900.0, -0.05, -0.01, 0], [-np.inf, -0.02, 0.01, 0]])
    curve = xr.Dataset(
        {
            "log_score_difference": (("size", "rule"), difference),
            "log_score_difference_se": (("size", "rule"), np.full((3, 4), 0.01)),
        },
        coords={"size": [10, 20, 40], "rule": rules},
    )
    ax = plot_learning_curve(curve)
    assert ax.get_yscale() == "symlog"
    assert -10_000 < ax.get_ylim()[0] < -900
    # a tenth of a nat is seen beside them
    shown = ax.transData.transform([[10, -0.1], [10, 0.0]])[:, 1]
    assert np.ptp(shown) > 20
    assert ax.get_legend_handles_labels()[1] == ["mle (2 not finite)", "map", "mean"]
    assert plot_learning_curve(curve.isel(size=[0])).get_yscale() == "linear"
