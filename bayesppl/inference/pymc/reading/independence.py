"""Rows that have a density each: independent of each other, and of constants of the model, given label and parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pytensor.graph.basic import Constant

from bayesppl.inference.pymc.reading.graphs import (
    leaves_above,
)
from bayesppl.inference.pymc.reading.labels import Label
from bayesppl.inference.pymc.reading.rows import UNFIT, Observed, same_values
from bayesppl.kernels.arrays import Array, Theta


def require_density(found: Observed) -> None:
    try:
        entries = found.density
    except NotImplementedError as error:
        raise ValueError(
            f"{found.name!r} has no log density that PyMC can derive ({error}); declare it by a distribution that has one, or "
            "give pm.CustomDist its logp"
        ) from error
    if entries.ndim == 0:
        raise ValueError(f"{found.name!r} has one density for all rows together: {_DEPEND}")


_DEPEND = (
    "the density of a row depends on other rows, as in time series and Gaussian processes, so that a new row has no density "
    "of its own"
)


def require_rows(found: Observed, theta: Theta, label: Label, rng: np.random.Generator) -> None:
    """Refuse a variable whose rows depend on each other, or on constants of the model, at a draw of the free variables."""
    n_rows = len(label.codes)
    codes, values, given = label.codes, found.observed, found.held
    usual = _scores(found, theta, codes, values, given, n_rows)
    half = rng.permutation(n_rows) < max(1, n_rows // 2)
    order = np.arange(n_rows)
    order[half] = rng.permutation(order[half])
    for taken in (rng.permutation(n_rows), order):
        moved = _scores(
            found, theta, codes[taken], values[taken], {name: v[taken] for name, v in given.items()}, n_rows
        )
        if not same_values(moved, usual[:, taken]):
            _refuse_constants(found, label, "in another order its rows have other densities")
    # rows of other lengths, and one row by itself
    some = rng.permutation(n_rows)[: max(1, n_rows // 3)]
    alone = _scores(
        found, theta, codes[some], values[some], {name: v[some] for name, v in given.items()}, len(some)
    )
    if not same_values(alone, usual[:, some]):
        raise ValueError(f"{found.name!r} has rows that depend on each other: {_DEPEND}")


def _scores(
    found: Observed, theta: Theta, codes: Array, values: Array, given: Mapping[str, Array], n_rows: int
) -> Array:
    try:
        out = found.log_density(theta, codes, values, given)
    except UNFIT as error:
        _refuse_constants(found, None, f"of {n_rows} rows: {str(error).splitlines()[0]}")
        raise
    if out.shape[1:] != (n_rows,):
        raise ValueError(
            f"{found.name!r} has {out.shape[1:]} densities for {n_rows} rows: {_DEPEND}, or the label acts on another axis"
        )
    return out


def _refuse_constants(found: Observed, label: Label | None, detail: str) -> None:
    n_rows = len(found.observed)
    leaves = leaves_above([found.clone], list(found.parameters.values()))
    fixed = [
        leaf
        for leaf in leaves
        if isinstance(leaf, Constant) and n_rows in np.shape(leaf.data) and np.ndim(leaf.data)
    ]
    if fixed:
        shape = np.shape(fixed[0].data)
        hint = _hint(fixed[0].data, label)
        raise ValueError(
            f"{found.name!r} depends on a constant of shape {shape}, of the length of the rows, which new rows do not have: "
            f"{hint}"
        )
    raise ValueError(f"{found.name!r} cannot be taken row by row ({detail}): {_DEPEND}")


def _hint(constant: Array, label: Label | None) -> str:
    """What to write instead of a constant of the length of the rows."""
    if label is not None and np.array_equal(np.ravel(constant), label.model_codes):
        return "it equals the labels, but is not used as an index"
    if label is not None and len(constant) == len(label.codes):
        first = [constant[np.argmax(label.codes == code)] for code in label.codes]
        if np.array_equal(constant, first):
            return (
                "its rows differ by class only, so index a constant by the label within the model, as in "
                f"pt.constant(values)[{label.name}]"
            )
    return "give it as pm.Data, and again with new rows"
