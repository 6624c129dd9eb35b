"""What is recognised does not depend on how a model is written, and its answers are those of its densities."""

import warnings
from functools import cache
from pathlib import Path

import counts
import gaussians
import hierarchical
import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from pytensor.graph.replace import clone_replace
from registry import OF_EACH_KIND, SPELLINGS, Spelling, quick_and_slow
from scipy import stats
from scipy.special import logsumexp

import bayesppl as bp
from bayesppl.inference.pymc.graphs import evaluate
from bayesppl.inference.pymc.reading.part_draws import block_density
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.recognition import read
from bayesppl.inference.pymc.reading.solving import fit_model

#: Modules that register spellings as they are imported.
REGISTERING = (counts, gaussians, hierarchical)
NEW = 4
DRAWS = 60


@cache
def _plain(name):
    """The model of a spelling, and what is read of it."""
    case = SPELLINGS[name]
    model = case.build(case.rows, case.codes)
    return model, _fitted(model)


@pytest.mark.parametrize("name", quick_and_slow(SPELLINGS, OF_EACH_KIND))
def test_every_part_is_solved_as_expected(name):
    case, reading = SPELLINGS[name], _plain(name)[1].fitted_.reading
    found = {"y" if b.holds_label else b.name: (b.solution, b.why) for b in reading.blocks}
    assert {part: solution for part, (solution, _) in found.items()} == dict(case.expected), found


#: Parts whose parameters, or some of them given the others, have a conjugate prior, and that are sampled whole
#: all the same.
MISSED = {
    ("one_feature_given_another", "x2"): "coefficients of a regression given the class",
    ("regression_on_a_covariate", "x"): "coefficients of a regression given the class",
    ("gamma_of_learned_shape", "x"): "rates given a shape that is learned",
}


def test_nine_tenths_of_the_parts_with_a_closed_form_are_found():
    """Of features; as :func:`test_every_part_is_solved_as_expected` finds them."""
    solutions = {
        (name, part): solution
        for name, case in SPELLINGS.items()
        for part, solution in case.expected.items()
        if part != "y"
    }
    assert {solutions[part] for part in MISSED} <= {"compressed", "by rows"}
    found = [part for part, solution in solutions.items() if solution in ("exact", "collapsed")]
    assert len(SPELLINGS) >= 60
    assert len(found) >= 0.9 * (len(found) + len(MISSED))
    page = (Path(__file__).parents[2] / "docs/theory/reading.md").read_text()
    assert f"Of the {len(found) + len(MISSED)} parts with a closed form, {len(found)} are" in page


@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS installation")
@pytest.mark.parametrize(
    "name",
    quick_and_slow(
        [
            n
            for n, case in SPELLINGS.items()
            if {"compressed", "collapsed"} & set(case.expected.values())
            and n != "mean_vectors_about_a_learned_centre"  # whose density PyMC does not take
        ],
        ("normal_logits", "softmax_of_normals", "half_normal_scales"),
    ),
)
def test_the_sampler_takes_the_density_of_the_whole_model(name):
    """Of the variables of a compressed part, or of a collapsed one whole, with all others held."""
    case = SPELLINGS[name]
    model = case.build(case.rows, case.codes)
    reading, rng = read(model, "y"), np.random.default_rng(2)
    block = next(block for block in reading.blocks if block.solution in ("compressed", "collapsed"))
    coordinates = block.coordinates
    points = coordinates.draw(3, rng)
    [ours] = coordinates.evaluate([block_density(reading, block)], points)
    density = pytensor.function(model.value_vars, model.logp(), mode=Mode("py", None))
    start = model.initial_point()
    names = [model.rvs_to_values[variable].name for variable in coordinates.free]
    theirs = []
    for i in range(3):
        moved = start | {name: values[i] for name, values in zip(names, points, strict=True)}
        theirs.append(float(density(*(moved[v.name] for v in model.value_vars))))
    np.testing.assert_allclose(ours - ours[0], np.subtract(theirs, theirs[0]), rtol=1e-9, atol=1e-9)


def _unmixed(mean):
    root = np.linalg.cholesky(gaussians.OF_MEANS)
    return np.linalg.solve(root, np.swapaxes(mean - 0.5, -1, -2)).swapaxes(-1, -2)


#: Variables that no parameter stands for entry by entry, so that trees hold the parameter in their place, and how
#: they follow from it.
UNMATCHED = {"known_precisions_and_correlated_means_non_centred": ("z", "mean", _unmixed)}


@pytest.mark.parametrize("name", quick_and_slow(SPELLINGS, OF_EACH_KIND[::8]))
def test_class_probabilities_are_those_of_the_model_evaluated_row_by_row(name):
    case = SPELLINGS[name]
    model, clf = _plain(name)
    tree = clf.to_datatree(draws=DRAWS, chains=1, random_state=1)["posterior"]
    draws = {str(variable): values.values for variable, values in tree.data_vars.items()}
    if name in UNMATCHED:
        variable, parameter, of = UNMATCHED[name]
        draws[variable] = of(draws[parameter])
    theta = {v.name: draws[v.name].reshape(-1, *draws[v.name].shape[2:]) for v in model.free_RVs}
    some = np.linspace(0, len(case.codes) - 1, NEW).astype(int)
    new = {key: values[some] for key, values in case.rows.items()}
    joint = _log_joint(case, new, theta, len(clf.classes_))  # (draw, row, class)
    found = clf.predict_proba(new)
    average = logsumexp(joint, axis=0) - np.log(len(joint))
    share = np.exp(average - logsumexp(average, axis=1, keepdims=True))
    relative = np.exp(joint - average)
    influence = share * (relative - (share * relative).sum(-1, keepdims=True))
    error = influence.std(0) / np.sqrt(len(joint))
    assert (np.abs(found - share) <= 6 * error + 1e-9).all(), np.abs(found - share) / (error + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", quick_and_slow(SPELLINGS, ("features_first", "words_about_a_learned_base")))
def test_class_probabilities_are_in_ascending_order_of_the_classes(name):
    """Those of the test before, whose classes are called by their codes."""
    case = SPELLINGS[name]
    model, plain = _plain(name)
    names = ["c", "a", "b"] if len(plain.classes_) == 3 else ["b", "a"]
    named = _fitted(model, names)
    assert named.recognition().equals(plain.recognition())
    assert named.classes_.tolist() == sorted(names)
    expected = plain.predict_proba(case.rows)[:, np.argsort(names)]
    np.testing.assert_allclose(named.predict_proba(case.rows), expected, rtol=1e-9, atol=1e-300)


def _fitted(model, names=None) -> bp.PyMCClassifier:
    """Read with draws from somewhere in the prior: that they are from the posterior is not what is tested here."""
    everything = Coordinates.of_model(model)
    theta = everything.theta(everything.draw(DRAWS, np.random.default_rng(3), 0.3))
    draws = {name: values[None] for name, values in theta.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bp.ConvergenceWarning)
        fit = fit_model(
            model, "y", bp.NUTS(), "predictive", classes=None if names is None else np.array(names), draws=draws
        )
        return bp.PyMCClassifier()._adopt(fit)


def _log_joint(case: Spelling, new, theta, n_classes):
    """log p(y = k, x | θ) by PyMC itself, of models that hold the new rows under each class."""
    out = []
    for k in range(n_classes):
        model = case.build(new, np.full(NEW, k))
        values = {v: v.type() for v in model.free_RVs}
        known = {v: pytensor.tensor.constant(evaluate([model.rvs_to_values[v]])[0]) for v in model.observed_RVs}
        terms = []
        for variable in model.observed_RVs:
            others = {v: value for v, value in known.items() if v is not variable}
            [own] = clone_replace([variable], {**values, **others}, rebuild_strict=False)
            terms.append(pm.logp(own, known[variable], warn_rvs=False))
        function = pytensor.function(list(values.values()), terms, mode=Mode("py", None), on_unused_input="ignore")
        per_draw = [
            sum(np.asarray(t).reshape(NEW, -1).sum(1) for t in function(*(theta[v.name][s] for v in values)))
            for s in range(DRAWS)
        ]
        out.append(np.asarray(per_draw))
    return np.stack(out, axis=-1)


def test_many_columns_with_a_variable_for_each_class_are_exact():
    rng, n_columns = np.random.default_rng(3), 120
    codes = np.arange(12) % 3
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(3)), observed=codes)
        tau = [pm.Gamma(f"tau{k}", 2.0, 0.5, shape=n_columns) for k in range(3)]
        mu = [pm.Normal(f"mu{k}", 1.0, tau=0.3 * tau[k], shape=n_columns) for k in range(3)]
        observed = rng.normal(size=(12, n_columns))
        pm.Normal("x", pm.math.stack(mu)[y], tau=pm.math.stack(tau)[y], observed=observed)
    assert [block.solution for block in read(model, "y").blocks] == ["exact", "exact"]


def test_a_flat_prior_of_the_means_is_improper_without_a_warning():
    codes = np.arange(12) % 3
    with pm.Model() as model:
        y = pm.Categorical("y", pm.Dirichlet("w", np.ones(3)), observed=codes)
        pm.Normal("x", pm.Flat("mu", shape=(3, 2))[y], 1.0, observed=np.random.default_rng(3).normal(size=(12, 2)))
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "compressed"
    assert "the density of the means is flat" in block.why


@pytest.mark.parametrize("spelt", [lambda y: y, lambda y: 1.0 * y], ids=["itself", "times one"])
def test_a_label_may_be_a_parameter_itself(spelt):
    codes = np.array([0, 1] * 10)
    with pm.Model() as model:
        y = pm.Bernoulli("y", 0.5, observed=codes)
        pm.Laplace("x", spelt(y), pm.HalfNormal("b"), observed=codes + np.linspace(-1, 1, 20))
    b = np.random.default_rng(0).gamma(5.0, 0.2, (1, 30))
    drawn = xr.Dataset({"b": (("chain", "draw"), b)})
    clf = bp.from_pymc(model, draws=xr.DataTree.from_dict({"posterior": drawn}))
    density = [stats.laplace.pdf(np.array([0.2, 1.7])[:, None], k, b).mean(1) for k in (0, 1)]
    np.testing.assert_allclose(clf.predict_proba({"x": [0.2, 1.7]}), (density / np.sum(density, axis=0)).T)
