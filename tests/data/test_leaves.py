"""Leaves of trees, against scikit-learn's own, and rows left out, against fits without them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax, logit
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

import bayesppl as bp
from bayesppl.data.leaves import Leaves
from bayesppl.data.recoding import Recoding
from bayesppl.estimators.given_candidates import fit_and_leave_out
from bayesppl.estimators.reading import read_all

WINE, CULTIVARS = load_wine(return_X_y=True)
SOME = np.random.default_rng(0).permutation(len(WINE))[:60]


def grown(codes: np.ndarray, tries_half: bool = False) -> tuple[Leaves, np.ndarray]:
    rows = read_all(WINE[SOME], codes, None, None)
    leaves = Leaves(Recoding("filled", few="filled").fit(WINE[SOME]), tries_half, divisions=3)
    return leaves, leaves.grow(rows.table, rows.codes, rows.weights)


@pytest.mark.parametrize("tries_half", [False, True])
def test_leaves_are_those_of_trees_that_two_thirds_of_the_rows_grow(tries_half: bool) -> None:
    X, y = WINE.astype(np.float32), CULTIVARS[SOME]
    leaves, seen = grown(y, tries_half=tries_half)
    order = np.argsort(np.cos(X[SOME].sum(1, dtype=np.float64)) @ X[SOME])
    found = np.asarray(leaves.transform(WINE).numeric())
    assert (seen.reshape(len(seen), 3, 3).sum(2) == 2).all()  # all but one of the trees of a division
    assert set(seen.sum(0)) == {40}
    n_tried = 6 if tries_half else 3  # of thirteen columns
    for tree, own in enumerate(seen.T):
        expected = DecisionTreeClassifier(max_features=n_tried, random_state=tree)
        expected.fit(X[SOME][own][:, order], y[own])
        np.testing.assert_array_equal(found[:, tree] - leaves.roots_[tree], expected.apply(X[:, order]))


def test_one_column_is_enough() -> None:
    X = np.linspace(0, 1, 60)[:, None]
    y = (X[:, 0] > 0.3) & (X[:, 0] < 0.6)
    rows = read_all(X, y, None, None)
    leaves = Leaves(Recoding("filled", few="filled").fit(X), tries_half=True, divisions=3)
    seen = leaves.grow(rows.table, rows.codes, rows.weights)
    cells = np.asarray(leaves.transform(X).numeric())
    for column, own in zip(cells.T, seen.T, strict=True):  # a leaf is of one class among the rows that grew it
        assert all(len(set(y[own & (column == leaf)])) == 1 for leaf in set(column[own]))


def test_a_label_changes_no_tree_that_has_not_seen_it() -> None:
    y = CULTIVARS[SOME].copy()
    leaves, seen = grown(y)
    y[0] = (y[0] + 1) % 3
    others, still_seen = grown(y)
    np.testing.assert_array_equal(seen, still_seen)
    unseen = ~seen[0]
    for before, after in zip(cells_by_tree(leaves, unseen), cells_by_tree(others, unseen), strict=True):
        np.testing.assert_array_equal(before, after)
    assert any(
        not np.array_equal(before, after)
        for before, after in zip(cells_by_tree(leaves, ~unseen), cells_by_tree(others, ~unseen), strict=True)
    )


def cells_by_tree(leaves: Leaves, some: np.ndarray) -> list[np.ndarray]:
    """For each of some trees, which rows share a cell."""
    cells = np.asarray(leaves.transform(WINE).numeric())[:, some]
    return [column[:, None] == column for column in cells.T]


def test_rows_are_left_out_as_if_they_were_not_there() -> None:
    """By the shares of the other rows of each class in the cells of trees that have not seen the row."""
    y, alpha = CULTIVARS[SOME], 0.1
    rows = read_all(WINE[SOME], y, None, None)
    recoding = Leaves(Recoding("filled", few="filled").fit(WINE[SOME]), divisions=3)
    model = bp.GenerativeClassifier(bp.Categorical(bp.Dirichlet(alpha)))
    found = fit_and_leave_out("leaves", recoding, model, rows)
    cells, seen = np.asarray(recoding.transform(WINE[SOME]).numeric()), grown(y)[1]
    log_density = np.zeros((len(y), 3))
    weights = np.zeros((len(y), 3))
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        weights[row] = np.log((np.bincount(y[rest]) + 1) / (len(y) - 1 + 3))
        for tree in np.flatnonzero(~seen[row]):
            n_cells = len(set(cells[:, tree])) + 1  # one for what is new
            for k in range(3):
                own = cells[rest & (y == k), tree]
                share = ((own == cells[row, tree]).sum() + alpha) / (len(own) + alpha * n_cells)
                log_density[row, k] += np.log(share)
    # a new row is seen by three times as many trees
    expected = log_softmax(log_density / (found.member.temperature / 3) + weights, axis=1)
    np.testing.assert_allclose(found.log_proba, expected, rtol=1e-9)


def test_neither_order_nor_weights_in_place_of_repetitions_matter() -> None:
    twice = np.r_[np.arange(60), np.arange(20)]
    order = np.random.default_rng(1).permutation(80)

    def trees(some: np.ndarray, weights: np.ndarray | None = None) -> Leaves:
        rows = read_all(WINE[SOME][some], CULTIVARS[SOME][some], weights, None)
        leaves = Leaves(Recoding("filled", few="filled").fit(WINE[SOME]), divisions=3)
        leaves.grow(rows.table, rows.codes, rows.weights)
        return leaves

    repeated = trees(twice)
    for other in (trees(twice[order]), trees(np.arange(60), 1.0 + (np.arange(60) < 20))):
        for name in ("columns_", "thresholds_", "children_", "roots_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(repeated, name))


def test_the_order_of_columns_does_not_matter() -> None:
    """Of numbers, and of truth values that are often true for equally many rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((60, 3)), columns=list("abc"))
    X[list("uvwxyz")] = rng.random((60, 6)) < 0.5
    y = np.where((X["a"] > 0.5) ^ (X["u"] & X["v"]), "yes", "no")
    other = X[list("vxacwzbyu")]
    found, expected = (bp.AutoClassifier().fit(table[:50], y[:50]) for table in (other, X))
    np.testing.assert_allclose(found.predict_proba(other), expected.predict_proba(X), rtol=1e-9)
    trees = [Leaves(Recoding("filled", few="filled").fit(table)) for table in (other, X)]
    for leaves, table in zip(trees, (other, X), strict=True):
        rows = read_all(table, y, None, None)
        leaves.grow(rows.table, rows.codes, rows.weights)
    np.testing.assert_array_equal(trees[0].thresholds_, trees[1].thresholds_)


def test_a_row_of_weight_zero_is_no_row() -> None:
    weights = np.zeros(len(WINE))
    weights[SOME] = 1.0
    few, all_rows = (read_all(WINE[at], CULTIVARS[at], weights[at], None) for at in (np.sort(SOME), slice(None)))
    grown = [Leaves(Recoding("filled", few="filled").fit(WINE[SOME]), divisions=3) for _ in range(2)]
    for leaves, rows in zip(grown, (few, all_rows), strict=True):
        leaves.grow(rows.table, rows.codes, rows.weights)
    for name in ("columns_", "thresholds_", "children_", "roots_", "stand_ins_"):
        np.testing.assert_array_equal(getattr(grown[0], name), getattr(grown[1], name))


def test_a_box_among_noise_is_seen_saved_and_explained(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((600, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["u", "v"], 600)
    inside = (X["a"] > 0.4) & (X["b"] < 0.6) & (X["kind"] == "u")
    y = np.where(inside ^ (rng.random(600) < 0.05), "in", "out")
    clf = bp.AutoClassifier().fit(X[:300], y[:300])
    assert clf.weights_["model"][0] == "leaves"
    assert clf.score(X[300:], y[300:]) > 0.85
    new = X[300:302].assign(a=[0.9, None])
    clf.save(tmp_path / "stack.npz")
    loaded = bp.load(tmp_path / "stack.npz")
    np.testing.assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))
    found = loaded.explain(new)
    total = (found["weight"].sum("feature") + found["prior"]).transpose("row", "class")
    np.testing.assert_allclose(total, logit(clf.predict_proba(new)), rtol=1e-8)
    assert set(abs(found["weight"]).mean(("row", "class")).to_series().nlargest(3).index) <= {"a", "b", "kind"}


def test_a_tree_that_asks_for_a_missing_cell_says_nothing() -> None:
    leaves, seen = grown(CULTIVARS[SOME])
    order = np.argsort(
        np.cos(WINE[SOME].astype(np.float32).sum(1, dtype=np.float64)) @ WINE[SOME].astype(np.float32)
    )
    gone = WINE.copy()
    gone[:, 6] = np.nan
    complete, found = (np.asarray(leaves.transform(rows).numeric()) for rows in (WINE, gone))
    silent = np.isnan(found)
    np.testing.assert_array_equal(found[~silent], complete[~silent])
    for tree, own in enumerate(seen.T):
        X = WINE.astype(np.float32)[:, order]
        model = DecisionTreeClassifier(max_features="sqrt", random_state=tree).fit(
            X[SOME][own], CULTIVARS[SOME][own]
        )
        asks = model.tree_.feature == np.flatnonzero(order == 6)[0]
        np.testing.assert_array_equal(silent[:, tree], model.decision_path(X) @ asks > 0)
    assert 0.1 < silent.mean() < 0.9
