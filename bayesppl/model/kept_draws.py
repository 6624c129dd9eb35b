"""What a file keeps of a fit whose model it cannot hold."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from bayesppl.kernels.arrays import Array
from bayesppl.model.calibration import Power
from bayesppl.model.rules import RuleName


@dataclass(frozen=True, eq=False)
class KeptDraws:
    """Draws of a model written in PyMC, and by what the model is known again.

    Attributes
    ----------
    label : str
    rule : {"predictive", "mle", "map", "mean"}
    classes, names : tuple, optional
        Of the labels and the columns that an estimator was fitted to.
    points : mapping of str to (n_chains, n_draws, n_coordinates)
        Where the sampler was, by part of the model.
    reported : mapping of str to mapping of str to (n_chains, n_draws)
        What it reported of each draw.
    samples : mapping of str to (n_chains, n_draws, ...)
        Draws that the user had, by variable.
    fingerprint : mapping of str to array
        Log densities of the model and its data at two points.
    calibration : Power, optional
    """

    label: str
    rule: RuleName
    classes: tuple[Hashable, ...] | None
    names: tuple[Hashable, ...] | None
    points: Mapping[str, Array]
    reported: Mapping[str, Mapping[str, Array]]
    samples: Mapping[str, Array]
    fingerprint: Mapping[str, Array]
    calibration: Power | None = None
