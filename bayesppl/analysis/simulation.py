"""What simulating rows from a fitted model needs: parameters one at a time, and covariates of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from bayesppl.families import closed_forms
from bayesppl.families.composite import BlockRows
from bayesppl.families.covariates import NO_COVARIATES, Covariates, check_covariates, example_of, of_rows
from bayesppl.kernels.arrays import Theta
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.fitted import Fitted
from bayesppl.model.held_rows import held_rows
from bayesppl.model.posterior import Exact, Posterior

# Numbers of the parameters drawn at once: 4 megabytes, of which drawing them takes several.
_PORTION = 1 << 19


def portions(posterior: Posterior, size: int, rng: np.random.Generator) -> Iterator[Theta]:
    """Draws of the parameters along one axis, a portion of about four megabytes at a time.

    They are independent where the posterior is exact. Of a sampled posterior they are all those it has, in order.
    """
    if not posterior.is_exact:
        held = _flat(posterior.draws(1, size, rng))
        yield from in_steps(held, max(1, _PORTION // numbers_of_draw(posterior)))
        return
    portion = max(1, _PORTION // numbers_of_draw(posterior))
    for start in range(0, size, portion):
        yield _flat(posterior.draws(1, min(portion, size - start), rng))


def thetas(posterior: Posterior, size: int, rng: np.random.Generator) -> Iterator[Theta]:
    """Draws of the parameters, one after the other.

    They are independent where the posterior is exact; memory does not grow with their number. Of a sampled posterior
    they are its own draws in random order, all of them before any comes again.
    """
    if posterior.is_exact:
        for portion in portions(posterior, size, rng):
            yield from (_of_draws(portion, s) for s in range(len(portion[CLASS_WEIGHTS])))
    else:
        held = _flat(posterior.draws(1, size, rng))
        n_held = len(held[CLASS_WEIGHTS])
        rounds = [rng.permutation(n_held) for _ in range(-(-size // n_held))]
        yield from (_of_draws(held, s) for s in np.concatenate(rounds)[:size])


def in_steps(draws: Theta, step: int) -> Iterator[Theta]:
    """Consecutive draws, ``step`` at a time."""
    return (_of_draws(draws, slice(s, s + step)) for s in range(0, len(draws[CLASS_WEIGHTS]), step))


def _flat(draws: Theta) -> Theta:
    return {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}


def _of_draws(draws: Theta, which: Any) -> Theta:
    return {name: values[which] for name, values in draws.items()}


def numbers_of_draw(posterior: Posterior) -> int:
    """How many numbers one draw of the parameters is."""
    draws = posterior.draws(1, 1, np.random.default_rng(0))
    return sum(values[0, 0].size for values in draws.values())


def number_of_draws(posterior: Posterior, asked: int) -> int:
    """How many draws there are: as many as asked for where the posterior is exact, else those that it holds."""
    return (
        asked
        if posterior.is_exact
        else posterior.draws(1, 1, np.random.default_rng(0))[CLASS_WEIGHTS][..., 0].size
    )


def lots(
    posterior: Posterior, n_lots: int, size: int, covariates: Covariates, rng: np.random.Generator
) -> Iterator[Any]:
    """Lots of rows from the posterior predictive: one class and one draw of the parameters for each lot.

    Corresponding rows of the lots are independent of each other where the posterior is exact, rows of one lot are not.
    """
    family = posterior.model.family
    if isinstance(posterior, Exact):
        belief, weights = posterior.belief.parts["features"], posterior.predictive_weights()
        for code in rng.choice(len(weights), size=n_lots, p=weights):
            yield closed_forms.simulate_predictive(family, belief, np.full(size, code), rng, covariates)
    else:
        for theta in thetas(posterior, n_lots, rng):
            code = rng.choice(posterior.model.n_classes, p=theta[CLASS_WEIGHTS])
            yield family.simulate(theta, np.full(size, code), rng, covariates)


def narrowed(posterior: Posterior, X: Any) -> tuple[Posterior, Any]:
    """A smaller posterior and rows for it, whose densities have the same joint distribution; see :meth:`Family.narrowed`."""
    if not isinstance(posterior, Exact):
        return posterior, X
    parts = posterior.belief.parts
    features, rows = closed_forms.narrowed(posterior.model.family, parts["features"], X)
    return replace(posterior, belief=replace(posterior.belief, parts={**parts, "features": features})), rows


def covariates_for(
    fitted: Fitted, given: Mapping[str, Any] | None, size: int, rng: np.random.Generator
) -> Callable[[], Covariates]:
    """A source of covariates of ``size`` rows: those given, or those of rows of the fit, drawn anew by their weights.

    Raises
    ------
    ValueError
        If the model needs covariates, none are given, and the rows of the fit are not held any more; or if those
        given do not fit the model.
    """
    family = fitted.model.family
    supports = family.bound.covariate_supports
    if given is not None:
        checked = check_covariates(given, supports, size)
        return lambda: checked
    if not supports:
        return lambda: NO_COVARIATES
    rows = held_rows(fitted)
    if rows is None:
        raise ValueError(
            f"rows of this model are simulated given their {', '.join(supports)}, and the rows of the fit are not held any "
            f"more (after partial_fit or loading they never are); pass {example_of(supports)}"
        )
    of_fit, share = family.bound.covariates(family.bound.encode(rows.table)), rows.weights / rows.weights.sum()
    return lambda: of_rows(of_fit, rng.choice(len(share), size=size, p=share))


def stack_rows(parts: Sequence[Any]) -> Any:
    """Encoded rows of one family, one lot under the other."""
    first = parts[0]
    if isinstance(first, BlockRows):
        return BlockRows({block: stack_rows([part.parts[block] for part in parts]) for block in first.parts})
    return sp.vstack(parts, format="csr") if any(map(sp.issparse, parts)) else np.concatenate(parts)


def cells_of(rows: Any) -> int:
    """Numbers that encoded rows hold: those stored, of a sparse matrix."""
    if isinstance(rows, BlockRows):
        return sum(cells_of(part) for part in rows.parts.values())
    return int(rows.nnz + rows.shape[0] if sp.issparse(rows) else rows.size)
