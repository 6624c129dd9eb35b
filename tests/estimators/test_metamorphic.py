"""Random tables of every kind, changed in ways that change no answer: rows and columns in another order, other
labels, batches, files.

What is expected is what the same estimator answers of the table as it was, so that every estimator and option can
take part.
"""

import pickle
from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesppl as bp
from bayesppl.files.serialize import same

Rng = np.random.Generator


def _real(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    """Numbers of any size, among them rounded ones, outliers, a constant column and the same column twice."""
    X = rng.normal(size=(len(y), d)) + rng.normal(0, 2, (3, d))[y]
    if rng.random() < 0.2:
        X[rng.integers(len(y))] *= 10.0 ** rng.integers(1, 6)
    if rng.random() < 0.3:
        X = np.round(X, rng.integers(0, 2))
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 0.1, 1e5])
    if rng.random() < 0.1:
        X[:, 0] = X[:, -1]
    X *= 10.0 ** rng.choice([-8, 0, 0, 0, 3, 8], size=d)
    return _named(X + rng.choice([0, 0, 10, 1e3], size=d) * X.std(0), "r")


def _named(cells: np.ndarray, prefix: str) -> pd.DataFrame:
    return pd.DataFrame(cells, columns=[f"{prefix}{j}" for j in range(cells.shape[1])])


def _counts(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    return _named(rng.poisson(rng.gamma(1, rng.choice([0.3, 3, 50]), (3, d))[y]), "c")


def _small(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    return _counts(rng, d, y).clip(0, 3)


def _positive(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    return _named(rng.gamma(2, rng.gamma(1, size=(3, d))[y]) * 10.0 ** rng.integers(-6, 7), "p")


_POOLS: list[list[Any]] = [
    ["red", "green", "blue"],
    [0, 1, 2, 7],
    [10, -3],
    [True, False],
    [0.5, 1.5],
    ["", " ", "nan"],
]


def _levels(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    columns = {}
    for j in range(d):
        pool = _POOLS[rng.integers(len(_POOLS))]
        shares = rng.dirichlet(np.full(len(pool), 0.7), size=3)
        columns[f"l{j}"] = [pool[rng.choice(len(pool), p=shares[k])] for k in y]
    return pd.DataFrame(columns)


def _mixed(rng: Rng, d: int, y: np.ndarray) -> pd.DataFrame:
    X = pd.concat([_real(rng, 1 + d // 3, y), _levels(rng, 1 + d // 2, y)], axis=1)
    return X[rng.permutation(X.columns)]


def _family(make: Callable[[], Any]) -> Callable[[], bp.GenerativeClassifier]:
    return lambda: bp.GenerativeClassifier(make())


Make = Callable[[], Any]
ESTIMATORS: dict[str, tuple[Make, Callable[[Rng, int, np.ndarray], pd.DataFrame]]] = {
    "GaussianNB": (bp.GaussianNB, _real),
    "QDA": (bp.QuadraticDiscriminantAnalysis, _real),
    "LDA": (bp.LinearDiscriminantAnalysis, _real),
    "QDA, published prior": (lambda: bp.QuadraticDiscriminantAnalysis("fraley-raftery"), _real),
    "spherical": (_family(lambda: bp.Gaussian("spherical")), _real),
    "tied_diag": (_family(lambda: bp.Gaussian("tied_diag")), _real),
    "histogram": (_family(bp.Histogram), _real),
    "zero inflated": (_family(lambda: bp.ZeroInflated(bp.Gaussian())), _real),
    "BernoulliNB": (bp.BernoulliNB, lambda rng, d, y: _small(rng, d, y).clip(0, 1)),
    "BinomialNB": (lambda: bp.BinomialNB(trials=3), _small),
    "PoissonNB": (bp.PoissonNB, _counts),
    "MultinomialNB": (bp.MultinomialNB, _counts),
    "DirichletMultinomialNB": (bp.DirichletMultinomialNB, _counts),
    "negative binomial": (_family(lambda: bp.NegativeBinomial(1.3)), _counts),
    "exponential": (_family(bp.Exponential), _positive),
    "log-normal": (_family(lambda: bp.LogNormal("full")), _positive),
    "CategoricalNB": (bp.CategoricalNB, _levels),
    "JointCategoricalNB": (bp.JointCategoricalNB, lambda rng, d, y: _levels(rng, min(d, 2), y)),
    "MixedNB": (lambda: bp.MixedNB(integers="categorical"), _mixed),
    "MixedNB by evidence": (lambda: bp.MixedNB(columns="evidence"), _mixed),
    "LocationModel": (lambda: bp.LocationModel(integers="categorical"), _mixed),
    "AutoClassifier": (bp.AutoClassifier, _mixed),
}
OPTIONS: list[dict[str, Any]] = [
    {}, {}, {"calibration": "temperature"}, {"calibration": "weights"}, {"class_weights": "uniform"},
    {"rule": "mean"}, {"rule": "map"},
]  # fmt: skip


class Case(NamedTuple):
    make: Make
    X: pd.DataFrame
    y: np.ndarray
    weights: np.ndarray
    rng: Rng

    def fit(self, X: Any = None, y: Any = None, weights: Any = None) -> Any:
        return self.make().fit(
            self.X if X is None else X, self.y if y is None else y, self.weights if weights is None else weights
        )

    @property
    def in_batches(self) -> bool:
        """Whether the estimator learns from sums alone."""
        clf = self.make()
        return not isinstance(clf, bp.AutoClassifier) and clf.calibration is None


def answers(clf: Any, X: Any) -> dict[str, np.ndarray]:
    """Ask for all predictions; of half of the rows the posterior may have no mode, and there are none."""
    try:
        found = {"log_proba": clf.predict_log_proba(X)}
    except bp.errors.UndefinedEstimateError:
        return {}
    if isinstance(clf, bp.GenerativeClassifier) or hasattr(clf, "predict_joint_log_proba"):
        found["joint"] = clf.predict_joint_log_proba(X)
    return found


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float = 1e-7) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(np.exp(other[name]) if name == "log_proba" else other[name],
                                   np.exp(values) if name == "log_proba" else values,
                                   rtol=tolerance, atol=tolerance, err_msg=name)  # fmt: skip


def rows_in_another_order(case: Case) -> None:
    order = case.rng.permutation(len(case.y))
    moved = case.fit(case.X.iloc[order], case.y[order], case.weights[order])
    assert_same(answers(case.fit(), case.X), answers(moved, case.X))


def columns_in_another_order(case: Case) -> None:
    X = case.X[case.rng.permutation(case.X.columns)]
    clf = case.fit()
    assert_same(answers(clf, case.X), answers(case.fit(X), X))
    assert_same(answers(clf, case.X), answers(clf, X), 1e-15)


def other_labels(case: Case) -> None:
    clf = case.fit()
    names = dict(zip(clf.classes_.tolist(), case.rng.permutation(["u", "v", "w"]), strict=False))
    moved = case.fit(case.X, np.array([names[label] for label in case.y.tolist()]))
    order = [moved.classes_.tolist().index(names[label]) for label in clf.classes_.tolist()]
    assert_same(answers(clf, case.X), {name: values[:, order] for name, values in answers(moved, case.X).items()})


def repeated_rows(case: Case) -> None:
    weights = case.rng.integers(1, 4, len(case.y))
    rows = np.repeat(np.arange(len(case.y)), weights)
    if case.in_batches:
        one = case.fit(case.X, case.y, weights.astype(float))
        assert_same(
            answers(one, case.X), answers(case.fit(case.X.iloc[rows], case.y[rows], np.ones(len(rows))), case.X)
        )


def pickles_and_refits(case: Case) -> None:
    clf = case.fit()
    assert_same(answers(clf, case.X), answers(pickle.loads(pickle.dumps(clf)), case.X), 1e-15)
    assert_same(answers(clf, case.X), answers(clone(clf).fit(case.X, case.y, case.weights), case.X), 1e-15)


def one_row_at_a_time(case: Case) -> None:
    clf = case.fit()
    whole = answers(clf, case.X)
    for row in case.rng.integers(len(case.y), size=3):
        alone = answers(clf, case.X.iloc[[row]])
        assert_same({name: values[[row]] for name, values in whole.items()}, alone, 1e-9)


def batches_and_forgetting(case: Case) -> None:
    if not case.in_batches:
        return
    clf, half = case.fit(), case.rng.random(len(case.y)) < 0.5
    half[np.unique(case.y, return_index=True)[1]] = True
    first = case.fit(case.X[half], case.y[half], case.weights[half])
    if same(first.fitted_.model, clf.fitted_.model):  # otherwise the first rows show fewer levels, or other blocks
        whole = copy(first).partial_fit(case.X[~half], case.y[~half], sample_weight=case.weights[~half])
        assert_same(answers(clf, case.X), answers(whole, case.X), 1e-6)
        whole.forget(case.X[~half], case.y[~half], case.weights[~half])
        assert_same(answers(first, case.X), answers(whole, case.X), 1e-6)


def refused_changes(case: Case) -> None:
    clf = case.fit()
    expected = answers(clf, case.X)
    with pytest.raises((ValueError, TypeError)):
        clf.fit(case.X, case.y[:-1])
    with pytest.raises((ValueError, TypeError)):
        clf.fit(case.X, case.y, -case.weights)
    assert_same(expected, answers(clf, case.X), 0.0)


CHANGES = [
    rows_in_another_order, columns_in_another_order, other_labels, repeated_rows, pickles_and_refits,
    one_row_at_a_time, batches_and_forgetting, refused_changes,
]  # fmt: skip


def random_case(name: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    make, table = ESTIMATORS[name]
    n_classes = int(rng.integers(2, 4))
    y = rng.permutation(np.r_[np.arange(n_classes).repeat(5), rng.integers(n_classes, size=rng.integers(30))])
    X = table(rng, int(rng.integers(1, 5)), y)
    labels = [np.array(["a", "b", "c"]), np.array([10, 9, -1]), np.array([0.0, 2.0, 1.0])][rng.integers(3)]
    weights = [np.ones(len(y)), rng.integers(1, 4, len(y)).astype(float), rng.uniform(0.3, 3, len(y))][
        rng.integers(3)
    ]
    options = {} if name == "AutoClassifier" else OPTIONS[rng.integers(len(OPTIONS))]
    return Case(lambda: make().set_params(**options), X, labels[y], weights, rng)


def run(name: str, seed: int) -> None:
    case = random_case(name, seed)
    try:
        case.fit().predict(case.X)
    except (ValueError, TypeError):
        return  # a table that this estimator refuses
    CHANGES[seed % len(CHANGES)](case)


pytestmark = [
    pytest.mark.filterwarnings("ignore:.*differ by capitals or spaces"),  # levels drawn at random
    pytest.mark.filterwarnings("ignore::bayesppl.ImpossibleRowWarning"),
    pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning"),
]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param(
            name, j, id=f"{name}-{change.__name__}", marks=[pytest.mark.slow] * ((i + j) % 2)
        )  # of each estimator half the changes, of each change half the estimators
        for i, name in enumerate(ESTIMATORS)
        for j, change in enumerate(CHANGES)
    ],
)
def test_what_changes_no_answer(name: str, change: int) -> None:
    run(name, 1000 * len(CHANGES) + change)


@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_changes_no_answer_in_many_tables(name: str) -> None:
    for seed in range(400):
        run(name, seed)
