r"""How sure the model is of its class probabilities.

Given parameters θ the class probabilities of a row are p(y | x, θ); the posterior of θ makes a distribution of them.
Its average, E[p(y | x, θ) | D], is what intervals and the entropy split refer to. It is *not* the predictive
p(y | x, D), which averages p(y, x | θ) first and normalises afterwards, because x itself informs θ; on rows that the
training data say little about, the two may even name different winners.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from bayesppl.answers.intervals import PROB, tails
from bayesppl.answers.predictions import probabilities
from bayesppl.answers.simulation import in_steps, narrowed, number_of_draws, portions
from bayesppl.data.arguments import generator, whole
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import normalise, tempered, warn_of_impossible_rows
from bayesppl.model.posterior import CHUNK_CELLS, Posterior

if TYPE_CHECKING:
    import xarray as xr


# Probabilities of a block of rows under all draws held at once: 8 megabytes.
_BLOCK_CELLS = 1 << 20


def predict_proba_interval(
    fitted: Fitted, X: Any, prob: float = PROB, draws: int = 1000, random_state: int | None = None
) -> xr.Dataset:
    """Posterior of p(y = k | x, θ): mean, standard deviation and equal-tailed credible interval.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    prob : float
        Probability of the interval.
    draws : int
        Number of exact posterior draws; a sampled posterior uses the draws it has.
    random_state : int, optional

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd``, ``lower`` and ``upper``, each (row, class). Rows are worked on in blocks, so that memory
        grows with rows times classes, not with the draws.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1])
    >>> interval = clf.predict_proba_interval([[0.5], [2.5]], random_state=0)
    >>> bool((interval["sd"][1] > interval["sd"][0]).all())
    True
    """
    bounds = tails(prob)
    parts = []
    for p in probability_draws(fitted, X, draws, random_state):
        mean = p.mean(0, keepdims=True)
        sd = p.std(0, mean=mean)
        quantiles = np.quantile(p, bounds, axis=0, overwrite_input=True)  # last, for it reorders the draws
        parts.append(np.stack([mean[0], sd, *quantiles]))
    mean, sd, lower, upper = np.concatenate(parts, axis=1)
    return _labelled(fitted, {"mean": mean, "sd": sd, "lower": lower, "upper": upper}).assign_attrs(prob=prob)


def uncertainty(fitted: Fitted, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
    r"""Split the uncertainty about the label of every row into what more data could and could not remove.

    With :math:`\bar p = E[p(y \mid x, \theta) \mid D]` and entropies in nats,

    .. math:: H[\bar p] = E\big[H[p(y \mid x, \theta)]\big] + I(y; \theta)

    (Depeweg et al. 2018; Houlsby et al. 2011).

    Parameters
    ----------
    fitted, X, draws, random_state
        As for :func:`predict_proba_interval`.

    Returns
    -------
    xarray.Dataset
        Over "row": ``total``, H of the averaged probabilities; ``aleatoric``, the average H, which stays however many
        rows are seen; ``epistemic``, their difference, the mutual information of label and parameters; and
        ``predictive_entropy``, H of ``predict_proba(X, rule="predictive")``, another average (see the module).

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1])
    >>> split = clf.uncertainty([[2.5]], random_state=0)
    >>> bool(abs(split["total"] - split["aleatoric"] - split["epistemic"]) < 1e-12)
    True
    """
    parts = []
    for p in probability_draws(fitted, X, draws, random_state):
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        parts.append(np.stack([total, aleatoric, total - aleatoric]))
    total, aleatoric, epistemic = np.concatenate(parts, axis=1)
    predictive = entr(probabilities(fitted, X, "predictive")).sum(-1)
    return _labelled(
        fitted,
        {"total": total, "aleatoric": aleatoric, "epistemic": epistemic, "predictive_entropy": predictive},
    )


def probability_draws(
    fitted: Fitted, X: Any, draws: int, random_state: int | np.random.Generator | None
) -> Iterator[Array]:
    """p(y = k | x, θ) under posterior draws, for one block of rows after the other: (n_draws, n_block, n_classes)."""
    posterior = fitted.posterior
    whole("draws", draws, 2)
    encoded = fitted.encode(X)
    return _blocks(posterior, encoded, draws, generator(random_state), fitted.temperature)


def _blocks(
    posterior: Posterior, X: Any, draws: int, rng: np.random.Generator, temperature: float
) -> Iterator[Array]:
    size, n_classes, n_rows = number_of_draws(posterior, draws), posterior.model.n_classes, X.shape[0]
    rows = max(1, _BLOCK_CELLS // (size * n_classes))
    for start in range(0, max(1, n_rows), rows):  # of no rows, one block without any
        about_block, block = narrowed(posterior, X[start : start + rows])
        step = max(1, CHUNK_CELLS // max(1, block.shape[0] * max(n_classes, block.shape[1])))
        # the draws of a row and class lie side by side, for quantiles and averages are taken over them
        out = np.empty((n_classes, block.shape[0], size))
        first = 0
        # the same draws for every block of rows
        for portion in portions(about_block, draws, deepcopy(rng)):
            for chunk in in_steps(portion, step):
                weights = chunk[CLASS_WEIGHTS][:, None]
                log_joint = tempered(posterior.model.log_joint(chunk).kernel(block), weights, temperature)
                proba, n_impossible = normalise(log_joint, weights, log=False)
                warn_of_impossible_rows(n_impossible, log_joint[..., 0].size)
                out[:, :, first : first + len(proba)] = proba.T
                first += len(proba)
        yield out.T


def _labelled(fitted: Fitted, columns: dict[str, Array]) -> xr.Dataset:
    import xarray as xr

    from bayesppl.answers.labelled import coord

    first = next(iter(columns.values()))
    coords: dict[str, Any] = {"row": np.arange(len(first))}
    if first.ndim == 2:
        coords["class"] = coord(fitted.classes.tolist())
    return xr.Dataset({name: (tuple(coords), values) for name, values in columns.items()}, coords=coords)
