"""Rows without a label and rows with gaps, learned from on the command line as in Python."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp


@pytest.fixture
def flowers(tmp_path):
    table = load_iris(as_frame=True).frame.rename(columns={"target": "kind"})
    table["kind"] = table["kind"].map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    return table, tmp_path / "flowers.csv", tmp_path / "flowers.npz"


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_rows_without_a_label_are_learned_from(run, flowers, inference):
    table, path, model = flowers
    table.loc[table.index % 2 == 1, "kind"] = None
    table.to_csv(path, index=False)
    arguments = (
        "fit",
        path,
        "--target",
        "kind",
        "--model",
        "lda",
        "--unlabelled",
        "learn",
        "--inference",
        inference,
    )
    status, out, _ = run(*arguments, "--save", model)
    assert status == 0
    assert "150 rows, 4 columns, 3 classes" in out
    assert "rows without a label: weight" in out
    X = table.drop(columns="kind")
    expected = bp.LinearDiscriminantAnalysis(unlabelled="learn", inference=inference).fit(X, table["kind"])
    found = bp.load(model)
    assert found.unlabelled == "learn"
    # draws of other seeds differ by their own error; EM has none
    tolerance = 1e-9 if inference == "em" else 0.05
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=tolerance)


def test_gaps_of_correlated_columns_are_completed(run, flowers):
    table, path, model = flowers
    table.iloc[::7, 1] = np.nan
    table.to_csv(path, index=False)
    arguments = ("fit", path, "--target", "kind", "--model", "qda", "--save", model)
    status, _, error = run(*arguments)
    assert status != 0
    assert "missing values in column" in error
    assert not model.exists()
    assert run(*arguments, "--inference", "em")[0] == 0
    X = table.drop(columns="kind")
    expected = bp.QuadraticDiscriminantAnalysis(inference="em").fit(X, table["kind"])
    np.testing.assert_allclose(bp.load(model).predict_proba(X), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    "options", [("--model", "lda"), ("--model", "auto"), ("--model", "lda", "--inference", "nuts")]
)
def test_what_cannot_complete_labels_is_refused_before_anything_is_read(run, flowers, options):
    table, path, model = flowers
    table.to_csv(path, index=False)
    status, _, error = run("fit", path, "--target", "kind", "--unlabelled", "learn", *options, "--save", model)
    assert status != 0
    assert "pass --inference em (a mode) or gibbs (draws)" in " ".join(error.split())
    assert not model.exists()


def test_completed_fits_are_compared_and_written(run, flowers):
    table, path, _ = flowers
    table.iloc[::7, 1] = np.nan
    table.to_csv(path, index=False)
    folder = path.with_name("found")
    arguments = ("compare", path, "--target", "kind", "--model", "qda", "--inference", "em", "--draws", "100")
    assert run(*arguments, "--out", folder)[0] == 0
    assert {file.name for file in folder.iterdir()} >= {"scores.csv", "posterior.nc"}
    assert not (folder / "suspicious.csv").exists()  # whose probabilities need every row complete
