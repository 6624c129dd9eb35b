"""Hard data: extreme values, degenerate shapes, odd memory layouts, many classes, many columns, several
threads."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_iris
from support.pairs import pairwise

import bayesppl as bp

IRIS, SPECIES = load_iris(return_X_y=True)
GAUSSIAN = [bp.GaussianNB, bp.LinearDiscriminantAnalysis, bp.QuadraticDiscriminantAnalysis]


def assert_probabilities(proba: np.ndarray) -> None:
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(1), 1.0, rtol=1e-9)


@pytest.mark.parametrize("make", GAUSSIAN)
@settings(deadline=None, max_examples=40)
@given(
    X=hnp.arrays(np.float64, (12, 3), elements=st.floats(-1e6, 1e6, allow_nan=False, width=32)),
    y=st.lists(st.integers(0, 2), min_size=12, max_size=12).filter(lambda y: len(set(y)) > 1),
)
def test_any_finite_numbers_give_probabilities(make: type, X: np.ndarray, y: list[int]) -> None:
    """Constant, duplicate and tiny columns among them; a class may have a single row."""
    X_before = X.copy()
    clf = make().fit(X, y)
    assert_probabilities(clf.predict_proba(X))
    np.testing.assert_array_equal(X, X_before)
    order = np.random.default_rng(0).permutation(12)
    again = make().fit(X[order], np.asarray(y)[order])
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("make", GAUSSIAN)
def test_constant_and_duplicate_columns(make: type) -> None:
    X = np.column_stack([IRIS, np.full(len(IRIS), 7.0), IRIS[:, 0], np.zeros(len(IRIS))])
    clf = make().fit(X, SPECIES)
    assert_probabilities(clf.predict_proba(X))
    assert clf.score(X, SPECIES) > 0.9


@pytest.mark.parametrize("make", GAUSSIAN)
def test_one_row_in_a_class_and_one_row_per_class(make: type) -> None:
    rows = [*range(51)]
    assert_probabilities(make().fit(IRIS[rows], SPECIES[rows]).predict_proba(IRIS))
    assert make().fit(IRIS[[0, 50, 100]], [0, 1, 2]).predict(IRIS[[0, 50, 100]]).tolist() == [0, 1, 2]


def test_one_row_in_all_needs_declared_classes() -> None:
    with pytest.raises(ValueError, match="one class only"):
        bp.GaussianNB().fit(IRIS[:1], [0])
    assert_probabilities(bp.GaussianNB(classes=[0, 1]).fit(IRIS[:1], [0]).predict_proba(IRIS))


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e149])
@pytest.mark.parametrize("make", GAUSSIAN)
def test_units_change_nothing_however_extreme(make: type, scale: float) -> None:
    expected = make().fit(IRIS, SPECIES).predict_proba(IRIS)
    np.testing.assert_allclose(
        make().fit(IRIS * scale, SPECIES).predict_proba(IRIS * scale), expected, rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-310, 1e155, 1e300, -1e300])
@pytest.mark.parametrize("make", GAUSSIAN)
def test_numbers_whose_squares_are_no_numbers_are_refused_by_name(make: type, scale: float) -> None:
    frame = pd.DataFrame(IRIS, columns=list("abcd")).assign(c=IRIS[:, 2] * scale)
    with pytest.raises(ValueError, match=r"column 'c'.*rescale the column"):
        make().fit(frame, SPECIES)


def test_denormal_cells_are_as_good_as_zeros() -> None:
    X, tiny = IRIS.copy(), IRIS.copy()
    X[::5], tiny[::5] = 0.0, 5e-324
    for make in GAUSSIAN:
        np.testing.assert_allclose(
            make().fit(tiny, SPECIES).predict_proba(tiny),
            make().fit(X, SPECIES).predict_proba(X),
            rtol=1e-9,
            atol=1e-12,
        )


def test_a_thousand_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(5000) % 1000
    X = np.column_stack([y // 32, y % 32]) * 10.0 + rng.normal(size=(5000, 2))
    clf = bp.GaussianNB().fit(X, y)
    assert clf.predict_proba(X[:50]).shape == (50, 1000)
    assert clf.score(X, y) > 0.99


def test_five_thousand_columns() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 5000)) + 0.3 * y[:, None]
    clf = bp.GaussianNB().fit(X, y)
    assert_probabilities(clf.predict_proba(X))
    assert clf.score(X, y) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_columns"), [("levels", 8_000), ("half of them counts", 16_000), ("text", 8_000)]
)
def test_time_grows_with_the_columns_and_not_with_their_square(kind: str, n_columns: int) -> None:
    """Where each column looked through all of them, 16,000 columns of levels took 90 seconds and not one."""
    X, y = np.random.default_rng(0).integers(0, 4, (50, n_columns)), np.arange(50) % 2
    each = {f"x{j}": "poisson" if j % 2 else "categorical" for j in range(X.shape[1])}
    clf = bp.MixedNB(integers=each if kind == "half of them counts" else "categorical")
    cells = np.array(list("abcd"))[X] if kind == "text" else X
    start = time.process_time()
    assert_probabilities(clf.fit(cells, y).predict_proba(cells[:5]))
    assert time.process_time() - start < 6


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint64, bool])
def test_integers_do_not_overflow(dtype: Any) -> None:
    top = 1 if dtype is bool else min(np.iinfo(dtype).max, 2**31)
    X = np.array([[0], [top], [top], [0], [top], [top]], dtype=dtype)
    y = [0, 0, 0, 1, 1, 1]
    for make in GAUSSIAN:
        expected = make().fit(X.astype(float), y).predict_log_proba(X.astype(float))
        np.testing.assert_allclose(make().fit(X, y).predict_log_proba(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("make", GAUSSIAN)
def test_float32_is_summed_in_float64(make: type) -> None:
    X = IRIS.astype(np.float32)
    clf = make().fit(X, SPECIES)
    expected = make().fit(X.astype(np.float64), SPECIES)
    np.testing.assert_allclose(
        clf.predict_log_proba(X.astype(np.float64)),
        expected.predict_log_proba(X.astype(np.float64)),
        rtol=1e-6,
        atol=1e-9,
    )


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[::3, ::2],
    "reversed twice": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "transposed": lambda X: np.ascontiguousarray(X.T).T,
    "big endian": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "matrix of floats in lists": lambda X: X.tolist(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", GAUSSIAN)
def test_memory_layout_changes_nothing(make: type, layout: str) -> None:
    X = LAYOUTS[layout](IRIS)
    np.testing.assert_allclose(
        make().fit(X, SPECIES).predict_log_proba(X),
        make().fit(IRIS, SPECIES).predict_log_proba(IRIS),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("make", [*GAUSSIAN, bp.BernoulliNB, bp.PoissonNB, bp.MultinomialNB, bp.CategoricalNB])
def test_inputs_may_be_read_only_and_are_never_changed(make: type) -> None:
    X = (IRIS.mean(0) < IRIS).astype(float) + (make in GAUSSIAN) * IRIS
    weight, y = np.linspace(0.1, 2, len(X)), SPECIES.copy()
    frame = pd.DataFrame(X, columns=list("abcd"))
    before = frame.copy()
    for array in (X, weight, y):
        array.flags.writeable = False
    clf = make().fit(X, y, weight).partial_fit(X, y, sample_weight=weight).forget(X, y, weight)
    clf.predict_proba(X)
    make().fit(frame, y).predict_proba(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_predict_from_several_threads() -> None:
    clf = bp.QuadraticDiscriminantAnalysis().fit(IRIS, SPECIES)
    expected = clf.predict_proba(IRIS)
    with ThreadPoolExecutor(8) as pool:
        for proba in pool.map(lambda _: clf.predict_proba(IRIS), range(64)):
            np.testing.assert_array_equal(proba, expected)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("make", [*GAUSSIAN, bp.PoissonNB, bp.BernoulliNB])
def test_infinities_are_refused_by_name(make: type, value: float) -> None:
    X = pd.DataFrame({"width": [0.0, 1.0, 1.0, 0.0], "height": [0.0, 1.0, value, 0.0]})
    with pytest.raises(ValueError, match=f"'height' holds {value:g} in row 2"):
        make().fit(X, [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("value", "weight", "make"),
    pairwise(
        [np.inf, -np.inf, 1e150, -1e152, 1e154, 1e300],
        [0.0, 1e-99, 1e-20, 1.0],
        [*GAUSSIAN, lambda: bp.GenerativeClassifier(bp.Gaussian("spherical"))],
    ),
)
def test_no_weight_hides_a_number_that_is_refused(make: Any, weight: float, value: float) -> None:
    """In one row of a class, and in all of them."""
    one, all_of_class = IRIS[:, :2].copy(), IRIS[:, :2].copy()
    one[99, 1] = all_of_class[SPECIES == 1, 1] = value
    for X, row in ((one, 99), (all_of_class, 50)):
        weights = np.where((value == X).any(1), weight, 1.0)
        with pytest.raises(ValueError, match=f"'x1' holds {re.escape(f'{value:g}')} in row {row}"):
            make().fit(X, SPECIES, sample_weight=weights)


def test_a_full_covariance_refuses_a_missing_cell_whatever_its_weight() -> None:
    X, weights = IRIS.copy(), np.ones(150)
    X[7, 2], weights[7] = np.nan, 0.0
    with pytest.raises(ValueError, match=r"missing values in column 'x2' \(1 of \d+ rows\)"):
        bp.QuadraticDiscriminantAnalysis().fit(X, SPECIES, sample_weight=weights)


@pytest.mark.parametrize("make", GAUSSIAN)
@pytest.mark.parametrize("rule", ["mle", "predictive"])
def test_probabilities_far_from_zero_lose_what_the_means_round_to_and_no_more(make: type, rule: str) -> None:
    far, X = (
        2.0**20,
        np.round(8 * IRIS) / 8,
    )  # both sums are exact, and a million standard deviations away from zero
    expected = make().fit(X, SPECIES).predict_log_proba(X, rule=rule)
    found = make().fit(X + far, SPECIES).predict_log_proba(X + far, rule=rule)
    theta = make().fit(X, SPECIES).posterior_.theta("mle")
    covariance = theta["covariance"] if "covariance" in theta else theta["variance"][..., None] * np.eye(4)
    precision = np.linalg.inv(np.broadcast_to(covariance, (3, 4, 4)))
    slopes = np.einsum("kij,nkj->nki", precision, X[:, None] - theta["mean"])
    # a mean is off by half a unit in its last place; the log density follows with its slope, in two classes
    atol = 2 * 0.5 * np.spacing(far) * np.abs(slopes).sum(-1).max()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=atol)
