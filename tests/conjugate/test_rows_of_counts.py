"""Outcomes of tables and counts of words: their quicker formulas are the generic ones of the Dirichlet pair."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate import pair_forms as generic
from bayesppl.conjugate.fast_paths import FAST_PATHS
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.outcomes import Outcomes, Tables, completed
from bayesppl.conjugate.words import Words
from bayesppl.data.labels import one_hot

N_ROWS, N_CLASSES = 60, 3
TABLES = Tables(((0,), (1, 2), (3,)), (3, 2, 4, 1), tuple("abcd"))
RNG = np.random.default_rng(0)
CODES = RNG.integers(N_CLASSES, size=N_ROWS)


def outcomes() -> Outcomes:
    rng = np.random.default_rng(1)
    X = np.stack([rng.integers(size, size=N_ROWS) for size in TABLES.n_levels], axis=1).astype(np.int8)
    X[rng.random(N_ROWS) < 0.2, 0] = -1
    return Outcomes(X, TABLES)


def words(scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(2)
    return scale * rng.poisson(rng.choice([0, 0, 1, 3, 100], (N_ROWS, 9)))


ROWS = {
    "outcomes": outcomes(),
    "dense words": Words(words()),
    "sparse words": Words(csr_array(words())),
    "fractions of words": Words(csr_array(words(0.7)), np.linspace(-1, 1, N_ROWS)),
}
WEIGHTS = {
    "ones": np.ones(N_ROWS),
    "few weights": 1.0 + np.arange(N_ROWS) % 2,
    "many weights": RNG.uniform(0.5, 2, N_ROWS),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_quicker_formulas_are_the_generic_ones(rows: Any, weights: np.ndarray) -> None:
    statistics = rows.sum_rows(one_hot(CODES, N_CLASSES, weights))
    sizes = TABLES.sizes if isinstance(rows, Outcomes) else ()
    prior = Dirichlet(np.linspace(0.3, 3, statistics.counts.shape[1])).sized(statistics.counts.shape, sizes)
    posterior = prior.update(statistics)
    key, members = (Dirichlet, type(rows)), Membership(CODES, weights)
    expected = generic.generic_log_predictive(posterior, N_CLASSES)(rows)
    np.testing.assert_allclose(FAST_PATHS[key].log_predictive(posterior)(rows), expected, rtol=1e-11, atol=1e-12)
    fitted, without = generic.leave_one_out(posterior, statistics, rows, members, N_CLASSES)
    np.testing.assert_allclose(fitted, expected, rtol=1e-11, atol=1e-12)
    own = generic.own_class_without(posterior, rows, members)
    np.testing.assert_allclose(members.own(without), own, rtol=1e-9)
    common = prior.select_classes(np.array([0])).update(statistics.pooled())
    log_odds = np.linspace(-1, 1, len(sizes)) if sizes else np.asarray(0.3)
    averaged = FAST_PATHS[key].inclusion_averaged(posterior, common, log_odds)(rows)
    expected = generic.generic_average(posterior, common, log_odds, N_CLASSES)(rows)
    np.testing.assert_allclose(averaged, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_sums_are_those_of_the_single_rows(rows: Any) -> None:
    responsibilities = one_hot(CODES, N_CLASSES, WEIGHTS["many weights"])
    found = rows.sum_rows(responsibilities)
    total = 0.0
    for block, statistics in rows.blocks():
        total = total + responsibilities[block].T @ statistics.counts
    np.testing.assert_allclose(found.counts, total, rtol=1e-12)


def test_rows_that_lack_a_level_are_a_margin_of_their_table() -> None:
    probability = np.random.default_rng(3).dirichlet(np.ones(sum(TABLES.sizes)), 2)
    density = Outcomes.log_likelihood(probability, TABLES.sizes)
    lacking = density(Outcomes(np.array([[-1, 1, -1, -1]]), TABLES))
    each = [density(Outcomes(np.array([[-1, 1, level, -1]]), TABLES)) for level in range(4)]
    np.testing.assert_allclose(lacking, np.logaddexp.reduce(each, axis=0), rtol=1e-12)


def test_incomplete_rows_are_completed_with_all_levels_some_at_a_time(monkeypatch):
    tables = Tables(((0,), (1,), (2,)), (3, 2, 4), tuple("abc"))
    codes = np.array([[-1, 1, -1], [2, 0, 3], [-1, 0, -1], [0, -1, 1]])
    for counted in (1, 20, 1 << 22):
        monkeypatch.setattr("bayesppl.conjugate.outcomes._COUNTED", counted)
        found = {tuple(places): np.concatenate(list(rows)) for places, rows in completed(codes, tables, 12)}
        assert {places: len(rows) for places, rows in found.items()} == {(0, 2): 24, (3,): 2}
        each = {tuple(row) for row in found[0, 2].tolist()}
        assert each == {(a, b, c) for a in range(3) for b in (0, 1) for c in range(4)}
        assert found[0, 2][::2, 1].tolist() == [1] * 12  # one copy of all rows after the other
    with pytest.raises(ValueError, match=r"lacks the levels of columns 'a', 'c'.* 12 combinations.*at most 11"):
        list(completed(codes, tables, 11))
