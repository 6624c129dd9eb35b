"""Numbers written in a model are read as they are written, though PyTensor keeps them in few bits."""

import counts
import gaussians
import hierarchical
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.utils import rewrite_graph
from registry import CODES, COUNTS, OF_EACH_KIND, POSITIVE, REAL, SPELLINGS, quick_and_slow

from bayesppl.inference.pymc.model_density import density_of
from bayesppl.inference.pymc.reading.part_draws import block_density
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.recognition import read

#: Modules that register spellings as they are imported.
REGISTERING = (counts, gaussians, hierarchical)
K, D = 3, 2


def _belief(features):
    with pm.Model() as model:
        y = pm.Categorical("y", [0.25, 0.25, 0.5], observed=CODES)
        features(y)
    [block] = [block for block in read(model, "y").blocks if block.observed]
    assert block.solution == "exact", block.why
    return block.solved.belief


@pytest.mark.parametrize("rate", [3, 7, 13.0, 7.0, np.int16(13), np.float32(0.7), 0.7], ids=repr)
def test_the_rate_of_a_gamma_prior_whose_inverse_pymc_keeps(rate):
    belief = _belief(lambda y: pm.Poisson("x", pm.Gamma("rate", 2, rate, shape=(K, D))[y], observed=COUNTS))
    assert (belief.shape == 2).all()
    np.testing.assert_allclose(belief.rate, float(rate), rtol=1e-12)


@pytest.mark.parametrize("sigma", [3, 7, 7.0])
def test_the_standard_deviation_of_a_normal_prior(sigma):
    belief = _belief(lambda y: pm.Normal("x", pm.Normal("mu", 1, sigma, shape=(K, D))[y], 3, observed=REAL))
    np.testing.assert_allclose(belief.precision, sigma**-2.0, rtol=1e-12)
    np.testing.assert_allclose(belief.location, 1.0, rtol=1e-12)


@pytest.mark.parametrize("number", [7, 7.0])
def test_a_fraction_computed_in_the_model(number):
    def features(y):
        rate = pm.Gamma("rate", 2.0, 1 / pt.as_tensor(number), shape=(K, D))
        pm.Exponential("x", rate[y], observed=POSITIVE)

    np.testing.assert_allclose(_belief(features).rate, 1 / 7, rtol=1e-12)


def test_a_scale_of_the_rows_that_is_no_number_of_few_bits():
    """An inverse rate of rows: the family's own rate is 1/7 of the learned one."""

    def features(y):
        rate = pm.Gamma("rate", 2, 5, shape=(K, D))
        pm.Gamma("x", 3, rate[y] / 7, observed=POSITIVE)

    np.testing.assert_allclose(_belief(features).rate, 35.0, rtol=1e-12)


@pytest.mark.parametrize("name", quick_and_slow(SPELLINGS, OF_EACH_KIND[::8]))
def test_a_canonical_density_is_the_users_own(name):
    case = SPELLINGS[name]
    model = case.build(case.rows, case.codes)
    coordinates = Coordinates.of_model(model)
    terms = coordinates.log_prior(jacobian=True)
    with pytensor.config.change_flags(cxx=""):  # a compiler takes longer than a few constants
        canonical = rewrite_graph(clone_replace(terms), include=("ShapeOpt", "canonicalize"))
    points = coordinates.draw(3, np.random.default_rng(2))
    for one, other in zip(
        coordinates.evaluate(terms, points), coordinates.evaluate(canonical, points), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "psi"),
    [
        ("wishart_precisions_of_means_too", np.linalg.inv([[2.0, 0.3], [0.3, 1.0]])),
        ("as_many_classes_as_features_and_one_precision", np.eye(2)),
    ],
)
def test_a_precision_that_several_mean_vectors_have(name, psi):
    """A Wishart precision is an inverse Wishart covariance; PyMC's own density of such means is another."""
    case = SPELLINGS[name]
    [block] = [b for b in read(case.build(case.rows, case.codes), "y").blocks if b.observed]
    belief = block.solved.belief
    np.testing.assert_allclose(belief.nu, 5.0, rtol=1e-10)
    np.testing.assert_allclose(belief.psi, np.broadcast_to(psi, belief.psi.shape), rtol=1e-10)
    np.testing.assert_allclose(belief.kappa, 0.1 if len(belief.kappa) == K else 0.25, rtol=1e-10)


def test_a_bound_at_infinity_is_none():
    """Whose gradient would be NaN, were it computed."""
    with pm.Model() as model:
        y = pm.Categorical("y", [0.25, 0.25, 0.5], observed=CODES)
        mu, sigma = pm.Normal("mu", 1.0, 1.0, shape=K), pm.HalfNormal("sigma", 1.0, shape=K)
        pm.TruncatedNormal("x", mu[y], sigma[y], lower=0, observed=POSITIVE[:, 0])
    reading = read(model, "y")
    [block] = [block for block in reading.blocks if block.observed]
    coordinates = block.coordinates
    density = density_of(block_density(reading, block), coordinates.values, coordinates.start)
    expected = model.compile_dlogp(mode="FAST_COMPILE")(model.initial_point(0))
    np.testing.assert_allclose(density(density.centre)[1], expected, rtol=1e-9)
