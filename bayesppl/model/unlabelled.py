"""The weight of rows without a label in a fit, and what they gain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Calibration


@dataclass(frozen=True, eq=False)
class UnlabelledGain:
    """The gain by rows without a label in the log score of labelled rows left out.

    Attributes
    ----------
    weight : float
        λ, with which their log likelihood counts.
    calibration : Calibration
        The temperature at which they were scored; of one where the fit has none.
    gain : float
        Average log score of a labelled row left out, with the unlabelled rows at that weight, less that of the
        labelled rows alone, each at a temperature of its own, where the fit has one. Where the weight was chosen
        it is cross-fitted: each half of the labelled rows has the weight that the other half chooses.
    standard_error : float
        Of ``gain``; a row of weight 2 is two rows. Infinite where all weigh no more than one.
    weights, log_scores : (n_choices,)
        All weights that were tried, the first of them zero, and the average log scores with each.
    tempers : bool
        Whether the fit has that temperature, and none of a calibration of its own.
    """

    weight: float
    calibration: Calibration
    gain: float
    standard_error: float
    weights: Array
    log_scores: Array
    tempers: bool = False

    @property
    def hurts(self) -> bool:
        """Whether labelled rows alone predict better, by more than a standard error and a thousandth of a nat."""
        return self.gain < -max(self.standard_error, 1e-3)

    def __str__(self) -> str:
        if not self.weight:
            return f"weight 0, so that they change nothing{' but by the temperature' if self.tempers else ''}"
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
        gained: Array | None = None,
    ) -> UnlabelledGain:
        """Compute the gain of the choice ``at``, from calibration and log scores of every row with each.

        By default every row has ``gained`` the difference of that choice from the first.
        """
        scores = np.asarray([of_rows for _, of_rows in scored])
        gain, error = mean_and_error(scores[at] - scores[0] if gained is None else gained, row_weights)
        averages = np.average(scores, axis=1, weights=row_weights)
        return cls(float(weights[at]), scored[at][0], float(gain), float(error), weights, averages)


def mean_and_error(values: Array, row_weights: Array) -> tuple[Array, Array]:
    """Return the average over rows, the last axis, and its standard error: a row of weight 2 is two rows."""
    mean, n_rows = np.average(values, axis=-1, weights=row_weights), row_weights.sum()
    variance = np.average((values - np.expand_dims(mean, -1)) ** 2, axis=-1, weights=row_weights)
    return mean, np.sqrt(variance / (n_rows - 1)) if n_rows > 1 else np.full_like(variance, np.inf)
