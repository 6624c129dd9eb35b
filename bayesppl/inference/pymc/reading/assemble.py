"""Terms of a log density, of variables that make up a parameter together, in the order of its entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesppl.inference.pymc.reading.jacobian import Match

#: Terms, arrays or graphs, and their shapes, whose draw axis leads.
Terms = list[tuple[Any, tuple[int, ...]]]


def assemble(
    matches: Sequence[Match],
    sizes: Mapping[str, tuple[int, ...]],
    terms: Terms,
    concatenate: Callable[..., Any],
) -> Terms | None:
    """One term for each parameter, or for each variable that is all of one.

    Parameters
    ----------
    matches : sequence of Match
        One for each term.
    sizes : mapping of str to tuple of int
        Shapes of the parameters, without draws.
    concatenate : callable
        Of NumPy for arrays, of PyTensor for graphs.

    Returns
    -------
    list, optional
        None where the variables do not make up their parameter.
    """
    whole = [term for found, term in zip(matches, terms, strict=True) if found.is_whole]
    parts: dict[str, list[tuple[Match, Any, tuple[int, ...]]]] = {}
    for found, (term, shape) in zip(matches, terms, strict=True):
        if not found.is_whole:
            parts.setdefault(found.parameter, []).append((found, term, shape))
    for name, group in parts.items():
        n_draws, full = group[0][2][0], sizes[name]
        if sum(found.of(np.empty(full)).size for found, _, _ in group) != np.prod(full):
            return None
        n_terms = sum(int(np.prod(shape[1:])) for _, _, shape in group)
        # the density of a vector or a matrix has one term for all its entries
        kept = next((full[:n] for n in range(len(full), -1, -1) if np.prod(full[:n]) == n_terms), None)
        if kept is None or any(len(found.part) > len(kept) for found, _, _ in group):
            return None
        if not kept:  # one term for one variable, however its classes are ordered
            whole.append((group[0][1].reshape((n_draws,)), (n_draws,)))
            continue
        places = np.arange(n_terms).reshape(kept)
        order = np.concatenate([found.of(places).ravel() for found, _, _ in group])
        flat = concatenate([term.reshape((n_draws, -1)) for _, term, _ in group], axis=1)
        whole.append((flat[:, np.argsort(order)].reshape((n_draws, *kept)), (n_draws, *kept)))
    return whole
