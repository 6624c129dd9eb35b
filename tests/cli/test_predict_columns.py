"""Columns of the rows that ``bayesppl predict`` reads: kept features, levels that look like gaps, columns without
information."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.cli import file_rows as rows_of_files
from bayesppl.cli.files import Dialect
from bayesppl.cli.reader import DataFile


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


def test_numbers_of_another_dialect_are_kept_as_they_are_written(
    run: Any, tmp_path: Any, frame: pd.DataFrame
) -> None:
    lines = [
        f"{size:.3f}".replace(".", ",") + f";{kind}"
        for size, kind in zip(frame["size"], frame["kind"], strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["size;kind", *lines]))
    options = [tmp_path / "t.csv", "--sep", ";", "--decimal", ","]
    assert run("fit", *options, "--target", "kind", "--save", tmp_path / "m.npz")[0] == 0
    keep = ["--keep", "size", "--drop", "kind", "-o", tmp_path / "k.csv"]
    assert run("predict", tmp_path / "m.npz", *options, *keep)[0] == 0
    assert pd.read_csv(tmp_path / "k.csv", decimal=",")["size"].tolist() == frame["size"].tolist()


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


@pytest.mark.parametrize(("name", "what"), [("new.csv", "a header line"), ("new.parquet", "columns")])
def test_a_file_without_rows_is_refused_and_nothing_is_written(
    run: Any, tmp_path: Any, frame: pd.DataFrame, name: str, what: str
) -> None:
    X = frame[["size", "garage"]]
    bp.MixedNB().fit(X, frame["kind"]).save(tmp_path / "m.npz")
    X[:0].to_csv(tmp_path / "new.csv", index=False)
    X[:0].to_parquet(tmp_path / "new.parquet", index=False)
    out = tmp_path / "predicted.parquet"
    status, _, err = run("predict", tmp_path / "m.npz", tmp_path / name, "-o", out)
    assert status == 2
    assert f"has {what} but no rows" in " ".join(err.split())
    assert not out.exists()


@pytest.mark.parametrize("rows", ["7", "1000"])
@pytest.mark.parametrize("batch", [16, 1 << 15])
def test_names_of_rows_that_the_header_does_not_name_are_left_out(
    run: Any, tmp_path: Any, frame: pd.DataFrame, rows: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As R's write.table writes them."""
    monkeypatch.setattr(rows_of_files, "BATCH_ROWS", batch)
    frame = frame.drop(columns="veil").assign(code=np.where(frame["garage"] == "None", "01", "1"))
    lines = frame.to_csv(index=False).splitlines()
    named = [lines[0], *(f"{row},{line}" for row, line in enumerate(lines[1:], 1))]
    written = {"plain": lines, "named": named}
    found = {}
    for name, text in written.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(text) + "\n")
        options = ["--target", "kind", "--model", "mixed-nb", "--categorical", "code", "--drop", "garage"]
        assert run("fit", tmp_path / f"{name}.csv", *options, "--save", tmp_path / "m.nc")[0] == 0
        options = [
            "--keep",
            "kind",
            "--keep",
            "code",
            "--drop",
            "garage",
            "--rows",
            rows,
            "-o",
            tmp_path / "p.csv",
        ]
        assert run("predict", tmp_path / "m.nc", tmp_path / f"{name}.csv", *options)[0] == 0
        found[name] = (tmp_path / "p.csv").read_text()
    assert found["named"] == found["plain"]
    assert ",01," in found["plain"]


def test_separators_at_the_ends_of_lines_are_refused(run: Any, tmp_path: Any, frame: pd.DataFrame) -> None:
    lines = frame.to_csv(index=False).splitlines()
    (tmp_path / "t.csv").write_text("\n".join([lines[0], *(f"{line}," for line in lines[1:])]) + "\n")
    status, _, err = run("compare", tmp_path / "t.csv", "--target", "kind")
    assert status != 0
    assert "have more cells than its header has names" in " ".join(err.split())


def test_known_levels_are_no_gaps_of_their_own_column(tmp_path: Any) -> None:
    (tmp_path / "t.csv").write_text("a,b,c\n,NA,NA\nx,y,\n")
    frame = DataFile(tmp_path / "t.csv", Dialect(), known={"a": ["", "x"], "b": ["NA", "y"]}).read_all()
    assert frame[["a", "b"]].values.tolist() == [["", "NA"], ["x", "y"]]
    assert frame["c"].isna().all()


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_without_code_that_are_printed_once(
    run: Any, tmp_path: Any, frame: pd.DataFrame
) -> None:
    X = frame[["size", "garage"]]
    bp.AutoClassifier().fit(X, frame["kind"]).save(tmp_path / "m.nc")  # whose models warn one by one
    X.head(3).assign(garage="built-in").to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "--rows", "1", "--interval", "0.9")
    assert status == 0
    (line,) = err.splitlines()
    assert line.startswith("bayesppl: warning: column 'garage' holds 'built-in', a level that did not occur in")


def test_a_column_that_is_not_there_is_named_before_those_that_are(
    run: Any, tmp_path: Any, frame: pd.DataFrame
) -> None:
    bp.MixedNB().fit(frame[["size", "garage"]], frame["kind"]).save(tmp_path / "m.nc")
    frame.rename(columns={"size": "Size"}).to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("predict", tmp_path / "m.nc", tmp_path / "new.csv")
    assert status == 2
    assert "the model needs column 'size', which is not among those of" in err
    assert "(did you mean 'Size'?); there are 'Size', 'garage', 'veil', 'kind'. Rename a column" in err
    frame.to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "--drop", "garage")
    assert status == 2
    assert "--drop 'garage' leaves out a column that the model needs; leave out the option" in err


def test_a_column_that_no_answer_depends_on_may_be_absent(run: Any, tmp_path: Any, frame: pd.DataFrame) -> None:
    named = frame.assign(id=[f"n{i}" for i in range(len(frame))])
    with pytest.warns(UserWarning, match="'id'"):
        clf = bp.AutoClassifier().fit(named.drop(columns="kind"), named["kind"])
    assert "id" not in clf.columns_read()
    clf.save(tmp_path / "m.npz")
    named.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    expected = run("predict", tmp_path / "m.npz", tmp_path / "new.csv")
    assert expected[0] == 0
    assert run("predict", tmp_path / "m.npz", tmp_path / "new.csv", "--drop", "id") == expected
    named.drop(columns=["kind", "id"]).to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "m.npz", tmp_path / "new.csv") == expected


@pytest.mark.filterwarnings("default")
def test_cells_outside_of_a_chosen_density_are_counted(run: Any, tmp_path: Any, frame: pd.DataFrame) -> None:
    amounts = frame[["kind"]].assign(amount=np.exp(3 * frame["size"]))
    clf = bp.MixedNB(columns="evidence").fit(amounts[["amount"]], amounts["kind"])
    assert clf.columns_["chosen"].item() != "gaussian"
    clf.save(tmp_path / "m.npz")
    amounts.assign(amount=amounts["amount"].where(amounts.index != 86, -4.0)).to_csv(
        tmp_path / "new.csv", index=False
    )
    status, _, err = run("predict", tmp_path / "m.npz", tmp_path / "new.csv", "--drop", "kind", "--rows", "50")
    assert status == 0
    assert "column 'amount' holds -4, which the lognormal density" in err
    assert (
        "skipped, in 1 row. Correct them, or fit a model in which the column has a family that takes them\n" in err
    )


@pytest.mark.parametrize("kept", [["predicted"], ["kind", "p(a)"], ["kind", "kind"]])
def test_two_columns_of_one_name_are_not_written(
    run: Any, tmp_path: Any, frame: pd.DataFrame, kept: list[str]
) -> None:
    bp.MixedNB().fit(frame[["size", "garage"]], frame["kind"]).save(tmp_path / "m.nc")
    frame.assign(**dict.fromkeys(kept, "a"))[["size", "garage", *dict.fromkeys(kept)]].to_csv(
        tmp_path / "new.csv", index=False
    )
    options = [word for name in kept for word in ("--keep", name)]
    status, out, err = run("predict", tmp_path / "m.nc", tmp_path / "new.csv", *options)
    assert (status, out) == (2, "")
    assert f"--keep {kept[-1]!r}: the output would have two columns of this name; pass it once" in err
