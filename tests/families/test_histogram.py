"""Histograms: integrals to one, evidence by enumeration of the urn, and Knuth's number of bins."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

import bayesppl as bp
from bayesppl.families.choosing.bins import Ordered, best_bins, bounds_of, log_evidence


def urn(bins, n_bins, alpha):
    """Log probability of a sequence of bins, one draw at a time (Pólya's urn)."""
    weights, total = np.full(n_bins, alpha), 0.0
    for m in bins:
        total += np.log(weights[m] / weights.sum())
        weights[m] += 1
    return total


def test_the_density_integrates_to_one_in_every_class():
    X, y = np.array([0.2, 0.7, 1.5, 2.9, 8.0, -3.0, np.nan])[:, None], list("aabbbab")
    clf = bp.GenerativeClassifier(bp.Histogram(edges=[0, 1, 3, 4]), class_weights="uniform").fit(X, y)
    for k in range(2):
        pieces = [(-300, 0), (0, 1), (1, 3), (3, 4), (4, 300)]
        found = [
            quad(lambda x, k=k: 2 * np.exp(clf.predict_joint_log_proba([[x]])[0, k]), *ends)[0] for ends in pieces
        ]
        np.testing.assert_allclose(sum(found), 1.0, rtol=1e-6)


def test_the_evidence_is_that_of_an_urn_over_the_widths():
    X, y = np.array([0.2, 0.7, 1.5, 2.9, 3.0, np.nan])[:, None], list("aaabbb")
    clf = bp.GenerativeClassifier(bp.Histogram(edges=[0, 1, 3])).fit(X, y)
    found = clf.log_evidence()["features"].values[:, 0]
    expected = [urn([1, 1, 2], 4, 0.5) - np.log(2), urn([2, 2], 4, 0.5) - 2 * np.log(2)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_knuths_formula():
    counts, widths = np.array([[3.0, 0.0, 7.0]]), np.array([0.5, 0.5, 0.5])
    m, n, v = 3, 10, 1.5
    knuth = n * np.log(m / v) + gammaln(m / 2) - m * gammaln(0.5) - gammaln(n + m / 2)
    knuth += gammaln(counts + 0.5).sum()
    np.testing.assert_allclose(log_evidence(counts, widths, 0.5)[0], knuth, rtol=1e-12)


def test_a_flat_column_has_few_bins_and_a_comb_has_many():
    rng = np.random.default_rng(0)
    flat, comb = (
        rng.uniform(size=2000),
        rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 2000) + rng.uniform(-0.01, 0.01, 2000),
    )
    bins = [best_bins([Ordered.of(x)], ["equal"], 0.5, bounds_of(x, 0.0), 0.0).edges for x in (flat, comb)]
    assert len(bins[0]) <= 3
    assert len(bins[1]) > 30


def test_bins_are_never_narrower_than_the_rounding():
    x = np.random.default_rng(1).integers(0, 12, 5000).astype(float)
    family = bp.Histogram().bind(_table(x), ("a",))
    assert np.diff(family.places[0]).min() >= 1 - 1e-9


@pytest.mark.parametrize("values", [[0, 1], [2.5, 7.123], [0, 1, 2]])
def test_quantiles_at_the_ends_leave_no_value_out(values):
    """With half of the rows at the least or the largest value, an edge at a quantile would be at an end."""
    column = np.repeat(values, [60] + [30] * (len(values) - 1))[:, None]
    for x in (column, -column):
        family = bp.Histogram(2, spacing="quantile")
        clf = bp.GenerativeClassifier(family).fit(x, column[:, 0] == values[0])
        assert clf.score(x, column[:, 0] == values[0]) == 1


def test_a_frequent_largest_value_takes_the_edge_beside_it():
    """Of 0 to 4 the last two hold 30 and 40 of 100 rows: an edge at 3 would be half a step from one at 3.5."""
    x = np.repeat(np.arange(5.0), [10, 10, 10, 30, 40])[:, None]
    clf = bp.GenerativeClassifier(bp.Histogram(5, spacing="quantile")).fit(x, x[:, 0] == 4)
    assert clf.fitted_.model.family.places == ((-0.5, 2.0, 3.5, 4.5),)
    assert clf.score(x, x[:, 0] == 4) == 1


def test_an_edge_that_has_no_room_takes_none_away():
    x = np.r_[np.linspace(0, 9, 50), np.full(30, 9.999985), np.full(40, 10.0)][:, None]
    clf = bp.GenerativeClassifier(bp.Histogram(4, spacing="quantile")).fit(x, x[:, 0] == 10)
    assert 9.999985 in clf.fitted_.model.family.places[0]


def test_weighted_counts_are_those_of_repeated_rows():
    x, weights, edges = np.array([0.5, 1.0, 2.2, 2.8]), np.array([1, 3, 2, 1]), np.array([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(Ordered.of(x, weights).counts(edges), np.histogram(x.repeat(weights), edges)[0])


def test_simulated_rows_fall_where_the_probabilities_say():
    clf = bp.GenerativeClassifier(bp.Histogram(edges=[0, 1, 3])).fit([[0.5], [2.0], [2.5], [7.0]], list("abab"))
    X, y = clf.sample(20_000, random_state=0)
    theta_mean = clf.posterior_.mean()["probability"]
    share = np.mean(X[y == "a", 0] < 0)
    # one draw of the parameters for each row: the share is the posterior mean
    n = (y == "a").sum()
    assert abs(share - theta_mean[0, 0]) < 5 * np.sqrt(theta_mean[0, 0] / n)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (bp.Histogram(edges=[0, 2, 1]), "must be at least two finite numbers that ascend"),
        (bp.Histogram(edges={"other": [0, 1]}), "no edges are given for column 'x'"),
        (bp.Histogram(0), "positive integer or 'evidence'"),
        (bp.Histogram(spacing="log"), "spacing must be one of 'equal', 'quantile'"),
    ],
)
def test_refusals(family, words):
    with pytest.raises(ValueError, match=words):
        bp.GenerativeClassifier(family).fit(pd.DataFrame({"x": [1.0, 2.0]}), ["a", "b"])


def test_a_column_without_values_is_refused_unless_its_edges_are_declared():
    X = pd.DataFrame({"x": [np.nan, np.nan]})
    with pytest.raises(ValueError, match="'x' has no value in these rows to place bins by"):
        bp.GenerativeClassifier(bp.Histogram()).fit(X, ["a", "b"])
    bp.GenerativeClassifier(bp.Histogram(edges=[0, 1])).fit(X, ["a", "b"])


def _table(x):
    from bayesppl.data.read_table import as_table

    return as_table(x[:, None])


@pytest.mark.parametrize("bins", ["evidence", 7])
@pytest.mark.parametrize("spacing", ["equal", "quantile"])
@pytest.mark.parametrize("inflated", [False, True])
def test_a_row_of_weight_two_places_bins_like_two_rows(bins, spacing, inflated):
    rng = np.random.default_rng(4)
    X, y = rng.gamma(2.0, size=(120, 2)), rng.integers(0, 2, 120)
    weights = rng.integers(0, 4, 120)
    family = bp.Histogram(bins, spacing)
    family = bp.ZeroInflated(family) if inflated else family
    weighted = bp.GenerativeClassifier(family).fit(X, y, weights)
    repeated = bp.GenerativeClassifier(family).fit(X.repeat(weights, 0), y.repeat(weights))
    np.testing.assert_allclose(
        weighted.predict_joint_log_proba(X), repeated.predict_joint_log_proba(X), rtol=1e-10
    )


def test_forgotten_rows_leave_their_bins():
    x = np.append(np.random.default_rng(3).normal(size=40), 90.0)[:, None]
    y = np.arange(41) % 2
    clf = bp.GenerativeClassifier(bp.Histogram(bins=5)).fit(x, y)
    edges = clf.fitted_.model.family.places[0]
    clf.forget(x[-1:], y[-1:])
    assert clf.fitted_.model.family.places[0] == edges
    assert edges[-1] >= 90
    declared = bp.GenerativeClassifier(bp.Histogram(edges=edges)).fit(x[:-1], y[:-1])
    np.testing.assert_allclose(clf.predict_proba(x), declared.predict_proba(x), rtol=1e-12)


@pytest.mark.parametrize(
    "family",
    [bp.Histogram(3), bp.Histogram(3, "quantile"), bp.Histogram(), bp.ZeroInflated(bp.Histogram(3))],
    ids=str,
)
def test_bins_placed_by_the_first_batch_are_those_of_all(family):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    X[rng.random(60) < 0.2, 0] = 0.0
    clf = bp.GenerativeClassifier(family, classes=[0, 1]).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    bound = clf.posterior_.model.family
    first = bp.GenerativeClassifier(family).fit(X[:20], y[:20])
    assert bound.bound.coords == first.posterior_.model.family.bound.coords
    whole = first.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=1e-10)
    clf.forget(X[20:], y[20:])
    again = bp.GenerativeClassifier(family).fit(X[:20], y[:20])
    np.testing.assert_allclose(clf.predict_proba(X), again.predict_proba(X), rtol=1e-9)
