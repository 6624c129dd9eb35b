"""The independent factors of a posterior, in closed form or known by draws, for taking rows out of it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.membership import Membership
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class DrawnFactor:
    """A factor of p(x, y = k) that is known at draws, independent of all others under the posterior.

    Attributes
    ----------
    rows : encoded rows
        What the factor sees of the rows of the fit.
    densities : callable
        From some of these rows and their membership to the logarithms of the factor under every draw, given all
        rows of the fit and given all but the row itself, both (n_draws, n_some_rows, n_classes). They differ
        where parameters are integrated out given the draw.
    shape : numbers of chains and draws
    class_weights : (n_draws, n_classes), optional
        Where they belong to the factor.
    without : callable, optional
        From the place of a row to the factor learned from all others, sampled anew.
    """

    rows: Any
    densities: Callable[[Any, Membership], tuple[Array, Array]]
    shape: tuple[int, int]
    class_weights: Array | None = None
    without: Callable[[int], DrawnFactor] | None = None


class Factors(NamedTuple):
    """Independent factors of a posterior.

    Attributes
    ----------
    labels : Conjugate or None
        Posterior belief about the class weights, where that is known.
    exact : sequence of (Posterior, encoded rows)
        Those in closed form, each beside these class weights.
    drawn : sequence of DrawnFactor
    """

    labels: Conjugate | None
    exact: Sequence[tuple[Any, Any]]
    drawn: Sequence[DrawnFactor]
