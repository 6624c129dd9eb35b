"""Files as people have them: other separators, decimal commas, other encodings, repeated names."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp


@pytest.fixture(scope="module")
def flowers() -> pd.DataFrame:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X.rename(columns={X.columns[0]: "Länge"}).assign(kind=y.map({0: "Süd", 1: "West", 2: "Nord"}))


def write_european(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, sep=";", decimal=",", encoding="latin-1", index=False)
    return path


EUROPEAN = ("--sep", ";", "--decimal", ",", "--encoding", "latin-1")


def test_a_dialect_changes_no_number(run: Any, flowers: pd.DataFrame, tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.csv", write_european(flowers, tmp_path / "other.csv")
    flowers.to_csv(plain, index=False)
    arguments = ("--target", "kind", "--json", "--draws", 16)
    expected = run("compare", plain, *arguments)
    found = run("compare", other, *arguments, *EUROPEAN)
    assert expected[0] == found[0] == 0
    reports = [json.loads(out.replace("other.csv", "plain.csv")) for _, out, _ in (expected, found)]
    commands = [report["provenance"].pop("command") for report in reports]
    assert reports[0] == reports[1]
    assert commands[1].startswith(commands[0])  # the dialect is in the command


def test_fit_and_predict_read_the_dialect_too(run: Any, flowers: pd.DataFrame, tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.csv", write_european(flowers, tmp_path / "other.csv")
    flowers.to_csv(plain, index=False)
    predictions = []
    for path, options in ((plain, ()), (other, EUROPEAN)):
        model = path.with_suffix(".nc")
        assert run("fit", path, "--target", "kind", "--save", model, *options)[0] == 0
        status, out, _ = run("predict", model, path, "--drop", "kind", "--rows", 40, *options)
        assert status == 0
        predictions.append(out)
    assert predictions[0] == predictions[1]


@pytest.mark.slow
def test_a_line_for_excel_is_no_header(run: Any, flowers: pd.DataFrame, tmp_path: Path) -> None:
    other = write_european(flowers, tmp_path / "other.csv")
    model = tmp_path / "other.nc"
    predictions = []
    for line in (b"", b"sep=;\n"):
        other.write_bytes(line + other.read_bytes())
        fitted = run("fit", other, "--target", "kind", "--save", model, *EUROPEAN)
        assert fitted[0] == 0, fitted
        status, out, _ = run("predict", model, other, "--drop", "kind", "--rows", 40, *EUROPEAN)
        assert status == 0
        predictions.append(out)
    assert predictions[0] == predictions[1]
    status, _, error = run("fit", other, "--target", "kind", "--save", model, *EUROPEAN[2:])
    assert status != 0
    assert "pass --sep ';'" in error


def test_tabs_have_a_name(run: Any, flowers: pd.DataFrame, tmp_path: Path) -> None:
    flowers.to_csv(tmp_path / "tabs.csv", sep="\t", index=False)
    assert run("compare", tmp_path / "tabs.csv", "--target", "kind", "--sep", "tab", "--draws", 16)[0] == 0


def test_parquet_files_are_compared_too(run: Any, flowers: pd.DataFrame, tmp_path: Path) -> None:
    flowers.to_parquet(tmp_path / "flowers.parquet")
    assert run("compare", tmp_path / "flowers.parquet", "--target", "kind", "--draws", 16)[0] == 0


@pytest.mark.parametrize("command", ["compare", "fit"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"kind;width\nlily;1,5\n", "is separated by ';', not by ','; pass --sep ';'"),
        (b"kind\twidth\nlily\t1.5\n", "pass --sep tab"),
        (
            "kind,width\nl\xeblie,1.5\n".encode("latin-1"),
            "not text in utf-8 (it holds the byte 0xeb); pass --encoding",
        ),
        (b"kind,width,width\nlily,1,2\n", "names column 'width' twice; rename one of them"),
        (b"kind,a,a\nb,a,c\n", "or, if these are cells, add a first line that names the 3 columns"),
        (b"", "is not a CSV file with a header line"),
        (b"kind,width\n", "has a header line but no rows"),
        (b"kind\nlily\n", "no column is left besides the target 'kind'"),
        (b"sort,width\nlily,2\n", "the target column 'kind' is not in"),
        (
            b"kind,width\na,1\nb,2,3\n",
            "has 3 cells, and its header names 2; complete the line, or put quotes around",
        ),
        (b"kind,width\na,1\nb\n", "line 3 of "),
        (
            b"name,kind\nSmith, J,a\nMiller,a\n",
            "has 2 cells, its first row has 3, and its header names 2; complete the lines, or put quotes",
        ),
        (b"width,kind\r\n1,a\r\n2,b\n3,a\n", "flowers.csv' mixes line ends of Windows and of Unix, or holds"),
        (b"kind,width\na,1\nb\n", "has 1 cells, and its header names 2; complete the line"),
        (
            b'kind,width\na,1\nb,"2\n',
            "flowers.csv' is not closed before a separator or the end of the file; close it, or write quotes",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_remedy(
    run: Any, tmp_path: Path, command: str, content: bytes, message: str
) -> None:
    path = tmp_path / "flowers.csv"
    path.write_bytes(content)
    options = () if command == "compare" else ("--save", tmp_path / "model.nc")
    status, out, err = run(command, path, "--target", "kind", *options)
    assert (status, out) == (2, "")
    assert message in err
    assert not (tmp_path / "model.nc").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sep", ",,"), "--sep ',,' must be a single character"),
        (
            ("--sep", '"'),
            "--sep '\"' must be a single character, and no letter, digit, quotation mark or line end",
        ),
        (("--decimal", "e"), "--decimal 'e' must be a single character, and no letter"),
        (("--thousands", "1"), "--thousands '1' must be a single character, and no letter, digit"),
        (("--thousands", "."), "--thousands and --decimal are both '.'"),
        (("--encoding", "latin-99"), "there is no --encoding 'latin-99'"),
        (("--encoding", "hex"), "there is no --encoding 'hex'"),
        (
            ("--sep", "\n"),
            "--sep '\\n' must be a single character, and no letter, digit, quotation mark or line end",
        ),
    ],
)
def test_impossible_dialects_are_refused(run: Any, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    path = tmp_path / "flowers.csv"
    path.write_text("kind,width\na,1\n")
    status, _, err = run("compare", path, "--target", "kind", *options)
    assert status == 2
    assert message in err


def test_quoted_numbers_may_hold_the_separator(run: Any, tmp_path: Path) -> None:
    path, model = tmp_path / "lengths.csv", tmp_path / "m.npz"
    path.write_text('kind,length\na,"1,5"\na,"2,5"\nb,"7,5"\nb,"9,25"\n')
    options = ("--target", "kind", "--model", "gaussian-nb", "--save", model)
    status, _, err = run("fit", path, *options)
    assert (status, "if commas mark decimals, pass --decimal ," in err) == (2, True)
    assert run("fit", path, *options, "--decimal", ",")[0] == 0
    expected = bp.GaussianNB().fit(pd.DataFrame({"length": [1.5, 2.5, 7.5, 9.25]}), list("aabb"))
    assert bp.load(model).posterior_.mean()["mean"].tolist() == expected.posterior_.mean()["mean"].tolist()


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_marks_of_missing_cells_hold_in_files_of_types(run: Any, tmp_path: Path, suffix: str) -> None:
    rows = pd.DataFrame(
        {
            "kind": list("aabb") * 3,
            "level": ["u", "?", "v"] * 4,
            "category": pd.Categorical(["p", "q", " ? ", "q"] * 3),
            "count": [1, 2, -9, 4, 5, 6] * 2,
            "size": [0.5, -9.0, 1.5, 2.5] * 3,
        }
    )
    path, model, gaps = tmp_path / f"rows.{suffix}", tmp_path / "m.npz", ("--na-values", "?", "--na-values", "-9")
    getattr(rows, f"to_{suffix}")(path)
    options = ("--target", "kind", "--model", "mixed-nb", "--integers", "gaussian", "--save", model)
    assert run("fit", path, *options, *gaps)[0] == 0
    absent = rows.replace({"level": "?", "count": -9, "size": -9.0}, np.nan).astype({"category": str})
    absent["category"] = absent["category"].replace(" ? ", None)
    expected = bp.MixedNB(integers="gaussian").fit(absent.drop(columns="kind"), rows["kind"])
    new = absent.drop(columns="kind")
    np.testing.assert_allclose(bp.load(model).predict_proba(new), expected.predict_proba(new), rtol=1e-12)
    for option, mark in (("--decimal", ","), ("--thousands", ","), ("--sep", ";"), ("--encoding", "latin-1")):
        status, _, err = run("fit", path, *options, option, mark)
        assert (status, f"{option} is for text files, and" in err) == (2, True)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather", "folder"])
@pytest.mark.parametrize(("name", "other"), [("data[1]", "data1"), ("data?", "data2"), ("data*", "datasets")])
def test_a_name_is_no_pattern_of_others(run: Any, tmp_path: Path, name: str, other: str, suffix: str) -> None:
    table = pd.DataFrame({"size": [1.5, 2.5, 3.5, 0.5] * 5, "kind": ["a", "b"] * 10})
    for stem, rows in ((name, table), (other, pd.concat([table, table]))):
        path = tmp_path / (stem if suffix == "folder" else f"{stem}.{suffix}")
        if suffix == "folder":
            path.mkdir()
            rows.to_parquet(path / "part.parquet")
        else:
            {"csv": rows.to_csv, "parquet": rows.to_parquet, "feather": rows.to_feather}[suffix](path)
    path = tmp_path / (name if suffix == "folder" else f"{name}.{suffix}")
    options = ("--target", "kind", "--only", "size", "--model", "lda", "--save", tmp_path / "m.npz")
    assert "fitted lda to 20 rows" in run("fit", path, *options)[1]


@pytest.mark.parametrize(
    ("written", "named"),
    [
        *((codecs.BOM_UTF8, name) for name in ("utf-8", "utf8", "UTF-8", "utf-8-sig")),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
    ],
)
def test_a_mark_of_the_order_of_bytes_is_no_part_of_a_name(
    run: Any, tmp_path: Path, written: bytes, named: str
) -> None:
    text = "a,y\n1.5,N\n2.5,Y\n0.1,N\n3.5,Y\n"
    (tmp_path / "t.csv").write_bytes(written + text.encode("utf-8" if "8" in named else named))
    options = ("--target", "y", "--model", "gaussian-nb", "--save", tmp_path / "m.npz", "--encoding", named)
    assert run("fit", tmp_path / "t.csv", *options)[0] == 0
    assert bp.load(tmp_path / "m.npz").feature_names_in_.tolist() == ["a"]


def test_points_in_a_file_of_decimal_commas_are_named_as_such(run: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;y\n1.5;N\n2.5;Y\n0.1;N\n3.5;Y\n")
    options = ("--target", "y", "--model", "gaussian-nb", "--sep", ";", "--decimal", ",")
    status, _, err = run("fit", tmp_path / "t.csv", *options, "--save", tmp_path / "m.npz")
    assert status == 2
    assert "all its cells are numbers; points mark no decimals under another --decimal" in err
