"""Whatever is passed: a right answer, or a refusal in a sentence; no error or warning from somewhere else."""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from support.hostile import BINARY, CODES, TABLES, N
from support.hostile_labels import LABELS, WEIGHTS
from support.refusals import attempt

import bayesppl as bp

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "GaussianNB": bp.GaussianNB,
    "LDA": bp.LinearDiscriminantAnalysis,
    "QDA": bp.QuadraticDiscriminantAnalysis,
    "QDA, published prior": lambda: bp.QuadraticDiscriminantAnalysis("fraley-raftery"),
    "spherical": lambda: bp.GenerativeClassifier(bp.Gaussian("spherical")),
    "tied_diag": lambda: bp.GenerativeClassifier(bp.Gaussian("tied_diag")),
    "BernoulliNB": bp.BernoulliNB,
    "BinomialNB": lambda: bp.BinomialNB(trials=3),
    "PoissonNB": bp.PoissonNB,
    "MultinomialNB": bp.MultinomialNB,
    "CategoricalNB": bp.CategoricalNB,
    "JointCategoricalNB": bp.JointCategoricalNB,
    "MixedNB": lambda: bp.MixedNB(integers="categorical"),
    "MixedNB by evidence": lambda: bp.MixedNB(columns="evidence"),
    "AutoClassifier": bp.AutoClassifier,
    "negative binomial": lambda: bp.GenerativeClassifier(bp.NegativeBinomial(1.0)),
    "histogram": lambda: bp.GenerativeClassifier(bp.Histogram()),
    "zero inflated": lambda: bp.GenerativeClassifier(bp.ZeroInflated(bp.Gaussian())),
    "exponential": lambda: bp.GenerativeClassifier(bp.Exponential()),
    "log-normal": lambda: bp.GenerativeClassifier(bp.LogNormal("full")),
}
#: Families of positive numbers.
_POSITIVE = ("exponential", "log-normal")

QUESTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "predict": lambda clf, X, y: clf.predict(X),
    "predict_proba": lambda clf, X, y: clf.predict_proba(X),
    "predict_log_proba": lambda clf, X, y: clf.predict_log_proba(X),
    "map": lambda clf, X, y: clf.predict_proba(X, rule="map"),
    "mle": lambda clf, X, y: clf.predict_proba(X, rule="mle"),
    "mean": lambda clf, X, y: clf.predict_proba(X, rule="mean"),
    "predict_joint_log_proba": lambda clf, X, y: clf.predict_joint_log_proba(X),
    "log_density": lambda clf, X, y: clf.log_density(X),
    "predict_proba_interval": lambda clf, X, y: clf.predict_proba_interval(X, draws=5, random_state=0),
    "uncertainty": lambda clf, X, y: clf.uncertainty(X, draws=5, random_state=0),
    "predict_proba_mcse": lambda clf, X, y: clf.predict_proba_mcse(X),
    "decide": lambda clf, X, y: clf.decide(X),
    "threshold_for": lambda clf, X, y: clf.threshold_for(X, 0.1),
    "estimate_class_weights": lambda clf, X, y: clf.estimate_class_weights(X, draws=20, random_state=0),
    "explain": lambda clf, X, y: clf.explain(X),
    "novelty": lambda clf, X, y: clf.novelty(X, draws=5, random_state=0),
    "averaged_proba": lambda clf, X, y: clf.averaged_proba(X),
    "score": lambda clf, X, y: clf.score(X, y),
    "partial_fit": lambda clf, X, y: copy(clf).partial_fit(X, y),
    "forget": lambda clf, X, y: copy(clf).forget(X, y),
    "loo": lambda clf, X, y: clf.loo(),
    "sample": lambda clf, X, y: clf.sample(3, random_state=0),
    "summary": lambda clf, X, y: str(clf.summary()),
    "estimates": lambda clf, X, y: clf.estimates(),
    "log_evidence": lambda clf, X, y: clf.log_evidence(),
    "expected_error_rate": lambda clf, X, y: clf.expected_error_rate(draws=5, random_state=0),
    "feature_relevance": lambda clf, X, y: clf.feature_relevance(),
    "to_datatree": lambda clf, X, y: clf.to_datatree(draws=5),
    "provenance": lambda clf, X, y: clf.provenance(),
}


#: Questions that a stack of models has no answer to.
_OF_ONE_MODEL = (
    "map", "mle", "mean", "predict_proba_mcse", "estimate_class_weights", "averaged_proba", "expected_error_rate",
    "provenance",
)  # fmt: skip


def good_rows(estimator: str) -> np.ndarray:
    return BINARY + (estimator in _POSITIVE)


def problems(estimator: str, questions: list[str]) -> Iterator[str]:
    """What ends otherwise than it should."""
    make, good = ESTIMATORS[estimator], good_rows(estimator)

    def found(where: str, action: Callable[[], Any]) -> Iterator[str]:
        result, _, complaint = attempt(action)
        if complaint:
            yield f"{estimator}, {where}: {complaint}"
        elif isinstance(result, np.ndarray) and result.dtype.kind == "f" and np.isnan(result).any():
            yield f"{estimator}, {where}: NaN among the results"

    def fit_and_ask(where: str, X: Any, y: Any, *weights: Any) -> Iterator[str]:
        clf = make()
        yield from found(f"fit, {where}", lambda: clf.fit(X, y, *weights))
        for name in questions if clf.__sklearn_is_fitted__() else ():
            yield from found(f"{name}, {where}", lambda name=name: QUESTIONS[name](clf, X, y))

    fitted = make().fit(good, CODES)
    for name, table in TABLES.items():
        yield from fit_and_ask(name, table(), CODES)
        for question in questions:
            X = table()
            yield from found(
                f"{question}, {name} after a good fit", lambda q=question, X=X: QUESTIONS[q](fitted, X, CODES)
            )
    for name, labels in LABELS.items():
        yield from fit_and_ask(f"labels: {name}", good, labels())
        for question in {"partial_fit", "score"} & set(questions):
            y = labels()
            yield from found(f"{question}, labels: {name}", lambda q=question, y=y: QUESTIONS[q](fitted, good, y))
        classes = labels()
        yield from found(
            f"classes: {name}", lambda classes=classes: make().set_params(classes=classes).fit(good, CODES)
        )
    for name, weights in WEIGHTS.items():
        if estimator == "AutoClassifier" and "1e100" in name:
            continue  # beside rows that count so much nothing is left to weigh models by
        yield from fit_and_ask(f"weights: {name}", good, CODES, weights())


@pytest.mark.parametrize("estimator", ["GaussianNB", "MixedNB"])
def test_a_right_answer_or_a_refusal(estimator: str) -> None:
    assert not list(problems(estimator, ["predict_proba"]))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_right_answer_or_a_refusal_to_every_question(estimator: str) -> None:
    questions = [name for name in QUESTIONS if estimator != "AutoClassifier" or name not in _OF_ONE_MODEL]
    assert not list(problems(estimator, questions))


#: Tables that hold the same zeros and ones in another form.
SAME = [
    "big-endian", "big-endian integers", "big-endian 16 bits", "big-endian frame", "big-endian column", "float16",
    "longdouble",
    "frame of longdouble", "frame of float16", "sparse float16", "sparse longdouble", "sparse big-endian",
    "sparse big-endian integers", "sparse truth values", "frame of sparse columns", "objects", "decimals",
    "fractions",
    "truth values", "lists", "tuples", "arrow dtypes", "polars Decimal", "polars Int128", "narwhals",
    "narwhals of polars",
    "arrow", "arrow batch", "arrow float16", "DataArray",
]  # fmt: skip


@pytest.mark.parametrize("estimator", ["BernoulliNB", "MultinomialNB", "CategoricalNB"])
@pytest.mark.parametrize("table", SAME)
def test_the_same_rows_in_another_form_give_the_same_answer(table: str, estimator: str) -> None:
    expected = ESTIMATORS[estimator]().fit(BINARY, CODES)
    X = TABLES[table]()
    clf = ESTIMATORS[estimator]().fit(X, CODES)
    np.testing.assert_allclose(clf.predict_log_proba(X), expected.predict_log_proba(BINARY), rtol=1e-12)
    assert clf.score(X, CODES) == np.mean(expected.predict(BINARY) == CODES)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("duplicate names", "column names must be unique, found 'a' more than once"),
        ("arrow, names twice", "column names must be unique, found 'a' more than once"),
        ("Dataset", "pass a DataArray of rows by columns, or the data frame of a Dataset"),
        ("DataTree", "pass a DataArray of rows by columns, or the data frame of a Dataset"),
        ("ragged lists", "row 0 holds 2 cells and row 11 holds 1"),
        ("longdouble beyond float64", r"'x1' holds inf in row 4"),
        ("huge integer", "'x1' holds the integer 10{400} in row 4"),
        ("objects and a text", "'x1' holds the text '39.1 ' in row 4"),
        ("dates", "'x0' holds dates"),
        ("durations", "'x0' holds durations"),
        ("polars List", r"'(b|x1)' holds \[1, 2\] in row 0"),
        ("polars Array", r"'(b|x1)' holds .* in row 0"),
        ("sparse objects", "sparse matrix of object"),
        ("void", "structured array"),
    ],
)
def test_refusals_name_the_column_the_value_and_the_remedy(table: str, message: str) -> None:
    fitted = bp.BernoulliNB().fit(BINARY, CODES)
    for action in (lambda X: bp.BernoulliNB().fit(X, CODES), fitted.predict, fitted.explain):
        with pytest.raises((ValueError, TypeError), match=message):
            action(TABLES[table]())


DAYS = pd.date_range("2026-01-01", periods=len(CODES))


@pytest.mark.parametrize("estimator", ["CategoricalNB", "JointCategoricalNB", "TreeNB", "MixedNB"])
@pytest.mark.parametrize(
    "cells",
    [
        pd.Series(DAYS.astype("datetime64[ns]")),
        pd.Series(DAYS.date, dtype=object),
        pd.Series(DAYS, dtype=object),
        pd.Series(DAYS.to_period("D"), dtype=object),
        pd.Series(DAYS - DAYS[0], dtype=object),
    ],
    ids=["nanoseconds", "dates", "times", "periods", "durations"],
)
def test_times_are_no_levels(estimator: str, cells: pd.Series) -> None:
    """Among objects they were levels that could not be saved."""
    with pytest.raises(TypeError, match=r"column 'day' holds (dates|durations)"):
        getattr(bp, estimator)().fit(pd.DataFrame({"day": cells}), CODES)
    clf = bp.CategoricalNB().fit(pd.DataFrame({"day": ["a", "b"] * (len(CODES) // 2)}), CODES)
    with pytest.raises(TypeError, match=r"column 'day' holds (dates|durations)"):
        clf.predict(pd.DataFrame({"day": cells}))


def test_dates_beside_a_text_are_no_levels() -> None:
    """A batch of dates alone was refused after a fit that had taken them."""
    X = pd.DataFrame({"day": pd.Series(["unknown", *DAYS.date[1:]], dtype=object)})
    with pytest.raises(TypeError, match="column 'day' holds dates"):
        bp.CategoricalNB().fit(X, CODES)


def test_batches_may_lack_a_time_in_every_row() -> None:
    X = pd.DataFrame({"w": np.arange(len(CODES)), "z": 1.0}, dtype=object)
    clf = bp.GaussianNB().fit(X, CODES)
    found, expected = (
        clf.predict_proba(X[:2].assign(w=pd.Series([gap] * 2, dtype=object))) for gap in (pd.NaT, None)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("text", "'sample_weight' holds the text 'a' in row 0|array of <U1"),
        ("a text", "'balanced'.*compute_sample_weight"),
        ("dictionary", r"\{0: 1.0, 1: 2.0\}"),
        ("None", "found nan in row 0"),
        ("NA", "found nan in row 0"),
        ("masked", "found nan in row 0"),
        ("complex object", "'sample_weight' holds .1.1j. in row 0"),
        ("1e300", "between 1e-100 and 1e.100, found 1e.300 in row 0"),
    ],
)
def test_weights_that_are_none_are_named(weights: str, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        bp.GaussianNB().fit(BINARY, CODES, WEIGHTS[weights]())


def test_rows_are_those_of_the_whole_table() -> None:
    X, y = np.tile(BINARY, (5, 1)), np.tile(CODES, 5)
    X[3 * N + 4, 1] = 7.0
    cuts = [slice(start, start + N) for start in range(0, len(X), N)]
    clf = bp.BernoulliNB(classes=[0, 1, 2])
    with pytest.raises(ValueError, match="'x1' holds 7 in row 40"):
        bp.fit_batches(clf, ((X[rows], y[rows]) for rows in cuts))
    lazy, labels = da.from_array(X, chunks=(N, 2)), da.from_array(y, chunks=N)
    with pytest.raises(ValueError, match="'x1' holds 7 in row 40"):
        clf.fit(lazy, labels)
    clf.fit(BINARY, CODES)
    with pytest.raises(ValueError, match="'x1' holds 7 in row 40"):
        clf.predict(lazy).compute()
    frame = lazy.to_dask_dataframe(columns=["x0", "x1"])
    named = bp.BernoulliNB().fit(pd.DataFrame(BINARY, columns=["x0", "x1"]), CODES)
    with pytest.raises(ValueError, match="'x1' holds 7 in row 4 of partition 3"):
        named.predict_proba(frame).compute()
    with pytest.raises(ValueError, match="'x1' holds 7 in row 40"):
        bp.BernoulliNB().fit(frame, labels.to_dask_dataframe())
    gone = da.from_array(np.where(np.arange(len(y)) == 40, np.nan, y), chunks=N)
    with pytest.raises(ValueError, match="missing label in row 40"):
        bp.BernoulliNB().fit(da.from_array(np.tile(BINARY, (5, 1)), chunks=(N, 2)), gone)


@pytest.mark.parametrize("estimator", ["GaussianNB", "BernoulliNB", "AutoClassifier"])
def test_no_rows_have_no_probabilities(estimator: str) -> None:
    clf = ESTIMATORS[estimator]().fit(BINARY, CODES)
    none = np.empty((0, 2))
    assert clf.predict_proba(none).shape == (0, 3)
    assert clf.predict_proba_interval(none, draws=5)["mean"].shape == (0, 3)
    assert clf.uncertainty(none, draws=5)["total"].shape == (0,)
    with pytest.raises(ValueError, match="X has no rows, so that there is nothing to score"):
        clf.score(none, [])


#: What only some questions to some estimators met, each a kind that the long test has found once.
_FOUND: dict[str, Callable[[], Any]] = {
    "sums beyond float64": lambda: _of("exponential", TABLES["all 1e308"]()),
    "rates times numbers beyond float64": lambda: _of("exponential").uncertainty(TABLES["all 1e308"](), draws=5),
    "draws beyond float64": lambda: _of("log-normal", TABLES["all 1e308"]()).sample(3, random_state=0),
    "weights that drown a prior": lambda: _of("QDA", BINARY, WEIGHTS["1e-100 and 1e100"]()),
    "counts that rounding leaves nothing of": lambda: _of(
        "CategoricalNB", BINARY, WEIGHTS["1e-100 and 1e100"]()
    ).loo(),
    "counts as objects": lambda: _of("MultinomialNB").explain(TABLES["objects"]()),
}


def _of(estimator: str, *data: Any) -> Any:
    X, *weights = data or (good_rows(estimator),)
    return ESTIMATORS[estimator]().fit(X, CODES, *weights)


@pytest.mark.parametrize("kind", _FOUND)
def test_what_the_long_test_found(kind: str) -> None:
    _, _, complaint = attempt(_FOUND[kind])
    assert not complaint


@pytest.mark.parametrize("table", ["sparse", "sparse float16", "sparse big-endian"])
def test_a_stack_of_dense_rows_takes_sparse_ones(table: str) -> None:
    stack = bp.AutoClassifier().fit(BINARY, CODES)
    np.testing.assert_allclose(stack.predict_proba(TABLES[table]()), stack.predict_proba(BINARY), rtol=1e-12)
