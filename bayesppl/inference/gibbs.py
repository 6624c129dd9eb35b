"""Gibbs sampling of rows that are only partly known: data augmentation (Tanner & Wong 1987)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar

import numpy as np

from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import whole
from bayesppl.data.rows import Rows
from bayesppl.errors import UndefinedEstimateError
from bayesppl.families.mixture import Mixture
from bayesppl.inference.augmentation import Incomplete
from bayesppl.inference.base import Draws, Inference, as_posterior
from bayesppl.inference.em import EM
from bayesppl.inference.first_completion import incomplete
from bayesppl.inference.progress import counted
from bayesppl.kernels.arrays import Theta, select_draws
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import Exact, Posterior
from bayesppl.model.sampled import Sampled


@dataclass(frozen=True)
class Gibbs(Inference):
    """Gibbs sampling: rows partly known are completed by a draw given the parameters, then these given all rows.

    Chains start at draws given the rows that are known, or, where these do not determine all parameters, given the
    best completion that some short searches find: that of mixtures, and of classes that have no labelled row. So
    all chains number components alike; but of a posterior with several modes they see one, and R-hat shows nothing
    of the others. Where nothing is unknown of rows that count, the closed form is used.

    Parameters
    ----------
    draws, tune : int
        Draws kept and discarded per chain.
    chains : int
    random_state : int or None
        The same seed gives the same draws.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB(inference=bp.Gibbs(random_state=1), unlabelled="learn")
    >>> y = [0, 0, 0, 1, 1, 1, None, None]
    >>> clf.fit([[0.0], [0.4], [0.9], [5.0], [5.2], [4.7], [0.1], [5.1]], y).predict([[1.0]])
    array([0])
    """

    completes_rows: ClassVar[bool] = True

    draws: int = 1000
    tune: int = 200
    chains: int = 4
    random_state: int | None = None

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Posterior:
        if rows is None or rows.partly_counted is None:
            return Exact.of(model, statistics)
        for name, least in (("draws", 1), ("tune", 0), ("chains", 1)):
            whole(f"Gibbs: {name}", getattr(self, name), least)
        return self.posterior(incomplete(model, statistics, rows, EM.restarts, self.random_state))

    def posterior(self, problem: Incomplete) -> Sampled:
        """Sample the posterior of all parameters.

        Its statistics are those of all rows, completed by their expectations at the mode nearest to the draws, or
        averaged over the draws, where there is no mode.
        """
        began = time.perf_counter()
        streams = np.random.default_rng(self.random_state).spawn(self.chains)
        chains = [self._chain(problem, rng, chain) for chain, rng in enumerate(streams, start=1)]
        thetas, log_densities, totals = zip(*chains, strict=True)
        samples = {
            name: np.stack([np.stack([theta[name] for theta in chain]) for chain in thetas])
            for name in thetas[0][0]
        }
        average = reduce(add, totals).scale(1 / (self.chains * self.draws))
        # an average over draws that number components differently is near no mode
        near = problem.first if isinstance(problem.model.family, Mixture) else average
        try:
            statistics = EM(random_state=self.random_state).search(problem, near).statistics
        except UndefinedEstimateError:
            statistics = average
        record = {
            "inference": "gibbs",
            "sampler": "Gibbs sampling of rows partly known and parameters in turn",
            "draws": self.draws,
            "tuning_steps": self.tune,
            "chains": self.chains,
            "random_state": self.random_state,
            "rows_partly_known": problem.augmentation.n_rows,
            **problem.record,
            "sampling_time": time.perf_counter() - began,
        }
        reported = {"lp": np.asarray(log_densities)}
        drawn = Draws(samples, self.chains, self.draws, record, reported)
        return as_posterior("Gibbs", problem.model, problem.prior, statistics, drawn, problem.extra_dims)

    def _chain(
        self, problem: Incomplete, rng: np.random.Generator, number: int
    ) -> tuple[list[Theta], list[float], JointStatistics]:
        """Run one chain: its draws, their log densities, and the sum of the completed statistics."""
        thetas: list[Theta] = []
        log_densities: list[float] = []
        total: JointStatistics | None = None
        theta = select_draws(problem.prior.update(problem.first).draw(1, rng), 0)
        for step in counted(range(self.tune + self.draws), f"Gibbs sampling, chain {number} of {self.chains}"):
            completion = problem.augmentation.drawn(theta, rng)
            statistics = problem.known + completion.statistics
            if step >= self.tune:
                thetas.append(theta)
                log_densities.append(problem.log_prior_and_known(theta) + completion.log_density)
                total = statistics if total is None else total + statistics
            theta = select_draws(problem.prior.update(statistics).draw(1, rng), 0)
        assert total is not None
        return thetas, log_densities, total
