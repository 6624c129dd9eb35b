"""Approximations and particles, through PyMC: variational inference and sequential Monte Carlo.

Neither is the posterior itself, and a fit is marked as an approximation. Pathfinder is not offered: PyMC has it
only through pymc-extras, whose releases hold PyMC back.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np

from bayesppl.conjugate import Joint
from bayesppl.data.arguments import whole
from bayesppl.errors import NotConjugateError, UndefinedEstimateError
from bayesppl.inference.base import DrawingByStatistics, Draws, interrupts_raised
from bayesppl.inference.laplace import mode_and_root
from bayesppl.inference.pymc.build import hyperparameters
from bayesppl.inference.pymc.model_density import Density, constrain, log_density
from bayesppl.kernels.arrays import Array
from bayesppl.model.declaration import GenerativeModel

#: Methods one may ask for by name, and why they cannot be had.
UNAVAILABLE = {
    "pathfinder": "inference='pathfinder' is not available: PyMC offers it only through pymc-extras, whose "
    "releases hold PyMC back. Use 'nuts'; estimators of families take 'laplace' and 'advi', too."
}


# By how much a lower bound of the log evidence may rise at the end, and estimates of several chains may differ
_RISE, _APART = 0.1, 1.0

# Of Adam's steps, in coordinates of width one. PyMC's own optimiser makes spreads a tenth too large.
_STEP = 1e-3

# Share of the particles that stay effective at every step. At PyMC's half of them, two dozen parameters are lost.
_THRESHOLD = 0.9


# Of the level of PyMC's logger, which fits in other threads would restore in another order
_QUIET = RLock()


@contextmanager
def _as_usual() -> Iterator[None]:
    """Run PyMC to the same digits every time, and without logging its progress, also when it is interrupted."""
    import pytensor

    logger = logging.getLogger("pymc")
    # fast maths makes the first run (cold cache) differ in the last bits from later ones
    with _QUIET, pytensor.config.change_flags(numba__fastmath=False):
        level = logger.level
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


@dataclass(frozen=True)
class ADVI(DrawingByStatistics):
    """Variational inference: the normal in unconstrained coordinates that is closest to the posterior.

    See Kucukelbir et al. (2017).

    The normals are independent by default, with variances too small wherever parameters depend on each other. The
    search begins at the Laplace approximation, and in its coordinates, so that units play no part.

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

    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        import pymc as pm

        for name in ("iterations", "draws"):
            whole(f"ADVI: {name}", getattr(self, name), 1)
        method = "fullrank_advi" if self.full_rank else "advi"
        density = log_density(pymc_model)
        centre, root, problems = self._coordinates(density)
        with interrupts_raised(), _as_usual():  # at once, and not after the draws are compiled
            fitted = pm.fit(
                self.iterations,
                method=method,
                model=density.as_model(lambda point: centre + root @ point),
                obj_optimizer=pm.adam(learning_rate=_STEP),
                start={"point": np.zeros(len(centre))},
                random_seed=self.random_state,
                progressbar=False,
            )
            tree = fitted.sample(self.draws, random_seed=self.random_state)
        points = centre + tree["posterior"]["point"].values[0] @ root.T
        names = [*model.dims, *hyperparameters(pymc_model)]
        samples = constrain(pymc_model, names, density.split(points))
        volume = np.linalg.slogdet(root)[1]
        record = {
            "inference": method,
            "approximation": "normal in unconstrained coordinates, closest to the posterior by the reverse "
            "divergence"
            if self.full_rank
            else "mean-field normal in unconstrained coordinates; spreads are too small",
            "iterations": self.iterations,
            "random_state": self.random_state,
            "elbo": float(volume - np.mean(fitted.hist[-max(1, self.iterations // 20) :])),
        }
        found = {name: values[None] for name, values in samples.items()}
        return Draws(found, 1, self.draws, record, {}, [*problems, *_rising(-fitted.hist)])

    def _coordinates(self, density: Density) -> tuple[Array, Array, list[str]]:
        """Return the centre of the Laplace approximation and a root of its covariance; units, and why, without."""
        try:
            centre, root = mode_and_root(density, density.centre)
        except UndefinedEstimateError:
            problem = (
                "the posterior density has no mode in unconstrained coordinates, where the search would begin: "
                "units play a part, and a normal may be far from it. Compare with inference='nuts'."
            )
            return density.centre, np.eye(len(density.centre)), [problem]
        return centre, np.linalg.inv(root).T if self.full_rank else np.diag(1 / np.linalg.norm(root, axis=1)), []


def _rising(bounds: Array) -> list[str]:
    """Describe how a lower bound still rises at the end of a search, if it does."""
    before, last = np.array_split(bounds[-(len(bounds) // 5) :], 2)
    rise = last.mean() - before.mean()
    if len(last) > 1 and rise > max(_RISE, 5 * np.sqrt((before.var() + last.var()) / len(last))):
        return [
            f"the lower bound of the log evidence still rises, by {rise:.2g} in the last {len(last)} iterations: "
            "the normal is not yet the closest one. Raise iterations."
        ]
    return []


@dataclass(frozen=True)
class SMC(DrawingByStatistics):
    """Sequential Monte Carlo from prior to posterior, with an estimate of the evidence.

    See Del Moral, Doucet & Jasra (2006). It is not available for correlated normal columns under a
    conjugate prior, whose PyMC model has no draws of the prior to begin with.

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

    def _draw(self, model: GenerativeModel, prior: Joint, pymc_model: Any) -> Draws:
        import pymc as pm

        from bayesppl.inference.pymc.prior_draws import cut_by

        for name in ("draws", "chains"):
            whole(f"SMC: {name}", getattr(self, name), 1)
        if (words := cut_by(pymc_model, ())) is not None:
            raise NotConjugateError(f"{words}, and particles begin as draws of all of it: use inference='nuts'")
        for variable in pymc_model.free_RVs:  # at which all particles would begin
            pymc_model.set_initval(variable, None)
        try:
            with pymc_model, _as_usual():
                tree = pm.sample_smc(
                    self.draws,
                    chains=self.chains,
                    cores=1,
                    threshold=_THRESHOLD,
                    random_seed=self.random_state,
                    progressbar=False,
                )
        except NotImplementedError as error:  # of variables that are declared by a density alone
            raise NotImplementedError(
                f"particles begin as draws of the prior, and PyMC has none of this model ({error}), as of "
                "correlated normal columns: use inference='nuts' or 'laplace'"
            ) from None
        except ValueError as error:  # of weights that are no numbers
            raise ValueError(
                f"the density is not a number at some draws of the prior ({error}), as where a probability is "
                "drawn that rounds to 0 or 1: use inference='nuts', or a prior with less mass at its edges"
            ) from error
        # one value per stage, of which the last is the estimate; shorter chains are padded with NaN
        stages = tree["sample_stats"]["log_marginal_likelihood"].values
        evidence = [float(np.ravel(chain)[-1]) for chain in stages]
        known = prior.parts["class_weights"]
        draws = {str(name): np.asarray(values) for name, values in tree["posterior"].data_vars.items()}
        if "class_weights" not in draws:
            weights = known.mean()["class_weights"]
            draws["class_weights"] = np.broadcast_to(weights, (self.chains, self.draws, len(weights)))
        record = {
            "inference": "smc",
            "approximation": "particles moved from prior to posterior",
            "draws": self.draws,
            "chains": self.chains,
            "random_state": self.random_state,
            "log_marginal_likelihood": evidence,
        }
        problems = []
        if self.chains == 1:
            problems.append("a single chain of particles is compared with none: use chains=2 or more.")
        if np.ptp(evidence) > _APART:
            problems.append(
                f"the log evidences of the chains differ by {np.ptp(evidence):.2g}: particles did not reach all "
                "of the posterior. Raise draws, or use inference='nuts'."
            )
        samples = {name: draws[name] for name in (*model.dims, *hyperparameters(pymc_model))}
        return Draws(samples, self.chains, self.draws, record, {}, problems)
