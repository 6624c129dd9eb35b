"""Graphs at many points at once have the values that PyTensor itself computes at each point."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.op import Op
from pytensor.raise_op import Assert
from pytensor.tensor.shape import specify_shape
from scipy.stats import multivariate_normal

from bayesppl.inference.pymc.graphs import Interpreter
from bayesppl.inference.pymc.reading.points import Coordinates

POINTS = 5
x = pt.tensor("x", shape=(3, 2), dtype="float64")
square = pt.tensor("square", shape=(2, 3, 3), dtype="float64")
codes = pt.lvector("codes")
row = pt.dvector("row")

_index = np.array([2, 0, 0, 1])
#: Graphs of x and square, which differ from point to point, and of codes and row, which do not.
GRAPHS = {
    "elementwise with what is the same": x * row + 1,
    "special functions": pt.gammaln(pt.exp(x)),
    "sum of many terms": pt.add(*(x * k for k in range(6))),
    "choice": pt.switch(x > 0, x, row),
    "filled": pt.second(pt.zeros((4, 3, 2)), x),
    "comparison as a number": (x > row).astype("int64"),
    "transpose": x.T,
    "new and dropped axes": x[:, None, :].dimshuffle(2, 0),
    "sums": x.sum(0),
    "sum of everything": x.sum(),
    "sum of booleans": (x > 0).sum(),
    "largest": x.max(axis=1),
    "all": (x > -100).all(axis=0),
    "softmax": pt.special.softmax(x, axis=-1),
    "log of a sum of exponentials": pt.logsumexp(x, axis=0),
    "slice": x[1:, 0],
    "backwards": x[::-1],
    "rows by codes": x[codes],
    "rows by constants": x[_index],
    "two lists of indices": x[_index, np.array([0, 1, 1, 0])],
    "lists around a slice": square[np.array([0, 1]), :, np.array([1, 2])],
    "an index that differs from point to point": row[(x[0, 0] > 0).astype("int64")],
    "set": pt.set_subtensor(x[0], row),
    "added to": pt.inc_subtensor(row[:1], x[1, 1]),
    "stacked": pt.stack([x[0], row, x[2]]),
    "a vector of numbers": pt.stack([x[0, 0], row[0], x[1, 1]]),
    "joined along columns": pt.concatenate([x, pt.ones((3, 1)), x], axis=1),
    "repeated": pt.alloc(x[0], 4, 2),
    "reshaped": x.reshape((2, 3)),
    "reshaped by its own shape": x.reshape((x.shape[1], -1)),
    "flat": x.ravel(),
    "known shape": specify_shape(x + row, (3, 2)),
    "shape alone": x.shape,
    "checked": Assert("no")(x, (x > -100).all()),
    "checked by points alone": Assert("no")(row, (x > -100).all()),
    "inverse": pt.linalg.inv(square),
    "logarithm of a determinant": pt.linalg.slogdet(square)[1],
    "cholesky": pt.linalg.cholesky(square @ square.mT + pt.eye(3)),
    "slopes of cholesky": pytensor.grad(pt.linalg.cholesky(square @ square.mT + pt.eye(3)).sum(), square),
    "triangular": pt.linalg.solve_triangular(pt.tril(square), pt.ones((2, 3)), lower=True, b_ndim=1),
    "product with the same matrices": square @ pt.constant(np.arange(9.0).reshape(3, 3)),
    "product of matrices and vectors": (square @ x[:, 0][:, None])[..., 0],
    "more matrices on one side": pt.constant(np.arange(36.0).reshape(4, 1, 3, 3)) @ square,
    "inner product": pt.dot(x[:, 0], x[:, 1]),
    "diagonal": pt.diagonal(square, axis1=-2, axis2=-1),
    "cumulated": pt.cumsum(x, axis=0),
    "gradient": pytensor.grad(pt.log(pt.abs(x[_index] @ row)).sum(), x),
    "scan": pytensor.scan(lambda total, own: total * 0.5 + own, x, pt.zeros(2), return_updates=False)[-1],
    "not of the points": row * 2,
    "of nothing": pt.eye(3).sum(0),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_values_at_all_points_are_those_at_each_point(name):
    """Of several points, and of one."""
    rng = np.random.default_rng(4)
    same = [np.array([1, 1, 0, 2]), np.array([0.5, -2.0])]
    interpreter = Interpreter([x, square], [codes, row], [GRAPHS[name]])
    with pytensor.config.change_flags(mode="FAST_COMPILE", cxx=""):
        one = pytensor.function(
            [x, square, codes, row], GRAPHS[name], mode=Mode("py", None), on_unused_input="ignore"
        )
    for n_points in (POINTS, 1):
        points = [rng.normal(size=(n_points, 3, 2)), rng.normal(size=(n_points, 2, 3, 3))]
        [found] = interpreter(points, same)
        expected = np.stack([one(*values, *same) for values in zip(*points, strict=True)])
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)


def test_several_graphs_keep_what_they_share():
    values = np.random.default_rng(5).normal(size=(POINTS, 3, 2))
    middle = pt.exp(x)
    one, two, three = Interpreter([x], [], [middle, middle.sum(0), middle])([values])
    np.testing.assert_allclose(one, np.exp(values), rtol=1e-14)
    np.testing.assert_allclose(two, np.exp(values).sum(1), rtol=1e-14)
    np.testing.assert_array_equal(one, three)


class _Counted(Op):
    """The identity, which counts how often it is computed."""

    __props__ = ()
    times = 0

    def make_node(self, values):
        values = pt.as_tensor(values)
        return pytensor.graph.basic.Apply(self, [values], [values.type()])

    def perform(self, node, inputs, outputs):
        type(self).times += 1
        outputs[0][0] = inputs[0]


def test_what_depends_on_no_input_is_computed_once():
    _Counted.times = 0
    call = Interpreter([x], [], [x + _Counted()(pt.as_tensor([1.0, 2.0]))])
    for _ in range(3):
        call([np.zeros((POINTS, 3, 2))])
    assert _Counted.times == 1


def test_an_operation_without_a_rule_is_done_point_by_point():
    _Counted.times = 0
    values = np.random.default_rng(6).normal(size=(POINTS, 3, 2))
    [found] = Interpreter([x], [], [_Counted()(x)])([values])
    np.testing.assert_array_equal(found, values)
    assert _Counted.times == POINTS


def test_a_check_that_fails_at_one_point_is_an_error():
    values = np.zeros((POINTS, 3, 2))
    values[3, 1, 1] = -1
    with pytest.raises(AssertionError, match="no less than zero"):
        Interpreter([x], [], [Assert("no less than zero")(x, (x >= 0).all())])([values])


def test_a_shape_that_is_not_the_one_specified_is_an_error():
    free = pt.dmatrix("free")
    with pytest.raises(AssertionError):
        Interpreter([free], [], [specify_shape(free, (4, 2))])([np.zeros((POINTS, 3, 2))])


def test_an_input_that_is_not_given_is_an_error():
    with pytest.raises(ValueError, match="row"):
        Interpreter([x], [], [x + row])


def test_matrices_that_cannot_be_inverted_are_an_error():
    values = np.broadcast_to(np.eye(3), (POINTS, 2, 3, 3)).copy()
    values[2, 1] = 0
    with pytest.raises(np.linalg.LinAlgError):
        Interpreter([square], [], [pt.linalg.inv(square)])([values])


def _euler(name):
    return pm.EulerMaruyama(
        name, 0.1, lambda v, a: (-a * v, 1.0), (1.0,), init_dist=pm.Normal.dist(0.0, 1.0), steps=2
    )


SERIES = {
    "AR": lambda: pm.AR("mu", [0.1, 0.5], pm.HalfNormal("s"), init_dist=pm.Normal.dist(0.0, 1.0), steps=1),
    "EulerMaruyama": lambda: _euler("mu"),
    "GARCH11": lambda: pm.GARCH11("mu", 1.0, 0.2, 0.2, initial_vol=1.0, shape=3),
}


@pytest.mark.filterwarnings("ignore:Support point not defined")
@pytest.mark.parametrize("prior", SERIES.values(), ids=SERIES)
def test_priors_of_series_have_the_density_of_pymc(prior):
    with pm.Model() as model:
        prior()
    coordinates = Coordinates.of_model(model)
    points = coordinates.draw(4, np.random.default_rng(0))
    found = coordinates.evaluate(coordinates.log_prior(jacobian=True), points)
    log_prior = model.compile_logp(mode=Mode("py", None))
    names = [model.rvs_to_values[variable].name for variable in model.free_RVs]
    for i in range(4):
        expected = log_prior({name: values[i] for name, values in zip(names, points, strict=True)})
        assert sum(density[i].sum() for density in found) == pytest.approx(expected, rel=1e-6)  # of 32 bits


def test_autoregressions_of_neighbours_have_the_density_of_their_precision():
    neighbours = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    with pm.Model() as model:
        pm.CAR("mu", np.zeros(3), neighbours, pm.Beta("alpha", 2.0, 2.0), pm.Gamma("tau", 2.0, 1.0))
    coordinates = Coordinates.of_model(model)
    points = coordinates.draw(5, np.random.default_rng(0))
    place = [variable.name for variable in coordinates.free].index("mu")
    found = coordinates.evaluate(coordinates.log_prior(jacobian=True), points)[place].ravel()
    theta = coordinates.theta(points)
    values = zip(theta["mu"], theta["alpha"], theta["tau"], strict=True)
    precision = np.diag(neighbours.sum(0))
    expected = [
        multivariate_normal(np.zeros(3), np.linalg.inv(tau * (precision - alpha * neighbours))).logpdf(mu)
        for mu, alpha, tau in values
    ]
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], rtol=1e-6)
