"""Families of rows of counts with a probability per class and word: all but what a row says of the probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesppl.conjugate import Dirichlet
from bayesppl.conjugate.association import log_association
from bayesppl.conjugate.simplices import SimplexPrior
from bayesppl.conjugate.statistics import Counts
from bayesppl.families._bases.conjugate_family import ConjugateNumeric
from bayesppl.families._bases.dirichlet_multinomial import WORD_COUNTS, row_totals
from bayesppl.families.covariates import Covariates
from bayesppl.families.family import Takes
from bayesppl.families.support import COUNTS, Support
from bayesppl.kernels.arrays import Array, Theta


@dataclass(frozen=True, eq=False)
class WordFamily(ConjugateNumeric):
    """Counts of words given their total, dense or sparse, with a simplex of probabilities for every class."""

    prior_field: ClassVar[str] = "probability"
    support: ClassVar = WORD_COUNTS
    takes: ClassVar[Takes] = "whole numbers"
    allows_sparse: ClassVar[bool] = True
    allows_missing: ClassVar[bool] = False

    @property
    @final
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"probability": ("class", "feature")}

    @property
    @final
    def coords(self) -> dict[str, Any]:
        return {"feature": list(self.columns)}

    @property
    @final
    def factor_dims(self) -> tuple[str, ...]:
        return ("class",)

    @final
    def _log_dependence(self, prior: Any, common: Any, statistics: Counts) -> Array:
        return log_association(prior.concentration, statistics.counts, np.zeros(1, np.intp))[0]

    @final
    def marginal_rows(self, X: Any, units: Sequence[int]) -> Any:
        # a row without any word has the same density, one, under every class
        return X if units else csr_array(X.shape)

    @property
    @final
    def covariate_supports(self) -> Mapping[str, Support]:
        return {"total": COUNTS}

    @final
    def covariates(self, X: Any) -> Covariates:
        return {"total": row_totals(X) if issparse(X) else X.sum(1, dtype=np.float64)}

    @abstractmethod
    def resolve_prior(self, statistics: Counts) -> Dirichlet | SimplexPrior: ...

    @final
    def mle(self, statistics: Counts) -> Theta:
        return self.resolve_prior(statistics).mle(statistics)

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Counts, prefix: str = "") -> None:
        import pymc as pm
        import pytensor.tensor as pt

        log_density = (statistics.counts * pt.log(variables["probability"])).sum()
        pm.Potential(f"{prefix}x", log_density + statistics.log_base.sum())
