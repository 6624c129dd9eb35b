"""A PyMC model begun from a table: coords and data of the rows, ready to be read."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from scipy.sparse import csr_array

import bayesppl as bp

X = pd.DataFrame({"dots": [1, 0, 7, 5], "dashes": [4, 6, 1, 2]}, index=list("wxyz"))
LABELS = ["b", "b", "a", "a"]


def test_a_model_has_the_names_and_the_rows_of_a_table():
    model = bp.model_with_rows(X, LABELS)
    assert model.coords == {"class": ("a", "b"), "feature": ("dots", "dashes"), "row": ("w", "x", "y", "z")}
    np.testing.assert_array_equal(model["rows"].get_value(), X)
    assert model["labels"].get_value().tolist() == [1, 1, 0, 0]
    assert model.named_vars_to_dims == {"rows": ("row", "feature"), "labels": ("row",)}


def test_a_model_that_was_begun_is_the_estimator():
    with bp.model_with_rows(X, LABELS) as model:
        weights = pm.Dirichlet("weights", np.ones(2), dims="class")
        label = pm.Categorical("y", weights, observed=model["labels"])
        rate = pm.Gamma("rate", 2.0, 1.0, dims=("class", "feature"))
        pm.Poisson("x", rate[label], observed=model["rows"])
    read, clf = bp.from_pymc(model), bp.PoissonNB(bp.Gamma(2.0, 1.0)).fit(X, LABELS)
    assert set(read.recognition()["solution"]) == {"exact"}
    assert read.classes_.tolist() == ["a", "b"]
    np.testing.assert_allclose(read.predict_proba(X[["dashes", "dots"]]), clf.predict_proba(X), rtol=1e-10)


def test_sparse_rows_become_dense():
    model = bp.model_with_rows(csr_array([[1, 0], [0, 2]]), ["a", "b"])
    np.testing.assert_array_equal(model["rows"].get_value(), [[1, 0], [0, 2]])


def test_rows_that_are_no_numbers_or_do_not_match_are_refused():
    with pytest.raises(ValueError, match="column 'kind' holds the text 'a' in row 0 where a number must be"):
        bp.model_with_rows(X.assign(kind="a"), LABELS)
    with pytest.raises(ValueError, match="X has 4 rows and y has 3 labels"):
        bp.model_with_rows(X, LABELS[:3])


def test_totals_may_be_sums_of_the_rows_of_the_model():
    with bp.model_with_rows(X, LABELS) as model:
        weights = pm.Dirichlet("weights", np.ones(2), dims="class")
        label = pm.Categorical("y", weights, observed=model["labels"])
        p = pm.Dirichlet("p", np.ones(2), dims=("class", "feature"))
        rows = model["rows"]
        pm.Multinomial("x", n=rows.sum(axis=1), p=p[label], observed=rows, dims=("row", "feature"))
    read = bp.from_pymc(model)
    clf = bp.MultinomialNB(bp.Dirichlet(1.0), class_weights=bp.Dirichlet(1.0)).fit(X, LABELS)
    assert set(read.recognition()["solution"]) == {"exact"}
    np.testing.assert_allclose(read.predict_proba(X), clf.predict_proba(X), rtol=1e-10)


def test_integers_beyond_32_bits_are_the_same_numbers_in_a_model():
    X = pd.DataFrame(
        {"views": [3_000_000_000, 3_100_000_000, 5_000_000_000, 5_200_000_000], "likes": [1, 2, 3, 4]}
    )
    assert bp.model_with_rows(X, list("aabb"))["rows"].get_value().tolist() == X.to_numpy().tolist()
    for covariance in ("diag", "full"):
        clf = bp.GenerativeClassifier(bp.Gaussian(covariance)).fit(X, list("aabb"))
        model = clf.to_pymc()
        observed = model.rvs_to_values[model["x"]].eval()
        np.testing.assert_array_equal(observed.reshape(4, 2), X)


def test_a_model_is_not_built_of_integers_beyond_32_bits():
    def build(X, y):
        with pm.Model() as model:
            label = pm.Categorical("y", [0.5, 0.5], observed=y)
            pm.Poisson("x", pm.Gamma("rate", 2.0, 1.0, shape=2)[label], observed=np.asarray(X["views"]))
        return model

    X, y = pd.DataFrame({"views": [3_000_000_000, 3_100_000_000, 5, 7]}), list("aabb")
    for table in (X, {"views": X["views"].to_numpy()}):
        with pytest.raises(ValueError, match="column 'views' holds whole numbers beyond 32 bits"):
            bp.PyMCClassifier(build).fit(table, y)
    assert bp.PyMCClassifier(build).fit(X // 1_000_000, y).predict([[3000], [1]]).tolist() == ["a", "b"]
