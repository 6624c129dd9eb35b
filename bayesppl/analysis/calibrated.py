"""A fit calibrated by its exact leave-one-out: by one temperature, or by a weight of every column."""

from __future__ import annotations

from dataclasses import replace

from bayesppl.analysis.column_weights import enough_rows, learn_weights, require_units
from bayesppl.analysis.held_rows import encoded
from bayesppl.analysis.leave_one_out import leave_out_each
from bayesppl.analysis.left_out_joints import unit_joints
from bayesppl.data.rows import Rows
from bayesppl.model.calibration import Option, Power
from bayesppl.model.fitted import Fitted


def calibrated(fitted: Fitted, rows: Rows, option: Option) -> Fitted:
    """The same fit of these rows, calibrated by its exact leave-one-out under its rule."""
    return replace(fitted, calibration=_LEARN[option](fitted, rows))


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


_LEARN = {"temperature": _temperature, "weights": _column_weights}
