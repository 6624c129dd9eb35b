"""Surprise of rows, against densities computed by scipy."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis.draws import thetas
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.sampled import DrawsReport, Sampled

X, y = load_iris(return_X_y=True)


def test_score_is_the_mixture_density():
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    belief = clf.posterior_.belief.parts["features"]
    dof = belief.nu - 3
    mixture = sum(
        weight * stats.multivariate_t(m, psi * (kappa + 1) / (kappa * df), df).pdf(X)
        for weight, m, psi, kappa, df in zip(
            clf.posterior_.predictive_weights(), belief.location, belief.psi, belief.kappa, dof, strict=True
        )
    )
    np.testing.assert_allclose(clf.novelty(X, draws=10)["log_density"], np.log(mixture), rtol=1e-10)


@pytest.mark.parametrize("unit", [None, 1e-3, 1e3])
def test_p_value_of_one_class_is_a_tail_of_student_t(unit):
    # two classes with the same rows: the predictive is one t, and density falls with the distance from its centre;
    # of a second column the cell is missing, whatever its unit
    x = np.random.default_rng(0).normal(3.0, 2.0, 30)
    units, gaps = ([1.0], []) if unit is None else ([1.0, unit], [np.nan])
    clf = bp.GaussianNB(bp.NormalInverseGamma(0, 1, 2, 2)).fit(
        np.tile(x, 2)[:, None] * units, np.repeat([0, 1], 30)
    )
    belief = clf.posterior_.belief.parts["features"]
    m, kappa, a, b = (float(v[0, 0]) for v in (belief.location, belief.kappa, belief.a, belief.b))
    at = np.asarray([m, m + 1.0, m - 3.0, m + 6.0])
    exact = 2 * stats.t(2 * a, m, np.sqrt(b * (kappa + 1) / (a * kappa))).sf(m + np.abs(at - m))
    draws = 4000
    found = clf.novelty([[x, *gaps] for x in at], draws=draws, random_state=0)["p_value"].values
    error = np.sqrt(exact * (1 - exact) / draws)
    np.testing.assert_array_less(np.abs(found - exact), 4 * error + 2 / draws)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_p_values_of_rows_from_the_model_are_uniform_with_gaps_too(share):
    clf = bp.LinearDiscriminantAnalysis().fit(X / 100, y)
    posterior, rng = clf.posterior_, np.random.default_rng(1)
    theta = posterior.draws(1, 300, rng)
    rows = [
        posterior.model.family.simulate(
            {name: values[0, s] for name, values in theta.items()},
            rng.choice(3, size=1, p=theta["class_weights"][0, s]),
            rng,
        )
        for s in range(300)
    ]
    cells = np.concatenate(rows)
    gaps = rng.random(cells.shape) < share
    p_values = clf.novelty(np.where(gaps, np.nan, cells), random_state=2)["p_value"][~gaps.all(1)]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    "clf", [bp.GaussianNB(), bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()]
)
def test_a_distant_row_is_novel_though_the_plug_in_is_certain(clf):
    clf.fit(X, y)
    flower = [[30.0, 1.0, 3.0, 9.0]]
    assert clf.predict_proba(flower, rule="mle").max() > 0.999
    found = clf.novelty(np.r_[X, flower], random_state=0)
    assert bool(found["is_novel"][-1])
    assert int(found["is_novel"][:-1].sum()) <= stats.binom(150, 0.01).ppf(0.9999)


def test_the_largest_probability_is_tied_only_where_all_rows_are_alike():
    clf = bp.BernoulliNB().fit([[0, 1], [1, 0], [0, 0], [1, 1]], [0, 0, 1, 1])
    # by symmetry all four rows are equally probable, hence none is surprising
    assert clf.novelty([[0, 1], [1, 0], [0, 0], [1, 1]], draws=200)["p_value"].values.tolist() == [1.0] * 4


def test_level_out_of_range_is_refused():
    with pytest.raises(ValueError, match="level must lie between 0 and 1, found 2"):
        bp.GaussianNB().fit(X, y).novelty(X, level=2)


def test_p_values_of_a_coin_are_tail_probabilities_of_its_simulations():
    # one column, ones in nine rows of ten: a zero is the rarer outcome, and ones are as improbable as all rows
    clf = bp.BernoulliNB(class_weights="uniform").fit([[1]] * 9 + [[0]] + [[1]] * 9 + [[0]], [0] * 10 + [1] * 10)
    found = clf.novelty([[0], [1]], draws=4000, random_state=0)["p_value"].values
    assert found[1] == 1.0
    zero = 2 / 12
    assert abs(found[0] - zero) < 4 * np.sqrt(zero * (1 - zero) / 4000)


def test_the_smallest_p_value_is_one_in_the_draws_and_one():
    clf = bp.GaussianNB(bp.NormalInverseGamma(0, 1, 5, 5)).fit([[0.0], [1.0], [0.5], [0.2]], [0, 0, 1, 1])
    assert clf.novelty([[1e9]], draws=99, random_state=0)["p_value"].item() == 0.01


@pytest.mark.parametrize("draws", [500, pytest.param(4_000, marks=pytest.mark.slow)])
def test_more_draws_buy_more_precision(draws):
    # one coin that has come up once: a zero has probability 1/3, though the coin may be anything
    clf = bp.BernoulliNB(class_weights=[1.0, 0.0]).fit([[1], [1]], [0, 1])
    seeds = 10
    found = [clf.novelty([[0]], draws=draws, random_state=seed)["p_value"].item() for seed in range(seeds)]
    z = (np.asarray(found) - 1 / 3) / np.sqrt(1 / 3 * 2 / 3 / draws)
    low, high = stats.chi2(seeds).ppf([0.0005, 0.9995])
    assert low < (z**2).sum() < high


def test_a_sampled_posterior_lends_the_draws_of_all_its_chains():
    exact = bp.BernoulliNB().fit([[1], [0], [1], [1]], [0, 0, 1, 1]).posterior_
    held = exact.draws(2, 200, np.random.default_rng(1))
    report = DrawsReport({}, {}, Diagnosis({}, []), {})
    sampled = Sampled(exact.model, exact.statistics, exact.prior, held, report)
    for size, times in [(400, 1), (800, 2)]:
        drawn = [theta["class_weights"] for theta in thetas(sampled, size, np.random.default_rng(0))]
        found, counts = np.unique(drawn, axis=0, return_counts=True)
        np.testing.assert_array_equal(found, np.unique(held["class_weights"].reshape(-1, 2), axis=0))
        assert (counts == times).all()


@pytest.mark.slow
@pytest.mark.parametrize("totals", [[4, 4, 4], [0, 2, 3, 5, 4]])
@pytest.mark.parametrize(
    "clf",
    [
        bp.MultinomialNB(),
        bp.GenerativeClassifier(bp.Product({"words": (["x0", "x1", "x2", "x3"], bp.Multinomial())})),
    ],
    ids=["alone", "block"],
)
def test_p_values_of_counts_are_those_of_all_rows_with_the_same_total(clf, totals):
    rng = np.random.default_rng(1)
    probability = np.repeat([[0.5, 0.2, 0.2, 0.1], [0.1, 0.2, 0.2, 0.5]], 6, axis=0)
    clf = clone(clf).fit(rng.multinomial(6, probability), np.repeat([0, 1], 6))
    rows, exact = rng.multinomial(totals, np.full(4, 0.25)), []
    for row, total in zip(rows, totals, strict=True):
        every = [cells for cells in product(range(total + 1), repeat=4) if sum(cells) == total]
        mass = np.exp(clf.predict_joint_log_proba(every)).sum(1)
        assert mass.sum() == pytest.approx(1)
        exact.append(mass[mass <= np.exp(clf.predict_joint_log_proba([row])).sum() * (1 + 1e-9)].sum())
    draws = 2000
    found = clf.novelty(rows, draws=draws, random_state=0)["p_value"].values
    error = np.sqrt(np.multiply(exact, np.subtract(1, exact)).clip(0) / draws)
    np.testing.assert_array_less(np.abs(found - exact), 4 * error + 2 / draws)


@pytest.mark.parametrize(
    "clf",
    [bp.DirichletMultinomialNB(), bp.GenerativeClassifier(bp.Mixture(bp.Multinomial(), 2), inference="em")],
    ids=["compound", "mixture"],
)
def test_dense_counts_have_the_p_values_of_sparse_ones(clf):
    counts, y = np.random.default_rng(0).poisson(0.3, (40, 6)), np.repeat([0, 1], 20)
    fitted = clone(clf).fit(counts, y)
    dense, sparse = (
        fitted.novelty(rows, draws=200, random_state=0)["p_value"] for rows in (counts, csr_array(counts))
    )
    np.testing.assert_array_equal(dense, sparse)


def test_rows_are_named_by_the_index_of_a_frame():
    X, y = bp.datasets.load("iris")
    rows = X.loc[[2, 0, 1]].copy()
    rows.loc[0] = 99.0
    found = bp.GaussianNB().fit(X, y).novelty(rows, random_state=0)
    assert found["row"].values.tolist() == [2, 0, 1]
    assert found["is_novel"].sel(row=0)
    assert not found["is_novel"].sel(row=[1, 2]).any()


@pytest.mark.slow
@pytest.mark.parametrize("clf", [bp.TreeNB(), bp.JointCategoricalNB()], ids=["tree", "joint"])
def test_rows_of_columns_that_depend_on_each_other_are_compared_with_rows_that_a_table_may_hold(clf):
    """Where levels are learned: a cell of another row beside the others would be the rarest of all."""
    rng, draws = np.random.default_rng(0), 1000
    codes = np.arange(15) % 2
    cells = (rng.integers(0, 3, 15)[:, None] + codes[:, None] * np.arange(2)) % 3
    X = pd.DataFrame(np.array(list("uvw"))[cells], columns=["one", "two"])
    clf.fit(X, codes)
    every = pd.DataFrame(list(product("uvw", repeat=2)), columns=X.columns)
    found = clf.novelty(every, draws=draws, random_state=0)
    log_density = found["log_density"].values
    mass = np.exp(log_density)
    expected = np.array([mass[log_density <= each + 1e-9].sum() for each in log_density]) / mass.sum()
    assert mass.sum() < 0.95
    errors = np.sqrt(expected * (1 - expected) / draws) + 1 / draws
    assert (np.abs(found["p_value"].values - expected) < 4 * errors).all()


@pytest.mark.slow
def test_rows_are_compared_with_rows_of_levels_that_a_table_may_hold():
    """Where levels are learned: models of whose rows two thirds, or all but a few, have an unseen one."""

    def texts_and_a_size(n_texts, **options):
        names = [f"c{j}" for j in range(n_texts)]
        X = pd.DataFrame(rng.choice(list("uvw"), (30, n_texts)), columns=names).assign(size=rng.normal(size=30))
        blocks = {"texts": (names, bp.Categorical(**options)), "size": (["size"], bp.Gaussian())}
        return bp.MixedNB(blocks).fit(X, np.arange(30) % 2), X

    rng = np.random.default_rng(0)
    clf, _ = texts_and_a_size(20)
    new = clf.sample(900, random_state=1)[0]
    new = new[(new != "(unseen)").all(axis=1)]
    assert len(new) < 500
    found = clf.novelty(new, draws=1000, random_state=0)["p_value"].values
    assert stats.kstest(found, "uniform").pvalue > 0.001
    clf, X = texts_and_a_size(200)
    assert clf.novelty(X.assign(size=90.0), draws=200, random_state=0)["is_novel"].values.all()
    assert not clf.novelty(X, draws=200, random_state=0)["is_novel"].values.any()
    # an unseen level that is an outcome is one that a row can hold
    clf, _ = texts_and_a_size(20, unseen="learned")
    drawn = clf.sample(300, random_state=2)[0]
    assert stats.kstest(clf.novelty(drawn, draws=1000, random_state=0)["p_value"].values, "uniform").pvalue > 0.001


def test_rare_marks_are_as_novel_as_the_prior_of_all_rows_expects():
    """Ten columns that are one in about a tenth of the rows, twenty rows in each of three classes, level 5 %."""
    found = {"uniform": [], "overall": []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        log_odds = np.log(1 / rng.beta(0.3, 3, 10) - 1) - rng.normal(0, 1, (3, 10))
        y, labels = np.repeat(np.arange(3), 20), rng.choice(3, 300)
        X, new = (rng.random((len(k), 10)) < 1 / (1 + np.exp(log_odds[k])) for k in (y, labels))
        for name, prior in {"uniform": bp.Beta(), "overall": "overall"}.items():
            clf = bp.BernoulliNB(prior).fit(X, y)
            found[name].append(clf.novelty(new, level=0.05, draws=300, random_state=0)["is_novel"].values.mean())
    assert np.mean(found["uniform"]) < 0.02
    assert abs(np.mean(found["overall"]) - 0.05) < 4 * np.std(found["overall"]) / np.sqrt(12)
