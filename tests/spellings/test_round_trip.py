"""What ``to_pymc`` declares is read back as exact, with the same posterior, evidence and probabilities."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.graph.traversal import ancestors
from registry import quick_and_slow
from sklearn.datasets import load_iris
from support.examples import EXAMPLES, LEARNED_BINS, PLAIN

import bayesppl as bp
from bayesppl.inference.pymc.graphs import evaluate

ALL = {**EXAMPLES, **LEARNED_BINS}

#: Only the cells that are not zero are observed as such, and they are not as many as the rows.
NOT_BY_ROWS = [name for name in ALL if name.startswith("zero inflated")]


@pytest.mark.parametrize("name", quick_and_slow(NOT_BY_ROWS, NOT_BY_ROWS[:1]))
def test_a_model_whose_cells_are_not_rows_is_refused(name):
    example = ALL[name]
    model = bp.GenerativeClassifier(example.family).fit(example.X, example.y).to_pymc("rows")
    with pytest.raises(ValueError, match="its leading dimension is not that of the 16 rows of the label 'y'"):
        bp.from_pymc(model, "y")


#: An approximate likelihood is the density of no observed variable.
POTENTIALS = [name for name in EXAMPLES if name.startswith("dirichlet multinomial")]


@pytest.mark.parametrize("name", quick_and_slow(POTENTIALS, POTENTIALS[:1]))
def test_a_model_whose_rows_are_a_potential_is_refused(name):
    example = EXAMPLES[name]
    model = bp.GenerativeClassifier(example.family).fit(example.X, example.y).to_pymc("rows")
    with pytest.raises(ValueError, match="the potential 'x' is computed from data of the length of the rows"):
        bp.from_pymc(model, "y")


#: Numbers whose mean depends on the categories of their row: predictors of the length of the rows.
ON_CATEGORIES = [name for name in EXAMPLES if name.startswith("conditional gaussian")]


@pytest.mark.parametrize("name", quick_and_slow(ON_CATEGORIES, ON_CATEGORIES[:1]))
def test_a_model_of_numbers_given_categories_is_refused(name):
    example = EXAMPLES[name]
    model = bp.GenerativeClassifier(example.family).fit(example.X, example.y).to_pymc("rows")
    with pytest.raises(
        ValueError, match=r"'numbers_x' depends on a constant of shape .*, of the length of the rows"
    ):
        bp.from_pymc(model, "y")


@pytest.mark.slow
@pytest.mark.parametrize("name", quick_and_slow(PLAIN, ("student t", "von mises, hours")))
def test_the_model_of_a_family_without_a_closed_form_comes_back_by_rows(name):
    """With the same probabilities from the same draws."""
    example = PLAIN[name]
    # known class weights: those that are learned have a closed form in what is read, and draws here
    clf = bp.GenerativeClassifier(example.family, class_weights="uniform", inference="laplace")
    model = clf.fit(example.X, example.y).to_pymc("rows")
    back = bp.from_pymc(model, "y", draws=clf.to_datatree())
    assert back.recognition()["solution"].tolist() == ["exact", "by rows"]
    assert "is no family with a closed form" in back.recognition().loc["x", "why"]
    rows = {"x": evaluate([model.rvs_to_values[model["x"]]])[0]}
    np.testing.assert_allclose(back.predict_proba(rows), clf.predict_proba(example.X), rtol=0, atol=1e-9)


COME_BACK = [name for name in ALL if name not in [*NOT_BY_ROWS, *POTENTIALS, *ON_CATEGORIES]]
#: One of each conjugate pair, and of each kind of covariance matrix.
QUICK = (
    "bernoulli",
    "binomial, trials by row",
    "poisson, exposure",
    "lognormal spherical",
    "categorical",
    "multinomial",
    "gaussian tied",
    "gaussian full, default prior",
    "product",
)


@pytest.mark.parametrize("name", quick_and_slow(COME_BACK, QUICK))
def test_the_model_of_every_family_comes_back_as_exact(name):
    example = ALL[name]
    X, y = example.X, example.y
    clf = bp.GenerativeClassifier(example.family).fit(X, y)
    model = clf.to_pymc("rows")
    back = bp.from_pymc(model, "y")
    table = back.recognition()
    assert (table["solution"] == "exact").all(), table.to_string()
    assert back.classes_.tolist() == clf.classes_.tolist()
    rows = {key: values for key, values in _observed(model).items() if key != "y"}
    assert np.allclose(back.predict_proba(rows), clf.predict_proba(X), rtol=0, atol=1e-9)
    # of log-normal rows their logarithms are observed, and the Jacobian is a potential of its own
    jacobian = sum(float(p.eval()) for p in model.potentials if not _free(model, p))
    one, other = (float(c.log_evidence()["total"]) for c in (back, clf))
    # a prior of each class that is made of the rows of the others: our evidence counts each row once
    assert name == "gaussian full, default prior" or np.isclose(one + jacobian, other, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "columns"), [("fraley-raftery", 4), ("hierarchical", 3), ("hierarchical", 1)])
def test_a_discriminant_of_correlated_columns_comes_back_as_exact(prior, columns):
    """Matrices of the opposite correlation, and means far away, take a search."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3, :columns], y[::3]
    clf = bp.LinearDiscriminantAnalysis(prior).fit(X, y)
    back = bp.from_pymc(clf.to_pymc(), "y")
    assert (back.recognition()["solution"] == "exact").all()
    np.testing.assert_allclose(back.predict_proba(X), clf.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_a_discriminant_of_the_irises_by_hand_is_ours():
    """Four columns: far from the start, matrices come close to singular ones."""
    X, y = load_iris(return_X_y=True)
    with pm.Model() as model:
        label = pm.Categorical("y", pm.Dirichlet("w", np.ones(3)), observed=y)
        precision = [pm.Wishart(f"precision{k}", 7, np.eye(4)) for k in range(3)]
        mean = [pm.MvNormal(f"mean{k}", np.zeros(4), tau=0.1 * precision[k]) for k in range(3)]
        pm.MvNormal("x", pt.stack(mean)[label], tau=pt.stack(precision)[label], observed=X)
    read = bp.from_pymc(model, "y")
    assert (read.recognition()["solution"] == "exact").all()
    ours = bp.QuadraticDiscriminantAnalysis(bp.NormalInverseWishart(0.0, 0.1, 7.0, np.eye(4))).fit(X, y)
    np.testing.assert_allclose(read.predict_proba(X), ours.predict_proba(X), rtol=0, atol=1e-9)
    assert np.isclose(float(read.log_evidence()["total"]), float(ours.log_evidence()["total"]), rtol=1e-9)


def _free(model, potential):
    return set(model.free_RVs) & set(ancestors([potential]))


def _observed(model):
    held = {v.name: evaluate([model.rvs_to_values[v]])[0] for v in model.observed_RVs}
    held |= {
        name: v.get_value()
        for name, v in model.named_vars.items()
        if v in model.data_vars and len(v.get_value()) == 16
    }
    return held
