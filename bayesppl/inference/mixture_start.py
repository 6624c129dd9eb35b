"""Where the search for the components of a mixture begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.labels import one_hot
from bayesppl.families.components import COMPONENT, Allocated
from bayesppl.families.gaps import draw_gaps
from bayesppl.families.mixture import Mixture
from bayesppl.inference.augmentation import Augmentation, search_start
from bayesppl.kernels.arrays import Array, Theta, draw_codes
from bayesppl.model.declaration import GenerativeModel

# A search begins with so many steps in which each row counts so often that a prior has no say: one that shrinks
# components to each other, resolved from components that are still alike, would keep them so. So many follow in
# which it has.
_STEPS_ALONE, _COPIES, _STEPS = 8, 1e6, 8

# So many rows of each class, drawn at random, are where components may begin and by which tries are compared.
_MOST_ROWS = 5000

# Steps of k-means.
_CLUSTER_STEPS = 10


def search_components(
    model: GenerativeModel,
    prior_of: Callable[[JointStatistics], Joint],
    known: JointStatistics,
    augmentation: Augmentation,
    X: Any,
    told: Array,
    prior: Joint,
    restarts: int,
    seed: int | None,
) -> JointStatistics:
    """Complete all rows by the components of every class that are best among those of some short searches.

    Parameters
    ----------
    prior_of : callable
        The prior, resolved from statistics.
    X : encoded rows
    told : (n_rows, n_classes)
        Probabilities of the classes of the rows by their labels; nothing of rows without one.
    prior : Joint
        Of the components before any search.
    """
    family: Mixture = model.family  # type: ignore[assignment]
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(told.any(1))
    if isinstance(X, np.ndarray):
        # in an order of their own, so that places drawn do not depend on that of the rows
        at = at[np.lexsort((*X[at].T, *told[at].T))]
    if len(at) > _MOST_ROWS:
        at = rng.permutation(at)
        at = at[((told[at] > 0) & (np.cumsum(told[at] > 0, axis=0) <= _MOST_ROWS)).any(1)]
    X, told = X[at], told[at]
    scores, totals, tries = [], [], []
    for place in range(restarts):
        if place % 2 and isinstance(X, np.ndarray):  # neither way of beginning is always the best
            statistics = _seeded(known, _clustered(model, family, X, told, rng))
            theta = prior.update(statistics).mean()
        else:
            theta = _apart(model, family, prior, known, X, told, rng)
        for copies in (*[_COPIES] * _STEPS_ALONE, *[1.0] * _STEPS):
            statistics = known + augmentation.expected(theta).statistics
            theta = prior_of(statistics).update(statistics.scale(copies)).mean()
        tries.append(theta)
        density = np.maximum(family.log_likelihood(theta)(X), -1e300)
        scores.append((told * density).sum(0))
        totals.append(logsumexp(density, axis=1, b=told).sum())
    best = tries[int(np.argmax(totals))]
    starts = iter([best, _best_of_each_class(family, best, np.argmax(scores, axis=0), tries)])
    return search_start(
        prior_of, known, augmentation, lambda _: known + augmentation.expected(next(starts)).statistics, 2, rng
    )


def _clustered(model: GenerativeModel, family: Mixture, X: Array, told: Array, rng: Generator) -> JointStatistics:
    """Sum up labelled rows, divided into as many clusters in each class as it has components."""
    codes = draw_codes(told, rng)
    within = np.empty(len(codes), dtype=np.intp)
    for k in range(model.n_classes):
        within[codes == k] = _clusters(X[codes == k], family.components, rng)
    completed = draw_gaps(family.inner, None, X, codes * family.components + within, rng)
    return model.statistics(Allocated(completed, within), one_hot(codes, model.n_classes))


def _clusters(X: Array, n_clusters: int, rng: Generator) -> Array:
    """Divide rows into clusters by k-means, from rows far apart (Arthur & Vassilvitskii 2007): (n_rows,) of codes.

    Columns count in units of their standard deviation; a missing cell is at the mean.

    Parameters
    ----------
    X : (n_rows, n_features)
    n_clusters : int
    rng : numpy.random.Generator
    """
    if not len(X):
        return np.empty(0, dtype=np.intp)
    masked = np.ma.masked_invalid(X)
    spread = masked.std(0).filled(0.0)
    Z = ((masked - masked.mean(0)) / np.where(spread > 0, spread, 1.0)).filled(0.0)
    centres = Z[[rng.integers(len(Z))]]
    while len(centres) < n_clusters:
        gap = cdist(Z, centres, "sqeuclidean").min(1)
        share = gap / gap.sum() if gap.any() else np.full(len(Z), 1 / len(Z))
        centres = np.vstack([centres, Z[rng.choice(len(Z), p=share)]])
    for _ in range(_CLUSTER_STEPS):
        nearest = cdist(Z, centres, "sqeuclidean").argmin(1)
        occupied = np.unique(nearest)
        centres[occupied] = [Z[nearest == c].mean(0) for c in occupied]
    return nearest


def _apart(
    model: GenerativeModel,
    family: Mixture,
    prior: Joint,
    known: JointStatistics,
    X: Any,
    told: Array,
    rng: Generator,
) -> Theta:
    """Place components at rows of their class, drawn in turn: the less dense a row so far, the likelier.

    The seeding of k-means++ (Arthur & Vassilvitskii 2007) with the log density in place of the squared distance,
    as for Bregman divergences (Nock, Luosto & Kivinen 2008).
    """
    places = np.empty((model.n_classes, 0), dtype=np.intp)
    shares = told
    while True:
        shares = np.where(shares.any(0), shares, told)
        drawn = [rng.choice(len(told), p=share / share.sum()) for share in shares.T]
        places = np.column_stack([places, drawn])
        n_drawn = places.shape[1]
        codes, within = (
            np.repeat(np.arange(model.n_classes), n_drawn),
            np.tile(np.arange(n_drawn), model.n_classes),
        )
        at = codes * family.components + within
        rows = Allocated(draw_gaps(family.inner, None, X[places.ravel()], at, rng), within)
        seeds = model.statistics(rows, one_hot(codes, model.n_classes)).scale(_COPIES)
        theta = prior.update(_seeded(known, seeds)).mean()
        if n_drawn == family.components:
            return theta
        densest = family.by_component(theta, X)[..., :n_drawn].max(-1)
        shares = told * (densest.max(0) - densest)


def _seeded(known: JointStatistics, seeds: JointStatistics) -> JointStatistics:
    """Add sums of seeds, which say nothing of annotators."""
    added = {name: known.parts[name] + part for name, part in seeds.parts.items()}
    return replace(known, parts={**known.parts, **added})


def _best_of_each_class(family: Mixture, best: Theta, tries_of_classes: Array, tries: Sequence[Theta]) -> Theta:
    """Take components of every class from the try where its rows are densest, what classes share from the best."""
    taken = np.repeat(tries_of_classes, family.components)
    dims = family.bound.dims
    own = {name for name, of in dims.items() if of[:1] == (COMPONENT,)}
    return {
        name: np.stack([tries[i][name][at] for at, i in enumerate(taken)]) if name in own else values
        for name, values in best.items()
    }
