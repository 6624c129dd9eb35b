"""The four classification rules, and the only place where class probabilities are normalised.

``mle``, ``map`` and ``mean`` plug one estimate of the parameters into p(y, x | θ). ``predictive`` averages
p(y, x | θ) over the posterior of θ first and normalises afterwards; it is p(y | x, data). Averaging the *normalised*
p(y | x, θ) over draws is something else (x itself informs θ) and has a name of its own, ``posterior_mean``.
"""

from __future__ import annotations

import warnings
from typing import Literal, get_args

import numpy as np

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
    values, n_impossible = normalise(log_joint, class_weights, log=True)
    warn_of_impossible_rows(n_impossible, values[..., 0].size)
    return values


def normalise(log_joint: Array, class_weights: Array, *, log: bool) -> tuple[Array, int]:
    """(Log) probabilities, and the number of rows that are impossible under every class."""
    largest = log_joint.max(-1, keepdims=True)
    impossible = np.isneginf(largest)
    n_impossible = int(np.count_nonzero(impossible))
    out = log_joint - (np.where(impossible, 0.0, largest) if n_impossible else largest)
    weights = np.exp(out)
    total = weights.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = np.subtract(out, np.log(total), out=out) if log else np.divide(weights, total, out=weights)
        if n_impossible:
            out = np.where(impossible, np.log(class_weights) if log else class_weights, out)
    return out, n_impossible


def warn_of_impossible_rows(n_impossible: int, n_rows: int) -> None:
    """Say so if there were rows that are impossible under every class."""
    if n_impossible:
        warnings.warn(
            f"{n_impossible} of {n_rows} rows have probability zero under every class (an estimate of exactly zero, as "
            "rule='mle' gives for a value never seen in training); their class weights are returned. Use "
            "rule='predictive', which never assigns zero.",
            ImpossibleRowWarning,
            stacklevel=3,
        )
