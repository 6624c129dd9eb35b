"""Numbers of text files are read to the last digit, by every version of pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesppl.cli.files import Dialect
from bayesppl.cli.reader import DataFile


def hard_numbers() -> list[float]:
    """Numbers of 16 and 17 digits."""
    rng = np.random.default_rng(0)
    random = rng.normal(size=500) * 10.0 ** rng.integers(-200, 200, 500)
    return [*random.tolist(), 0.1 + 0.2, 1 / 3, 123456789.12345679]


@pytest.mark.parametrize("dialect", [Dialect(sep=","), Dialect(sep=";", decimal=",")])
def test_every_number_is_the_nearest_of_its_text(dialect: Dialect, tmp_path: Path) -> None:
    numbers = hard_numbers()
    lines = [f"{number!r}".replace(".", dialect.decimal) + f"{dialect.sep}u" for number in numbers]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"x{dialect.sep}kind", *lines]) + "\n")
    file = DataFile(path, dialect)
    np.testing.assert_array_equal(file.read_all()["x"], numbers)
    np.testing.assert_array_equal(pd.concat(frame for frame, _ in file.read(100))["x"], numbers)
