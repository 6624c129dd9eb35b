"""Sparse counts: what is not stored is a count of zero, and every answer is that of the dense table."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import bayesppl as bp

FAMILIES = {
    "poisson": bp.Poisson(bp.Gamma(0.4, 1.5)),
    "poisson, default prior": bp.Poisson(),
    "binomial": bp.Binomial(6, probability=bp.Beta(0.5, 2.0)),
    "binomial, trials by column": bp.Binomial([6, 9, 7, 6, 8]),
    "negative binomial": bp.NegativeBinomial(1.3, probability=bp.Beta(2.0, 0.5)),
    "negative binomial, size by column": bp.NegativeBinomial([0.4, 2.0, 9.5, 1.0, 0.1]),
}
FORMATS: dict[str, Callable[[Any], Any]] = {"csr": sp.csr_array, "csc": sp.csc_matrix, "coo": sp.coo_array}

_rng = np.random.default_rng(5)
Y = np.repeat(list("abc"), [14, 11, 5])
X = _rng.poisson([0.2, 0.6, 1.5, 0.1, 0.4], (30, 5)).clip(max=6) * (_rng.random((30, 5)) < 0.7)
NEW = _rng.poisson(1.0, (12, 5)).clip(max=6)
FEW_WEIGHTS, MANY_WEIGHTS = np.where(np.arange(30) % 3, 1.0, 2.5), _rng.uniform(0.5, 2.0, 30)

ANSWERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "predictive": lambda clf, X, new: clf.predict_joint_log_proba(new),
    "mean": lambda clf, X, new: clf.predict_joint_log_proba(new, rule="mean"),
    "mle": lambda clf, X, new: clf.predict_joint_log_proba(new, rule="mle"),
    "proba": lambda clf, X, new: clf.predict_proba(new),
    "proba of one row": lambda clf, X, new: clf.predict_proba(new[:1]),
    "densities": lambda clf, X, new: clf.log_density(new),
    "evidence": lambda clf, X, new: [float(part.sum()) for part in clf.log_evidence().data_vars.values()],
    "leave-one-out": lambda clf, X, new: clf.loo().log_joint,
    "interval": lambda clf, X, new: clf.predict_proba_interval(new, draws=50, random_state=0).to_array(),
    "uncertainty": lambda clf, X, new: clf.uncertainty(new, draws=50, random_state=0).to_array(),
    "novelty": lambda clf, X, new: clf.novelty(new, draws=50, random_state=0).to_array(),
    "sample": lambda clf, X, new: clf.sample(40, random_state=0)[0],
    "relevance": lambda clf, X, new: clf.feature_relevance().to_array(),
    "averaged": lambda clf, X, new: clf.averaged_proba(new),
    "forgotten": lambda clf, X, new: clf.forget(X[:9], Y[:9]).predict_joint_log_proba(new),
    "discounted": lambda clf, X, new: clf.discount(0.5).partial_fit(X[:9], Y[:9]).predict_joint_log_proba(new),
}


@pytest.mark.parametrize("of_format", FORMATS)
@pytest.mark.parametrize("name", FAMILIES)
def test_sparse_rows_have_the_probabilities_of_dense_ones(name: str, of_format: str) -> None:
    make = FORMATS[of_format]
    dense = bp.GenerativeClassifier(FAMILIES[name]).fit(X, Y)
    sparse = bp.GenerativeClassifier(FAMILIES[name]).fit(make(X), Y)
    np.testing.assert_allclose(
        sparse.predict_joint_log_proba(make(NEW)), dense.predict_joint_log_proba(NEW), rtol=1e-12
    )


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_answer_of_sparse_rows_is_that_of_dense_ones(name: str, answer: str) -> None:
    found = [
        ANSWERS[answer](bp.GenerativeClassifier(FAMILIES[name]).fit(rows, Y), rows, new)
        for rows, new in ((sp.csr_array(X), sp.csr_array(NEW)), (X, NEW))
    ]
    np.testing.assert_allclose(*map(np.asarray, found), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weights", [FEW_WEIGHTS, MANY_WEIGHTS], ids=["few weights", "many weights"])
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_batches_and_leave_one_out_of_sparse_rows(name: str, weights: np.ndarray) -> None:
    dense, sparse = (bp.GenerativeClassifier(FAMILIES[name]) for _ in range(2))
    for clf, rows in ((dense, X), (sparse, sp.csr_array(X))):
        clf.fit(rows, Y, weights)
    np.testing.assert_allclose(sparse.loo().log_joint, dense.loo().log_joint, rtol=1e-12)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(NEW)), dense.predict_proba(NEW), rtol=1e-12)
    batches = bp.GenerativeClassifier(FAMILIES[name], classes=list("abc"))
    for batch in np.array_split(np.random.default_rng(0).permutation(30), 4):
        batches.partial_fit(sp.csr_array(X)[batch], Y[batch], sample_weight=weights[batch])
    np.testing.assert_allclose(batches.predict_proba(NEW), dense.predict_proba(NEW), rtol=1e-12)


def test_left_out_sparse_rows_have_the_density_of_a_refit() -> None:
    loo = bp.PoissonNB(bp.Gamma(0.4, 1.5)).fit(sp.csr_array(X), Y).loo()
    for row in (0, 17, 29):
        others = np.arange(30) != row
        refitted = bp.PoissonNB(bp.Gamma(0.4, 1.5)).fit(X[others], Y[others])
        expected = refitted.predict_joint_log_proba(X[[row]])[0]
        np.testing.assert_allclose(loo.log_joint[row], expected, rtol=1e-12)


def test_plug_in_densities_of_sparse_rows_are_scipys() -> None:
    clf = bp.PoissonNB(rule="mean", class_weights="uniform").fit(sp.csr_array(X), Y)
    rate = clf.estimates(["mean"])["rate"].to_numpy()[0]
    expected = stats.poisson(rate).logpmf(NEW[:, None, :]).sum(-1) - np.log(3)
    np.testing.assert_allclose(clf.predict_joint_log_proba(sp.csr_array(NEW)), expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesppl.ImpossibleRowWarning")
@pytest.mark.parametrize(
    ("family", "most"), [(bp.Poisson(), 0), (bp.Binomial(2), 2), (bp.NegativeBinomial(2.0), 0)]
)
def test_cells_of_no_probability_make_sparse_rows_impossible(family: Any, most: int) -> None:
    rows = np.array([[most, 1], [most, 0], [1, 2], [0, 1]])
    new = np.array([[0, 0], [2, 0], [1, 1], [2, 2]])
    found = [
        bp.GenerativeClassifier(family, rule="mle").fit(fit, list("aabb")).predict_joint_log_proba(score)
        for fit, score in ((sp.csr_array(rows), sp.csr_array(new)), (rows, new))
    ]
    assert np.isneginf(found[1][:, 0]).any()
    np.testing.assert_allclose(*found, rtol=1e-12)


def test_cells_that_are_stored_twice_or_hold_zero_count_once() -> None:
    twice = sp.csr_array((np.array([1, 2, 0, 4]), np.array([0, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert not twice.has_canonical_format
    found = bp.PoissonNB().fit(twice, ["a", "b"]).predict_joint_log_proba(twice)
    dense = np.array([[3, 0], [4, 0]])
    np.testing.assert_allclose(
        found, bp.PoissonNB().fit(dense, ["a", "b"]).predict_joint_log_proba(dense), rtol=1e-12
    )


def test_refusals_name_the_cell_or_the_column() -> None:
    counts = sp.csr_array(np.array([[0, 2], [7, 0], [1, 0]]))
    with pytest.raises(ValueError, match="column 'x0' holds 7 successes in row 1, more than its 6 trials"):
        bp.BinomialNB(trials=6).fit(counts, list("aab"))
    assert bp.BinomialNB(trials=7).fit(counts, list("aab")).class_count_.tolist() == [2, 1]
    with pytest.raises(ValueError, match="column 'x1' holds -2 in row 0"):
        bp.PoissonNB().fit(sp.csr_array(np.array([[0, -2], [1, 0]])), list("ab"))
    with pytest.raises(TypeError, match=r"exposure='x1'.*X\.toarray\(\)"):
        bp.PoissonNB(exposure="x1").fit(counts, list("aab"))


@pytest.mark.parametrize("family", [bp.Poisson(), bp.NegativeBinomial(0.5)], ids=["poisson", "negative binomial"])
def test_memory_follows_the_stored_counts(family: Any) -> None:
    n_rows, n_columns = 20_000, 50_000  # eight gigabytes, if they were dense
    rng = np.random.default_rng(0)
    counts = sp.random_array((n_rows, n_columns), density=2e-4, format="csr", rng=rng)
    counts.data = rng.integers(1, 5, counts.nnz)
    y = np.arange(n_rows) % 2
    tracemalloc.start()
    clf = bp.GenerativeClassifier(family).fit(counts, y)
    clf.predict_proba(counts)
    loo = clf.loo()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(loo.log_joint).all()
    assert peak < 1.5e8
