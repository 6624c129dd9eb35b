"""What proper priors do on the digits, beside the source's smoothing.

The priors are tuned on the training half only, over a small grid, in two ways: by the evidence p(X, y), and by the
exact leave-one-out log score of the labels. For the evidence to exist the pixels must not be whole numbers: a
pixel that is always 0 has density one point, and the evidence grows without limit as its prior variance shrinks.
So every pixel is spread evenly over the width of its grey level ("dequantised"; Uria, Murray & Larochelle 2013,
section 5).
"""

from __future__ import annotations

import warnings
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.errors import ImpossibleRowWarning
from bayesppl.estimators import GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Array
from bayesppl.model.normalisation import log_probabilities
from bayesppl.reproduce.claims import Inputs
from bayesppl.reproduce.known import WEAK_PRIORS
from bayesppl.reproduce.mnist import Halves, Structure, halves, smoothed
from bayesppl.reproduce.studies.base import Study, Tables, panels, scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Prior rows, and prior variance of a pixel.
STRENGTHS = (10.0, 1000.0, 5000.0)
VARIANCES = (0.003, 0.03, 0.1)

Row = dict[str, Any]


class Tuned(NamedTuple):
    """A fit, and what it was judged by."""

    classifier: GenerativeClassifier
    evidence: float
    log_score: float
    strength: float
    variance: float


def tables(inputs: Inputs) -> Tables:
    """Test accuracy and log score of smoothing, the default prior, and tuned priors; naive and full covariance."""
    data = dequantised(halves(inputs), inputs.seed)
    structures: tuple[Structure, ...] = ("diag", "full")
    rows = [row for structure in structures for row in rows_of(structure, data)]
    return {"the source's protocol, one repetition": pd.DataFrame(rows)}


def figure(inputs: Inputs) -> Figure:
    """Means and variances of the pixels of every digit."""
    from bayesppl.plots import plot_parameter_maps

    data = halves(inputs)
    clf = GenerativeClassifier(Gaussian("diag")).fit(data.X_train, data.y_train)
    picture, axes = panels(1, 2, 11, 3.4)
    for ax, parameter in zip(axes, ("mean", "variance"), strict=True):
        plot_parameter_maps(clf, parameter, (28, 28), ax=ax)
    return picture


def dequantised(data: Halves, seed: int) -> Halves:
    """Pixels spread over the width of their grey level, from 0 to 1."""
    rng = np.random.default_rng(seed)
    train, test = ((X * 255 + rng.random(X.shape)) / 256 for X in (data.X_train, data.X_test))
    return data._replace(X_train=train, X_test=test)


def prior(structure: Structure, location: Array, strength: float, variance: float) -> Any:
    """``strength`` rows' worth of belief that every pixel has this variance, uncorrelated; means worth one row."""
    if structure == "diag":
        return NormalInverseGamma(location, 1.0, strength / 2 + 1, strength / 2 * variance)
    return NormalInverseWishart(location, 1.0, len(location) + 1 + strength, strength * variance)


def tune(structure: Structure, data: Halves) -> list[Tuned]:
    """Fits to the training half over the grid of priors, with what each is judged by."""
    location = data.X_train.mean(0)
    fits = []
    for strength, variance in counted(
        [*product(STRENGTHS, VARIANCES)], f"{structure} covariance, tuning the prior"
    ):
        family = Gaussian(structure, prior(structure, location, strength, variance))
        classifier = GenerativeClassifier(family).fit(data.X_train, data.y_train)
        evidence = float(classifier.log_evidence()["total"])
        fits.append(Tuned(classifier, evidence, classifier.loo().log_score[0], strength, variance))
    return fits


def rows_of(structure: Structure, data: Halves) -> list[Row]:
    """Scores of every prior for one structure of the covariance."""
    default = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(data.X_train, data.y_train)
    theta = smoothed(structure, default)
    log_joint = default.posterior_.model.log_joint(theta)(data.X_test)
    rows = [
        {
            "prior": "smoothing, λ = 0.01",
            "rule": "plug-in",
            **scores(log_probabilities(log_joint, theta["class_weights"]), data.y_test),
        },
        *_by_rule("default", default, data),
    ]
    fits = tune(structure, data)
    for how, best in (
        ("evidence", max(fits, key=lambda fit: fit.evidence)),
        ("leave-one-out", max(fits, key=lambda fit: fit.log_score)),
    ):
        name = f"tuned by {how}: {best.strength:g} rows of variance {best.variance:g}"
        rows += _by_rule(name, best.classifier, data)
    return [{"covariance": structure, **row} for row in rows]


def _by_rule(name: str, classifier: GenerativeClassifier, data: Halves) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImpossibleRowWarning)
        return [
            {"prior": name, "rule": rule, **scores(classifier.predict_log_proba(data.X_test, rule), data.y_test)}
            for rule in ("map", "predictive")
        ]


STUDY = Study(
    "digits",
    "What do proper priors do on the MNIST digits (DAKE), beside the source's smoothing? Takes minutes and two "
    "gigabytes.",
    tables,
    figure,
    needs="mnist",
)
