"""Detection of rows unlike those of training."""

from __future__ import annotations

from itertools import batched
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import logsumexp

from bayesppl.analysis.new_rows import simulate_lots
from bayesppl.analysis.parameter_tables import row_names
from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.documents import nested_documents
from bayesppl.data.arguments import generator, real, whole
from bayesppl.families.block_rows import BlockRows, stack_rows
from bayesppl.families.covariates import Covariates, of_rows
from bayesppl.families.filling import missing_cells
from bayesppl.families.multinomial import Multinomial
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Exact, Posterior

if TYPE_CHECKING:
    import xarray as xr


# Cells of simulated rows, and densities of them, held at once: 16 megabytes.
_CELLS = 1 << 21


def novelty(
    fitted: Fitted, X: Any, level: float = 0.01, draws: int = 2000, random_state: int | None = None
) -> xr.Dataset:
    r"""Measure how surprising every row is to the model, whatever its class.

    A class is always found, also for a row that belongs to none. The score :math:`\log p(x \mid D)` sums the
    classes out; its posterior predictive p-value (Rubin 1984; Bayarri & Berger 2000) is the probability that a new
    row from the model is as improbable as this one, or more so.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
        A row with missing cells is compared with simulated rows that lack the same cells.
    level : float
        A row is called novel where its p-value is at most this; so is about this share of rows that are not.
    draws : int
        Rows simulated from the posterior predictive, each with a posterior draw of the parameters of its own and
        with the covariates of the row in question (trials, exposure, total of counts). The smallest possible
        p-value is 1 / (draws + 1), and the standard error of a p-value p is √(p (1 − p) / draws). A sampled
        posterior uses its draws in turn: beyond their number the error falls no further. Where levels are
        learned, a cell of an unseen level, which no table can hold, is drawn again.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        Over "row": ``log_density``, ``p_value``, and ``is_novel``.

    Notes
    -----
    Where single values of a column have a probability and others a density (:class:`bayesppl.ZeroInflated`,
    ``pm.Censored``), the two are compared as numbers: the p-values depend on the unit of the column, other than
    class probabilities.

    Examples
    --------
    The maximum likelihood plug-in is certain about a row that is nowhere near the data:

    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [0.5], [4.0], [5.5], [4.5]], [0, 0, 0, 1, 1, 1])
    >>> clf.predict_proba([[40.0]], rule="mle").round(3).tolist()
    [[0.0, 1.0]]
    >>> clf.predict_proba([[40.0]], rule="predictive").round(1).tolist()
    [[0.2, 0.8]]
    >>> clf.novelty([[40.0], [0.7]], random_state=0)["is_novel"].values.tolist()
    [True, False]
    """
    import xarray as xr

    real("level", level, "lie between 0 and 1", lambda level: 0 < level < 1)
    whole("draws", draws, 1)
    fitted.require_columns("novelty()")
    posterior, rng = fitted.posterior, generator(random_state)
    X_encoded = fitted.encode(X)
    observed = logsumexp(posterior.log_joint_predictive()(X_encoded), axis=1)
    # ties are as improbable; a hair of room for the rounding of equal densities
    room = 1e-9 * np.maximum(1.0, np.abs(observed))
    bound = np.where(np.isfinite(observed), observed + room, observed)
    p_value = (1 + _number_below(posterior, X_encoded, bound, draws, rng)) / (1 + draws)
    return xr.Dataset(
        {
            "log_density": ("row", observed),
            "p_value": ("row", p_value),
            "is_novel": ("row", p_value <= level),
        },
        coords={"row": row_names(X, len(observed))},
        attrs={"level": level},
    )


def _number_below(posterior: Posterior, X: Any, bounds: Array, draws: int, rng: np.random.Generator) -> Array:
    """Count rows simulated with the covariates and gaps of each row that are at most as dense as its bound."""
    covariates, gaps = posterior.model.family.bound.covariates(X), _gaps(X)
    # rows with equal covariates and gaps share what is simulated
    gaps = np.packbits(gaps[:, gaps.any(0)], axis=1)
    alike = np.column_stack([np.zeros(len(bounds)), *covariates.values(), gaps])
    _, first, group = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    below = np.empty(len(bounds), dtype=np.intp)
    for chosen in row_ranges(len(first), draws, _CELLS):
        some = first[chosen]
        densities = _simulated_densities(posterior, draws, of_rows(covariates, some), X[some], rng)
        densities.sort(axis=0)
        for rows, of_row in zip(members[chosen], densities.T, strict=True):
            below[rows] = np.searchsorted(of_row, bounds[rows], side="right")
    return below


def _simulated_densities(
    posterior: Posterior, draws: int, covariates: Covariates, X: Any, rng: np.random.Generator
) -> Array:
    """Compute log densities of simulated rows, with these covariates and the gaps of X: (draws, n_rows)."""
    size, n_columns = X.shape
    belief = posterior.belief.parts["features"] if isinstance(posterior, Exact) else None
    is_multinomial = isinstance(posterior.model.family, Multinomial)
    if is_multinomial and isinstance(belief, Dirichlet) and covariates["total"].max() < size * n_columns:
        weights, totals = posterior.predictive_weights(), covariates["total"].astype(np.intp)
        documents = nested_documents(belief)
        codes = rng.choice(len(weights), size=draws, p=weights)
        return np.stack([logsumexp(documents(code, totals, rng) + np.log(weights), axis=1) for code in codes])
    log_joint = posterior.log_joint_predictive()
    simulated = simulate_lots(posterior, draws, size, covariates, rng)
    densities = [
        logsumexp(log_joint(stack_rows([_with_gaps(row, X) for row in rows])), axis=1)
        for rows in batched(simulated, max(1, _CELLS // (size * n_columns)))
    ]
    return np.concatenate(densities).reshape(draws, size)


def _gaps(X: Any) -> Array:
    """Find which cells are missing, of all blocks side by side; counts have no gaps."""
    if isinstance(X, BlockRows):
        return np.hstack([_gaps(part) for part in X.parts.values()])
    return missing_cells(X) if isinstance(X, np.ndarray) else np.zeros((X.shape[0], 0), dtype=bool)


def _with_gaps(rows: Any, X: Any) -> Any:
    """Leave out of encoded rows the cells that X, as many rows, does not have."""
    if isinstance(X, BlockRows):
        return BlockRows({block: _with_gaps(rows.parts[block], part) for block, part in X.parts.items()})
    return rows if issparse(X) or issparse(rows) else np.where(missing_cells(X), X, rows)
