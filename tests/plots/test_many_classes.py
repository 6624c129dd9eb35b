"""Legends of many classes are whole and cover nothing, and levels keep what tells them apart."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesppl as bp


@pytest.fixture
def labels():
    return np.array([f"category number {k:02d} of a long list" for k in np.arange(600) % 30])


@pytest.mark.parametrize("draw", [bp.plots.plot_columns, bp.plots.plot_decision_boundary])
def test_a_legend_of_thirty_classes_is_whole(labels, draw):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(600, 2)), columns=["length", "width"])
    drawn = draw(bp.GaussianNB().fit(X, labels), X, labels)
    figure = drawn.get_figure(root=True)
    figure.canvas.draw()  # a layout that fails warns
    (legend,) = figure.legends or [drawn.get_legend()]
    box = legend.get_window_extent()
    whole = figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == 30
    plt.close(figure)


def test_levels_are_written_by_what_tells_them_apart():
    levels = [f"level with a long name {i}" for i in np.arange(120) % 6]
    y = ["a", "b"] * 60
    X = pd.DataFrame({"x": levels})
    figure = bp.plots.plot_columns(bp.MixedNB().fit(X, y), X, y)
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert [name[-1] for name in names] == list("012345")
    plt.close(figure)
