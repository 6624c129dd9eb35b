"""What ArviZ computes and draws from trees of our own families and of models written in PyMC."""

import arviz as az
import matplotlib as mpl
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pymc.distributions import transforms
from scipy import stats

import bayesppl as bp

mpl.use("Agg")
RNG = np.random.default_rng(4)
CODES = np.repeat([0, 1], [25, 20])
COUNTS = RNG.poisson([[3.0, 1.0], [6.0, 2.0]], size=(45, 2, 2))[np.arange(45), CODES]
NEW = np.array([[2, 1], [9, 3], [5, 0]])
GROUPS = [
    "posterior",
    "prior",
    "log_prior",
    "log_likelihood",
    "observed_data",
    "posterior_predictive",
]


def model():
    with pm.Model(coords={"class": ["no", "yes"], "word": ["a", "b"]}) as found:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(2), dims="class"), observed=CODES)
        rate = pm.Gamma("rate", 2.0, 0.5, dims=("class", "word"))
        pm.Deterministic("total", rate.sum(-1), dims="class")
        pm.Poisson("x", rate[label], observed=COUNTS)
    return found


CLASSIFIERS = {
    "ours": lambda: bp.PoissonNB(bp.Gamma(2.0, 0.5)).fit(COUNTS, np.array(["no", "yes"])[CODES]),
    "from_pymc": lambda: bp.from_pymc(model()),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def clf(request):
    return CLASSIFIERS[request.param]()


@pytest.fixture(scope="module")
def tree(clf):
    return clf.to_datatree(NEW, draws=500, chains=2, random_state=1, groups=GROUPS)


@pytest.mark.filterwarnings("ignore:Variables y in", "ignore:Estimated shape", "ignore:Found chain")
@pytest.mark.parametrize(
    "look",
    [
        lambda tree: az.psense_summary(tree),
        lambda tree: az.loo_influence(tree, group="posterior", var_names=["rate"], pareto_k=None),
        lambda tree: az.metrics(tree, var_name="y", kind="acc"),
        lambda tree: az.plot_prior_posterior(tree, var_names=["rate"], backend="none"),
        lambda tree: az.plot_ppc_dist(tree, var_names=["x"], kind="ecdf", backend="none"),
        lambda tree: az.plot_ppc_pava(tree, var_names=["y"], data_type="binary", backend="none"),
        lambda tree: az.plot_ppc_rootogram(tree, var_names=["y"], backend="none"),
        lambda tree: az.plot_ppc_tstat(tree, var_names=["x"], backend="none"),
        lambda tree: az.plot_psense_dist(tree, var_names=["rate"], backend="none"),
    ],
    ids=lambda look: look.__code__.co_names[1],
)
def test_arviz_takes_both(tree, look):
    assert look(tree) is not None


def test_labels_of_new_rows_are_drawn_given_their_features(clf, tree):
    codes = tree["predictions"]["y"]
    assert codes.sizes == {"chain": 2, "draw": 500, "row": 3}
    share = (codes == 1).mean(("chain", "draw")).values
    found = clf.predict_proba_interval(NEW, draws=4000, random_state=2)["mean"].sel({"class": clf.classes_[1]})
    assert (np.abs(share - found.values) < 4 * np.sqrt(0.25 / 1000)).all()
    [name] = tree["predictions_constant_data"].data_vars
    np.testing.assert_array_equal(tree["predictions_constant_data"][name], NEW)
    again = clf.to_datatree(draws=500, chains=2, random_state=1)
    xr.testing.assert_equal(again["posterior"].dataset, tree["posterior"].dataset)


def test_the_number_of_draws_is_no_rows(clf):
    with pytest.raises(TypeError, match="draws=1000"):
        clf.to_datatree(1000)


def test_weights_of_the_likelihood_of_labels_leave_out_labels(clf):
    tree = clf.to_datatree(
        draws=2000, groups=["posterior", "log_likelihood"], log_likelihood="label", random_state=1
    )
    found = az.loo(tree, pointwise=True)
    expected = clf.loo()
    assert abs(found.elpd - expected.log_score_i.sum()) < 0.1
    np.testing.assert_allclose(found.elpd_i, expected.log_score_i, atol=0.05)
    table = az.compare({"one": expected.elpd("label"), "other": found})
    assert abs(table["elpd_diff"]).max() < 0.1


@pytest.mark.slow
def test_ranks_of_labels_are_left_out_by_weights_of_labels():
    """A label has its rank in the jump of its left-out distribution; weights of class weights alone miss it."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [25, 20])
    clf = bp.QuadraticDiscriminantAnalysis().fit(rng.normal(size=(45, 6)) + 0.8 * y[:, None], y)
    tree = clf.to_datatree(draws=4000, random_state=0, groups="all", log_likelihood=("label", "y"))
    log_likelihood = tree["log_likelihood"].to_dataset()
    proba = np.asarray(clf.loo().proba)
    upper = proba.cumsum(1)[np.arange(45), y]
    lower = upper - proba[np.arange(45), y]
    weights = np.exp(-log_likelihood["label"].stack(sample=("chain", "draw")).values)
    error = np.sqrt(0.25 * (weights**2).sum(1)) / weights.sum(1)

    def gaps(part):
        tree["log_likelihood"] = (
            log_likelihood[[part]].rename({part: "y"}) if part != "y" else log_likelihood[["y"]]
        )
        pit = az.loo_pit(tree, var_names="y")["y"].values
        return np.maximum(lower - pit, pit - upper)

    assert (gaps("label") < 5 * error).all()
    assert gaps("y").max() > 5 * error.min()


def test_log_likelihoods_add_up(clf):
    parts = ("joint", "y", "x", "label")
    found = clf.to_datatree(draws=50, groups="log_likelihood", log_likelihood=parts, random_state=1)[
        "log_likelihood"
    ]
    np.testing.assert_allclose(found["joint"], found["y"] + found["x"], rtol=1e-12)
    assert (found["label"] <= 0).all()


@pytest.mark.slow
def test_the_prior_of_a_model_is_in_the_words_of_its_user():
    tree = CLASSIFIERS["from_pymc"]().to_datatree(
        draws=1000, random_state=1, groups=["posterior", "prior", "log_prior"]
    )
    for group in ("posterior", "prior"):
        assert dict(tree[group]["rate"].sizes) == {"chain": 4, "draw": 1000, "class": 2, "word": 2}
        np.testing.assert_allclose(tree[group]["total"], tree[group]["rate"].sum("word"), rtol=1e-12)
    rate, weights = tree["posterior"]["rate"].values, tree["posterior"]["w"].values
    np.testing.assert_allclose(
        tree["log_prior"]["rate"], stats.gamma(2.0, scale=2.0).logpdf(rate).sum((-1, -2)), rtol=1e-9
    )
    np.testing.assert_allclose(tree["log_prior"]["w"], np.zeros(weights.shape[:2]), atol=1e-12)
    drawn = tree["prior"]["rate"].values.reshape(4000, -1)
    assert (stats.kstest(drawn[:, 0], stats.gamma(2.0, scale=2.0).cdf).pvalue) > 1e-4


def test_a_potential_of_the_prior_has_a_density_and_no_draws():
    with model() as with_potential:
        pm.Potential("less", -with_potential["rate"].sum())
    clf = bp.from_pymc(with_potential)
    tree = clf.to_datatree(draws=20, chains=1, random_state=1, groups=["posterior", "log_prior"])
    np.testing.assert_allclose(
        tree["log_prior"]["less"], -tree["posterior"]["rate"].sum(("class", "word")), rtol=1e-9
    )
    with pytest.raises(bp.NotConjugateError, match="'less' is a factor of the prior"):
        clf.to_datatree(groups="prior")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")
@pytest.mark.parametrize(
    "scale",
    [
        lambda: pm.HalfFlat("scale"),
        lambda: pm.CustomDist("scale", logp=lambda value: -value, transform=transforms.log, initval=1.0),
    ],
    ids=["flat", "by its density"],
)
def test_a_prior_without_draws_leaves_the_other_groups(scale):
    with pm.Model() as without:
        label = pm.Categorical("y", np.full(2, 0.5), observed=CODES)
        mean = pm.Normal("mean", 0.0, 2.0, shape=2)
        pm.Normal("x", mean[label], scale(), observed=RNG.normal(CODES, 1.0))
    clf = bp.from_pymc(without, inference=bp.NUTS(draws=30, tune=30, chains=1, random_state=1))
    tree = clf.to_datatree(groups="all")
    assert {"posterior", "log_likelihood"} <= set(tree.children)
    assert "prior: " in tree.attrs["left_out"]
    with pytest.raises(bp.NotConjugateError, match=r"no draws of|confines the prior"):
        clf.to_datatree(groups="prior")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")
@pytest.mark.parametrize("transform", [transforms.ordered, transforms.Interval(-0.5, 1.0)])
def test_a_prior_that_a_transform_confines_has_no_draws(transform):
    with pm.Model() as confined:
        label = pm.Categorical("y", np.full(2, 0.5), observed=CODES)
        mean = pm.Normal("mean", 0.0, 2.0, shape=2, transform=transform, initval=[0.0, 0.5])
        pm.Normal("x", mean[label], 1.0, observed=RNG.normal(CODES, 1.0))
    clf = bp.from_pymc(confined, inference=bp.NUTS(draws=20, tune=20, chains=1, random_state=1))
    with pytest.raises(bp.NotConjugateError, match="confines the prior of 'mean'"):
        clf.to_datatree(groups="prior")
    assert "prior: the transform" in clf.to_datatree(groups="all").attrs["left_out"]
