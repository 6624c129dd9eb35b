"""Hyperparameters chosen by the data: the declaration of a search, and its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bayesppl.data.arguments import one_of
from bayesppl.kernels.arrays import Array

Objective = Literal["evidence", "loo"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


@dataclass(frozen=True)
class Tuning:
    """The way a prior is tuned; see :func:`bayesppl.analysis.tune.tune`.

    Parameters
    ----------
    objective : {"evidence", "loo"}
    names : str or sequence of str, optional
    max_steps : int
    """

    objective: Objective = "evidence"
    names: str | Sequence[str] | None = None
    max_steps: int = 100

    def __post_init__(self) -> None:
        if self.names is not None:
            is_one = isinstance(self.names, str) or not isinstance(self.names, Iterable)
            names = (self.names,) if is_one else tuple(self.names)
            object.__setattr__(self, "names", names)


@dataclass(frozen=True, eq=False)
class Search:
    """The path of a search.

    Attributes
    ----------
    hyperparameters : tuple of str
    log_factors : (n_steps, n_hyperparameters)
    objective : (n_steps,)
        Without the hyperprior.
    converged : bool
        Whether the slope of the objective, with its hyperprior, is zero, within the bounds.
    at_bound : tuple of str
        Hyperparameters that ended where the search may go no further: the data would have them without limit.
    message : str
        Of the optimiser.
    fixed : mapping of str to float
        Factors of hyperparameters that were set before the search.
    """

    hyperparameters: tuple[str, ...]
    log_factors: Array
    objective: Array
    converged: bool
    at_bound: tuple[str, ...]
    message: str
    fixed: Mapping[str, float]

    @property
    def factors(self) -> dict[str, float]:
        """The factors that the hyperparameters are multiplied by in the end."""
        found = np.exp(self.log_factors[-1]).tolist()
        return {**self.fixed, **dict(zip(self.hyperparameters, found, strict=True))}


def as_tuning(option: Objective | Tuning) -> Tuning:
    """Return the option in full.

    Raises
    ------
    ValueError
        If the objective does not exist.
    """
    full = option if isinstance(option, Tuning) else Tuning(option)
    one_of("objective", full.objective, OBJECTIVES)
    return full
