"""Names and labels that matplotlib cannot draw, or would take for formulas, are drawn as what they are."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

import bayesppl as bp
from bayesppl import plots
from bayesppl.data.names import short_names

BELL, LINES, FORMULA = "bell\x07\x1b[31m", "two\nlines\tand a tab", "$a $^ b$"
LABELS = ["alarm\x07", "low\nhigh", "5$^ to 9$"]
RNG = np.random.default_rng(4)
Y = np.repeat(LABELS, 12)
X = pd.DataFrame(RNG.gamma(2.0, size=(36, 3)) + np.arange(36)[:, None] // 12, columns=[BELL, LINES, FORMULA])
LEVELS = pd.DataFrame({BELL: RNG.choice(["a\x07", "b\nc", "$^", "d"], 36), LINES: RNG.choice(LABELS, 36)})


def fitted(n_columns=3, estimator=bp.GaussianNB, **options):
    return estimator(**options).fit(X.iloc[:, :n_columns], Y)


def compared():
    models = {f"naive {FORMULA}": bp.GaussianNB(), f"linear {BELL}": bp.LinearDiscriminantAnalysis()}
    return bp.compare_models(models, X, Y)


NOISY = {"label_noise": bp.LabelNoise(0.9, 5.0), "inference": "em"}
PICTURES = {
    "plot_annotator": lambda: plots.plot_annotator(fitted(**NOISY), "y"),
    "plot_completed": lambda: plots.plot_completed(fitted(**NOISY)),
    "plot_class_densities": lambda: plots.plot_class_densities(fitted(1), X.iloc[:, :1], Y, draws=10),
    "plot_columns": lambda: plots.plot_columns(fitted(), X, Y),
    "plot_columns of levels": lambda: plots.plot_columns(bp.CategoricalNB().fit(LEVELS, Y), LEVELS, Y),
    "plot_comparison": lambda: plots.plot_comparison(compared()),
    "plot_decision_boundary": lambda: plots.plot_decision_boundary(
        fitted(2), X.iloc[:, :2], Y, resolution=10, draws=3
    ),
    "plot_estimates": lambda: plots.plot_estimates(fitted(), "mean", draws=10),
    "plot_estimates of levels": lambda: plots.plot_estimates(
        bp.CategoricalNB().fit(LEVELS, Y), "probability", draws=10
    ),
    "plot_explanation": lambda: plots.plot_explanation(fitted(), X.iloc[[3]]),
    "plot_explanation of levels": lambda: plots.plot_explanation(
        bp.CategoricalNB().fit(LEVELS, Y), LEVELS.iloc[[3]]
    ),
    "plot_intervals": lambda: plots.plot_intervals(fitted(), X.iloc[::9], draws=20, random_state=0),
    "plot_nomogram": lambda: plots.plot_nomogram(fitted(), X, LABELS[0], LABELS[2]),
    "plot_nomogram of levels": lambda: plots.plot_nomogram(
        bp.CategoricalNB().fit(LEVELS, Y), LEVELS, LABELS[0], LABELS[1]
    ),
    "plot_parameter_maps": lambda: plots.plot_parameter_maps(fitted(), "mean", (1, 3)),
    "plot_prior_posterior": lambda: plots.plot_prior_posterior(
        fitted(), "mean", draws=100, feature=FORMULA, **{"class": LABELS[2]}
    ),
    "plot_probabilities": lambda: plots.plot_probabilities(
        bp.compare(bp.GaussianNB(), X[::2], Y[::2], X[1::2], Y[1::2], draws=10).probabilities
    ),
    "plot_relevance": lambda: plots.plot_relevance(fitted()),
    "plot_reliability": lambda: plots.plot_reliability(fitted(), X, Y),
    "plot_tree": lambda: plots.plot_tree(bp.TreeNB("per_class").fit(X, Y), LABELS[2]),
    "plot_weights": lambda: plots.plot_weights(fitted(calibration="weights")),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_every_picture_is_drawn_without_a_warning(picture):
    drawn = picture()
    figure = drawn.get_figure(root=True)
    try:
        figure.canvas.draw()  # warnings of missing glyphs are errors here, and so are formulas that are none
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert not any(character in text for text in texts for character in "\x07\x1b\t")
        assert not any("two\n" in text or "low\nhigh" in text or "b\nc" in text for text in texts)
    finally:
        plt.close("all")


def test_names_are_spelt_out():
    assert short_names([BELL, LINES]) == [r"bell\x07\x1b[31m", r"two\nlines\tand a tab"]
    ax = plots.plot_relevance(fitted())
    assert {label.get_text() for label in ax.get_yticklabels()} == {
        r"bell\x07\x1b[31m",
        r"two\nlines\tand a tab",
        r"\$a \$^ b\$",  # as matplotlib writes dollars that begin no formula
    }
    plt.close("all")
