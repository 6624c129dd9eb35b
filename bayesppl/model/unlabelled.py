"""How much rows without a label count in a fit, and what they gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration


@dataclass(frozen=True, eq=False)
class UnlabelledGain:
    """What rows without a label gain in the log score of labelled rows left out.

    Attributes
    ----------
    weight : float
        λ, with which their log likelihood counts.
    calibration : Calibration
        The temperature at which they were scored; of one where the fit has none.
    gain : float
        Average log score of a labelled row left out, with the unlabelled rows at that weight, less that of the
        labelled rows alone, each at a temperature of its own, where the fit has one.
    standard_error : float
        Of ``gain``; a row of weight 2 is two rows. Infinite where all weigh no more than one.
    weights, log_scores : (n_choices,)
        All weights that were tried, the first of them zero, and the average log scores with each.
    """

    weight: float
    calibration: Calibration
    gain: float
    standard_error: float
    weights: Array
    log_scores: Array

    @property
    def hurts(self) -> bool:
        """Whether the labelled rows alone predict better, by more than a standard error."""
        return self.gain < -self.standard_error

    def __str__(self) -> str:
        if not self.weight:
            raised = self.calibration.log_score - self.calibration.log_score_uncalibrated
            return (
                "weight 0, so that they change nothing but by the temperature, which raises the log score by "
                f"{raised:.3g}"
            )
        return (
            f"weight {self.weight:.3g}, gain {self.gain:.3g} ± {self.standard_error:.2g} in the log score of a "
            "labelled row left out"
        )

    @classmethod
    def of(
        cls,
        weights: Array,
        scored: Sequence[tuple[Calibration, Array]],
        row_weights: Array,
        at: int,
    ) -> UnlabelledGain:
        """The gain of the choice ``at`` over the first, from calibration and log scores of every row with each."""
        scores = [of_rows for _, of_rows in scored]
        difference, n_rows = scores[at] - scores[0], row_weights.sum()
        gain = float(np.average(difference, weights=row_weights))
        variance = np.average((difference - gain) ** 2, weights=row_weights)
        error = float(np.sqrt(variance / (n_rows - 1))) if n_rows > 1 else np.inf
        averages = np.average(scores, axis=1, weights=row_weights)
        return cls(float(weights[at]), scored[at][0], gain, error, weights, averages)
