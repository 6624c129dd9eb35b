"""How far the densities of a fit are trusted where labels are predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Option = Literal["temperature"]
OPTIONS: tuple[Option, ...] = get_args(Option)


@dataclass(frozen=True)
class Calibration:
    r"""The temperature of :math:`p_T(y = k \mid x, D) \propto \pi_k\, p(x \mid y = k, D)^{1/T}`, learned from rows left out.

    Attributes
    ----------
    temperature : float
        T. Above 1 the model is overconfident, as it is where columns depend on each other; below 1 it is
        underconfident. Far from 1 the model is wrong.
    log_sd : float
        Standard error of log T, by the sandwich formula (Godambe 1960; White 1982).
    log_score, log_score_uncalibrated : float
        Average exact leave-one-out log score of the labels, with T and without. With T it is optimistic by what one number
        can learn from all rows.
    """

    temperature: float
    log_sd: float
    log_score: float
    log_score_uncalibrated: float

    @property
    def interval(self) -> tuple[float, float]:
        """T less and plus two standard errors of log T."""
        factor = float(np.exp(2 * self.log_sd))
        return self.temperature / factor, self.temperature * factor

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"T = {self.temperature:.3g} ({low:.3g} to {high:.3g}); leave-one-out log score "
            f"{self.log_score_uncalibrated:.3g} without, {self.log_score:.3g} with it"
        )


def check_option(option: str | None) -> None:
    """Refuse a calibration that does not exist."""
    if option is not None and option not in OPTIONS:
        raise ValueError(f"calibration must be None or one of {', '.join(map(repr, OPTIONS))}, found {option!r}")
