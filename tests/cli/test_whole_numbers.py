"""Integers beside missing cells stay integers, and beyond 2^53 are refused, not rounded; the target in a file to
predict is named."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import bayesppl as bp
from bayesppl.cli import file_rows
from bayesppl.cli.files import Dialect
from bayesppl.cli.options import Chosen
from bayesppl.cli.reader import DataFile

BIG = 2**53 + 1


def write(path: Path, cells: list[str]) -> Path:
    lines = [f"{cell},{'uv'[i % 2]}" for i, cell in enumerate(cells)]
    path.write_text("\n".join(["id,kind", *lines]) + "\n")
    return path


@pytest.mark.parametrize("cells", [["1", "", str(BIG)], [f"-{BIG}", "NA", "3"]])
@pytest.mark.parametrize("model", ["auto", "gaussian-nb", "mixed-nb"])
def test_they_are_refused(run: Any, model: str, cells: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", [*cells, "7", "5", "4"])
    options = ["--integers", "gaussian"] if model == "mixed-nb" else []
    for number in ("", "2"):  # with and without a gap
        path.write_text(path.read_text().replace("NA", number).replace("\n,", f"\n{number},"))
        status, _, err = run(
            "fit", path, "--target", "kind", "--model", model, *options, "--save", tmp_path / "m.npz"
        )
        assert status == 2
        place = cells.index(next(cell for cell in cells if len(cell) > 5))
        assert f"column 'id' holds the integer {cells[place]} in row {place}, beyond 2^53" in err
        assert "--drop COLUMN leaves a column out" in err


def test_thousands_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1", "", f"{BIG:,}".replace(",", "_")])
    assert file_rows.Source(path, "kind", Dialect(thousands="_"), Chosen()).rows().X["id"].tolist()[2] == BIG


@pytest.mark.parametrize(
    "cells", [["1", "", str(2**53)], ["1e300", "", "2"], ["0.5", "", f"{BIG}"], ["1", "", str(2**60)]]
)
def test_what_is_not_rounded_passes(cells: list[str], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", cells)
    file = DataFile(path, Dialect())
    whole = file.read_all()
    assert whole["id"].dropna().tolist() == [float(cell) for cell in cells if cell]
    pd.testing.assert_frame_equal(pd.concat(frame for frame, _ in file.read(2)), whole)


@pytest.mark.parametrize(
    ("cells", "is_whole"),
    [
        (["1", "", "3", "4"], True),
        (["1", "2", "", ""], True),
        (["-1", "NA", "+3", " 4"], True),
        (["1.0", "", "3", "4"], False),
        (["1", "", "3", "4.5"], False),
        (["1", "", "1e3", "4"], False),
        (["", "", "", ""], False),
    ],
)
def test_integers_beside_gaps_are_integers(cells: list[str], is_whole: bool, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", cells)
    file = DataFile(path, Dialect())
    for frame in [file.read_all(), *(frame for frame, _ in file.read(4))]:
        assert frame["id"].dtype.kind == ("i" if is_whole else "f")
    numbers = [float(cell) for cell in cells if cell.strip() not in ("", "NA")]
    for size in (1, 2, 3):
        read = pd.concat(frame for frame, _ in file.read(size))["id"]
        assert read.dropna().tolist() == numbers
        assert read.isna().tolist() == [cell in ("", "NA") for cell in cells]


@pytest.fixture(params=[1 << 15, 16])
def batch_rows(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rows, "BATCH_ROWS", request.param)


@pytest.mark.usefixtures("batch_rows")
def test_unsigned_integers_of_64_bits_keep_their_size(run: Any, tmp_path: Path) -> None:
    path, model, most = tmp_path / "t.parquet", tmp_path / "m.npz", 2**64 - 1
    cells = {"n": [most, None, *range(18)], "level": [most, *range(19)], "kind": [2**63, 2**63 + 1] * 10}
    pa.parquet.write_table(pa.table({name: pa.array(found, pa.uint64()) for name, found in cells.items()}), path)
    options = ["--target", "kind", "--model", "mixed-nb", "--categorical", "level", "--save", model]
    status, _, err = run("fit", path, *options, "--integers", "gaussian")
    assert (status, f"column 'n' holds the integer {most} in row 0, beyond 2^53" in err) == (2, True)
    assert run("fit", path, *options, "--drop", "n")[0] == 0
    clf = bp.load(model)
    assert clf.classes_.tolist() == [2**63, 2**63 + 1]
    assert clf.levels_of_columns()["level"] == (*range(19), most)
    assert run("predict", model, path, "--keep", "kind")[1].startswith(f"kind,predicted,p({2**63}),")


@pytest.mark.usefixtures("batch_rows")
@pytest.mark.parametrize(
    "integers", [["visits=poisson"], ["categorical"], pytest.param(["poisson"], marks=pytest.mark.slow)]
)
def test_counts_beside_gaps_are_fitted_as_counts_whatever_the_format(
    run: Any, integers: list[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    y = np.tile(["a", "b"], 40)
    visits = pd.array(rng.poisson(np.where(y == "a", 2, 6)), dtype="Int64")
    frame = pd.DataFrame({"visits": visits, "y": y})
    frame.loc[[3, 50], "visits"] = pd.NA
    frame.to_csv(tmp_path / "g.csv", index=False)
    frame.to_parquet(tmp_path / "g.parquet")
    pa.parquet.write_table(pa.table({"visits": pa.array(visits), "y": y}), tmp_path / "plain.parquet")
    models = []
    for name in ("g.csv", "g.parquet", "plain.parquet"):
        options = [
            "--model",
            "mixed-nb",
            "--save",
            tmp_path / "m.nc",
            *(w for o in integers for w in ("--integers", o)),
        ]
        status, _, err = run("fit", tmp_path / name, "--target", "y", *options)
        assert status == 0, err
        models.append(bp.load(tmp_path / "m.nc"))
        assert ("poisson" in models[-1].families_) == (integers != ["categorical"])
    expected = (
        bp.MixedNB(integers=integers[0].removeprefix("visits="))
        .fit(frame[["visits"]], y)
        .predict_proba(frame[["visits"]])
    )
    for model in models[:2]:
        np.testing.assert_allclose(model.predict_proba(frame[["visits"]]), expected, rtol=1e-9)
    assert run("predict", tmp_path / "m.nc", tmp_path / "g.csv", "--drop", "y")[0] == 0
    status, _, err = run(
        "fit", tmp_path / "g.csv", "--target", "y", "--model", "mixed-nb", "--save", tmp_path / "m.nc"
    )
    assert status != 0
    assert "--integers" in err


@pytest.mark.parametrize("threshold", ["mean", "2.5"])
def test_counts_beside_gaps_are_binarised(run: Any, threshold: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", ["1", "", "3", "4", "5", "0"] * 5)
    options = ["--model", "bernoulli-nb", "--binarize", threshold]
    assert run("compare", path, "--target", "kind", *options)[0] == 0


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


@pytest.mark.usefixtures("batch_rows")
def test_decimals_without_places_and_integers_of_two_kinds_are_not_rounded(run: Any, tmp_path: Path) -> None:
    """Databases write whole numbers as decimals; signed beside unsigned integers take 128 bits."""
    path, model, labels = tmp_path / "t.parquet", tmp_path / "m.npz", [2**60, 2**60 + 1]
    decimals = pa.array([Decimal(label) for label in labels * 10], pa.decimal128(38, 0))
    levels = pa.array([Decimal(10**25 + i % 3) for i in range(20)], pa.decimal128(38, 0))
    counts = pa.array([None, *map(Decimal, range(19))], pa.decimal128(9, 0))
    pa.parquet.write_table(pa.table({"kind": decimals, "level": levels, "n": counts}), path)
    assert (
        run("fit", path, "--target", "kind", "--model", "mixed-nb", "--integers", "poisson", "--save", model)[0]
        == 0
    )
    clf = bp.load(model)
    assert clf.classes_.tolist() == labels
    assert clf.levels_of_columns()["level"] == tuple(str(10**25 + i) for i in range(3))
    assert DataFile(path, Dialect()).read_all()["n"].tolist() == [pd.NA, *range(19)]
    folder = tmp_path / "folder"
    folder.mkdir()
    for kind in (pa.int64(), pa.uint64()):
        pa.parquet.write_table(pa.table({"id": pa.array(labels, kind)}), folder / f"{kind}.parquet")
    assert DataFile(folder, Dialect()).read_all()["id"].tolist() == labels * 2
