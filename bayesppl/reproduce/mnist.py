"""Naive and full-covariance Gaussians on the MNIST digits, by the source's protocol and with proper priors.

The protocol of DAKE 4.5 and 5.1: 42,000 digits in random order, one half to learn and one to test, pixels divided
by 255, and λ = 0.01 added to every variance. The source's 42,000 digits are one random part of the 70,000; here
every seed draws its own.
"""

from __future__ import annotations

import gzip
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from bayesppl.estimators import GenerativeClassifier
from bayesppl.families import Gaussian
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.reproduce.claims import Claim, Inputs, Printed, Sampled
from bayesppl.reproduce.known import WEAK_PRIORS

N_DIGITS = 42_000
SMOOTHING = 0.01
Structure = Literal["diag", "full"]


class Halves(NamedTuple):
    """Rows to learn from and rows to test on."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array


@cache
def load(source: Path | str | None) -> tuple[Array, Array]:
    """Pixels (n_digits, 784), 0 to 255, and labels (n_digits,).

    Parameters
    ----------
    source : Path or "openml"
        Folder of the four original files (``train-images-idx3-ubyte``, …, gzipped or not); a CSV file with the
        label first and a line of names, gzipped or not; or ``"openml"`` to download them.

    Raises
    ------
    ValueError
        If there are no such files, or not 784 pixels.
    """
    if source is None:
        raise ValueError("the MNIST digits are needed: name a folder, a CSV file, or 'openml'")
    if source == "openml":
        from sklearn.datasets import fetch_openml

        pixels, labels = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    elif Path(source).is_dir():
        pixels, labels = read_idx_folder(Path(source))
    else:
        import pandas as pd

        table = pd.read_csv(source).to_numpy()
        pixels, labels = table[:, 1:], table[:, 0]
    if pixels.shape[1] != 28 * 28 or len(pixels) < N_DIGITS:
        raise ValueError(
            f"{source} holds {len(pixels)} digits of {pixels.shape[1]} pixels; the MNIST digits have 784 pixels, "
            f"and the protocol needs {N_DIGITS} of them"
        )
    return _whole("pixel", pixels, 255).astype(np.uint8), _whole("label", labels, 9).astype(int)


def _whole(name: str, values: Array, largest: int) -> Array:
    """Refuse all but whole numbers from 0 to ``largest``."""
    try:
        numbers = values if values.dtype.kind in "iu" else values.astype(float)
    except ValueError as error:
        raise ValueError(f"a {name} must be a whole number from 0 to {largest}: {error}") from None
    wrong = ~((numbers >= 0) & (numbers <= largest) & (numbers == np.floor(numbers)))
    if wrong.any():
        raise ValueError(
            f"a {name} must be a whole number from 0 to {largest}, found a {name} of {numbers[wrong].ravel()[0]:g}"
        )
    return numbers


def fingerprint(source: Path | str) -> dict[str, Any]:
    """Shape, type and hash of the digits, by which two reports are known to be about the same data."""
    pixels, labels = load(source)
    digest = sha256(np.ascontiguousarray(pixels))
    digest.update(np.ascontiguousarray(labels, dtype="<i8"))
    return {"shape": list(pixels.shape), "dtype": str(pixels.dtype), "sha256": digest.hexdigest()}


def halves(inputs: Inputs, repetition: int = 0) -> Halves:
    """The source's protocol, with the seed of this repetition."""
    pixels, labels = load(inputs.mnist)
    rng = np.random.default_rng((inputs.seed, repetition))
    train, test = np.split(rng.permutation(len(labels))[:N_DIGITS], 2)
    return Halves(pixels[train] / 255, labels[train], pixels[test] / 255, labels[test])


def smoothed(structure: Structure, classifier: GenerativeClassifier) -> Theta:
    """The source's estimates: λ added to each variance, the full covariance divided by n − 1 (see E2)."""
    statistics = classifier.posterior_.statistics
    moments, counts = statistics.parts["features"], statistics.parts[CLASS_WEIGHTS].counts
    if structure == "diag":
        spread = {"variance": moments.scatter / moments.count + SMOOTHING}
    else:
        unbiased = moments.scatter / (moments.count - 1)[:, None, None]
        spread = {"covariance": unbiased + SMOOTHING * np.eye(moments.mean.shape[1])}
    return {"mean": moments.mean, **spread, CLASS_WEIGHTS: counts / counts.sum()}


def accuracies(structure: Structure, data: Halves) -> list[float]:
    """Accuracy in training and in test."""
    classifier = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure]), class_weights="empirical").fit(
        data.X_train, data.y_train
    )
    model, theta = classifier.posterior_.model, smoothed(structure, classifier)
    parts = ((data.X_train, data.y_train), (data.X_test, data.y_test))
    return [float((model.log_joint(theta)(X).argmax(1) == y).mean()) for X, y in parts]


def average_accuracies(structure: Structure, repetitions: int, inputs: Inputs) -> Array:
    return np.mean([accuracies(structure, halves(inputs, r)) for r in range(repetitions)], axis=0)


def time_ratio(inputs: Inputs) -> list[float]:
    """Full covariance over naive, seconds to score the test half."""
    data, seconds = halves(inputs), []
    structures: tuple[Structure, ...] = ("full", "diag")
    for structure in structures:
        classifier = GenerativeClassifier(Gaussian(structure, WEAK_PRIORS[structure])).fit(
            data.X_train, data.y_train
        )
        theta = smoothed(structure, classifier)
        start = perf_counter()
        classifier.posterior_.model.log_joint(theta)(data.X_test)
        seconds.append(perf_counter() - start)
    return [seconds[0] / seconds[1]]


def read_idx_folder(folder: Path) -> tuple[Array, Array]:
    parts = [
        (read_idx(folder, f"{part}-images-idx3-ubyte"), read_idx(folder, f"{part}-labels-idx1-ubyte"))
        for part in ("train", "t10k")
    ]
    pixels = np.concatenate([images.reshape(len(images), -1) for images, _ in parts])
    return pixels, np.concatenate([labels for _, labels in parts])


def read_idx(folder: Path, name: str) -> Array:
    plain, zipped = folder / name, folder / f"{name}.gz"
    if plain.exists():
        content = plain.read_bytes()
    elif zipped.exists():
        content = gzip.decompress(zipped.read_bytes())
    else:
        raise ValueError(f"{folder} holds neither {name} nor {name}.gz")
    n_dims = content[3]
    shape = np.frombuffer(content, ">i4", n_dims, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dims).reshape(shape)


CLAIMS = (
    Claim(
        "D10",
        "DAKE 4.5",
        "naive Gaussians on MNIST: accuracy in training and in test, mean of five repetitions",
        # standard deviations of one repetition, over 20
        Sampled(("0.80", "0.79"), (0.0022, 0.0037)),
        partial(average_accuracies, "diag", 5),
        note="0.79 lies 2.2 standard deviations off; which 42,000 digits were used is not stated",
        needs_mnist=True,
    ),
    Claim(
        "D11",
        "DAKE 5.1",
        "full-covariance Gaussians on MNIST: accuracy in training and in test, mean of three repetitions",
        Sampled(("0.973", "0.942"), (0.0005, 0.0012)),
        partial(average_accuracies, "full", 3),
        needs_mnist=True,
    ),
    Claim(
        "D11t",
        "DAKE 5.1",
        "scoring the test half with full covariance takes this many times as long as naive",
        Printed(("0.99",)),
        time_ratio,
        note="3.200 s against 3.246 s in the source, which used a general routine for both",
        needs_mnist=True,
        is_timing=True,
    ),
)
