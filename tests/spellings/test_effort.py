"""How much is computed to read a model: counted, since seconds depend on what else a machine does."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.tensor.elemwise import Elemwise
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.inference.pymc.reading.recognition import read


def _operations(monkeypatch, model):
    """Count the operations on numbers by which a model is read."""
    performed = Elemwise.perform
    times = 0

    def counted(self, node, inputs, outputs):
        nonlocal times
        times += 1
        return performed(self, node, inputs, outputs)

    monkeypatch.setattr(Elemwise, "perform", counted)
    assert [block.solution for block in read(model, "y").blocks] == ["exact", "exact"]
    return times


def test_a_discriminant_of_the_irises_takes_few_operations(monkeypatch):
    """Of numbers at some two hundred points: operations on all points at once, not forty thousand on one."""
    X, y = load_iris(return_X_y=True)
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(3)), observed=y)
        precision = [pm.Wishart(f"precision{k}", 7, np.eye(4)) for k in range(3)]
        mean = [pm.MvNormal(f"mean{k}", np.zeros(4), tau=0.1 * precision[k]) for k in range(3)]
        covariance = pt.stack([pt.linalg.inv(p) for p in precision])
        pm.MvNormal("x", pt.stack(mean)[label], cov=covariance[label], observed=X)
    assert 0 < _operations(monkeypatch, model) < 8_000


@pytest.mark.slow
def test_matrices_that_are_looked_for_are_found_all_at_once(monkeypatch):
    """By slopes of Cholesky factors, of three matrices at twenty points in up to a hundred steps."""
    X, y = load_iris(return_X_y=True)
    model = bp.QuadraticDiscriminantAnalysis().fit(X, y).to_pymc()
    assert 0 < _operations(monkeypatch, model) < 8_000
