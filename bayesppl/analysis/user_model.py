"""What a fit of a user's own ``pm.Model`` answers in the words of that model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesppl.analysis import datatree

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from bayesppl.inference.pymc.build import Likelihood
    from bayesppl.inference.pymc.reading.fitted import ReadModel

#: Groups of draws under the user's names.
_USER_GROUPS = {"posterior", "sample_stats"}


def recognition(fitted: ReadModel) -> pd.DataFrame:
    """What every part of the model is, as a table: family, prior, how it was solved, and why.

    ``solution`` is "exact" (closed form), "collapsed" (closed form given other variables, which are sampled), "compressed"
    (sampled, with a few rows that stand for all), "by rows" (sampled on every row), or "unused" (nothing in it depends on
    the label).

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


def to_datatree(
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
        ``posterior`` and ``sample_stats``. Where other groups are asked for too, all name parameters as this package does.
    log_likelihood : {"joint", "y", "x"} or sequence of them
        As for the estimators of this package.
    """
    from bayesppl.inference.pymc.reading.tree import user_tree

    wanted: Sequence[str] = (groups,) if isinstance(groups, str) else tuple(groups)
    if set(wanted) - _USER_GROUPS:
        return datatree.to_datatree(fitted, draws, chains, random_state, groups, log_likelihood)
    return user_tree(fitted.reading, fitted.posterior, draws, chains, random_state)


def to_pymc(fitted: ReadModel, likelihood: Likelihood = "rows") -> Any:
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
