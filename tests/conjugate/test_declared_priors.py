"""Any prior: declared in PyMC words, sampled with the family's own likelihood, refused where it cannot be."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from pymc.distributions import transforms
from pytensor.compile.mode import Mode
from scipy.stats import beta, halfnorm
from sklearn.base import clone

import bayesppl as bp
from bayesppl.data.read_table import Columns
from bayesppl.files.serialize import same
from bayesppl.inference.mode import find_mode
from bayesppl.inference.pymc.build import declared_log_prior, draw_prior, to_pymc
from bayesppl.inference.pymc.model_density import constrain, log_density, unconstrain
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.posterior import DrawsReport
from bayesppl.model.sampled import Sampled


def _ordered(name, dims):
    found = pm.Normal(name, 0.0, 2.0, dims=dims)
    pm.Potential("order", pm.math.switch(found[1, 0] > found[0, 0], 0.0, -np.inf))
    return found


@pytest.mark.parametrize(
    ("mean", "words"),
    [
        (_ordered, "the potential 'order' is a factor of the prior"),
        (
            lambda name, dims: pm.Normal(name, dims=dims, transform=transforms.Interval(-1, 1)),
            "the transform Interval confines the prior of 'mean'",
        ),
        (
            lambda name, dims: pm.Uniform(name, -9, 9, dims=dims, default_transform=transforms.Interval(-1, 1)),
            "the transform Interval confines the prior of 'mean'",
        ),
    ],
    ids=["potential", "transform", "narrower interval"],
)
def test_a_prior_that_is_cut_has_no_draws(mean, words):
    model, prior, _ = _parts(bp.Gaussian("diag", mean=mean, sd=pm.HalfNormal.dist(2)), REALS)
    with pytest.raises(bp.NotConjugateError, match=words):
        draw_prior(model, prior, 10, seed=1)


RNG = np.random.default_rng(5)
BITS = RNG.integers(0, 2, size=(30, 2))
NAMED = pd.DataFrame(BITS, columns=["a", "b"])
REALS = RNG.normal([1.0, -2.0, 4.0], [1.0, 0.5, 2.0], size=(30, 3))
Y = np.array(list("ab"))[RNG.integers(0, 2, size=30)]
COUNTS = np.random.default_rng(6).integers(0, 4, size=(30, 3))
SHORT = bp.NUTS(draws=500, tune=300, chains=2, random_state=3)


def _parts(family, X):
    """A model, its prior and statistics, without fitting it."""
    from bayesppl.data.labels import one_hot
    from bayesppl.data.read_table import as_table

    table = as_table(X)
    codes = (Y == "b").astype(int)
    model = GenerativeModel(family.bind(table, ("a", "b")), bp.Dirichlet(2.0), ("a", "b"))
    statistics = model.statistics(model.family.bound.encode(table), one_hot(codes, 2))
    return model, model.prior(statistics), statistics


def _concentrated(name, dims):
    concentration = pm.Gamma("concentration", 2.0, 0.1)
    return pm.Beta(name, 0.5 * concentration, 0.5 * concentration, dims=dims)


@pytest.mark.slow
def test_a_declared_beta_is_the_conjugate_one():
    """The same prior in two notations: posterior, mode and probabilities agree."""
    declared = bp.GenerativeClassifier(bp.Bernoulli(probability=pm.Beta.dist(2.0, 3.0)), inference=SHORT).fit(
        BITS, Y
    )
    exact = bp.BernoulliNB(bp.Beta(2.0, 3.0)).fit(BITS, Y)
    assert isinstance(declared.posterior_, Sampled)
    draws = declared.posterior_.samples["probability"]
    ess = declared.posterior_.diagnosis.measures["probability"][1]
    gap = draws.mean((0, 1)) - exact.posterior_.mean()["probability"]
    assert (np.abs(gap) < 4 * draws.std((0, 1)) / np.sqrt(ess)).all()
    for name, value in exact.posterior_.mode().items():
        np.testing.assert_allclose(declared.posterior_.mode()[name], value, atol=1e-4)
    difference = declared.predict_proba(BITS) - exact.predict_proba(BITS)
    assert (np.abs(difference) < 4 * declared.predict_proba_mcse(BITS)).all()
    again = clone(declared).fit(BITS, Y)
    np.testing.assert_array_equal(again.posterior_.samples["probability"], draws)
    tree = declared.to_datatree(groups="all", random_state=1)
    expected = beta(2.0, 3.0).logpdf(tree["posterior"]["probability"].values).sum((-1, -2))
    # PyTensor keeps constants such as 2.0 in single precision
    np.testing.assert_allclose(tree["log_prior"]["probability"].values, expected, atol=1e-6)
    z = (tree["prior"]["probability"].values - 0.4).mean((0, 1)) / np.sqrt(0.04 / 1000)
    assert np.abs(z).max() < 4


def _learned_levels(name, dims):
    assert dims == ("class", "feature", "level")
    concentration = pm.Gamma("evenness", 2.0, 1.0)
    return pm.Dirichlet(name, concentration * np.ones(3), dims=dims)


#: Families whose prior is declared in PyMC, rows, and the number of variables above their parameters: of each kind
#: of prior one.
DECLARED = [
    (bp.Bernoulli(pm.Truncated.dist(pm.Normal.dist(0.5, pm.HalfCauchy.dist(1)), lower=0, upper=1)), BITS, 1),
    (bp.Categorical(pm.Dirichlet.dist(a=[1.0, 2.0, 0.5])), BITS, 1),
    (bp.Categorical(_learned_levels), BITS, 2),
    (bp.Multinomial(bp.Dirichlet(pm.HalfNormal.dist(1, shape=(2, 1)))), COUNTS, 1),
    (
        bp.Product(
            {
                "one": (["a"], bp.Bernoulli(pm.Beta.dist(pm.Gamma.dist(2, 1), 1.0))),
                "two": (["b"], bp.Categorical(bp.Dirichlet(pm.Gamma.dist(2, 1)))),
                "three": (["c"], bp.Gaussian()),
            }
        ),
        NAMED.assign(c=REALS[:, 0]),
        3,
    ),
    (bp.Bernoulli(probability=_concentrated), BITS, 1),
    (bp.Poisson(rate=pm.LogNormal.dist(0, pm.HalfNormal.dist(1))), BITS, 1),
    (bp.Gaussian("diag", mean=pm.Normal.dist(0, 3), sd=pm.HalfNormal.dist(2)), REALS, 1),
    (bp.Gaussian("full", mean=pm.Normal.dist(0, 3), cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2))), REALS, 2),
]
#: The others.
DECLARED_LIKE_THEM = [
    (bp.Binomial(3, probability=pm.Beta.dist(2, 3)), COUNTS, 0),
    (bp.NegativeBinomial(1.5, probability=pm.Uniform.dist(0, 1)), COUNTS, 0),
    (
        bp.Bernoulli(pm.Mixture.dist([0.5, 0.5], [pm.Beta.dist(pm.Gamma.dist(2, 1), 5), pm.Beta.dist(5, 2)])),
        BITS,
        1,
    ),
    (bp.GammaRate(2.0, rate=pm.Gamma.dist(2, pm.HalfNormal.dist(1))), COUNTS + 0.5, 1),
    (bp.LogNormal("diag", mean=pm.Normal.dist(0, 3), sd=pm.HalfNormal.dist(2)), COUNTS + 0.5, 1),
    (bp.Categorical(bp.Dirichlet(pm.Gamma.dist(2, 1)), levels={"a": [0, 1], "b": [0, 1, 2]}), NAMED, 3),
    (bp.JointCategorical(bp.Dirichlet(pm.Gamma.dist(2, 1))), BITS, 1),
    (bp.JointCategorical(pm.Dirichlet.dist(a=np.ones(9))), BITS, 0),
    (bp.Bernoulli(probability=pm.Beta.dist(pm.Gamma.dist(2, 1), pm.Gamma.dist(2, 1))), BITS, 2),
    (bp.Multinomial(probability=pm.Dirichlet.dist(a=[1.0, 2.0])), BITS, 0),
    (bp.Gaussian("tied_diag", mean=pm.Normal.dist(0, 3), sd=pm.HalfNormal.dist([1, 2, 3])), REALS, 1),
    (bp.Gaussian("spherical", mean=pm.Normal.dist(0, 3), sd=pm.HalfNormal.dist(2)), REALS, 1),
    (bp.Gaussian("tied", mean=pm.Normal.dist(0, 3), cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2))), REALS, 2),
]


@pytest.mark.parametrize(
    ("family", "X", "hyper"),
    [*DECLARED, *(pytest.param(*case, marks=pytest.mark.slow) for case in DECLARED_LIKE_THEM)],
    ids=lambda value: getattr(value, "name", None),
)
def test_density_is_prior_times_the_family_s_likelihood(family, X, hyper):
    """The PyMC model's log density is log prior plus the family's own log likelihood of rows, at any point."""
    model, prior, statistics = _parts(family, X)
    pymc_model = to_pymc(model, prior, statistics)
    density = log_density(pymc_model, jacobian=False)
    start = pymc_model.initial_point(0)
    size = sum(np.size(value) for value in start.values())
    points = RNG.normal(scale=0.3, size=(3, size)) + np.concatenate([np.ravel(start[n]) for n in density.shapes])
    names = [variable.name for variable in pymc_model.free_RVs]
    theta = constrain(pymc_model, [*{*model.dims, *names}], density.split(points))
    assert len(set(names) - set(model.dims)) == hyper
    log_prior = sum(declared_log_prior(model, prior, theta).values())
    for prefix, part in prior.leaves():
        if part.has_closed_form:
            log_prior = log_prior + part.log_prob({key: theta[prefix + key] for key in part.parameters})
    own = np.arange(len(Y)), (Y == "b").astype(int)
    encoded = model.family.bound.encode(_table(X))
    expected = log_prior + model.log_joint(theta)(encoded)[:, *own].sum(1)
    found = np.array([density(point)[0] for point in points])
    # sufficient statistics leave out factors that hold no parameter
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-8, atol=1e-7)


def _table(X):
    from bayesppl.data.read_table import as_table

    return as_table(X)


def test_lkj_draws_are_lkj():
    """Each correlation is 2 Beta(b, b) − 1 with b = η + D/2 − 1 (Lewandowski et al. 2009); scales are as
    declared."""
    family = bp.Gaussian("tied", mean=pm.Normal.dist(0, 1), cholesky=bp.LKJ(1.5, pm.HalfNormal.dist(2)))
    model, prior, _ = _parts(family, REALS)
    n = 4000
    drawn = draw_prior(model, prior, n, seed=2)
    covariance = drawn["covariance"]
    sd = np.sqrt(np.einsum("nii->ni", covariance))
    correlation = covariance / (sd[:, :, None] * sd[:, None, :])
    variance = 1 / (2 * (1.5 + 0.5) + 1)
    for i, j in ((1, 0), (2, 0), (2, 1)):
        values = correlation[:, i, j]
        assert abs(values.mean()) < 4 * np.sqrt(variance / n)
        assert abs((values**2).mean() - variance) < 4 * (values**2).std() / np.sqrt(n)
    assert np.abs(sd.mean(0) - halfnorm(scale=2).mean()).max() < 4 * halfnorm(scale=2).std() / np.sqrt(n)
    np.testing.assert_allclose(sd, drawn["sd"])


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["diag", "full"])
def test_map_is_the_mode_over_variances_and_covariances(structure):
    """No other parameters have a larger posterior density, priors being turned into densities of (co)variances."""
    spread = (
        {"sd": pm.HalfNormal.dist(2)} if structure == "diag" else {"cholesky": bp.LKJ(2.0, pm.HalfNormal.dist(2))}
    )
    model, prior, statistics = _parts(bp.Gaussian(structure, mean=pm.Normal.dist(0, 3), **spread), REALS[:, :2])
    mode = find_mode(model, prior, statistics)
    encoded, own = REALS[:, :2], (np.arange(30), (Y == "b").astype(int))

    def log_density(theta):
        log_prior = -0.5 * (theta["mean"] ** 2 / 9).sum((-1, -2))
        if structure == "diag":  # half-normal in the sd: |∂sd/∂variance| = 1 / (2 sd)
            sd = np.sqrt(theta["variance"])
            log_prior += (halfnorm(scale=2).logpdf(sd) - np.log(sd)).sum((-1, -2))
        else:  # for two features Σ = (s₁², s₁s₂ρ, s₂²), |∂Σ/∂(s₁, s₂, ρ)| = 4 s₁² s₂²
            sd = np.sqrt(np.einsum("...ii->...i", theta["covariance"]))
            rho = theta["covariance"][..., 0, 1] / sd.prod(-1)
            log_prior += (halfnorm(scale=2).logpdf(sd) - 2 * np.log(sd)).sum((-1, -2)) + np.log1p(-(rho**2)).sum(
                -1
            )
        return log_prior + model.log_joint(theta)(encoded)[..., *own].sum(-1)

    best = log_density(mode)
    for name in ("mean", "variance" if structure == "diag" else "covariance"):
        noise = RNG.normal(size=(200, *mode[name].shape)) * 0.02
        if name == "covariance":
            noise = noise + np.swapaxes(noise, -1, -2)
        moved = {**{k: np.broadcast_to(v, (200, *v.shape)) for k, v in mode.items()}, name: mode[name] + noise}
        assert (log_density(moved) < best + 1e-6).all()


def test_pymc_s_lkj_has_the_density_of_ours():
    """PyMC's density of the packed factor is ours of sds and partial correlations over the Jacobian, taken
    numerically."""
    family = bp.Gaussian("tied", mean=pm.Normal.dist(0, 1), cholesky=bp.LKJ(1.7, pm.Gamma.dist(2, 1)))
    model, prior, statistics = _parts(family, REALS)
    pymc_model = to_pymc(model, prior, statistics)
    rows, columns = np.tril_indices(3)

    def packed(point):
        sd, partials = point[:3], 2 * point[3:] - 1
        root = np.zeros((3, 3))
        for k, (i, j) in enumerate([(1, 0), (2, 0), (2, 1)]):
            root[i, j] = partials[k] * np.sqrt(1 - (root[i, :j] ** 2).sum())
        root[range(3), range(3)] = np.sqrt(1 - (root**2).sum(1))
        return (sd[:, None] * root)[rows, columns]

    gaps = []
    for _ in range(3):
        point = np.concatenate([RNG.gamma(2.0, size=3), RNG.uniform(0.2, 0.8, 3)])
        theta = {"sd": point[None, :3], "partial_correlation": point[None, 3:], "mean": np.zeros((1, 2, 3))}
        parts = declared_log_prior(model, prior, theta)
        steps = 1e-6 * np.eye(6)
        jacobian = [(packed(point + step) - packed(point - step)) / 2e-6 for step in steps]
        ours = parts["sd"] + parts["partial_correlation"] - np.linalg.slogdet(jacobian)[1]
        reference = pm.LKJCholeskyCov.dist(eta=1.7, n=3, sd_dist=pm.Gamma.dist(2, 1), compute_corr=False)
        gaps.append(ours[0] - pm.logp(reference, packed(point)).eval(mode=Mode(linker="py", optimizer=None)))
        free = unconstrain(pymc_model, list(theta), theta) | {"class_weights_simplex__": np.zeros((1, 1))}
        [covariance] = constrain(pymc_model, ["covariance"], free)["covariance"]
        np.testing.assert_allclose(np.linalg.cholesky(covariance)[rows, columns], packed(point), rtol=1e-9)
    # before 6.4 PyMC's density had another constant
    constant = 0.0 if tuple(map(int, pm.__version__.split(".")[:2])) >= (6, 4) else gaps[0]
    np.testing.assert_allclose(gaps, constant, atol=1e-6)


def test_another_prior_of_covariances_is_refused_with_the_remedy():
    declared = pm.LKJCholeskyCov.dist(eta=1.7, n=4, sd_dist=pm.Gamma.dist(2, 1))
    with pytest.raises(TypeError, match=r"cholesky must be a bayesppl\.LKJ"):
        bp.Gaussian("full", mean=pm.Normal.dist(0, 1), cholesky=declared)


@pytest.mark.slow
def test_a_mode_does_not_depend_on_units_or_on_where_the_search_starts():
    """Columns a thousand times larger or smaller, correlated, and draws from far around the mode."""
    units = np.array([1e3, 1e-3])
    X = REALS[:, :2].copy()
    X[:, 1] += X[:, 0]
    modes = []
    for scale in (np.ones(2), units):
        family = bp.Gaussian(
            "full", mean=pm.Normal.dist(0, 3 * scale), cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2 * scale))
        )
        model, prior, statistics = _parts(family, X * scale)
        pymc_model = to_pymc(model, prior, statistics)
        near = {
            "mean": X.mean(0) * scale + RNG.normal(0, 0.3, (2, 150, 2, 2)) * scale,
            "sd": np.exp(RNG.normal(0, 0.3, (2, 150, 2, 2))) * scale,
            "partial_correlation": RNG.uniform(0.5, 1, (2, 150, 2, 1)),
        }
        names = list(near)
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in near.items()}
        back = constrain(pymc_model, names, unconstrain(pymc_model, names, flat))
        for name, values in flat.items():
            np.testing.assert_allclose(back[name], values, rtol=1e-9)
        modes.append(find_mode(model, prior, statistics, near))
    for name, spread in (("mean", units), ("covariance", units[:, None] * units)):
        np.testing.assert_allclose(modes[1][name] / spread, modes[0][name], rtol=1e-4)


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        (pm.Normal.dist(0.5, 0.1), ValueError, "must be numbers between 0 and 1, but its prior allows -0.5"),
        (pm.Beta.dist(np.ones(5), 1.0), ValueError, r"has shape \(5,\), .*fit its dims \(class: 2, feature: 2\)"),
        (pm.Beta.dist(2, 2, shape=(3, 2)), ValueError, r"has shape \(3, 2\), which does not fit its dims"),
        (lambda name, dims: pm.Beta(name, 1, 1, shape=3), ValueError, "does not fit its dims"),
        (
            lambda name, dims: pm.Beta(name, pm.Normal("shape", 0.5, 1.0), 1.0, dims=dims),
            ValueError,
            "Or it cannot be drawn, as where a learned parameter of it leaves its range: ",
        ),
        (lambda name, dims: pm.Flat(name, dims=dims), bp.ImproperError, "has no draws: it is improper, or lacks"),
        (lambda name, dims: pm.Normal("z", dims=dims), ValueError, "must be numbers between 0 and 1"),
        (
            lambda name, dims: pm.Beta(name, pm.Gamma("x", 2, 1), 1, dims=dims),
            ValueError,
            "named 'x', which is that of",
        ),
        (
            lambda name, dims: pm.Beta(name, pm.Gamma("class_weights", 2, 1), 1, dims=dims),
            ValueError,
            "creates a variable twice: .*class_weights already exists. Derive the names",
        ),
        (
            lambda name, dims: pm.Beta(name, 1, 1, shape=(2, 1)),
            ValueError,
            r"has shape \(2, 1\), which does not fit",
        ),
    ],
)
def test_priors_that_cannot_be(prior, error, message):
    with pytest.raises(error, match=message):
        bp.GenerativeClassifier(bp.Bernoulli(probability=prior), inference=SHORT).fit(BITS, Y)


def test_refusals_of_what_needs_a_closed_form():
    family = bp.Bernoulli(probability=pm.Beta.dist(2.0, 3.0))
    with pytest.raises(bp.NotConjugateError, match="prior of 'probability' is not conjugate"):
        bp.GenerativeClassifier(family).fit(BITS, Y)
    for arguments, message in (
        ({"mean": pm.Normal.dist()}, "mean and sd together"),
        ({"mean": pm.Normal.dist(), "cholesky": bp.LKJ(1, pm.HalfNormal.dist())}, "mean and sd together"),
        ({"mean": pm.Normal.dist(), "sd": pm.HalfNormal.dist(), "prior": "flat"}, "not both"),
    ):
        with pytest.raises(ValueError, match=message):
            bp.Gaussian("diag", **arguments)
    with pytest.raises(TypeError, match="must be a PyMC distribution"):
        bp.Gaussian("diag", mean=0.0, sd=pm.HalfNormal.dist())
    with pytest.raises(ValueError, match="eta must be positive"):
        bp.LKJ(0.0, pm.HalfNormal.dist())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few draws
def test_advice_about_incomplete_rows_under_declared_priors_can_be_followed():
    holes, some = REALS.copy(), np.where(np.arange(30) % 5, Y.astype(object), None)
    holes[::7, 0] = np.nan
    mean = pm.Normal.dist(0, 5)
    correlated = bp.Gaussian("full", mean=mean, cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(3)))
    refused = r"'mean' and 'cholesky' is declared in PyMC, and rows known only in part .* inference='nuts'"
    nuts, gibbs = bp.NUTS(draws=20, tune=50, chains=2, random_state=0), bp.Gibbs(20, 5, 2, 0)

    def fit(family, inference, X, y=Y, unlabelled="refuse"):
        return bp.GenerativeClassifier(family, inference=inference, unlabelled=unlabelled).fit(X, y)

    with pytest.raises(ValueError, match=r"inference='gibbs' or 'em', which complete .* under conjugate priors"):
        fit(correlated, nuts, holes)
    for inference in (gibbs, "em"):
        with pytest.raises(bp.NotConjugateError, match=refused):
            fit(correlated, inference, holes)
        with pytest.raises(bp.NotConjugateError, match=refused):
            fit(correlated, inference, REALS, some, "learn")
    with pytest.raises(bp.NotConjugateError, match=refused):
        fit(correlated, nuts, REALS, some, "informative")
    # the advice: another prior, independent columns, or no such rows
    fit(bp.Gaussian("full"), gibbs, holes)
    fit(bp.Gaussian("diag", mean=mean, sd=pm.HalfNormal.dist(3)), nuts, holes)
    fit(correlated, nuts, holes[~np.isnan(holes).any(1)], Y[~np.isnan(holes).any(1)])
    fit(correlated, nuts, REALS, some, "drop")


def test_declared_levels_are_refused_where_columns_differ():
    three = NAMED.assign(b=[*"xyz"] * 10)
    with pytest.raises(ValueError, match=r"have 3, 4 levels.*bayesppl.Dirichlet\(concentration\)"):
        bp.GenerativeClassifier(bp.Categorical(pm.Dirichlet.dist(a=np.ones(3))), inference=SHORT).fit(three, Y)
    with pytest.raises(
        ValueError, match=r"'probability_of_3' .*does not fit its dims \(class: 2, feature: 2, level: 3\)"
    ):
        bp.GenerativeClassifier(bp.Categorical(pm.Dirichlet.dist(a=np.ones(4))), inference=SHORT).fit(NAMED, Y)
    with pytest.raises(ValueError, match="'concentration' must be positive numbers"):
        bp.GenerativeClassifier(bp.Categorical(bp.Dirichlet(pm.Normal.dist())), inference=SHORT).fit(NAMED, Y)
    with pytest.raises(ValueError, match=r"'concentration' .*does not fit its dims \(class: 2, cell: 6\)"):
        bp.GenerativeClassifier(bp.Categorical(bp.Dirichlet(pm.Gamma.dist(1, 1, shape=5))), inference=SHORT).fit(
            NAMED, Y
        )


@pytest.mark.slow
def test_a_density_without_bound_has_no_mode():
    """The probability of a level that never occurred goes to zero, and with it a learned concentration."""
    family = bp.Categorical(bp.Dirichlet(pm.Gamma.dist(2, 1)), levels=[0, 1, 2])
    model, prior, statistics = _parts(family, NAMED)
    with pytest.raises(bp.UndefinedEstimateError, match="no mode that can be found"):
        find_mode(model, prior, statistics)


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        (2 * pm.Beta.dist(1, 1), TypeError, "is computed from distributions and is none itself"),
        (lambda name, dims: bp.Beta(), TypeError, r"must return the variable it creates, found Beta\("),
        (lambda name, dims: None, TypeError, "must return the variable it creates, found None"),
    ],
)
def test_what_is_no_declaration(prior, error, message):
    with pytest.raises(error, match=message):
        bp.GenerativeClassifier(bp.Bernoulli(probability=prior), inference=SHORT).fit(BITS, Y)


@pytest.mark.slow
def test_class_weights_may_be_declared():
    declared = bp.BernoulliNB(class_weights=pm.Dirichlet.dist(a=[3.0, 1.0]), inference=SHORT).fit(BITS, Y)
    exact = bp.BernoulliNB(class_weights=bp.Dirichlet([3.0, 1.0])).fit(BITS, Y)
    draws = declared.posterior_.samples["class_weights"]
    ess = declared.posterior_.diagnosis.measures["class_weights"][1]
    gap = draws.mean((0, 1)) - exact.posterior_.mean()["class_weights"]
    assert (np.abs(gap) < 4 * draws.std((0, 1)) / np.sqrt(ess)).all()
    np.testing.assert_array_equal(
        declared.posterior_.theta("mle")["class_weights"], exact.posterior_.theta("mle")["class_weights"]
    )
    with pytest.raises(ValueError, match="probabilities that sum to one"):
        bp.BernoulliNB(class_weights=pm.Beta.dist(1, 1), inference=SHORT).fit(BITS, Y)


@pytest.mark.slow
def test_priors_that_nothing_cuts_have_draws():
    """A transform from the same half line, and a block with a prior of our own that is declared by a potential."""

    def sd(name, dims):
        return pm.HalfNormal(name, 2.0, dims=dims, default_transform=transforms.log_exp_m1)

    declared = bp.Gaussian("diag", mean=pm.Normal.dist(0, 2), sd=sd)
    family = bp.Product({"a": ([0], declared), "b": ([1, 2], bp.Gaussian("full"))})
    model, prior, _ = _parts(family, REALS)
    drawn = draw_prior(model, prior, 2000, seed=1)
    found = np.sqrt(drawn["a_variance"]).mean()
    assert abs(found - halfnorm(scale=2).mean()) < 4 * halfnorm(scale=2).std() / np.sqrt(4000)
    clf = bp.GenerativeClassifier(family, inference=bp.Laplace(draws=50, random_state=1)).fit(REALS, Y)
    assert "no_evidence" not in clf.posterior_.record


@pytest.mark.slow
def test_one_declaration_in_several_places_declares_variables_of_their_own():
    once = bp.Gaussian("diag", mean=pm.Normal.dist(0, pm.HalfNormal.dist(2)), sd=pm.HalfNormal.dist(2))
    inference = bp.Laplace(draws=20, random_state=1)
    family = bp.Product({"a": ([0, 1], once), "b": ([2], once)})
    clf = bp.GenerativeClassifier(family, inference=inference).fit(REALS, Y)
    names = {variable.name for variable in clf.to_pymc().free_RVs}
    assert {"a_mean_halfnormal", "b_mean_halfnormal"} < names
    several = bp.Product(
        {
            block: (
                columns,
                bp.Gaussian("diag", mean=pm.Normal.dist(0, pm.HalfNormal.dist(2)), sd=pm.HalfNormal.dist(2)),
            )
            for block, columns in {"a": [0, 1], "b": [2]}.items()
        }
    )
    same = bp.GenerativeClassifier(several, inference=inference).fit(REALS, Y)
    np.testing.assert_allclose(clf.predict_proba(REALS), same.predict_proba(REALS), rtol=1e-9)


@pytest.mark.slow
def test_a_class_without_rows_has_no_mode_where_its_density_has_none():
    family = bp.Gaussian("diag", mean=pm.Normal.dist(0, 2), sd=pm.HalfNormal.dist(2))
    clf = bp.GenerativeClassifier(family, inference=bp.Laplace(draws=200, random_state=1), classes=["a", "b", "c"])
    clf.fit(REALS, Y)
    with pytest.raises(bp.UndefinedEstimateError, match="no mode that can be found"):
        clf.predict_proba(REALS, rule="map")
    assert clf.estimates()["mean"].sel(estimate="map").isnull().all()


def _with_draws(family, X):
    """A classifier whose posterior draws are draws of its declared prior: all that files and refusals need."""
    model, prior, statistics = _parts(family, X)
    drawn = draw_prior(model, prior, 40, seed=1)
    dims = {name: tuple(f"{name}_{axis}" for axis in range(v.ndim - 1)) for name, v in drawn.items()}
    samples = {name: values.reshape(2, 20, *values.shape[1:]) for name, values in drawn.items()}
    hyper_dims = {name: dims[name] for name in samples if name not in model.dims}
    report = DrawsReport({"inference": "nuts"}, {}, Diagnosis({}, []), hyper_dims)
    clf = bp.GenerativeClassifier(family, inference="nuts")
    learned = Learned(Columns(_table(X).names, True, "the model"), np.array(["a", "b"]), model, statistics)
    return clf._adopt(Fitted(learned, Sampled(model, statistics, prior, samples, report), "predictive"))


STORED = {
    "function": (bp.Bernoulli(probability=_concentrated), BITS),
    "rate": (bp.Poisson(rate=pm.LogNormal.dist(0, pm.HalfNormal.dist(1))), BITS),
    "levels": (bp.Categorical(bp.Dirichlet(pm.Gamma.dist(2, 1))), BITS),
    "lkj": (bp.Gaussian("full", mean=pm.Normal.dist(0, 3), cholesky=bp.LKJ(2.0, pm.HalfNormal.dist(2))), REALS),
}


@pytest.mark.parametrize("name", STORED)
def test_a_file_keeps_the_draws_and_the_words_of_a_declared_prior(name, tmp_path):
    family, X = STORED[name]
    clf = _with_draws(family, X)
    clf.save(tmp_path / "model.nc")
    loaded = bp.load(tmp_path / "model.nc")
    for rule in ("predictive", "mean", "mle"):
        if name != "rate" or rule != "mle":
            np.testing.assert_array_equal(loaded.predict_proba(X, rule), clf.predict_proba(X, rule))
    tree = loaded.to_datatree(groups="all")
    assert set(tree["posterior"].data_vars) == set(clf.posterior_.samples)
    assert "a file holds no code" in tree.attrs["left_out"]
    for request in (
        lambda: loaded.fit(X, Y),
        lambda: loaded.partial_fit(X, Y),
        lambda: loaded.forget(X[:1], Y[:1]),
        lambda: loaded.predict(X, rule="map"),
        lambda: loaded.to_pymc("statistics"),
    ):
        with pytest.raises(bp.NotConjugateError, match=r"a file holds no code.*Declare the model again"):
            request()
    loaded.save(tmp_path / "again.nc")
    np.testing.assert_array_equal(bp.load(tmp_path / "again.nc").predict_proba(X), clf.predict_proba(X))


@pytest.mark.parametrize("name", STORED)
def test_what_needs_a_closed_form_says_so(name):
    family, X = STORED[name]
    clf = _with_draws(family, X)
    requests = (
        clf.log_evidence,
        clf.tune_prior,
        lambda: clf.feature_relevance(),
        lambda: bp.credal_proba([bp.GenerativeClassifier(family)], X, Y, X),
    )
    for request in requests:
        with pytest.raises(bp.NotConjugateError, match="is not conjugate"):
            request()
    # draws of the prior are no draws without a row, whatever their weights
    with pytest.warns(bp.ConvergenceWarning, match="cannot be trusted") if name != "lkj" else nullcontext():
        assert clf.loo(X, Y).draws is not None


def test_declared_models_are_the_same_only_if_they_are_the_same_function():
    one, other = (_parts(bp.Bernoulli(probability=lambda name, dims: None), BITS)[0] for _ in range(2))
    assert same(one, one)
    assert not same(one, other)


@pytest.mark.slow
def test_a_declared_prior_learns_from_further_rows():
    clf = bp.GenerativeClassifier(bp.Bernoulli(pm.Beta.dist(2.0, 3.0)), inference="laplace")
    clf.partial_fit(BITS[::2], Y[::2], classes=["a", "b"]).partial_fit(BITS[1::2], Y[1::2])
    whole = bp.GenerativeClassifier(clf.family, inference="laplace").fit(BITS, Y)
    np.testing.assert_allclose(clf.class_count_, whole.class_count_)
    clf.forget(BITS[1::2], Y[1::2])
    assert clf.class_count_.sum() == len(BITS[::2])
