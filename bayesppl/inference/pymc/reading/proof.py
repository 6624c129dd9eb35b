"""The proof that a part of a model is one of our declarations: its densities are the same at points not used before.

Densities here are analytic functions of parameters and data. Two such functions that agree at random points of an open
set agree everywhere, almost surely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.data.table import Table
from bayesppl.families import Family
from bayesppl.inference.pymc.reading import support
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.priors import Density
from bayesppl.inference.pymc.reading.rows import Observed
from bayesppl.kernels.arrays import Array, Theta

#: Relative difference up to which two log densities are the same.
TOLERANCE = 1e-9

#: Fresh points at which densities are compared, at each distance from the start.
POINTS = 7

#: Distances in unconstrained coordinates, and the tolerance there: far out, exponentials cost digits.
SPREADS = {0.3: TOLERANCE, 1.0: TOLERANCE, 3.0: 1e-8, 6.0: 1e-7}

#: Largest condition number of matrices whose densities are compared.
CONDITION = 1e6


def prior_differs(density: Density, natural: Natural, belief: Conjugate, rng: np.random.Generator) -> str | None:
    """Why a prior is not this belief, or None where they differ by a constant."""
    constant = None
    for spread, tolerance in SPREADS.items():
        theta, terms = density.evaluate(density.coordinates.draw(POINTS, rng, spread))
        precise = _is_precise(natural, theta)
        if not precise.any() and constant is not None:
            continue
        theta = {name: values[precise] for name, values in theta.items()}
        theirs = np.sum([term.reshape(POINTS, -1).sum(1) for term in terms], axis=0)[precise]
        ours = belief.log_prob(natural.for_family(theta))
        gap = theirs - ours
        if constant is None:
            if len(gap) < POINTS:
                return "its matrices are too close to singular ones to compare densities"
            constant = gap[0]
        scale = np.maximum(1.0, np.abs(ours))
        if not (np.abs(gap - constant) <= tolerance * scale).all():
            return f"its prior density differs from that of {type(belief).__name__}"
    return support.falls_short(density, natural, belief, rng)


def _is_precise(natural: Natural, theta: Theta) -> Array:
    """At which points densities keep enough digits: far out, matrices lose as many as their condition number has."""
    conditions = [
        np.linalg.cond(theta[name]).reshape(len(theta[name]), -1).max(1)
        for name, event in natural.events.items()
        if event == "matrix"
    ]
    n_points = len(next(iter(theta.values())))
    return np.logical_and.reduce([np.ones(n_points, dtype=bool), *(found < CONDITION for found in conditions)])


def likelihood_differs(
    observed: Sequence[Observed],
    tables: Mapping[str, Array],
    family: Family,
    table: Table,
    theirs: Theta,
    ours: Theta,
    given: Mapping[str, Array],
) -> str | None:
    """Why the densities of rows are not those of a family, or None where they are equal.

    Parameters
    ----------
    tables : mapping of str to array
        Rows of every observed variable.
    table : Table
        The same rows, as the family reads them.
    theirs, ours : Theta
        The user's variables, and the parameters of the family, at the same points.
    """
    n_rows = len(table)
    n_classes = len(family.bound.coords.get("class", ())) or next(iter(ours.values())).shape[1]
    expected = family.log_likelihood(ours)(family.bound.encode(table))
    for k in range(n_classes):
        codes = np.full(n_rows, k)
        found = np.sum([x.log_density(theirs, codes, tables[x.name], given) for x in observed], axis=0)
        gap = np.abs(found - expected[..., k])
        scale = np.maximum(1.0, np.abs(expected[..., k]))
        if not (gap <= TOLERANCE * scale).all():
            return "the density of its rows differs"
    return None
