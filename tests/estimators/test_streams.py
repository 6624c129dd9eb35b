"""Windows that slide over streams: what is left after rows have come and gone is a fit on the window that never
forgot."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.examples import CHOSEN, LABELS, some_quick
from support.pairs import in_turn

import bayesppl as bp

# rows of a stream repeat
pytestmark = pytest.mark.filterwarnings("ignore:the last call of forget took away rows equal to these")

Check = Callable[[bp.GenerativeClassifier, np.ndarray, np.ndarray], None]


def assert_same_predictions(clf: Any, fresh: Any, X: Any, tolerance: float = 1e-9) -> None:
    for rule in ("predictive", "mean"):
        found, expected = (one.predict_joint_log_proba(X, rule) for one in (clf, fresh))
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(clf.class_count_, fresh.class_count_, rtol=1e-14, atol=0)


def slide(
    clf: Any, X: Any, y: np.ndarray, rows: np.ndarray, weights: np.ndarray, width: int, check: Check, every: int
) -> None:
    """Learn rows of a table in small batches, forget them in others once the window is full, and check now and
    then."""
    rng, held, step, start = np.random.default_rng(1), deque[int](), 0, 0
    take = X.iloc.__getitem__ if isinstance(X, pd.DataFrame) else X.__getitem__
    while start < len(rows):
        batch = np.arange(start, min(start + int(rng.integers(1, 4)), len(rows)))
        start = int(batch[-1]) + 1
        clf.partial_fit(take(rows[batch]), y[rows[batch]], sample_weight=weights[batch])
        held.extend(batch.tolist())
        if len(held) > width:
            gone = np.array([held.popleft() for _ in range(len(held) - width + int(rng.integers(3)))])
            clf.forget(take(rows[gone]), y[rows[gone]], sample_weight=weights[gone])
        step += 1
        if step % every == 0:
            window = np.array(held)
            check(clf, rows[window], weights[window])


def run_family(name: str, n_rows: int, every: int) -> None:
    """Rows of a family's example in random order, over one of each that stays, so that every level is known."""
    example, rng = CHOSEN[name], np.random.default_rng(11)
    y, all_rows, ones = np.asarray(example.y), np.arange(len(LABELS)), np.ones(len(LABELS))
    clf = bp.GenerativeClassifier(example.family, classes=sorted(set(LABELS))).partial_fit(example.X, y)

    def check(clf: Any, rows: np.ndarray, weights: np.ndarray) -> None:
        seen = np.concatenate([all_rows, rows])
        fresh = bp.GenerativeClassifier(example.family, classes=sorted(set(LABELS)))
        fresh.fit(example.X.iloc[seen], y[seen], np.concatenate([ones, weights]))
        assert_same_predictions(clf, fresh, example.X)

    rows, weights = rng.integers(len(LABELS), size=n_rows), rng.choice([0.0, 0.1, 1.0, 1 / 3, 2.0], n_rows)
    slide(clf, example.X, y, rows, weights, 12, check, every)


@pytest.mark.parametrize("name", some_quick(CHOSEN))
def test_a_window_over_a_stream_is_a_fit_on_the_window(name: str) -> None:
    run_family(name, 24, every=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOSEN)
def test_a_long_stream_leaves_no_trace_in_any_family(name: str) -> None:
    run_family(name, 2_000, every=50)


#: Estimators of real columns under default priors, which judge from the sums whether a column varies at all
OF_REAL_COLUMNS: dict[str, Callable[[], bp.GenerativeClassifier]] = {
    "diag": bp.GaussianNB,
    "tied_diag": lambda: bp.GenerativeClassifier(bp.Gaussian("tied_diag")),
    "spherical": lambda: bp.GenerativeClassifier(bp.Gaussian("spherical")),
    "full": bp.QuadraticDiscriminantAnalysis,
    "tied": bp.LinearDiscriminantAnalysis,
}


def real_rows(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Two columns that vary, one that is rarely not zero, one that is rarely not 0.1; one row in a hundred is far
    out."""
    X = rng.normal(size=(n_rows, 4))
    X[:, 2:] = np.where(rng.random((n_rows, 2)) < 0.03, X[:, 2:], [0.0, 0.1])
    X[rng.random(n_rows) < 0.01] *= 1e6
    return X


def run_real(
    kind: str, n_rows: int, weighted: bool, every: int, first: str = "partial_fit", offset: float = 0.0
) -> None:
    rng, start = np.random.default_rng(5), 30
    X, y = real_rows(rng, n_rows), rng.integers(0, 2, n_rows)
    X[:, 0] += offset
    weights = rng.uniform(0.1, 2.0, n_rows) if weighted else np.ones(n_rows)
    asked = np.vstack([np.zeros(4), [0, 0, 0, 0.1], rng.normal(size=(3, 4))])
    asked[:, 0] += offset
    matrix = kind in ("full", "tied")
    # numbers are known to 2^-53 of the offset, log densities to that times slopes of up to a thousand per unit
    tolerance = 1e-9 + 1e3 * 2.0**-53 * offset

    def make() -> bp.GenerativeClassifier:
        return OF_REAL_COLUMNS[kind]().set_params(classes=[0, 1])

    def check(clf: Any, rows: np.ndarray, of_rows: np.ndarray) -> None:
        if matrix and np.abs(X[rows] - [offset, 0, 0, 0]).max() > 1e3:
            return  # a matrix of float64 with a row that far out has lost the others, whoever sums it
        assert_same_predictions(clf, make().fit(X[rows], y[rows], of_rows), asked, tolerance)
        features = clf.fitted_.learned.statistics.parts["features"]
        for k in set(y[rows].tolist()):
            own = X[rows][y[rows] == k]
            constant = (own == own[0]).all(0)
            np.testing.assert_array_equal(features.mean[k, constant], own[0, constant])
            squares = features.scatter if features.is_tied else features.scatter[k]
            if not features.is_tied:
                assert not squares[..., constant].any()

    clf = getattr(make(), first)(X[:start], y[:start], sample_weight=weights[:start])
    clf.forget(X[: start - 1], y[: start - 1], weights[: start - 1])
    clf.forget(X[start - 1 : start], y[start - 1 : start], weights[start - 1 : start])
    assert not clf.fitted_.learned.statistics.parts["features"].scatter.any()
    slide(clf, X, y, np.arange(n_rows), weights, 10, check, every)


@pytest.mark.parametrize(
    ("kind", "beginning"),
    in_turn(list(OF_REAL_COLUMNS), [("partial_fit", False), ("partial_fit", True), ("fit", True)]),
)
def test_columns_that_become_constant_are_constant(kind: str, beginning: tuple[str, bool]) -> None:
    first, weighted = beginning
    run_real(kind, 200, weighted, every=4, first=first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_REAL_COLUMNS)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_columns_that_become_constant_are_constant_after_a_long_stream(kind: str, offset: float) -> None:
    run_real(kind, 200_000, weighted=True, every=499, offset=offset)


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_sums_follow_rows_that_have_moved_far_away(kind: str) -> None:
    """About where the first rows were, every further row would cost digits of the squares, and a long stream all
    of them."""
    rng = np.random.default_rng(9)
    near, far, y = rng.normal(size=(20, 2)), 1e9 + rng.normal(size=(20, 2)), np.arange(20) % 2
    clf = OF_REAL_COLUMNS[kind]().set_params(classes=[0, 1]).partial_fit(near, y)
    clf.partial_fit(far, y).forget(near, y)
    features = clf.fitted_.learned.statistics.parts["features"]
    assert (np.abs(features.sums.pivot - features.mean) < 2**10).all()
    of_far = OF_REAL_COLUMNS[kind]().fit(far, y).fitted_.learned.statistics.parts["features"]
    np.testing.assert_allclose(features.scatter, of_far.scatter, rtol=1e-6, atol=1e-6)


def rare_rows(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Counts and levels of which some come once in a thousand rows; one count in a hundred is enormous."""
    rare = rng.random((n_rows, 6)) < [0.5, 0.02, 0.001, 0.5, 0.02, 0.001]
    counts = np.where(rare[:, 3:], rng.poisson(4.0, (n_rows, 3)), 0)
    counts[rng.random(n_rows) < 0.01] *= 10**6
    cells = {f"flag {j}": rare[:, j] for j in range(3)} | {f"count {j}": counts[:, j] for j in range(3)}
    levels = {"level": rng.choice(["a", "b", "c"], n_rows, p=[0.9, 0.099, 0.001])}
    return pd.DataFrame({**cells, **levels, "number": rng.normal(size=n_rows)})


_LEVEL = bp.Categorical(levels=["a", "b", "c"])
#: Families of counts and levels, and the columns they are given
OF_RARE_CELLS: dict[str, tuple[bp.families.Family, list[str]]] = {
    "bernoulli": (bp.Bernoulli(), ["flag 0", "flag 1", "flag 2"]),
    "poisson": (bp.Poisson(), ["count 0", "count 1", "count 2"]),
    "categorical": (_LEVEL, ["level"]),
    "mixed": (
        bp.Product(
            {
                "flags": (["flag 0", "flag 1", "flag 2"], bp.Bernoulli()),
                "counts": (["count 0", "count 1", "count 2"], bp.Poisson()),
                "levels": (["level"], _LEVEL),
                "numbers": (["number"], bp.Gaussian()),
            }
        ),
        ["flag 0", "flag 1", "flag 2", "count 0", "count 1", "count 2", "level", "number"],
    ),
}


def run_rare(kind: str, n_rows: int, every: int) -> None:
    rng = np.random.default_rng(6)
    family, columns = OF_RARE_CELLS[kind]
    X, y = rare_rows(rng, n_rows)[columns], rng.integers(0, 2, n_rows)
    weights, start = rng.choice([0.1, 1.0, 1 / 3, 2.0], n_rows), 30

    def make() -> bp.GenerativeClassifier:
        return bp.GenerativeClassifier(family, classes=[0, 1])

    def check(clf: Any, rows: np.ndarray, of_rows: np.ndarray) -> None:
        assert_same_predictions(clf, make().fit(X.iloc[rows], y[rows], of_rows), X.iloc[:20])

    clf = make().partial_fit(X[:start], y[:start], sample_weight=weights[:start])
    clf.forget(X[:start], y[:start], weights[:start])
    slide(clf, X, y, np.arange(n_rows), weights, 10, check, every)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_RARE_CELLS)
def test_rare_cells_leave_no_trace(kind: str) -> None:
    run_rare(kind, 200, every=20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", OF_RARE_CELLS)
def test_rare_cells_leave_no_trace_after_a_long_stream(kind: str) -> None:
    run_rare(kind, 200_000, every=499)


@pytest.mark.parametrize(
    "change",
    [{"prior": "columnwise"}, {"class_weights": {0: 0.9, 1: 0.1}}, {"class_weights": bp.Dirichlet(2.0)}],
    ids=str,
)
def test_a_model_that_was_declared_anew_is_fitted_anew(change, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    clf = bp.GaussianNB("jeffreys").fit(X, y)
    clf.save(tmp_path / "model.npz")
    for fitted in (clf, bp.load(tmp_path / "model.npz")):
        before = fitted.get_params()
        fitted.set_params(**change)
        for ask in (fitted.partial_fit, fitted.forget):
            with pytest.raises(ValueError, match="was changed since by set_params"):
                ask(X[:2], y[:2])
        with pytest.raises(ValueError, match="was changed since by set_params"):
            fitted.discount(0.5)
        with pytest.raises(ValueError, match="was changed since by set_params"):
            fitted.tune_prior()
        fitted.set_params(**{name: before[name] for name in change}).partial_fit(X, y)
        assert fitted.class_count_.sum() == 40
    clf.set_params(**change).fit(X, y).partial_fit(X, y)
    expected = bp.GaussianNB("jeffreys").set_params(**change).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_what_a_fit_hands_out_may_be_changed():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    clf = bp.GaussianNB().fit(X, y)
    score = clf.loo().log_score
    share, classes = clf.class_count_, clf.classes_
    share /= share.sum()
    classes[0] = 7
    assert clf.loo().log_score == score
    assert clf.partial_fit(X[:1], y[:1]).class_count_.tolist() == [11, 10]
    assert clf.classes_.tolist() == [0, 1]


def test_later_rows_are_read_as_their_missing_labels_are_declared_now():
    X, y = np.random.default_rng(0).normal(size=(9, 2)), np.array(list("aaabbbccc"), dtype=object)
    clf = bp.GaussianNB().fit(X, y)
    y[0] = None
    with pytest.raises(ValueError, match="unlabelled='drop' leaves them out"):
        clf.partial_fit(X, y)
    assert clf.set_params(unlabelled="drop").partial_fit(X, y).class_count_.tolist() == [5, 6, 6]
    assert clf.set_params(unlabelled_label="b").partial_fit(X, y).class_count_.tolist() == [7, 6, 9]
    with pytest.raises(ValueError, match="rows that come in batches"):
        clf.set_params(unlabelled="learn").partial_fit(X, y)


def test_a_spread_that_was_rounded_away_is_not_forgotten_down_to():
    """Times in seconds since 1970, three of which came in microseconds."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = np.column_stack([np.round(1.7e9 + rng.normal(size=200) + y, 3), rng.normal(size=200) + y])
    X[:3, 0] *= 1e6
    with pytest.raises(ValueError, match="sums of 'features' would be known to a relative error of"):
        bp.GaussianNB().fit(X, y).forget(X[:3], y[:3])
    X[:3, 0] /= 1e6 / 50
    clf, refit = bp.GaussianNB().fit(X, y).forget(X[:3], y[:3]), bp.GaussianNB().fit(X[3:], y[3:])
    np.testing.assert_allclose(clf.predict_proba(X[3:]), refit.predict_proba(X[3:]), rtol=1e-4)


@pytest.mark.parametrize("make", [bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis])
def test_a_batch_without_any_label_adds_nothing(make):
    X, y = np.arange(24.0).reshape(12, 2) ** 1.5 % 7, list("ab") * 6
    clf = make(unlabelled="drop").fit(X, y)
    before = clf.predict_proba(X)
    np.testing.assert_array_equal(clf.partial_fit(X[:3], [None] * 3).predict_proba(X), before)
    first = make(unlabelled="drop").partial_fit(X[:3], [None] * 3, classes=["a", "b"])
    np.testing.assert_allclose(first.partial_fit(X, y).predict_proba(X), before, rtol=1e-9)
