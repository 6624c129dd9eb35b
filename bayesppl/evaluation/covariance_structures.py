r"""The fourteen Gaussian covariance structures of mclust, by maximum likelihood, beside the evidence of ours.

Banfield & Raftery (1993) write the covariance of class k as :math:`\lambda_k D_k A_k D_k^\top`: a volume λ, a
diagonal shape A of determinant one and orthonormal axes D. Each is equal (E) in all classes, varies (V) between
them, or is the identity (I); three letters name the structure, as in mclust. Rows of known classes enter through
the scatter matrices :math:`W_k` about the class means and the numbers of rows :math:`n_k` alone (Celeux & Govaert
1995, section 3). Given the axes, volumes and shapes follow from the diagonals of :math:`D_k^\top W_k D_k`; given
these, common axes are turned two at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import logsumexp
from scipy.stats import gmean

from bayesppl.conjugate.moments import Moments
from bayesppl.data.labels import one_hot
from bayesppl.data.rows import Rows
from bayesppl.estimators.generative import GenerativeClassifier
from bayesppl.families import Gaussian, closed_forms
from bayesppl.families.gaussian import Covariance
from bayesppl.kernels.arrays import Array
from bayesppl.kernels.definite import is_positive_definite

if TYPE_CHECKING:
    import xarray as xr

STRUCTURES = ("EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV")

# Alternating steps end where no variance changes by more than this share of it.
_TOLERANCE, _MOST_STEPS = 1e-12, 1_000


def n_covariance_parameters(structure: str, n_classes: int, n_features: int) -> int:
    """Count free parameters of the covariances of all classes (Celeux & Govaert 1995, table 1)."""
    times = {"E": 1, "V": n_classes, "I": 0}
    volume, shape, orientation = (times[letter] for letter in structure)
    return volume + shape * (n_features - 1) + orientation * n_features * (n_features - 1) // 2


def eigen_covariances(structure: str, scatter: Array, count: Array) -> Array:
    """Find covariances of the largest likelihood: (n_classes, n_features, n_features).

    Parameters
    ----------
    structure : str
        One of :data:`STRUCTURES`.
    scatter : (n_classes, n_features, n_features)
        Sums of products of deviations from the class means.
    count : (n_classes,)
        Rows of each class.

    Notes
    -----
    Where a scatter is singular the likelihood may have no maximum; the result is then singular, or not finite.
    With common axes of different shapes (EVE, VVE) it may have several maxima: the result is the largest of those
    that are found from the axes of the pooled scatter, of the scatter of each class, and of the columns.
    """
    kinds, orientation = structure[:2], structure[2]
    if structure in ("EVE", "VVE") and not is_positive_definite(scatter).all():
        # axes that hold one along which a class does not spread let its variance there shrink without end
        return np.full_like(scatter, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        if orientation == "E":
            columns, pooled = np.eye(scatter.shape[-1]), scatter.sum(0)
            starts = (columns, *np.linalg.eigh(np.stack([pooled, *scatter]))[1])
            found = [_common_axes(kinds, start, scatter, count) for start in starts]
            # where volumes are free the rest of the log likelihood is the same at every maximum
            sizes = [count @ np.log(variances).sum(1) for _, variances in found]
            axes, variances = found[int(np.argmin(np.nan_to_num(sizes, nan=np.inf, neginf=-np.inf)))]
        else:
            axes = np.eye(scatter.shape[-1]) if orientation == "I" else np.linalg.eigh(scatter)[1]
            variances = _variances(kinds, _diagonals(axes, scatter), count)
    return (axes * variances[:, None, :]) @ np.swapaxes(axes, -1, -2)


def _common_axes(kinds: str, axes: Array, scatter: Array, count: Array) -> tuple[Array, Array]:
    """Find axes common to all classes and the variances along them, from axes to start with."""
    variances = _variances(kinds, _diagonals(axes, scatter), count, 1)
    for _ in range(_MOST_STEPS):
        axes, before = _turn(axes, scatter, 1 / variances), variances
        volumes = gmean(variances, axis=1, keepdims=True)
        variances = _variances(kinds, _diagonals(axes, scatter), count, 1, volumes)
        if not _has_moved(variances, before):
            break
    return axes, variances


def _diagonals(axes: Array, scatter: Array) -> Array:
    return np.einsum("...ji,kjl,...li->ki" if axes.ndim == 2 else "kji,kjl,kli->ki", axes, scatter, axes)


def _variances(
    kinds: str, squares: Array, count: Array, steps: int = _MOST_STEPS, volumes: Array | None = None
) -> Array:
    """Return volume times shape along the axes, from the sums of squares along them: (n_classes, n_features).

    Volumes given shapes and shapes given volumes take turns (Celeux & Govaert 1995); but for VE, the first turn is
    the last.
    """
    volumes = np.ones((len(count), 1)) if volumes is None else volumes
    for _ in range(steps):
        relative = squares / volumes
        known = {"V": relative, "E": relative.sum(0, keepdims=True), "I": np.ones_like(squares)}[kinds[1]]
        shape = known / gmean(known, axis=-1, keepdims=True)
        sizes, before = (squares / shape).mean(1, keepdims=True), volumes
        volumes = sizes / count[:, None] if kinds[0] == "V" else np.full_like(sizes, sizes.sum() / count.sum())
        if not _has_moved(volumes, before):
            break
    return volumes * shape


def _turn(axes: Array, scatter: Array, precisions: Array) -> Array:
    """Turn each pair of common axes to where the sum of tr(W_k D B_k Dᵀ) is least, B_k holding the precisions.

    Within a pair the sum is a constant plus c cos 2θ + s sin 2θ, so that the best angle is known (Flury & Gautschi
    1986 solve for it by iteration).
    """
    axes = axes.copy()
    turned = axes.T @ scatter @ axes
    for p, q in combinations(range(len(axes)), 2):
        gap = precisions[:, p] - precisions[:, q]
        c = 0.5 * gap @ (turned[:, p, p] - turned[:, q, q])
        s = gap @ turned[:, p, q]
        angle = 0.5 * np.arctan2(-s, -c)
        rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        axes[:, [p, q]] = axes[:, [p, q]] @ rotation
        turned[:, [p, q], :] = rotation.T @ turned[:, [p, q], :]
        turned[:, :, [p, q]] = turned[:, :, [p, q]] @ rotation
    return axes


def _has_moved(new: Array, old: Array) -> bool:
    return bool((np.abs(new - old) > _TOLERANCE * np.abs(old)).any())


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

    given = Rows.read(X, y)
    classes, codes = given.classes, given.codes
    family = Gaussian("full").bind(given.table, tuple(classes))
    rows = family.bound.encode(given.table)
    if np.isnan(rows).any():
        raise ValueError("X has missing cells, of which these likelihoods take none; drop such rows, or impute")
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
    evidence = [_log_evidence(structure, given) for structure in STRUCTURES]
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


def _log_evidence(structure: str, rows: Rows) -> float:
    if structure not in _CONJUGATE:
        return np.nan
    clf = GenerativeClassifier(Gaussian(_CONJUGATE[structure]), classes=rows.classes.tolist())
    clf.fit(rows.table, rows.classes[rows.codes])
    return float(clf.log_evidence()["total"])
