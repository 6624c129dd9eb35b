"""Draws of the parameters, a portion at a time, and what follows from them for encoded rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from bayesppl.families import closed_forms
from bayesppl.kernels.arrays import Array, Theta, join_chains, select_draws
from bayesppl.kernels.ranges import row_ranges
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.posterior import InClosedForm, Posterior

# Numbers of the parameters drawn at once: 4 megabytes, of which drawing them takes several.
_PORTION = 1 << 19

# Numbers of the parameters that are held for several blocks of rows: 16 megabytes.
_HELD = 1 << 21


def portions(posterior: Posterior, size: int, rng: np.random.Generator) -> Iterator[Theta]:
    """Draw parameters along one axis, a portion of about four megabytes at a time.

    They are independent where the posterior is exact. Of a sampled posterior they are its own draws in random
    order, all of them before any comes again.
    """
    ranges = row_ranges(size, numbers_of_draw(posterior), _PORTION)
    if posterior.is_exact:
        for some in ranges:
            yield join_chains(posterior.draws(1, some.stop - some.start, rng))
    else:
        held = join_chains(posterior.draws(1, size, rng))
        n_held = len(held[CLASS_WEIGHTS])
        order = np.concatenate([rng.permutation(n_held) for _ in range(-(-size // n_held))])[:size]
        for some in ranges:
            yield select_draws(held, order[some])


def thetas(posterior: Posterior, size: int, rng: np.random.Generator) -> Iterator[Theta]:
    """Yield the draws of :func:`portions` one after the other; memory does not grow with their number."""
    for portion in portions(posterior, size, rng):
        yield from (select_draws(portion, s) for s in range(len(portion[CLASS_WEIGHTS])))


def in_steps(draws: Theta, cells_per_draw: int, cells: int) -> Iterator[Theta]:
    """Yield consecutive draws, as many at a time as make about ``cells`` cells."""
    return (select_draws(draws, some) for some in row_ranges(len(draws[CLASS_WEIGHTS]), cells_per_draw, cells))


def numbers_of_draw(posterior: Posterior) -> int:
    """Count the numbers in one draw of the parameters."""
    draws = posterior.draws(1, 1, np.random.default_rng(0))
    return sum(values[0, 0].size for values in draws.values())


def number_of_draws(posterior: Posterior, wanted: int) -> int:
    """Return how many draws there are: as many as wanted of an exact posterior, else those that it holds."""
    return (
        wanted
        if posterior.is_exact
        else posterior.draws(1, 1, np.random.default_rng(0))[CLASS_WEIGHTS][..., 0].size
    )


def narrowed(posterior: Posterior, X: Any) -> tuple[Posterior, Any]:
    """Narrow a posterior to fewer parameters, under which these rows have the same densities.

    See :func:`bayesppl.families.closed_forms.narrowed`.
    """
    if not isinstance(posterior, InClosedForm):
        return posterior, X
    parts = posterior.belief.parts
    features, rows = closed_forms.narrowed(posterior.model.family, parts["features"], X)
    return replace(posterior, belief=replace(posterior.belief, parts={**parts, "features": features})), rows


def power_factors(fitted: Fitted, draws: int, rng: np.random.Generator) -> Array:
    """Draw factors of the powers of the calibration, by how well these are known: (n_powers, draws, 1, 1).

    What all powers share is log-normal. How they differ is normal, for columns that repeat each other are known by
    the sum of their weights, which stays as it is where one has more and another less.
    """
    if fitted.calibration is None:
        return np.ones((1, draws, 1, 1))
    root = fitted.calibration.log_root
    errors = root @ rng.standard_normal((len(root), draws))
    common = errors.mean(0)
    return (np.exp(common) * np.maximum(1 + errors - common, 0.0))[..., None, None]


def log_joint_under_draws(
    fitted: Fitted, drawn: Iterable[Theta], factors: Array, rows: Any, cells: int
) -> Iterator[tuple[Array, Array]]:
    """Yield log p(y = k, x | θ) of encoded rows, calibrated, and the class weights, some draws at a time.

    Parameters
    ----------
    fitted : Fitted
    drawn : iterable of Theta
        Portions of the draws.
    factors : (n_powers, n_draws, 1, 1)
        Those of :func:`power_factors`.
    rows : encoded rows
    cells : int
        Largest number of (draw, row, class or column) cells at once.

    Yields
    ------
    log_joint : (n_some_draws, n_rows, n_classes)
    class_weights : (n_some_draws, 1, n_classes)
    """
    model, first = fitted.model, 0
    cells_per_draw = rows.shape[0] * max(model.n_classes, rows.shape[1])
    for portion in drawn:
        for theta in in_steps(portion, cells_per_draw, cells):
            weights = theta[CLASS_WEIGHTS]
            some = factors[:, first : first + len(weights)]
            yield fitted.calibrated(model.log_joint(theta), weights, some).kernel(rows), weights[:, None]
            first += len(weights)


def log_joint_of_blocks(
    fitted: Fitted, draws: int, rng: np.random.Generator, cells: int
) -> Callable[[Any], Iterator[tuple[Array, Array]]]:
    """Return :func:`log_joint_under_draws` as a function of encoded rows: blocks of rows see the same draws.

    Draws that are too many to be held are drawn again for every block, of no more parameters than it needs.
    """
    posterior, factors = fitted.posterior, power_factors(fitted, draws, rng)
    if draws * numbers_of_draw(posterior) <= _HELD:
        held = list(portions(posterior, draws, deepcopy(rng)))
        return lambda rows: log_joint_under_draws(fitted, held, factors, rows, cells)

    def drawn_again(rows: Any) -> Iterator[tuple[Array, Array]]:
        narrow, seen = narrowed(posterior, rows)
        return log_joint_under_draws(fitted, portions(narrow, draws, deepcopy(rng)), factors, seen, cells)

    return drawn_again
