"""What users met on the command line: short calls, standard input, folders, columns that number the rows."""

import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest

from bayesppl.cli import file_rows, frame_columns
from bayesppl.cli.files import Dialect
from bayesppl.cli.options import Chosen


@pytest.fixture
def frame():
    y = np.tile(["a", "b"], 30)
    return pd.DataFrame({"customer": np.arange(60) + 1000, "size": (y == "b") + np.sin(np.arange(60)), "kind": y})


def test_without_arguments_the_missing_one_is_named(run):
    status, _, err = run("fit")
    assert status == 2
    assert "Missing argument 'DATA'" in err


def test_an_unknown_option_points_to_the_help_of_its_command(run):
    status, _, err = run("fit", "t.csv", "--target", "kind", "--out", "m.npz")
    assert status == 2
    assert "No such option '--out'. 'bayesppl fit --help' lists the options" in err


def test_no_argument_holds_the_nul_character(run, tmp_path):
    rows = "".join(f"{i},{i % 3},{'pq'[i % 2]}\n" for i in range(1, 20))
    (tmp_path / "t.csv").write_text(f"a,b,kind\n{rows}\0,1,p\n")
    _, _, err = run("compare", tmp_path / "t.csv", "--target", "kind")
    assert "only 1 of its 20 cells are no numbers" in err
    assert "leave such cells empty in the file" in err


def test_dropped_columns_are_not_asked_for_again_and_a_folder_and_standard_input_are_read(
    run, frame, tmp_path, monkeypatch
):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:40].to_parquet(folder / "a.parquet", index=False)
    frame[40:].to_parquet(folder / "b.parquet", index=False)
    options = ("--target", "kind", "--drop", "customer", "--model", "gaussian-nb", "--save", tmp_path / "m.nc")
    status, out, err = run("fit", folder, *options)
    assert (status, err) == (0, "")
    assert "60 rows, 1 column, 2 classes" in out
    frame.to_csv(tmp_path / "t.csv", index=False)
    status, from_file, err = run("predict", tmp_path / "m.nc", tmp_path / "t.csv", "--drop", "kind")
    assert (status, err) == (0, "")
    text = io.TextIOWrapper(io.BytesIO((tmp_path / "t.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", text)
    assert run("predict", tmp_path / "m.nc", "-", "--drop", "kind")[:2] == (0, from_file)


def test_numbers_of_rows_are_not_used_without_a_word(frame):
    (remark,) = frame_columns.remarks(frame)
    assert "column 'customer' holds a whole number of its own in each of 60 rows" in remark
    assert "--drop customer" in remark


def test_help_is_grouped(run):
    text = run("fit", "--help")[1]
    assert [heading for heading in ("Files:", "Columns and rows:", "Model:", "Options:") if heading in text] == [
        "Files:",
        "Columns and rows:",
        "Model:",
        "Options:",
    ]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("a ", "the labels 'a' and 'a ' of the target column 'kind' differ only in the spaces"),
        ("  ", "a label of spaces alone"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_labels_that_differ_only_in_spaces_are_refused(run, frame, tmp_path, command, label, message):
    frame.loc[::10, "kind"] = label
    frame.to_csv(tmp_path / "t.csv", index=False)
    save = ("--save", tmp_path / "m.npz") if command == "fit" else ()
    options = ("--target", "kind", "--drop", "customer", "--model", "gaussian-nb", *save)
    status, _, err = run(command, tmp_path / "t.csv", *options)
    assert status == 2
    assert message in err


def test_spaces_around_labels_are_found_in_batches_too(frame, tmp_path):
    frame.loc[59, "kind"] = "b "
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="'b' and 'b '"):
        file_rows.Source(tmp_path / "t.csv", "kind", Dialect(), Chosen()).labels()


def test_dropped_columns_are_not_asked_for_again_after_a_bare_calibrate(run, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "kind", "--model", "gaussian-nb", "--calibrate", "--drop", "customer")
    assert run("fit", tmp_path / "t.csv", *options, "--save", tmp_path / "m.npz")[0] == 0
    assert run("predict", tmp_path / "m.npz", tmp_path / "t.csv", "--drop", "kind")[0] == 0


@pytest.mark.parametrize("model", ["poisson-nb", "gaussian-nb"])
def test_models_of_numbers_take_no_levels(run, tmp_path, model):
    path = tmp_path / "t.csv"
    path.write_text("u,y\n" + "-1,a\n2,b\n3,a\n4,b\n" * 5)
    status, _, err = run("fit", path, "--target", "y", "--model", model, "--save", tmp_path / "m.npz")
    assert (status, "--categorical" in err) == (2 if model == "poisson-nb" else 0, False)
    options = ("--target", "y", "--categorical", "u", "--save", tmp_path / "m.npz")
    status, _, err = run("fit", path, *options, "--model", model)
    assert (status, f"--model {model} has no levels; choose --model mixed-nb" in err) == (2, True)
    assert run("fit", path, *options, "--model", "mixed-nb")[0] == 0


@pytest.mark.filterwarnings("always::UserWarning")
def test_integers_are_spoken_of_as_options(run, tmp_path):
    visits = np.where(np.arange(40) % 9 == 0, np.nan, np.arange(40) % 5)
    pd.DataFrame({"visits": visits, "y": ["a", "b"] * 20}).to_parquet(tmp_path / "gaps.parquet")
    options = (tmp_path / "gaps.parquet", "--target", "y", "--model", "mixed-nb", "--save", tmp_path / "m.npz")
    err = run("fit", *options, "--integers", "poisson")[2]
    assert (
        "not as --integers poisson has it. Write such a column as integers: in pandas, by astype('Int64')" in err
    )
    assert "--integers names 'visits'" in run("fit", *options, "--integers", "visits=poisson")[2]


def test_integers_of_many_digits_are_named_as_such(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("wei,y\n" + "".join(f"{i + 3}{'0' * 19},{'ab'[i % 2]}\n" for i in range(20)))
    err = run("fit", path, "--target", "y", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")[2]
    assert "have 19 digits or more" in err


def test_compressed_standard_input_is_named_as_such(run, frame, monkeypatch):
    raw = gzip.compress(frame.to_csv(index=False).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    status, _, err = run("fit", "-", "--target", "kind", "--save", "m.npz")
    assert (status, "'-' is compressed by gzip; unpack it" in err) == (2, True)


def test_parquet_on_standard_input_is_named_as_such(run, frame, monkeypatch):
    pytest.importorskip("pyarrow")
    held = io.BytesIO()
    frame.to_parquet(held)
    held.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(held))
    status, _, err = run("fit", "-", "--target", "kind", "--save", "m.npz")
    assert (status, "'-' is a Parquet file; give it by a name that ends in .parquet" in err) == (2, True)
