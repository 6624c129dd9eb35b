"""Integers beyond 2^53 beside missing cells are refused, not rounded; the target in a file to predict is named."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bayesppl.cli import batches
from bayesppl.cli.batches import Dialect

BIG = 2**53 + 1


def write(path: Path, cells: list[str]) -> Path:
    lines = [f"{cell},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["id,kind", *lines]) + "\n")
    return path


@pytest.mark.parametrize("cells", [["1", "", str(BIG)], [f"-{BIG}", "NA", "3"]])
def test_they_are_refused(cells: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", cells)
    with pytest.raises(ValueError, match=rf"column 'id' holds the integer -?{BIG} in row \d, beyond 2\^53"):
        batches.read_all(path, Dialect())
    with pytest.raises(ValueError, match=f"{BIG}"):
        list(batches.read(path, 3, Dialect()))


def test_thousands_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1", "", f"{BIG:,}".replace(",", "_")])
    with pytest.raises(ValueError, match=f"{BIG}"):
        batches.read_all(path, Dialect(thousands="_"))


@pytest.mark.parametrize(
    "cells", [["1", "", str(2**53)], ["1e300", "", "2"], ["0.5", "", f"{BIG}"], ["1", "", str(2**60)]]
)
def test_what_is_not_rounded_passes(cells: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", cells)
    whole = batches.read_all(path, Dialect())
    assert whole["id"].dropna().tolist() == [float(cell) for cell in cells if cell]
    pd.testing.assert_frame_equal(pd.concat(batches.read(path, 2, Dialect())), whole)


def test_predict_on_the_training_file_says_what_to_do_with_the_target(run: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [str(i % 5) for i in range(20)])
    model = tmp_path / "m.nc"
    assert run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)[0] == 0
    status, _, err = run("predict", model, path)
    assert status != 0
    for part in ("was not fitted to 'kind'", "--drop kind", "--keep kind", "its features are 'id'"):
        assert part in " ".join(err.split())
    assert run("predict", model, path, "--keep", "kind")[0] == 0
    assert run("predict", model, path, "--drop", "kind")[0] == 0
