"""The likelihood of weighted rows in PyMC, for families without sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesppl.conjugate.weighted_rows import WeightedRows
from bayesppl.kernels.arrays import Array


def observe_weighted(observe_rows: Callable[[Any, Array], None], rows: WeightedRows) -> None:
    """Add the log density of every row, times its weight, to the current ``pm.Model``.

    Parameters
    ----------
    observe_rows : callable
        Declares encoded rows, and the codes of their classes, as observed; the leading axis are the rows.
    """
    import pymc as pm

    outer = pm.modelcontext(None)
    coords = {name: labels for name, labels in outer.coords.items() if name != "row"}
    # a model of its own, so that the rows are not observed twice where some count more than once
    with pm.Model(coords={**coords, "row": range(len(rows.codes))}, model=None) as inner:
        observe_rows(rows.X, rows.codes)
    for variable in inner.observed_RVs:
        log_density = pm.logp(variable, inner.rvs_to_values[variable])
        by_row = log_density if log_density.ndim == 1 else log_density.sum(tuple(range(1, log_density.ndim)))
        weighted = by_row if (rows.weights == 1).all() else np.asarray(rows.weights) * by_row
        pm.Potential(variable.name, weighted.sum(), model=outer)
