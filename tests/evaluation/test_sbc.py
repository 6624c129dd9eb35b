"""Draws are calibrated: ranks of true parameters are uniform, and Geweke's two simulators agree."""

import arviz as az
import numpy as np
import pytest
from support.examples import AVERAGED, some_quick
from support.examples import EXAMPLES as OF_RULES

import bayesppl as bp
from bayesppl.conjugate import Beta
from bayesppl.evaluation.sbc import simulation_based_calibration
from bayesppl.families import REGISTRY, ConjugateFamily, closed_forms

EXAMPLES = {**OF_RULES, **AVERAGED}

# All examples together raise a false alarm once in a thousand runs (Bonferroni), were the seed not fixed.
ALPHA = 1e-3


def _smallest(tree):
    """Smallest p-value over all entries of all parameters, times their number."""
    values = np.concatenate(
        [v.sel(measure="p_value").values.ravel() for v in tree["rank_uniformity"].data_vars.values()]
    )
    # known weights and entries that cannot vary have a single rank
    values = values[np.isfinite(values)]
    return values.min() * len(values)


#: Families whose likelihood is an approximation of the density that rows are simulated from.
APPROXIMATE = [name for name in EXAMPLES if name.startswith("dirichlet multinomial")]


@pytest.mark.parametrize("name", some_quick(name for name in EXAMPLES if name not in APPROXIMATE))
def test_exact_draws_are_calibrated(name):
    example = EXAMPLES[name]
    tree = simulation_based_calibration(example.family, example.X, example.y, random_state=17)
    assert _smallest(tree) > ALPHA / len(EXAMPLES)


def test_every_family_is_covered():
    assert {type(example.family) for example in EXAMPLES.values()} == {
        family for family in REGISTRY.values() if issubclass(family, ConjugateFamily)
    }


def test_it_sees_a_wrong_update(monkeypatch):
    """The test of the test: an update that counts every row five times is found out."""
    example = EXAMPLES["bernoulli"]
    right = Beta.update
    monkeypatch.setattr(Beta, "update", lambda self, statistics: right(self, statistics.scale(5.0)))
    tree = simulation_based_calibration(example.family, example.X, example.y, simulations=400, random_state=17)
    assert _smallest(tree) < ALPHA / len(EXAMPLES)


def test_arviz_draws_it():
    example = EXAMPLES["bernoulli"]
    tree = simulation_based_calibration(example.family, example.X, example.y, random_state=17)
    az.plot_ecdf_pit(tree, backend="none")


@pytest.mark.slow
def test_geweke_joint_distribution():
    """Parameters have their prior distribution again after many rounds of data given parameters given data.

    Geweke (2004, "Getting it right"): the successive-conditional simulator must keep the joint distribution that
    the prior and the simulator define. Compared are first and second moments, in standard errors by batch means.
    """
    from bayesppl.data.labels import one_hot
    from bayesppl.data.read_table import as_table

    family = bp.Gaussian("diag", bp.NormalInverseGamma(location=0.5, kappa=0.7, a=6.0, b=3.0))
    family = family.bind(as_table(np.zeros((4, 2))), ("a", "b"))
    codes = np.array([0, 0, 1, 1])
    rng = np.random.default_rng(3)
    statistics = closed_forms.sufficient_statistics(family, np.zeros((4, 2)), one_hot(codes, 2))
    prior = family.resolve_prior(statistics)
    theta = {name: values[0] for name, values in prior.draw(1, rng).items()}
    n = 4000
    visited = {name: np.empty((n, *values.shape)) for name, values in theta.items()}
    for i in range(n):
        statistics = closed_forms.sufficient_statistics(
            family, family.simulate(theta, codes, rng), one_hot(codes, 2)
        )
        theta = {name: values[0] for name, values in prior.update(statistics).draw(1, rng).items()}
        for name, values in theta.items():
            visited[name][i] = values
    variance = 3.0 / 5.0  # of the data: b / (a - 1)
    moments = {
        "mean": (0.5, 0.5**2 + variance / 0.7),
        "variance": (variance, 3.0**2 / (5.0 * 4.0)),  # E[v²] of an inverse gamma
    }
    for name, expected in moments.items():
        for power, value in zip((1, 2), expected, strict=True):
            batches = (visited[name] ** power).reshape(40, 100, 2, 2).mean(1)
            z = (batches.mean(0) - value) / (batches.std(0, ddof=1) / np.sqrt(40))
            assert np.abs(z).max() < 4


@pytest.mark.sbc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["bernoulli", "gaussian diag", "gaussian full", "poisson"])
def test_sampled_draws_are_calibrated(name):
    """Run with: uv run pytest -m sbc"""
    example = EXAMPLES[name]
    tree = simulation_based_calibration(
        example.family,
        example.X,
        example.y,
        inference=bp.NUTS(draws=500, tune=300, chains=2, random_state=1),
        simulations=100,
        random_state=17,
    )
    assert _smallest(tree) > ALPHA


def test_a_model_of_pymc_is_sent_on():
    import pymc as pm

    with pytest.raises(TypeError, match=r"found a Model: .*simuk\.SBC\(model\)"):
        simulation_based_calibration(pm.Model(), [[0.0], [1.0]], [0, 1])


@pytest.mark.slow
def test_simuk_calibrates_the_model_that_is_declared():
    """By sampling it anew for every simulation; what is returned has the form of ours."""
    simuk = pytest.importorskip("simuk")
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (20, 2)), np.arange(20) % 2
    clf = bp.BernoulliNB(bp.Beta(2.0, 3.0), class_weights=bp.Dirichlet(2.0)).fit(X, y)
    n, draws = 8, 49
    settings = {"draws": draws, "tune": 100, "chains": 1, "cores": 1, "nuts_sampler": "pymc", "quiet": True}
    settings["compile_kwargs"] = {"mode": "FAST_COMPILE"}
    calibration = simuk.SBC(clf.to_pymc(), num_simulations=n, seed=1, progress_bar=False, sample_kwargs=settings)
    calibration.run_simulations()
    ours = simulation_based_calibration(bp.Bernoulli(bp.Beta(2.0, 3.0)), X, y, simulations=2, random_state=1)[
        "prior_sbc"
    ]
    ranks = calibration.simulations["prior_sbc"]
    assert set(ranks.data_vars) == set(ours.data_vars)
    for name in ours.data_vars:
        assert ranks[name].shape == (1, n, *ours[name].shape[2:])
        share = (ranks[name].values[0] + 0.5) / (draws + 1)
        assert (np.abs(share.mean(0) - 0.5) < 5 / np.sqrt(12 * n)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_ranks": 101}, "n_ranks must be even"),
        ({"n_ranks": 0}, "n_ranks must be at least 2, found 0"),
        ({"simulations": 0}, "simulations must be at least 1, found 0"),
        ({"inference": "nuts"}, "inference must be a bayesppl.NUTS, found 'nuts'"),
        ({"family": bp.Gaussian(prior="jeffreys")}, "an improper prior has no draws to be calibrated by"),
    ],
)
def test_settings_that_calibrate_nothing_are_refused(options, message):
    rows, labels = [[0, 1], [1, 0], [1, 1], [0, 0]] * 3, ["a", "a", "b", "b"] * 3
    asked = {"family": bp.Bernoulli(), "X": rows, "y": labels, **options}
    with pytest.raises((ValueError, TypeError), match=message):
        bp.simulation_based_calibration(**asked)
