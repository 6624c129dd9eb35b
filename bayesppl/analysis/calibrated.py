"""Calibrate a fit by its exact leave-one-out: by one temperature, or by a weight of every column."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayesppl.analysis.column_weights import enough_rows, learn_weights, require_units
from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.left_out_joints import unit_joints
from bayesppl.analysis.parameters import coord
from bayesppl.data.rows import Rows
from bayesppl.model.calibration import ColumnWeights, Option, Power
from bayesppl.model.fitted import Fitted
from bayesppl.model.training_rows import encoded

if TYPE_CHECKING:
    import xarray as xr


def calibrated(fitted: Fitted, rows: Rows, option: Option) -> Fitted:
    """The same fit of these rows, calibrated by its exact leave-one-out under its rule."""
    learn = _temperature if option == "temperature" else _column_weights
    return replace(fitted, calibration=learn(fitted, rows))


def _temperature(fitted: Fitted, rows: Rows) -> Power:
    X = encoded(fitted.model.family, rows.table)
    return leave_out_each(fitted.posterior, X, rows.codes, rows.weights, fitted.rule).calibration


def _column_weights(fitted: Fitted, rows: Rows) -> Power:
    family = fitted.model.family
    units = require_units(family)
    some = enough_rows(len(rows), len(rows.classes), len(units))
    joints = unit_joints(
        fitted.posterior, encoded(family, rows.table), rows.codes, rows.weights, fitted.rule, some
    )
    left_out = ((joint.without, joint.log_class_weights) for joint in joints)
    return learn_weights(tuple(unit.name for unit in units), left_out, rows.codes[some], rows.weights[some])


def column_weights(fitted: Fitted) -> xr.Dataset:
    """How far every column is trusted where labels are predicted, under ``calibration="weights"``.

    Returns
    -------
    xarray.Dataset
        Over "column" (the name of the block, where several columns are one): ``weight``, w; ``log_sd``, the
        standard error of log w; ``lower`` and ``upper``, w less and plus two of them.

    Raises
    ------
    ValueError
        If the fit has no weights.

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> clf = bp.GaussianNB(calibration="weights").fit(*load("iris"))
    >>> clf.column_weights()["weight"].idxmax().item()
    'petal length (cm)'
    """
    import xarray as xr

    found = fitted.calibration
    if not isinstance(found, ColumnWeights):
        raise ValueError("this fit has no weights of its columns: fit with calibration='weights'")
    lower, upper = found.intervals
    values = {"weight": found.weights, "log_sd": found.log_sd, "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: ("column", value) for name, value in values.items()}, coords={"column": coord(list(found.names))}
    )
