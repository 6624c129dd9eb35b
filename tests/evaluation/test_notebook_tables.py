"""Results as tables in notebooks."""

import pytest

import bayesppl as bp


@pytest.fixture(scope="module")
def iris():
    return bp.datasets.load("iris")


def test_a_comparison_is_a_table_of_scores(iris):
    X, y = iris
    result = bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], draws=10)
    html = result._repr_html_()
    assert all(f"<th>{rule}</th>" in html for rule in ("mle", "map", "mean", "predictive"))
    assert f"{float(result.scores['brier'].sel(rule='map')):.4f}" in html


def test_reasons_are_escaped(iris):
    X, y = iris
    X = X.assign(**{"<b>": 1.0})
    html = bp.compare(bp.GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], draws=10)._repr_html_()
    assert "mle is undefined" in html
    assert "<b>" not in html


def test_leave_one_out_is_a_table(iris):
    loo = bp.GaussianNB().fit(*iris).loo()
    html = loo._repr_html_()
    assert f"{loo.accuracy[0]:.4g}" in html
    assert "150 rows, 3 classes" in html
