"""The pictures of the sources, drawn anew: from exact posteriors, with what is not known about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesppl.arrays import Array, Theta
from bayesppl.datasets import load
from bayesppl.estimators import GaussianNB, GenerativeClassifier, QuadraticDiscriminantAnalysis
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.reproduce import chris, dake
from bayesppl.reproduce.known import boundaries, log_joint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Big and low spenders simulated.
ENERGY_ROWS = (100, 200)


def energy(seed: int) -> Figure:
    """DAKE 1 to 2: usage of big and low spenders, alone and with the temperature difference."""
    from bayesppl.plots import plot_class_densities, plot_decision_boundary

    rng = np.random.default_rng(seed)
    codes = np.repeat([dake.BIG, dake.LOW], ENERGY_ROWS)
    labels = np.array(["big", "low"])[codes]
    usage = pd.DataFrame(Gaussian("diag").simulate(dake.USAGE, codes, rng), columns=["usage (kWh)"])
    both = pd.DataFrame(
        Gaussian("diag").simulate(dake.AS_STATED, codes, rng),
        columns=["usage (100 kWh)", "temperature difference (°F)"],
    )
    figure, (left, right) = _panels(2)
    plot_class_densities(GaussianNB().fit(usage, labels), usage, labels, random_state=seed, ax=left)
    left.set_title("usage after ten days")
    classifier = QuadraticDiscriminantAnalysis().fit(both, labels)
    plot_decision_boundary(classifier, both, labels, random_state=seed, ax=right)
    right.set_title("with the temperature difference")
    return figure


def two_gaussians(seed: int) -> Figure:
    """CHRIS: class weights times densities, and the exact boundaries."""
    from bayesppl.plots.style import colour, tidy

    figure, axes = _panels(3)
    grid = np.linspace(chris.LOW, chris.HIGH, 1001)
    for ax, name, theta in zip(
        axes, ("C1", "C2", "C3"), (chris.EQUAL, chris.WIDE, chris.WIDE_UNEQUAL), strict=True
    ):
        joint = np.exp(log_joint(Gaussian("diag"), theta, grid[:, None]))
        for k in range(2):
            ax.fill_between(grid, joint[:, k], color=colour(3 * k), alpha=0.5, label=f"class {k + 1}")
        for x in boundaries(Gaussian("diag"), theta, chris.LOW, chris.HIGH):
            ax.axvline(x, color="black", linestyle="--", linewidth=1)
            ax.annotate(f" {x:.2f}", (x, 1.12 * joint.max()), va="top", fontsize=9)
        ax.set(
            title=f"{name}: {_describe(theta)}", xlabel="x", ylim=(0, 1.12 * joint.max()), xlim=(grid[0], grid[-1])
        )
        tidy(ax)
    axes[0].set_ylabel("p(y, x)")
    axes[0].legend(frameon=False)
    return figure


def iris(seed: int) -> Figure:
    """NOTES3B and CH20: linear, quadratic and naive discriminants of the sepals of iris."""
    from bayesppl.plots import plot_decision_boundary

    X, y = load("iris")
    sepals = X.iloc[:, :2]
    figure, axes = _panels(3)
    named: dict[str, Covariance] = {"linear": "tied", "quadratic": "full", "naive": "diag"}
    for ax, (title, structure) in zip(axes, named.items(), strict=True):
        classifier = GenerativeClassifier(Gaussian(structure)).fit(sepals, y)
        plot_decision_boundary(classifier, sepals, y, draws=25, random_state=seed, ax=ax)
        ax.set_title(title)
    return figure


FIGURES: dict[str, Callable[[int], Figure]] = {
    "energy.png": energy,
    "two_gaussians.png": two_gaussians,
    "iris.png": iris,
}


def write(folder: Path, seed: int) -> list[Path]:
    """Draw every figure into ``folder``."""
    paths = []
    for name, draw in FIGURES.items():
        paths.append(folder / name)
        draw(seed).savefig(paths[-1], dpi=120, metadata={"Software": None})
    return paths


def _panels(n: int) -> tuple[Figure, Array]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * n, 4.0), layout="constrained")
    return figure, figure.subplots(1, n)


def _describe(theta: Theta) -> str:
    sd = np.sqrt(theta["variance"][:, 0])
    parts = [
        f"{weight:g} N({mean:g}, {spread:g}²)"
        for weight, mean, spread in zip(theta["class_weights"], theta["mean"][:, 0], sd, strict=True)
    ]
    return " + ".join(parts)
