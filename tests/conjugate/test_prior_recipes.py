"""The priors of the documentation: they sample cleanly, and reduced cases agree with integrals taken otherwise.
Minutes."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pymc as pm
import pytest
from arviz_stats.base.array import array_stats
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import gamma as gamma_distribution
from scipy.stats import halfcauchy, halfnorm, multivariate_normal, norm
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import bayesppl as bp

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "bring_your_own_prior.md"
LONG = bp.NUTS(draws=2000, tune=1000, chains=2, target_accept=0.95, random_state=11)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page():
    """What the code of the page defines, all of it run in order; a ConvergenceWarning would be an error."""
    names = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    return names


def _known(value):
    """A parameter that is known, as a declared prior."""
    return lambda name, dims: pm.Data(name, value)


def _z_score(draws, expected):
    error = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")
    return (draws.mean((0, 1)) - expected) / error


@pytest.mark.parametrize("name", ["clf", "answers_clf", "groups_clf", "horseshoe", "lkj"])
def test_the_recipes_of_the_page_converge(page, name):
    posterior = page[name].posterior_
    assert not posterior.sample_stats["diverging"].any()
    assert posterior.diagnosis.problems == []


def test_hyperparameters_are_in_the_tree_with_their_dims(page):
    assert page["answers_clf"].to_datatree()["posterior"]["concentration"].dims == ("chain", "draw")
    tree = page["groups_clf"].to_datatree(groups="all")
    for group in ("posterior", "prior"):
        assert tree[group]["spread"].dims == ("chain", "draw", "feature")
        assert tree[group]["offset"].dims == ("chain", "draw", "class", "feature")
        assert {"class_weights", "mean", "variance"} <= set(tree[group].data_vars)
    assert {"centre", "spread", "offset"} <= set(tree["log_prior"].data_vars)


def test_a_learned_concentration_is_its_integral(page):
    """Given the concentration c, the successes are beta-binomial; what is left is one integral over c."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 15)
    X = rng.random((30, 6)) < rng.beta(3, 3, size=(2, 6))[y]
    clf = bp.GenerativeClassifier(bp.Bernoulli(page["learned"]), inference=LONG).fit(X, y)
    s = np.stack([X[y == k].sum(0) for k in (0, 1)])

    def density(c):
        return np.exp(
            gamma_distribution(2.0, scale=4.0).logpdf(c)
            + (betaln(0.5 * c + s, 0.5 * c + 15 - s) - betaln(0.5 * c, 0.5 * c)).sum()
            + 120
        )

    total = quad(density, 0, 120, limit=200)[0]
    draws = clf.posterior_.samples["concentration"]
    for power in (1, 2):
        expected = quad(lambda c, power=power: c**power * density(c), 0, 120, limit=200)[0] / total
        assert abs(_z_score(draws**power, expected)) < 4
    mean = quad(lambda c: (0.5 * c + s[0, 0]) / (c + 15) * density(c), 0, 120, limit=200)[0] / total
    assert abs(_z_score(clf.posterior_.samples["probability"][..., 0, 0], mean)) < 4


def test_shrunk_means_are_their_integral(page):
    """With a known sd the class means are Gaussian given the spread; what is left is one integral over it."""
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(6), 5)
    X = rng.normal(size=(6, 1))[y] + rng.normal(size=(30, 1))
    family = bp.Gaussian("tied_diag", mean=page["shrunk"], sd=_known(np.ones(1)))
    clf = bp.GenerativeClassifier(family, inference=LONG).fit(X, y)
    averages = np.array([X[y == k].mean() for k in range(6)])
    ones = np.ones((6, 6))

    def density(t):
        covariance = (t**2 + 0.2) * np.eye(6) + 25 * ones
        return halfnorm(scale=2).pdf(t) * multivariate_normal(np.zeros(6), covariance).pdf(averages) * 1e6

    def means(t):
        between = t**2 * np.eye(6) + 25 * ones
        return between @ np.linalg.solve(between + 0.2 * np.eye(6), averages)

    total = quad(density, 0, 12)[0]
    spread = quad(lambda t: t * density(t), 0, 12)[0] / total
    assert abs(_z_score(clf.posterior_.samples["spread"], spread)[0]) < 4
    expected = [quad(lambda t, k=k: means(t)[k] * density(t), 0, 12)[0] / total for k in range(6)]
    assert np.abs(_z_score(clf.posterior_.samples["mean"][..., 0], np.array(expected))).max() < 4.5


def test_a_horseshoe_of_one_feature_is_its_integral():
    """With all but one local scale known, the difference is Gaussian given that scale; what is left is one
    integral."""

    def sparse(name, dims):
        centre = pm.Normal("centre", 0.0, 5.0, dims=dims[1])
        local = pm.HalfCauchy("local", 1.0, dims=dims[1])
        width = 0.1 * local * (4.0 / (4.0 + (0.1 * local) ** 2)) ** 0.5
        difference = pm.Deterministic("difference", width * pm.Normal("offset", dims=dims[1]), dims=dims[1])
        return centre + np.array([[-0.5], [0.5]]) * difference

    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 1)) + 0.7 * y[:, None]
    family = bp.Gaussian("tied_diag", mean=sparse, sd=_known(np.ones(1)))
    clf = bp.GenerativeClassifier(family, inference=replace(LONG, target_accept=0.99)).fit(X, y)
    # equal numbers of rows: the average and the difference of the classes are independent
    found = X[y == 1].mean() - X[y == 0].mean()

    def width2(u):
        local2 = halfcauchy.ppf(u) ** 2
        return 0.01 * local2 * 4.0 / (4.0 + 0.01 * local2)

    def density(u):
        return norm(scale=np.sqrt(width2(u) + 0.1)).pdf(found)

    total = quad(density, 0, 1, limit=400)[0]
    mean = quad(lambda u: found * width2(u) / (width2(u) + 0.1) * density(u), 0, 1, limit=400)[0] / total
    assert (
        abs(_z_score(clf.posterior_.samples["mean"][..., 1, 0] - clf.posterior_.samples["mean"][..., 0, 0], mean))
        < 4
    )


def test_the_horseshoe_finds_the_features_that_differ(page):
    """The five largest differences are the five true ones, and what is learned so predicts better than the
    default."""
    draws = page["horseshoe"].posterior_.samples["mean"]
    difference = np.abs(draws[..., 1, :] - draws[..., 0, :]).mean((0, 1))
    assert set(np.argsort(difference)[-5:]) == set(range(5))
    rows = np.arange(len(page["truth"]))
    scores = [page[name].predict_log_proba(page["many"])[rows, page["truth"]] for name in ("horseshoe", "default")]
    gain = scores[0] - scores[1]
    print(f"log score {scores[0].mean():.3f} against {scores[1].mean():.3f}; differences {difference.round(2)}")
    assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


def test_lkj_of_two_features_is_its_integral():
    """Means integrated in closed form, standard deviations and correlation on a grid, for each class by itself."""
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(12), np.arange(50, 62)])
    X, y = X[rows][:, [0, 2]], y[rows]
    family = bp.Gaussian("full", mean=pm.Normal.dist(0, 10), cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2)))
    clf = bp.GenerativeClassifier(family, inference=LONG).fit(X, y)
    covariance = clf.posterior_.samples["covariance"]
    for k in (0, 1):
        own = X[y == k]
        n, centre = len(own), own.mean(0)
        scatter = (own - centre).T @ (own - centre)
        log_sd = np.linspace(-3.5, 1.5, 160)
        rho = np.tanh(np.linspace(-3.5, 3.5, 160))
        s1, s2, r = np.meshgrid(np.exp(log_sd), np.exp(log_sd), rho, indexing="ij")
        grid = np.stack([s1**2, r * s1 * s2, r * s1 * s2, s2**2], -1).reshape(*r.shape, 2, 2)
        log_density = -0.5 * (n - 1) * np.log(np.linalg.det(grid))
        log_density -= 0.5 * np.einsum("...ii->...", np.linalg.solve(grid, np.broadcast_to(scatter, grid.shape)))
        marginal = grid / n + 100 * np.eye(2)
        squares = np.einsum("i,...ij,j->...", centre, np.linalg.inv(marginal), centre)
        log_density -= 0.5 * (np.log(np.linalg.det(marginal)) + squares)
        log_density += halfnorm(scale=2).logpdf(s1) + halfnorm(scale=2).logpdf(s2) + np.log1p(-(r**2))
        log_density += np.log(s1 * s2) + np.log1p(
            -(r**2)
        )  # steps are equal in log sd and in artanh of the correlation
        weight = np.exp(log_density - log_density.max())
        expected = np.einsum("abc,abcij->ij", weight, grid) / weight.sum()
        z = _z_score(covariance[..., k, :, :], expected)
        assert np.abs(z).max() < 4.5, z


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer], ids=["iris", "wine", "cancer"])
@pytest.mark.parametrize("model", ["diag", "tied", "full", "lkj tied", "lkj full"])
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few effective draws, printed below
def test_default_settings_do_not_diverge(load, model):
    """Inverse-Wishart by Bartlett's factor and LKJ by partial correlations; columns in their own units."""
    X, y = load(return_X_y=True)
    X = X[:, :10]
    family = (
        bp.Gaussian(model)
        if "lkj" not in model
        else bp.Gaussian(
            model.split()[1],
            mean=pm.Normal.dist(X.mean(0), 3 * X.std(0)),
            cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2 * X.std(0))),
        )
    )
    clf = bp.GenerativeClassifier(family, inference=bp.NUTS(random_state=1)).fit(X, y)
    measures = clf.posterior_.diagnosis.measures.values()
    print(f"R-hat {max(m[0].max() for m in measures):.4f}, bulk {min(m[1].min() for m in measures):.0f}")
    assert not clf.posterior_.sample_stats["diverging"].any()
    assert max(m[0].max() for m in measures) < 1.06
