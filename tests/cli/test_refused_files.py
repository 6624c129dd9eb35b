"""Refusals name what a user of the command line sees, and can do something about."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

import bayesppl as bp
from bayesppl.cli import file_rows
from bayesppl.cli.files import Dialect
from bayesppl.cli.options import Chosen


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"size": [1.0, 2.5, 7.0, 8.5] * 6, "weight": [3.0, 1.5, 2.0] * 8, "kind": list("aabb") * 6}
    )


@pytest.fixture
def pipe(monkeypatch):
    """Put bytes on standard input."""

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"size,size,kind\n1,2,a\n", "the header of '-' names column 'size' twice"),
        (b"\xff,size,kind\n1,2,a\n", "'-' is not text in utf-8"),
        (b"size,kind\n\xff,a\n", "'-' is not text in utf-8"),
        (b"", "'-' is not a CSV file with a header line: it is empty"),
        (b"1,2,3\n4,5,6\n", "the first line of '-' holds the number 1"),
        (b"size;kind\n1;a\n", "the header of '-' is separated by ';'"),
        (b"size,kind\n1,2,3,a\n", "the lines of '-' have more cells"),
    ],
)
def test_standard_input_is_named_by_its_dash(run, pipe, tmp_path, content, message):
    pipe(content)
    status, _, err = run("fit", "-", "--target", "kind", "--save", tmp_path / "m.npz")
    assert status == 2
    assert message in err


@pytest.mark.parametrize(("suffix", "name"), [("parquet", "size"), ("parquet", "Size"), ("feather", "Size")])
def test_columns_of_one_name_are_refused_in_files_of_types_too(run, tmp_path, suffix, name):
    path = tmp_path / f"t.{suffix}"
    table = pa.table([[1.0, 2.5] * 6, [3.0, 1.5, 2.0] * 4, list("ab") * 6], names=["size", name, "kind"])
    (pq.write_table if suffix == "parquet" else feather.write_feather)(table, path)
    status, _, err = run("fit", path, "--target", "kind", "--save", tmp_path / "m.npz")
    assert status == 2
    assert (
        f"t.{suffix}' names column {min(name, 'size')!r} twice (capitals do not count); rename one of them" in err
    )


def test_standard_input_in_another_encoding_is_named_by_its_dash(run, pipe, tmp_path):
    pipe("size,kind\n1,ä\n".encode())
    options = ("--target", "kind", "--save", tmp_path / "m.npz", "--encoding", "utf-16")
    status, _, err = run("fit", "-", *options)
    assert status == 2
    assert "'-' is not text in utf-16" in err


@pytest.mark.parametrize("names", [["0", "1"], ["400.5", "300"], ["2001", "1999"]])
def test_columns_may_be_named_by_numbers(run, frame, tmp_path, names):
    path, model = tmp_path / "t.csv", tmp_path / "m.npz"
    frame.set_axis([*names, "kind"], axis=1).to_csv(path, index=False)
    options = ("--target", "kind", "--model", "gaussian-nb")
    assert run("fit", path, *options, "--save", model)[0] == 0
    assert run("compare", path, *options, "--draws", 16)[0] == 0
    frame[["size", "weight"]].set_axis(names, axis=1).to_csv(path, index=False)
    status, out, err = run("predict", model, path)
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == len(frame) + 1


def test_the_target_may_be_named_by_a_number(run, tmp_path):
    rows = np.c_[np.arange(20) % 7, np.arange(20) % 2]
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "1", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")
    status, out, err = run("fit", tmp_path / "t.csv", *options)
    assert (status, err) == (0, "")
    assert "20 rows, 1 column, 2 classes" in out


def test_predict_refuses_a_first_line_of_numbers_that_names_no_feature(run, frame, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.npz"
    frame.to_csv(path, index=False)
    run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)
    frame[["size", "weight"]].to_csv(path, index=False, header=False)
    status, _, err = run("predict", model, path)
    assert status == 2
    assert "seems to have no header line" in err


def test_measurements_are_no_names_though_one_of_them_is_that_of_the_target(run, tmp_path):
    path = tmp_path / "t.csv"
    rows = ["3.5,5.1,0", "3.0,6.0,1", "3.2,4.7,0", "2.9,6.1,1"]
    path.write_text("\n".join(rows))
    status, _, err = run("fit", path, "--target", "0", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")
    assert status == 2
    assert "holds the number 3.5, so the file seems to have no header line" in err
    # spectra, places, one name among numbers
    for header in ("400.5,401.25,1000", "401.25,400.5,1", "8,3,1", "5.1,3.5,kind"):
        path.write_text("\n".join([header, *rows]))
        options = ["--target", header.split(",")[-1], "--model", "gaussian-nb", "--save", tmp_path / "m.npz"]
        assert run("fit", path, *options)[0] == 0


def test_the_columns_of_a_model_of_an_array_are_named_by_their_places(run, frame, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.npz"
    bp.GaussianNB().fit(frame[["size", "weight"]].to_numpy(), frame["kind"]).save(model)
    frame[["size", "weight"]].set_axis(["x0", "x1"], axis=1).to_csv(path, index=False)
    status, expected, _ = run("predict", model, path)
    assert (status, len(expected.splitlines())) == (0, len(frame) + 1)
    frame[["weight", "size"]].set_axis(["x1", "x0"], axis=1).to_csv(path, index=False)
    assert run("predict", model, path)[:2] == (0, expected)
    frame[["size", "weight"]].to_csv(path, index=False)
    status, _, err = run("predict", model, path)
    assert status == 2
    assert "the model needs column 'x0'" in err


@pytest.mark.parametrize("batch", [10, 1000])
def test_a_target_of_measurements_is_named(run, frame, tmp_path, monkeypatch, batch):
    monkeypatch.setattr(file_rows, "BATCH_ROWS", batch)
    frame.assign(kind=frame["weight"] / 7).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")
    status, _, err = run("fit", tmp_path / "t.csv", *options)
    assert status == 2
    assert "error: column 'kind': Unknown label type" in err


def test_data_are_not_overwritten(run, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    frame.to_csv("scores.csv", index=False)
    frame.to_parquet("parts/a.parquet", index=False)
    Path("link.csv").symlink_to("scores.csv")
    before = {path: path.read_bytes() for path in (Path("scores.csv"), Path("parts/a.parquet"))}
    target = ("--target", "kind")
    run("fit", "scores.csv", *target, "--model", "gaussian-nb", "--save", "m.npz")
    for arguments in (
        ("fit", "scores.csv", *target, "--save", "scores.csv"),
        ("fit", "scores.csv", *target, "--save", tmp_path / "parts" / ".." / "scores.csv"),
        ("fit", "link.csv", *target, "--save", "scores.csv"),
        ("predict", "m.npz", "scores.csv", "--drop", "kind", "--out", "./scores.csv"),
        ("predict", "m.npz", "parts", "--drop", "kind", "--out", "parts/a.parquet"),
        ("compare", "scores.csv", *target, "--draws", 16, "--out", "."),
    ):
        status, _, err = run(*arguments)
        assert status == 2, arguments
        assert "would replace the data in" in err
    status, _, err = run("predict", "m.npz", "parts", "--drop", "kind", "--out", "parts/new.parquet")
    assert status == 2
    assert "would be read as a part of 'parts'" in err
    assert {path: path.read_bytes() for path in before} == before
    assert list(Path("parts").iterdir()) == [Path("parts/a.parquet")]


@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        (
            {"size": ["u", "v"] * 12},
            ("--model", "gaussian-nb"),
            "convert the column to numbers. Here: --drop COLUMN",
        ),
        (
            {"size": [2**60, 1] * 12},
            (),
            "model its values as levels with --categorical COLUMN. Here: --drop COLUMN",
        ),
        (
            {"size": [None, 1.5] * 12},
            ("--model", "lda"),
            "Use --inference gibbs or em, which complete them under conjugate priors",
        ),
        ({"size": [None, 1.5] * 12}, ("--model", "lda"), "or --model gaussian-nb, which skips"),
        (
            {},
            ("--model", "location"),
            "use --model lda, or convert the columns that are categories (--integers says",
        ),
        (
            {"size": np.arange(24) / 8 + 0.0625},
            ("--model", "categorical-nb"),
            "with --model mixed-nb or --model gaussian-nb, or put them into bins",
        ),
        ({}, ("--model", "gaussian-nb", "--prior", "no"), "--prior no is not known; choose one of"),
        ({"kind": [0, 1, 0, 1] * 5 + [0, 1, 0, 2]}, ("--model", "gaussian-nb"), "class 2 has a single row"),
        (
            {"garage": [None, "u"] * 12},
            ("--model", "tree-nb"),
            "write gaps among texts as a level of their own, or",
        ),
        ({"kind": [-1, 0, 1, 0] * 6}, ("--model", "gaussian-nb"), "empty such cells and pass --unlabelled drop"),
    ],
)
@pytest.mark.filterwarnings("default")
def test_messages_name_options_of_the_command_line(run, frame, tmp_path, columns, options, expected):
    frame.assign(**columns).to_csv(tmp_path / "t.csv", index=False)
    _, _, err = run("fit", tmp_path / "t.csv", "--target", "kind", *options, "--save", tmp_path / "m.npz")
    assert expected in err
    assert "bayesppl." not in err
    assert re.search(r"\b[a-z_]+=", err) is None


@pytest.mark.filterwarnings("default")
def test_advice_of_predict_is_about_its_own_options(run, frame, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.npz"
    frame.assign(c=["u", "v"] * 12, weight=1.0).to_csv(path, index=False)
    assert run("fit", path, "--target", "kind", "--model", "mixed-nb", "--save", model)[0] == 0
    frame.assign(c="w").to_csv(path, index=False)
    status, _, err = run("predict", model, path, "--drop", "kind")
    assert status == 0
    assert err.endswith("such cells are skipped.\n")
    status, _, err = run("predict", model, path, "--drop", "kind", "--rule", "mle")
    assert status == 2
    assert "Use --rule map, mean or predictive with a proper prior" in err
    frame.assign(size=2**60, c="u").to_csv(path, index=False)
    status, _, err = run("predict", model, path, "--drop", "kind")
    assert (status, "holds the integer 1152921504606846976" in err) == (2, True)
    assert "Here:" not in err


def test_compare_advises_no_other_rule(run, frame, tmp_path):
    frame.assign(size=1.0).to_csv(tmp_path / "t.csv", index=False)
    _, out, _ = run("compare", tmp_path / "t.csv", "--target", "kind", "--model", "gaussian-nb", "--draws", 16)
    assert "mle is undefined: column 'size' is constant" in out
    assert "rule=" not in out


@pytest.mark.parametrize("lacking", ["a", "b"])
def test_files_of_a_folder_that_differ_are_named_with_the_column(run, frame, tmp_path, lacking):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "abc":
        part = frame.drop(columns="weight") if name == lacking else frame
        part.to_parquet(folder / f"{name}.parquet", index=False)
    options = ("--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")
    status, _, err = run("fit", folder, *options)
    assert status == 2
    assert f"{lacking}.parquet' has no column 'weight', which other files in {str(folder)!r} have" in err


def test_numbers_of_a_folder_are_whole_only_where_those_of_all_files_are(run, frame, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame.assign(weight=frame["weight"].astype(int)).to_parquet(folder / "a.parquet", index=False)
    frame[["kind", "weight", "size"]].to_parquet(folder / "b.parquet", index=False)
    rows = file_rows.Source(folder, "kind", Dialect(), Chosen()).rows()
    assert rows.X["weight"].tolist() == [*np.floor(frame["weight"]), *frame["weight"]]


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_an_index_of_pandas_is_a_column_if_it_has_a_name(run, frame, tmp_path, suffix):
    write = pd.DataFrame.to_parquet if suffix == ".parquet" else pd.DataFrame.to_feather
    for name, rows in (("named", frame.set_index("kind")), ("unnamed", frame[frame["size"] > 0])):
        write(rows, tmp_path / f"{name}{suffix}")
        options = ("--target", "kind", "--model", "gaussian-nb", "--only", "size", "--save", tmp_path / "m.npz")
        assert run("fit", tmp_path / f"{name}{suffix}", *options)[0] == 0
    columns = file_rows.Source(tmp_path / f"unnamed{suffix}", "kind", Dialect(), Chosen()).rows().X.columns
    assert sorted(columns) == sorted(frame.columns.drop("kind"))
