"""Gaussian priors declared in PyMC: means with standard deviations, and with correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayesppl.conjugate.covariance_graphs import (
    Spread,
    below_diagonal,
    by_partials,
    log_left,
    log_lengths,
)
from bayesppl.conjugate.declare import declare, require_free
from bayesppl.conjugate.declared_priors import POSITIVE, REAL, Declared, Dims, named
from bayesppl.data.names import spelled
from bayesppl.data.notebook import declaration_table


@dataclass(frozen=True, eq=False)
class LKJ:
    r"""Standard deviations times an LKJ correlation matrix, :math:`p(R) \propto |R|^{\eta - 1}`.

    The correlation matrix is built from its partial correlations, which are independent and beta distributed
    (Lewandowski, Kurowicka & Joe 2009, section 2.4): all classes at once, without linear algebra in the prior.

    Parameters
    ----------
    eta : float
        1 is uniform over correlation matrices; larger values prefer weak correlations.
    sd : PyMC distribution or callable
        Prior of the standard deviations, (class, feature), or (feature,) where the covariance is tied.

    Examples
    --------
    >>> import bayesppl as bp
    >>> import pymc as pm
    >>> bp.LKJ(eta=2.0, sd=pm.Exponential.dist(1.0)).eta
    2.0
    """

    _repr_html_ = declaration_table

    eta: float
    sd: Any

    def __post_init__(self) -> None:
        if not self.eta > 0:
            raise ValueError(f"LKJ: eta must be positive, found {spelled(self.eta)}")


@dataclass(frozen=True, eq=False)
class MeanAndSd(Declared):
    """Declared priors of the means and standard deviations of independent features."""

    parameters: ClassVar[tuple[str, ...]] = ("mean", "variance")

    mean_prior: Any
    sd_prior: Any

    @property
    def declarations(self) -> Mapping[str, Any]:
        return {"mean": self.mean_prior, "sd": self.sd_prior}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        mean = declare(self.mean_prior, **named(dims, prefix, "mean"), space=REAL)
        variance = named(dims, prefix, "variance")
        sd = declare(self.sd_prior, prefix + "sd", variance["dims"], POSITIVE)
        return {"mean": mean, "variance": pm.Deterministic(var=sd**2, **variance)}

    def log_volume(self, model: Any, prefix: str) -> Any:
        import pytensor.tensor as pt

        require_free(model, prefix + "mean", prefix + "sd")
        return pt.log(model[prefix + "sd"]).sum()


@dataclass(frozen=True, eq=False)
class MeanAndCholesky(Declared):
    """Declared priors of the means, and of the covariances by standard deviations and correlations."""

    parameters: ClassVar[tuple[str, ...]] = ("mean", "covariance")

    mean_prior: Any
    cholesky_prior: LKJ

    @property
    def declarations(self) -> Mapping[str, Any]:
        return {"mean": self.mean_prior, "cholesky": self.cholesky_prior}

    def declare(self, dims: Dims, prefix: str = "") -> dict[str, Any]:
        import pymc as pm

        mean = declare(self.mean_prior, **named(dims, prefix, "mean"), space=REAL)
        covariance = named(dims, prefix, "covariance")
        spread = _declare_lkj(self.cholesky_prior, covariance["dims"], prefix)
        return {
            "mean": mean,
            "covariance": pm.Deterministic(var=spread.covariance, **covariance),
            "spread": spread,
        }

    def log_volume(self, model: Any, prefix: str) -> Any:
        import pytensor.tensor as pt

        require_free(model, prefix + "mean", prefix + "sd")
        sd = model[prefix + "sd"]
        n_features = sd.type.shape[-1] or len(model.coords[f"{prefix}feature"])
        left = log_left(below_diagonal(_correlations(model, prefix), n_features))
        lengths, log_diagonal = log_lengths(left), left.sum(-1)
        above = np.arange(n_features)
        # Σ from its root, rows of the root from their lengths sd and directions, directions from partial
        # correlations
        of_root = ((n_features - above) * (pt.log(sd) + log_diagonal)).sum()
        of_rows = (above * pt.log(sd) - log_diagonal).sum()
        of_directions = (np.tri(n_features, k=-1) * lengths).sum()
        return of_root + of_rows + of_directions


def _declare_lkj(prior: LKJ, dims: tuple[str, ...], prefix: str) -> Spread:
    """Declare standard deviations and partial correlations."""
    import pymc as pm

    model = pm.modelcontext(None)
    batch = tuple(len(model.coords[dim]) for dim in dims[:-2])
    n_features = len(model.coords[dims[-1]])
    sd = declare(prior.sd, prefix + "sd", dims[:-1], POSITIVE)
    columns = np.tril_indices(n_features, -1)[1]
    shape = prior.eta + (n_features - 2 - columns) / 2
    unit = pm.Beta(f"{prefix}partial_correlation", shape, shape, shape=(*batch, len(columns)))
    unit.tag.declared_by_user = True
    return by_partials(sd, below_diagonal(_correlations(model, prefix), n_features))


def _correlations(model: Any, prefix: str) -> Any:
    """Return partial correlations between −1 and 1, one for each pair of features."""
    return 2 * model[f"{prefix}partial_correlation"] - 1
