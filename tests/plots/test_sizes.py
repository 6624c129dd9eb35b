"""Every picture keeps its room, and its texts apart and inside the figure: three sizes, two data sets."""

import inspect
import itertools
from functools import cache

import pytest
from matplotlib import pyplot as plt
from support.pairs import pairwise

import bayesppl as bp
from bayesppl import plots
from bayesppl.datasets import load

SIZES = {"small": (4.0, 3.0), "usual": (6.4, 4.8), "wide": (12.0, 4.0)}
DATA = ("iris", "wine")


@cache
def rows(name):
    X, y = load(name)
    return X[::2], y[::2]


@cache
def fitted(name, estimator="GaussianNB", columns=None, **options):
    X, y = rows(name)
    return getattr(bp, estimator)(**options).fit(X if columns is None else X.iloc[:, :columns], y)


@cache
def result(name, function):
    X, y = rows(name)
    models = {
        "naive": bp.GaussianNB(),
        "linear, with a name that is far too long": bp.LinearDiscriminantAnalysis(),
    }
    return {
        "compare_models": lambda: bp.compare_models(models, X, y),
        "learning_curve": lambda: bp.learning_curve(bp.GaussianNB(), X, y, [12, 40], repeats=2),
        "compare": lambda: bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], draws=20),
    }[function]()


def draw(picture, name, ax):
    X, y = rows(name)
    clf = fitted(name)
    last, other = clf.classes_[-1], clf.classes_[0]
    noisy = {"label_noise": bp.LabelNoise(0.9, 5.0), "inference": "em"}
    return {
        "plot_annotator": lambda: plots.plot_annotator(fitted(name, **noisy), "y", ax=ax),
        "plot_completed": lambda: plots.plot_completed(fitted(name, **noisy), ax=ax),
        "plot_class_densities": lambda: plots.plot_class_densities(
            fitted(name, columns=1), X.iloc[:, :1], y, draws=20, ax=ax
        ),
        "plot_comparison": lambda: plots.plot_comparison(result(name, "compare_models"), ax=ax),
        "plot_decision_boundary": lambda: plots.plot_decision_boundary(
            fitted(name, columns=2), X.iloc[:, :2], y, resolution=20, draws=4, ax=ax
        ),
        "plot_estimates": lambda: plots.plot_estimates(clf, "mean", draws=20, feature=list(X)[:4], ax=ax),
        "plot_explanation": lambda: plots.plot_explanation(clf, X.iloc[[40]], ax=ax),
        "plot_intervals": lambda: plots.plot_intervals(clf, X.iloc[::15], draws=40, random_state=0, ax=ax),
        "plot_learning_curve": lambda: plots.plot_learning_curve(result(name, "learning_curve"), ax=ax),
        "plot_nomogram": lambda: plots.plot_nomogram(clf, X, last, other, ax=ax),
        "plot_parameter_maps": lambda: plots.plot_parameter_maps(clf, "mean", (1, X.shape[1]), ax=ax),
        "plot_prior_posterior": lambda: plots.plot_prior_posterior(
            clf, "mean", draws=200, feature=X.columns[0], ax=ax, **{"class": last}
        ),
        "plot_relevance": lambda: plots.plot_relevance(clf, ax=ax),
        "plot_reliability": lambda: plots.plot_reliability(clf, X, y, ax=ax),
        "plot_stack": lambda: plots.plot_stack(fitted(name, "AutoClassifier"), ax=ax),
        "plot_tree": lambda: plots.plot_tree(fitted(name, "TreeNB"), ax=ax),
        "plot_weights": lambda: plots.plot_weights(fitted(name, calibration="weights"), ax=ax),
    }[picture]()


#: Those that make a figure of their own, whatever its size.
FIGURES = {
    "plot_columns": lambda name: plots.plot_columns(fitted(name), *rows(name)),
    "plot_probabilities": lambda name: plots.plot_probabilities(result(name, "compare").probabilities),
}
PICTURES = sorted(set(plots.__all__) - set(FIGURES))


def check(figure):
    figure.canvas.draw()
    page = figure.bbox
    for ax in figure.axes:
        for panel in ax.child_axes or [ax]:
            box = panel.get_window_extent()
            assert panel.get_label() == "<colorbar>" or not panel.axison or (box.width > 40 and box.height > 12)
            numbers, names = (shown(axis) if panel.axison else [] for axis in (panel.xaxis, panel.yaxis))
            places = sorted((label.get_window_extent() for label in numbers), key=lambda place: place.x0)
            if not any(label.get_rotation() for label in numbers):
                assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(places)), panel
            for text in (*names, panel.title, panel.xaxis.label, panel.yaxis.label):
                if text.get_text():
                    place = text.get_window_extent()
                    assert place.x0 >= page.x0 - 1, text
                    assert place.y0 >= page.y0 - 1, text
                    assert place.y1 <= page.y1 + 1, text


def shown(axis):
    """Labels of the ticks in view."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    return [tick.label1 for tick in ticks if tick.label1.get_text() and tick.label1.get_visible()]


@pytest.mark.parametrize(
    ("picture", "size", "name"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case[1] == "usual"))
        for case in pairwise(PICTURES, list(SIZES), DATA)
    ],
)
def test_texts_are_apart_and_inside(picture, size, name):
    figure, ax = plt.subplots(figsize=SIZES[size], layout="constrained")
    assert draw(picture, name, ax) is ax
    check(figure)


@pytest.mark.parametrize(
    ("picture", "name"),
    [
        pytest.param(picture, name, marks=[pytest.mark.slow] * ((i + j) % 2))
        for i, picture in enumerate(PICTURES)
        for j, name in enumerate(DATA)
    ],
)
def test_the_size_that_a_picture_gives_itself(picture, name):
    check(draw(picture, name, None).get_figure(root=True))


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("picture", FIGURES)
def test_figures_of_several_panels(picture, name):
    check(FIGURES[picture](name))


def test_every_picture_is_here():
    functions = {name for name, found in inspect.getmembers(plots, inspect.isfunction) if name.startswith("plot_")}
    assert functions == {*PICTURES, *FIGURES}
