"""Whether draws can be trusted: R-hat, effective sample sizes and divergences of a sampled posterior.

Thresholds follow Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021, "Rank-normalization, folding, and
localization: an improved R-hat"): R-hat below 1.01, and 100 effective draws per chain in the bulk and in the
tails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.errors import ConvergenceWarning, warn
from bayesppl.kernels.arrays import Array, Theta

R_HAT_LIMIT = 1.01
ESS_PER_CHAIN = 100

# Chains that agree have such an R-hat often if they are shorter than these draws in all.
_SLIGHT, _ENOUGH = 1.05, 4000

# A parameter with more entries than this is judged by as many of them, evenly spaced.
ENTRIES_AT_MOST = 400

#: In the order of the first axis of the arrays of :func:`diagnose`.
MEASURES = ("r_hat", "ess_bulk", "ess_tail")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Convergence measures of every parameter, and what is wrong, in words.

    Attributes
    ----------
    measures : Theta
        R-hat, bulk and tail effective sample size: arrays (measure, *dims of the parameter), NaN for entries that
        do not vary or were not looked at.
    problems : list of str
    """

    measures: Theta
    problems: list[str]


def diagnose(samples: Theta, sample_stats: Mapping[str, Array]) -> Diagnosis:
    """Measure the convergence of every parameter; axes (chain, draw) lead."""
    measures = {name: _measure(draws) for name, draws in samples.items()}
    n_chains, n_draws = next(iter(samples.values())).shape[:2]
    needed = ESS_PER_CHAIN * n_chains
    problems = []
    diverging = int(np.sum(sample_stats.get("diverging", 0)))
    if diverging:
        problems.append(
            f"{diverging} of {n_chains * n_draws} draws diverged: the sampler met places it cannot explore, and "
            "the draws may miss part of the posterior. Raise target_accept (0.95), or use a prior that keeps "
            "parameters away from the edge."
        )
    worst = {name: np.max(m[0], initial=-np.inf, where=~np.isnan(m[0])) for name, m in measures.items()}
    name = max(worst, key=lambda key: worst[key])
    if worst[name] > R_HAT_LIMIT:
        is_short = worst[name] < _SLIGHT and n_chains * n_draws < _ENOUGH
        chance = f" It may be chance in {n_chains} chains of {n_draws} draws; in 4 of 1000 it rarely is."
        problems.append(
            f"R-hat of {name!r} is {worst[name]:.3f}, above {R_HAT_LIMIT}: the chains do not agree. Raise "
            f"{'tune and draws' if sample_stats else 'draws'}; if that does not help, the posterior has several "
            "modes." + (chance if is_short else "")
        )
    for at, where in ((1, "bulk"), (2, "tails")):
        least = {name: np.min(m[at], initial=np.inf, where=~np.isnan(m[at])) for name, m in measures.items()}
        name = min(least, key=lambda key: least[key])
        if least[name] < needed:
            problems.append(
                f"{name!r} has {least[name]:.0f} effective draws in the {where}, fewer than {needed} "
                f"({ESS_PER_CHAIN} per chain): averages are rough. Raise draws."
            )
    return Diagnosis(measures, problems)


def warn_of_problems(diagnosis: Diagnosis) -> None:
    """Warn once of all problems."""
    if diagnosis.problems:
        warn(
            "the draws are not to be trusted yet: " + " Also: ".join(diagnosis.problems),
            ConvergenceWarning,
        )


def _measure(draws: Array) -> Array:
    from arviz_stats.base.array import array_stats

    stats: Any = array_stats

    n_chains, n_draws, *shape = draws.shape
    flat = draws.reshape(n_chains, n_draws, -1)
    out = np.full((len(MEASURES), flat.shape[2]), np.nan)
    chosen = np.unique(np.linspace(0, flat.shape[2] - 1, min(ENTRIES_AT_MOST, flat.shape[2])).astype(int))
    chosen = chosen[np.ptp(flat[..., chosen], axis=(0, 1)) > 0]
    if len(chosen) and n_draws >= 4:
        varying = flat[..., chosen]
        with np.errstate(divide="ignore", invalid="ignore"):  # chains that do not move have no variance
            r_hat = stats.rhat(varying, chain_axis=0, draw_axis=1)
            out[1, chosen] = stats.ess(varying, chain_axis=0, draw_axis=1, method="bulk")
            out[2, chosen] = stats.ess(varying, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95))
        still = (np.ptp(varying, axis=1) == 0).all(0) | np.isnan(r_hat)
        out[0, chosen] = np.where(still, np.inf, r_hat) if n_chains > 1 else np.nan
    return out.reshape(len(MEASURES), *shape)
