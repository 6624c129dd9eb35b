"""The proof that a part of a model is one of our declarations: its densities are the same at fresh points.

Densities here are analytic functions of parameters and data. Two such functions that agree at random points of an
open set agree everywhere, almost surely.

They may still differ in where they are zero, which is looked at in :mod:`.coverage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bayesppl.conjugate import Beta, Conjugate
from bayesppl.data.table import Table
from bayesppl.families import Family
from bayesppl.inference.pymc.reading import prior_density
from bayesppl.inference.pymc.reading.coverage import evaluated, falls_short, log_prob
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.observed import Observed
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.kernels.arrays import Array, Theta

#: Relative difference up to which two log densities are the same.
TOLERANCE = 1e-9

#: Fresh points at which densities are compared, at each distance from the start.
POINTS = 7

#: Distances in unconstrained coordinates, and the tolerance there: far out, exponentials cost digits.
SPREADS = {0.3: TOLERANCE, 1.0: TOLERANCE, 3.0: 1e-8, 6.0: 1e-7}

#: How many times further variables are taken that are their own coordinates, in whatever unit the rows have: a
#: prior that is many units wide looks like any other one within a few. The square of it times ``LEAST_SQUARES``
#: is what rounding leaves open there of hyperparameters that were found nearby.
STRETCHES, LEAST_SQUARES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6), 1e-14

#: Up to this condition number of correlations, and inverse distance of probabilities from one, densities compare.
CONDITION = 1e6


def prove_prior(
    natural: Natural, theta: Mapping[str, Any], coordinates: Coordinates, rng: np.random.Generator
) -> tuple[Conjugate, prior_density.PriorDensity] | str:
    """Find the belief that is the prior and prove it, or return the reason why there is none."""
    density = prior_density.as_density(coordinates, natural, theta, rng)
    if isinstance(density, str):
        return density
    belief = prior_density.propose(density, rng)
    if isinstance(belief, str):
        return belief
    wrong = prior_differs(density, belief, rng)
    return wrong if wrong is not None else (belief, density)


def prior_differs(density: prior_density.PriorDensity, belief: Conjugate, rng: np.random.Generator) -> str | None:
    """Say why a prior is not this belief; return None where they differ by a constant."""
    coordinates, natural, constant = density.coordinates, density.natural, None
    for spread, stretch, tolerance in _distances(coordinates):
        for theta, theirs in evaluated(density, coordinates.draw(POINTS, rng, spread, stretch), volumes=True):
            ours = log_prob(belief, natural, theta)
            compared = _is_precise(natural, theta) & np.isfinite(ours)
            if constant is None:
                if not compared.all():
                    return "its matrices are too close to singular ones to compare densities"
                constant = theirs[0] - ours[0]
            gap = np.abs(theirs - ours - constant)[compared]
            if not (gap <= tolerance * np.maximum(1.0, np.abs(ours[compared]))).all():
                return f"its prior density differs from that of {type(belief).__name__}"
    return falls_short(density, belief, rng)


def _distances(coordinates: Coordinates) -> Iterator[tuple[float, float, float]]:
    """Yield distances of points from the start, how many times as far without a transform, and tolerances."""
    yield from ((spread, 1.0, tolerance) for spread, tolerance in SPREADS.items())
    if any(coordinates.transforms[place] is None for place in coordinates.moving):
        yield from ((1.0, stretch, TOLERANCE + LEAST_SQUARES * stretch**2) for stretch in STRETCHES)


def _is_precise(natural: Natural, theta: Theta) -> Array:
    """Return at which points densities keep enough digits.

    Matrices lose as many as their condition number has in units of its own for each column, a probability those of
    its distance from one.
    """
    precise = np.ones(len(next(iter(theta.values()))), dtype=bool)
    for name, event in natural.events.items():
        if event == "matrix":
            scale = np.sqrt(np.abs(np.einsum("...ii->...i", theta[name])))
            found = np.linalg.cond(theta[name] / (scale[..., :, None] * scale[..., None, :])) < CONDITION
        elif name == Beta.parameter:
            found = 1 - theta[name] > 1 / CONDITION
        else:
            continue
        precise &= found.reshape(len(found), -1).all(1)
    return precise


def likelihood_differs(
    observed: Sequence[Observed],
    tables: Mapping[str, Array],
    family: Family,
    table: Table,
    theirs: Theta,
    ours: Theta,
    given: Mapping[str, Array],
) -> str | None:
    """Say why the densities of rows are not those of a family; return None where they are.

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


#: How many rows are tried.
ROWS = 24


def given_like(held: Array, rng: np.random.Generator) -> Array:
    """Change what is given with rows of the fit, such as exposures; whole numbers never become smaller."""
    if held.dtype.kind == "f":
        return np.asarray(held * np.exp(rng.normal(size=held.shape)))
    return np.asarray(held + rng.integers(0, 3, held.shape, dtype=held.dtype))
