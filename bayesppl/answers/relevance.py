r"""Which features depend on the class at all.

A feature is irrelevant where one distribution, the same for all classes, explains it better than one per class. Both
explanations have an evidence in closed form, and the ratio of the two is the Bayes factor

.. math:: B_d = \frac{\prod_k p(x_{\cdot d} \mid \text{rows of class } k)}{p(x_{\cdot d} \mid \text{all rows})}

(Kass & Raftery 1995; for labelled features the test of independence of Gunel & Dickey 1974). With prior
probability ρ the feature is relevant with probability :math:`r = \rho B / (\rho B + 1 - \rho)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bayesppl.beliefs import Joint
from bayesppl.data.labels import one_hot
from bayesppl.families._bases.leave_one_out import log_evidence_of, row_blocks
from bayesppl.kernels.arrays import Array
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities

if TYPE_CHECKING:
    import xarray as xr


def feature_relevance(fitted: Fitted, prior: float = 0.5) -> xr.Dataset:
    """Log Bayes factor of every feature between "depends on the class" and "does not".

    Parameters
    ----------
    fitted : Fitted
        together, as one block. The one distribution of all classes has the declared prior, resolved for one class.
    prior : float
        ρ, the prior probability that a feature is relevant.

    Returns
    -------
    xarray.Dataset
        Over "feature" (the name of the block, where a block is judged as a whole): ``log_bayes_factor`` and
        ``probability`` of being relevant.

    Raises
    ------
    ImproperError
        If the prior is improper.

    Notes
    -----
    A Bayes factor takes the prior of the parameters at its word. A very spread one, such as the default of the Gaussian
    families (whose means are worth 0.01 rows), expects classes to lie far apart and so favours "does not depend" where
    they lie close (Lindley 1957). Declare what you expect, or tune it from the data.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    >>> clf.feature_relevance()["probability"].round(2).to_series().to_dict()
    {'x0': 1.0, 'x1': 0.0}
    """
    import xarray as xr

    if not 0 < prior < 1:
        raise ValueError(f"prior must lie between 0 and 1, found {prior:g}")
    units = list(_units(fitted))
    factor = np.concatenate([unit.log_bayes_factor for unit in units])
    return xr.Dataset(
        {"log_bayes_factor": ("feature", factor), "probability": ("feature", expit(factor + logit(prior)))},
        coords={"feature": [name for unit in units for name in unit.names]},
        attrs={"prior": prior},
    )


def averaged_proba(fitted: Fitted, X: Any, prior: float = 0.5, *, log: bool = False) -> Array:
    r"""Class probabilities averaged over which features are relevant: (n_rows, n_classes).

    Features are independent given the class, so the sum over all subsets of relevant features is a product of two-point
    mixtures, :math:`p(x_d \mid y = k, D) = r_d\,p(x_d \mid \text{class } k) + (1 - r_d)\,p(x_d \mid \text{all})`: exact at
    the cost of two predictions.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    prior : float
        Prior probability that a feature is relevant.
    log : bool
        Return logarithms, which tell apart what is next to impossible.

    Notes
    -----
    It is an average over models of independent features, and loses where this is wrong: the more columns repeat each other, the
    surer it is of the relevant ones. No ``calibration`` applies to it.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    >>> clf.averaged_proba([[1.5, 5.5]]).round(2).tolist()
    [[0.71, 0.29]]
    """
    model, n_classes = fitted.model, len(fitted.classes)
    relevance = feature_relevance(fitted, prior)["probability"].values
    with np.errstate(divide="ignore"):
        log_relevant, log_irrelevant = np.log(relevance), np.log1p(-relevance)
    encoded = fitted.encode(X)
    weights = fitted.posterior.predictive_weights()
    with np.errstate(divide="ignore"):
        out = np.tile(np.log(weights), (encoded.shape[0], 1))
    belief, pooled = _beliefs(fitted)
    for block in row_blocks(encoded):
        rows = encoded[block]
        each = np.arange(rows.shape[0])
        statistics = model.family.sufficient_statistics(rows, one_hot(each, len(each)))
        of_none = _log_predictives(pooled, statistics, np.zeros_like(each))
        for k in range(n_classes):
            of_class = _log_predictives(belief, statistics, np.full_like(each, k))
            out[block, k] += np.logaddexp(log_relevant + of_class, log_irrelevant + of_none).sum(1)
    log_proba = log_probabilities(out, weights)
    return log_proba if log else np.exp(log_proba)


class _Unit(NamedTuple):
    """Features that are judged one by one, or a block judged as a whole."""

    names: list[str]
    log_bayes_factor: Array


def _units(fitted: Fitted) -> Iterator[_Unit]:
    model, prior = fitted.model, fitted.posterior.prior
    statistics = fitted.posterior.statistics.parts["features"]
    family, pooled = model.family, statistics.pooled()
    dependent = family.log_evidence(prior.parts["features"], statistics)
    common = family.log_evidence(fitted.posterior.model.prior_of_features(pooled), pooled)
    for block, (dims, values) in dependent.items():
        features = [dim for dim in dims if dim != "class"]
        names = [str(label) for dim in features for label in model.coords[dim]]
        of_classes = values.sum(dims.index("class")) if "class" in dims else values
        of_all = common[block].values.sum(dims.index("class")) if "class" in dims else common[block].values
        yield _Unit(names or [block or "all features"], np.atleast_1d(of_classes - of_all))


def _beliefs(fitted: Fitted) -> tuple[Any, Any]:
    """The belief about the classes, and that about one class that holds all rows."""
    posterior = fitted.posterior
    pooled = posterior.statistics.parts["features"].pooled()
    one = posterior.model.prior_of_features(pooled).update(pooled)
    return posterior.prior.update(posterior.statistics).parts["features"], one


def _log_predictives(belief: Any, statistics: Any, classes: Array) -> Array:
    """log p(x) of every row (its own class in ``statistics``) and unit, up to what all classes share."""
    if isinstance(belief, Joint):  # blocks side by side, in the order of the units
        blocks = [_log_predictives(belief.parts[b], statistics.parts[b], classes) for b in belief.parts]
        return np.concatenate(blocks, axis=1)
    return log_evidence_of(belief.take(classes), statistics).reshape(len(classes), -1)
