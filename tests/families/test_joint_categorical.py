"""Joint tables: a published example, enumeration, and marginals of rows with gaps."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp

LEVELS = {"a": ["x", "y"], "b": [0, 1, 2]}
_rng = np.random.default_rng(5)
X = pd.DataFrame({"a": _rng.choice(LEVELS["a"], 40), "b": _rng.choice(LEVELS["b"], 40)})
Y = np.repeat(["u", "v"], [25, 15])
EVERY = pd.DataFrame(list(product(*LEVELS.values())), columns=["a", "b"])


def fitted(X=X, y=Y, **options):
    return bp.JointCategoricalNB(**options).fit(X, y)


def test_published_iris_tables():
    # Equal-width thirds of sepal width and length over all 150 rows; G1 to G4 of the published numbers. The text
    # reads G4 as "Setosa", though its own numbers say versicolor.
    iris = load_iris(as_frame=True)
    names = {"width": "sepal width (cm)", "length": "sepal length (cm)"}
    thirds = pd.DataFrame(
        {name: pd.cut(iris.data[column], 3, labels=list("SML")) for name, column in names.items()}
    )
    clf = fitted(thirds, iris.target_names[iris.target], levels=list("SML"), class_weights="uniform", rule="mle")
    table = clf.estimates(["mle"])["probability"][0]
    assert table.dims == ("class", "cell")
    assert table.sel({"class": "setosa", "cell": "M, S"}).item() == 0.72
    assert table.sel({"class": "versicolor", "cell": "S, M"}).item() == 0.32
    assert table.sel({"class": "virginica", "cell": "M, L"}).item() == 0.24
    middle = pd.DataFrame({"width": ["M"], "length": ["M"]})
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(middle)[0]), [0, 20 / 150, 17 / 150], atol=1e-15)
    assert clf.predict(middle).tolist() == ["versicolor"]


@pytest.mark.parametrize("rule", ["mle", "map", "mean", "predictive"])
def test_counts_of_cells(rule):
    clf = fitted(levels=LEVELS, probability=bp.Dirichlet(2.0), class_weights="uniform")
    add = {"mle": 0, "map": 1, "mean": 2, "predictive": 2}[rule]
    for k, label in enumerate("uv"):
        own = X[label == Y]
        counts = np.array([((own["a"] == a) & (own["b"] == b)).sum() for a, b in EVERY.itertuples(index=False)])
        expected = (counts + add) / (counts + add).sum() / 2
        np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(EVERY, rule))[:, k], expected, atol=1e-15)


@pytest.mark.parametrize("rule", ["mle", "map", "mean", "predictive"])
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_a_gap_is_a_sum_over_its_levels(gap, rule):
    clf = fitted(levels=LEVELS, probability=bp.Dirichlet(2.0))
    density = np.exp(clf.predict_joint_log_proba(EVERY, rule))
    for column, other in (("a", "b"), ("b", "a")):
        for level in LEVELS[column]:
            row = pd.DataFrame({column: [level], other: pd.Series([gap], dtype=object)})
            expected = density[(EVERY[column] == level).to_numpy()].sum(0)
            np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(row, rule)[0]), expected, rtol=1e-12)
    empty = pd.DataFrame({"a": [gap], "b": [gap]}, dtype=object)
    np.testing.assert_allclose(np.exp(clf.predict_joint_log_proba(empty, rule)[0]), density.sum(0), rtol=1e-12)


def test_a_single_column_is_categorical():
    one = X[["b"]]
    joint = fitted(one, probability=bp.Dirichlet(0.4), unseen="learned")
    categorical = bp.CategoricalNB(bp.Dirichlet(0.4), unseen="learned").fit(one, Y)
    rows = pd.DataFrame({"b": [0, 1, 2, 3, None]})
    np.testing.assert_allclose(
        joint.predict_joint_log_proba(rows), categorical.predict_joint_log_proba(rows), rtol=1e-12
    )
    np.testing.assert_allclose(joint.log_evidence()["total"], categorical.log_evidence()["total"], rtol=1e-12)


def test_learned_levels_leave_room_for_unseen_ones():
    clf = fitted(class_weights="uniform", unseen="learned")
    assert clf.posterior_.model.coords["cell"][-1] == "(unseen), (unseen)"
    rows = pd.DataFrame({"a": ["new"], "b": [7]})
    # one of (2 + 1)(3 + 1) cells, none of whose rows were seen
    expected = np.log([1 / (25 + 12) / 2, 1 / (15 + 12) / 2])
    np.testing.assert_allclose(clf.predict_joint_log_proba(rows)[0], expected, rtol=1e-12)


def test_a_fit_to_incomplete_rows_is_refused():
    holes = X.astype(object)
    holes.loc[[3, 4], "b"] = None
    with pytest.raises(
        ValueError, match=r"NaN: missing values in column 'b' \(2 of \d+ rows\).*use bayesppl.Categorical"
    ):
        fitted(holes)


def test_a_table_of_too_many_cells_is_refused():
    wide = pd.DataFrame({f"c{j}": range(10) for j in range(8)})
    with pytest.raises(ValueError, match="joint table of 8 columns has 214,358,881 cells per class"):
        fitted(wide, [0, 1] * 5)


@pytest.mark.parametrize("n_rows", [30, 200, 2000])
def test_independent_categories_lose_by_sharing_a_table(n_rows):
    rng = np.random.default_rng(n_rows)
    found = []
    for _ in range(60):
        y = rng.integers(0, 2, n_rows)
        X = np.column_stack([(rng.random(n_rows) < 0.3 + 0.3 * y) * 1, rng.integers(0, 4, n_rows)])
        levels = {"x0": range(2), "x1": range(4)}
        apart = bp.CategoricalNB(levels=levels).fit(X, y).log_evidence()["features"].sum()
        table = (
            bp.JointCategoricalNB(bp.Dirichlet(4 / 8), levels=levels).fit(X, y).log_evidence()["features"].sum()
        )
        found.append(float(table - apart))
    assert np.mean(found) + 3 * np.std(found) / np.sqrt(len(found)) < 0
