"""Squares and products of columns, against scikit-learn's."""

import numpy as np
import pandas as pd
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from bayesppl.data.curves import Curves
from bayesppl.data.recoding import Recoding

X = np.random.default_rng(0).standard_normal((50, 4)) * [1, 10, 0.1, 3] + 5


def test_squares_and_products_are_those_of_scikit_learn() -> None:
    expected = PolynomialFeatures(2, include_bias=False).fit_transform(StandardScaler().fit_transform(X))
    found = Curves(Recoding("filled", few="filled")).fit(X).transform(X)
    np.testing.assert_allclose(np.asarray(found.numeric()), expected, atol=1e-12)
    assert len(found.names) == expected.shape[1]


def test_of_many_columns_principal_components_are_squared() -> None:
    curves = Curves(Recoding("filled", few="filled"), most_columns=2).fit(X)
    found = np.asarray(curves.transform(X).numeric())
    assert found.shape == (50, 2 + 3)
    np.testing.assert_allclose(np.cov(found[:, :2].T, bias=True), np.eye(2), atol=1e-12)
    standard = StandardScaler().fit_transform(X)
    directions = np.linalg.svd(standard, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(np.corrcoef(found[:, 0], standard @ directions[0])[0, 1]), 1)


def test_two_rows_have_a_single_component() -> None:
    curves = Curves(Recoding("filled", few="filled"), most_columns=2).fit(X[:2])
    assert curves.is_mixing
    assert np.asarray(curves.transform(X[:2]).numeric()).shape == (2, 1 + 1)


def test_gaps_and_levels_become_numbers_first() -> None:
    table = pd.DataFrame({"size": [1.0, None, 3.0, 4.0], "kind": ["a", "b", "a", "b"]})
    found = Curves(Recoding("score", "indicators")).fit(table).transform(table)
    assert np.isfinite(np.asarray(found.numeric())).all()
