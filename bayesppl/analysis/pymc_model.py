"""A fitted model as a ``pm.Model``."""

from __future__ import annotations

from typing import Any

from bayesppl.inference.pymc.build import Likelihood, encode_unweighted
from bayesppl.inference.pymc.build import to_pymc as build
from bayesppl.model.fitted import Fitted
from bayesppl.model.held_rows import held_rows


def to_pymc(fitted: Fitted, likelihood: Likelihood = "rows") -> Any:
    """The same model as a ``pm.Model`` with named dims, to inspect, extend and sample.

    Parameters
    ----------
    fitted : Fitted
    likelihood : {"rows", "statistics"}
        Declare every row as observed, or their sufficient statistics (fast for many rows, and all there is after
        weights, batches or a pickle).
    """
    posterior = fitted.posterior
    rows = held_rows(fitted) if likelihood == "rows" else None
    return build(
        posterior.model,
        posterior.prior,
        posterior.statistics,
        encode_unweighted(fitted.model, rows),
        likelihood,
    )
