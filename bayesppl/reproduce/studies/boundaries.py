"""CHRIS: decision boundaries of two Gaussians: printed, exact, estimated, and with what is not known of them.

The source is the blog post "Gaussian Bayesian classifiers".
"""

from __future__ import annotations

from functools import partial
from timeit import repeat

import numpy as np
import pandas as pd

from bayesppl.analysis.parameter_tables import PROB, tails
from bayesppl.estimators.discriminant_analysis import QuadraticDiscriminantAnalysis
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.estimators.naive_bayes import GaussianNB
from bayesppl.families import Gaussian
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.reproduce import known
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs, Printed
from bayesppl.reproduce.known import WEAK_PRIORS, normal
from bayesppl.reproduce.studies.study import Study, Tables, drawn_in, held_out

#: The source's estimates from its 2 × 1000 random rows.
FITTED = normal(
    [[39.81007946653686], [79.64703348340272]], [[9.829502308649815**2], [9.922409640186507**2]], (0.5, 0.5)
)
EQUAL = normal([[40], [80]], [[10**2], [10**2]], (0.5, 0.5))
WIDE = normal([[40], [80]], [[20**2], [10**2]], (0.5, 0.5))
WIDE_UNEQUAL = normal([[40], [80]], [[20**2], [10**2]], (0.8, 0.2))
LOW, HIGH = -50, 200
REPETITIONS = 100


def positions(theta: Theta, grid: Array) -> Array:
    """Find where the predicted class changes along a list of values: the place *in the list*, as in the source."""
    predicted = known.log_joint(Gaussian("diag"), theta, grid[:, None]).argmax(1)
    return np.flatnonzero(predicted[:-1] != predicted[1:])


def crossings(theta: Theta, inputs: Inputs) -> list[float]:
    return known.boundaries(Gaussian("diag"), theta, LOW, HIGH)


def sampled_positions(theta: Theta, rows: tuple[int, int], inputs: Inputs) -> Array:
    """Find both boundaries in repetitions of the source's experiment, by place in the list: (repetitions, 2)."""
    rng = np.random.default_rng(inputs.seed)
    family, codes = Gaussian("diag"), np.repeat([0, 1], rows)
    grid = np.arange(LOW, HIGH)
    found = []
    for _ in range(REPETITIONS):
        X = family.simulate(theta, codes, rng)
        fitted = GaussianNB(class_weights="empirical").fit(X, codes).posterior_.theta("mle")
        found.append(positions(fitted, grid))
    return np.asarray(found)


def typical_positions(theta: Theta, rows: tuple[int, int], inputs: Inputs) -> Array:
    return np.median(sampled_positions(theta, rows, inputs), axis=0)


def analytic_roots(weight: float) -> list[float]:
    """Solve for the boundaries of N(40, 20²) with ``weight`` and N(80, 10²): 800 times the log odds is zero."""
    free = 24000 - 800 * np.log(2) + 800 * np.log(weight / (1 - weight))
    half_width = np.sqrt(560**2 - 12 * free)
    return [(560 - half_width) / 6, (560 + half_width) / 6]


def time_ratio(inputs: Inputs) -> list[float]:
    """Divide the seconds of full covariance by those of naive, for 10,000 rows of two features; best of five."""
    rng = np.random.default_rng(inputs.seed)
    y = np.repeat([1, 2], 1000)
    X = rng.normal(np.where(y == 1, 40, 80)[:, None], 10, (2000, 2))
    rows = rng.uniform(0, 140, (10_000, 2))
    seconds = []
    for classifier in (QuadraticDiscriminantAnalysis(rule="mle"), GaussianNB(rule="mle")):
        classifier.fit(X, y)
        seconds.append(min(repeat(partial(classifier.predict, rows), number=1, repeat=5)))
    return [seconds[0] / seconds[1]]


def _positions_reason(exact: str) -> str:
    return f"printed are positions in a list that starts at x = −50: x = {exact} in the source's random rows"


CLAIMS = (
    Claim(
        "C1",
        "CHRIS univariate",
        "last whole number given to class 1, for the source's estimates of N(40, 10²) and N(80, 10²)",
        Printed(("59",)),
        lambda inputs: [float(p) for p in positions(FITTED, np.arange(0, 150))],
        note="the boundary of the true densities is 60 (next row)",
    ),
    Claim(
        "C1x",
        "CHRIS univariate",
        "boundary of N(40, 10²) and N(80, 10²), equal weights: halfway between the means",
        Formula("(μ₁ + μ₂)/2", lambda: [60.0]),
        partial(crossings, EQUAL),
    ),
    Claim(
        "C2",
        "CHRIS univariate",
        "boundaries of N(40, 20²) and N(80, 10²), equal weights",
        # spread of the second boundary over random rows: 0.34 and 2.6, see the guarding test
        Printed(("113", "175"), spread=(0.34, 2.6)),
        partial(crossings, WIDE),
        Erratum(
            "E7",
            _positions_reason("63 and 125"),
            Formula("roots of 3x² − 560x + 24000 − 800 log 2 = 0", lambda: analytic_roots(0.5)),
            partial(typical_positions, WIDE, (1000, 1000)),
        ),
    ),
    Claim(
        "C3",
        "CHRIS univariate",
        "boundaries of N(40, 20²) and N(80, 10²), weights 0.8 and 0.2",
        Printed(("120", "163"), spread=(0.34, 2.8)),
        partial(crossings, WIDE_UNEQUAL),
        Erratum(
            "E7",
            _positions_reason("70 and 113"),
            Formula("roots of 3x² − 560x + 24000 + 800 log 2 = 0", lambda: analytic_roots(0.8)),
            partial(typical_positions, WIDE_UNEQUAL, (2000, 500)),
        ),
    ),
    Claim(
        "C4",
        "CHRIS multivariate",
        "predicting with full covariance takes this many times as long as with the naive assumption",
        Printed(("13.9",)),
        time_ratio,
        note="0.000654 s against 0.000047 s a row in the source's loops; both are vectorised here",
        is_timing=True,
    ),
)


DRAWS = 4000
N_TEST = 20_000

#: Parameters and numbers of rows of the source's three experiments with one feature.
ONE_FEATURE: dict[str, tuple[Theta, tuple[int, int]]] = {
    "N(40, 10²), N(80, 10²)": (EQUAL, (1000, 1000)),
    "N(40, 20²), N(80, 10²)": (WIDE, (1000, 1000)),
    "0.8 N(40, 20²), 0.2 N(80, 10²)": (WIDE_UNEQUAL, (2000, 500)),
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
    """Compute the coefficients a, b, c of log p(0, x) − log p(1, x) = ax² + bx + c: (..., 3)."""
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
    """Find real roots of ax² + bx + c from left to right, nan where there are fewer: (..., 2).

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
                "maximum likelihood": estimated[int(np.nanargmin(np.abs(estimated - exact[i])))],
                "lower": lower[i],
                "upper": upper[i],
            }
            for i in np.flatnonzero(~np.isnan(exact))
        ]
    return pd.DataFrame(rows)


def _between(drawn: Array, exact: Array) -> Array:
    """Put roots of every draw into the order of the exact ones: where these are one, the nearest of the two."""
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


@drawn_in(len(TWO_FEATURES), 2, 9.5, 12)
def figure(lines: Array, inputs: Inputs) -> None:
    """Draw both models of the three pairs of classes, from the source's numbers of rows."""
    from bayesppl.plots import plot_decision_boundary

    rng = np.random.default_rng(inputs.seed)
    for line, (name, theta) in zip(lines, TWO_FEATURES.items(), strict=True):
        X, y = simulate(theta, 1000, rng)
        for ax, (title, structure) in zip(line, STRUCTURES.items(), strict=True):
            clf = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(X, y)
            plot_decision_boundary(clf, X, y, draws=25, random_state=inputs.seed, ax=ax)
            for points in ax.lines:
                points.set(markersize=2.5, markeredgewidth=0.2)
            ax.set_title(f"{name}, {title}")


STUDY = Study(
    "boundaries",
    "Where do two Gaussians meet (CHRIS)? The roots in closed form, their estimates from random rows, and "
    "credible intervals.",
    tables,
    figure,
)
