"""Fits and models of PyMC: a fit as a ``pm.Model``, and questions about a fit of a user's own model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesppl.analysis.datatree import to_datatree
from bayesppl.inference.pymc.build import Likelihood, encode_unweighted
from bayesppl.inference.pymc.build import to_pymc as build
from bayesppl.model.fitted import Fitted
from bayesppl.model.training_rows import training_rows

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesppl.inference.pymc.reading.fitted import ReadModel

#: Groups of draws under the user's names.
_USER_GROUPS = {"posterior", "sample_stats"}


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
    rows = training_rows(fitted) if likelihood == "rows" else None
    return build(
        posterior.model,
        posterior.prior,
        posterior.statistics,
        encode_unweighted(fitted.model, rows),
        likelihood,
    )


def recognition(fitted: ReadModel) -> pd.DataFrame:
    """What every part of the model is, as a table: family, prior, how it was solved, and why.

    ``solution`` is "exact" (closed form), "collapsed" (closed form given other variables, which are sampled),
    "compressed" (sampled, with a few rows that stand for all), "by rows" (sampled on every row), or "unused"
    (nothing in it depends on the label).

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    pandas.DataFrame
        With a row for every part that is independent of the others given the labels.
    """
    from bayesppl.inference.pymc.reading.tree import recognition_table

    return recognition_table(fitted.reading)


def user_datatree(
    fitted: ReadModel,
    draws: int = 1000,
    chains: int = 4,
    random_state: int | None = None,
    groups: Any = ("posterior", "sample_stats"),
    log_likelihood: Any = "joint",
) -> xr.DataTree:
    """Posterior draws under the names, dims and coords of the user's model.

    Parameters
    ----------
    fitted : Fitted
    draws, chains : int
        Number of exact draws; parts that were sampled return the draws they have.
    random_state : int, optional
    groups : sequence of str, or "all"
        ``posterior`` and ``sample_stats``. Where other groups are asked for too, all name parameters as this
        package does.
    log_likelihood : {"joint", "y", "x"} or sequence of them
        As for the estimators of this package.
    """
    from bayesppl.inference.pymc.reading.tree import user_tree

    wanted: Sequence[str] = (groups,) if isinstance(groups, str) else tuple(groups)
    if set(wanted) - _USER_GROUPS:
        return to_datatree(fitted, draws, chains, random_state, groups, log_likelihood)
    return user_tree(fitted.reading, fitted.posterior, draws, chains, random_state)


def user_model(fitted: ReadModel, likelihood: Likelihood = "rows") -> Any:
    """The user's model itself, which holds its rows.

    Parameters
    ----------
    fitted : Fitted
    likelihood : {"rows"}
    """
    if likelihood != "rows":
        raise ValueError(
            f"the model holds its rows, as it was written: likelihood must be 'rows', found {likelihood!r}"
        )
    return fitted.reading.model
