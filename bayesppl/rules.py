"""The four classification rules, and the only place where class probabilities are normalised.

``mle``, ``map`` and ``mean`` plug one estimate of the parameters into p(y, x | θ). ``predictive`` averages
p(y, x | θ) over the posterior of θ first and normalises afterwards; it is p(y | x, data). Averaging the *normalised*
p(y | x, θ) over draws is something else (x itself informs θ) and has a name of its own, ``posterior_mean``.
"""

from __future__ import annotations

import warnings
from typing import Literal, get_args

import numpy as np
from scipy.special import logsumexp

from bayesppl.arrays import Array
from bayesppl.errors import ImpossibleRowWarning

Rule = Literal["mle", "map", "mean", "predictive"]
RULES: tuple[Rule, ...] = get_args(Rule)
ESTIMATES: tuple[Rule, ...] = ("mle", "map", "mean")


def check_rule(rule: str) -> None:
    """Refuse a rule that does not exist."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(map(repr, RULES))}, found {rule!r}")


def log_probabilities(log_joint: Array, class_weights: Array) -> Array:
    """Normalise log p(y = k, x) over the classes.

    Parameters
    ----------
    log_joint : (..., n_classes)
    class_weights : (..., n_classes) or broadcastable
        Returned, with an :class:`~bayesppl.errors.ImpossibleRowWarning`, for rows whose density is zero under every
        class: such a row says nothing about its class.

    Returns
    -------
    (..., n_classes)
        log p(y = k | x).
    """
    total = logsumexp(log_joint, axis=-1, keepdims=True)
    impossible = np.isneginf(total)
    if not impossible.any():
        return np.asarray(log_joint - total)
    warnings.warn(
        f"{int(impossible.sum())} of {impossible.size} rows have probability zero under every class (an estimate of "
        "exactly zero, as rule='mle' gives for a value never seen in training); their class weights are returned. "
        "Use rule='predictive', which never assigns zero.",
        ImpossibleRowWarning,
        stacklevel=3,
    )
    with np.errstate(divide="ignore"):
        fallback = np.log(class_weights)
    return np.where(impossible, fallback, log_joint - np.where(impossible, 0.0, total))
