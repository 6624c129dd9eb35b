r"""How sure the model is of its class probabilities.

Given parameters θ the class probabilities of a row are p(y | x, θ); the posterior of θ makes a distribution of them.
Its average, E[p(y | x, θ) | D], is what intervals and the entropy split refer to. It is *not* the predictive
p(y | x, D), which averages p(y, x | θ) first and normalises afterwards, because x itself informs θ; on rows that the
training data hold little information about, the two may even name different winners.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.intervals import PROB
from bayesppl.analysis.predictions import probabilities
from bayesppl.analysis.proba_draws import entropy_split, interval, rows_per_block
from bayesppl.analysis.simulation import in_steps, narrowed, number_of_draws, portions
from bayesppl.data.arguments import generator, whole
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import normalise, warn_of_impossible_rows
from bayesppl.model.posterior import CHUNK_CELLS

if TYPE_CHECKING:
    import xarray as xr


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
    return interval(probability_draws(fitted, X, draws, random_state), fitted.classes, prob)


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
    blocks = probability_draws(fitted, X, draws, random_state)
    return entropy_split(blocks, probabilities(fitted, X, "predictive"))


def probability_draws(
    fitted: Fitted, X: Any, draws: int, random_state: int | np.random.Generator | None
) -> Iterator[Array]:
    """p(y = k | x, θ) under posterior draws, for one block of rows after the other: (n_draws, n_block, n_classes)."""
    whole("draws", draws, 2)
    encoded = fitted.encode(X)
    return _blocks(fitted, encoded, draws, generator(random_state))


def _blocks(fitted: Fitted, X: Any, draws: int, rng: np.random.Generator) -> Iterator[Array]:
    posterior = fitted.posterior
    size, n_classes, n_rows = number_of_draws(posterior, draws), posterior.model.n_classes, X.shape[0]
    rows = rows_per_block(size, n_classes)
    for start in range(0, max(1, n_rows), rows):  # of no rows, one block without any
        about_block, block = narrowed(posterior, X[start : start + rows])
        step = max(1, CHUNK_CELLS // max(1, block.shape[0] * max(n_classes, block.shape[1])))
        # the draws of a row and class lie side by side, for quantiles and averages are taken over them
        out = np.empty((n_classes, block.shape[0], size))
        first = 0
        # the same draws for every block of rows
        for portion in portions(about_block, draws, deepcopy(rng)):
            for chunk in in_steps(portion, step):
                weights = chunk[CLASS_WEIGHTS]
                log_joint = fitted.calibrated(posterior.model.log_joint(chunk), weights).kernel(block)
                proba, n_impossible = normalise(log_joint, weights[:, None], log=False)
                warn_of_impossible_rows(n_impossible, log_joint[..., 0].size)
                out[:, :, first : first + len(proba)] = proba.T
                first += len(proba)
        yield out.T
