"""Pictures of weights of evidence show the weights."""

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.plots import plot_explanation, plot_nomogram


@pytest.fixture(scope="module")
def iris():
    X, y = bp.datasets.load("iris")
    return bp.GaussianNB().fit(X, y), X


def test_bars_add_up_to_the_log_odds(iris):
    clf, X = iris
    found = clf.explain(X.iloc[[70]])
    for most in (2, 15):
        ax = plot_explanation(found, label="virginica", most=most)
        total = sum(bar.get_width() for bar in ax.patches)
        assert total == pytest.approx(float(found["log_odds"].sel({"class": "virginica"})[0]), rel=1e-12)
    assert ax.get_yticklabels()[0].get_text() == "petal width (cm) = 1.8"


def test_classes_whose_names_begin_alike_are_kept_apart():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 5.0, 6.0, 7.0]})
    clf = bp.GaussianNB().fit(X, np.repeat(["patients with disease", "patients with disorder"], 3))
    for label, short in zip(clf.classes_, ("… disease", "… disorder"), strict=True):
        compared = f"for {short} against"
        assert compared in plot_explanation(clf, X[:1], label=label).get_xlabel()
        assert compared in plot_nomogram(clf, X, label).get_xlabel()
    named = plot_explanation(clf, X[:1], against=clf.classes_[0], label=clf.classes_[1]).get_xlabel()
    assert "… disorder against … disease" in named.replace("\n", " ")


@pytest.mark.parametrize("n_rows", [1, 3])
def test_infinite_weights_reach_to_the_edge(n_rows):
    X = pd.DataFrame({"cabin": list("AAAAABBB"), "age": [20.0, 31, 40, 27, 33, 45, 52, 38]})
    found = (
        bp.MixedNB(rule="mle").fit(X, np.repeat(["lost", "saved"], 4)).explain(X[5 : 5 + n_rows], against="lost")
    )
    ax = plot_explanation(found)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths[0] > widths[1] == pytest.approx(float(found["weight"].sel(feature="age").mean()), rel=1e-12)
    assert ax.get_xlim()[1] >= widths[0]
    assert ax.get_yticklabels()[0].get_text() == ("cabin = B: +∞" if n_rows == 1 else "cabin: +∞")


def test_infinite_weights_of_both_signs_have_no_average():
    X = pd.DataFrame({"a": [1, 1, 0, 0], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]})
    found = bp.BernoulliNB(rule="mle").fit(X, list("kkll")).explain(X)
    for label in (None, "k"):
        with pytest.raises(ValueError, match=r"weights are infinite both for and against 'k', .* there is no sum"):
            plot_explanation(found, label=label)


def test_infinite_weights_of_hidden_columns_are_named():
    X = pd.DataFrame(np.repeat([[0], [0], [1], [1]], 20, axis=1))
    ax = plot_explanation(bp.BernoulliNB(rule="mle").fit(X, list("kkll")).explain(X[:1]))
    assert ax.get_yticklabels()[15].get_text() == "5 other columns: +∞"


def test_intervals_are_those_of_the_draws_or_of_the_rows(iris):
    clf, X = iris
    found = clf.explain(X.iloc[[70]], draws=50, random_state=0)
    ax = plot_explanation(found, label="setosa")
    assert "line: 89% interval" in ax.get_xlabel().replace("\n", " ")
    (lines,) = ax.collections
    drawn = sorted((segment[0, 0], segment[1, 0]) for segment in lines.get_segments())
    one = found.sel({"class": "setosa"}).isel(row=0)
    np.testing.assert_allclose(drawn, sorted(zip(one["lower"].values, one["upper"].values, strict=True)))
    many = clf.explain(X.iloc[50:60])
    ax = plot_explanation(many, label="setosa")
    assert "line: 89% of the rows" in ax.get_xlabel().replace("\n", " ")
    (lines,) = ax.collections
    weights = many["weight"].sel({"class": "setosa"})
    expected = sorted(zip(*np.quantile(weights, [0.055, 0.945], axis=0), strict=True))
    np.testing.assert_allclose(sorted((s[0, 0], s[1, 0]) for s in lines.get_segments()), expected)


def test_the_nomogram_shows_the_weight_of_every_value(iris):
    clf, X = iris
    ax = plot_nomogram(clf, X, "virginica", "versicolor")
    _assert_read_off(ax, clf, X, "virginica", "versicolor")


def test_the_nomogram_of_one_row_marks_its_values():
    X = pd.DataFrame({"h": [0.11, 0.93, 2.07, 3.4], "w": [1.13, 0.52, 0.71, 0.2]}) + 0.0123456789
    clf = bp.GaussianNB().fit(X, list("aabb"))
    ax = plot_nomogram(clf, X.iloc[[1]], "b")
    marked = sorted(line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o")
    weights = clf.explain(X.iloc[[1]], "a")["weight"].sel({"class": "b"}).values.ravel()
    np.testing.assert_allclose(marked, sorted(weights), rtol=1e-6)


def test_a_nomogram_is_read_off_where_densities_have_steps_and_atoms():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    fares = np.where(rng.random(400) < 0.3, 0.0, rng.choice([7.25, 7.9, 8.05, 26.0, 512.0], 400) + y)
    X = pd.DataFrame(
        {"fare": fares, "age": np.where(rng.random(400) < 0.5, rng.gamma(2.0, 2.0 + y), 40 + 9.0 * y)}
    )
    clf = bp.MixedNB(
        {"steps": (["fare", "age"], bp.Histogram(edges={"fare": [7.5, 8.0, 30.0], "age": [3.0, 35.0]}))}
    )
    clf.fit(X, y)
    _assert_read_off(plot_nomogram(clf, X, 1), clf, X, 1, 0)


def _assert_read_off(ax, clf, X, label, against):
    """The weight of every value of the first column, read off its curve at the height of the value."""
    curve = next(line for line in ax.lines if len(line.get_xdata()) > 100)
    column = X.iloc[:, 0].to_numpy()
    height = 0.3 - 0.6 * (column - column.min()) / np.ptp(column)
    x, y = (np.asarray(values)[::-1] for values in (curve.get_xdata(), curve.get_ydata()))
    weights = clf.explain(X, against)["weight"].sel({"class": label}).values[:, 0]
    np.testing.assert_allclose(np.interp(height, y, x), weights, rtol=1e-6, atol=1e-9)


def test_a_nomogram_of_words_weighs_each_count_by_its_log_ratio():
    counts = [[3, 1], [0, 2], [5, 4], [1, 1]]
    clf = bp.MultinomialNB(bp.Dirichlet(2.0), rule="mean").fit(counts, ["a", "a", "b", "b"])
    ax = plot_nomogram(clf, counts, "a")
    ratio = np.log(5 / 10) - np.log(8 / 15)  # of "x0", whose largest count is 5
    drawn = np.concatenate([line.get_xdata() for line in ax.lines])
    assert np.isclose(drawn, 5 * ratio).any()


def test_a_nomogram_of_levels_names_them():
    X = pd.DataFrame({"colour": ["red", "red", "blue", "green"], "size": ["s", "l", "s", None]})
    ax = plot_nomogram(bp.CategoricalNB().fit(X, ["a", "a", "b", "b"]), X, "a")
    assert {"red", "blue", "green", "s", "l"} <= {text.get_text() for text in ax.texts}


def test_a_nomogram_of_labels_that_are_dates():
    X, y = [[0.0, 3.0], [1.0, 4.0], [4.0, 3.1], [5.5, 3.9]], np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    by_date, by_text = (bp.GaussianNB().fit(X, labels) for labels in (y[[0, 0, 1, 1]], list("aabb")))
    one, other = plot_nomogram(by_date, X, by_date.classes_.tolist()[1]), plot_nomogram(by_text, X, "b")
    for line, twin in zip(one.lines, other.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), twin.get_xydata())


def test_a_nomogram_names_levels_of_infinite_weight():
    X = pd.DataFrame({"colour": list("aabbabcabc"), "size": list("slslslslsl")})
    ax = plot_nomogram(bp.CategoricalNB().fit(X, list("uuuuuvvvvv")), X, "u", rule="mle")
    assert {"a", "b", "c: \u2212\u221e"} <= {text.get_text() for text in ax.texts}
    [at] = [text.xy[0] for text in ax.texts if text.get_text().startswith("c")]
    assert ax.get_xlim()[0] < at < min(text.xy[0] for text in ax.texts if "c" not in text.get_text())


def test_nomograms_need_independent_columns(iris):
    clf, X = iris
    with pytest.raises(ValueError, match="against must name"):
        plot_nomogram(clf, X, "virginica")
    lda = bp.LinearDiscriminantAnalysis().fit(X, bp.datasets.load("iris")[1])
    with pytest.raises(ValueError, match="depend on each other"):
        plot_nomogram(lda, X, "virginica", "setosa")
    labels = np.repeat(["a", "b"], 75)
    declared = bp.GaussianNB(classes=["a", "b", "c"], class_weights="empirical").fit(X, labels)
    with pytest.raises(ValueError, match="has the weight zero"):
        plot_nomogram(declared, X, "a", "c")


@pytest.mark.parametrize(
    ("dtype", "cells"), [("boolean", [True, False, None, True]), ("string", ["x", "y", None, "x"])]
)
def test_a_nomogram_leaves_out_missing_cells_of_any_kind(dtype, cells):
    X = pd.DataFrame({"a": pd.array(cells, dtype=dtype), "b": [1.0, 2.0, 3.0, 4.5]})
    ax = plot_nomogram(bp.MixedNB().fit(X, list("uvuv")), X, "u", "v")
    assert {str(cell) for cell in cells if cell is not None} <= {text.get_text() for text in ax.texts}
