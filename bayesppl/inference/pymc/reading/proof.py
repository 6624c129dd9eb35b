"""The proof that a part of a model is one of our declarations: its densities are the same at fresh points.

Densities here are analytic functions of parameters and data. Two such functions that agree at random points of an
open set agree everywhere, almost surely.

They may still differ in where they are zero: a uniform probability between 0.2 and 0.8 has the density of Beta(1,
1), and a rate cut off at 50 that of its gamma, each on a part of the space only. So the parameters are followed to
the ends of the unconstrained coordinates, and must get close to the ends of their own space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pymc.distributions.multivariate import WishartRV
from pymc.distributions.transforms import CholeskyCovTransform
from pymc.logprob import transforms
from pytensor.tensor.random.basic import DirichletRV

from bayesppl.conjugate import Beta, Conjugate
from bayesppl.data.table import Table
from bayesppl.families import Family
from bayesppl.inference.pymc.reading import prior_density
from bayesppl.inference.pymc.reading.naturals import Event, Natural
from bayesppl.inference.pymc.reading.observed import Observed, same_values
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

#: Densities are compared up to this condition number of matrices, and inverse distance of probabilities from one.
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
        for theta, theirs in _evaluated(density, coordinates.draw(POINTS, rng, spread, stretch), volumes=True):
            ours = _log_prob(belief, natural, theta)
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

    Matrices lose as many as their condition number has, a probability those of its distance from one.
    """
    precise = np.ones(len(next(iter(theta.values()))), dtype=bool)
    for name, event in natural.events.items():
        if event == "matrix":
            found = np.linalg.cond(theta[name]) < CONDITION
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


#: How far coordinates are followed: where a transform stretches them, and where they are the variable itself.
FAR, FURTHER = 30.0, 1e4

#: Shares of the way to the ends, at which nothing must be cut off either.
SHARES = (1e-3, 1e-2, 0.1, 1.0)

#: Points at these ends, and how many sets of variables are moved there: all, and some at random.
ENDS, SUBSETS = 10, 3

#: How many times further than at ordinary points a mean must get, and a logarithm or log odds from its middle.
TIMES, LOGS = 100.0, 12.0

#: Points at which two entries of a parameter must get far up and down, in all four ways.
CORNERS = 400

#: How far correlations must get, up and down.
CORRELATION = 0.3

#: Transforms from all real numbers to all values of a variable, entry by entry.
_ENTRYWISE = (transforms.LogTransform, transforms.LogOddsTransform, transforms.IntervalTransform)

#: Those of the entries that a covariance matrix is made of: an interval would confine it.
_OF_MATRICES = (transforms.LogTransform,)

#: Transforms from all real numbers to all simplices, or all matrices.
_WHOLE = (transforms.SimplexTransform, CholeskyCovTransform)


def falls_short(density: prior_density.PriorDensity, belief: Conjugate, rng: np.random.Generator) -> str | None:
    """Say what a prior does not cover; return None where it covers all that ``belief`` does."""
    coordinates, natural = density.coordinates, density.natural
    entrywise: tuple[type, ...] = _OF_MATRICES if "matrix" in natural.events.values() else _ENTRYWISE
    if set(natural.events) == {"mean"}:  # a half line may be added to another mean
        entrywise = ()
    for place in coordinates.moving:
        variable, transform = coordinates.free[place], coordinates.transforms[place]
        # a Dirichlet or a Wishart prior may be given a transform that confines it, too
        whole = isinstance(variable.owner.op, DirichletRV | WishartRV) and isinstance(transform, _WHOLE)
        if transform is not None and not isinstance(transform, entrywise) and not whole:
            return f"{variable.name!r} is confined by the transform {type(transform).__name__}"
    usual, _ = density.evaluate(coordinates.draw(ENDS, rng))
    # far out matrices are nearly singular, and have no correlations up to rounding
    on_the_way = coordinates.draw(4 * ENDS, rng, 3.0)
    ends = []
    for points in (on_the_way, *_ends(coordinates, rng)):
        for theta, theirs in _evaluated(density, points):
            zero = np.isneginf(theirs) & _is_inside(natural, theta)
            if zero.any() and np.isfinite(_log_prob(belief, natural, _at(theta, zero))).any():
                return "its prior is zero where that of the family is not"
            ends.append(theta)
    for name, event in natural.events.items():
        if event != "scalar" and (_is_of_wisharts(density, name) or _is_of_dirichlets(density, name, rng)):
            continue
        if not _covers(name, event, usual[name], [theta[name] for theta in ends]):
            return f"its prior does not cover every {name} of the family"
        # where they stand for variables one to one, no entry of a parameter bounds another
        if event == "scalar" and density.matches is None and _are_ordered(density, name, usual[name], rng):
            return f"its prior does not cover every {name} of the family beside every other"
    return None


def _is_of_wisharts(density: prior_density.PriorDensity, name: str) -> bool:
    """Whether matrices are those of Wishart variables, or their inverses."""
    free = density.coordinates.free
    return any(
        found.parameter == name
        and found.relation != "entrywise"
        and all(isinstance(free[place].owner.op, WishartRV) for place in found.places)
        for found in density.matches or ()
    )


def _is_of_dirichlets(density: prior_density.PriorDensity, name: str, rng: np.random.Generator) -> bool:
    """Whether the cells of simplices are those of Dirichlet variables, in any order."""
    coordinates = density.coordinates
    points = coordinates.draw(2, rng)
    variables = [coordinates.free[place] for place in coordinates.moving]
    own = coordinates.evaluate(
        [coordinates.constrained[v] for v in variables if isinstance(v.owner.op, DirichletRV)], points
    )
    cells = density.parameters(points)[name].reshape(2, -1)
    theirs = np.concatenate([np.zeros((2, 0)), *(values.reshape(2, -1) for values in own)], axis=1)
    if cells.shape != theirs.shape:
        return False
    return same_values(cells[:, np.argsort(cells[0])], theirs[:, np.argsort(theirs[0])], 1e-13)


def _evaluated(
    density: prior_density.PriorDensity, points: Sequence[Array], *, volumes: bool = False
) -> Iterator[tuple[Theta, Array]]:
    """Evaluate parameters and the log density at points; without those too far out for matrices."""
    try:
        with np.errstate(all="ignore"):
            theta, terms = density.evaluate(points, volumes=volumes)
            found = theta, np.sum([term.reshape(len(term), -1).sum(1) for term in terms], axis=0)
    except np.linalg.LinAlgError:
        middle = len(points[0]) // 2
        for half in (slice(middle), slice(middle, None)) if middle else ():
            yield from _evaluated(density, [values[half] for values in points], volumes=volumes)
        return
    yield found


def _is_inside(natural: Natural, theta: Theta) -> Array:
    """Return at which points no parameter was rounded to the end of its space, where logarithms overflow too."""
    least = np.finfo(np.float64).tiny
    inside = [np.ones(len(next(iter(theta.values()))), dtype=bool)]
    for name, event in natural.events.items():
        if name != "mean" and event != "matrix":
            within = (theta[name] >= least) & ((theta[name] < 1) | (event == "scalar" and name != "probability"))
            inside.append(within.reshape(len(within), -1).all(1))
    return np.logical_and.reduce(inside)


def _log_prob(belief: Conjugate, natural: Natural, theta: Theta) -> Array:
    """Compute the log density of a belief; NaN where parameters are too extreme to be numbers."""
    n_points = len(next(iter(theta.values())))
    try:
        with np.errstate(all="ignore"):
            return belief.log_prob(natural.for_family(theta))
    except np.linalg.LinAlgError:
        each = [_log_prob(belief, natural, _at(theta, [i])) for i in range(n_points)] if n_points > 1 else []
        return np.concatenate(each) if each else np.full(1, np.nan)


def _at(theta: Theta, points: Any) -> Theta:
    """Select some of the points of parameters."""
    return {name: values[points] for name, values in theta.items()}


def _furthest(coordinates: Coordinates, place: int) -> Array:
    """Return how far a variable is followed."""
    return coordinates.units[place] * (FURTHER if coordinates.transforms[place] is None else FAR)


def _ends(coordinates: Coordinates, rng: np.random.Generator) -> list[list[Array]]:
    """Return points at the ends of all variables, and of some of them."""
    found = []
    for share in SHARES:
        for moved in range(SUBSETS):
            points = coordinates.draw(ENDS, rng)
            for place in coordinates.moving:
                if not moved or rng.random() < 0.5:
                    reach = _furthest(coordinates, place)
                    # every entry as often up as down: by chance some entry of many would never go one way
                    both = np.arange(ENDS).reshape(-1, *[1] * (points[place].ndim - 1)) % 2 * 2.0 - 1.0
                    signs = rng.permuted(np.broadcast_to(both, points[place].shape), axis=0)
                    points[place] = points[place] + share * reach * signs
            found.append(points)
    return found


def _covers(name: str, event: Event, usual: Array, ends: Sequence[Array]) -> bool:
    """Whether the ends come close to those of the space of a parameter."""
    if event == "scalar":
        return _reaches(name, usual, ends)
    if event != "matrix":
        return _reaches("probability", usual, ends)
    # how far variances get is hard to say where matrices are nearly singular; no transform confines them
    found = np.concatenate([_correlations(matrices) for matrices in ends])
    with np.errstate(all="ignore"):
        high, low = np.nanmax(found, axis=0), np.nanmin(found, axis=0)
    return bool((np.minimum(high, -low) > CORRELATION).all())


def _correlations(matrices: Array) -> Array:
    """Compute the correlations below the diagonals of covariance matrices."""
    rows, columns = np.tril_indices(matrices.shape[-1], -1)
    with np.errstate(all="ignore"):
        roots = np.sqrt(np.einsum("...ii->...i", matrices))
        return np.asarray(matrices[..., rows, columns] / (roots[..., rows] * roots[..., columns]))


def _reaches(name: str, usual: Array, ends: Sequence[Array]) -> bool:
    """Whether every entry of a parameter gets far up, and far down."""
    high, low = _far(name, usual, np.concatenate(ends))
    return bool(high.any(0).all() and low.any(0).all())


def _far(name: str, usual: Array, every: Array) -> tuple[Array, Array]:
    """Find the points at which entries of a parameter are far above those at usual points, and far below."""
    with np.errstate(all="ignore"):
        if name == "mean":
            middle = np.median(usual, axis=0)
            reach = TIMES * np.abs(usual - middle).max(0)
            return every - middle > reach, middle - every > reach
        values, own = (np.log(v) - (np.log1p(-v) if name == "probability" else 0.0) for v in (every, usual))
        return values - own.max(0) > LOGS, own.min(0) - values > LOGS


def _are_ordered(density: prior_density.PriorDensity, name: str, usual: Array, rng: np.random.Generator) -> bool:
    """Whether some entry of a parameter never gets far up where another gets far down, or far where it does."""
    coordinates = density.coordinates
    points = coordinates.draw(CORNERS, rng)
    for place in coordinates.moving:
        reach = _furthest(coordinates, place)
        # not all as far, for sums and differences of equal numbers are not far
        signs = rng.choice([-1.0, 1.0], points[place].shape)
        points[place] = points[place] + reach * signs * rng.uniform(0.3, 1.0, points[place].shape)
    found = np.concatenate([theta[name] for theta, _ in _evaluated(density, points)])
    high, low = (far.reshape(len(found), -1).astype(float) for far in _far(name, usual, found))
    meet = np.minimum(np.minimum(high.T @ high, low.T @ low), np.minimum(high.T @ low, low.T @ high))
    return bool((meet + np.eye(len(meet)) == 0).any())
