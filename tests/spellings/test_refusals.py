"""Models that are no generative classifiers, or not readable as such, get a sentence and not a traceback."""

import numpy as np
import pymc as pm
import pymc.dims as pmd
import pytensor.tensor as pt
import pytest
import xarray as xr
from registry import BINARY, CODES, N_ROWS, REAL

import bayesppl as bp
from bayesppl.inference.pymc.reading.recognition import read

K = 3


def label(codes=CODES):
    return pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=codes)


def means():
    return pm.Normal("mu", 0.0, 1.0, shape=(K, 2))


def no_label():
    pm.Normal("x", means()[CODES], 1.0, observed=REAL)


def label_not_observed():
    y = pm.Categorical("y", np.ones(K) / K, shape=N_ROWS)
    pm.Normal("x", means()[y], 1.0, observed=REAL)


def label_of_another_kind():
    y = pm.Poisson("y", 1.0, observed=CODES)
    pm.Normal("x", means()[y], 1.0, observed=REAL)


def rows_that_stand_for_more():
    pm.Normal("x", means()[label()], 1.0, observed=REAL, total_size=1000)


def label_partly_missing():
    with pytest.warns(UserWarning, match="missing"):
        y = pm.Categorical("y", np.ones((N_ROWS, K)) / K, observed=np.ma.masked_array(CODES, CODES == 2))
    pm.StudentT("x", nu=4.0, mu=means()[y], sigma=1.0, observed=REAL)


def label_of_two_dimensions():
    y = pm.Categorical("y", np.ones(K) / K, observed=np.stack([CODES, CODES]))
    pm.Normal("x", means()[y[0]], 1.0, observed=REAL)


def code_out_of_range():
    y = pm.Categorical("y", np.ones(2) / 2, observed=CODES)
    pm.Normal("x", means()[y], 1.0, observed=REAL)


def nothing_depends_on_the_label():
    label()
    pm.Normal("x", means()[0], 1.0, observed=REAL)


def other_number_of_rows():
    y = label()
    pm.Normal("x", means()[y[:5]], 1.0, observed=REAL[:5])


def rows_last():
    y = label()
    pm.Normal("x", means().T[:, y], 1.0, observed=REAL.T)


def time_series():
    y = label()
    pm.GaussianRandomWalk("x", mu=means()[0, 0], sigma=1.0, init_dist=pm.Normal.dist(0, 1), observed=REAL[:, 0])
    assert y is not None


def gaussian_process():
    y = label()
    cov = pt.exp(-0.5 * (np.arange(N_ROWS)[:, None] - np.arange(N_ROWS)) ** 2.0) + np.eye(N_ROWS)
    pm.MvNormal("x", means()[y, 0], cov=cov, observed=REAL[:, 0])


def potential_over_rows():
    y = label()
    pm.Potential("x", -0.5 * ((REAL - means()[y]) ** 2).sum())


def potential_over_labels():
    y = label()
    mu = means()
    pm.Potential("extra", mu[y, 0].sum())
    pm.Normal("x", mu[y], 1.0, observed=REAL)


def constant_of_the_length_of_the_rows():
    y = label()
    pm.Normal("x", means()[y] + np.linspace(0, 1, N_ROWS)[:, None], 1.0, observed=REAL)


def labels_as_numbers():
    y = label()
    pm.Normal("x", means()[0] + CODES[:, None] * means2(), 1.0, observed=REAL)
    assert y is not None


def means2():
    return pm.Normal("slope", 0.0, 1.0, shape=2)


def missing_cells():
    y = label()
    values = REAL.copy()
    values[3, 1] = np.nan
    with pytest.warns(UserWarning, match="missing"):
        pm.StudentT("x", nu=4.0, mu=means()[y], sigma=1.0, observed=values)


def discrete_latent():
    y = label()
    k = pm.Bernoulli("switch", 0.5)
    pm.Normal("x", means()[y] + k, 1.0, observed=REAL)


def regression_of_the_label():
    y = pm.Categorical("y", pm.math.softmax(REAL @ pm.Normal("b", 0.0, 1.0, shape=(2, K)), axis=1), observed=CODES)
    pm.Normal("x", means()[y], 1.0, observed=REAL)


def no_density():
    y = label()

    def random(mu, rng=None, size=None):
        return rng.normal(mu, 1.0, size)

    pm.CustomDist("x", means()[y], random=random, observed=REAL)


def variables_of_pymc_dims():
    label()
    coords = {"class": range(K), "row": range(N_ROWS), "column": range(2)}
    pm.modelcontext(None).add_coords(coords)
    mu = pmd.Normal("mu", 0.0, 1.0, dims=("class", "column"))
    codes = pmd.Data("codes", CODES, dims="row")
    rows = pmd.as_xtensor(REAL, dims=("row", "column"))
    pmd.Normal("x", mu.isel({"class": codes}), 1.0, observed=rows, dims=("row", "column"))


def label_of_pymc_dims():
    pm.modelcontext(None).add_coords({"class": range(K), "row": range(N_ROWS)})
    weights = pmd.as_xtensor(np.full(K, 1 / K), dims=("class",))
    pmd.Categorical("y", weights, core_dims="class", observed=pmd.as_xtensor(CODES, dims=("row",)), dims="row")


def rows_of_each_class_by_themselves():
    label()
    for k in range(K):
        pm.Normal(f"x{k}", pm.Normal(f"mu{k}", 0.0, 1.0, shape=2), 1.0, observed=REAL[k == CODES])


def constant_indexed_before_the_model():
    y = label()
    scales = np.array([[0.5, 0.7], [0.6, 0.9], [1.0, 1.1]])
    pm.Normal("x", means()[y], scales[CODES], observed=REAL)


REFUSED = {
    rows_of_each_class_by_themselves: r"'x0' has shape \(9, 2\).*stacked and indexed by the label.*\[y\]",
    constant_indexed_before_the_model: r"differ by class only.*pt.constant\(values\)\[y\]",
    variables_of_pymc_dims: "'mu' is computed by operations of pymc.dims",
    label_of_pymc_dims: "'y' is computed by operations of pymc.dims",
    no_label: "no variable 'y'",
    label_not_observed: "'y' is not observed",
    label_of_another_kind: "distributed as",
    rows_that_stand_for_more: "'x' has a total_size",
    label_partly_missing: "labels or cells of 'y' are missing.*'x' has none .StudentT is no family",
    label_of_two_dimensions: "one code for each row",
    code_out_of_range: "holds the code 2, and its classes are 0 to 1",
    nothing_depends_on_the_label: "no observed variable depends on the label",
    other_number_of_rows: "leading dimension is not that of the 27 rows",
    rows_last: r"put the rows first: .* mu\[y\], \.\.\., observed=X\), where X is a table of rows and columns",
    time_series: "'x'",
    gaussian_process: "one density for all rows together",
    potential_over_rows: "potential 'x' is computed from observed variables",
    potential_over_labels: "potential 'extra' is computed from observed variables",
    constant_of_the_length_of_the_rows: "constant of shape .27, 1.*pm.Data",
    labels_as_numbers: "depends on a constant",
    missing_cells: "labels or cells of 'x' are missing.*'x' has none .StudentT is no family",
    discrete_latent: "'switch' is a discrete variable",
    regression_of_the_label: "differ from row to row",
    no_density: "'x' has no log density",
}


@pytest.mark.parametrize("write", REFUSED, ids=lambda write: write.__name__)
def test_a_model_that_cannot_be_read_is_refused_in_a_sentence(write):
    with pm.Model() as model:
        write()
    with pytest.raises(ValueError, match=REFUSED[write]):
        bp.from_pymc(model, "y")


def test_the_user_s_model_is_not_changed():
    with pm.Model() as model:
        y = label()
        rate = pm.Gamma("rate", 2.0, 1.0, shape=(K, 2))
        pm.Poisson("x", rate[y], observed=np.abs(REAL).astype(int))
    before = (list(model.named_vars), dict(model.rvs_to_transforms), dict(model.rvs_to_values), model["x"])
    bp.from_pymc(model, "y")
    assert before == (list(model.named_vars), dict(model.rvs_to_transforms), dict(model.rvs_to_values), model["x"])


def test_a_binary_label_has_two_classes():
    with pm.Model() as model:
        y = pm.Bernoulli("y", pm.Beta("p", 1.0, 1.0), observed=BINARY)
        pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=2)[y], observed=np.abs(REAL[:, 0]).astype(int))
    clf = bp.from_pymc(model, "y")
    assert clf.classes_.tolist() == [0, 1]
    count = np.bincount(BINARY)
    assert np.allclose(clf.posterior_.predictive_weights(), (count + 1) / (count.sum() + 2), rtol=1e-12)


def test_a_count_that_is_missing_is_no_number():
    """Of a part that is sampled, whose rows are integers."""
    with pm.Model() as model:
        pm.Poisson("x", pm.HalfNormal("scale", 3.0, shape=K)[label()], observed=CODES + 1)
    drawn = {"scale": (("chain", "draw", "class"), np.random.default_rng(0).gamma(2.0, 1.0, (2, 30, K)))}
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(drawn)})
    clf = bp.from_pymc(model, draws=tree)
    with_gap = clf.predict_proba([[2.0], [np.nan]])
    np.testing.assert_allclose(with_gap[0], clf.predict_proba([[2.0]])[0], rtol=1e-12)
    np.testing.assert_allclose(with_gap[1], clf.posterior_.predictive_weights(), rtol=1e-12)


def test_rounded_parameters_have_no_closed_form():
    with pm.Model() as model:
        tau = pm.Gamma("tau", 2.0, 1.0, shape=(K, 2))
        mu = pm.Normal("mu", 0.0, tau=0.1 * tau, shape=(K, 2))
        y = label()
        pm.Normal("x", pt.round(mu[y]), tau=tau[y], observed=REAL)
    reading = read(model, "y")
    assert [block.solution for block in reading.blocks if block.observed] == ["compressed"]


def test_known_densities_without_a_closed_form_are_refused():
    with pm.Model() as model:
        pm.Binomial("x", n=5, p=pt.as_tensor(np.array([0.3, 0.6, 0.2]))[label()], observed=CODES)
    with pytest.raises(ValueError, match=r"nothing is learned of the density of 'x'.*a narrow prior"):
        bp.from_pymc(model)


@pytest.mark.parametrize("distribution", [pm.ZeroInflatedPoisson, pm.ZeroInflatedBinomial])
def test_a_count_with_further_zeros_is_called_by_its_name(distribution):
    parameters = (2.0,) if distribution is pm.ZeroInflatedPoisson else (2, 0.5)
    with pm.Model() as model:
        share = pm.Beta("share", 1.0, 1.0, shape=K)
        distribution("x", share[label()], *parameters, observed=CODES)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.why.startswith(f"{distribution.__name__} is no family with a closed form")


SORTED = np.repeat(np.arange(K), [3, 4, 5])


@pytest.mark.parametrize(
    "laid_out",
    [
        lambda mu: pt.repeat(mu, [3, 4, 5]),
        lambda mu: pt.concatenate([mu[k] * np.ones(n) for k, n in enumerate([3, 4, 5])]),
        lambda mu: pt.stack([mu[k] for k in SORTED]),
        lambda mu: pt.set_subtensor(pt.set_subtensor((mu[0] * pt.ones(12))[3:7], mu[1])[7:], mu[2]),
    ],
    ids=["repeat", "concatenate", "stack", "set_subtensor"],
)
def test_parameters_laid_out_by_the_places_of_rows_do_not_depend_on_the_label(laid_out):
    with pm.Model() as model:
        y = label(SORTED)
        pm.Normal("x", laid_out(pm.Normal("own", 0.0, 1.0, shape=K)), 1.0, observed=np.linspace(0.0, 1.0, 12))
        pm.Normal("z", means()[y], 1.0, observed=np.ones((12, 2)))
    with pytest.warns(UserWarning, match="not classified by .*: 'x'. .* not by the places of rows"):
        clf = bp.from_pymc(model)
    assert clf.recognition()["solution"].tolist() == ["exact", "unused", "exact"]


@pytest.mark.parametrize(
    "observe",
    [
        lambda y, own, s: pm.CustomDist(
            "x", own, dist=lambda own, size: pm.Normal.dist(own[y], 1.0, size=size), observed=REAL[:, 0]
        ),
        lambda y, own, s: pm.CustomDist(
            "x", own, logp=lambda value, own: pm.logp(pm.Normal.dist(own[y], 1.0), value), observed=REAL[:, 0]
        ),
        lambda y, own, s: pm.CustomDist(
            "x", own[y], dist=lambda mean, size: pm.Normal.dist(mean, s, size=size), observed=REAL[:, 0]
        ),
    ],
    ids=["label in dist", "label in logp", "free variable in dist"],
)
def test_variables_from_outside_of_a_custom_distribution_are_refused(observe):
    """They would be drawn anew."""
    with pm.Model() as model:
        y = label()
        observe(y, pm.Normal("own", 0.0, 1.0, shape=K), pm.HalfNormal("s"))
        pm.Normal("z", means()[y], 1.0, observed=REAL)
    with pytest.raises(ValueError, match=r"the density of 'x' would draw .* anew: .* give it to pm.CustomDist"):
        bp.from_pymc(model)


@pytest.mark.parametrize("hold", [lambda design: pm.Data("design", design), np.asarray], ids=["data", "constant"])
def test_indicators_of_the_classes_are_found_beside_a_covariate(hold):
    with pm.Model() as model:
        y = label(SORTED)
        design = hold(np.column_stack([np.ones(12), SORTED == 1, SORTED == 2, np.linspace(0.0, 1.0, 12)]))
        pm.Normal("x", pm.math.dot(design, pm.Normal("beta", shape=4)), 1.0, observed=SORTED * 1.0)
        pm.Normal("z", means()[y], 1.0, observed=np.ones((12, 2)))
    with pytest.raises(ValueError, match=r"'x' depends on the label by values of shape \(12,\)"):
        bp.from_pymc(model)


@pytest.mark.parametrize("start", [1, 2])
def test_a_label_made_of_data_that_features_are_made_of_is_refused(start):
    with pm.Model() as model:
        held = pm.Data("held", SORTED + start)
        label(held - start)
        pm.Normal("x", means()[held - start], 1.0, observed=np.ones((12, 2)))
    with pytest.raises(
        ValueError, match=r"observed as an expression of pm.Data 'held'.*hold the codes themselves"
    ):
        bp.from_pymc(model)


def test_a_recoding_of_the_label_beside_the_label_is_no_covariate():
    with pm.Model() as model:
        y, recoded = label(SORTED), pm.Data("recoded", np.eye(K)[SORTED])
        pm.Normal("x", recoded @ means(), pm.HalfNormal("s", shape=K)[y][:, None], observed=np.ones((12, 2)))
    with pytest.raises(ValueError, match=r"'x' depends on the label by values of shape \(12, 3\)"):
        bp.from_pymc(model)
