"""Columns of the rows that ``bayesppl predict`` reads: kept features, levels that look like gaps, columns without information."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    y = np.tile(["a", "b"], 60)
    garage = np.where(rng.random(120) < np.where(y == "a", 0.8, 0.2), "None", "attached")
    return pd.DataFrame({"size": rng.normal(y == "a").round(3), "garage": garage, "veil": "p", "kind": y})


@pytest.mark.parametrize("rows", ["7", "1000"])
def test_a_level_that_looks_like_a_gap_is_the_level_of_the_model(
    run: Any, tmp_path: Any, frame: pd.DataFrame, rows: str
) -> None:
    X = frame[["size", "garage"]].astype({"garage": object})
    X.loc[[4, 9], "garage"] = None
    clf = bp.MixedNB().fit(X, frame["kind"])
    clf.save(tmp_path / "m.nc")
    X.to_csv(tmp_path / "new.csv", index=False)
    options = ["--rows", rows, "-o", tmp_path / "p.csv"]
    assert run("predict", tmp_path / "m.nc", tmp_path / "new.csv", *options)[0] == 0
    found = pd.read_csv(tmp_path / "p.csv")[["p(a)", "p(b)"]]
    np.testing.assert_allclose(found, clf.predict_proba(X), rtol=1e-12)


def test_a_feature_is_kept_as_it_is_written(run: Any, tmp_path: Any, frame: pd.DataFrame) -> None:
    lines = [f"{size:.4f},{garage},p,{kind}" for size, garage, _, kind in frame.to_numpy().tolist()]
    (tmp_path / "t.csv").write_text("\n".join(["size,garage,veil,kind", *lines]) + "\n")
    options = ["--target", "kind", "--model", "mixed-nb", "--drop", "veil", "--save", tmp_path / "m.nc"]
    assert run("fit", tmp_path / "t.csv", *options)[0] == 0
    drop = ["--drop", "kind", "--drop", "veil"]
    assert run("predict", tmp_path / "m.nc", tmp_path / "t.csv", *drop, "-o", tmp_path / "p.csv")[0] == 0
    keep = ["--drop", "veil", "--keep", "size", "--keep", "kind"]
    assert run("predict", tmp_path / "m.nc", tmp_path / "t.csv", *keep, "-o", tmp_path / "k.csv")[0] == 0
    plain, kept = (pd.read_csv(tmp_path / name, dtype=str) for name in ("p.csv", "k.csv"))
    assert kept["size"].tolist() == [line.split(",")[0] for line in lines]
    pd.testing.assert_frame_equal(kept.drop(columns=["size", "kind"]), plain)


def test_text_in_a_column_that_did_not_vary_in_the_fit_is_of_no_matter(
    run: Any, tmp_path: Any, frame: pd.DataFrame
) -> None:
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ["--target", "kind", "--model", "auto", "--save", tmp_path / "m.nc"]
    assert run("fit", tmp_path / "t.csv", *options)[0] == 0
    frame.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "-o", tmp_path / "p.csv")[0] == 0
    frame.drop(columns="kind").assign(size="x").to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "-o", tmp_path / "p.csv")
    assert status != 0
    assert "column 'size' holds the text 'x' in row 0 and held no text in the fit" in " ".join(err.split())
