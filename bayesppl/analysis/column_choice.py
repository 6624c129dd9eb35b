"""The densities that were tried for each column of a fit, and what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.families.choosing.column_choice import ColumnChoice

if TYPE_CHECKING:
    import xarray as xr


def column_choice(choice: ColumnChoice | None) -> xr.Dataset:
    """What ``columns="evidence"`` found.

    Parameters
    ----------
    choice : ColumnChoice or None
        None where the blocks were not chosen by evidence.

    Returns
    -------
    xarray.Dataset
        ``chosen`` and ``margin`` (column): the density of the highest log evidence, and how far it is ahead of the next one;
        ``rounding`` (column): the step of the values; ``log_evidence`` (column, density), NaN where a density was no candidate.

    Raises
    ------
    AttributeError
        If the blocks were not chosen by evidence.
    """
    import xarray as xr

    if choice is None:
        raise AttributeError("the blocks of this fit were not chosen by evidence; fit with columns='evidence'")
    ordered = np.sort(np.nan_to_num(choice.log_evidence, nan=-np.inf), axis=1)
    margin = ordered[:, -1] - ordered[:, -2] if ordered.shape[1] > 1 else np.full(len(ordered), np.inf)
    return xr.Dataset(
        {
            "chosen": ("column", np.asarray(choice.chosen, dtype=str)),
            "margin": ("column", margin),
            "rounding": ("column", choice.rounding),
            "log_evidence": (("column", "density"), choice.log_evidence),
        },
        {"column": [str(name) for name in choice.columns], "density": list(choice.densities)},
    )
