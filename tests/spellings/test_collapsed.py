"""After the parameters are integrated out, the marginal density is left, and its answers are the model's."""

import sys

import arviz as az
import counts
import gaussians
import hierarchical
import mpmath
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from registry import BITS, CODES, COUNTS, LEVELS, REAL, SPELLINGS
from scipy import integrate, stats
from scipy.special import logsumexp

import bayesppl as bp
from bayesppl.inference.pymc.graphs import nodes_above
from bayesppl.inference.pymc.model_density import density_of
from bayesppl.inference.pymc.reading.part_draws import block_density
from bayesppl.inference.pymc.reading.recognition import read

K = 3
#: Modules that register spellings as they are imported.
REGISTERING = (counts, gaussians, hierarchical)


def _collapsed(model, rows):
    """The part that is collapsed, and its log density."""
    [collapsed] = [block.collapsed for block in read(model, "y").blocks if block.collapsed is not None]
    by_hand = bp.GenerativeClassifier(
        collapsed.proposal.family(collapsed.belief, [f"x{j}" for j in range(rows.shape[1])])
    )
    statistics = by_hand.fit(rows, CODES).fitted_.posterior.statistics.parts["features"]
    return collapsed, collapsed.log_density(statistics)


def _log_marginal(model, rows, points):
    """Of the variables that are left, at points of the unconstrained ones; their values there follow."""
    collapsed, graph = _collapsed(model, rows)
    coordinates = collapsed.coordinates
    start = [np.broadcast_to(values, (len(points), *values.shape)).copy() for values in coordinates.start]
    for place, values in zip(collapsed.places, points.T, strict=True):
        start[place] = start[place] + values.reshape(-1, *(1,) * (start[place].ndim - 1))
    [found] = coordinates.evaluate([graph], start)
    return found, coordinates.theta(start)


POINTS = np.random.default_rng(5).normal(size=(6, 2))


def _agree(one, other):
    np.testing.assert_allclose(one - one[0], other - other[0], rtol=0, atol=1e-9)


def test_the_marginal_density_of_a_learned_concentration_is_that_of_beta_binomials():
    case = SPELLINGS["learned_concentration"]
    found, theta = _log_marginal(case.build(case.rows, CODES), BITS, POINTS[:, :1])
    n = np.bincount(CODES)[:, None]
    yes = np.array([BITS[k == CODES].sum(0) for k in range(K)])
    expected = [
        stats.gamma(2.0, scale=4.0).logpdf(c) + np.log(c) + stats.betabinom(n, 0.5 * c, 0.5 * c).logpmf(yes).sum()
        for c in theta["c"]
    ]
    _agree(found, np.asarray(expected))


def test_the_marginal_density_of_a_learned_concentration_keeps_its_digits_where_it_is_large():
    """Against beta functions in 60 digits; rounding errors of large log gammas would make peaks."""
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        c = pm.HalfCauchy("c", 5.0)
        p = pm.Beta("p", 0.5 * c, 0.5 * c, shape=(K, BITS.shape[1]))
        pm.Bernoulli("x", p[label], observed=BITS)
    found, theta = _log_marginal(model, BITS, np.log(10.0) * np.arange(0, 21, 4)[:, None])
    n = np.bincount(CODES)
    yes = np.array([BITS[k == CODES].sum(0) for k in range(K)])
    with mpmath.workdps(60):
        gaps = []
        for c, value in zip(map(mpmath.mpf, theta["c"]), found, strict=True):
            expected = mpmath.log(c) - mpmath.log(1 + (c / 5) ** 2)
            for k, j in np.ndindex(yes.shape):
                s, f = int(yes[k, j]), int(n[k] - yes[k, j])
                expected += mpmath.log(mpmath.beta(c / 2 + s, c / 2 + f) / mpmath.beta(c / 2, c / 2))
            gaps.append(float(value - expected))
    np.testing.assert_allclose(gaps, gaps[0], rtol=0, atol=1e-10)


def test_the_marginal_density_of_the_prior_of_rates_is_that_of_negative_binomials():
    case = SPELLINGS["rates_with_a_learned_prior"]
    found, theta = _log_marginal(case.build(case.rows, CODES), COUNTS, POINTS)
    n = np.bincount(CODES)[:, None]
    total = np.array([COUNTS[k == CODES].sum(0) for k in range(K)])
    expected = [
        stats.expon.logpdf([a, b]).sum() + np.log(a * b) + stats.nbinom(a, b / (b + n)).logpmf(total).sum()
        for a, b in zip(theta["shape"], theta["scale"], strict=True)
    ]
    _agree(found, np.asarray(expected))


def test_the_marginal_density_of_levels_is_that_of_dirichlet_multinomials():
    case = SPELLINGS["levels_of_learned_concentration"]
    found, theta = _log_marginal(case.build(case.rows, CODES), LEVELS, POINTS[:, :1])
    counts = [np.bincount(LEVELS[k == CODES, j], minlength=4) for k in range(K) for j in range(2)]
    expected = [
        stats.gamma(2.0, scale=2.0).logpdf(c)
        + np.log(c)
        + sum(stats.dirichlet_multinomial.logpmf(n, np.full(4, c), n.sum()) for n in counts)
        for c in theta["c"]
    ]
    _agree(found, np.asarray(expected))


def test_the_marginal_density_of_a_learned_centre_is_that_of_multivariate_t():
    case = SPELLINGS["means_about_a_learned_centre"]
    found, theta = _log_marginal(case.build(case.rows, CODES), REAL, POINTS[:, :1])
    expected = []
    for centre in theta["centre"]:
        total = stats.norm(0.0, 5.0).logpdf(centre).sum()
        for k in range(K):
            for j, own in enumerate(REAL[k == CODES].T):
                shape = 0.5 / 2.0 * (np.eye(len(own)) + 1 / 0.3)
                total += stats.multivariate_t(np.full(len(own), centre[j]), shape, df=4.0).logpdf(own)
        expected.append(total)
    _agree(found, np.asarray(expected))


@pytest.mark.parametrize(
    ("name", "sampled"),
    [
        pytest.param("partial_pooling_non_centred", ["spread", "sd"], marks=pytest.mark.slow),
        pytest.param("a_mean_for_each_class_non_centred", ["spread", "sd"], marks=pytest.mark.slow),
        ("known_scale_about_a_learned_centre", ["spread"]),
    ],
)
def test_the_marginal_density_of_pooled_means_is_that_of_correlated_normal_rows(name, sampled):
    case = SPELLINGS[name]
    points = np.random.default_rng(6).normal(size=(6, 1 + len(sampled)))
    found, theta = _log_marginal(case.build(case.rows, CODES), REAL, points)
    expected = []
    for i, centre in enumerate(theta["centre"]):
        total = stats.norm(0.0, 5.0).logpdf(centre).sum()
        scales = {scale: theta[scale][i] for scale in sampled}
        for scale in scales.values():
            total += (stats.halfnorm(scale=2.0).logpdf(scale) + np.log(scale)).sum()
        spread, sd = np.broadcast_to(scales["spread"], 2), np.broadcast_to(scales.get("sd", 0.8), (K, 2))
        for k in range(K):
            for j, own in enumerate(REAL[k == CODES].T):
                covariance = sd[k, j] ** 2 * np.eye(len(own)) + spread[j] ** 2
                total += stats.multivariate_normal(np.full(len(own), centre[j]), covariance).logpdf(own)
        expected.append(total)
    _agree(found, np.asarray(expected))


@pytest.mark.slow
@pytest.mark.parametrize("spelling", ["centred", "not centred", "vectors"])
@pytest.mark.parametrize(("centre", "sd"), [(0.0, 1.0), (52.52, 0.02), (2019.0, 3.0), (-4e5, 2.0)])
def test_the_marginal_density_of_a_learned_spread_has_no_peak_at_zero(spelling, centre, sd):
    noise = np.random.default_rng(8).normal(size=(len(CODES), 2))
    rows, unit = centre + sd * noise, np.eye(2)
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        spread = pm.HalfNormal("spread", sd)
        if spelling == "vectors":
            mean = pm.MvNormal("mean", np.full(2, centre), cov=spread**2 * unit, shape=(K, 2))
            pm.MvNormal("x", mean[label], cov=sd**2 * unit, observed=rows)
        elif spelling == "centred":
            mean = pm.Normal("mean", centre, spread, shape=(K, 2))
            pm.Normal("x", mean[label], sd, observed=rows)
        else:
            mean = centre + spread * pm.Normal("z", shape=(K, 2))
            pm.Normal("x", mean[label], sd, observed=rows)
    # down to where a step of one spread from the centre has six digits
    spreads = 10.0 ** np.array([0, -1, -3, -5, -7, -9, -11])
    spreads = spreads[sd * spreads > 1e6 * np.spacing(abs(centre))]
    found, theta = _log_marginal(model, rows, np.log(spreads)[:, None])
    ratio = theta["spread"] / sd
    averages = np.array([noise[k == CODES].mean(0) for k in range(K)])
    n = np.bincount(CODES)[:, None]
    expected = stats.halfnorm.logpdf(ratio) + np.log(ratio)
    for i, t in enumerate(ratio):
        expected[i] += stats.norm(0.0, np.sqrt(t**2 + 1 / n)).logpdf(averages).sum()
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("centre", "sd"), [(0.0, 1.0), (52.52, 0.02), (-4e5, 2.0)])
def test_the_marginal_density_of_a_spread_in_units_of_another_has_no_peak_at_zero(shared, centre, sd):
    noise = np.random.default_rng(9).normal(size=(len(CODES), 2))
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(K)), observed=CODES)
        spread = pm.HalfNormal("spread", 1.0)
        variance = pm.InverseGamma("variance", 2.0, sd**2, shape=2 if shared else (K, 2))
        own = pm.math.sqrt(variance)
        mean = pm.Normal("mean", centre, spread * own, shape=(K, 2))
        pm.Normal("x", mean[label], own if shared else own[label], observed=centre + sd * noise)
    found, theta = _log_marginal(model, centre + sd * noise, np.log(10.0 ** -np.arange(0, 11, 2))[:, None])
    averages = np.array([noise[k == CODES].mean(0) for k in range(K)])
    scatters = np.array([((noise[k == CODES] - averages[k]) ** 2).sum(0) for k in range(K)])
    n = np.bincount(CODES)[:, None]
    expected = stats.halfnorm.logpdf(theta["spread"]) + np.log(theta["spread"])
    for i, t in enumerate(theta["spread"]):
        squares = scatters + n / (1 + n * t**2) * averages**2
        count = n
        if shared:
            squares, count = squares.sum(0), n.sum()
        expected[i] -= 0.5 * 2 * np.log1p(n * t**2).sum() + ((2 + count / 2) * np.log(1 + squares / 2)).sum()
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=0, atol=1e-8)


def test_the_marginal_density_of_independent_scales_is_that_of_quadrature_over_the_means():
    case = SPELLINGS["half_normal_scales"]
    found, theta = _log_marginal(case.build(case.rows, CODES), REAL, np.random.default_rng(6).normal(size=(4, 1)))
    expected = []
    for sd in theta["sd"]:
        total = (stats.halfnorm(scale=2.0).logpdf(sd) + np.log(sd)).sum()
        for k in range(K):
            for own, scale in zip(REAL[k == CODES].T, sd[k], strict=True):
                total += _log_integral_over_the_mean(own, scale, 5.0)
        expected.append(total)
    _agree(found, np.asarray(expected))


@pytest.mark.parametrize(
    "shaped",
    [
        lambda sd, mean: pt.ones_like(mean) * sd,
        lambda sd, mean: pt.broadcast_to(sd, mean.shape),
        lambda sd, mean: sd + pt.zeros_like(mean),
    ],
    ids=["ones", "broadcast", "zeros"],
)
def test_what_is_only_shaped_like_the_means_does_not_depend_on_them(shaped):
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        mean = pm.Normal("mean", 0.0, 5.0, shape=(K, 2))
        sd = pm.HalfNormal("sd", 3.0, shape=2)
        pm.Normal("x", mean[y], shaped(sd, mean)[y], observed=REAL)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "collapsed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "scale",
    [
        lambda sd: {"cov": pt.diag(sd**2)},
        lambda sd: {"chol": pt.diag(sd)},
        lambda sd: {"tau": pt.diag(1 / sd**2)},
        lambda sd: {"chol": pt.diag(sd) @ np.linalg.cholesky([[1.0, 0.3], [0.3, 1.0]])},
    ],
    ids=["covariance", "root", "precision", "scaled root"],
)
def test_means_beside_scales_on_a_diagonal_are_integrated_out(scale):
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        means = pm.Normal("means", 0.0, 5.0, shape=(K, 2))
        pm.MvNormal("x", means[y], **scale(pm.HalfNormal("sd", 2.0, shape=2)), observed=REAL)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "collapsed"


def test_shapes_that_only_values_show_are_refused():
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        sd, means = pm.HalfNormal("sd", 2.0, shape=2), pm.Normal("means", 0.0, 5.0, shape=(K, 2))
        correlation = np.array([[1.0, 0.3], [0.3, 1.0]])
        pm.MvNormal("x", means[y], cov=pt.einsum("i,j,ij->ij", sd, sd, correlation), observed=REAL)
    with pytest.raises(ValueError, match=r"shape of a parameter is not known .*write products of arrays"):
        read(model, "y")


def test_mean_vectors_of_spreads_on_a_diagonal_are_integrated_out():
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        spread = pm.HalfNormal("spread", 2.0, shape=2)
        means = pm.MvNormal("means", np.zeros(2), cov=pt.diag(spread**2), shape=(K, 2))
        pm.MvNormal("x", means[y], cov=np.eye(2), observed=REAL)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "collapsed"


@pytest.mark.parametrize("prior", [pm.HalfNormal, pm.HalfCauchy], ids=["normal", "cauchy"])
@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_spreads_are_integrated_over_in_any_unit(prior, unit):
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        spread = prior("spread", unit, shape=2)
        means = pm.Normal("means", pm.Normal("centre", 50 * unit, 3 * unit, shape=2), spread, shape=(K, 2))
        pm.Normal("x", means[y], prior("sd", unit, shape=2), observed=unit * (REAL + 50))
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "collapsed"


def test_non_centred_scales_are_read_although_far_out_they_exceed_floating_point_numbers():
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        centre, spread = pm.Normal("centre", 0.0, 2.0), pm.HalfNormal("spread", 1.5)
        middle, width = pm.Normal("middle", 0.0, 1.0), pm.HalfNormal("width", 0.5)
        means = centre + spread * pm.Normal("z", shape=(K, 2))
        scales = pt.exp(middle + width * pm.Normal("offset", shape=(K, 2)))
        pm.Normal("x", means[y], scales[y], observed=REAL)
    found, theta = _log_marginal(model, REAL, np.random.default_rng(6).normal(size=(4, 5)))
    expected = stats.norm.logpdf(theta["centre"], scale=2.0) + stats.norm.logpdf(theta["middle"])
    for name, sd in (("spread", 1.5), ("width", 0.5)):
        expected += stats.halfnorm.logpdf(theta[name], scale=sd) + np.log(theta[name])
    expected += stats.norm.logpdf(theta["offset"]).sum((1, 2)) - 2 * K * np.log(theta["spread"])
    scales = np.exp(theta["middle"][:, None, None] + theta["width"][:, None, None] * theta["offset"])
    for i, (c, t) in enumerate(zip(theta["centre"], theta["spread"], strict=True)):
        for k in range(K):
            columns = zip(REAL[k == CODES].T - c, scales[i, k], strict=True)
            expected[i] += sum(_log_integral_over_the_mean(own, scale, t) for own, scale in columns)
    _agree(found, expected)


def _log_integral_over_the_mean(rows, scale, spread):
    """Of the density of normal rows times that of their mean, by quadrature about the highest point."""

    def log_density(mean):
        return -0.5 * (((rows - mean) / scale) ** 2).sum()

    highest = log_density(rows.mean())

    def integrand(mean):
        return np.exp(log_density(mean) - highest - 0.5 * (mean / spread) ** 2)

    reach = 12 * scale / np.sqrt(len(rows))
    value, _ = integrate.quad(integrand, rows.mean() - reach, rows.mean() + reach, epsabs=0, epsrel=1e-12)
    return np.log(value) + highest - len(rows) * np.log(scale)


def test_rates_that_are_multiples_of_a_learned_one_have_the_density_of_negative_binomials():
    case = SPELLINGS["rates_as_multiples_of_a_learned_one"]
    found, theta = _log_marginal(case.build(case.rows, CODES), COUNTS, POINTS[:, :1])
    n = np.bincount(CODES)[:, None]
    total = np.array([COUNTS[k == CODES].sum(0) for k in range(K)])
    expected = [
        stats.halfnorm(scale=5.0).logpdf(a)
        + np.log(a)
        + stats.nbinom(3.0, (3.0 / a) / (3.0 / a + n)).logpmf(total).sum()
        for a in theta["typical"]
    ]
    _agree(found, np.asarray(expected))


@pytest.mark.slow
def test_the_marginal_density_of_learned_mean_vectors_is_that_of_matrix_t_rows():
    """The rows of a class, one after the other, are multivariate t given those before (Murphy 2007, eq. 258)."""
    case = SPELLINGS["mean_vectors_about_a_learned_centre"]
    found, theta = _log_marginal(case.build(case.rows, CODES), REAL, POINTS)
    expected = []
    for centre, ratio in zip(theta["centre"], theta["ratio"], strict=True):
        total = (
            stats.norm(0.0, 5.0).logpdf(centre).sum() + stats.gamma(2.0, scale=0.5).logpdf(ratio) + np.log(ratio)
        )
        for k in range(K):
            kappa, nu, location = ratio, 5.0, centre
            psi = np.linalg.inv([[2.0, 0.3], [0.3, 1.0]])
            for x in REAL[k == CODES]:
                dof = nu - 1
                total += stats.multivariate_t(location, psi * (kappa + 1) / (kappa * dof), dof).logpdf(x)
                psi = psi + kappa / (kappa + 1) * np.outer(x - location, x - location)
                location, kappa, nu = (kappa * location + x) / (kappa + 1), kappa + 1, nu + 1
        expected.append(total)
    _agree(found, np.asarray(expected))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lkj_tied", "lkj_per_class"])
def test_the_marginal_density_of_learned_covariances_is_that_of_normal_vectors_correlated_by_their_mean(name):
    """But for the prior of the covariances, which is PyMC's own."""
    case = SPELLINGS[name]
    model = case.build(case.rows, CODES)
    n_roots = 1 if name == "lkj_tied" else K
    found, theta = _log_marginal(model, REAL, np.random.default_rng(6).normal(0, 0.3, (5, n_roots)))
    roots = [theta["root" if name == "lkj_tied" else f"root{k}"] for k in range(n_roots)]
    priors = _log_priors_of(model, theta, [v for v in model.free_RVs if v.name.startswith("root")])
    expected = np.array(priors)
    for i in range(5):
        for k in range(K):
            own = roots[k % n_roots][i]
            root = np.array([[own[0], 0.0], [own[1], own[2]]])
            n = (k == CODES).sum()
            covariance = np.kron(np.eye(n), root @ root.T) + 25.0 * np.kron(np.ones((n, n)), np.eye(2))
            expected[i] += stats.multivariate_normal(np.zeros(2 * n), covariance).logpdf(REAL[k == CODES].ravel())
    _agree(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lkj_tied", "lkj_per_class"])
def test_the_marginal_density_of_learned_covariances_needs_no_linear_algebra(name):
    """Whose compilation takes longer than that of everything else."""
    case = SPELLINGS[name]
    collapsed, graph = _collapsed(case.build(case.rows, CODES), REAL)
    coordinates = collapsed.coordinates
    outputs = density_of(graph, coordinates.values, coordinates.start).outputs
    cores = {type(getattr(node.op, "core_op", node.op)).__name__ for node in nodes_above(outputs)}
    assert "Elemwise" in cores
    assert cores.isdisjoint({"Dot", "MatrixInverse", "Det", "SLogDet", "Cholesky", "Solve", "SolveTriangular"})


@pytest.mark.parametrize(("n_features", "solution"), [(3, "collapsed"), (4, "compressed")])
def test_means_beside_a_learned_covariance_are_integrated_out_in_few_columns(n_features, solution):
    """In more the graph of the elimination compiles for longer."""
    rows = np.random.default_rng(0).normal(size=(len(CODES), n_features))
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        sd = pm.HalfNormal.dist(2.0, shape=n_features)
        root, _, _ = pm.LKJCholeskyCov("root", n=n_features, eta=2.0, sd_dist=sd)
        pm.MvNormal("x", pm.Normal("mu", 0.0, 5.0, shape=(K, n_features))[y], chol=root, observed=rows)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == solution


@pytest.mark.slow
@pytest.mark.parametrize(("d", "n_rows"), [(2, 15), (2, 22), (2, 51), (3, 15), (3, 18), (3, 30)])
def test_whether_mean_vectors_are_integrated_out_does_not_depend_on_the_points_of_the_proof(d, n_rows):
    codes = np.arange(n_rows) % K
    with pm.Model() as model:
        label = pm.Categorical("y", np.full(K, 1 / K), observed=codes)
        root, _, _ = pm.LKJCholeskyCov("root", n=d, eta=2, sd_dist=pm.HalfNormal.dist(2), compute_corr=True)
        spread = pm.LogNormal("spread", 0.0, 1.0)
        mean = pm.MvNormal("mean", pm.Normal("centre", 0.0, 3.0, shape=d), chol=root * spread, shape=(K, d))
        pm.MvNormal("x", mean[label], chol=root, observed=np.random.default_rng(n_rows).normal(size=(n_rows, d)))
    assert read(model, "y").blocks[1].solution == "collapsed"


@pytest.mark.parametrize(("usual", "solution"), [(30.0, "collapsed"), (0.5, "compressed")])
def test_no_draw_lies_where_a_prior_has_no_density(usual, solution):
    """A normal shape of a gamma prior has no transform that keeps it above zero."""
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=CODES)
        rate = pm.Gamma("rate", pm.Normal("shape", usual, 1.0), 1.0, shape=(K, COUNTS.shape[1]))
        pm.Poisson("x", rate[y], observed=COUNTS)
    reading = read(model, "y")
    [block] = [block for block in reading.blocks if block.observed]
    assert block.solution == solution
    coordinates = block.coordinates
    graph = block_density(reading, block)
    if block.collapsed is not None:
        collapsed, graph = _collapsed(model, COUNTS)
        coordinates = collapsed.coordinates
    start = [values[None].repeat(2, 0) for values in coordinates.start]
    place = [variable.name for variable in coordinates.free].index("shape")
    start[place] = np.array([0.3, -0.3])
    [found] = coordinates.evaluate([graph], start)
    assert np.isfinite(found[0])
    assert found[1] == -np.inf


def _pooled(rows, codes):
    with pm.Model() as model:
        y = pm.Categorical("y", np.ones(K) / K, observed=codes)
        usual, size = pm.Beta("usual", 1.0, 1.0, shape=3), pm.Pareto("size", 1.5, 1.0)
        rates = pm.Beta("rates", usual * size, (1 - usual) * size, shape=(K, 3))
        pm.Bernoulli("x", rates[y], observed=rows["x"])
    return model


@pytest.mark.parametrize("build", [SPELLINGS["learned_concentration"].build, _pooled])
def test_draws_at_the_edge_have_coordinates(build):
    collapsed, _ = _collapsed(build({"x": BITS}, CODES), BITS)
    extremes = np.array([0.0, 1e-320, 1e-260, 0.3, 1 - 1e-13, 1 - 1e-14, 1.0])
    wanted = np.broadcast_to(extremes[:, None, None], (7, K, BITS.shape[1]))
    found = collapsed.density.variables_at({"probability": wanted}, collapsed.coordinates.start)
    assert found is not None
    [values] = [values for values in found.values() if values.ndim > 2]
    np.testing.assert_allclose(values, np.maximum(wanted, sys.float_info.min), rtol=1e-9)


def _log_priors_of(model, theta, variables):
    """Log density of some variables with their Jacobians, by PyMC."""
    values = [model.rvs_to_values[v] for v in variables]
    density = pytensor.function(values, model.logp(variables), mode=Mode("py", None))
    forward = [model.rvs_to_transforms[v].forward(v, *v.owner.inputs) for v in variables]
    to_values = pytensor.function(variables, forward, mode=Mode("py", None))
    n = len(theta[variables[0].name])
    return [
        float(sum(map(np.sum, np.atleast_1d(density(*to_values(*(theta[v.name][i] for v in variables)))))))
        for i in range(n)
    ]


def _joint_over(grid, log_weight, predictive, n_labels):
    weight = np.exp(log_weight - logsumexp(log_weight))
    joint = np.tensordot(weight, predictive, 1) * (n_labels + 1) / (n_labels.sum() + K)
    return joint / joint.sum(1, keepdims=True)


@pytest.mark.slow
def test_class_probabilities_under_a_learned_concentration_are_those_of_quadrature():
    case = SPELLINGS["learned_concentration"]
    clf = bp.from_pymc(case.build(case.rows, CODES), "y", inference=bp.NUTS(draws=2000, random_state=1))
    assert clf.recognition()["solution"].tolist() == ["exact", "collapsed"]
    n, yes = np.bincount(CODES)[:, None], np.array([BITS[k == CODES].sum(0) for k in range(K)])
    c = np.linspace(1e-3, 90, 9001)[:, None, None]
    log_weight = stats.gamma(2.0, scale=4.0).logpdf(c[:, 0, 0])
    log_weight = log_weight + stats.betabinom(n, 0.5 * c, 0.5 * c).logpmf(yes).sum((1, 2))
    p = (0.5 * c + yes) / (c + n)
    predictive = np.where(BITS[None, :, None] == 1, p[:, None], 1 - p[:, None]).prod(-1)
    expected = _joint_over(c, log_weight, predictive, n[:, 0])
    error = clf.posterior_.predictive_mcse([(1.0, clf.fitted_.model.family.bound.encode(clf.fitted_.rows.table))])
    assert (np.abs(clf.predict_proba(BITS) - expected) <= 5 * error + 1e-6).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS installation")
@pytest.mark.parametrize(
    "name",
    [
        "rates_with_a_learned_prior",
        "means_about_a_learned_centre",
        "words_about_a_learned_base",
        "half_normal_scales",
        "partial_pooling_non_centred",
        "conjugate_means_non_centred",
        "lkj_tied",
        "two_classes_of_one_mean_beside_a_learned_scale",
    ],
)
def test_draws_of_a_collapsed_part_are_those_of_the_whole_model(name):
    """Against pm.sample, which integrates nothing out."""
    case = SPELLINGS[name]
    model = case.build(case.rows, CODES)
    ours = bp.from_pymc(
        model, "y", inference=bp.NUTS(draws=1500, target_accept=0.99, random_state=2)
    ).to_datatree()
    with model:
        theirs = pm.sample(
            1500,
            tune=1000,
            chains=4,
            target_accept=0.99,
            cores=2,
            nuts_sampler="pymc",  # what it compiles is kept on disk; nutpie compiles anew
            random_seed=3,
            progressbar=False,
            quiet=True,
        )
    for one in model.free_RVs:
        if one.name == "w":
            continue
        a, b = ours["posterior"][one.name].values, theirs["posterior"][one.name].values
        for one_of, other_of in ((a, b), ((a - b.mean()) ** 2, (b - b.mean()) ** 2)):
            gap = one_of.mean((0, 1)) - other_of.mean((0, 1))
            errors = [az.mcse(v, method="mean", chain_axis=0, draw_axis=1) for v in (one_of, other_of)]
            assert (np.abs(gap) <= 5 * np.hypot(*errors)).all(), (one.name, gap, errors)


def _moments_of_learned_mean_vectors():
    """Means and variances of the variables of ``mean_vectors_about_a_learned_centre``, by sums over a grid.

    Given the centre and the ratio the prior is normal-inverse-Wishart, whose evidence and posterior are those of
    Murphy (2007,
    section 9). A grid with half as many points again in every direction gives the same moments to five digits.
    """
    first, second = np.linspace(-14, 18, 121), np.linspace(-18, 14, 121)
    logs = np.linspace(-14, 4, 91)
    centre = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    ratio = np.exp(logs)
    log_weight = stats.norm(0.0, 5.0).logpdf(centre).sum(-1) + stats.gamma(2.0, scale=0.5).logpdf(ratio) + logs
    given = {}
    for k in range(K):
        rows = REAL[k == CODES]
        n, mean = len(rows), rows.mean(0)
        kappa, nu = ratio + n, 5.0 + n
        gap = mean - centre
        psi = np.linalg.inv([[2.0, 0.3], [0.3, 1.0]]) + n * np.cov(rows.T, bias=True)
        psi = psi + (ratio * n / kappa)[:, None, None] * (gap[..., :, None] * gap[..., None, :])
        log_weight = log_weight + np.log(ratio / kappa) - 0.5 * nu * np.linalg.slogdet(psi)[1]
        location = (ratio[:, None] * centre + n * mean) / kappa[:, None]
        diagonal = np.diagonal(psi, axis1=-2, axis2=-1)
        inverse = np.linalg.inv(psi)
        of_inverse = np.diagonal(inverse, axis1=-2, axis2=-1)
        given["mu", k] = location, diagonal / (kappa * (nu - 3))[:, None]
        given["precision", k] = (
            nu * inverse,
            nu * (inverse**2 + of_inverse[..., :, None] * of_inverse[..., None, :]),
        )
    weight = np.exp(log_weight - log_weight.max())
    edges = weight.reshape(len(first), len(second), len(logs))
    assert max(edges[[0, -1]].max(), edges[:, [0, -1]].max(), edges[..., [0, -1]].max()) < np.exp(-20)
    weight /= weight.sum()
    given["centre", 0] = np.broadcast_to(centre, (*weight.shape, 2)), 0.0
    given["ratio", 0] = np.broadcast_to(ratio, weight.shape), 0.0
    found = {}
    for key, (mean, variance) in given.items():
        expected = np.tensordot(weight, mean, 2)
        found[key] = (
            expected,
            np.tensordot(weight, np.broadcast_to(variance, mean.shape) + (mean - expected) ** 2, 2),
        )
    return found


@pytest.mark.slow
def test_draws_of_learned_mean_vectors_have_the_moments_of_quadrature():
    case = SPELLINGS["mean_vectors_about_a_learned_centre"]
    model = case.build(case.rows, CODES)
    clf = bp.from_pymc(model, "y", inference=bp.NUTS(draws=3000, target_accept=0.95, random_state=2))
    assert clf.recognition()["solution"].tolist() == ["exact", "collapsed"]
    draws = clf.to_datatree()["posterior"]
    for (name, k), (mean, variance) in _moments_of_learned_mean_vectors().items():
        own = draws[name].values[:, :, k] if name in ("mu", "precision") else draws[name].values
        for values, expected in ((own, mean), ((own - mean) ** 2, variance)):
            error = az.mcse(values, method="mean", chain_axis=0, draw_axis=1)
            assert (np.abs(values.mean((0, 1)) - expected) <= 5 * error).all(), (name, k)


def test_draws_the_user_has_already_are_taken_as_they_are():
    case = SPELLINGS["learned_concentration"]
    model = case.build(case.rows, CODES)
    rng = np.random.default_rng(1)
    drawn = xr.Dataset(
        {
            "w": (("chain", "draw", "class"), rng.dirichlet(np.ones(K), (2, 40))),
            "c": (("chain", "draw"), rng.gamma(2.0, 4.0, (2, 40))),
            "p": (("chain", "draw", "class", "column"), rng.uniform(size=(2, 40, K, BITS.shape[1]))),
        }
    )
    assert set(drawn) == {v.name for v in model.free_RVs}
    clf = bp.from_pymc(model, "y", draws=xr.DataTree.from_dict({"posterior": drawn}))
    np.testing.assert_array_equal(clf.to_datatree()["posterior"]["c"].values, drawn["c"].values)
