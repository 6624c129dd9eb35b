"""Approximations and particles, through PyMC: variational inference and sequential Monte Carlo.

Neither is the posterior itself, and a fit is marked as an approximation. Pathfinder is not offered: PyMC has it
only through pymc-extras, whose releases hold PyMC back.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import whole
from bayesppl.data.rows import Rows
from bayesppl.inference.base import Drawing, Draws, interrupts_raised
from bayesppl.inference.progress import is_watched
from bayesppl.inference.pymc.build import hyperparameters
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.sampled import Sampled

#: Methods one may ask for by name, and why they cannot be had.
UNAVAILABLE = {
    "pathfinder": "inference='pathfinder' is not available: PyMC offers it only through pymc-extras, whose "
    "releases hold PyMC back. Use 'laplace' or 'advi' for an approximation, or 'nuts'."
}


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PyMC from logging its progress, also when it is interrupted."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@dataclass(frozen=True)
class _ByPyMC(Drawing):
    """A method of PyMC that returns draws."""

    @abstractmethod
    def _run(self, pymc_model: Any) -> tuple[Any, tuple[int, int], dict[str, Any]]:
        """Return draws as a DataTree, the numbers of chains and of draws asked for, and what is recorded."""

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Sampled:
        return self._of_statistics(model, model.prior(statistics), statistics, is_watched())

    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        import pytensor

        # fast maths makes the first run (cold cache) differ in the last bits from later ones
        with pymc_model, quiet(), pytensor.config.change_flags(numba__fastmath=False):
            tree, shape, record = self._run(pymc_model)
        known = prior.parts["class_weights"]
        draws = {str(name): np.asarray(values) for name, values in tree["posterior"].data_vars.items()}
        if "class_weights" not in draws:
            lead = next(iter(draws.values())).shape[:2]
            weights = known.mean()["class_weights"]
            draws["class_weights"] = np.broadcast_to(weights, (*lead, len(weights)))
        samples = {name: draws[name] for name in (*model.dims, *hyperparameters(pymc_model))}
        return Draws(samples, *shape, record, {})


@dataclass(frozen=True)
class ADVI(_ByPyMC):
    """Variational inference: the normal in unconstrained coordinates that is closest to the posterior.

    See Kucukelbir et al. (2017).

    The normals are independent by default, with variances too small wherever parameters depend on each other.

    Parameters
    ----------
    iterations : int
    draws : int
        Drawn from the approximation.
    random_state : int or None
    full_rank : bool
        Whether the normal has correlations: as many numbers as the square of the number of parameters.
    """

    iterations: int = 20_000
    draws: int = 2000
    random_state: int | None = None
    full_rank: bool = False

    def _run(self, pymc_model: Any) -> tuple[Any, tuple[int, int], dict[str, Any]]:
        import pymc as pm

        for name in ("iterations", "draws"):
            whole(f"ADVI: {name}", getattr(self, name), 1)
        method = "fullrank_advi" if self.full_rank else "advi"
        with interrupts_raised():  # at once, and not after the draws are compiled
            fitted = pm.fit(self.iterations, method=method, random_seed=self.random_state, progressbar=False)
        tree = fitted.sample(self.draws, random_seed=self.random_state)
        seed = "none" if self.random_state is None else self.random_state
        return (
            tree,
            (1, self.draws),
            {
                "inference": method,
                "approximation": "normal in unconstrained coordinates, closest to the posterior by the reverse "
                "divergence"
                if self.full_rank
                else "mean-field normal in unconstrained coordinates; spreads are too small",
                "iterations": self.iterations,
                "random_state": seed,
                "elbo": -float(np.mean(fitted.hist[-max(1, self.iterations // 20) :])),
            },
        )


@dataclass(frozen=True)
class SMC(_ByPyMC):
    """Sequential Monte Carlo from prior to posterior, with an estimate of the evidence.

    See Del Moral, Doucet & Jasra (2006). It is not available for correlated normal columns, whose PyMC model has
    no draws of the prior to begin with.

    The record holds ``log_marginal_likelihood``, one per chain: of the data up to factors that hold no parameter.

    Parameters
    ----------
    draws : int
        Particles per chain.
    chains : int
    random_state : int or None
    """

    draws: int = 2000
    chains: int = 2
    random_state: int | None = None

    def _run(self, pymc_model: Any) -> tuple[Any, tuple[int, int], dict[str, Any]]:
        import pymc as pm

        for name in ("draws", "chains"):
            whole(f"SMC: {name}", getattr(self, name), 1)
        try:
            tree = pm.sample_smc(
                self.draws, chains=self.chains, cores=1, random_seed=self.random_state, progressbar=False
            )
        except NotImplementedError as error:  # of variables that are declared by a density alone
            raise NotImplementedError(
                f"particles begin as draws of the prior, and PyMC has none of this model ({error}), as of "
                "correlated normal columns: use inference='nuts' or 'laplace'"
            ) from None
        # one value per stage, of which the last is the estimate; shorter chains are padded with NaN
        stages = tree["sample_stats"]["log_marginal_likelihood"].values
        evidence = [float(np.ravel(chain)[-1]) for chain in stages]
        return (
            tree,
            (self.chains, self.draws),
            {
                "inference": "smc",
                "approximation": "particles moved from prior to posterior",
                "draws": self.draws,
                "chains": self.chains,
                "random_state": "none" if self.random_state is None else self.random_state,
                "log_marginal_likelihood": evidence,
            },
        )
