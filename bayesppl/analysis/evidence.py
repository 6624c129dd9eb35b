r"""Evidence: of the whole model, of features that depend on the class, and of the densities tried for a column.

A feature is irrelevant where one distribution, the same for all classes, explains it better than one per class.
Both explanations have an evidence in closed form, and the ratio of the two is the Bayes factor

.. math:: B_d = \frac{\prod_k p(x_{\cdot d} \mid \text{rows of class } k)}{p(x_{\cdot d} \mid \text{all rows})}

(Kass & Raftery 1995). Of tables of counts (levels, zeros and ones, successes, words) it is taken given both
margins, as in the test of independence of Gunel & Dickey (1974): see :mod:`bayesppl.conjugate.association`. With
prior probability ρ the feature is relevant with probability :math:`r = \rho B / (\rho B + 1 - \rho)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from bayesppl.analysis.parameter_tables import labelled
from bayesppl.conjugate.joint import of_classes_apart
from bayesppl.data.arguments import real
from bayesppl.errors import NotConjugateError
from bayesppl.families import closed_forms
from bayesppl.families.choosing.column_choice import ColumnChoice
from bayesppl.kernels.arrays import Array, logarithm, same_leaves
from bayesppl.model.fitted import Fitted
from bayesppl.model.normalisation import log_probabilities
from bayesppl.model.posterior import Posterior
from bayesppl.model.training_rows import require_training_rows

if TYPE_CHECKING:
    import xarray as xr


def log_evidence(fitted: Fitted) -> xr.Dataset:
    r"""Compute log p(X, y), the probability of the data with all parameters integrated out.

    Every conjugate model has :math:`\log p(D) = \log Z_n - \log Z_0 + \sum_i \log h(x_i)` (Bernardo & Smith
    1994); it is reported for each independent factor of the prior, and in total. Only under the hierarchical prior
    of full covariances, their default, in which each class has learned from the others, it follows the chain rule:
    see the family's page.

    Parameters
    ----------
    fitted : Fitted

    Returns
    -------
    xarray.Dataset
        One variable per part and ``total``, log p(X, y).

    Raises
    ------
    ImproperError
        If the prior is improper.
    NotConjugateError
        If some rows have no label: their evidence is a sum over all their labels.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X, y = bp.datasets.load("iris")
    >>> for clf in (bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()):
    ...     print(round(float(clf.fit(X, y).log_evidence()["total"]), 1))
    -332.9
    -300.0
    """
    posterior = _all_known(fitted)
    parts = posterior.model.log_evidence(posterior.prior, posterior.statistics)
    by_part: dict[str, tuple[Sequence[str], Any]] = {
        name: (part.dims, part.values) for name, part in parts.items()
    }
    total = sum(float(np.sum(part.values)) for part in parts.values())
    return labelled(posterior.model, {**by_part, "total": ((), total)}, {})


def _all_known(fitted: Fitted) -> Posterior:
    """Return the posterior, and refuse a fit of which some rows are known only in part."""
    n_rows = fitted.posterior.record.get("rows_partly_known", 0)
    if n_rows:
        raise NotConjugateError(
            f"there is no evidence in closed form: {n_rows} rows of the fit are only partly known: their label, "
            "cells, component in a mixture or weight in a t density is not. Compare such fits by rows that they "
            "have not seen; where labels are missing, fit the rows that have one"
        )
    return fitted.posterior


def prior_depends_on_data(fitted: Fitted) -> bool:
    """Whether the prior was tuned, or resolves to another one for every second row of the fit."""
    if fitted.posterior.model.factors:
        return True
    rows, posterior = require_training_rows(fitted), fitted.posterior
    half = replace(rows, given_weights=rows.weights * (np.arange(len(rows)) % 2 == 0))
    resolved = posterior.model.prior(posterior.model.summarise(half))
    return not same_leaves(posterior.prior, resolved)


def feature_relevance(fitted: Fitted, prior: float = 0.5) -> xr.Dataset:
    """Compute the log Bayes factor of every feature between "depends on the class" and "does not".

    Features that are modelled together (a covariance matrix, a shared spherical variance) are judged together, as
    one block. The one distribution of all classes has the declared prior, resolved for one class; a hierarchical
    prior keeps what it learned of the classes.

    Parameters
    ----------
    fitted : Fitted
    prior : float
        ρ, the prior probability that a feature is relevant.

    Returns
    -------
    xarray.Dataset
        Over "feature" (the name of the block, where a block is judged as a whole; after the name of the part,
        where a column is judged in two, as in ``"rest.x0"`` of a zero-inflated family): ``log_bayes_factor`` and
        ``probability`` of being relevant.

    Raises
    ------
    ImproperError
        If the prior is improper.

    Notes
    -----
    A Bayes factor takes the prior of the parameters at its word. A very spread one expects classes to lie far
    apart and so favours "does not depend" where they lie close (Lindley 1957). The default of independent normal
    columns has learned how far apart those of the table lie; so that columns of noise are called so where they are
    many, the means of a column that depends on the class are expected to be a standard deviation apart or more.

    Levels of a column, however many, are no evidence by themselves: a column of identifiers has a Bayes factor of
    one. Under labels that were shuffled, the probability of relevance averages at most ``prior`` where the family
    describes the columns; of Poisson and negative binomial counts of few events, whose total is evidence too, it
    is a little above it (.54 in place of .5 with two classes, .6 and more with twenty). Where it does not, a few
    large values that fall unevenly pass for unequal variances of Gaussians, or for unequal rates of counts: choose
    a family that fits, as ``columns="evidence"`` does, or one variance for all classes.

    Priors that learn from the classes how far apart these lie, those of full and tied Gaussians and of Gaussian
    trees, are a little above it where rows are a dozen (.53 in place of .5), and .65 with effects and a covariance
    for each class: declare a prior where that matters. One row in each class shows nothing, and columns of noise
    have .6 and more. A column that never varies has a Bayes factor of one under the default prior of independent
    normal columns. Under priors by which each class has a variance of its own for it (``"columnwise"``,
    ``"fraley-raftery"``, those of full covariances, where all columns are judged together) it passes for evidence,
    for or against: leave such columns out.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    >>> clf.feature_relevance()["probability"].round(2).to_series().to_dict()
    {'x0': 1.0, 'x1': 0.31}
    """
    import xarray as xr

    log_odds = _logit(prior)
    found = closed_forms.log_bayes_factor(fitted.model.family, *_compared(fitted))
    coords = fitted.model.coords
    factor = np.concatenate([np.ravel(part.values) for part in found.values()])
    named = [
        (unit, name)
        for unit, part in found.items()
        for name in [str(label) for dim in part.dims for label in coords[dim]] or [unit or "all features"]
    ]
    times = Counter(name for _, name in named)
    return xr.Dataset(
        {"log_bayes_factor": ("feature", factor), "probability": ("feature", expit(factor + log_odds))},
        coords={"feature": [name if times[name] == 1 else f"{unit}.{name}" for unit, name in named]},
        attrs={"prior": prior},
    )


def averaged_proba(fitted: Fitted, X: Any, prior: float = 0.5, *, log: bool = False) -> Array:
    r"""Average class probabilities over which features are relevant: (n_rows, n_classes).

    Features are independent given the class, so the sum over all subsets of relevant features is a product of
    two-point mixtures,
    :math:`p(x_d \mid y = k, D) = r_d\,p(x_d \mid \text{class } k) + (1 - r_d)\,p(x_d \mid \text{all})`: exact at
    the cost of a few predictions.

    Parameters
    ----------
    fitted : Fitted
    X : table or (n_rows, n_features) array-like
    prior : float
        Prior probability that a feature is relevant.
    log : bool
        Return logarithms, which distinguish probabilities close to zero.

    Notes
    -----
    It is an average over models of independent features, and loses where this is wrong: the more columns repeat
    each other, the surer it is of the relevant ones. No ``calibration`` applies to it.

    Examples
    --------
    >>> import bayesppl as bp
    >>> X = [[0.1, 5.0], [0.4, 6.1], [0.2, 5.5], [3.0, 5.2], [3.3, 6.0], [2.9, 5.4]]
    >>> clf = bp.GaussianNB().fit(X, [0, 0, 0, 1, 1, 1])
    >>> clf.averaged_proba([[1.5, 5.5]]).round(2).tolist()
    [[0.69, 0.31]]
    """
    family = fitted.model.family
    apart, common, statistics = _compared(fitted)
    found = closed_forms.log_bayes_factor(family, apart, common, statistics)
    log_odds = {unit: part.values + _logit(prior) for unit, part in found.items()}
    about_classes, about_all = apart.update(statistics), common.update(statistics.pooled())
    density = closed_forms.inclusion_averaged(family, about_classes, about_all, log_odds)
    weights = fitted.posterior.predictive_weights()
    log_joint = density(fitted.encode(X)) + logarithm(weights)
    log_proba = log_probabilities(log_joint, weights)
    return log_proba if log else np.exp(log_proba)


def column_choice(choice: ColumnChoice | None) -> xr.Dataset:
    """Report which densities ``columns="evidence"`` chose, and by how much.

    Parameters
    ----------
    choice : ColumnChoice or None
        None where the blocks were not chosen by evidence.

    Returns
    -------
    xarray.Dataset
        ``chosen`` and ``margin`` (column): the density of the highest log evidence, and how far it is ahead of the
        next one; ``rounding`` (column): the step of the values; ``log_evidence`` (column, density), NaN where a
        density was no candidate.

    Raises
    ------
    AttributeError
        If the blocks were not chosen by evidence.
    """
    import xarray as xr

    if choice is None:
        raise AttributeError("the blocks of this fit were not chosen by evidence; fit with columns='evidence'")
    ordered = np.sort(np.nan_to_num(choice.log_evidence, nan=-np.inf), axis=1)
    margin = ordered[:, -1] - ordered[:, -2] if ordered.shape[1] > 1 else np.full(len(ordered), np.inf)
    return xr.Dataset(
        {
            "chosen": ("column", np.asarray(choice.chosen, dtype=str)),
            "margin": ("column", margin),
            "rounding": ("column", choice.rounding),
            "log_evidence": (("column", "density"), choice.log_evidence),
        },
        {"column": [str(name) for name in choice.columns], "density": list(choice.densities)},
    )


def _logit(prior: float) -> float:
    return float(logit(real("prior", prior, "lie between 0 and 1", lambda p: 0 < p < 1)))


def _compared(fitted: Fitted) -> tuple[Any, Any, Any]:
    """Return the prior of classes that differ, that of one distribution for all, and the sums of the features."""
    posterior = _all_known(fitted)
    statistics = posterior.statistics.parts["features"]
    common = posterior.model.common_prior_of_features(statistics)
    return of_classes_apart(posterior.prior.parts["features"]), common, statistics
