"""Where a prior is zero: whether it covers all values that the belief with the same density covers.

A uniform probability between 0.2 and 0.8 has the density of Beta(1, 1), and a rate cut off at 50 that of its
gamma, each on a part of the space only. So the parameters are followed to the ends of the unconstrained
coordinates, and must get close to the ends of their own space; and variables must be found for values of the
parameters far from each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from pymc.distributions.multivariate import WishartRV
from pymc.distributions.transforms import CholeskyCovTransform
from pymc.logprob import transforms
from pytensor.tensor.random.basic import DirichletRV

from bayesppl.conjugate import Conjugate
from bayesppl.inference.pymc.reading.far_values import LOGS, TIMES, are_bound, is_mean_bound
from bayesppl.inference.pymc.reading.naturals import Event, Natural
from bayesppl.inference.pymc.reading.observed import same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.prior_density import PriorDensity
from bayesppl.kernels.arrays import Array, Theta, select_draws

#: How far coordinates are followed: where a transform stretches them, and where they are the variable itself.
FAR, FURTHER = 30.0, 1e4

#: Shares of the way to the ends, at which nothing must be cut off either.
SHARES = (1e-3, 1e-2, 0.1, 1.0)

#: Points at these ends, and how many sets of variables are moved there: all, and some at random.
ENDS, SUBSETS = 10, 3

#: Transforms from all real numbers to all values of a variable, entry by entry.
_ENTRYWISE = (transforms.LogTransform, transforms.LogOddsTransform, transforms.IntervalTransform)

#: Those of the entries that a covariance matrix is made of: an interval would confine it.
_OF_MATRICES = (transforms.LogTransform,)

#: Transforms from all real numbers to all simplices, or all matrices.
_WHOLE = (transforms.SimplexTransform, CholeskyCovTransform)


def falls_short(density: PriorDensity, belief: Conjugate, rng: np.random.Generator) -> str | None:
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
        for theta, theirs in evaluated(density, points):
            zero = np.isneginf(theirs) & _is_inside(natural, theta)
            if zero.any() and np.isfinite(log_prob(belief, natural, select_draws(theta, zero))).any():
                return "its prior is zero where that of the family is not"
            ends.append(theta)
    together: dict[str, Event] = {}
    for name, event in natural.events.items():
        if event != "scalar" and (_is_of_wisharts(density, name) or _is_of_dirichlets(density, name, rng)):
            continue
        # how far matrices get is looked for below
        reaching = name if event == "scalar" else "probability"
        if event != "matrix" and not _reaches(reaching, usual[name], [theta[name] for theta in ends]):
            return f"its prior does not cover every {name} of the family"
        together[name] = event
    # where they stand for variables one to one, no entry of a parameter bounds another of the same
    if density.matches is None or "matrix" in together.values():
        is_bound = bool(together) and are_bound(density, together, rng)
    else:
        is_bound = "mean" in natural.events and is_mean_bound(density, rng)
    if is_bound:
        return f"its prior does not cover every {' and '.join(together)} of the family beside every other"
    return None


def _is_of_wisharts(density: PriorDensity, name: str) -> bool:
    """Whether matrices are those of Wishart variables, or their inverses."""
    free = density.coordinates.free
    return any(
        found.parameter == name
        and found.relation != "entrywise"
        and all(isinstance(free[place].owner.op, WishartRV) for place in found.places)
        for found in density.matches or ()
    )


def _is_of_dirichlets(density: PriorDensity, name: str, rng: np.random.Generator) -> bool:
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


def evaluated(
    density: PriorDensity, points: Sequence[Array], *, volumes: bool = False
) -> Iterator[tuple[Theta, Array]]:
    """Evaluate parameters and the log density at points; without those too far out for matrices."""
    try:
        with np.errstate(all="ignore"):
            theta, terms = density.evaluate(points, volumes=volumes)
            found = theta, np.sum([term.reshape(len(term), -1).sum(1) for term in terms], axis=0)
    except np.linalg.LinAlgError:
        middle = len(points[0]) // 2
        for half in (slice(middle), slice(middle, None)) if middle else ():
            yield from evaluated(density, [values[half] for values in points], volumes=volumes)
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


def log_prob(belief: Conjugate, natural: Natural, theta: Theta) -> Array:
    """Compute the log density of a belief; NaN where parameters are too extreme to be numbers."""
    n_points = len(next(iter(theta.values())))
    try:
        with np.errstate(all="ignore"):
            return belief.log_prob(natural.for_family(theta))
    except np.linalg.LinAlgError:
        each = (
            [log_prob(belief, natural, select_draws(theta, [i])) for i in range(n_points)] if n_points > 1 else []
        )
        return np.concatenate(each) if each else np.full(1, np.nan)


def _ends(coordinates: Coordinates, rng: np.random.Generator) -> list[list[Array]]:
    """Return points at the ends of all variables, and of some of them."""
    found = []
    for share in SHARES:
        for moved in range(SUBSETS):
            points = coordinates.draw(ENDS, rng)
            for place in coordinates.moving:
                if not moved or rng.random() < 0.5:
                    reach = coordinates.units[place] * (FURTHER if coordinates.transforms[place] is None else FAR)
                    # every entry as often up as down: by chance some entry of many would never go one way
                    both = np.arange(ENDS).reshape(-1, *[1] * (points[place].ndim - 1)) % 2 * 2.0 - 1.0
                    signs = rng.permuted(np.broadcast_to(both, points[place].shape), axis=0)
                    points[place] = points[place] + share * reach * signs
            found.append(points)
    return found


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
