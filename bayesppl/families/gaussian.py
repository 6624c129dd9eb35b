"""Gaussian features, by the structure of their covariance.

The five structures are two families: independent features (``diag``, ``tied_diag``, ``spherical``) under a
normal-inverse-gamma prior, and correlated features (``full``, ``tied``) under a normal-inverse-Wishart prior.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from bayesppl.conjugate import NormalInverseGamma, NormalInverseWishart
from bayesppl.conjugate.declared_priors import is_declaration
from bayesppl.conjugate.gaussian_declared import LKJ, MeanAndCholesky, MeanAndSd
from bayesppl.conjugate.moments import Moments
from bayesppl.data.arguments import one_of
from bayesppl.data.columns import beyond_floats
from bayesppl.data.table import Table
from bayesppl.families import closed_forms
from bayesppl.families.gaussian_diagonal import DiagonalGaussian, IndependentNormals
from bayesppl.families.gaussian_full import CorrelatedNormals, FullGaussian
from bayesppl.families.support import LARGEST
from bayesppl.kernels.arrays import Responsibilities

Covariance = Literal["full", "tied", "diag", "tied_diag", "spherical"]

#: Families whose statistics are moments.
MomentFamily = IndependentNormals | CorrelatedNormals

_STRUCTURES: dict[str, Callable[[Any], MomentFamily]] = {
    "full": lambda prior: FullGaussian(prior, tied=False),
    "tied": lambda prior: FullGaussian(prior, tied=True),
    "diag": lambda prior: DiagonalGaussian(prior, shared=()),
    "tied_diag": lambda prior: DiagonalGaussian(prior, shared=("class",)),
    "spherical": lambda prior: DiagonalGaussian(prior, shared=("feature",)),
}

_DEFAULT_PRIORS: dict[str, str] = {
    "full": "hierarchical",
    "tied": "hierarchical",
    "diag": "hierarchical",
    "tied_diag": "hierarchical",
    "spherical": "fraley-raftery",
}


def Gaussian(
    covariance: Covariance = "diag",
    prior: str | NormalInverseGamma | NormalInverseWishart | None = None,
    *,
    mean: Any = None,
    sd: Any = None,
    cholesky: Any = None,
) -> MomentFamily:
    """Declare a Gaussian class-conditional density.

    Parameters
    ----------
    covariance : {"full", "tied", "diag", "tied_diag", "spherical"}
        ``full``: a matrix per class (quadratic discriminant analysis); ``tied``: one matrix for all classes
        (linear discriminant analysis); ``diag``: a variance per class and feature (Naive Bayes); ``tied_diag``:
        a variance per feature; ``spherical``: a variance per class.
    prior : str or conjugate prior, optional
        One of "hierarchical", "columnwise", "sparse", "fraley-raftery", "regularised", "diagonal", "jeffreys",
        "flat" and "unbiased".
        ``hierarchical``, the default of all but spherical, shrinks the means and the covariance or variances of
        each class towards those of the others, and covariances towards independent columns, as much as maximises
        the evidence: smooth in the rows, proper and free of units. ``columnwise``, of diag and tied_diag, is worth
        three rows of the variance of each column within the classes, and next to none of its mean, so that no
        column depends on another. ``sparse``, of tied_diag, is
        for more columns than rows: in some columns the means of the classes differ, in the others they are one,
        and predictions are averaged over which. ``fraley-raftery``, the
        default of spherical, is the prior of Fraley & Raftery (2007), as in their program mclust. It has one scale
        for all columns of diag and tied_diag, and of full and tied the covariance of all rows, which is nearly
        singular where rows barely outnumber the columns: prefer the default there. ``regularised``, of full and
        tied, is worth as many rows as a class has, of independent columns: the covariance expected of a class is
        about halfway between its own and a diagonal one (Friedman 1989), which the evidence would not choose, and
        which often predicts better where columns are far from normal. ``diagonal`` is the same worth one row.
        ``jeffreys`` is ``|Σ|^−(D+1)/2``, improper
        (Geisser 1964). ``flat`` is constant in means and (co)variances, improper: MAP is then maximum likelihood.
        ``unbiased`` is ``|Σ|^(m/2)`` for m means per (co)variance, improper: MAP then divides by n − 1 within a
        class, and by N − K where classes share it, as R's MASS and e1071 do. Or a
        :class:`~bayesppl.NormalInverseGamma` (diag, tied_diag, spherical) or
        :class:`~bayesppl.NormalInverseWishart` (full, tied) with your own hyperparameters.

    mean : PyMC distribution or callable, optional
        Instead of ``prior``, any prior of the means; fitted by sampling. See
        :mod:`bayesppl.conjugate.declared_priors`.
    sd : PyMC distribution or callable
        Together with ``mean``, for ``diag``, ``tied_diag`` and ``spherical``.
    cholesky : LKJ
        Together with ``mean``, for ``full`` and ``tied``: :class:`~bayesppl.LKJ`, which takes the place of
        ``pm.LKJCholeskyCov``.

    Examples
    --------
    >>> import bayesppl as bp
    >>> bp.Gaussian("full", prior="jeffreys")
    FullGaussian(prior='jeffreys', tied=False)
    """
    one_of("covariance", covariance, _STRUCTURES)
    return _STRUCTURES[covariance](_declared(covariance, prior, mean, sd, cholesky))


def _declared(covariance: str, prior: Any, mean: Any, sd: Any, cholesky: Any) -> Any:
    """Return the prior, or what is declared in its stead."""
    if isinstance(prior, str) and prior == "sparse" and covariance != "tied_diag":
        raise ValueError(
            f"prior='sparse' needs one variance a column for all classes, found covariance={covariance!r}; "
            "use Gaussian('tied_diag', 'sparse')"
        )
    if mean is None and sd is None and cholesky is None:
        return _DEFAULT_PRIORS[covariance] if prior is None else prior
    correlated = covariance in ("full", "tied")
    spread, unused, word = (cholesky, sd, "cholesky") if correlated else (sd, cholesky, "sd")
    if mean is None or spread is None or unused is not None:
        raise ValueError(f"covariance={covariance!r} takes priors of mean and {word} together, and no other")
    if prior is not None:
        raise ValueError(f"give either prior={prior!r} or priors of mean and {word}, not both")
    if correlated and not isinstance(spread, LKJ):
        raise TypeError(
            "cholesky must be a bayesppl.LKJ, as in bayesppl.LKJ(eta=2.0, sd=pm.HalfNormal.dist(1)), in place of "
            f"pm.LKJCholeskyCov, found {spread!r}; with another prior of covariances, write the model in PyMC and "
            "read it by bayesppl.from_pymc"
        )
    for name, value in {"mean": mean, word: spread}.items():
        if not is_declaration(value) and not isinstance(value, LKJ):
            raise TypeError(
                f"{name} must be a PyMC distribution, such as pm.Normal.dist(0, 1), or a function that creates "
                f"the variable, found {value!r}"
            )
    return MeanAndCholesky(mean, spread) if correlated else MeanAndSd(mean, spread)


@closed_forms.read_statistics.register(MomentFamily)
def _(family: MomentFamily, table: Table, responsibilities: Responsibilities) -> Moments:
    """Check the rows of a table and sum them; sums show whether a number lies outside the support."""
    X = table.numeric(family.columns)
    if family.missing != "refused" and not issparse(X) and (X.dtype.kind == "f" or not beyond_floats(X)):
        with np.errstate(over="ignore", invalid="ignore"):
            statistics = family.rows(X).sums(responsibilities)
            if statistics.is_within(LARGEST, responsibilities):
                return statistics
    return family.rows(family.bound.encode(table)).sum_rows(responsibilities)
