"""Combinations of levels, against pandas, and the interactions of three columns that they show."""

import numpy as np
import pandas as pd
from scipy.special import logit

import bayesppl as bp
from bayesppl.data.crossed import Crossed
from bayesppl.data.recoding import Recoding


def parity(n_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A class that no two of three columns say anything about, and a column of noise with gaps."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(["no", "yes"], n_rows) for name in "abc"})
    y = (X == "yes").sum(axis=1).to_numpy() % 2 ^ (rng.random(n_rows) < 0.1)
    X["noise"] = np.where(rng.random(n_rows) < 0.1, np.nan, rng.standard_normal(n_rows))
    return X, y


def test_rows_share_a_code_where_they_share_all_levels() -> None:
    X, _ = parity(200)
    recoding = Recoding("bin_filled", "code_filled")
    crossed = Crossed(recoding).fit(X)
    codes = recoding.transform(X).numeric()
    found = crossed.transform(X)
    origins = crossed.origins(X.columns)
    assert [len(own) for own in origins] == [1, 1, 1, 1, 3, 3, 3, 3]
    for column, own in zip(np.asarray(found.numeric()).T, origins, strict=True):
        expected = pd.DataFrame(codes, columns=X.columns)[list(own)].groupby(list(own)).ngroup()
        assert len(set(zip(column, expected, strict=True))) == len(set(column)) == len(set(expected))


def test_interactions_of_three_columns_are_seen_saved_and_explained(tmp_path) -> None:
    X, y = parity(500)
    clf = bp.AutoClassifier().fit(X[:300], y[:300])
    assert clf.weights_["model"][0] == "crossed columns"
    assert clf.score(X[300:], y[300:]) > 0.85
    new = X[300:304].assign(a=["no", None, "violet", "yes"])
    clf.save(tmp_path / "stack.npz")
    loaded = bp.load(tmp_path / "stack.npz")
    np.testing.assert_array_equal(loaded.predict_proba(new), clf.predict_proba(new))
    found = loaded.explain(new)
    total = (found["weight"].sum("feature") + found["prior"]).transpose("row", "class")
    np.testing.assert_allclose(total, logit(clf.predict_proba(new)), rtol=1e-8)
