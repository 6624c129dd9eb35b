"""The weights of a calibration as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesppl.analysis.labelled import coord
from bayesppl.model.fitted import Fitted

if TYPE_CHECKING:
    import xarray as xr


def column_weights(fitted: Fitted) -> xr.Dataset:
    """How far every column is trusted where labels are predicted, under ``calibration="weights"``.

    Returns
    -------
    xarray.Dataset
        Over "column" (the name of the block, where several columns are one): ``weight``, w; ``log_sd``, the standard error of
        log w; ``lower`` and ``upper``, w less and plus two of them.

    Raises
    ------
    ValueError
        If the fit has no weights.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> clf = bp.GaussianNB(calibration="weights").fit(*load("iris"))
    >>> clf.column_weights()["weight"].idxmax().item()
    'petal length (cm)'
    """
    import xarray as xr

    found = None if fitted.calibration is None else fitted.calibration.column_weights
    if found is None:
        raise ValueError("this fit has no weights of its columns: fit with calibration='weights'")
    lower, upper = found.intervals
    values = {"weight": found.weights, "log_sd": found.log_sd, "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: ("column", value) for name, value in values.items()}, coords={"column": coord(list(found.names))}
    )
