"""Averaged trees: every closed form against the sum over all trees of five columns."""

from itertools import pairwise, product
from math import log

import numpy as np
import pandas as pd
import pytest
from kernels.test_tree_sums import every_tree
from scipy.special import gammaln, logsumexp

import bayesppl as bp

SIZES = (2, 3, 2, 3, 2)
LEVELS = {f"c{j}": list(range(size)) for j, size in enumerate(SIZES)}
STRENGTH = 2.5
TREES = every_tree(5)


def table(n_rows, seed=0):
    """Columns that depend on the ones before them, in one class more than in the other."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["u", "v"], [n_rows - n_rows // 3, n_rows // 3])
    X = rng.integers(0, SIZES, (n_rows, 5))
    for j, (size, kept) in enumerate(zip(SIZES[1:], (0.8, 0.2, 0.6, 0.4), strict=True)):
        copied = rng.random(n_rows) < np.where(y == "u", kept, 0.3)
        X[copied, j + 1] = X[copied, j] % size
    return pd.DataFrame(X, columns=list(LEVELS)), y


X, Y = table(60)
NEW, _ = table(9, seed=1)
TREE_KINDS = pytest.mark.parametrize("tree", ["common", "per_class"])


def fitted(tree="common", X=X, y=Y, weights=None, prior=STRENGTH, levels=LEVELS, **options):
    return bp.TreeNB(tree, prior, levels=levels, **options).fit(X, y, weights)


def log_evidence_of_table(X, columns):
    """Log evidence of the joint counts of some columns under BDeu counts."""
    shape = [SIZES[j] for j in columns]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(X[:, j] for j in columns), 1)
    alpha = np.full(shape, STRENGTH / np.prod(shape))
    return (gammaln(alpha + counts) - gammaln(alpha)).sum() + gammaln(STRENGTH) - gammaln(STRENGTH + len(X))


def log_evidence_of_trees(X):
    """Log evidence of the rows of one class given each tree."""
    singles = [log_evidence_of_table(X, [j]) for j in range(5)]
    gained = np.zeros((5, 5))
    for j, i in zip(*np.tril_indices(5, -1), strict=True):
        gained[i, j] = log_evidence_of_table(X, [i, j]) - singles[i] - singles[j]
    return sum(singles) + (TREES * gained).sum((1, 2))


def log_evidence(tree, X, y):
    """Log evidence of rows given their labels, the average over all trees."""
    of_trees = [log_evidence_of_trees(X[y == label]) for label in "uv"]
    if tree == "common":
        return logsumexp(sum(of_trees)) - log(125)
    return sum(logsumexp(each) - log(125) for each in of_trees)


@TREE_KINDS
def test_evidence_and_predictive_are_sums_over_all_trees(tree):
    clf, rows = fitted(tree, class_weights="uniform"), X.to_numpy()
    before = log_evidence(tree, rows, Y)
    np.testing.assert_allclose(clf.log_evidence()["features"].sum(), before, rtol=1e-12)
    found = clf.predict_joint_log_proba(NEW)
    for row, new in enumerate(NEW.to_numpy()):
        for k, label in enumerate("uv"):
            after = log_evidence(tree, np.vstack([rows, new]), np.append(Y, label))
            np.testing.assert_allclose(found[row, k], after - before + log(0.5), rtol=1e-10)


@TREE_KINDS
def test_edges_have_the_probability_of_all_trees_with_them(tree):
    clf = fitted(tree)
    of_trees = np.array([log_evidence_of_trees(X.to_numpy()[label == Y]) for label in "uv"])
    if tree == "common":
        of_trees = of_trees.sum(0, keepdims=True)
    expected = np.einsum("kt,tij->kij", np.exp(of_trees - logsumexp(of_trees, 1, keepdims=True)), TREES)
    found, size = clf.edge_probabilities(), 4000
    assert found.dims == ("column", "neighbour") if tree == "common" else ("class", "column", "neighbour")
    np.testing.assert_allclose(found.to_numpy().reshape(expected.shape), expected, atol=1e-12)
    drawn = clf.sample_trees(size, random_state=0)
    assert (drawn.sum(["column", "neighbour"]) == 8).all()
    error = np.sqrt(found * (1 - found) / size)
    assert (abs(drawn.mean("draw") - found) <= 5 * error + 1 / size).all()


@TREE_KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_is_a_fit_without_it(tree, weighted):
    weights = np.random.default_rng(3).choice([0.5, 1.0, 2.0, 400.0], len(Y)) if weighted else np.ones(len(Y))
    loo = fitted(tree, weights=weights).loo()
    for row in (0, 7, 41, 59):
        others = np.arange(len(Y)) != row
        without = fitted(tree, X[others], Y[others], weights[others])
        np.testing.assert_allclose(
            loo.log_joint[row], without.predict_joint_log_proba(X[row : row + 1])[0], rtol=1e-9
        )


@TREE_KINDS
def test_weights_are_duplicates_and_batches_are_the_whole(tree):
    counts = np.random.default_rng(4).integers(0, 3, len(Y))
    weighted, repeated = (
        fitted(tree, weights=counts),
        fitted(tree, X.loc[X.index.repeat(counts)], Y.repeat(counts)),
    )
    np.testing.assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), rtol=1e-12)
    clf = (
        bp.TreeNB(tree, levels=LEVELS).partial_fit(X[:40], Y[:40], classes=["u", "v"]).partial_fit(X[40:], Y[40:])
    )
    np.testing.assert_allclose(
        clf.predict_proba(NEW), fitted(tree, prior="evidence").predict_proba(NEW), rtol=1e-10
    )
    left, forgotten = fitted(tree, X[10:], Y[10:]), fitted(tree).forget(X[:10], Y[:10])
    np.testing.assert_allclose(forgotten.predict_proba(NEW), left.predict_proba(NEW), rtol=1e-10)


@TREE_KINDS
def test_the_order_of_columns_and_of_classes_does_not_matter(tree):
    clf, order = fitted(tree), ["c3", "c0", "c4", "c2", "c1"]
    turned = fitted(tree, X[order], np.where(Y == "u", "z", Y))
    np.testing.assert_allclose(turned.predict_proba(NEW[order])[:, ::-1], clf.predict_proba(NEW), rtol=1e-11)
    found = turned.edge_probabilities().sel(column=list(LEVELS), neighbour=list(LEVELS)).to_numpy()
    expected = clf.edge_probabilities().to_numpy()
    np.testing.assert_allclose(found if tree == "common" else found[::-1], expected, atol=1e-12)


@TREE_KINDS
def test_a_missing_cell_is_a_sum_over_its_levels(tree):
    clf = fitted(tree)
    joint = np.exp(
        clf.predict_joint_log_proba(pd.DataFrame(list(product(*LEVELS.values())), columns=list(LEVELS)))
    )
    every = np.array(list(product(*LEVELS.values())))
    for present in ((0, 1, 3), (4,), ()):
        row = pd.DataFrame([[1.0 if j in present else None for j in range(5)]], columns=list(LEVELS), dtype=object)
        expected = joint[(every[:, list(present)] == 1).all(1)].sum(0)
        np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(row)[0]), expected, rtol=1e-11)
    theta = {name: values[0, 0] for name, values in clf.posterior_.draws(1, 1, np.random.default_rng(0)).items()}
    density = clf.fitted_.model.family.log_likelihood(theta)
    np.testing.assert_allclose(np.exp(density(every)).sum(0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        np.exp(density(np.array([[-1, 1, -1, 0, -1]]))),
        [np.exp(density(every[(every[:, 1] == 1) & (every[:, 3] == 0)])).sum(0)],
    )


def test_a_fit_to_incomplete_rows_and_rows_of_too_many_completions_are_refused():
    holes = X.astype(object)
    holes.loc[[3, 4], "c1"] = None
    with pytest.raises(ValueError, match=r"missing values in column 'c1' \(2 of \d+ rows\).*MixedNB"):
        fitted(X=holes)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 8)))
    clf = bp.TreeNB(prior=1.0).fit(wide, [0, 1] * 20)
    row = wide[:1].copy()
    row.iloc[0, :6] = np.nan
    with pytest.raises(ValueError, match="15,625 combinations of levels"):
        clf.predict(row)


def test_a_row_without_any_cell_has_the_class_weights_however_many_levels_there_are():
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 8)))
    clf = bp.TreeNB(prior=1.0, class_weights=[0.2, 0.8]).fit(wide, [0, 1] * 20)
    rows = wide[:3].copy()
    rows.iloc[1] = np.nan
    rows.iloc[2, :2] = np.nan
    found = clf.predict_proba(rows)
    np.testing.assert_allclose(found[1], [0.2, 0.8], rtol=1e-12)
    np.testing.assert_allclose(found[[0, 2]], np.vstack([clf.predict_proba(rows[i : i + 1]) for i in (0, 2)]))


def test_one_column_is_categorical_and_two_are_a_joint_table():
    one = fitted(X=X[["c1"]], levels={"c1": [0, 1, 2]})
    expected = bp.CategoricalNB(bp.Dirichlet(STRENGTH / 3), levels=[0, 1, 2]).fit(X[["c1"]], Y)
    np.testing.assert_allclose(one.predict_proba(NEW[["c1"]]), expected.predict_proba(NEW[["c1"]]), rtol=1e-12)
    assert one.edge_probabilities().shape == (1, 1)
    pair = ["c1", "c2"]
    levels = {name: LEVELS[name] for name in pair}
    two = fitted(X=X[pair], levels=levels)
    joint = bp.JointCategoricalNB(bp.Dirichlet(STRENGTH / 6), levels=levels).fit(X[pair], Y)
    np.testing.assert_allclose(two.predict_proba(NEW[pair]), joint.predict_proba(NEW[pair]), rtol=1e-12)
    np.testing.assert_allclose(two.log_evidence()["total"], joint.log_evidence()["total"], rtol=1e-12)


def test_the_prior_of_the_highest_evidence_is_found():
    clf = fitted(prior="evidence")
    found = clf.posterior_.prior.parts["features"].concentration[0, :2].sum()
    best = clf.log_evidence()["total"]
    for factor in (0.8, 1.25):
        assert fitted(prior=found * factor).log_evidence()["total"] < best


def log_association_of_table(columns):
    """Log Bayes factor of the joint levels of some columns, given those of all rows."""
    levels, cells = {name: LEVELS[name] for name in columns}, np.prod([len(LEVELS[name]) for name in columns])
    joint = bp.JointCategoricalNB(bp.Dirichlet(STRENGTH / cells), levels=levels).fit(X[columns], Y)
    return joint.feature_relevance()["log_bayes_factor"].item()


@TREE_KINDS
def test_relevance_averages_over_the_trees_of_all_rows(tree):
    columns = list(LEVELS)
    singles = [log_association_of_table([name]) for name in columns]
    gained = np.zeros((5, 5))
    for j, i in zip(*np.tril_indices(5, -1), strict=True):
        gained[i, j] = log_association_of_table([columns[i], columns[j]]) - singles[i] - singles[j]
    of_all = log_evidence_of_trees(X.to_numpy())
    expected = sum(singles) + logsumexp(of_all + (TREES * gained).sum((1, 2))) - logsumexp(of_all)
    found = fitted(tree).feature_relevance()["log_bayes_factor"].item()
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_numbers_are_cut_where_they_hold_equally_many_rows():
    rng = np.random.default_rng(0)
    often = np.where(rng.random(1000) < 0.5, 0.0, rng.exponential(size=1000))
    table = pd.DataFrame({"smooth": rng.normal(size=1000), "often": often, "few": rng.integers(0, 3, 1000)})
    clf = bp.TreeNB(bins=4).fit(table, rng.integers(0, 2, 1000))
    family = clf.fitted_.model.family
    codes = clf.fitted_.encode(table)
    assert np.bincount(codes[:, 0]).tolist() == [250] * 4
    assert set(codes[often == 0, 1]) == {0}
    assert (codes[often > 0, 1] > 0).all()
    assert family.outcomes[2] == (0.0, 1.0, 2.0)
    assert family.cuts[2] == (0.5, 1.5)
    assert all(a < b for cuts in family.cuts for a, b in pairwise(cuts))
    # beyond all numbers of the fit is the outermost bin; simulated rows hold a number of each bin
    beyond = table[:2].assign(smooth=[-1e9, 1e9])
    assert clf.fitted_.encode(beyond)[:, 0].tolist() == [0, 3]
    drawn, _ = clf.sample(50, random_state=0)
    assert set(drawn["smooth"]) <= set(family.outcomes[0])


def test_a_value_that_occurs_often_has_a_bin_of_its_own_at_either_end():
    """Nine of ten rows of one class have one value, which is the least, or the largest."""
    y = (np.arange(300) % 10 == 9).astype(int)
    x = np.where(y == 1, np.random.default_rng(0).gamma(2, 1, 300), 0.0)[:, None]
    for column in (x, -x):
        assert bp.TreeNB().fit(column, y).loo().log_score[0] > -0.02


@TREE_KINDS
def test_a_file_holds_everything(tree, tmp_path):
    clf = fitted(tree, prior="evidence")
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), clf.predict_proba(NEW))
    one, other = loaded.partial_fit(NEW, ["u"] * 9), clf.partial_fit(NEW, ["u"] * 9)
    np.testing.assert_array_equal(one.edge_probabilities(), other.edge_probabilities())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tree": "all"}, "tree must be one of 'common', 'per_class', found 'all'"),
        ({"prior": "flat"}, "prior='flat' is not known"),
        ({"prior": -1.0}, "prior must be positive and finite, found -1"),
        ({"bins": 1}, "bins must be at least 2, found 1"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        bp.TreeNB(**options).fit(X, Y)


def test_what_trees_have_not_is_refused_with_the_reason():
    clf = fitted()
    for rule, message in (("mean", "no tree"), ("map", "no mode"), ("mle", "no single tree")):
        with pytest.raises(bp.UndefinedEstimateError, match=message):
            clf.predict(NEW, rule=rule)
    for tree in (clf, bp.TreeNB().fit(X, Y, np.full(len(Y), 2.0))):
        with pytest.raises(ValueError, match="trees have no model in PyMC"):
            tree.to_pymc()


def test_intervals_hold_the_average():
    interval = fitted().predict_proba_interval(NEW, draws=400, random_state=0)
    assert ((interval["lower"] < interval["mean"]) & (interval["mean"] < interval["upper"])).all()


def test_exclusive_or_is_found_among_columns_of_noise():
    rng = np.random.default_rng(0)
    bits = pd.DataFrame(rng.integers(0, 2, (400, 8))).astype(str)
    y = (bits[2] != bits[5]).to_numpy()
    clf = bp.TreeNB().fit(bits[:200], y[:200])
    assert clf.score(bits[200:], y[200:]) == 1.0
    assert clf.edge_probabilities()[2, 5] > 0.999
    assert bp.CategoricalNB().fit(bits[:200], y[:200]).score(bits[200:], y[200:]) < 0.65


@pytest.mark.parametrize("numbers", ["bins", "gaussian"])
def test_more_columns_than_predictions_have_memory_for_are_refused(numbers):
    with pytest.raises(ValueError, match="every three of 601 columns take part in a prediction, and at most 600"):
        bp.TreeNB(numbers=numbers).fit(np.random.default_rng(0).normal(size=(4, 601)), [0, 1, 0, 1])
