"""Log evidence of a fitted model, by its parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bayesppl.analysis.held_rows import rows_of
from bayesppl.kernels.arrays import leaves
from bayesppl.model.fitted import Fitted

if TYPE_CHECKING:
    import xarray as xr


def log_evidence(fitted: Fitted) -> xr.Dataset:
    r"""log p(X, y), the probability of the data with all parameters integrated out.

    Every conjugate model has :math:`\log p(D) = \log Z_n - \log Z_0 + \sum_i \log h(x_i)` (Bernardo & Smith
    1994); it is reported for each independent factor of the prior, and in total.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        One variable per part and ``total``, log p(X, y).

    Raises
    ------
    ImproperError
        If the prior is improper.
    """
    import xarray as xr

    from bayesppl.analysis.labelled import coord

    posterior = fitted.posterior
    model = posterior.model
    parts = model.log_evidence(posterior.prior, posterior.statistics)
    used = {dim for part in parts.values() for dim in part.dims}
    total = sum(float(np.sum(part.values)) for part in parts.values())
    return xr.Dataset(
        {**{name: (part.dims, part.values) for name, part in parts.items()}, "total": ((), total)},
        coords={dim: coord(labels) for dim, labels in model.coords.items() if dim in used},
    )


def prior_depends_on_data(fitted: Fitted) -> bool:
    """Whether the prior was tuned, or resolves to another one for every second row of the fit."""
    if fitted.posterior.model.factors:
        return True
    rows, posterior = rows_of(fitted), fitted.posterior
    half = replace(rows, given_weights=rows.weights * (np.arange(len(rows)) % 2 == 0))
    statistics = posterior.model.summarise(half)
    resolved = posterior.model.prior(statistics)
    pairs = zip(leaves(posterior.prior), leaves(resolved), strict=True)
    return not all(np.array_equal(before, after) for (_, before), (_, after) in pairs)
