"""Calibration: how far the densities of a fit are trusted where labels are predicted."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bayesppl.data.arguments import one_of
from bayesppl.families.family import Family
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.definite import root_of

Option = Literal["temperature", "weights"]
OPTIONS: tuple[Option, ...] = get_args(Option)


@dataclass(frozen=True)
class Calibration:
    r"""The temperature of a calibrated fit, learned from rows left out.

    .. math:: p_T(y = k \mid x, D) \propto \pi_k\, p(x \mid y = k, D)^{1/T}

    Attributes
    ----------
    temperature : float
        T. Above 1 the model is overconfident, as it is where columns depend on each other; below 1 it is
        underconfident. Far from 1 the model is wrong.
    log_sd : float
        Standard error of log T, by the sandwich formula (Godambe 1960; White 1982).
    log_score, log_score_uncalibrated : float
        Average exact leave-one-out log score of the labels, with T and without. With T it is optimistic by what
        one number can learn from all rows. Where rows without a label are learned from, labelled rows are left out
        in groups (or by weights of draws), and T counts one row more, of a wrong label, which the averages do not.
    """

    temperature: float
    log_sd: float
    log_score: float
    log_score_uncalibrated: float

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of T: two standard errors of log T below and above it."""
        factor = float(np.exp(2 * self.log_sd))
        return self.temperature / factor, self.temperature * factor

    @property
    def log_root(self) -> Array:
        """A root of the covariance of the errors of the logarithms of the powers, which :meth:`parts` yields."""
        return np.array([[self.log_sd]])

    @property
    def overall_log_sd(self) -> float:
        """The standard error of log T."""
        return self.log_sd

    @property
    def overall_temperature(self) -> float:
        """The temperature T itself."""
        return self.temperature

    def parts(self, X: Any, family: Family) -> Iterator[tuple[float, Any]]:
        """Yield powers, each with encoded rows that hold only the columns whose density is taken to it."""
        yield 1 / self.temperature, X

    def of_left_out(self, whole: Array, units: Callable[[], Iterable[Array]]) -> Iterator[tuple[float, Array]]:
        """Yield powers, each with the log joints taken to it: of whole rows, or of one unit of every row."""
        yield 1 / self.temperature, whole

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"T = {self.temperature:.3g} ({low:.3g} to {high:.3g}); log score of rows left out "
            f"{self.log_score_uncalibrated:.3g} without, {self.log_score:.3g} with it"
        )


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    r"""The weights of the columns or blocks of a calibrated fit, learned from rows left out.

    .. math:: p_w(y = k \mid x, D) \propto \pi_k \prod_b p(x_b \mid y = k, D)^{w_b}

    Attributes
    ----------
    names : tuple
        Of the units b: columns that are independent given the class, and blocks of columns that are not.
    weights : (n_units,)
        w. Below 1 where a unit repeats what others say, or its density is too sure; one that is no evidence of
        the class has the weight that the others suggest.
    covariance : (n_units, n_units)
        Of the errors of log w, by the sandwich formula (Godambe 1960; White 1982): of how the weights differ, and
        of their level, which is learned last.
    spread : float
        τ, the standard deviation of log w between units that was assumed: the one of the highest approximate
        evidence.
    log_score, log_score_uncalibrated : float
        Average exact leave-one-out log score of the labels, with the weights and without. With them each row has
        the weights that all other rows would give, to first order.
    n_rows : int
        Rows that the weights were learned from: all, or a random choice of them where they are many.
    """

    names: tuple[Hashable, ...]
    weights: Array
    covariance: Array
    spread: float
    log_score: float
    log_score_uncalibrated: float
    n_rows: int

    @property
    def log_sd(self) -> Array:
        """The standard errors of log w: (n_units,)."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def log_root(self) -> Array:
        """See :attr:`Calibration.log_root`."""
        return root_of(self.covariance)

    @property
    def overall_log_sd(self) -> float:
        """The standard error of the mean of log w."""
        return float(np.sqrt(self.covariance.mean()))

    @property
    def overall_temperature(self) -> float:
        """The reciprocal of the geometric mean of the weights."""
        return float(np.exp(-np.log(self.weights).mean()))

    @property
    def intervals(self) -> tuple[Array, Array]:
        """The bounds of w, (n_units,) each: two standard errors of log w below and above it."""
        factor = np.exp(2 * self.log_sd)
        return self.weights / factor, self.weights * factor

    def parts(self, X: Any, family: Family) -> Iterator[tuple[float, Any]]:
        """See :meth:`Calibration.parts`."""
        for unit, weight in enumerate(self.weights.tolist()):
            yield weight, family.bound.marginal_rows(X, [unit])

    def of_left_out(self, whole: Array, units: Callable[[], Iterable[Array]]) -> Iterator[tuple[float, Array]]:
        """See :meth:`Calibration.of_left_out`."""
        yield from zip(self.weights.tolist(), units(), strict=True)

    def __str__(self) -> str:
        order = np.argsort(self.weights)
        least, most = order[0], order[-1]
        return (
            f"leave-one-out log score {self.log_score_uncalibrated:.3g} without, {self.log_score:.3g} with "
            f"{len(self.names)} weights, {self.weights[least]:.2g} ({self.names[least]}) to "
            f"{self.weights[most]:.2g} ({self.names[most]})"
        )


#: Powers of densities, learned from rows left out.
Power = Calibration | ColumnWeights


def check_option(option: str | None) -> None:
    """Refuse a calibration that does not exist."""
    one_of("calibration", option, (None, *OPTIONS))
