"""Cells that are missing, filled: all of a row, whether or not sums can be taken without them."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from bayesppl.families.block_rows import BlockRows
from bayesppl.families.composite import CompositeFamily
from bayesppl.families.conditional_gaussian import ConditionalGaussian
from bayesppl.families.family import Family
from bayesppl.families.gaps import draw_gaps, drawn_by_block
from bayesppl.families.mixture import Mixture
from bayesppl.families.multivariate_t import MultivariateT
from bayesppl.kernels.arrays import Array, Theta


@singledispatch
def draw_missing(family: Family, theta: Theta, X: Any, codes: Array, rng: np.random.Generator) -> Any:
    """Draw all missing cells of encoded rows, those too that sums are taken without.

    Raises
    ------
    NotImplementedError
        For cells of categories on which other columns depend.
    """
    if not isinstance(X, np.ndarray):
        return X  # counts, which cannot be missing
    drawn = draw_gaps(family, theta, X, codes, rng)
    if family.sums_over_gaps and X.shape[1] > 1:
        _require_filled(family, drawn)
    missing = missing_cells(drawn)
    if not missing.any():
        return drawn
    # the columns are independent given class and parameters, also where they share some of these
    return np.where(missing, family.simulate(theta, codes, rng, family.bound.covariates(X)), drawn)


@singledispatch
def require_fillable(family: Family, X: Any) -> None:
    """Refuse to fill cells of parts of a user's model that are sampled.

    Raises
    ------
    NotImplementedError
    """
    if isinstance(X, BlockRows) and any(missing_cells(part).any() for part in X.parts.values()):
        raise NotImplementedError(
            "cells of a part of a model written in PyMC that was sampled are not filled; draw them by "
            "pm.sample_posterior_predictive"
        )


def missing_cells(X: Array) -> Array:
    """Find the encoded cells that are missing: NaN among numbers, negative ones among codes of levels."""
    return np.asarray(np.isnan(X) if X.dtype.kind == "f" else X < 0)


def _require_filled(family: Family, X: Array) -> None:
    if missing_cells(X).any():
        raise NotImplementedError(
            f"the {family.name} family cannot fill missing categories on which other columns depend. Use one "
            "whose columns are independent given the class, such as bayesppl.MixedNB has"
        )


@draw_missing.register(CompositeFamily)
def _(family: CompositeFamily, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator) -> BlockRows:
    return drawn_by_block(draw_missing, family, theta, X, codes, rng)


@require_fillable.register(CompositeFamily)
def _(family: CompositeFamily, X: BlockRows) -> None:
    for block, part in family.parts.items():
        require_fillable(part, X.parts[block])


@require_fillable.register(ConditionalGaussian | Mixture)
def _(family: ConditionalGaussian | Mixture, X: Any) -> None:
    """Take all rows: what cannot be filled of them, :func:`draw_missing` refuses."""


@draw_missing.register(MultivariateT)
def _(family: MultivariateT, theta: Theta, X: Array, codes: Array, rng: np.random.Generator) -> Array:
    return np.asarray(draw_gaps(family, theta, X, codes, rng)[:, :-1])


@draw_missing.register(ConditionalGaussian)
def _(
    family: ConditionalGaussian, theta: Theta, X: BlockRows, codes: Array, rng: np.random.Generator
) -> BlockRows:
    _require_filled(family, X.parts["categories"])
    return draw_gaps(family, theta, X, codes, rng)


@draw_missing.register(Mixture)
def _(family: Mixture, theta: Theta, X: Any, codes: Array, rng: np.random.Generator) -> Any:
    at = codes * family.components + family.allocate(theta, X, codes, rng)
    return draw_missing(family.inner, theta, X, at, rng)
