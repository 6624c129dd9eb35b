"""Gaps in columns that had none in the fit: the members of a stack leave them out."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import norm

import bayesppl as bp
from bayesppl.data.curves import Curves
from bayesppl.data.recoding import Recoding


def sample(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Three numbers, and categories of which the most frequent is never seen in the first class."""
    rng = np.random.default_rng(seed)
    told = rng.random(n_rows) < 0.4
    table = pd.DataFrame(
        {
            "island": np.where(told, rng.choice(["big", "far"], n_rows, p=[0.9, 0.1]), "far"),
            "size": rng.standard_normal(n_rows) + told,
            "depth": rng.standard_normal(n_rows),
            "mass": rng.standard_normal(n_rows),
        }
    )
    table["island"] = table["island"].where(told | (rng.random(n_rows) < 0.5), "near")
    return table, np.asarray(["no", "yes"])[told.astype(int)]


@pytest.fixture(scope="module")
def fitted() -> bp.AutoClassifier:
    return bp.AutoClassifier().fit(*sample(240, 0))


def log_scores(clf: bp.AutoClassifier, X: pd.DataFrame, y: np.ndarray) -> dict[str, Any]:
    """Of every member, tempered, and of the stack."""
    codes, rows, table = np.searchsorted(clf.classes_, y), np.arange(len(y)), clf.stack_.columns.align(X)
    found = {member.name: member.log_proba(table) for member in clf.stack_.members}
    return {name: each[rows, codes] for name, each in {**found, "stack": clf.predict_log_proba(X)}.items()}


def test_rows_without_the_telling_category_are_predicted_by_the_others(fitted: bp.AutoClassifier) -> None:
    """The log score of new rows is close to the best there is, that of the density they are drawn from."""
    X, y = sample(2000, 1)
    best = np.log(
        expit(
            np.where(y == "yes", 1, -1) * (np.log(0.4 / 0.6) + norm.logpdf(X["size"], 1) - norm.logpdf(X["size"]))
        )
    )
    found = log_scores(fitted, X.assign(island=None), y)
    assert len(found) > 8
    for name, scores in found.items():
        assert (best - scores).mean() < (0.06 if name == "stack" else 0.12), name
    # what the fit has not seen says as little
    with pytest.warns(bp.UnseenLevelWarning, match="'island' holds 'new'"):
        new = fitted.predict_proba(X.assign(island="new"))
    np.testing.assert_allclose(new, fitted.predict_proba(X.assign(island=None)), rtol=1e-9)


def test_a_row_of_gaps_has_the_class_frequencies(fitted: bp.AutoClassifier) -> None:
    X, y = sample(240, 0)
    counts = np.array([(y == name).sum() for name in fitted.classes_])
    unknown = pd.DataFrame([[None] * X.shape[1]], columns=X.columns)
    for name, member in fitted.members_.items():
        found = member.predict_proba(fitted.recode(unknown, name))[0]
        np.testing.assert_allclose(found, (counts + 1) / (counts + 1).sum(), rtol=1e-9, err_msg=name)


def test_rows_that_lack_too_many_levels_to_sum_over_are_left_to_other_models() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame({f"c{j}": rng.choice([*"abcdefgh"], 200) for j in range(6)})
    X["x"] = rng.standard_normal(200) + 2 * y
    clf = bp.AutoClassifier().fit(X, y)
    assert {"trees", "location"} & {*clf.members_}
    gone = X.astype(object)
    gone.iloc[:, :6] = None
    assert clf.score(gone, y) > 0.75
    for name in {"trees", "location"} & {*clf.members_}:
        np.testing.assert_allclose(clf.members_[name].predict_proba(clf.recode(gone, name)), 0.5, rtol=1e-9)


def test_shares_of_rows_with_new_gaps_add_up_to_the_answer(fitted: bp.AutoClassifier) -> None:
    X = sample(3, 2)[0]
    X.loc[0, "island"], X.loc[1, "size"] = None, np.nan
    found = fitted.explain(X, random_state=0)
    expected = fitted.predict_log_proba(X)
    total = (found["weight"].sum("feature") + found["prior"]).transpose("row", "class").values
    np.testing.assert_allclose(total, expected - expected[:, ::-1], atol=1e-9)
    islands = found["weight"].sel(feature="island").values
    np.testing.assert_allclose(islands[0], 0.0, atol=0.15)  # trees that ask for it are silent, or see values drawn
    assert np.abs(islands[1]).min() > 0.1


def test_components_of_a_row_with_gaps_are_those_of_its_other_cells() -> None:
    X = np.random.default_rng(0).standard_normal((50, 4)) @ np.random.default_rng(1).standard_normal((4, 4))
    curves = Curves(Recoding("filled", few="filled"), most_columns=2).fit(X)
    holes = X[:3].copy()
    holes[0, 1], holes[1] = np.nan, np.nan
    means = X[:3].copy()
    means[0, 1] = X[:, 1].mean()
    found, expected = (np.asarray(curves.transform(rows).numeric()) for rows in (holes, means))
    np.testing.assert_allclose(found[[0, 2]], expected[[0, 2]], atol=1e-12)
    assert np.isnan(found[1]).all()
    alone = np.asarray(Curves(Recoding("filled", few="filled")).fit(X).transform(holes[:1]).numeric())[0]
    np.testing.assert_array_equal(np.isnan(alone), [0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0])
