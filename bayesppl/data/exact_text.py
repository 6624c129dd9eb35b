"""Numbers of text files, read to the last digit."""

from __future__ import annotations

from typing import Any

# From this version on pandas reads every number exactly, and deprecates the option that asks for it.
_EXACT_BY_DEFAULT = (3, 1)


def exact_numbers() -> dict[str, Any]:
    """Options of ``pandas.read_csv`` that give the nearest floating-point number of every text.

    By default older versions drop the digits beyond the fifteenth, which moves a number by up to 1e-12 of itself, and
    what is fitted to it with the version of pandas. (Beside a mark of thousands, pandas 3.1 still rounds the last digit.)
    """
    import pandas as pd

    major, minor, *_ = pd.__version__.split(".")
    return {} if (int(major), int(minor)) >= _EXACT_BY_DEFAULT else {"float_precision": "round_trip"}
