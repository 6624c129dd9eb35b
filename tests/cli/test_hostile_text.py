"""Names and labels that a terminal, rich or a spreadsheet would take for commands are shown as what they are."""

from pathlib import Path

import duckdb
import pandas as pd
import pytest

from bayesppl.cli import files, main
from bayesppl.cli.terminal import cell, cells
from bayesppl.cli.text_columns import TextColumns
from bayesppl.data.names import visible

ESCAPE = "\x1b]0;owned\x07\x9b31m"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def table(path: Path, labels: list[str], column: str = "x") -> Path:
    pd.DataFrame({column: [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], "y": [labels[0]] * 3 + [labels[1]] * 3}).to_csv(
        path, index=False
    )
    return path


def test_control_characters_are_spelt_out() -> None:
    assert visible("a\tb\n\x1b[31m\x00\x9b\u202e") == r"a" + "\tb\n" + r"\x1b[31m\x00\x9b\u202e"
    assert visible("Ünicode ☃") == "Ünicode ☃"


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+cmd", "-x", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_become_text(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["-1", "+2.5e3", "-inf", "plain", "a=b", "", -3.0, None])
def test_numbers_and_plain_text_stay(value: object) -> None:
    assert cell(value) == value


@pytest.mark.parametrize(
    ("value", "mark"), [("-26,78", None), ("-1.234,5", "."), ("-1\u202f234,5", " "), ("+0,5", None)]
)
def test_numbers_of_a_dialect_stay(value: str, mark: str | None) -> None:
    assert cell(value, ",", mark) == value
    assert cell(f"{value}x", ",", mark) == f"'{value}x"


def test_names_of_columns_are_cells_too() -> None:
    frame = cells(pd.DataFrame({"=x": [1.0], "y": ["@z"]}))
    assert list(frame.columns) == ["'=x", "y"]
    assert frame["y"].tolist() == ["'@z"]


def test_no_command_of_a_label_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table(tmp_path / "x.csv", [ESCAPE, "b"], column=f"x{ESCAPE}")
    model = tmp_path / "model.nc"
    assert run("fit", data, "--target", "y", "--save", model) == 0
    assert run("summary", model) == 0
    assert run("compare", data, "--target", "y", "--draws", 16) == 0
    assert run("fit", data, "--target", ESCAPE, "--save", model) == 2
    printed = "".join(capsys.readouterr())
    assert "\x1b" not in printed
    assert "\x9b" not in printed
    assert r"\x1b]0;owned\x07" in printed


def test_formulas_do_not_pass_into_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = table(tmp_path / "x.csv", ["=HYPERLINK(1)", "b"]), tmp_path / "model.nc"
    out = tmp_path / "out.csv"
    assert run("fit", data, "--target", "y", "--save", model) == 0
    assert run("predict", model, data, "--drop", "y", "-o", out) == 0
    assert pd.read_csv(out)["predicted"].tolist() == ["'=HYPERLINK(1)"] * 3 + ["b"] * 3
    capsys.readouterr()
    assert run("predict", model, data, "--keep", "y") == 0
    assert "\n=" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["[red]x.csv", "x[/y].csv", "[bold"])
def test_markup_in_names_of_files_is_text(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / name.replace("/", "∕")
    folder.mkdir()
    data = table(folder / "x[1].csv", ["a", "b"])
    assert run("compare", data, "--target", "y", "--draws", 16) == 0
    assert folder.name in capsys.readouterr().out.replace("\n", "")


def test_a_header_without_end_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "x.csv"
    path.write_text("a" * (2 << 20))
    assert run("fit", path, "--target", "y", "--save", tmp_path / "m.nc") == 2
    assert "header line" in capsys.readouterr().err


@pytest.mark.parametrize("raised", [MemoryError(), duckdb.OutOfMemoryException("Out of Memory Error: failed")])
def test_want_of_memory_is_called_so(
    raised: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def survey(*_: object) -> None:
        raise raised

    path = table(tmp_path / "x.csv", ["a", "b"])
    monkeypatch.setattr(TextColumns, "survey", survey)
    assert run("fit", path, "--target", "y", "--save", tmp_path / "m.nc") == 2
    error = capsys.readouterr().err
    assert "not enough memory" in error
    assert "CSV" not in error
