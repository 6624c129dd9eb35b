"""Whether a prior covers all values its family's parameters can take.

Densities that agree on an open set may still differ in where they are zero: a uniform probability between 0.2 and 0.8 has
the density of Beta(1, 1), and a rate cut off at 50 that of its gamma, each on a part of the space only. So the parameters
are followed to the ends of the unconstrained coordinates, and must get close to the ends of their own space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from pymc.distributions.multivariate import WishartRV
from pymc.logprob import transforms
from pytensor.tensor.random.basic import DirichletRV

from bayesppl.conjugate import Conjugate
from bayesppl.inference.pymc.reading.naturals import Natural
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.priors import Density
from bayesppl.kernels.arrays import Array, Theta

#: How far coordinates are followed: where a transform stretches them, and where they are the variable itself.
FAR, FURTHER = 30.0, 1e4

#: Shares of the way to the ends, at which nothing must be cut off either.
SHARES = (1e-3, 1e-2, 0.1, 1.0)

#: Points at these ends, and how many sets of variables are moved there: all, and some at random.
ENDS, SUBSETS = 10, 3

#: How many times further than at ordinary points a mean must get, and a logarithm or log odds from its middle.
TIMES, LOGS = 100.0, 12.0

#: Transforms from all real numbers to all values of a variable, entry by entry.
_ENTRYWISE = (transforms.LogTransform, transforms.LogOddsTransform, transforms.IntervalTransform)


def falls_short(density: Density, natural: Natural, belief: Conjugate, rng: np.random.Generator) -> str | None:
    """What a prior does not cover, in words; None where it covers all that ``belief`` does."""
    coordinates = density.coordinates
    for variable in coordinates.free:
        transform = coordinates.model.rvs_to_transforms[variable]
        whole = isinstance(variable.owner.op, DirichletRV | WishartRV)
        if transform is not None and not isinstance(transform, _ENTRYWISE) and not whole:
            return f"{variable.name!r} is confined by the transform {type(transform).__name__}"
    usual, _ = density.evaluate(coordinates.draw(ENDS, rng))
    ends = []
    for points in _ends(coordinates, rng):
        for theta, theirs in _evaluated(density, points):
            zero = np.isneginf(theirs) & _is_inside(natural, theta)
            if zero.any() and np.isfinite(_log_prob(belief, natural, _at(theta, zero))).any():
                return "its prior is zero where that of the family is not"
            ends.append(theta)
    for name, event in natural.events.items():
        if event == "scalar" and not _reaches(name, usual[name], [theta[name] for theta in ends]):
            return f"its prior does not cover every {name} of the family"
    return None


def _evaluated(density: Density, points: Sequence[Array]) -> Iterator[tuple[Theta, Array]]:
    """Parameters at points, and the log density there; without points that are too far out for matrices."""
    try:
        with np.errstate(all="ignore"):
            theta, terms = density.evaluate(points, volumes=False)
            found = theta, np.sum([term.reshape(len(term), -1).sum(1) for term in terms], axis=0)
    except np.linalg.LinAlgError:
        middle = len(points[0]) // 2
        for half in (slice(middle), slice(middle, None)) if middle else ():
            yield from _evaluated(density, [values[half] for values in points])
        return
    yield found


def _is_inside(natural: Natural, theta: Theta) -> Array:
    """At which points no parameter was rounded to the end of its space, where logarithms of the user's density overflow too."""
    least = np.finfo(np.float64).tiny
    inside = [np.ones(len(next(iter(theta.values()))), dtype=bool)]
    for name, event in natural.events.items():
        if name != "mean" and event != "matrix":
            within = (theta[name] >= least) & ((theta[name] < 1) | (event == "scalar" and name != "probability"))
            inside.append(within.reshape(len(within), -1).all(1))
    return np.logical_and.reduce(inside)


def _log_prob(belief: Conjugate, natural: Natural, theta: Theta) -> Array:
    """Log density of a belief; NaN where parameters are too extreme to be numbers."""
    n_points = len(next(iter(theta.values())))
    try:
        with np.errstate(all="ignore"):
            return belief.log_prob(natural.for_family(theta))
    except np.linalg.LinAlgError:
        each = [_log_prob(belief, natural, _at(theta, [i])) for i in range(n_points)] if n_points > 1 else []
        return np.concatenate(each) if each else np.full(1, np.nan)


def _at(theta: Theta, points: Any) -> Theta:
    """Some of the points of parameters."""
    return {name: values[points] for name, values in theta.items()}


def _ends(coordinates: Coordinates, rng: np.random.Generator) -> list[list[Array]]:
    """Points at the ends of all variables, and of some of them."""
    far = [
        FURTHER if coordinates.model.rvs_to_transforms[variable] is None else FAR for variable in coordinates.free
    ]
    found = []
    for share in SHARES:
        for moved in range(SUBSETS):
            points = coordinates.draw(ENDS, rng)
            for place, reach in enumerate(far):
                if not moved or rng.random() < 0.5:
                    signs = rng.choice([-1.0, 1.0], points[place].shape)
                    points[place] = points[place] + share * reach * signs
            found.append(points)
    return found


def _reaches(name: str, usual: Array, ends: Sequence[Array]) -> bool:
    every = np.concatenate(ends)
    if name == "mean":
        middle = np.median(usual, axis=0)
        spread = np.abs(usual - middle).max(0)
        with np.errstate(all="ignore"):
            return bool(
                (np.nanmax(every - middle, axis=0) > TIMES * spread).all()
                and (np.nanmax(middle - every, axis=0) > TIMES * spread).all()
            )
    with np.errstate(all="ignore"):
        scale = np.log(every) - (np.log1p(-every) if name == "probability" else 0.0)
        middle = np.log(usual) - (np.log1p(-usual) if name == "probability" else 0.0)
    high = np.nanmax(scale, axis=0) - middle.max(0)
    low = middle.min(0) - np.nanmin(scale, axis=0)
    return bool((high > LOGS).all() and (low > LOGS).all())
