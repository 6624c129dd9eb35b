"""Labels that may be wrong: the errors of annotators, and the classes of the rows they labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import entr

from bayesppl.analysis.draws import thetas
from bayesppl.analysis.parameter_tables import PROB, coord, tails
from bayesppl.inference.unknown_classes import UnknownClasses
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.declaration import CONFUSION
from bayesppl.model.fitted import Fitted
from bayesppl.model.training_rows import encoded

if TYPE_CHECKING:
    import xarray as xr

# Draws over which class probabilities of the rows are averaged.
_DRAWS = 200


def annotators(fitted: Fitted, prob: float = PROB) -> xr.Dataset:
    """Estimate the errors of annotators: how often each gives rows of a class each label.

    Parameters
    ----------
    fitted : Fitted
    prob : float
        Of the equal-tailed intervals.

    Returns
    -------
    xarray.Dataset
        Over "annotator", "class" and "label": ``confusion``, the posterior mean of the probabilities, with
        ``lower`` and ``upper``.

    Raises
    ------
    ValueError
        If the labels of the fit were assumed to be right.
    """
    import xarray as xr

    posterior = fitted.posterior
    names = posterior.record.get("annotators")
    if names is None:
        raise ValueError(
            "this fit learned no errors of labels: fit to labels (not probabilities of them) with annotations=, "
            "or with label_noise=bp.LabelNoise()"
        )
    draws = posterior.draws(1, 2000, np.random.default_rng(0))[CONFUSION]
    lower, upper = np.quantile(draws, tails(prob), axis=(0, 1))
    classes = coord(fitted.classes.tolist())
    values = {CONFUSION: posterior.mean()[CONFUSION], "lower": lower, "upper": upper}
    return xr.Dataset(
        {name: (("annotator", "class", "label"), array) for name, array in values.items()},
        coords={"annotator": list(names), "class": classes, "label": classes},
    )


def completed_proba(fitted: Fitted) -> xr.Dataset:
    """Compute class probabilities of rows of the fit that are partly known, given all that is known of them.

    Unlike ``predict_proba``, which sees the features of a row, it takes the labels of the row into account: those
    in doubt, and those of annotators.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        ``proba`` over "row" (the place among the rows given to ``fit``; of :func:`bayesppl.dawid_skene` the item,
        as annotations or the index of their data frame name it) and "class"; of annotated rows also
        ``gain`` over "row" and "annotator", how much one more label by an annotator is expected to reveal of the
        class, in nats (the mutual information of label and class). ``mcse`` is the Monte-Carlo error of ``proba``,
        an average over 200 draws of the parameters, as if they were independent: where ``diagnostics`` finds few
        effective draws, it is too small.

    Raises
    ------
    ValueError
        If all rows were known, or the rows of the fit are not held any more.
    """
    import xarray as xr

    posterior, classes = fitted.posterior, coord(fitted.classes.tolist())
    if "rows_partly_known" not in posterior.record:
        raise ValueError(
            "no row of this fit was completed: the class of each is known, or those without one have no weight; "
            "predict_proba has their probabilities"
        )
    held = fitted.rows
    if held is None or held.partly is None:
        raise ValueError("the rows of the fit are not held any more (after loading they never are); fit again")
    partly = held.partly
    X = encoded(posterior.model.family, partly.table)
    rows = UnknownClasses(posterior.model, X, partly.weights, partly.log_prior, partly.votes)
    total, squares = np.zeros((2, len(partly), len(classes)))
    for theta in thetas(posterior, _DRAWS, np.random.default_rng(0)):
        find = rows.shares(theta)
        for some in row_ranges(rows.n_rows, rows.cells_per_row):
            shares = find(some)[1]
            total[some] += shares
            squares[some] += shares**2
    proba = total / _DRAWS
    mcse = np.sqrt(np.maximum(squares / _DRAWS - proba**2, 0.0) / (_DRAWS - 1))
    found = {"proba": (("row", "class"), proba), "mcse": (("row", "class"), mcse)}
    coords = {"row": held.places_given(partly.places), "class": classes}
    if partly.votes is not None:
        found["gain"] = (("row", "annotator"), _gain(proba, posterior.mean()[CONFUSION]))
        coords["annotator"] = np.asarray([str(name) for name in partly.votes.names])
    return xr.Dataset(found, coords=coords)


def _gain(proba: Array, confusion: Array) -> Array:
    """Compute the mutual information of the class of a row and a further label: (n_rows, n_annotators)."""
    marginal = np.einsum("ik,akl->ial", proba, confusion)
    given = np.einsum("ik,ak->ia", proba, entr(confusion).sum(-1))
    return np.maximum(entr(marginal).sum(-1) - given, 0.0)
