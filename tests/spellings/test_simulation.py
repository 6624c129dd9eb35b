"""New rows of a sampled part are drawn from its own distributions, and leave the user's model as it is."""

import counts
import gaussians
import numpy as np
import pytest
from pytensor.tensor.random.type import RandomType
from registry import CODES, SPELLINGS
from test_spellings import _fitted

import bayesppl as bp
from bayesppl.inference.pymc.graphs import leaves_above

#: Modules that register spellings as they are imported.
REGISTERING = (counts, gaussians)
N = 4000


def _simulated(name, k):
    case = SPELLINGS[name]
    clf = _fitted(case.build(case.rows, CODES))
    tree = clf.to_datatree()["posterior"]
    theta = {v: tree[v].values[0, 7] for v in tree.data_vars}
    family = clf.fitted_.model.family
    rows = family.simulate(theta, np.full(N, k), np.random.default_rng(2)).parts["x"]
    return theta, rows


def _agree(rows, mean, variance):
    assert (np.abs(rows.mean(0) - mean) <= 5 * np.sqrt(variance / N)).all()
    fourth = ((rows - rows.mean(0)) ** 4).mean(0)
    assert (np.abs(rows.var(0) - variance) <= 5 * np.sqrt((fourth - variance**2) / N)).all()


def test_normal_rows():
    theta, rows = _simulated("half_normal_scales", 1)
    _agree(rows, theta["mu"][1], theta["sd"][1] ** 2)


def test_rows_of_a_mixture_whose_graph_has_a_fixed_length():
    theta, rows = _simulated("mixture_within_each_class", 2)
    share, mu = theta["share"][2], theta["mu"][2]
    _agree(rows[:, 0], share @ mu, 1 + share @ mu**2 - (share @ mu) ** 2)


def test_rows_and_novelty_of_a_fit():
    case = SPELLINGS["student_t"]
    model = case.build(case.rows, CODES)
    generators = [leaf for leaf in leaves_above(model.basic_RVs) if isinstance(leaf.type, RandomType)]
    states = [leaf.get_value().bit_generator.state for leaf in generators]
    clf = _fitted(model)
    X, y = clf.sample(50, y=2, random_state=1)
    assert X.shape == (50, 2)
    assert set(y) == {2}
    np.testing.assert_array_equal(X, clf.sample(50, y=2, random_state=1)[0])
    novelty = clf.novelty({"x": np.array([[0.0, 0.0], [1e3, 1e3]])})
    assert novelty["is_novel"].values.tolist() == [False, True]
    assert generators
    assert [leaf.get_value().bit_generator.state for leaf in generators] == states


def test_rows_that_need_covariates_are_refused():
    case = SPELLINGS["regression_on_a_covariate"]
    clf = _fitted(case.build(case.rows, CODES))
    with pytest.raises(bp.NotConjugateError, match="depend on what is given with them"):
        clf.sample(3)
