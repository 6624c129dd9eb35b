"""The pictures of the sources, drawn anew: from exact posteriors, with what is not known about them.

Every picture of the five texts that shows data, densities, boundaries or tables has its counterpart here. Left out
are the drawings: the schemes of a conditional distribution (CH20 20.1) and of generative and discriminative models
(DAKE 6), for which there is nothing to compute. Where a source keeps its data to itself (NOTES3B, CH20), iris
stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesppl.estimators.discriminant_analysis import QuadraticDiscriminantAnalysis
from bayesppl.estimators.naive_bayes import GaussianNB
from bayesppl.families import Binomial, Gaussian, Multinomial
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.reproduce import dake, known, short_texts
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import densities, log_joint, normal
from bayesppl.reproduce.studies import boundaries
from bayesppl.reproduce.studies.discriminants import ellipses, iris_figure, persons_figure
from bayesppl.reproduce.studies.study import drawn_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Big and low spenders simulated.
ENERGY_ROWS = (100, 200)
QUERY_KWH = 250.0


@drawn_in(1, 2, 9.2, 4.0)
def usage(axes: Array, inputs: Inputs) -> None:
    """Draw DAKE 1 to 2.1: usage of simulated customers, the densities fitted, and the likelihood of 250 kWh."""
    from bayesppl.plots import plot_class_densities
    from bayesppl.plots.style import colour, tidy

    customers, labels = _customers(dake.USAGE, ["usage after ten days (kWh)"], inputs)
    (left, right) = axes
    plot_class_densities(GaussianNB().fit(customers, labels), customers, labels, random_state=inputs.seed, ax=left)
    left.set_title("100 big and 200 low spenders")
    grid = np.linspace(-300, 5000, 2000)[:, None]
    exact, at = (densities(Gaussian("diag"), dake.USAGE, X) for X in (grid, np.array([[QUERY_KWH]])))
    for k, name in enumerate(("big", "low")):
        right.fill_between(grid[:, 0], exact[:, k], color=colour(k), alpha=0.4, linewidth=0)
        label = f"{name}: {at[0, k]:.3g} at {QUERY_KWH:g} kWh"
        right.plot(QUERY_KWH, at[0, k], "o", color=colour(k), markeredgecolor="black", label=label)
    right.set(
        xlabel="usage after ten days (kWh)", ylabel="density", title="likelihood of one customer", ylim=(0, None)
    )
    right.legend(frameon=False)
    tidy(right)


@drawn_in(1, 3, 13.8, 4.0)
def usage_and_temperature(axes: Array, inputs: Inputs) -> None:
    """Draw DAKE 2.2 to 2.3: both features, with the densities as the text states them and as its code has them."""
    from bayesppl.plots import plot_decision_boundary

    names = ["usage (100 kWh)", "temperature difference (°F)"]
    x, y = np.linspace(-3, 50, 160), np.linspace(-20, 20, 160)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    titles = ("as stated", "as coded (E1)")
    for ax, title, theta in zip(axes, titles, (dake.AS_STATED, dake.AS_CODED), strict=False):
        _contours(ax, x, y, log_joint(Gaussian("diag"), theta, grid))
        ax.plot(*dake.POINT[0], "x", color="black", markersize=7)
        ax.set(title=f"densities, {title}", xlabel=names[0], ylabel=names[1])
    customers, labels = _customers(dake.AS_STATED, names, inputs)
    classifier = QuadraticDiscriminantAnalysis().fit(customers, labels)
    plot_decision_boundary(classifier, customers, labels, random_state=inputs.seed, ax=axes[2])
    axes[2].set_title("learned from 100 + 200 customers")


@drawn_in(1, 4, 18.4, 4.0)
def mass_functions(axes: Array, inputs: Inputs) -> None:
    """Draw DAKE 2.4, 3, 3.2: a logarithm keeps the maximum; a die; how often "loan" occurs; "loan" with "cash"."""
    from bayesppl.plots.style import colour, marker, tidy

    (logarithm, die, loan, words) = axes
    x, points, count, times = np.arange(-4.9, 4.9, 0.1), np.arange(1, 7), np.arange(20), np.arange(11)
    mass = densities(Binomial(20), dake.LOAN, count[:, None]).T
    both = densities(Multinomial(), dake.LOAN_AND_CASH, np.column_stack([times, 10 - times]))[:, 0]
    drawn = (
        (logarithm, x, 25 - x**2, "-", 0, "25 − x²"),
        (logarithm, x, np.log(25 - x**2), "--", 1, "log(25 − x²)"),
        (die, points, np.full(6, 1 / 6), "o", 0, None),
        (loan, count, mass[0], marker(0), 0, "spam, 0.08 a word"),
        (loan, count, mass[1], marker(1), 1, "not spam, 0.001 a word"),
        (words, times, both, "o", 0, None),
    )
    for ax, at, values, style, k, label in drawn:
        ax.plot(at, values, style, color=colour(k), label=label)
    logarithm.set(title="one maximum", xlabel="x")
    die.vlines(points, 0, 1 / 6, color=colour(0))
    die.set(title="a die", xlabel="points", ylabel="probability", ylim=(0, 0.5), xticks=points)
    loan.set(title="“loan” in 20 words", xlabel="times", xticks=range(0, 20, 5))
    words.vlines(times, 0, both, color=colour(0))
    words.set(
        title="“loan” 0.3, “cash” 0.7, ten words", xlabel="times “loan” (the others are “cash”)", ylim=(0, None)
    )
    for ax in (logarithm, loan):
        ax.legend(frameon=False)
    for ax in (logarithm, die, loan, words):
        tidy(ax)


@drawn_in(1, 3, 13.8, 4.0)
def two_gaussians(axes: Array, inputs: Inputs) -> None:
    """Draw CHRIS, one feature: class weights times densities, and the exact boundaries."""
    named = {"C1": boundaries.EQUAL, "C2": boundaries.WIDE, "C3": boundaries.WIDE_UNEQUAL}
    for ax, (name, theta) in zip(axes, named.items(), strict=True):
        _joint(ax, theta, np.linspace(boundaries.LOW, boundaries.HIGH, 1001))
        parameters = zip(theta[CLASS_WEIGHTS], theta["mean"][:, 0], np.sqrt(theta["variance"][:, 0]), strict=True)
        densities_of = [f"{weight:g} N({mean:g}, {sd:g}²)" for weight, mean, sd in parameters]
        ax.set_title(f"{name}: {' + '.join(densities_of)}")
    axes[0].set_ylabel("p(y, x)")
    axes[0].legend(frameon=False)


@drawn_in(1, 3, 13.8, 3.6)
def bins(axes: Array, inputs: Inputs) -> None:
    """Draw CH20 20.2: probability of every bin of width and length of the sepals, by species."""
    table = short_texts.table().estimates(["mle"])["probability"].sel(estimate="mle")
    for ax, species in zip(axes, table["class"].values, strict=True):
        cells = [
            [float(table.sel({"class": species, "cell": f"{w}, {n}"})) for n in short_texts.LEVELS]
            for w in short_texts.LEVELS
        ]
        ax.imshow(cells, cmap="cividis", vmin=0, vmax=0.75)
        for i, line in enumerate(cells):
            for j, value in enumerate(line):
                ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.4 else "white")
        ax.set_xticks(range(3), short_texts.LEVELS)
        ax.set_yticks(range(3), short_texts.LEVELS)
        ax.set(title=species, xlabel="sepal length", ylabel="sepal width")


@drawn_in(1, 2, 9.2, 4.0)
def distances(axes: Array, inputs: Inputs) -> None:
    """Draw CH20 20.3.1 and 20.3.2: a point nearer to one mean and, in standard deviations, to the other."""
    from bayesppl.plots.style import colour, marker, tidy

    (one, two) = axes
    theta = normal([[0.0], [6.0]], [[4.0], [0.5]], (0.5, 0.5))
    grid, point = np.linspace(-7, 10, 801), 3.6
    density = densities(Gaussian("diag"), theta, grid[:, None])
    for k in range(2):
        mean, sd = theta["mean"][k, 0], np.sqrt(theta["variance"][k, 0])
        label = f"N({mean:g}, {sd:.2g}²): {abs(point - mean) / sd:.1f} sd away"
        one.fill_between(grid, density[:, k], color=colour(k), alpha=0.45, linewidth=0, label=label)
    one.plot(point, 0, "o", color="black", clip_on=False)
    one.set(title="one feature", xlabel="x", ylabel="density", ylim=(0, 0.8))
    one.legend(frameon=False, loc="upper left")
    tidy(one)
    means = np.array([[0.0, 0.0], [4.0, 1.0]])
    covariances = np.array([[[4.0, 2.4], [2.4, 2.0]], [[0.5, -0.2], [-0.2, 0.6]]])
    where = np.array([2.4, 1.3])
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        ellipses(two, mean, covariance, k, (1, 2, 3))
        away = np.sqrt((where - mean) @ np.linalg.solve(covariance, where - mean))
        two.plot(*mean, marker(k), color=colour(k), label=f"class {k + 1}: {away:.1f} sd away")
    two.plot(*where, "o", color="black")
    two.set(
        title="two features: ellipses of 1, 2, 3 sd", xlabel="x₁", ylabel="x₂", aspect="equal", ylim=(None, 6.2)
    )
    two.legend(frameon=False, loc="upper left")
    tidy(two)


@drawn_in(1, 4, 14.4, 4.0)
def linear_rule(axes: Array, inputs: Inputs) -> None:
    """Draw CH20 20.3.1: one feature and a common variance; the boundary moves with the class weights."""
    for ax, weight in zip(axes, (0.5, 0.7, 0.9, 0.2), strict=True):
        theta = {**short_texts.LINEAR, CLASS_WEIGHTS: np.array([weight, 1 - weight])}
        _joint(ax, theta, np.linspace(-5, 10, 1001))
        ax.set_title(f"weights {weight:g} and {1 - weight:g}")
    axes[0].set_ylabel("p(y, x)")


# The texts that a picture belongs to, and how it is drawn
FIGURES: dict[str, tuple[str, Callable[[Inputs], Figure]]] = {
    "dake_usage.png": ("DAKE", usage),
    "dake_usage_and_temperature.png": ("DAKE", usage_and_temperature),
    "dake_mass_functions.png": ("DAKE", mass_functions),
    "chris_one_feature.png": ("CHRIS", two_gaussians),
    "chris_two_features.png": ("CHRIS", boundaries.figure),
    "notes3b_ch20_discriminants.png": ("NOTES3B CH20", iris_figure),
    "ch20_bins.png": ("CH20", bins),
    "ch20_distances.png": ("CH20", distances),
    "ch20_linear_rule.png": ("CH20", linear_rule),
    "ch20_height_weight.png": ("CH20", persons_figure),
}


def write(folder: Path, inputs: Inputs, texts: Sequence[str]) -> list[Path]:
    """Draw the figures of these texts into ``folder``."""
    paths = []
    for name, (of_texts, draw) in FIGURES.items():
        if set(of_texts.split()) & set(texts):
            paths.append(folder / name)
            draw(inputs).savefig(paths[-1], dpi=120, metadata={"Software": None})
    return paths


def _customers(theta: Theta, columns: list[str], inputs: Inputs) -> tuple[pd.DataFrame, Array]:
    codes = np.repeat([dake.BIG, dake.LOW], ENERGY_ROWS)
    X = Gaussian("diag").simulate(theta, codes, np.random.default_rng(inputs.seed))
    return pd.DataFrame(X, columns=columns), np.array(["big", "low"])[codes]


def _joint(ax: Axes, theta: Theta, grid: Array) -> None:
    """Draw class weights times densities of two classes of one feature, and where they cross."""
    from bayesppl.plots.style import colour, tidy

    joint = np.exp(log_joint(Gaussian("diag"), theta, grid[:, None]))
    for k in range(2):
        ax.fill_between(grid, joint[:, k], color=colour(k), alpha=0.5, linewidth=0, label=f"class {k + 1}")
    for x in known.boundaries(Gaussian("diag"), theta, grid[0], grid[-1]):
        ax.axvline(x, color="black", linestyle="--", linewidth=1)
        ax.annotate(f" {x:.2f}", (x, 1.12 * joint.max()), va="top", fontsize=9)
    ax.set(xlabel="x", ylim=(0, 1.12 * joint.max()), xlim=(grid[0], grid[-1]))
    tidy(ax)


def _contours(ax: Axes, x: Array, y: Array, log_density: Array) -> None:
    """Draw contours of two log densities, at distances of one to five standard deviations."""
    from bayesppl.plots.style import colour

    for k, name in enumerate(("big", "low")):
        values = log_density[:, k].reshape(len(y), len(x))
        levels = values.max() - 0.5 * np.arange(5, 0, -1) ** 2
        ax.contour(x, y, values, levels=levels, colors=[colour(k)], linestyles="solid", linewidths=1)
        ax.plot([], [], color=colour(k), label=f"{name}, 1 to 5 sd")
    ax.legend(framealpha=1, edgecolor="none", loc="lower right")
