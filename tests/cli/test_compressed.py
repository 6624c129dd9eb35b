"""Compressed text files that do not hold what was packed: refused by name, never misread."""

import bz2
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIT = ("--target", "kind", "--model", "gaussian-nb", "--save")
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture
def text() -> str:
    cells = np.random.default_rng(0).normal(size=(400, 2)).round(6)
    return "u,v,kind\n" + "".join(f"{u},{v},{'ab'[i % 2]}\n" for i, (u, v) in enumerate(cells))


@pytest.mark.parametrize("n_kept", [0.999, 0.5, 0.002])
@pytest.mark.parametrize("suffix", list(PACKERS))
def test_a_truncated_file_is_refused(run: Any, tmp_path: Path, text: str, suffix: str, n_kept: float) -> None:
    path, packed = tmp_path / f"t.csv.{suffix}", PACKERS[suffix](text.encode())
    path.write_bytes(packed[: int(n_kept * len(packed))])
    status, _, err = run("fit", path, *FIT, tmp_path / "m.npz")
    assert status == 2
    assert f"t.csv.{suffix}' is not compressed as its name says, or it is truncated or damaged" in err


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_a_digit_that_was_damaged_is_not_read(run: Any, tmp_path: Path, text: str, suffix: str) -> None:
    packed = gzip.compress(text.encode(), 0) if suffix == "gz" else PACKERS[suffix](text.encode())
    place = packed.index(b".", 200) + 1 if suffix == "gz" else len(packed) // 2
    (tmp_path / f"t.csv.{suffix}").write_bytes(packed[:place] + bytes([packed[place] ^ 1]) + packed[place + 1 :])
    status, _, err = run("fit", tmp_path / f"t.csv.{suffix}", *FIT, tmp_path / "m.npz")
    assert status == 2
    assert f"t.csv.{suffix}' is not compressed as its name says, or it is truncated or damaged" in err


@pytest.mark.parametrize("n_files", [0, 1, 2])
def test_an_archive_holds_one_file(run: Any, tmp_path: Path, text: str, n_files: int) -> None:
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        for name in ("__MACOSX/._0.csv", "folder/", *(f"folder/{i}.csv" for i in range(n_files))):
            archive.writestr(name, text if name.startswith("folder/") and name[-1] != "/" else b"")
    status, _, err = run("fit", tmp_path / "t.csv.zip", *FIT, tmp_path / "m.npz")
    assert status == (0 if n_files == 1 else 2)
    assert n_files == 1 or f"t.csv.zip' holds {n_files} files; pack one text file, or unpack them" in err
