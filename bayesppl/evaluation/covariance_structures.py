"""The fourteen Gaussian covariance structures of mclust, by maximum likelihood, beside the evidence of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import logsumexp

from bayesppl.conjugate.moments import Moments
from bayesppl.data.labels import encode_labels, one_hot
from bayesppl.data.read_table import as_table
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.evaluation.eigen_covariances import STRUCTURES, eigen_covariances, n_covariance_parameters
from bayesppl.families import Gaussian, closed_forms
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.definite import is_positive_definite

if TYPE_CHECKING:
    import xarray as xr

#: Structures that have a conjugate prior, by their name in :func:`bayesppl.Gaussian`.
_CONJUGATE: Mapping[str, Covariance] = {
    "VII": "spherical",
    "EEI": "tied_diag",
    "VVI": "diag",
    "EEE": "tied",
    "VVV": "full",
}


def covariance_structures(X: Any, y: Any) -> xr.Dataset:
    r"""Compute log likelihood, number of parameters, BIC and, where known, evidence of 14 covariance structures.

    The covariance of class k is :math:`\lambda_k D_k A_k D_k^\top`; the letters of a structure say whether its
    volume, shape and orientation are equal (E) in all classes, vary (V) between them, or are those of the unit
    matrix (I). ``EEE`` is linear, ``VVV`` quadratic discriminant analysis, ``VVI`` Gaussian Naive Bayes. Means,
    covariances and class weights are those of maximum likelihood (Celeux & Govaert 1995). The BIC is :math:`2 \ell
    - p \log n`: larger is better.

    Parameters
    ----------
    X : table or (n_rows, n_features) array-like
        Numbers, without missing cells.
    y : (n_rows,) array-like
        Labels.

    Returns
    -------
    xarray.Dataset
        Over ``structure``: ``log_likelihood`` of rows and labels, :math:`\sum_i \log \pi_{y_i} p(x_i \mid y_i)`,
        and its ``bic``; ``mixture_log_likelihood`` of the rows with labels summed out, :math:`\sum_i \log \sum_k
        \pi_k p(x_i \mid k)`, and its ``mixture_bic``, which are the numbers that mclust prints for
        ``MclustDA(modelType = "EDDA")``; ``n_parameters``; and ``log_evidence`` of the same rows and labels under
        the default priors of :func:`bayesppl.Gaussian`, nan for structures without a conjugate prior. Likelihoods
        are nan where they have no maximum, because rows of a class are too few or columns copy each other.

    Raises
    ------
    ValueError
        If a cell is missing or not a number, or a label is missing.

    See Also
    --------
    compare_models : Evidence and exact leave-one-out of any models.

    References
    ----------
    Banfield & Raftery (1993), "Model-based Gaussian and non-Gaussian clustering". Celeux & Govaert (1995),
    "Gaussian parsimonious clustering models". Bensmail & Celeux (1996), "Regularized Gaussian discriminant
    analysis through eigenvalue decomposition". Fraley & Raftery (2002), "Model-based clustering, discriminant
    analysis, and density estimation".

    Examples
    --------
    >>> import bayesppl as bp
    >>> from bayesppl.datasets import load
    >>> table = bp.covariance_structures(*load("iris"))
    >>> table["mixture_bic"].sel(structure="VEV").round(3).item()
    -565.824
    """
    import xarray as xr

    classes, codes = encode_labels(y)
    family = Gaussian("full").bind(as_table(X), tuple(classes))
    rows = family.bound.encode(as_table(X))
    statistics = cast(Moments, closed_forms.sufficient_statistics(family, rows, one_hot(codes, len(classes))))
    count, (n_classes, n_features) = statistics.count, statistics.mean.shape
    n_shared = n_classes * n_features + n_classes - 1  # means and class weights

    found = []
    for structure in STRUCTURES:
        covariance = eigen_covariances(structure, statistics.scatter, count)
        if not is_positive_definite(covariance).all():
            found.append((np.nan, np.nan))
            continue
        density = family.log_likelihood({"mean": statistics.mean, "covariance": covariance})
        joint = np.log(count / count.sum()) + density(rows)
        found.append((joint[np.arange(len(rows)), codes].sum(), logsumexp(joint, axis=1).sum()))
    n_parameters = np.array([n_shared + n_covariance_parameters(s, n_classes, n_features) for s in STRUCTURES])
    evidence = [_log_evidence(structure, X, y) for structure in STRUCTURES]
    penalty = n_parameters * np.log(len(rows))
    log_likelihood, mixture = np.transpose(found)
    variables = {
        "n_parameters": n_parameters,
        "log_likelihood": log_likelihood,
        "bic": 2 * log_likelihood - penalty,
        "mixture_log_likelihood": mixture,
        "mixture_bic": 2 * mixture - penalty,
        "log_evidence": evidence,
    }
    return xr.Dataset(
        {name: ("structure", values) for name, values in variables.items()}, coords={"structure": list(STRUCTURES)}
    )


def _log_evidence(structure: str, X: Any, y: Any) -> float:
    if structure not in _CONJUGATE:
        return np.nan
    clf = GenerativeClassifier(Gaussian(_CONJUGATE[structure])).fit(X, y)
    return float(clf.log_evidence()["total"])
