"""Pivots: typical rows, from which deviations are taken so that all digits are kept however far a class lies.

A pivot is the median of the first few rows of a class. Where that turns out to lie far from the mean, as a row
that hardly counts may, deviations are taken again from the mean, until that is known to its last digits.
"""

from __future__ import annotations

import numpy as np

#: Count, mean and scatter of classes
Triple = tuple[np.ndarray, np.ndarray, np.ndarray]

#: Rows whose median is a pivot; and classes up to which each is looked at by itself
TYPICAL_ROWS, MANY_CLASSES = 9, 64

#: Where the square of the distance of a class from its pivot is larger, in variances, another pass is about its
#: mean. So the squares that are summed are at most this many scatters more than the scatter.
FARTHEST = 4.0

#: Passes that are made at most: each finds some sixteen digits of the mean, of three hundred at most.
MOST_PASSES = 20


def is_far(between: np.ndarray, scatter: np.ndarray) -> np.ndarray:
    """Whether the mean lies so far from the pivot that digits were lost; sums that overflow stay as they are."""
    return np.asarray(between > FARTHEST * scatter)


def set_pivots(values: np.ndarray, codes: np.ndarray, pivot: np.ndarray, seen: np.ndarray) -> None:
    """Set the pivots of the cells (class and column) that have a value for the first time."""
    counts = np.bincount(codes, minlength=len(seen))
    # the usual case, quickly
    if not seen.any() and (counts >= TYPICAL_ROWS).all() and not np.isnan(values).any():
        starts = np.cumsum(counts) - counts
        rows = np.argsort(codes, kind="stable")[starts[:, None] + np.arange(TYPICAL_ROWS)]
        pivot[...] = np.sort(values[rows], axis=1)[:, TYPICAL_ROWS // 2]
        seen[...] = True
        return
    if not (~seen.all(1))[codes].any():
        return
    at, columns = np.nonzero(~seen[codes] & ~np.isnan(values))
    new = np.zeros_like(seen)
    new[codes[at], columns] = True
    # backwards, so that the first value is the one that stays
    pivot[codes[at[::-1]], columns[::-1]] = values[at[::-1], columns[::-1]]
    classes = np.flatnonzero(new.any(1))
    for k in classes if len(classes) <= MANY_CLASSES else ():
        middle = typical(values[np.flatnonzero(codes == k)[:TYPICAL_ROWS]])
        known = new[k] & ~np.isnan(middle)
        pivot[k, known] = middle[known]
    seen |= new


def typical(rows: np.ndarray) -> np.ndarray:
    """Find the lower median of every column, of the cells that are present; NaN where none is."""
    ordered = np.sort(rows.astype(np.float64), axis=0)  # missing cells last
    if not np.isnan(ordered[-1]).any():
        return ordered[(len(ordered) - 1) // 2]
    middle = np.maximum((~np.isnan(ordered)).sum(0) - 1, 0) // 2
    return np.take_along_axis(ordered, middle[None], axis=0)[0]
