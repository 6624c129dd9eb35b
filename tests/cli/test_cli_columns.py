"""Which columns a command uses, as what, and what it warns about or refuses before it starts."""

import datetime
import gzip
import io
import json
import os
import re
import subprocess
import sys
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from pyarrow import csv

import bayesppl as bp
from bayesppl.cli import file_rows, frame_columns, main, odd_cells
from bayesppl.cli.files import Dialect
from bayesppl.cli.terminal import is_number


@pytest.fixture
def penguins():
    rng = np.random.default_rng(0)
    kind = np.repeat(["adelie", "gentoo"], 20)
    return pd.DataFrame(
        {
            "bill": np.where(kind == "adelie", 38.0, 47.0) + rng.normal(size=40).round(2),
            "island": rng.choice(["a", "b", "c"], 40),
            "kind": kind,
        }
    )


def write(frame, path):
    frame.to_csv(path, index=False)
    return path


def test_what_every_column_was_taken_for_is_printed(run, penguins, tmp_path):
    penguins.loc[3, "bill"] = np.nan
    path = write(penguins, tmp_path / "p.csv")
    status, out, _ = run("compare", path, "--target", "kind", "--model", "mixed-nb", "--missing", "skip")
    assert status == 0
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith(("bill", "island"))}
    assert lines["bill"] == ["gaussian", str(penguins["bill"].nunique()), "1"]
    assert lines["island"] == ["categorical", "3", "0"]


def test_one_odd_cell_does_not_make_a_factor_in_silence(run, penguins, tmp_path):
    text = penguins.astype({"bill": object})
    text.loc[7, "bill"] = "n.a."
    path = write(text, tmp_path / "p.csv")
    status, _, err = run("compare", path, "--target", "kind", "--model", "gaussian-nb")
    assert status == 2
    assert "'n.a.'" in err
    assert "--na-values n.a." in err
    _, _, err = run("compare", path, "--target", "kind", "--model", "mixed-nb")
    assert "warning: column 'bill' is text, but only 1 of its 40 cells are no numbers" in err
    options = ("--target", "kind", "--model", "mixed-nb", "--na-values", "n.a.", "--missing", "skip")
    status, out, err = run("compare", path, *options)
    assert (status, err) == (0, "")
    assert "categorical" in out


@pytest.mark.parametrize("model", ["auto", "mixed-nb"])
def test_decimal_commas_beside_a_mark_are_remarked_once(run, tmp_path, model):
    rng = np.random.default_rng(0)
    prices = [f"{price:.2f}".replace(".", ",") for price in rng.gamma(2.0, 20.0, 60)]
    prices[3] = prices[9] = "k.A."
    table = pd.DataFrame({"price": prices, "size": [f"{x:.1f}".replace(".", ",") for x in rng.normal(size=60)]})
    path = tmp_path / "prices.csv"
    table.assign(kind=["u", "v"] * 30).to_csv(path, sep=";", index=False)
    options = ("--target", "kind", "--sep", ";", "--decimal", ",", "--model", model)
    status, _, err = run("compare", path, *options)
    assert status == 0
    (remark,) = [line for line in err.splitlines() if "'price' is text" in line]
    assert "only 2 of its 60 cells are no numbers: 'k.A.' (2)" in remark
    assert "different texts" not in err


def test_text_that_hardly_repeats_is_warned_about():
    X = pd.DataFrame(
        {"name": [f"bird {i}" for i in range(30)], "island": ["a", "b"] * 15, "size": np.arange(30.0)}
    )
    (remark,) = frame_columns.remarks(X)
    assert "column 'name' holds 30 different texts in 30 rows" in remark


@pytest.mark.parametrize("written", ["%Y-%m-%d", "%d/%m/%y", "%d.%m.%Y", "%Y-%m-%d %H:%M"])
def test_dates_that_are_text_are_warned_about(written):
    days = pd.date_range("2007-11-09", periods=5).strftime(written).to_list()
    rooms = ["1-2", "10.2.1", "3-4", "2-2", "1-1-b"]  # no dates, most of them
    (remark,) = frame_columns.remarks(pd.DataFrame({"egg": days * 8, "rooms": rooms * 8}))
    assert remark.startswith("column 'egg' holds dates, taken for 5 levels")
    assert "--drop egg" in remark


def test_marks_of_missing_cells_are_named_with_the_options_that_read_them():
    votes = pd.DataFrame(
        {"tax": ["y", "n", "?", "n"] * 5, "war": ["?", "y", "n", "?"] * 5, "state": list("abcd") * 5}
    )
    (remark,) = frame_columns.remarks(votes)
    assert remark.startswith("'?' is taken for a level of 'tax', 'war';")
    assert remark.endswith("--na-values '?'")
    ages = pd.DataFrame({"age": ["31", "unknown", "n.a.", "27", "42", "unknown", "33", "35"]})
    (remark,) = frame_columns.remarks(ages)
    assert "3 of its 8 cells are no numbers: 'unknown' (2), 'n.a.' (1)" in remark
    assert remark.endswith("--na-values unknown --na-values n.a.")
    prices = pd.DataFrame({"price": ["1,200.50", "80", "75.5", "900"]})
    (remark,) = frame_columns.remarks(prices)
    assert remark.endswith("if commas part the thousands, pass --thousands ,")
    (remark,) = frame_columns.remarks(pd.DataFrame({"change": ["1.5", "\u22120.5", "0.75", "2.25"]}))
    assert remark.endswith("write their minus signs as -")


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["1,5", "-0,25", ",75"], "if commas mark decimals, pass --decimal ,"),
        (["1,200", "12,500.50", "3,000,000"], "if commas part the thousands, pass --thousands ,"),
        (["8,62,561.56", "12,500"], "if commas part the thousands, pass --thousands ,"),
        ([" 1,5", "0,5 "], "if commas mark decimals, pass --decimal ,"),
        (["8,626E+03", "1,5"], "if commas mark decimals, pass --decimal ,"),
        (["8\u202f625,62 €", "12,50 €"], "write them without €"),
        (
            ["8 625,62", "1\u202f000", "12,5"],
            "if commas mark decimals, pass --decimal , and the mark that parts the thousands as --thousands, any "
            "space as ' '",
        ),
        (["12.5%", "3 %", "-1%"], "write them without %"),
        (["$1,234.50", "$80", "-$5.1"], "write them without $"),
        (["599,28 €", "1.429,50 €"], "write them without €"),
        (["CHF 120.00", "CHF 5"], "write them without CHF"),
        (["164.1 kg", "80kg"], "write them without kg"),
        (["12 km/h", "7.5km/h"], "write them without km/h"),
        (["'4.2'", "'137'"], "write numbers without quotes, or in double quotes"),
        (["(187.87)", "(1,022.67)"], "write negative amounts with a minus sign, and not in brackets"),
        (["\u22121.5", "\u22120.5"], "write their minus signs as -"),
        (
            ["1\u00a0500", "2\u00a0300.5"],
            "if the mark parts the thousands, pass it as --thousands, any space as ' '",
        ),
        (
            ["204.091,91", "1.500,5", "12,25"],
            "pass --thousands . --decimal , if points part the thousands and commas mark decimals",
        ),
        (["1_500", "12_300"], "if the mark parts the thousands, pass it as --thousands, any space as ' '"),
    ],
)
def test_numbers_that_are_written_otherwise_throughout_are_recognised(cells, advice):
    (remark,) = frame_columns.remarks(pd.DataFrame({"price": cells * 20}))
    assert remark.startswith("column 'price' is text, but all its cells are numbers, such as ")
    assert remark.endswith(advice)
    (remark,) = frame_columns.remarks(pd.DataFrame({"price": [*cells, "k.A."] * 20}))
    assert remark.startswith("column 'price' is text, but most of its cells are numbers, such as ")
    assert (
        f"; {advice}. As to the others, 'k.A.' (20): if that means missing values, pass --na-values k.A." in remark
    )
    assert list(frame_columns.remarks(pd.DataFrame({"price": [*cells, "so", "and", "so", "on"] * 20}))) == []


def test_a_decimal_comma_beside_commas_that_part_thousands_is_named_alone():
    prices = [f"{i},{i:03},0{i % 10}0.5" for i in range(1, 40)]
    (remark,) = frame_columns.remarks(pd.DataFrame({"price": [*prices, "12,5"]}), Dialect(thousands=","))
    assert "only 1 of its 40 cells are no numbers: '12,5' (1); write all decimals with the same mark" in remark
    advice = odd_cells.remedy("12,5", Dialect(thousands=","), among_numbers=True)
    assert advice == "if commas mark decimals, pass --decimal ,"
    advice = odd_cells.remedy("1.394,47", Dialect(thousands=","), among_numbers=True)
    assert advice == "pass --thousands . --decimal , if points part the thousands and commas mark decimals"
    advice = odd_cells.remedy("1'47", Dialect(thousands="'"), among_numbers=True)
    assert advice == """its mark of thousands, "'", does not part groups of three digits: correct it"""


def test_a_mark_among_numbers_with_decimal_commas_is_recognised():
    prices = [f"{i},{i % 10}" for i in range(40)]
    (remark,) = frame_columns.remarks(pd.DataFrame({"price": [*prices, "k.A."]}), dialect=Dialect(decimal=","))
    assert "only 1 of its 41 cells are no numbers: 'k.A.' (1); " in remark
    assert remark.endswith("--na-values k.A.")


def test_advice_about_decimal_marks_can_be_followed():
    (remark,) = frame_columns.remarks(pd.DataFrame({"price": ["1.5", "0.25"] * 20 + ["1,5"]}))
    assert remark.endswith("'1,5' (1); write all decimals with the same mark")
    stored_as_text = pd.DataFrame({"price": ["41.218", "51.318"] * 20})
    (remark,) = frame_columns.remarks(stored_as_text)
    assert "the file declares them as text" in remark
    (remark,) = frame_columns.remarks(stored_as_text, dialect=Dialect(decimal=","))
    assert remark.endswith("all its cells are numbers; pass --thousands . if points part the thousands")


def test_thousands_that_are_read_as_decimals_are_pointed_out():
    rng = np.random.default_rng(0)
    sales = np.rint(rng.lognormal(7, 1, 60))
    read = np.where(sales < 1000, sales, sales / 1000)
    (remark,) = frame_columns.remarks(pd.DataFrame({"sales": [*read, None]}))
    assert "three decimals or none; if a mark parts their thousands, pass it as --thousands, and another" in remark
    usual = {
        "measurement": sales.round(-1) / 1000,
        "whole": sales,
        "halves": rng.integers(0, 9, 60) / 2,
        "rain": np.where(rng.random(60) < 0.5, 0, (rng.gamma(2, 3, 60) + 1).round(3)),
        "share": rng.choice([1.0, 2.0, 0.125, 0.375], 60),
    }
    assert list(frame_columns.remarks(pd.DataFrame(usual))) == []


def test_cells_with_figures_among_numbers_are_not_just_missing():
    for cells in (["$5", "0x10"], ["\uff11\uff12"]):
        (remark,) = frame_columns.remarks(pd.DataFrame({"price": [*cells, "2", "3", "4"] * 8}))
        assert "no numbers" in remark
        assert remark.endswith("; write those that are numbers as such")
        (remark,) = frame_columns.remarks(pd.DataFrame({"price": [*cells, "so", *"234", *"567"] * 8}))
        assert remark.endswith("numbers as such, and pass --na-values so for those that are missing")


def test_marks_of_missing_cells_that_look_like_numbers(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "1,u\n2,v\n-9.0,u\n" * 9)
    marks = [option for mark in ("inf", "nan", "1_0", "\uff11", "-9") for option in ("--na-values", mark)]
    saved = tmp_path / "t.npz"
    options = ("--target", "y", "--model", "gaussian-nb", "--missing", "skip")
    assert run("fit", tmp_path / "t.csv", *options, "--save", saved, *marks)[::2] == (0, "")
    assert bp.load(saved).estimates(["mean"])["mean"].sel({"class": "u"}).item() > 0


def test_a_column_without_a_cell_is_named(run, tmp_path):
    (tmp_path / "t.csv").write_text("x,y,\n" + "1,u,\n2,v,\n" * 10)
    found = run("fit", tmp_path / "t.csv", "--target", "y", "--save", tmp_path / "t.npz")[2]
    assert "column 'Unnamed: 2' is empty; leave it out with --drop 'Unnamed: 2'" in found


def test_files_and_targets_that_are_none_are_named(run, tmp_path):
    plain, folder, one = tmp_path / "plain.csv.gz", tmp_path / "folder.csv", tmp_path / "one  class.csv"
    plain.write_text("x,y\n1,u\n2,v\n")
    folder.mkdir()
    one.write_text("x,y\n1,u\n2,u\n")
    for path, message in (
        (plain, "plain.csv.gz' is not compressed as its name says, or it is truncated or damaged (Not a gzipped"),
        (folder, "folder.csv' holds no .parquet file"),
        (one, "the target column 'y' holds one class only, 'u'"),
        (tmp_path / "no  such.csv", "no  such.csv'"),
    ):
        code, _, found = run("fit", path, "--target", "y", "--save", tmp_path / "m.npz")
        assert code == 2
        assert message in found


def test_a_target_that_is_nearly_right_is_asked_about(run, penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    assert "(did you mean 'kind'?); its columns are" in run("compare", path, "--target", "Kind")[2]
    assert "did you mean" not in run("compare", path, "--target", "zzz")[2]


def test_fit_refuses_text_as_compare_does(run, penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    options = ("--target", "kind", "--model", "lda")
    refused = [run("compare", path, *options)[2], run("fit", path, *options, "--save", tmp_path / "m.nc")[2]]
    assert refused[0] == refused[1]
    assert "--drop COLUMN leaves a column out" in refused[0]


def test_numbers_can_be_levels(run, tmp_path):
    frame = pd.DataFrame({"zone": [1, 2, 1, 3, 3, 2, 3, 3], "kind": list("aaaabbbb")})
    path = write(frame, tmp_path / "z.csv")
    options = ("--target", "kind", "--model", "mixed-nb", "--categorical", "zone")
    status, out, _ = run("compare", path, *options)
    assert (status, "categorical" in out) == (0, True)
    model = tmp_path / "m.nc"
    assert run("fit", path, *options, "--save", model)[0] == 0
    status, out, _ = run("predict", model, path, "--drop", "kind")
    assert status == 0
    assert len(out.splitlines()) == 9


def test_columns_are_kept_or_dropped(run, penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    one = run("compare", path, "--target", "kind", "--keep", "bill")
    assert one[0] == 0
    fewer = ("--keep", "bill", "--keep", "island", "--drop", "island")
    assert run("compare", path, "--target", "kind", *fewer) == one
    _, _, err = run("compare", path, "--target", "kind", "--keep", "bill", "--drop", "bill")
    assert "--drop leaves out all columns of --only, so that none is used" in err
    _, _, err = run("compare", path, "--target", "kind", "--keep", "wing")
    assert "--only 'wing': there is no such column" in err


@pytest.mark.slow
def test_every_suffix_is_read(run, penguins, tmp_path):
    numbers = penguins.drop(columns="island")
    expected = None
    text = numbers.to_csv(index=False)
    for name, content in {
        "p.csv": text,
        "p.txt": text,
        "p.dat": text,
        "p.data": text,
        "p.tsv": text.replace(",", "\t"),
    }.items():
        (tmp_path / name).write_text(content)
    with gzip.open(tmp_path / "p.csv.gz", "wt") as file:
        file.write(text)
    numbers.to_parquet(tmp_path / "p.parquet")
    numbers.to_feather(tmp_path / "p.feather")
    for path in sorted(tmp_path.iterdir()):
        status, out, _ = run("compare", path, "--target", "kind", "--json", "--draws", 16)
        assert status == 0, path
        scores = json.loads(out)["scores"]
        assert expected is None or scores == expected, path
        expected = scores
    status, _, err = run("compare", write(numbers, tmp_path / "p.xls"), "--target", "kind")
    assert (status, ".tsv" in err) == (2, True)


def test_a_file_without_a_header_is_refused(run, tmp_path):
    path = tmp_path / "iris.data"
    path.write_text("5.1,3.5,1.4,0.2,setosa\n4.9,3.0,1.4,0.2,setosa\n")
    status, _, err = run("compare", path, "--target", "setosa")
    assert status == 2
    assert "seems to have no header line; add a first line that names its 5 columns" in err


def test_dates_are_refused_in_a_sentence(run, penguins, tmp_path):
    penguins["day"] = pd.Timestamp("2024-01-01")
    penguins.to_parquet(tmp_path / "p.parquet")
    for options in ((), ("--model", "mixed-nb")):
        status, _, err = run("compare", tmp_path / "p.parquet", "--target", "kind", *options)
        assert status == 2
        assert "column 'day' holds dates or times" in err
        assert "--drop 'day'" in err


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_durations_are_refused_as_dates_are(run, penguins, tmp_path, suffix):
    penguins["age"] = pd.to_timedelta(np.arange(len(penguins)) * 1e6, "s").where(np.arange(len(penguins)) > 2)
    path = tmp_path / f"p.{suffix}"
    getattr(penguins, f"to_{suffix}")(path)
    for command in (("compare",), ("fit", "--model", "mixed-nb", "--save", tmp_path / "m.npz")):
        status, _, err = run(*command, path, "--target", "kind")
        assert status == 2
        assert "column 'age' holds dates or times" in err
        assert run(*command, path, "--target", "kind", "--drop", "age")[0] == 0
    status, _, err = run("compare", path, "--target", "age")
    assert (status, "holds neither text nor numbers" in err) == (2, True)


@pytest.mark.parametrize(
    ("cells", "odd", "remedy"),
    [
        ("0.5 1.5", "True", "write all of it as in the fit"),
        ("0.5 1.5", "yes", "write it as the number 1 or 0"),
        ("True False", "yes", "write it as true or false"),
        ("True False", "5", "write all of it as in the fit"),
    ],
)
def test_the_odd_cell_is_named_with_a_remedy_that_helps(run, tmp_path, cells, odd, remedy):
    path, model = tmp_path / "t.csv", tmp_path / "m.npz"
    table = pd.DataFrame({"a": cells.split() * 10, "kind": list("uv") * 10})
    table.to_csv(path, index=False)
    assert run("fit", path, "--target", "kind", "--model", "mixed-nb", "--save", model)[0] == 0
    table.loc[3, "a"] = odd
    table.to_csv(path, index=False)
    status, _, err = run("predict", model, path, "--drop", "kind")
    assert (status, f"{odd!r} in row 3" in err, remedy in err) == (2, True, True)


def test_the_separator_that_is_given_counts_before_the_name(run, tmp_path):
    path, model = tmp_path / "t.tsv", tmp_path / "m.npz"
    path.write_text("a,kind\n" + "1.5,u\n2.5,v\n" * 5)
    command = ("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)
    status, _, err = run(*command)
    assert (status, "pass --sep ','" in err) == (2, True)
    assert run(*command, "--sep", ",")[0] == 0
    path.write_text(path.read_text().replace(",", "\t"))
    assert run(*command)[0] == 0


@pytest.mark.slow
def test_a_column_that_varies_among_rows_held_out_alone_is_left_out(run, penguins, tmp_path):
    path, page = tmp_path / "p.csv", tmp_path / "page.md"
    for row in range(len(penguins)):  # until it is held out
        penguins["odd"] = np.where(np.arange(len(penguins)) == row, 5.5, 0.0)
        penguins.to_csv(path, index=False)
        assert run("compare", path, "--target", "kind", "--report", page)[0] == 0
        lines = page.read_text().splitlines()
        if any("nothing to learn from 'odd'" in line for line in lines):
            break
    assert next(line for line in lines if line.startswith("| odd ")).split("|")[2].strip() != "number"


def test_draws_are_those_that_are_asked_for(run, penguins, tmp_path):
    path, folder = tmp_path / "p.csv", tmp_path / "out"
    penguins.to_csv(path, index=False)
    options = ("--target", "kind", "--only", "bill", "--model", "qda", "--draws", "400", "--out", folder)
    assert run("compare", path, *options, "--inference", "laplace")[0] == 0
    with xr.open_datatree(folder / "posterior.nc", engine="h5netcdf") as tree:
        sizes = tree["posterior"].sizes
        assert sizes["chain"] * sizes["draw"] == 400


def test_infinite_dates_do_no_harm_where_they_are_not_used(run, tmp_path):
    path, model, out = tmp_path / "t.parquet", tmp_path / "m.npz", tmp_path / "out.parquet"
    columns = (
        "i::double as a, if(i % 2 = 0, 'u', 'v') as kind, date '-infinity' as since, interval '1 month' as term"
    )
    duckdb.sql(f"copy (select {columns} from range(40) t(i)) to '{path}'")
    unused = ("--drop", "since")
    assert (
        run("fit", path, "--target", "kind", *unused, "--drop", "term", "--model", "qda", "--save", model)[0] == 0
    )
    assert run("predict", model, path, *unused, "--drop", "kind", "--keep", "term", "-o", out)[0] == 0
    assert set(pq.read_table(out)["term"].to_pylist()) == {"1 month"}


def test_numbers_of_many_digits_are_copied_without_loss(run, tmp_path):
    path, model, out = tmp_path / "t.parquet", tmp_path / "m.npz", tmp_path / "out.parquet"
    bill, kind = pa.array(np.arange(4.0)), list("uvuv")
    pq.write_table(pa.table({"bill": bill, "kind": kind}), path)
    assert run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)[0] == 0
    exact = [Decimal("12345678901234567.89"), Decimal("0.01"), None, Decimal("-1.50")]
    pq.write_table(pa.table({"bill": bill, "price": pa.array(exact, pa.decimal128(38, 2))}), path)
    assert run("predict", model, path, "--keep", "price", "-o", out)[0] == 0
    found = pq.read_table(out)["price"].to_pylist()
    assert [None if text is None else Decimal(text) for text in found] == exact


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_long_whole_numbers_of_new_rows_are_numbers_where_the_fit_has_them(run, tmp_path, suffix):
    path, model = tmp_path / f"t{suffix}", tmp_path / "m.npz"

    def write(cells, **columns):
        table = pa.table({"a": pa.array(map(Decimal, cells), pa.decimal128(38, 0)), **columns})
        (pq.write_table if suffix == ".parquet" else csv.write_csv)(table, path)

    write(range(40), kind=list("uv") * 20)
    assert run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)[0] == 0
    write([10**20, 5])
    status, out, _ = run("predict", model, path)
    expected = bp.load(model).predict_proba(pd.DataFrame({"a": [1e20, 5.0]}))
    found = pd.read_csv(io.StringIO(out))
    assert status == 0
    np.testing.assert_allclose(found[["p(u)", "p(v)"]], expected, rtol=1e-9)


@pytest.mark.parametrize("option", [("--sep", ";"), ("--na-values", "5.1"), ("--decimal", ",")])
def test_options_of_files_are_refused_beside_an_embedded_set(run, option):
    status, _, err = run("compare", "iris", *option)
    assert (status, f"{option[0]} is for files, and 'iris' is an embedded data set" in err) == (2, True)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_durations_of_other_libraries_are_no_whole_numbers(run, penguins, tmp_path, library):
    penguins["age"] = pd.to_timedelta(np.arange(len(penguins)) * 1e6, "s")
    table = pa.Table.from_pandas(penguins).replace_schema_metadata()
    if library == "polars":
        pl.from_arrow(table).write_parquet(tmp_path / "p.parquet")
    else:
        pq.write_table(table, tmp_path / "p.parquet")
    status, _, err = run("compare", tmp_path / "p.parquet", "--target", "kind")
    assert (status, "column 'age' holds dates or times" in err) == (2, True)


def test_numbers_in_one_file_and_text_in_another_are_levels(run, penguins, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    penguins["code"] = np.arange(len(penguins)) % 2
    penguins[::2].to_parquet(folder / "a.parquet")
    penguins[1::2].assign(code=["1", "n"] * 10).to_parquet(folder / "b.parquet")
    options = ("--target", "kind", "--model", "mixed-nb", "--save", tmp_path / "m.npz")
    assert run("fit", folder, *options)[0] == 0
    assert bp.load(tmp_path / "m.npz").levels_of_columns()["code"] == ("0", "1", "n")


def test_a_refusal_of_text_is_about_the_text(run, tmp_path):
    table = pd.DataFrame({"customer": np.arange(40) + 1000, "town": list("abcd") * 10, "y": list("uv") * 20})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "y", "--model", "gaussian-nb", "--save", tmp_path / "m.npz")
    status, _, err = run("fit", tmp_path / "t.csv", *options)
    assert status == 2
    assert "error: column 'town' holds the text 'a'" in " ".join(err.split())


def test_identifiers_of_their_own_type_are_text(run, tmp_path):
    path, model = tmp_path / "t.parquet", tmp_path / "m.npz"
    cell = "('00000000-0000-0000-0000-00000000000' || i % {})::uuid"
    rows = f"select {cell.format(2)} as kind, {cell.format(3)} as level from range(12) as t(i)"
    duckdb.sql(f"copy ({rows}) to '{path}'")
    assert run("fit", path, "--target", "kind", "--model", "mixed-nb", "--save", model)[0] == 0
    assert bp.load(model).levels_of_columns()["level"] == tuple(str(uuid.UUID(int=i)) for i in range(3))
    assert run("predict", model, path, "--drop", "kind")[0] == 0


@pytest.mark.parametrize("options", [(), ("--categorical", "due")])
@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(
            datetime.time(8, 30),
            marks=pytest.mark.skipif(duckdb.__version__ < "2", reason="DuckDB 1 reads no times"),
        ),
        pd.Timestamp("2024-01-01", tz="UTC"),
        [1.0],
    ],
)
def test_times_and_lists_are_refused_as_levels_too(run, penguins, tmp_path, cell, options):
    penguins.assign(due=[None] + [cell] * 39).to_parquet(tmp_path / "p.parquet")
    for command in (["compare"], ["fit", "--save", tmp_path / "m.npz"]):
        status, _, err = run(*command, tmp_path / "p.parquet", "--target", "kind", *options)
        assert (status, "column 'due' holds" in err, "--drop 'due'" in err) == (2, True, True)
        assert ("dates or times (08:30:00), which no model here describes" in err) == (
            cell == datetime.time(8, 30)
        )


def test_lists_and_targets_of_dates_are_refused_in_a_sentence(run, penguins, tmp_path):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(penguins)) % 2, "D")
    penguins.assign(parts=[[1.0, 2.0]] * len(penguins), day=days).to_parquet(tmp_path / "p.parquet")
    for command in (["compare"], ["fit", "--save", tmp_path / "m.npz"]):
        status, _, err = run(*command, tmp_path / "p.parquet", "--target", "kind", "--drop", "day")
        assert (status, "column 'parts' holds lists or records, such as array([1., 2.])" in err) == (2, True)
        status, _, err = run(*command, tmp_path / "p.parquet", "--target", "day", "--drop", "parts")
        assert (status, "the target column 'day'" in err, "dates, lists" in err) == (2, True, True)


def test_thousands(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("n;kind\n1'000;a\n1'100;a\n2'500;b\n2'600;b\n")
    assert run("compare", path, "--target", "kind", "--sep", ";", "--thousands", "'")[0] == 0


def test_thousands_parted_by_any_space(run, tmp_path):
    path = tmp_path / "t.csv"
    lines = "n;m;kind\n1 000,5; 1;a\n 1\u00a0100;2 ;a\n2\u202f500 ;3;b\n1 002\u202f600;  4;b\n"
    path.write_text(lines, encoding="utf-8")
    options = ["--sep", ";", "--decimal", ",", "--thousands", " "]
    saved = ["--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.npz"]
    assert run("fit", path, *options, *saved)[0] == 0
    found = bp.load(tmp_path / "m.npz").estimates()["mean"].sel(estimate="mle")
    np.testing.assert_allclose(found.values[:, 0], [(1000.5 + 1100) / 2, (2500 + 1002600) / 2])
    np.testing.assert_allclose(found.values[:, 1], [1.5, 3.5])


def test_a_mark_of_thousands_stands_before_three_digits(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('g,m,kind\n"6,4","1,192",a\n"5,35",2,b\n"6,1","12,300.5",a\n"5,1","3,12,300",b\n')
    options = ["--target", "kind", "--thousands", ",", "--model"]
    status, _, err = run("fit", path, *options, "gaussian-nb", "--save", tmp_path / "m.npz")
    assert status == 2
    assert "column 'g' is text, but all its cells are numbers" in err
    assert "if commas mark decimals, pass --decimal ," in err
    status = run("fit", path, *options, "gaussian-nb", "--drop", "g", "--save", tmp_path / "m.npz")[0]
    assert status == 0
    found = bp.load(tmp_path / "m.npz").estimates()["mean"].sel(estimate="mle")
    np.testing.assert_allclose(found.values[:, 0], [(1192 + 12300.5) / 2, (2 + 312300) / 2])


def test_marks_of_thousands_part_all_of_a_number_or_none(run, tmp_path):
    """192.168.1.1 is no number, and neither is 1.234.5."""
    path = tmp_path / "t.csv"
    lines = [f"192.168.1.1{i};1.2{i}{i},50;a\n192.168.11.{i};2.3{i}{i},10;b\n" for i in range(1, 7)]
    path.write_text("source;amount;kind\n" + "".join(lines))
    options = ["--sep", ";", "--decimal", ",", "--thousands", ".", "--target", "kind", "--model", "gaussian-nb"]
    status, _, err = run("fit", path, *options, "--save", tmp_path / "m.npz")
    assert (status, "column 'source' is text" in err or "'source' holds" in err) == (2, True), err
    assert run("fit", path, *options, "--drop", "source", "--save", tmp_path / "m.npz")[0] == 0
    for cell in ("192.168.1.1", "1.234.5", "1.234,5.6"):
        assert not is_number(cell, ",", ".")
    assert is_number("1.234.567,5e3", ",", ".")
    assert is_number("12,34,567.5", ".", ",")


def test_decimal_commas_beside_a_fit_whose_thousands_commas_part_have_advice_that_helps(run, tmp_path):
    fit, new = tmp_path / "us.csv", tmp_path / "eu.csv"
    fit.write_text('price,kind\n"1,394.47",a\n"1,216.06",a\n"2,469.42",b\n"2,950.10",b\n')
    new.write_text('price\n"1394,47"\n"2216,06"\n')
    model = tmp_path / "m.npz"
    options = ["--target", "kind", "--model", "gaussian-nb", "--thousands", ",", "--save", model]
    assert run("fit", fit, *options)[0] == 0
    status, _, err = run("predict", model, new)
    assert (status, "if commas mark decimals, pass --decimal ," in err) == (2, True)
    assert run("predict", model, new, "--decimal", ",")[0] == 0


def test_points_under_another_mark_of_decimals_have_advice(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x;kind\n1.021;a\n-0.004;b\n2.5;a\n1.1;b\n")
    options = ["--target", "kind", "--sep", ";", "--model", "gaussian-nb", "--save", tmp_path / "m.npz"]
    status, _, err = run("fit", path, *options, "--decimal", ",")
    assert status == 2
    assert "points mark no decimals under another --decimal: leave that out" in err
    assert run("fit", path, *options)[0] == 0


def test_a_missing_target_is_found_before_the_heavy_imports(penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    code = (
        "import sys\nfrom bayesppl.cli import main\ntry:\n    main(['compare', sys.argv[1]])\n"
        "except SystemExit as stop:\n    print(stop.code, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert done.stdout.strip() == "2 False"
    assert "needs --target COLUMN" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="whoever may write everywhere")
def test_places_that_cannot_be_written_are_refused_in_words(run, penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    _, _, err = run("fit", path, "--target", "kind", "--save", closed / "m.nc")
    assert "is not writable" in err


def test_a_place_in_no_directory_is_refused(run, penguins, tmp_path):
    path = write(penguins, tmp_path / "p.csv")
    _, _, err = run("fit", path, "--target", "kind", "--save", tmp_path / "none" / "m.nc")
    assert "there is no folder" in err


def test_no_line_is_longer_than_the_terminal(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + np.repeat([[0.0], [9.0]], 30, axis=0)
    names = [f"a very long name of a column, the {j}th of three of them" for j in range(3)]
    path = write(pd.DataFrame(X, columns=names).assign(kind=["x"] * 30 + ["y"] * 30), tmp_path / "long.csv")
    status, out, _ = run("compare", path, "--target", "kind", "--parameters", "--model", "lda")
    assert status == 0
    assert max(map(len, (line.rstrip() for line in out.splitlines()))) <= 80
    assert "e-" in out  # tiny differences are written with an exponent
    assert "0.00000" not in out


@pytest.mark.parametrize(
    "options",
    [("--prior", "jeffreys"), ("--tune",), pytest.param(("--inference", "laplace"), marks=pytest.mark.slow)],
)
def test_priors_and_inferences(run, options):
    status, out, _ = run("compare", "iris", "--draws", 400, *options)
    assert status == 0
    assert "predictive" in out


def test_calibrations_are_chosen_by_name(run):
    arguments = ("compare", "iris", "--model", "gaussian-nb", "--draws", 20, "--json", "--calibrate")
    by_name, by_default, weights = (
        json.loads(run(*arguments, *rest)[1]) for rest in (("temperature",), (), ("weights",))
    )
    assert by_name["scores"] == by_default["scores"] != weights["scores"]
    before_data = run("compare", "--calibrate", "iris", "--model", "gaussian-nb", "--draws", 20, "--json")
    assert json.loads(before_data[1])["scores"] == by_name["scores"]
    status, _, err = run("compare", "iris", "--model", "lda", "--calibrate", "weights")
    assert status != 0
    assert "--calibrate temperature" in err


def test_a_temperature_is_printed_where_one_was_learned(run):
    arguments = ("compare", "breast_cancer", "--model", "gaussian-nb", "--draws", 20)
    assert "calibrated by left-out" not in run(*arguments)[1]
    printed = re.search(r"rows: T = ([0-9.]+)", run(*arguments, "--calibrate", "temperature")[1])
    assert printed is not None
    assert float(printed[1]) > 1.5  # thirty columns that repeat each other


def test_priors_of_probabilities_are_numbers(run):
    arguments = ("compare", "digits_binary", "--model", "bernoulli-nb", "--draws", 16)
    a, b = (run(*arguments, "--prior", number, "--json")[1] for number in (0.5, 20))
    assert json.loads(a)["scores"] != json.loads(b)["scores"]
    assert "give a number" in run(*arguments, "--prior", "jeffreys")[2]


def test_an_infinite_number_is_no_warning_of_its_own():
    assert list(frame_columns.remarks(pd.DataFrame({"price": [1.5, np.inf, 2.0]}))) == []


def test_a_column_that_begins_late_in_a_file_is_not_called_empty(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 40)
    late = pd.DataFrame({"e": [np.nan] * 50 + [1.0, 2.0, 5.0, 6.0] * 5, "y": ["a", "a", "b", "b", "a"] * 14})
    late.assign(d=np.arange(70) % 7 / 2).to_csv(tmp_path / "late.csv", index=False)
    with pytest.raises(SystemExit):
        main(["fit", str(tmp_path / "late.csv"), "--target=y", "--model=mixed-nb", f"--save={tmp_path / 'm.npz'}"])
    out, err = capsys.readouterr()
    assert "fitted mixed-nb to 70 rows" in out
    assert "empty" not in err


def test_lines_that_are_no_rows_are_pointed_out(tmp_path, monkeypatch, capsys):
    def said(line):
        rows = ["1,u", "2,v", *[line] * (1 + line.startswith("a")), "3,u", "4,v"]
        (tmp_path / "joined.csv").write_text("\n".join(["a,y", *rows]))
        with pytest.raises(SystemExit):
            main(
                [
                    "fit",
                    str(tmp_path / "joined.csv"),
                    "--target=y",
                    "--model=tree-nb",
                    f"--save={tmp_path / 'm.npz'}",
                ]
            )
        return " ".join(capsys.readouterr().err.split())

    assert "class '[-]' has a single row; if that is a line of units, delete the line" in said("5,[-]")
    assert "class 'y' has the name of its column; if the file repeats its header" in said("a,y")
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 2)
    assert "class 'y' has the name of its column; if the file repeats its header" in said("a,y")


def test_dates_where_the_fit_held_text_are_refused_in_a_line(tmp_path, capsys):
    day = ["2024-05-01", "2024-05-02", "2024-05-01", "2024-05-02"] * 3
    table = pd.DataFrame({"day": day, "y": ["a", "b", "a", "b"] * 3})
    table.to_csv(tmp_path / "t.csv", index=False)
    table.assign(day=pd.to_datetime(table["day"])).to_parquet(tmp_path / "t.parquet")
    model = str(tmp_path / "m.npz")
    with pytest.raises(SystemExit):
        main(["fit", str(tmp_path / "t.csv"), "--target", "y", "--save", model])
    with pytest.raises(SystemExit) as stopped:
        main(["predict", model, str(tmp_path / "t.parquet"), "--out", str(tmp_path / "o.csv")])
    assert stopped.value.code == 2
    assert "column 'day' holds dates" in capsys.readouterr().err
