"""``bayesppl predict`` of a file that holds text where the fit had none: the cell that made text of the column is
named."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesppl as bp

ROWS = pd.DataFrame(
    {
        "code": [1, 2, 3, 4] * 5,
        "size": np.arange(20) ** 2 / 7,
        "ripe": [True, False, True, True, False] * 4,
        "kind": ["u", "v"] * 10,
    }
)
MODELS = {"levels": ["--model", "mixed-nb", "--categorical", "code"], "numbers": ["--model", "gaussian-nb"]}


@pytest.fixture(params=MODELS)
def saved(run, tmp_path, request):
    ROWS.to_csv(tmp_path / "train.csv", index=False)
    options = [*MODELS[request.param], "--save", tmp_path / "m.nc"]
    assert run("fit", tmp_path / "train.csv", "--target", "kind", *options)[0] == 0
    return tmp_path / "m.nc"


@pytest.mark.parametrize("rows", [5, 1000])
@pytest.mark.parametrize(
    ("name", "cell", "remedy"),
    [
        ("code", "x", "--na-values x"),
        ("size", "not yet", "--na-values 'not yet'"),
        ("size", "1,5", "--decimal , or --thousands ,"),
        ("ripe", "maybe", "--na-values maybe"),
        ("size", "1.072,94", "--thousands . --decimal ,"),
        ("size", "7 154,50", "--decimal , and the mark that parts the thousands as --thousands, any space as ' '"),
        ("size", "12 €", "write them without €"),
        ("ripe", "WAHR", "if that is a truth value, write it as true or false; "),
    ],
)
def test_the_cell_its_row_and_the_remedy(run, saved, tmp_path, rows, name, cell, remedy):
    new = ROWS.drop(columns="kind").astype({name: object})
    new.loc[13, name] = cell
    new.to_csv(tmp_path / "new.csv", index=False)
    status, _, err = run("predict", saved, tmp_path / "new.csv", "--rows", rows)
    assert status == 2
    assert f"column {name!r} holds the text {cell!r} in row 13 " in err
    assert remedy in err


def test_the_remedy_works(run, saved, tmp_path):
    new = ROWS.drop(columns="kind").astype({"code": object})
    new.loc[13, "code"] = "x"
    new.to_csv(tmp_path / "new.csv", index=False)
    new.replace("x", "").to_csv(tmp_path / "empty.csv", index=False)
    marked = run("predict", saved, tmp_path / "new.csv", "--na-values", "x")
    assert marked[0] == 0
    assert marked[1] == run("predict", saved, tmp_path / "empty.csv")[1]


def test_numbers_are_read_as_in_the_fit_unless_options_are_given(run, tmp_path):
    rng = np.random.default_rng(0)
    kind = np.repeat(["a", "b"], 60)
    sales = np.rint(1e6 * rng.uniform(1, 2, 120) * np.where(kind == "a", 1, 2)) / 1e3
    cells = [f"{value:,.3f}".translate(str.maketrans(",.", ".,")) for value in sales]
    cells[::7] = ["-999"] * len(cells[::7])
    pd.DataFrame({"sales": cells, "kind": kind}).to_csv(tmp_path / "t.csv", index=False, sep=";")
    marks = ["--decimal", ",", "--thousands", ".", "--na-values", "-999"]
    options = ["--target", "kind", "--sep", ";", "--save", tmp_path / "m.nc"]
    assert run("fit", tmp_path / "t.csv", "--model", "gaussian-nb", *options, *marks)[0] == 0
    new = ["predict", tmp_path / "m.nc", tmp_path / "t.csv", "--sep", ";", "--keep", "kind"]
    status, expected, silent = run(*new, *marks)
    assert (status, silent) == (0, "")
    status, found, said = run(*new)
    assert (status, found) == (0, expected)
    assert "is read as the rows of the fit: --decimal , --thousands . --na-values -999" in said
    as_numbers = pd.DataFrame({"sales": np.where(np.arange(120) % 7, sales, -999), "kind": kind})
    as_numbers.to_csv(tmp_path / "plain.csv", index=False)
    new[2:5] = [tmp_path / "plain.csv"]
    as_numbers.to_csv(tmp_path / "same.csv", index=False, sep=";")
    same = ["predict", tmp_path / "m.nc", tmp_path / "same.csv", "--sep", ";", "--keep", "kind", "--decimal", "."]
    for command in (new, same):
        status, found, said = run(*command)
        assert (status, found) == (0, expected)
        assert "is read as the rows of the fit: --na-values -999" in said
    points = ["predict", tmp_path / "m.nc", tmp_path / "same.csv", "--sep", ";", "--keep", "kind"]
    status, _, err = run(*points, "--decimal", ",")
    assert (status, "; if the point marks decimals, pass --decimal ." in err) == (2, True)
    status, found, said = run(*new, "--na-values", "?")
    assert (status, found) == (0, expected)
    assert "is read as the rows of the fit: --na-values '?' --na-values -999" in said
    as_numbers.to_parquet(tmp_path / "plain.parquet")
    status, found, said = run("predict", tmp_path / "m.nc", tmp_path / "plain.parquet", "--keep", "kind")
    assert (status, found) == (0, expected)


@pytest.mark.parametrize(
    ("cell", "marks"),
    [("-999,00", ("--decimal", ",")), ("-9,999.00", ("--thousands", ","))],
    ids=["decimal", "thousands"],
)
def test_numbers_that_mark_gaps_are_recognised_however_they_are_written(run, tmp_path, cell, marks):
    gap = "-999" if marks[0] == "--decimal" else "-9999"
    lines = [f"{cell};a", "1;a", "2;a", "5;b", "6;b", f"{cell};b"]
    (tmp_path / "t.csv").write_text("\n".join(["x;kind", *lines]) + "\n")
    options = ["--target", "kind", "--sep", ";", "--model", "gaussian-nb", "--save", tmp_path / "m.npz"]
    assert run("fit", tmp_path / "t.csv", *options, *marks, "--na-values", gap)[0] == 0
    found = bp.load(tmp_path / "m.npz").estimates()["mean"].sel(estimate="mle")
    np.testing.assert_allclose(found.values[:, 0], [1.5, 5.5])


def test_files_of_tabs_are_separated_alike_with_and_without_the_option(run, tmp_path):
    rows = pd.DataFrame({"x": ["1.001,5", "1.102,5", "2.003,5", "2.104,5"], "kind": list("aabb")})
    for name, sep in (("t.tsv", "\t"), ("n.tsv", "\t"), ("n.csv", ",")):
        rows.to_csv(tmp_path / name, index=False, sep=sep)
    marks = ["--decimal", ",", "--thousands", "."]
    options = ["--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.npz"]
    assert run("fit", tmp_path / "t.tsv", *options, "--sep", "tab", *marks)[0] == 0
    for sep in ([], ["--sep", "tab"]):
        status, _, said = run("predict", tmp_path / "m.npz", tmp_path / "n.tsv", "--keep", "kind", *sep)
        assert (status, "--decimal , --thousands ." in said) == (0, True)
    status, _, said = run("predict", tmp_path / "m.npz", tmp_path / "n.csv", "--keep", "kind")
    assert (status, "is read as" in said) == (2, False)


def test_commas_in_texts_of_parquet_are_to_be_converted(run, saved, tmp_path):
    new = ROWS.drop(columns="kind").astype({"size": str})
    new.loc[3, "size"] = "0,22"
    new.to_parquet(tmp_path / "new.parquet")
    _, _, err = run("predict", saved, tmp_path / "new.parquet")
    assert "convert the column to numbers" in err
    assert "--decimal" not in err


def test_numbers_written_as_text_in_parquet(run, saved, tmp_path):
    new = pa.Table.from_pandas(ROWS.drop(columns="kind").astype({"code": str}))
    pq.write_table(new, tmp_path / "new.parquet")
    _, _, err = run("predict", saved, tmp_path / "new.parquet")
    assert re.search("column 'code' holds the text '1' in row 0 .*convert the column to numbers", err)


def test_refused_rows_count_from_the_start_of_the_file(run, tmp_path):
    ROWS.to_csv(tmp_path / "train.csv", index=False)
    run("fit", tmp_path / "train.csv", "--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.nc")
    new = ROWS.drop(columns="kind")
    new.loc[13, "size"] = np.inf
    new.to_csv(tmp_path / "new.csv", index=False)
    for rows in (5, 1000):
        assert "in row 13" in run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "--rows", rows)[2]


@pytest.mark.parametrize("mark", ["?", " ?"])
def test_spaces_around_a_mark_of_a_gap_are_no_part_of_it(run, tmp_path, mark):
    lines = [
        f"{i % 5}.5, {'?' if i % 4 == 0 else 'uvw'[i % 3]}, {'NA' if i == 7 else i}.0,{'ab'[i % 2]}"
        for i in range(40)
    ]
    (tmp_path / "t.csv").write_text("size,kind of work,score,y\n" + "\n".join(lines).replace("NA.0", "NA") + "\n")
    options = ["--target", "y", "--model", "mixed-nb", "--save", tmp_path / "m.npz"]
    status, _, err = run("fit", tmp_path / "t.csv", *options)
    assert status == 0
    assert "' ?' is taken for a level of 'kind of work'; if it means a missing value, pass --na-values ' ?'" in err
    assert run("fit", tmp_path / "t.csv", *options, "--na-values", mark)[::2] == (0, "")
    levels = bp.load(tmp_path / "m.npz").levels_of_columns()
    assert {name: len(found) for name, found in levels.items()} == {"kind of work": 3}
