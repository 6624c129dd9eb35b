"""One tree for both kinds of posterior: labels, groups, random streams, files, and what ArviZ makes of it."""

from dataclasses import replace

import arviz as az
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.analysis.pymc_and_arviz import to_datatree
from bayesppl.analysis.tree_groups import GROUPS

mpl.use("Agg")
RNG = np.random.default_rng(11)
X = pd.DataFrame(RNG.integers(0, 2, size=(40, 3)), columns=["red", "green", "blue"])
Y = np.array(["no", "yes"])[RNG.integers(0, 2, size=40)]
SHORT = bp.NUTS(draws=500, tune=300, chains=2, random_state=3)


@pytest.fixture(scope="module")
def exact():
    return bp.BernoulliNB(bp.Beta(2.0, 0.7)).fit(X, Y)


@pytest.fixture(scope="module")
def tree(exact):
    return exact.to_datatree(draws=500, chains=2, random_state=3, groups="all")


@pytest.fixture(scope="module")
def sampled_tree():
    return bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=SHORT).fit(X, Y).to_datatree(random_state=3, groups="all")


def test_both_kinds_have_the_same_variables_dims_and_coords(tree, sampled_tree):
    assert set(tree.children) == set(GROUPS) - {"sample_stats"}
    assert set(sampled_tree.children) == set(GROUPS)
    for name, group in tree.children.items():
        other = sampled_tree[name]
        assert {v: (a.dims, a.shape) for v, a in group.data_vars.items()} == {
            v: (a.dims, a.shape) for v, a in other.data_vars.items()
        }
        for coord in group.coords:
            np.testing.assert_array_equal(group[coord], other[coord])
    assert {"diverging", "energy", "lp", "n_steps", "tree_depth", "acceptance_rate"} <= set(
        sampled_tree["sample_stats"].data_vars
    )


def test_labels(tree):
    assert tree["posterior"]["probability"].dims == ("chain", "draw", "class", "feature")
    assert tree["posterior"]["feature"].values.tolist() == ["red", "green", "blue"]
    assert tree["observed_data"]["x"].dims == ("row", "feature")
    np.testing.assert_array_equal(tree["observed_data"]["x"], X)
    assert [tree["observed_data"]["y"].attrs["labels"][k] for k in tree["observed_data"]["y"].values] == Y.tolist()


def test_provenance(exact, tree, sampled_tree):
    assert tree.attrs["inference"] == "closed_form"
    assert tree.attrs["random_state"] == 3
    assert "Beta(alpha=2.0, beta=0.7)" in tree.attrs["family"]
    assert sampled_tree.attrs["sampler"].startswith("nutpie")
    assert sampled_tree.attrs["random_state"] == 3
    assert sampled_tree.attrs["problems"] == "none"


def test_a_group_does_not_depend_on_which_others_were_asked_for(exact, tree):
    for name in ("prior_predictive", "posterior_predictive", "prior"):
        alone = exact.to_datatree(draws=500, chains=2, random_state=3, groups=[name])
        assert list(alone.children) == [name]
        xr.testing.assert_equal(alone[name].to_dataset(), tree[name].to_dataset())


def test_log_likelihood_is_that_of_scipy(exact):
    from scipy.stats import bernoulli

    tree = exact.to_datatree(
        draws=500,
        chains=2,
        random_state=3,
        groups=["posterior", "observed_data", "log_likelihood"],
        log_likelihood=("joint", "y", "x"),
    )
    codes, features = tree["observed_data"]["y"].values, tree["observed_data"]["x"].values
    p = tree["posterior"]["probability"].values[1, 7]
    weights = tree["posterior"]["class_weights"].values[1, 7]
    found = tree["log_likelihood"]
    np.testing.assert_allclose(found["x"].values[1, 7], bernoulli(p[codes]).logpmf(features).sum(1))
    np.testing.assert_allclose(found["y"].values[1, 7], np.log(weights[codes]))
    np.testing.assert_allclose(found["joint"], found["x"] + found["y"], rtol=1e-14)
    assert az.loo(tree, var_name="x").n_data_points == 40


@pytest.mark.parametrize("part", ["joint", "y", "x"])
def test_one_part_of_the_log_likelihood_is_all_that_arviz_needs(exact, part):
    tree = exact.to_datatree(
        draws=100, chains=2, random_state=3, groups=["posterior", "log_likelihood"], log_likelihood=part
    )
    assert list(tree["log_likelihood"].data_vars) == [part]
    assert az.loo(tree).n_data_points == 40


@pytest.mark.parametrize("asked", ["both", (), ("joint", "z")])
def test_an_unknown_part_of_the_log_likelihood_is_refused(exact, asked):
    with pytest.raises(ValueError, match="log_likelihood must be one or several of 'joint', 'y', 'x'"):
        exact.to_datatree(draws=10, chains=1, random_state=3, groups=["log_likelihood"], log_likelihood=asked)


def test_exact_draws_pass_arvizs_diagnosis(exact, tree):
    """All warnings are errors here."""
    assert az.diagnose(exact.to_datatree(random_state=1), show_diagnostics=False) is False
    assert az.diagnose(exact.to_datatree(random_state=1, groups="all"), show_diagnostics=False) is False
    assert "probability[no, red]" in az.summary(tree).index


def test_log_prior_is_that_of_scipy(tree):
    from scipy.stats import beta, dirichlet

    posterior = tree["posterior"]
    found = tree["log_prior"]
    expected = beta(2.0, 0.7).logpdf(posterior["probability"].values).sum((-1, -2))
    np.testing.assert_allclose(found["features"].values, expected)
    weights = posterior["class_weights"].values[0, 0]
    np.testing.assert_allclose(found["class_weights"].values[0, 0], dirichlet([1.0, 1.0]).logpdf(weights))


def test_the_sampler_s_density_is_that_of_the_groups(sampled_tree):
    """Log prior and log likelihood of every draw, and the Jacobian of logits, are what the sampler climbed."""
    posterior, stats = sampled_tree["posterior"], sampled_tree["sample_stats"]
    joint = sampled_tree["log_likelihood"]["joint"].sum("row") + sum(sampled_tree["log_prior"].data_vars.values())
    p, weights = posterior["probability"], posterior["class_weights"]
    jacobian = np.log(p * (1 - p)).sum(("class", "feature")) + np.log(weights).sum("class") + np.log(2)
    np.testing.assert_allclose(stats["lp"], joint + jacobian, rtol=1e-12)


def test_predictive_draws_have_the_means_they_must(exact, tree):
    """Draws are independent here, so a mean over S of them lies within 4.5 √(variance / S) of its expectation."""
    n_draws = 1000
    labels = tree["posterior_predictive"]["y"].values.reshape(n_draws, -1)
    # the average over the posterior of p(y | x, θ), by independent draws of our own
    theta = exact.posterior_.belief.draw(20_000, np.random.default_rng(5))
    log_joint = exact.posterior_.model.log_joint(theta)(X.to_numpy())
    p = np.exp(log_joint - np.logaddexp.reduce(log_joint, axis=-1, keepdims=True)).mean(0)[:, 1]
    assert (np.abs(labels.mean(0) - p) < 4.5 * np.sqrt(p * (1 - p) * (1 / n_draws + 1 / 20_000))).all()
    features = tree["posterior_predictive"]["x"].values.reshape(n_draws, *X.shape)
    q = exact.posterior_.mean()["probability"][tree["observed_data"]["y"].values]
    assert (np.abs(features.mean(0) - q) < 4.5 * np.sqrt(q * (1 - q) / n_draws)).all()
    prior = tree["prior_predictive"]
    assert np.abs(prior["x"].values[:, :, 0].mean((0, 1)) - 2 / 2.7).max() < 4.5 * np.sqrt(0.7 * 0.3 / n_draws)
    assert abs(prior["y"].values[:, :, 0].mean() - 0.5) < 4.5 * np.sqrt(0.25 / n_draws)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Variables x in .* look binary")  # they are: this looks at the plumbing
@pytest.mark.parametrize("kind", ["tree", "sampled_tree"])
def test_arviz_reads_it(kind, request):
    data = request.getfixturevalue(kind)
    summary = az.summary(data)
    assert summary.shape[0] == 2 + 6
    assert float(summary["r_hat"].astype(float).max()) < 1.05
    assert az.loo(data).n_data_points == 40
    assert az.compare({"a": data, "b": data}).shape[0] == 2
    assert {"prior", "likelihood"} <= set(az.psense_summary(data).columns)
    az.plot_forest(data, backend="none")
    az.plot_ppc_dist(data, var_names=["x"], backend="none", kind="ecdf")


@pytest.mark.filterwarnings("ignore:Variables .* look", "ignore:Estimated shape parameter")
def test_arviz_checks_left_out_rows():
    X, y = load_iris(return_X_y=True)
    clf = bp.GaussianNB().fit(X[:, :1], y)
    tree = clf.to_datatree(draws=200, groups="all", log_likelihood=("joint", "y", "x"), random_state=0)
    for variable in ("y", "x"):
        pit = az.loo_pit(tree, var_names=[variable])[variable]
        assert pit.size == 150
        assert ((pit >= 0) & (pit <= 1)).all()


def test_loo_by_importance_sampling_agrees_with_exact_leave_one_out(exact, tree):
    estimated = az.loo(tree, pointwise=True)
    weights = np.exp(-tree["log_likelihood"]["joint"].values.reshape(1000, 40))
    error = weights.std(0) / weights.mean(0) / np.sqrt(1000)
    assert error.max() < 0.02
    assert (np.abs(estimated.elpd_i.values - exact.loo().log_predictive) < 4 * error).all()


@pytest.mark.slow
def test_it_can_be_written_to_netcdf(tree, sampled_tree, tmp_path):
    for data in (tree, sampled_tree):
        data.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
        read = xr.open_datatree(tmp_path / "fit.nc", engine="h5netcdf").load()
        xr.testing.assert_equal(read["posterior"].to_dataset(), data["posterior"].to_dataset())
        assert read.attrs == data.attrs
        read.close()


def test_what_cannot_be_built_is_refused_or_left_out(exact, monkeypatch):
    with pytest.raises(ValueError, match=r"groups must be one or several of .*, found \['posterior_draws'\]"):
        exact.to_datatree(groups=["posterior_draws"])
    monkeypatch.setattr("bayesppl.analysis.tree_groups.CELLS_AT_MOST", 40 * 10)
    with pytest.raises(ValueError, match="Ask for fewer draws"):
        exact.to_datatree(draws=11, chains=1, groups=["log_likelihood"])
    monkeypatch.undo()
    flat = bp.GaussianNB(prior="jeffreys").fit(RNG.normal(size=(40, 2)), Y)
    with pytest.raises(bp.ImproperError, match="has no draws"):
        flat.to_datatree(groups=["prior"])
    tree = flat.to_datatree(groups="all", draws=10)
    assert "prior: an improper prior" in tree.attrs["left_out"]
    assert "posterior_predictive" in tree.children
    with pytest.raises(ValueError, match="rows of the fit are not held"):
        to_datatree(replace(exact.fitted_, rows=None), groups=["observed_data"])
