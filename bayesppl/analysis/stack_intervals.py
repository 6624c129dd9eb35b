"""How sure a stack is of its class probabilities: draws of its weights and of the parameters of its members."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.analysis.intervals import PROB
from bayesppl.analysis.proba_draws import entropy_split, interval, rows_per_block
from bayesppl.analysis.simulation import in_steps, number_of_draws, portions
from bayesppl.data.arguments import generator, whole
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.posterior import CHUNK_CELLS
from bayesppl.model.stack import Member, Stack, tempered_log_proba

if TYPE_CHECKING:
    import xarray as xr


def predict_proba_interval(
    stack: Stack, X: Any, prob: float = PROB, draws: int = 1000, random_state: int | None = None
) -> xr.Dataset:
    """Mean, standard deviation and equal-tailed interval of the class probabilities of a stack.

    Parameters and result are those of :func:`bayesppl.analysis.uncertainty.predict_proba_interval`. Draws are of the
    weights and of the parameters of every member; temperatures are held.
    """
    return interval(_probability_draws(stack, X, draws, random_state), stack.classes, prob)


def uncertainty(stack: Stack, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
    """The uncertainty about every label, split as by :func:`bayesppl.analysis.uncertainty.uncertainty`."""
    return entropy_split(_probability_draws(stack, X, draws, random_state), np.exp(stack.log_proba(X)))


def _probability_draws(stack: Stack, X: Any, draws: int, random_state: int | None) -> Iterator[Array]:
    """p(y = k | x) under draws, for one block of rows after the other: (n_draws, n_block, n_classes)."""
    whole("draws", draws, 2)
    return _blocks(stack, stack.columns.align(X), draws, generator(random_state))


def _blocks(stack: Stack, table: Table, draws: int, rng: np.random.Generator) -> Iterator[Array]:
    size = min(number_of_draws(member.fitted.posterior, draws) for member in stack.members)
    chosen = stack.weight_draws[rng.integers(0, len(stack.weight_draws), size)]
    step = rows_per_block(size, len(stack.classes))
    for start in range(0, max(1, len(table)), step):
        part = table.take(slice(start, start + step))
        mean = np.zeros((size, len(part), len(stack.classes)))
        for place, member in enumerate(stack.members):
            # the same draws for every block of rows
            mean += chosen[:, place, None, None] * _of_member(member, part, size, deepcopy(rng))
        mean **= 1 / stack.temperature
        yield np.asarray(mean / mean.sum(-1, keepdims=True))


def _of_member(member: Member, part: Table, size: int, rng: np.random.Generator) -> Array:
    """Tempered probabilities of some rows under draws of the parameters: (n_draws, n_rows, n_classes)."""
    posterior, rows = member.fitted.posterior, member.fitted.encode(member.recoding.transform(part))
    n_rows, width = rows.shape
    step = max(1, CHUNK_CELLS // (max(1, n_rows) * max(posterior.model.n_classes, width)))
    found = [
        np.exp(
            tempered_log_proba(
                posterior.model.log_joint(chunk).kernel(rows),
                chunk[CLASS_WEIGHTS][:, None],
                member.temperature,
            )
        )
        for portion in portions(posterior, size, rng)
        for chunk in in_steps(portion, step)
    ]
    return np.concatenate(found)[:size]
