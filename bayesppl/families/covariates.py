"""Covariates of rows: numbers that belong to a row and that no family models.

The trials of a binomial row, the exposure of a Poisson row and the total of a row of counts are given, not random:
a density is that of the features *given* them, and a row can be simulated only for given ones. They have names,
like parameters, and within a product the name of a covariate carries the prefix of its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bayesppl.families.support import Support, check_support
from bayesppl.kernels.arrays import Array

#: Covariates of some rows by name: (n_rows,) each.
Covariates = Mapping[str, Array]

#: Those of rows that have none.
NO_COVARIATES: Covariates = MappingProxyType({})


def required(covariates: Covariates, name: str) -> Array:
    """Return one of the covariates; refuse to simulate rows without it."""
    if name not in covariates:
        raise ValueError(f"these rows cannot be simulated without their {name}: pass covariates={{{name!r}: …}}")
    return covariates[name]


def covariates_of(prefix: str, covariates: Covariates, names: Iterable[str]) -> Covariates:
    """Select the covariates of one block, under its own names for them."""
    return {name: required(covariates, prefix + name) for name in names}


def of_rows(covariates: Covariates, rows: Any) -> dict[str, Array]:
    """Select the covariates of some of the rows: of a slice, or of rows by number."""
    return {name: values[rows] for name, values in covariates.items()}


def check_covariates(given: Mapping[str, Any], supports: Mapping[str, Support], n_rows: int) -> dict[str, Array]:
    """Check covariates, one number for all rows or one for each, and return them as arrays (n_rows,).

    Raises
    ------
    TypeError, ValueError
        Naming the covariate that is missing, unknown, no number, of the wrong length or outside its support.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"covariates must be a mapping, as in {example_of(supports)}, found {given!r}")
    absent, unknown = (
        [name for name in names if name not in others] for names, others in ((supports, given), (given, supports))
    )
    if absent:
        raise ValueError(
            f"covariates lack {absent[0]!r}; pass {example_of(supports)}, each one number or {n_rows} of them"
        )
    if unknown:
        known = f"given {', '.join(map(repr, supports))}" if supports else "without any"
        raise ValueError(f"covariate {unknown[0]!r} is unknown here: rows of this model are simulated {known}")
    checked = {}
    for name, support in supports.items():
        values = np.asarray(given[name])
        if values.dtype.kind not in "biuf":
            raise TypeError(f"covariate {name!r} must be numbers, found {given[name]!r}")
        values = values.astype(np.float64)
        if values.shape not in ((), (n_rows,)):
            raise ValueError(
                f"covariate {name!r} has shape {values.shape}; pass one number, or one for each of the "
                f"{n_rows} rows"
            )
        wrong = np.isnan(values)
        if wrong.any():
            raise ValueError(
                f"covariate {name!r} is NaN in row {int(np.argmax(wrong))}; pass a number for every row"
            )
        checked[name] = np.broadcast_to(values, (n_rows,))
        check_support(checked[name][:, None], [name], "given", support)
    return checked


def example_of(supports: Mapping[str, Support]) -> str:
    """Show how the covariates of a model are passed."""
    return "covariates={" + ", ".join(f"{name!r}: …" for name in supports) + "}"
