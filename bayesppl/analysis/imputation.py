"""Imputation of missing cells by a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.special import softmax

from bayesppl.analysis.draws import thetas
from bayesppl.data.arguments import generator, whole
from bayesppl.data.columns import missing
from bayesppl.data.table import Table
from bayesppl.families.bound import Described
from bayesppl.families.filling import draw_missing, require_fillable
from bayesppl.families.find_levels import UNSEEN
from bayesppl.kernels.arrays import Array, draw_codes
from bayesppl.model.fitted import Fitted

# Draws that one table is made of
_DRAWS = 200

# How often cells are drawn again that stand for any level that no row of the fit has
_REDRAWN = 100


def impute(fitted: Fitted, X: Any, draws: int | None = None, random_state: int | None = None) -> Any:
    """Fill missing cells given the cells that are there, whose class need not be known.

    Each draw takes parameters from the posterior, a class from its probabilities given the cells of the row that
    are there, and cells from their distribution given the class and these. Cells are taken to be missing at
    random: whether one is missing must not depend on what it holds, given the others. Calibration, which is
    of the probabilities of labels, has no part in this: classes and cells are drawn from the model.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    draws : int, optional
        How many tables to draw, for multiple imputation: analyse each, and pool the results (Rubin 1987). By
        default one table of 200 draws: the median of a number, for an average need not exist (of angles it is
        taken, on their circle), and the level that is drawn most often.
    random_state : int, optional

    Returns
    -------
    data frame, or list of them
        With the columns of the fit, in the library of ``X``, or in pandas where that is not a data frame. Cells
        that were there are the same.

    Raises
    ------
    NotImplementedError
        For missing cells of categories on which other columns depend, and of parts of a model written in PyMC that
        were sampled.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> X, y = load("iris")
    >>> clf = bp.QuadraticDiscriminantAnalysis().fit(X, y)
    >>> gap = X.iloc[[0]].assign(**{"petal length (cm)": np.nan})
    >>> float(clf.impute(gap, random_state=0)["petal length (cm)"].iloc[0].round(1))
    1.4
    """
    table, rng = fitted.columns.align(X), generator(random_state)
    if draws is not None:
        whole("draws", draws, 1)
        return [_frame(fitted, table, X, cells) for cells in _fill(fitted, table, draws, rng)]
    drawn = list(_fill(fitted, table, _DRAWS, rng))
    return _frame(fitted, table, X, {name: np.asarray([cells[name] for cells in drawn]) for name in drawn[0]})


def _fill(fitted: Fitted, table: Table, draws: int, rng: np.random.Generator) -> Iterator[dict[Any, Array]]:
    model = fitted.model
    encoded = model.family.bound.encode(table)
    require_fillable(model.family, encoded)
    gaps = {name: missing(table.column(name)) for name in fitted.columns.names}
    for theta in thetas(fitted.posterior, draws, rng):
        proba = softmax(model.log_joint(theta)(encoded), axis=1)
        codes = draw_codes(proba, rng)
        found = model.family.bound.decode(draw_missing(model.family, theta, encoded, codes, rng))
        levels = [name for name, cells in found.items() if cells.dtype == object]
        for _ in range(_REDRAWN):
            unseen = {name: gaps[name] & (found[name] == UNSEEN) for name in levels}
            if not any(at.any() for at in unseen.values()):
                break
            again = model.family.bound.decode(draw_missing(model.family, theta, encoded, codes, rng))
            found |= {name: np.where(at, again[name], found[name]) for name, at in unseen.items()}
        yield found


def _middle(values: Array, described: Described | None, is_about_zero: bool) -> Array:
    """Take the median of draws of cells, (n_draws, n_rows), for counts one of them; average angles on a circle.

    Angles are from zero to the period, or about zero.
    """
    if described is None or described.period is None:
        is_count = described is not None and described.measure == "mass"
        return np.asarray(np.quantile(values, 0.5, axis=0, method="inverted_cdf" if is_count else "linear"))
    turn = described.period / (2 * np.pi)
    angles = turn * np.angle(np.exp(1j * values / turn).mean(0))
    return angles if is_about_zero else np.mod(angles, described.period)


def _frame(fitted: Fitted, table: Table, X: Any, cells: dict[Any, Array]) -> Any:
    """Replace the missing cells of the table by these: (n_rows,) for each column, or (n_draws, n_rows)."""
    import pandas as pd

    from bayesppl.data.frames import in_library_of

    index = X.index if isinstance(X, pd.DataFrame) else None
    frame = pd.DataFrame({name: table.column(name) for name in fitted.columns.names}, index=index)
    for name in frame:  # the cells of some models are given to others under a name of their own
        values, gaps = cells[name], frame[name].isna()
        if not gaps.any():
            continue
        present = frame.loc[~gaps, name]
        is_truth = len(present) > 0 and present.map(lambda cell: isinstance(cell, bool | np.bool_)).all()
        is_number = values.dtype != object and not is_truth
        if values.ndim == 2 and is_number:
            values = _middle(values, fitted.model.family.bound.described.get(name), bool((present < 0).any()))
        elif values.ndim == 2:
            values = pd.DataFrame(values).mode().iloc[0].to_numpy()
        filled = frame[name].where(~gaps, np.nan).astype(np.float64 if is_number else object)
        filled[gaps] = values[gaps]
        frame[name] = filled.astype(bool) if is_truth else filled.infer_objects()
    if isinstance(X, pd.DataFrame):
        # names that are no text, as they are there
        places = fitted.columns.align(pd.DataFrame([range(X.shape[1])], columns=X.columns))
        frame.columns = X.columns[[int(places.column(name)[0]) for name in frame]]
        for name in [name for name in frame if name in X and X[name].dtype != object]:
            if (
                isinstance(X[name].dtype, pd.CategoricalDtype)
                and not frame[name].isin(X[name].cat.categories).all()
            ):
                continue  # a level that only the fit has seen
            with suppress(TypeError, ValueError):  # medians of whole numbers may be none
                cast = frame[name].astype(X[name].dtype)
                frame[name] = cast if cast.eq(frame[name]).fillna(False).all() else frame[name]
    return in_library_of(X, frame)
