r"""The uncertainty of class probabilities, and what more data could remove of it.

Given parameters θ the class probabilities of a row are p(y | x, θ); the posterior of θ makes a distribution of
them. Its average, E[p(y | x, θ) | D], is what intervals and the entropy split refer to. It is *not* the predictive
p(y | x, D), which averages p(y, x | θ) first and normalises afterwards, because x itself informs θ; on rows that
the training data hold little information about, the two may even name different winners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from bayesppl.analysis.draws import log_joint_of_blocks, number_of_draws
from bayesppl.analysis.parameter_tables import PROB, coord, row_names, tails
from bayesppl.analysis.predictions import probabilities
from bayesppl.data.arguments import generator, whole
from bayesppl.data.leaves import Leaves
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array, logarithm
from bayesppl.kernels.ranges import in_order, row_ranges
from bayesppl.model.declaration import ClassWeights, class_weights_in_use
from bayesppl.model.fitted import Fitted
from bayesppl.model.member import Guest, Member
from bayesppl.model.normalisation import (
    exchange_weights,
    normalise,
    sharpened,
    tempered,
    warn_of_impossible_rows,
)
from bayesppl.model.posterior import CHUNK_CELLS
from bayesppl.model.stack import Stack

if TYPE_CHECKING:
    import xarray as xr

# Probabilities of a block of rows under all draws held at once: 8 megabytes.
_BLOCK_CELLS = 1 << 20


def predict_proba_interval(
    fitted: Fitted | Stack,
    X: Any,
    prob: float = PROB,
    draws: int = 1000,
    random_state: int | None = None,
    *,
    class_weights: ClassWeights | None = None,
) -> xr.Dataset:
    """Describe the posterior of p(y = k | x, θ): mean, standard deviation and equal-tailed credible interval.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    prob : float
        Probability of the interval.
    draws : int
        Number of exact posterior draws; a sampled posterior uses the draws it has.
    random_state : int, optional
    class_weights : optional
        As in :meth:`predict_proba`, in the place of those of every draw.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd``, ``lower``, ``upper`` and ``median``, each (row, class). Rows of a pandas data frame have
        the names of its index. They are worked on in blocks, so that memory grows with rows times classes, not
        with the draws.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1])
    >>> interval = clf.predict_proba_interval([[0.5], [2.5]], random_state=0)
    >>> bool((interval["sd"][1] > interval["sd"][0]).all())
    True
    """
    whole("draws", draws, 2)
    describe = partial(_quantiles, prob=prob)
    found = np.concatenate(
        list(probability_draws(fitted, X, draws, random_state, describe, class_weights)), axis=1
    )
    names = "mean", "sd", "lower", "upper", "median"
    return _labelled(dict(zip(names, found, strict=True)), X, fitted.classes).assign_attrs(prob=prob)


def uncertainty(fitted: Fitted | Stack, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
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
        Over "row": ``total``, H of the averaged probabilities; ``aleatoric``, the average H, which stays however
        many rows are seen; ``epistemic``, their difference, the mutual information of label and parameters; and
        ``predictive_entropy``, H of ``predict_proba(X, rule="predictive")``, another average (see the module).

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], [0, 0, 1, 1])
    >>> split = clf.uncertainty([[2.5]], random_state=0)
    >>> bool(abs(split["total"] - split["aleatoric"] - split["epistemic"]) < 1e-12)
    True
    """
    whole("draws", draws, 2)
    found = np.concatenate(list(probability_draws(fitted, X, draws, random_state, _entropies)), axis=1)
    split = dict(zip(("total", "aleatoric", "epistemic"), found, strict=True))
    proba = np.exp(fitted.log_proba(X)) if isinstance(fitted, Stack) else probabilities(fitted, X, "predictive")
    return _labelled({**split, "predictive_entropy": entr(proba).sum(-1)}, X)


def probability_draws[T](
    fitted: Fitted | Stack,
    X: Any,
    draws: int,
    random_state: int | np.random.Generator | None,
    finish: Callable[[Array], T],
    class_weights: ClassWeights | None = None,
) -> Iterator[T]:
    """Apply ``finish`` to class probabilities under draws, (n_draws, n_block, n_classes), in blocks of rows.

    Of a model they are p(y = k | x, θ) under posterior draws of θ, and draws of the powers of its calibration by
    their standard errors: what leave-one-out learned of all rows is known no better. Blocks are shared among the
    threads of the context; see :func:`bayesppl.kernels.ranges.in_order`.

    Of a stack they are p(y = k | x) under draws of members, of temperatures and parameters; a member is drawn by
    its weight. What is not known is which member to believe. An average over members, whose parameters are drawn
    one by one, would let their errors cancel, though all of them come from the same rows. A guest has no
    posterior: its probabilities count as they are, in proportion to its weight. So do those of leaves, but for the
    error of their temperature: a hundred trees count the same rows, and shares drawn tree by tree would be those
    of a hundred samples.
    """
    rng, n_classes = generator(random_state), len(fitted.classes)
    if isinstance(fitted, Stack):
        stack, table = fitted, fitted.align(X)
        drawn = draw_members(stack, draws, rng)
        views = [_view(member, stack.temperature, factors, rng) for member, factors in drawn]

        def of_members(rows: slice) -> T:
            part = table.take(rows)
            proba = np.concatenate([view(part) for view in views])
            return finish(proba if class_weights is None else np.exp(stack.under(class_weights, logarithm(proba))))

        return map(of_members, _blocks(len(table), draws, n_classes))
    encoded, size = fitted.encode(X), number_of_draws(fitted.posterior, draws)
    log_joints = log_joint_of_blocks(fitted, size, rng, CHUNK_CELLS)
    new = class_weights_in_use(class_weights, fitted.learned.class_count, fitted.model.classes)

    def of_parameters(rows: slice) -> T:
        return finish(_probabilities(log_joints(encoded[rows]), 1.0, size, new))

    return in_order(of_parameters, _blocks(encoded.shape[0], size, n_classes), None)


def _view(
    member: Member | Guest, temperature: float, factors: Array, rng: np.random.Generator
) -> Callable[[Table], Array]:
    """Return class probabilities by draws of a member, (n_draws, n_rows, n_classes), as a function of rows.

    Draws of parameters hold those of the temperature of the member; elsewhere it has the ``factors``.
    """
    if isinstance(member, Guest) or isinstance(member.recoding, Leaves):
        return lambda rows: np.exp(sharpened(member.log_proba(rows), member.class_weights, temperature * factors))
    log_joints = log_joint_of_blocks(member.fitted, len(factors), rng, CHUNK_CELLS)
    return lambda rows: _probabilities(log_joints(member.encode(rows)), temperature, len(factors))


def draw_members(stack: Stack, draws: int, rng: np.random.Generator) -> list[tuple[Member | Guest, Array]]:
    """Draw members of a stack by their weights, each with factors of its temperature: (n_times, 1, 1)."""
    counts = rng.multinomial(draws, stack.weights).tolist()
    return [
        (member, np.exp(_log_sd(member) * rng.standard_normal((count, 1, 1))))
        for member, count in zip(stack.members, counts, strict=True)
        if count
    ]


def _log_sd(member: Member | Guest) -> float:
    """Return the standard error of the log of the temperature; a guest has none."""
    calibration = None if isinstance(member, Guest) else member.fitted.calibration
    return 0.0 if calibration is None else calibration.overall_log_sd


def _blocks(n_rows: int, n_draws: int, n_classes: int) -> list[slice]:
    """Divide rows into blocks whose probabilities under all draws can be held; no rows are one block."""
    return row_ranges(n_rows, n_draws * n_classes, _BLOCK_CELLS) or [slice(0, 0)]


def _probabilities(
    log_joints: Iterable[tuple[Array, Array]], temperature: float, draws: int, new_weights: Array | None = None
) -> Array:
    """Compute class probabilities under draws of the parameters: (n_draws, n_rows, n_classes).

    Parameters
    ----------
    log_joints : iterable
        See :func:`bayesppl.analysis.draws.log_joint_under_draws`.
    temperature : float
        Beside that of the calibration.
    draws : int
        Their number.
    new_weights : (n_classes,), optional
        Class weights in the place of those of the draws.
    """
    first, out = 0, np.empty(())
    for log_joint, weights in log_joints:
        some = slice(first, first + len(log_joint))
        joint = tempered(log_joint, weights, temperature)
        if new_weights is not None:
            joint, weights = exchange_weights(joint, weights, new_weights), new_weights
        proba, n_impossible = normalise(joint, weights, log=False)
        warn_of_impossible_rows(n_impossible, log_joint[..., 0].size, "rows given a draw of the parameters")
        if not first:
            # the draws of a row and class lie side by side, for quantiles and averages are taken over them
            out = np.empty((*proba.shape[:0:-1], draws))
        out[:, :, some] = proba.T
        first = some.stop
    return out.T


def _quantiles(p: Array, prob: float) -> Array:
    """Compute mean, standard deviation, both bounds of an equal-tailed interval and the median of draws.

    From (n_draws, n_block, n_classes), whose draws are put into another order, to (5, n_block, n_classes).
    """
    mean = p.mean(0, keepdims=True)
    sd = p.std(0, mean=mean)
    p.sort(axis=0)  # last; numpy sorts faster than it finds several quantiles
    return np.stack([mean[0], sd, *(_quantile_of_sorted(p, q) for q in (*tails(prob), 0.5))])


def _quantile_of_sorted(draws: Array, prob: float) -> Array:
    """Interpolate linearly between two of the sorted draws along the first axis, as ``numpy.quantile`` does."""
    place = prob * (len(draws) - 1)
    low = draws[int(place)]
    return np.asarray(low + (place - int(place)) * (draws[ceil(place)] - low))


def _entropies(p: Array) -> Array:
    """Compute the entropy of averaged probabilities, the average entropy, and their difference: (3, n_block)."""
    total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
    return np.stack([total, aleatoric, total - aleatoric])


def _labelled(columns: dict[str, Array], X: Any, classes: Array | None = None) -> xr.Dataset:
    """Label arrays with rows and, where ``classes`` are given, classes."""
    import xarray as xr

    coords: dict[str, Any] = {"row": row_names(X, len(next(iter(columns.values()))))}
    if classes is not None:
        coords["class"] = coord(classes.tolist())
    return xr.Dataset({name: (tuple(coords), values) for name, values in columns.items()}, coords=coords)
