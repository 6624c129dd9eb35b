"""Class probabilities under draws of parameters, summarised over the draws, one block of rows after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from bayesppl.analysis.intervals import PROB, tails
from bayesppl.analysis.labelled import coord
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    import xarray as xr

# Probabilities of a block of rows under all draws held at once: 8 megabytes.
_BLOCK_CELLS = 1 << 20


def rows_per_block(n_draws: int, n_classes: int) -> int:
    """How many rows a block has."""
    return max(1, _BLOCK_CELLS // (n_draws * n_classes))


def interval(blocks: Iterable[Array], classes: Array, prob: float = PROB) -> xr.Dataset:
    """Mean, standard deviation and equal-tailed interval of probabilities.

    Parameters
    ----------
    blocks : iterable of (n_draws, n_block, n_classes)
        Their draws are put into another order.
    classes : (n_classes,)
    prob : float
        Probability of the interval.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd``, ``lower`` and ``upper``, each (row, class).
    """
    bounds = tails(prob)
    parts = []
    for p in blocks:
        mean = p.mean(0, keepdims=True)
        sd = p.std(0, mean=mean)
        quantiles = np.quantile(p, bounds, axis=0, overwrite_input=True)  # last, for it reorders the draws
        parts.append(np.stack([mean[0], sd, *quantiles]))
    found = np.concatenate(parts, axis=1)
    return _labelled(dict(zip(("mean", "sd", "lower", "upper"), found, strict=True)), classes).assign_attrs(
        prob=prob
    )


def entropy_split(blocks: Iterable[Array], proba: Array) -> xr.Dataset:
    """Entropies of averaged probabilities and their parts; see :func:`bayesppl.analysis.uncertainty.uncertainty`.

    Parameters
    ----------
    blocks : iterable of (n_draws, n_block, n_classes)
    proba : (n_rows, n_classes)
        Predictive probabilities.

    Returns
    -------
    xarray.Dataset
        ``total``, ``aleatoric``, ``epistemic`` and ``predictive_entropy``, each over "row".
    """
    parts = []
    for p in blocks:
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        parts.append(np.stack([total, aleatoric, total - aleatoric]))
    found = np.concatenate(parts, axis=1)
    split = dict(zip(("total", "aleatoric", "epistemic"), found, strict=True))
    return _labelled({**split, "predictive_entropy": entr(proba).sum(-1)})


def _labelled(columns: dict[str, Array], classes: Array | None = None) -> xr.Dataset:
    """Arrays over rows and, where ``classes`` are given, classes."""
    import xarray as xr

    coords: dict[str, Any] = {"row": np.arange(len(next(iter(columns.values()))))}
    if classes is not None:
        coords["class"] = coord(classes.tolist())
    return xr.Dataset({name: (tuple(coords), values) for name, values in columns.items()}, coords=coords)
