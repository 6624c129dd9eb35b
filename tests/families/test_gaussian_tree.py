"""Averaged trees of normal columns: every closed form against the sum over all trees of four and five columns."""

from dataclasses import replace
from math import log

import numpy as np
import pandas as pd
import pytest
from kernels.test_tree_sums import every_tree
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, multivariate_t

import bayesppl as bp

STRENGTH = 3.5
TREE_KINDS = pytest.mark.parametrize("tree", ["common", "per_class"])


def table(n_rows, n_columns=5, seed=0):
    """Columns that depend on the ones before them, in one class in another way than in the other."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["u", "v"], [n_rows - n_rows // 3, n_rows // 3])
    X = rng.normal(size=(n_rows, n_columns)) + 0.4 * (y == "u")[:, None]
    for j in range(1, n_columns):
        X[:, j] += np.where(y == "u", 0.9, -0.5) * X[:, j - 1 if j % 2 else 0]
    X = X * 10.0 ** np.arange(-2, n_columns - 2) + 7.0
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(n_columns)]), y


X, Y = table(40)
NEW, _ = table(6, seed=1)


def fitted(tree="common", X=X, y=Y, weights=None, prior=STRENGTH, **options):
    return bp.TreeNB(tree, prior, numbers="gaussian", **options).fit(X, y, weights)


def with_prior_of(clf, X, y, weights=None):
    """The posterior of other rows under the prior of a fit, which leave-one-out holds."""
    belief = clf.posterior_.prior.parts["features"]
    family = clf.fitted_.model.family
    codes = (np.asarray(y) == "v").astype(int)
    from scipy.sparse import csr_array

    weights = np.ones(len(codes)) if weights is None else weights
    shares = csr_array((weights, codes, np.arange(len(codes) + 1)), shape=(len(codes), 2))
    return belief.update(family.rows(np.asarray(X)).sum_rows(shares))


def log_t(rows, location, kappa, nu, psi):
    """Log density of all rows, one after the other, by scipy's multivariate t (Murphy 2007)."""
    total, d = 0.0, len(location)
    for x in rows:
        dof = nu - d + 1
        total += multivariate_t(location, psi * (kappa + 1) / (kappa * dof), dof).logpdf(x)
        psi = psi + kappa / (kappa + 1) * np.outer(x - location, x - location)
        location, kappa, nu = (kappa * location + x) / (kappa + 1), kappa + 1, nu + 1
    return total


def log_evidence_of_trees(prior, k, X, trees):
    """Log evidence of the rows of one class given each tree."""
    n = X.shape[1]

    def of(columns):
        at = np.ix_(columns, columns)
        nu = prior.dof[k] + len(columns) - 1
        return log_t(X[:, columns], prior.location[k, columns], prior.kappa[k], nu, prior.psi[k][at])

    singles = [of([j]) for j in range(n)]
    gained = np.zeros((n, n))
    for j, i in zip(*np.tril_indices(n, -1), strict=True):
        gained[i, j] = of([i, j]) - singles[i] - singles[j]
    return sum(singles) + (trees * gained).sum((1, 2))


def log_evidence(prior, tree, X, y):
    trees = every_tree(X.shape[1])
    of_trees = [log_evidence_of_trees(prior, k, X[y == label], trees) for k, label in enumerate("uv")]
    if tree == "common":
        return logsumexp(sum(of_trees)) - log(len(trees))
    return sum(logsumexp(each) - log(len(trees)) for each in of_trees)


@TREE_KINDS
@pytest.mark.parametrize("n_columns", [4, 5])
def test_evidence_and_predictive_are_sums_over_all_trees(tree, n_columns):
    few, y = table(18, n_columns)
    new = table(2, n_columns, seed=1)[0]
    clf = fitted(tree, few, y, class_weights="uniform")
    prior, rows = clf.posterior_.prior.parts["features"], few.to_numpy()
    before = log_evidence(prior, tree, rows, y)
    np.testing.assert_allclose(clf.log_evidence()["features"].sum(), before, rtol=1e-11)
    found = clf.predict_joint_log_proba(new)
    for row, x in enumerate(new.to_numpy()):
        for k, label in enumerate("uv"):
            after = log_evidence(prior, tree, np.vstack([rows, x]), np.append(y, label))
            np.testing.assert_allclose(found[row, k], after - before + log(0.5), rtol=1e-9)


@TREE_KINDS
def test_edges_have_the_probability_of_all_trees_with_them(tree):
    clf, trees = fitted(tree), every_tree(5)
    prior = clf.posterior_.prior.parts["features"]
    of_trees = np.array(
        [log_evidence_of_trees(prior, k, X.to_numpy()[label == Y], trees) for k, label in enumerate("uv")]
    )
    if tree == "common":
        of_trees = of_trees.sum(0, keepdims=True)
    expected = np.einsum("kt,tij->kij", np.exp(of_trees - logsumexp(of_trees, 1, keepdims=True)), trees)
    found = clf.edge_probabilities().to_numpy().reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@TREE_KINDS
def test_relevance_compares_with_one_distribution_of_all_classes(tree):
    clf, trees = fitted(tree), every_tree(5)
    prior = clf.posterior_.prior.parts["features"]
    average = replace(prior, kappa=2 * prior.kappa)  # the mean of all is that of two means
    of_all = logsumexp(log_evidence_of_trees(average, 0, X.to_numpy(), trees)) - log(len(trees))
    found = clf.feature_relevance()["log_bayes_factor"].item()
    np.testing.assert_allclose(found, log_evidence(prior, tree, X.to_numpy(), Y) - of_all, rtol=1e-9)


@TREE_KINDS
@pytest.mark.parametrize("weighted", [False, True])
def test_leaving_a_row_out_is_a_posterior_without_it(tree, weighted):
    weights = np.random.default_rng(3).choice([0.5, 1.0, 2.0, 40.0], len(Y)) if weighted else np.ones(len(Y))
    clf = fitted(tree, weights=weights, class_weights="uniform")
    loo = clf.loo()
    from bayesppl.conjugate.pair_forms import log_predictive

    for row in (0, 7, 31, 39):
        others = np.arange(len(Y)) != row
        belief = with_prior_of(clf, X[others], Y[others], weights[others])
        rows = clf.fitted_.model.family.rows(X.to_numpy()[row : row + 1])
        expected = log_predictive(belief, 2)(rows)[0] + log(0.5)
        np.testing.assert_allclose(loo.log_joint[row], expected, rtol=1e-9)


@TREE_KINDS
def test_weights_are_duplicates_and_batches_are_the_whole(tree):
    counts = np.random.default_rng(4).integers(1, 3, len(Y))
    weighted = fitted(tree, weights=counts)
    repeated = fitted(tree, X.loc[X.index.repeat(counts)], Y.repeat(counts))
    np.testing.assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), rtol=1e-9)
    clf = bp.TreeNB(tree, numbers="gaussian").partial_fit(X[:20], Y[:20], classes=["u", "v"])
    clf = clf.partial_fit(X[20:], Y[20:])
    np.testing.assert_allclose(
        clf.predict_proba(NEW), fitted(tree, prior="evidence").predict_proba(NEW), rtol=1e-7
    )


@TREE_KINDS
def test_draws_are_those_of_the_posterior(tree):
    """Moments of the hyper inverse Wishart law, and the predictive as the average of likelihoods over draws."""
    clf, size = fitted(tree, class_weights="uniform"), 4000
    belief = clf.posterior_.belief.parts["features"]
    drawn, mean = belief.draw(size, np.random.default_rng(0)), belief.mean()
    for name, values in drawn.items():
        error = values.std(0) / np.sqrt(size)
        assert (
            abs(values.mean(0) - mean[name]) <= 5 * error + 1e-9 * abs(mean[name]) + (name == "edge") / size
        ).all()
    likelihood = np.exp(clf.fitted_.model.family.log_likelihood(drawn)(NEW.to_numpy()))
    expected = 2 * np.exp(clf.predict_joint_log_proba(NEW))
    assert (abs(likelihood.mean(0) - expected) <= 5 * likelihood.std(0) / np.sqrt(size)).all()


def test_given_the_parameters_rows_are_normal_along_the_tree():
    clf = fitted("per_class")
    belief = clf.posterior_.belief.parts["features"]
    theta = {name: values[0] for name, values in belief.draw(1, np.random.default_rng(2)).items()}
    found = clf.fitted_.model.family.log_likelihood(theta)(NEW.to_numpy())
    pairs = [(i, j) for j in range(5) for i in range(j)]
    for k in range(2):
        mean, variance = theta["mean"][k], theta["variance"][k]
        expected = sum(multivariate_normal(mean[j], variance[j]).logpdf(NEW.to_numpy()[:, j]) for j in range(5))
        for (i, j), edge, c in zip(pairs, theta["edge"][k], theta["covariance"][k], strict=True):
            if edge:
                pair = multivariate_normal(mean[[i, j]], [[variance[i], c], [c, variance[j]]])
                expected = expected + pair.logpdf(NEW.to_numpy()[:, [i, j]])
                for u in (i, j):
                    expected = expected - multivariate_normal(mean[u], variance[u]).logpdf(NEW.to_numpy()[:, u])
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)


def test_two_columns_are_a_full_covariance():
    pair, y = table(25, 2)
    clf = fitted("per_class", pair, y, class_weights="uniform")
    prior = clf.posterior_.prior.parts["features"]
    niw = bp.NormalInverseWishart(prior.location, prior.kappa, prior.dof + 1, prior.psi)
    full = bp.QuadraticDiscriminantAnalysis(niw, class_weights="uniform").fit(pair, y)
    np.testing.assert_allclose(clf.predict_proba(pair), full.predict_proba(pair), rtol=1e-10)
    np.testing.assert_allclose(clf.log_evidence()["total"], full.log_evidence()["total"], rtol=1e-12)
    np.testing.assert_allclose(clf.loo().log_joint, full.loo().log_joint, rtol=1e-9)


def test_units_and_the_order_of_columns_do_not_matter():
    clf, order = fitted(prior="evidence"), ["c3", "c0", "c4", "c2", "c1"]
    units = [1e3, 1e-4, -1.0, 1e-130, 1e130]
    turned = fitted(prior="evidence", X=X[order] * units)
    new = NEW[order] * units
    np.testing.assert_allclose(turned.predict_proba(new), clf.predict_proba(NEW), rtol=1e-8)


def test_the_prior_of_the_highest_evidence_is_found():
    clf = fitted(prior="evidence")
    found, best = clf.posterior_.prior.parts["features"].dof[0], clf.log_evidence()["total"]
    for factor in (0.8, 1.25):
        assert fitted(prior=found * factor).log_evidence()["total"] < best


def test_a_chain_of_many_columns_is_found():
    rng = np.random.default_rng(0)
    chain = np.cumsum(rng.normal(size=(300, 12)), axis=1)
    edges = fitted(X=pd.DataFrame(chain), y=np.repeat(["u", "v"], 150), prior="evidence").edge_probabilities()
    assert (np.diagonal(edges.to_numpy(), 1) > 0.99).all()


def test_columns_that_copy_each_other_leave_finite_answers():
    copied = X.assign(again=X["c0"] * 3 - 1, constant=5.0)
    clf = fitted(X=copied, prior="evidence")
    assert np.isfinite(clf.loo().log_joint).all()
    assert np.isfinite(clf.predict_proba(copied)).all()


@TREE_KINDS
def test_a_file_holds_everything(tree, tmp_path):
    clf = fitted(tree, prior="evidence")
    clf.save(tmp_path / "model.npz")
    loaded = bp.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), clf.predict_proba(NEW))


def test_a_datatree_holds_trees_and_their_parameters():
    draws = fitted().to_datatree(draws=20, chains=2, random_state=0)["posterior"]
    assert draws["covariance"].dims == ("chain", "draw", "class", "pair")
    assert (draws["edge"].sum("pair") == 4).all()
    assert (draws["covariance"].where(draws["edge"] == 0, 0.0) == 0).all()


def test_gaps_and_words_are_refused():
    holes = X.copy()
    holes.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="column 'c1' is missing in row 3"):
        fitted(X=holes)
    with pytest.raises(ValueError, match="column 'c1' is missing in row 3"):
        fitted().predict(holes)
    with pytest.raises(ValueError, match="colour"):
        fitted(X=X.assign(colour="red"))
    with pytest.raises(ValueError, match="levels= declares columns that are no numbers"):
        fitted(levels={"c0": [1, 2]})
    with pytest.raises(ValueError, match="numbers must be one of 'bins', 'gaussian'"):
        bp.TreeNB(numbers="normal").fit(X, Y)
    with pytest.raises(ValueError, match="tree must be one of"):
        fitted(tree="all")
    some = np.where(np.arange(len(Y)) % 3, Y.astype(object), None)
    with pytest.raises(bp.UndefinedEstimateError, match="unlabelled='drop'"):
        fitted(y=some, unlabelled="learn", inference="em")
    with pytest.raises(ValueError, match="gaussian_tree family leaves no column out"):
        fitted().explain(NEW)
    for rule, message in (("mean", "no tree"), ("map", "no mode"), ("mle", "no single tree")):
        with pytest.raises(bp.UndefinedEstimateError, match=message):
            fitted().predict(NEW, rule=rule)


def test_as_a_candidate_it_is_weighed_explained_and_saved(tmp_path):
    candidates = {"trees": bp.TreeNB(numbers="gaussian"), "linear": bp.LinearDiscriminantAnalysis()}
    stack = bp.AutoClassifier(candidates=candidates).fit(X, Y)
    why = stack.explain(NEW.head(2), random_state=0)
    total = why["weight"].sum("feature") + why["prior"]
    np.testing.assert_allclose(total, why["log_odds"], atol=1e-9)
    stack.save(tmp_path / "stack.npz")
    np.testing.assert_array_equal(bp.load(tmp_path / "stack.npz").predict_proba(NEW), stack.predict_proba(NEW))


def test_a_constant_column_and_a_class_without_rows_leave_every_draw_finite():
    rng, y = np.random.default_rng(0), np.arange(24) % 3
    rows = pd.DataFrame(rng.normal(size=(24, 3)) + 1.5 * y[:, None], columns=list("abc")).assign(b=5.0)
    clf = bp.TreeNB(numbers="gaussian", classes=[0, 1, 2, 3]).fit(rows, y)
    intervals = clf.predict_proba_interval(rows, draws=500, random_state=0)
    assert all(np.isfinite(values).all() for values in intervals.values())
    drawn, _ = clf.sample(500, y=3, random_state=0)
    assert np.isfinite(drawn).all(axis=None)
