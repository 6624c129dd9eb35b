"""Densities of single columns: along which points they are drawn, and what they are there."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.data.arguments import whole
from bayesppl.data.table import MatrixTable, Table
from bayesppl.errors import ImpossibleCellWarning
from bayesppl.families import Family
from bayesppl.families.bound import GIVEN_TOTAL
from bayesppl.kernels.arrays import Array, logarithm

if TYPE_CHECKING:
    from bayesppl.estimators.classifier import BayesClassifier
    from bayesppl.model.rules import RuleName


def require_densities(family: Family, names: Sequence[Hashable]) -> None:
    """Refuse columns that have no density by themselves."""
    for name in names:
        if family.bound.measures[name] in GIVEN_TOTAL:
            raise ValueError(
                f"column {name!r} has a probability given the total of its row only, and none by itself; "
                "plot_relevance and plot_explanation draw such columns"
            )
        if family.bound.measures[name] == "mass at limits, density between":
            raise ValueError(
                f"column {name!r} is censored, and has probabilities at its limits beside its density; "
                "plot_explanation draws such columns"
            )
    if family.missing == "refused" and len(names) > 1:
        raise ValueError(
            f"the {family.name} family leaves no column out, so that its columns have no densities by themselves"
        )


def grid_along(clf: BayesClassifier, cells: Array, column: int, margin: float, resolution: int) -> Array:
    """Lay points along the axis of a column: beyond its cells, unless the family models no such numbers.

    Parameters
    ----------
    cells : (n_rows, n_columns)
    column : int
    margin : float
        How far beyond the cells, in parts of their range.
    resolution : int
        Number of points, or the most of them if the column holds counts.
    """
    whole("resolution", resolution, 2)
    bound, names = clf.fitted_.model.family.bound, clf.fitted_.columns.names
    seen = cells[~np.isnan(cells).any(1)]
    low, high = (seen[:, column].min(), seen[:, column].max()) if len(seen) else (0.0, 1.0)
    is_count = bound.measures[names[column]] in ("mass", *GIVEN_TOTAL) and not (seen[:, column] % 1).any()
    if is_count:  # and no measurement that is cut into bins
        return np.arange(low, high + 1, -(-(high + 1 - low) // resolution))
    beyond = margin * (high - low) if high > low else 1.0
    first = seen[:1].copy()
    first[:, column] = low - beyond
    try:
        read = as_read(clf, MatrixTable(names, first))[names[column]]
        is_outside = bool(np.isnan(np.asarray(read, dtype=float)).any())
    except ValueError:
        is_outside = True
    return np.linspace(low if is_outside else low - beyond, high + beyond, resolution)


def as_read(clf: BayesClassifier, table: Table) -> dict[Hashable, Array]:
    """Return the cells of every column as its family reads them; a number that it skips is NaN."""
    bound = clf.fitted_.model.family.bound
    # of which the rows were warned already
    with warnings.catch_warnings(action="ignore", category=ImpossibleCellWarning):
        return bound.decode(bound.encode(table))


def bin_edges(values: Array, n_bins: int) -> Array:
    """Lay bins about numbers; where these are rounded, each holds as many of the values that they can have."""
    distinct = np.unique(values)
    if len(distinct) < 2:
        return np.histogram_bin_edges(values, n_bins)
    step, extent = np.diff(distinct).min(), distinct[-1] - distinct[0]
    width = step * np.ceil(extent / (n_bins * step))
    return np.asarray(distinct[0] - step / 2 + width * np.arange(np.ceil((extent + step / 2) / width) + 1))


def density_along(
    clf: BayesClassifier, others: Mapping[Hashable, Any], name: Hashable, rule: RuleName | None, values: Array
) -> Array:
    """Compute the density of single values of one column, beside one cell of each other: (n_values, n_classes)."""
    import pandas as pd

    rows = pd.DataFrame({other: [cell] * len(values) for other, cell in others.items()}, dtype=object)
    rows[name] = values if values.dtype != object else pd.Series(values.tolist())
    weights = clf.posterior_.scorer(clf.rule if rule is None else rule).class_weights
    return np.asarray(np.exp(clf.predict_joint_log_proba(rows, rule) - logarithm(weights)))
