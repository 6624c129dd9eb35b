"""The same declaration sampled with PyMC agrees with its closed form, says how well, and costs one compilation."""

import ctypes
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, dirichlet

import bayesppl as bp
from bayesppl.conjugate import Joint
from bayesppl.inference import nuts
from bayesppl.inference.pymc import native
from bayesppl.inference.pymc.model_density import Density, log_density
from bayesppl.model.convergence import Diagnosis, diagnose
from bayesppl.model.posterior import DrawsReport
from bayesppl.model.sampled import Sampled

RNG = np.random.default_rng(7)
X = RNG.integers(0, 2, size=(30, 2))
Y = np.array(list("abb"))[RNG.integers(0, 3, size=30)]
SHORT = bp.NUTS(draws=500, tune=300, chains=2, random_state=3)


@pytest.fixture(scope="module")
def sampled():
    return bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=SHORT).fit(X, Y)


@pytest.fixture(scope="module")
def exact():
    return bp.BernoulliNB(bp.Beta(2.0, 0.7)).fit(X, Y)


def _as_sampled(clf, chains, draws, seed):
    """A posterior known by independent exact draws."""
    exact = clf.posterior_
    samples = exact.draws(chains, draws, np.random.default_rng(seed))
    report = DrawsReport({"inference": "exact draws"}, {}, Diagnosis({}, []), {})
    return Sampled(exact.model, exact.statistics, exact.prior, samples, report)


def _z_score(draws, expected):
    """Distance of the average of draws (chain, draw, ...) from the truth, in Monte-Carlo standard errors."""
    from arviz_stats.base.array import array_stats

    return (draws.mean((0, 1)) - expected) / array_stats.mcse(draws, chain_axis=0, draw_axis=1, method="mean")


def test_draws_agree_with_the_closed_form(sampled, exact):
    """Means and variances of all parameters."""
    parts = exact.posterior_.belief.parts
    weights = dirichlet(parts["class_weights"].concentration)
    moments = {
        "class_weights": (weights.mean(), weights.var()),
        "probability": beta(parts["features"].alpha, parts["features"].beta).stats("mv"),
    }
    assert set(moments) == set(sampled.posterior_.samples)
    for name, (mean, variance) in moments.items():
        draws = sampled.posterior_.samples[name]
        assert np.abs(_z_score(draws, mean)).max() < 4
        assert np.abs(_z_score((draws - mean) ** 2, variance)).max() < 4


def test_predictive_agrees_within_its_own_standard_error(sampled, exact):
    difference = sampled.predict_proba(X) - exact.predict_proba(X)
    error = sampled.predict_proba_mcse(X)
    assert (np.abs(difference) < 4 * error).all()
    assert (error < 0.05).all()
    assert not exact.predict_proba_mcse(X).any()


def test_the_mode_is_the_closed_form_mode(sampled, exact):
    for name, value in exact.posterior_.mode().items():
        np.testing.assert_array_equal(sampled.posterior_.mode()[name], value)


def test_one_seed_one_result_and_one_compilation(sampled):
    before = len(native.FUNCTIONS)
    again = bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=replace(SHORT, cores=1)).fit(X, Y)
    for name, draws in sampled.posterior_.samples.items():
        np.testing.assert_array_equal(again.posterior_.samples[name], draws)
    other = bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=SHORT).fit(X[:20], Y[:20])
    assert not np.array_equal(other.posterior_.samples["probability"], sampled.posterior_.samples["probability"])
    assert len(native.FUNCTIONS) == before


def _call(function, point, data):
    """Evaluate machine code of a density from Python; where it has no value, that is NaN."""
    gradient, value = np.full(len(point), np.nan), np.full(1, np.nan)
    arrays = [np.ascontiguousarray(values, dtype=np.float64) for values in (point, gradient, value, data)]
    pointers = [values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for values in arrays]
    function.ctypes(len(point), *pointers)
    return float(value[0]), gradient


@pytest.mark.parametrize(
    "estimator", [bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis(), bp.BernoulliNB()]
)
def test_density_is_that_of_the_model(estimator):
    """Folding, lifting, dropping checks and a leaner simplex leave the density of PyMC's own transforms alone."""
    from pytensor.compile.mode import Mode
    from sklearn.datasets import load_iris

    features, labels = load_iris(return_X_y=True)
    if isinstance(estimator, bp.BernoulliNB):
        features = (features > features.mean(0)).astype(int)
    model = estimator.fit(features, labels).to_pymc("statistics")
    density = log_density(model)
    reference = model.compile_logp(mode=Mode(linker="py", optimizer=None))
    for _ in range(3):
        flat = density.centre + 0.3 * RNG.standard_normal(len(density.centre))
        value, gradient = density(flat)
        np.testing.assert_allclose(value, reference(density.split(flat)), rtol=1e-10)
        step = 1e-5 * np.eye(len(flat))[:4]
        slopes = [(density(flat + s)[0] - density(flat - s)[0]) / 2e-5 for s in step]
        np.testing.assert_allclose(gradient[:4], slopes, rtol=1e-4, atol=1e-4)


def test_one_function_serves_all_labels_counts_and_constants_of_priors():
    """Of rows declared one by one: their classes are integers, as their values may be."""
    import pymc as pm
    from pytensor.compile.mode import Mode

    def declared(seed, scale):
        rng = np.random.default_rng(seed)
        codes = np.append(np.arange(3), rng.integers(0, 3, 17))
        with pm.Model() as model:
            mean = pm.Normal("mean", 0.3, scale, shape=3)
            pm.StudentT("x", 4.5, mean[codes], observed=rng.normal(size=20))
            pm.Poisson("n", pm.math.exp(mean)[codes], observed=rng.poisson(1.0, 20))
        return model

    models = [declared(1, 1.7), declared(2, 2.3)]
    found = [log_density(model) for model in models]
    keys = [native.structure_key([*density.free, *density.constants], density.outputs) for density in found]
    assert keys[0] == keys[1] is not None
    point = RNG.normal(size=3)
    for model, density in zip(models, found, strict=True):
        reference = model.compile_logp(mode=Mode(linker="py", optimizer=None))
        np.testing.assert_allclose(density(point)[0], reference(density.split(point)), rtol=1e-10)


def test_machine_code_computes_what_the_graph_says(exact):
    density = log_density(exact.to_pymc("statistics"))
    function = density.compiled()
    for spread in (0.0, 0.3, 3.0):
        point = density.centre + spread * RNG.standard_normal(len(density.centre))
        value, gradient = _call(function, point, density.data)
        expected, slopes = density(point)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-12)
    assert np.isnan(_call(function, density.centre * np.nan, density.data)[0])


def test_machine_code_takes_any_number_of_arrays():
    """Calls of more than 30 arguments are compiled differently by Python, and not at all by numba."""
    import pytensor.tensor as pt

    free = [pt.scalar("a", dtype="float64"), pt.tensor("b", dtype="float64", shape=(2, 1))]
    constants = [pt.vector(f"c{i}", dtype="float64", shape=(2,)) for i in range(45)]
    value = (free[1][:, 0] * sum(constants)).sum() * free[0]
    arrays = tuple(RNG.normal(size=(45, 2)))
    start = {"a": np.asarray(2.0), "b": np.array([[1.0], [-3.0]])}
    density = Density(free, constants, [value, *pt.grad(value, free)], arrays, start)
    value, gradient = _call(density.compiled(), density.centre, density.data)
    total = np.sum(arrays, axis=0)
    np.testing.assert_allclose(value, 2.0 * (total[0] - 3.0 * total[1]))
    np.testing.assert_allclose(gradient, [total[0] - 3.0 * total[1], 2.0 * total[0], 2.0 * total[1]])


def test_machine_code_reads_a_slope_that_is_a_view_of_an_array():
    """The slope by the common mean of a single column is an element of sums over its rows."""
    import pytensor.tensor as pt

    free = [pt.scalar("a", dtype="float64"), pt.tensor("b", dtype="float64", shape=(2, 1))]
    value = (-0.5 * (free[1] - free[0]) ** 2).sum(0)[0]
    slope = pt.squeeze((free[1] - free[0]).sum(0))
    start = {"a": np.asarray(2.0), "b": np.array([[1.0], [-3.0]])}
    density = Density(free, [], [value, slope, pt.grad(value, free[1])], (), start)
    value, gradient = _call(density.compiled(), density.centre, density.data)
    np.testing.assert_allclose([value, *gradient], [-13.0, -6.0, 1.0, 5.0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Numba will use object mode")
def test_what_python_computes_is_neither_kept_on_disk_nor_run_in_two_threads(monkeypatch):
    """Either ended the process with a segmentation fault."""
    import numba
    import nutpie
    import pytensor
    import pytensor.tensor as pt
    from pytensor.tensor.blockwise import Blockwise
    from pytensor.tensor.shape import Reshape

    a = pt.tensor("a", dtype="float64", shape=(2, 3))
    shapes = pt.constant(np.array([[3, 1], [3, 1]]))  # one for each row, which numba does not have
    value = -(Blockwise(Reshape(2), signature="(i),(j)->(k,l)")(a, shapes) ** 2).sum()
    density = Density([a], [], [value, pt.grad(value, a)], (), {"a": RNG.normal(size=(2, 3))})
    native.expand_function()
    kept, functions, compile_function = [], dict(native.FUNCTIONS), numba.cfunc

    def noted(signature, cache):
        kept.append(cache)
        return compile_function(signature, cache=cache)

    monkeypatch.setattr(numba, "cfunc", noted)
    with pytensor.config.change_flags(numba__cache=True):
        compiled = nuts.compile_density(density)
    assert kept == [True, False]  # what can be loaded is looked for first
    assert functions == native.FUNCTIONS  # the operation may have another body later, under the same name
    found, gradient = _call(compiled.compiled_logp_func, density.centre, density.data)
    np.testing.assert_allclose([found, *gradient], [-(density.centre**2).sum(), *(-2 * density.centre)])

    seen, sample = [], nutpie.sample

    def watched(*args, **kwargs):
        seen.append(kwargs["cores"])
        return sample(*args, **kwargs)

    monkeypatch.setattr(nutpie, "sample", watched)
    points, _ = replace(SHORT, cores=2).run(density, compiled)
    assert seen == [1]
    assert np.abs(points.mean((0, 1))).max() < 0.2  # six standard errors of independent draws


def test_a_density_is_zero_where_a_check_of_pymc_fails():
    """The shape of a gamma prior that is normal itself has no transform that keeps it above zero."""
    import pymc as pm

    with pm.Model() as model:
        shape = pm.Normal("shape", 0.5, 1.0)
        pm.Poisson("x", pm.Gamma("rate", shape, 1.0, shape=2), observed=np.array([0, 1]))
    density = log_density(model)
    reference = model.compile_logp()
    for at in (0.7, -0.3):
        point = np.array([at, 0.1, -0.4])
        np.testing.assert_allclose(density(point)[0], reference(density.split(point)))
    assert density(point)[0] == -np.inf


@pytest.mark.parametrize(("initval", "reach"), [(None, [0.1] * 4 + [1.0]), (np.full((2, 2), 0.5), [0.1] * 5)])
def test_chains_of_a_users_model_begin_within_narrow_priors_and_near_stated_values(monkeypatch, initval, reach):
    """At one beyond a half no probability lies, and the sampler would find no place to start from."""
    import pymc as pm

    from bayesppl.inference.pymc.reading import part_draws

    class FoundError(Exception):
        pass

    def run(self, density, compiled):
        raise FoundError(np.broadcast_to(density.spread, density.centre.shape).tolist())

    monkeypatch.setattr(part_draws, "compile_density", lambda density, notify: None)
    monkeypatch.setattr(bp.NUTS, "run", run)
    with pm.Model() as model:
        label = pm.Categorical("y", [0.5, 0.5], observed=np.arange(30) % 2)
        probability = pm.Normal("p", 0.5, 0.1, shape=(2, 2), initval=initval)
        shift = pm.Normal("shift", 0.0, 10.0)
        pm.Bernoulli("x", pm.math.sigmoid(shift) * probability[label], observed=X)
    with pytest.raises(FoundError) as found:
        bp.from_pymc(model, label="y")
    assert found.value.args[0] == reach


def test_the_model_that_an_unknown_nutpie_compiles_has_the_same_density(exact):
    from pytensor.compile.mode import Mode

    density = log_density(exact.to_pymc("statistics"))
    reference = density.as_model().compile_logp(mode=Mode("py", None))
    for spread in (0.0, 0.5):
        point = density.centre + spread * RNG.standard_normal(len(density.centre))
        np.testing.assert_allclose(reference({"point": point}), density(point)[0], rtol=1e-12)


class PanicException(BaseException):
    """As that of Rust, whose type cannot be imported."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            RuntimeError("All initialization points failed\n\nCaused by:\n    Logp function returned error"),
            r"^the sampler did not run: All initialization points failed\. .*initval=[^\n]*$",
        ),
        (
            PanicException("Poisoned sampler state mutex: PoisonError { .. }"),
            r"^the sampler did not run: .*zero, .* Give such variables proper priors",
        ),
    ],
)
def test_a_sampler_that_does_not_start_says_what_to_do(exact, monkeypatch, error, message):
    import nutpie

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(nutpie, "sample", fail)
    density = log_density(exact.to_pymc("statistics"))
    with pytest.raises(RuntimeError, match=message):
        bp.NUTS().run(density, None)


@pytest.mark.slow
def test_nutpie_is_imported_without_the_plots_of_arviz_which_are_there_when_asked_for():
    code = (
        "import sys; from bayesppl.inference.nuts import import_nutpie; import_nutpie();"
        "assert not {'arviz', 'arviz_plots', 'matplotlib'} & set(sys.modules);"
        "import arviz, arviz_base, nutpie; assert arviz.from_dict is arviz_base.from_dict; arviz.plot_dist"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_threads_may_import_nutpie_at_the_same_time():
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor;"
        "from bayesppl.inference.nuts import import_nutpie;"
        "found = set(ThreadPoolExecutor(4).map(lambda _: import_nutpie(), range(4)));"
        "assert len(found) == 1 and 'arviz' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_nutpie_whose_interface_is_not_known_compiles_by_itself(exact, monkeypatch, capsys):
    import nutpie

    density = log_density(exact.to_pymc("statistics"))
    monkeypatch.setattr(nuts, "KNOWN", "0.15.")
    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda model: [v.name for v in model.free_RVs])
    assert nuts.compile_density(density) == ["point"]
    assert capsys.readouterr().err == ""
    assert nuts.compile_density(density, notify=True) == ["point"]
    assert "itself, for minutes and in every process" in capsys.readouterr().err


@pytest.mark.slow
def test_draws_of_what_nutpie_compiles_itself_agree_with_the_closed_form(exact, monkeypatch):
    monkeypatch.setattr(nuts, "KNOWN", "0.15.")
    test_draws_agree_with_the_closed_form(bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=SHORT).fit(X, Y), exact)


def test_key_tells_graphs_apart():
    import pytensor.tensor as pt

    key = native.structure_key
    x, y = pt.vector("x"), pt.vector("y")
    assert key([x], [x * 2.0 + 1.0]) == key([y], [y * 2.0 + 1.0])
    assert key([x], [x * 2.0 + 1.0]) != key([y], [y * 3.0 + 1.0])
    assert key([x, y], [x - y]) != key([x, y], [y - x])
    assert key([x], [x.sum()]) != key([x], [x.prod()])
    assert key([x], [x * 2.0]) != key([pt.matrix("x")], [pt.matrix("x") * 2.0])
    m = pt.matrix("m")
    assert key([m], [m.sum(0)]) != key([m], [m.sum(1)])


def test_standard_error_is_the_spread_over_repetitions():
    """The predictive of independent draws varies from seed to seed as its standard error says."""
    clf = bp.GaussianNB().fit(RNG.normal(size=(12, 2)) + (Y[:12, None] == "a"), Y[:12])
    rows = RNG.normal(size=(4, 2))
    posteriors = [_as_sampled(clf, 2, 400, seed) for seed in range(60)]
    values = []
    for posterior in posteriors:
        joint = np.exp(posterior.log_joint_predictive()(rows))
        values.append(joint / joint.sum(1, keepdims=True))
    claimed = np.sqrt(np.mean([posterior.predictive_mcse([(1.0, rows)]) ** 2 for posterior in posteriors], axis=0))
    # a standard deviation from 60 repetitions has a relative error of 1/√118 = 0.09
    np.testing.assert_allclose(np.std(values, axis=0, ddof=1) / claimed, 1.0, atol=4 * 0.092)


def test_predictive_does_not_depend_on_portions(monkeypatch, exact):
    posterior = _as_sampled(exact, 3, 50, 0)
    whole = posterior.log_joint_predictive()(X)
    monkeypatch.setattr("bayesppl.model.posterior.CHUNK_CELLS", 7)
    np.testing.assert_allclose(posterior.log_joint_predictive()(X), whole, rtol=1e-12)


def test_problems_are_found_and_said_once():
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(4, 500, 2)) + np.arange(4)[:, None, None]
    stuck = np.cumsum(rng.normal(size=(4, 500)), axis=1)
    fine = rng.normal(size=(4, 500, 2))
    assert diagnose({"fine": fine}, {"diverging": np.zeros((4, 500), bool)}).problems == []
    [mixing] = [p for p in diagnose({"fine": fine, "apart": apart}, {}).problems if "R-hat" in p]
    assert "'apart'" in mixing
    assert "chance" not in mixing
    near = fine + 0.15 * np.arange(4)[:, None, None]
    [slight] = [p for p in diagnose({"near": near}, {}).problems if "R-hat" in p]
    assert "may be chance in 4 chains of 500 draws; in 4 of 1000 it rarely is" in slight
    assert any("effective draws" in p for p in diagnose({"stuck": stuck}, {}).problems)
    [diverged] = diagnose({"fine": fine}, {"diverging": np.eye(4, 500, dtype=bool)}).problems
    assert diverged.startswith("4 of 2000 draws diverged")


def test_too_few_draws_warn_and_are_recorded():
    with pytest.warns(bp.ConvergenceWarning, match="effective draws") as caught:
        clf = bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=replace(SHORT, draws=50)).fit(X, Y)
    assert [warning.filename for warning in caught] == [__file__]
    assert "effective draws" in clf.diagnostics().attrs["problems"]
    assert "effective draws" in clf.to_datatree().attrs["problems"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draws": 0}, "draws must be at least 1, found 0"),
        ({"chains": 1.5}, "chains must be a whole number"),
        ({"target_accept": 1.0}, "target_accept must lie between 0 and 1"),
        ({"options": {"seed": 1}}, "set random_state"),
        ({"options": {"no_such_option": 1}}, "no_such_option"),
        ({"likelihood": "columns"}, "likelihood must be"),
    ],
)
def test_refused_settings(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=replace(SHORT, **settings)).fit(X, Y)


def test_improper_priors_are_refused():
    with pytest.raises(bp.ImproperError, match="PyMC can neither draw from it nor sample it"):
        bp.GaussianNB(prior="jeffreys", inference="nuts").fit(RNG.normal(size=(30, 2)), Y)


@pytest.mark.parametrize("inference", [SHORT, "laplace"])
def test_discrete_variables_are_refused(inference):
    import pymc as pm

    prior = pm.Gamma.dist(1 + pm.Poisson.dist(3), 1.0)
    with pytest.raises(ValueError, match="'rate_poisson' is a discrete variable"):
        bp.PoissonNB(rate=prior, inference=inference).fit(X, Y)


@pytest.mark.slow
def test_known_class_weights_are_not_sampled():
    clf = bp.BernoulliNB(bp.Beta(2.0, 0.7), class_weights=[0.3, 0.7], inference=SHORT).fit(X, Y)
    np.testing.assert_array_equal(
        clf.posterior_.samples["class_weights"], np.broadcast_to([0.3, 0.7], (2, 500, 2))
    )
    assert isinstance(clf.posterior_.prior, Joint)
