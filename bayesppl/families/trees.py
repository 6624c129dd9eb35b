"""What families of averaged trees share: the prior of the highest evidence, and refusals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, final

import numpy as np
from scipy.optimize import minimize_scalar

from bayesppl.conjugate.averaged_trees import AveragedTrees, refuse_pymc
from bayesppl.conjugate.conjugate import require_positive
from bayesppl.data.arguments import one_of
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.family import ConjugateFamily
from bayesppl.kernels.arrays import Array, Theta

# Bounds of the number of rows that the prior is worth, where it is chosen by evidence
_STRENGTHS = (0.1, 1000.0)

# A prediction takes some 17 bytes for the cube of their number: 4 GB
_MOST_COLUMNS = 600


@dataclass(frozen=True, eq=False)
class TreeFamily(ConjugateFamily):
    """Columns that depend on each other along a tree, averaged over all trees.

    Parameters
    ----------
    tree : {"common", "per_class"}
        Whether the classes share one tree, with parameters of their own along its edges, or have one each.
    prior : "evidence" or float
        How many rows of each class the prior is worth; by default the number of the highest evidence.
    """

    has_pymc_model: ClassVar[bool] = False

    tree: Literal["common", "per_class"] = "common"
    prior: str | float = "evidence"

    columns: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)
    classes: tuple[Hashable, ...] = field(default=(), kw_only=True, repr=False)

    @abstractmethod
    def priors(self, statistics: Any) -> Callable[[float], AveragedTrees]:
        """Return a function from a number of rows to the prior that is worth as many."""

    @final
    @property
    def is_common(self) -> bool:
        """Whether the classes share one tree."""
        return self.tree == "common"

    @final
    def even_weights(self, n_classes: int) -> Array:
        """Return log weights of edges under which all trees have the same probability."""
        n_pairs = len(self.columns) * (len(self.columns) - 1) // 2
        return np.zeros(n_pairs if self.is_common else (n_classes, n_pairs))

    @final
    @property
    def edge_dims(self) -> tuple[str, ...]:
        """The dimension names of the edges."""
        return ("pair",) if self.is_common else ("class", "pair")

    @final
    def resolve_prior(self, statistics: Any) -> AveragedTrees:
        one_of("tree", self.tree, ("common", "per_class"))
        worth = self.priors(statistics)
        if self.prior != "evidence":
            if isinstance(self.prior, str):
                raise ValueError(f"prior={self.prior!r} is not known; use 'evidence', or a number of rows")
            require_positive(self, prior=self.prior)
            return worth(self.prior)
        best = minimize_scalar(
            lambda log_strength: -worth(np.exp(log_strength)).log_increment(statistics).sum(),
            bounds=np.log(_STRENGTHS),
            method="bounded",
            options={"xatol": 0.01},
        )
        return worth(float(np.exp(best.x)))

    @final
    def mle(self, statistics: Any) -> Theta:
        raise UndefinedEstimateError(
            "no single tree is sought, and hence none of the largest likelihood. Use rule='predictive', which "
            "averages over all trees."
        )

    @final
    def observe_rows(self, variables: dict[str, Any], X: Any, codes: Array, prefix: str = "") -> None:
        refuse_pymc()

    @final
    def observe_statistics(self, variables: dict[str, Any], statistics: Any, prefix: str = "") -> None:
        refuse_pymc()


def require_few_columns(n_columns: int) -> None:
    """Refuse columns of which predictions would take more memory than there is."""
    if n_columns > _MOST_COLUMNS:
        raise ValueError(
            f"every three of {n_columns:,} columns take part in a prediction, and at most {_MOST_COLUMNS} columns "
            "are taken. Choose some, or hold them independent (bayesppl.MixedNB)"
        )
