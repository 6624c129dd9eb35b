"""What is compared with what, on which data. Everything goes through the public estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import random_array
from sklearn.datasets import load_iris

Data = tuple[Any, np.ndarray]


class Estimator(NamedTuple):
    """A class by its name, so that a new process imports nothing else."""

    module: str
    name: str
    arguments: dict[str, Any]

    def __call__(self) -> Any:
        return getattr(import_module(self.module), self.name)(**self.arguments)


class Problem(NamedTuple):
    """Data of one shape, and the two estimators that fit it."""

    name: str
    make: Callable[[], Data]
    ours: Estimator
    other: Estimator


class Target(NamedTuple):
    """An operation on a problem, and how many times faster than scikit-learn it should be."""

    problem: str
    operation: str
    ratio: float


class Reason(NamedTuple):
    """An operation on a problem, and why it is behind scikit-learn; the page says more under "limits"."""

    problem: str
    operation: str
    words: str


def real(n_rows: int, n_columns: int, n_classes: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    centres = rng.standard_normal((n_classes, n_columns)) / np.sqrt(n_columns)
    X = rng.standard_normal((n_rows, n_columns))
    X += 3 * centres[y]
    return X, y


def binary(n_rows: int, n_columns: int, n_classes: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    p = (255 * rng.beta(1, 3, (n_classes, n_columns))).astype(np.uint8)
    X = np.empty((n_rows, n_columns), dtype=np.uint8)
    for start in range(0, n_rows, 10_000):
        rows = slice(start, start + 10_000)
        X[rows] = rng.integers(0, 255, X[rows].shape, dtype=np.uint8) < p[y[rows]]
    return X, y


def levels(n_rows: int, n_columns: int, n_classes: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n_rows)
    return (rng.integers(0, 5, (n_rows, n_columns)) + y[:, None]) % 8, y


def counts(n_rows: int, n_columns: int, per_row: int) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n_rows)
    X = random_array((n_rows, n_columns), density=per_row / n_columns, format="csr", rng=rng)
    X.data = 1.0 + rng.poisson(0.5, len(X.data))
    return X, y


def iris() -> Data:
    return load_iris(return_X_y=True)


def size(n_rows: int, n_columns: int) -> str:
    """A shape in short, such as 1e6×20."""
    rows = f"{n_rows:.0e}".replace("e+0", "e")
    return f"{rows}×{n_columns}"


def problems(quick: bool) -> Iterator[Problem]:
    """All problems; ``quick`` makes the large ones about ten times smaller."""
    s = 10 if quick else 1
    for shape in [(1_000_000 // s, 20, 3), (200_000 // s, 100, 10)]:
        shown = f"{size(*shape[:2])}, {shape[2]} classes"
        for name, estimators in _GAUSSIAN.items():
            yield Problem(f"{name}, {shown}", partial(real, *shape), *estimators)
    for shape in [(60_000 // s, 784, 10), (100_000 // s, 1000, 2)]:
        shown = f"{size(*shape[:2])}, {shape[2]} classes"
        yield Problem(
            f"Bernoulli bytes, {shown}",
            partial(binary, *shape),
            Estimator("bayesppl", "BernoulliNB", {}),
            Estimator("sklearn.naive_bayes", "BernoulliNB", {"binarize": None}),
        )
    n_rows = 1_000_000 // s
    shown = f"{size(n_rows, 20)}, 3 classes"
    yield Problem(f"Categorical, {shown}", partial(levels, n_rows, 20, 3), *_beside("CategoricalNB"))
    for width in (20_000, 100_000):
        shown = f"{size(100_000 // s, width)}, 2 classes"
        make = partial(counts, 100_000 // s, width, 100)
        yield Problem(f"Multinomial CSR, {shown}", make, *_beside("MultinomialNB"))
    for name, estimators in _GAUSSIAN.items():
        yield Problem(f"iris, {name}", iris, *estimators)


def _beside(name: str, module: str = "naive_bayes") -> tuple[Estimator, Estimator]:
    """Our estimator and that of scikit-learn, where both have one name."""
    return Estimator("bayesppl", name, {}), Estimator(f"sklearn.{module}", name, {})


_GAUSSIAN = {
    "Gaussian diagonal": _beside("GaussianNB"),
    "QDA": _beside("QuadraticDiscriminantAnalysis", "discriminant_analysis"),
    "LDA": _beside("LinearDiscriminantAnalysis", "discriminant_analysis"),
}

#: Operation, and the prefix of the problem's name, to the ratio aimed at.
TARGETS = [
    Target("Gaussian diagonal", "fit", 10),
    Target("QDA", "fit", 9),
    Target("LDA", "fit", 9),
    Target("Bernoulli", "fit", 20),
    Target("Categorical", "fit", 10),
    Target("Multinomial CSR", "fit", 1.5),
    Target("Gaussian diagonal", "predict_proba, mle", 8),
    Target("Gaussian diagonal", "predict_proba, predictive", 5),
    Target("QDA", "predict_proba, mle", 2.5),
    Target("QDA", "predict_proba, predictive", 2.5),
    Target("LDA", "predict_proba, mle", 1.2),
    Target("Bernoulli", "predict_proba, predictive", 7),
    Target("Categorical", "predict_proba, predictive", 3),
    Target("Multinomial CSR", "predict_proba, mean", 1.3),
    Target("iris", "fit", 1),
    Target("iris", "predict_proba, mle", 1),
    Target("iris", "predict_proba, predictive", 1),
]


#: By the beginnings of the names of problem and operation; "first use" is that of a process.
REASONS = [
    Reason("", "first use, import", "modules of our own beside `sklearn.base`, which both load"),
    Reason("LDA", "predict_proba, predictive", "needs the quadratic form beside the linear scores"),
    Reason("LDA", "predict_proba", "one matrix product, as in scikit-learn"),
    Reason("LDA", "first use, predict", "needs the quadratic form beside the linear scores"),
    Reason("Multinomial CSR", "predict_proba, predictive", "a Dirichlet–multinomial, not a plug-in"),
    Reason("Multinomial CSR", "first use, predict", "a Dirichlet–multinomial, not a plug-in"),
    Reason("Multinomial CSR", "first use, fit", "multinomial coefficients, before the loop is loaded"),
    Reason("iris, QDA", "fit", "chooses the covariance prior by its evidence"),
    Reason("iris, LDA", "fit", "chooses the covariance prior by its evidence"),
    Reason("iris", "fit", "overhead of reading and checking"),
    Reason("iris", "predict", "overhead of reading and checking"),
    Reason("iris", "first use", "Python code that runs for the first time"),
]


def target(problem: str, operation: str) -> float | None:
    """The ratio aimed at, if there is one."""
    return next((t.ratio for t in TARGETS if problem.startswith(t.problem) and t.operation == operation), None)


def reason(problem: str, operation: str) -> str:
    """Why an operation is behind scikit-learn."""
    fits = (r.words for r in REASONS if problem.startswith(r.problem) and operation.startswith(r.operation))
    return next(fits, "not known yet")
