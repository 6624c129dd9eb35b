"""CHRIS: decision boundaries of two Gaussians, exactly, as estimated, and with what is not known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesppl.analysis.parameters import PROB, tails
from bayesppl.estimators import GaussianNB, GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.reproduce import chris
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.studies.base import Study, Tables, held_out, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS = 4000
N_TEST = 20_000

#: Parameters and numbers of rows of the source's three experiments with one feature.
ONE_FEATURE: dict[str, tuple[Theta, tuple[int, int]]] = {
    "N(40, 10²), N(80, 10²)": (chris.EQUAL, (1000, 1000)),
    "N(40, 20²), N(80, 10²)": (chris.WIDE, (1000, 1000)),
    "0.8 N(40, 20²), 0.2 N(80, 10²)": (chris.WIDE_UNEQUAL, (2000, 500)),
}

#: Means and covariances of those with two.
TWO_FEATURES: dict[str, Theta] = {
    "equal variances": {
        "mean": np.array([[40.0, 40.0], [80.0, 80.0]]),
        "covariance": np.array([100 * np.eye(2), 100 * np.eye(2)]),
    },
    "other variances": {
        "mean": np.array([[40.0, 40.0], [100.0, 100.0]]),
        "covariance": np.array([400 * np.eye(2), 100 * np.eye(2)]),
    },
    "correlated": {
        "mean": np.array([[40.0, 40.0], [100.0, 100.0]]),
        "covariance": np.array([[[50.0, 70.0], [70.0, 200.0]], [[100.0, 1.0], [1.0, 100.0]]]),
    },
}
STRUCTURES: dict[str, Covariance] = {"full covariance": "full", "naive": "diag"}


def log_odds(theta: Theta) -> Array:
    """Coefficients a, b, c of log p(0, x) − log p(1, x) = ax² + bx + c: (..., 3)."""
    mean, variance = (theta[name][..., 0] for name in ("mean", "variance"))
    terms = np.stack(
        [
            -0.5 / variance,
            mean / variance,
            np.log(theta[CLASS_WEIGHTS]) - 0.5 * np.log(variance) - 0.5 * mean**2 / variance,
        ],
        axis=-1,
    )
    return np.asarray(terms[..., 0, :] - terms[..., 1, :])


def roots(coefficients: Array) -> Array:
    """Real roots of ax² + bx + c from left to right, nan where there are fewer: (..., 2).

    Written so that the root that stays finite as a goes to zero is exact there: the linear rule is the limit of
    the quadratic one.
    """
    a, b, c = np.moveaxis(np.asarray(coefficients, dtype=float), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = -0.5 * (b + np.copysign(np.sqrt(b**2 - 4 * a * c), b))
        pair = np.stack([half / a, c / half], axis=-1)
    return np.sort(np.where(np.isfinite(pair), pair, np.nan), axis=-1)


def one_feature(inputs: Inputs) -> pd.DataFrame:
    rng, family = np.random.default_rng(inputs.seed), Gaussian("diag")
    rows = []
    for name, (theta, sizes) in ONE_FEATURE.items():
        codes = np.repeat([0, 1], sizes)
        clf = GaussianNB().fit(family.simulate(theta, codes, rng), codes)
        drawn = {key: values[0] for key, values in clf.posterior_.draws(1, DRAWS, rng).items()}
        exact, estimated = roots(log_odds(theta)), roots(log_odds(clf.posterior_.theta("mle")))
        lower, upper = np.nanquantile(_between(roots(log_odds(drawn)), exact), tails(PROB), axis=0)
        rows += [
            {
                "classes": name,
                "rows": f"{sizes[0]} + {sizes[1]}",
                "exact": exact[i],
                "maximum likelihood": estimated[_nearest(estimated, exact[i])],
                "lower": lower[i],
                "upper": upper[i],
            }
            for i in np.flatnonzero(~np.isnan(exact))
        ]
    return pd.DataFrame(rows)


def _nearest(values: Array, to: float) -> int:
    return int(np.nanargmin(np.abs(values - to)))


def _between(drawn: Array, exact: Array) -> Array:
    """Roots of every draw in the order of the exact ones: where these are one, the nearest of the two."""
    if not np.isnan(exact).any():
        return drawn
    nearest = np.nanargmin(np.abs(drawn - np.nanmax(exact)), axis=1)
    chosen = drawn[np.arange(len(drawn)), nearest]
    return np.stack([chosen, chosen], axis=1)


def simulate(theta: Theta, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
    codes = np.repeat([1, 2], n)
    X = Gaussian("full").simulate(theta, codes - 1, rng)
    return pd.DataFrame(X, columns=["x1", "x2"]), codes


def two_features(inputs: Inputs) -> pd.DataFrame:
    rng = np.random.default_rng(inputs.seed)
    rows = []
    for name, theta in TWO_FEATURES.items():
        (X, y), (X_test, y_test) = simulate(theta, 1000, rng), simulate(theta, N_TEST // 2, rng)
        for title, structure in STRUCTURES.items():
            clf = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(X, y)
            evidence = float(clf.log_evidence()["total"])
            rows.append(
                {"classes": name, "model": title, **held_out(clf, X_test, y_test), "log evidence": evidence}
            )
    return pd.DataFrame(rows)


def tables(inputs: Inputs) -> Tables:
    return {
        "one feature: where the decision changes": one_feature(inputs),
        f"two features, 1,000 + 1,000 rows: scores on {N_TEST:,} others": two_features(inputs),
    }


def figure(inputs: Inputs) -> Figure:
    """Both models of the three pairs of classes, from the source's numbers of rows."""
    from bayesppl.plots import plot_decision_boundary

    rng = np.random.default_rng(inputs.seed)
    picture, lines = panels(len(TWO_FEATURES), 2, 9.5, 12)
    for line, (name, theta) in zip(lines, TWO_FEATURES.items(), strict=True):
        X, y = simulate(theta, 1000, rng)
        for ax, (title, structure) in zip(line, STRUCTURES.items(), strict=True):
            clf = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(X, y)
            plot_decision_boundary(clf, X, y, draws=25, random_state=inputs.seed, ax=ax)
            for points in ax.lines:
                points.set(markersize=2.5, markeredgewidth=0.2)
            ax.set_title(f"{name}, {title}")
    return picture


STUDY = Study(
    "boundaries",
    "Where do two Gaussians meet (CHRIS)? The roots in closed form, their estimates from random rows, and "
    "credible intervals.",
    tables,
    figure,
)
