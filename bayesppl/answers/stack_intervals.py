"""How sure a stack is of its class probabilities: draws of its weights and of the parameters of its members."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from bayesppl.answers.intervals import PROB, tails
from bayesppl.answers.simulation import in_steps, number_of_draws, portions
from bayesppl.data.arguments import generator, whole
from bayesppl.data.table import Table
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.posterior import CHUNK_CELLS
from bayesppl.model.stack import Member, Stack, tempered_log_proba

if TYPE_CHECKING:
    import xarray as xr

# Probabilities of a block of rows under all draws held at once: 8 megabytes.
_BLOCK_CELLS = 1 << 20


def predict_proba_interval(
    stack: Stack, X: Any, prob: float = PROB, draws: int = 1000, random_state: int | None = None
) -> xr.Dataset:
    """Mean, standard deviation and equal-tailed interval of the class probabilities of a stack.

    Parameters and result are those of :func:`bayesppl.answers.uncertainty.predict_proba_interval`. Draws are of the
    weights and of the parameters of every member; temperatures are held.
    """
    bounds = tails(prob)
    parts = []
    for p in _probability_draws(stack, X, draws, random_state):
        parts.append(np.stack([p.mean(0), p.std(0), *np.quantile(p, bounds, axis=0)]))
    mean, sd, lower, upper = np.concatenate(parts, axis=1)
    return _labelled(stack, {"mean": mean, "sd": sd, "lower": lower, "upper": upper}).assign_attrs(prob=prob)


def uncertainty(stack: Stack, X: Any, draws: int = 1000, random_state: int | None = None) -> xr.Dataset:
    """The uncertainty about every label, split as by :func:`bayesppl.answers.uncertainty.uncertainty`."""
    parts = []
    for p in _probability_draws(stack, X, draws, random_state):
        total, aleatoric = entr(p.mean(0)).sum(-1), entr(p).sum(-1).mean(0)
        parts.append(np.stack([total, aleatoric, total - aleatoric]))
    total, aleatoric, epistemic = np.concatenate(parts, axis=1)
    predictive = entr(np.exp(stack.log_proba(X))).sum(-1)
    return _labelled(
        stack, {"total": total, "aleatoric": aleatoric, "epistemic": epistemic, "predictive_entropy": predictive}
    )


def _probability_draws(stack: Stack, X: Any, draws: int, random_state: int | None) -> list[Array]:
    """p(y = k | x) under draws, one block of rows after the other: (n_draws, n_block, n_classes)."""
    whole("draws", draws, 2)
    rng = generator(random_state)
    sizes = [number_of_draws(member.fitted.posterior, draws) for member in stack.members]
    size = min(sizes)
    chosen = stack.weight_draws[rng.integers(0, len(stack.weight_draws), size)]
    table = stack.columns.align(X)
    step = max(1, _BLOCK_CELLS // (size * len(stack.classes)))

    def block(part: Table) -> Array:
        mean = np.zeros((size, len(part), len(stack.classes)))
        for place, member in enumerate(stack.members):
            mean += chosen[:, place, None, None] * _of_member(member, part, size, deepcopy(rng))
        mean **= 1 / stack.temperature
        return np.asarray(mean / mean.sum(-1, keepdims=True))

    return [block(table.take(slice(at, at + step))) for at in range(0, max(1, len(table)), step)]


def _of_member(member: Member, part: Table, size: int, rng: np.random.Generator) -> Array:
    """Tempered probabilities of some rows under draws of the parameters: (n_draws, n_rows, n_classes)."""
    posterior, rows = member.fitted.posterior, member.fitted.encode(member.recoding(part))
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


def _labelled(stack: Stack, columns: dict[str, Array]) -> xr.Dataset:
    import xarray as xr

    from bayesppl.answers.labelled import coord

    first = next(iter(columns.values()))
    coords: dict[str, Any] = {"row": np.arange(len(first))}
    if first.ndim == 2:
        coords["class"] = coord(stack.classes.tolist())
    return xr.Dataset({name: (tuple(coords), values) for name, values in columns.items()}, coords=coords)
