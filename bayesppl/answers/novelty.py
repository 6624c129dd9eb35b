"""Rows unlike anything the model has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp

from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import Posterior

if TYPE_CHECKING:
    import xarray as xr


# Parameters drawn to simulate rows from; more rows than this share them.
_MAX_THETAS = 500


def novelty(
    fitted: Fitted, X: Any, level: float = 0.01, draws: int = 2000, random_state: int | None = None
) -> xr.Dataset:
    r"""How surprising every row is to the model, whatever its class.

    A class is always found, also for a row that belongs to none. The score :math:`\log p(x \mid D)` sums the classes
    out; its posterior predictive p-value (Rubin 1984; Bayarri & Berger 2000) is the probability that a new
    row from the model is as improbable as this one, or more so.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
        A row with missing cells has fewer chances to surprise: its p-value is then too large rather than too small.
    level : float
        A row is called novel where its p-value is at most this; so is about this share of rows that are not.
    draws : int
        Rows simulated from the posterior predictive; the smallest possible p-value is 1 / (draws + 1).
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        Over "row": ``log_density``, ``p_value``, and ``is_novel``.

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

    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, found {level:g}")
    posterior = fitted.posterior
    observed = log_density(posterior, fitted.encode(X))
    simulated = np.sort(_simulated_log_density(posterior, draws, np.random.default_rng(random_state)))
    # ties are as improbable; a hair of room for the rounding of equal densities
    room = 1e-9 * np.maximum(1.0, np.abs(observed))
    below = np.searchsorted(simulated, np.where(np.isfinite(observed), observed + room, observed), side="right")
    p_value = (1 + below) / (1 + len(simulated))
    return xr.Dataset(
        {
            "log_density": ("row", observed),
            "p_value": ("row", p_value),
            "is_novel": ("row", p_value <= level),
        },
        coords={"row": np.arange(len(observed))},
        attrs={"level": level},
    )


def log_density(posterior: Posterior, X: Any) -> Array:
    """log p(x | D) of encoded rows, class and parameters summed out: (n_rows,)."""
    return np.asarray(logsumexp(posterior.log_joint_predictive(X), axis=1))


def _simulated_log_density(posterior: Posterior, draws: int, rng: np.random.Generator) -> Array:
    theta = posterior.draws(1, min(draws, _MAX_THETAS), rng)
    n_thetas, n_classes = theta[CLASS_WEIGHTS].shape[1:]
    values: list[Array] = []
    for rows in np.bincount(np.arange(draws) % n_thetas):
        s = len(values)
        one = {name: array[0, s] for name, array in theta.items()}
        codes = rng.choice(n_classes, size=rows, p=one[CLASS_WEIGHTS])
        values.append(log_density(posterior, posterior.model.family.simulate(one, codes, rng)))
    return np.concatenate(values)
