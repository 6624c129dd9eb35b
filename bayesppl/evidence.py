"""Log evidence of a fitted model, by its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesppl.posterior import Posterior

if TYPE_CHECKING:
    import xarray as xr


def log_evidence(posterior: Posterior) -> xr.Dataset:
    r"""log p(X, y), the probability of the data with all parameters integrated out.

    Every conjugate model has :math:`\log p(D) = \log Z_n - \log Z_0 + \sum_i \log h(x_i)` (Bernardo & Smith 1994,
    section 5.2.4); it is reported for each independent factor of the prior, and in total.

    Raises
    ------
    ImproperError
        If the prior is improper.
    """
    import xarray as xr

    from bayesppl.datatree import coord

    model = posterior.model
    parts = model.log_evidence(posterior.prior, posterior.prior.update(posterior.statistics), posterior.statistics)
    used = {dim for part in parts.values() for dim in part.dims}
    total = sum(float(np.sum(part.values)) for part in parts.values())
    return xr.Dataset(
        {**{name: (part.dims, part.values) for name, part in parts.items()}, "total": ((), total)},
        coords={dim: coord(labels) for dim, labels in model.coords.items() if dim in used},
    )
