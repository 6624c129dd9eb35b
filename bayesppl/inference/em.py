"""Expectation maximisation for rows that are only partly known (Dempster, Laird & Rubin 1977)."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from bayesppl.conjugate.joint import as_declared
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.data.arguments import one_of, real, whole
from bayesppl.data.rows import Rows
from bayesppl.errors import ConvergenceWarning, UndefinedEstimateError, warn
from bayesppl.inference.augmentation import Incomplete
from bayesppl.inference.base import Inference
from bayesppl.inference.first_completion import incomplete
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.posterior import DrawsReport, Exact, Expected, Posterior, flat, in_log_odds

Estimate = Literal["map", "mle"]


class Path(NamedTuple):
    """The path of EM to a fixed point.

    Attributes
    ----------
    theta : Theta
        The last parameters.
    statistics : JointStatistics
        Of all rows, completed by their expectations given ``theta``.
    completed : JointStatistics
        Of the rows that are known in part alone.
    objective : (n_steps,)
        The logarithm of the posterior density, or of the likelihood, up to a constant, before every step.
    converged : bool
    """

    theta: Theta
    statistics: JointStatistics
    completed: JointStatistics
    objective: Array
    converged: bool


@dataclass(frozen=True)
class EM(Inference):
    r"""Expectation maximisation: the mode of the posterior, or of the likelihood, of rows partly known.

    A fixed point θ is the mode given the expected statistics of all rows, these being taken at θ. The conjugate
    posterior given these statistics is used as the posterior of the parameters: an approximation, which takes the
    completed rows for observed ones and so is too narrow. ``inference="gibbs"`` draws from the posterior itself.
    The estimate that is not maximised, ``rule="mle"`` after ``EM("map")`` and the other way round, is that of the
    completed rows.

    Parameters
    ----------
    estimate : {"map", "mle"}
        What is maximised: the posterior density, in the parametrisation of rule="map", or the likelihood. That is
        the natural one, but for the weights of components and the errors of annotators: of these it is the log
        odds, whose mode is there however small a concentration is.
    tol : float
        The search ends when a step raises the objective by less than this for each partly known row, by weight.
    restarts : int
        Searches from random places, of which the best counts, where some class has no labelled row, or annotators
        disagree: a posterior of their votes has several modes. Elsewhere one search begins at the labelled rows.
    max_steps : int
    random_state : int or None
        Of the random places.

    Examples
    --------
    >>> import bayesppl as bp
    >>> clf = bp.GaussianNB(inference=bp.EM(), unlabelled="learn")
    >>> clf.fit([[0.0], [0.4], [5.0], [5.2], [0.1], [5.1]], ["a", "a", "b", "b", None, None]).predict([[1.0]])
    array(['a'], dtype='<U1')
    """

    completes_rows: ClassVar[bool] = True

    estimate: Estimate = "map"
    tol: float = 1e-7
    restarts: int = 10
    max_steps: int = 1000
    random_state: int | None = 0

    def infer(self, model: GenerativeModel, statistics: JointStatistics, rows: Rows | None = None) -> Posterior:
        if rows is None or rows.partly_counted is None:
            return Exact.of(model, statistics)
        self._check()
        return self.posterior(incomplete(model, statistics, rows, self.restarts, self.random_state))

    def posterior(self, problem: Incomplete) -> Expected:
        """Return the conjugate posterior given the expected statistics at the fixed point."""
        path = self.search(problem, problem.first)
        if problem.elsewhere is not None:
            streams = np.random.default_rng(self.random_state).spawn(self.restarts - 1)
            others = (self.search(problem, problem.elsewhere(rng)) for rng in streams)
            path = max((path, *others), key=lambda found: found.objective[-1])
        if not path.converged:
            warn(
                f"EM has not converged after {len(path.objective)} steps, the last of which raised the objective "
                f"by {path.objective[-1] - path.objective[-2]:.3g}: raise max_steps, or tol",
                ConvergenceWarning,
            )
        record = {
            "inference": "em",
            "approximation": f"EM: conjugate posterior given rows completed at the {self.estimate.upper()}",
            "estimate": self.estimate,
            "steps": len(path.objective),
            "converged": str(path.converged),
            "objective": float(path.objective[-1]),
            "rows_partly_known": problem.augmentation.n_rows,
            **problem.record,
        }
        report = DrawsReport(record, {}, Diagnosis({}, []), problem.extra_dims)
        # made of the rows that are known, whatever becomes of the others
        prior = as_declared(problem.prior)
        belief = prior.update(path.statistics)
        return Expected(problem.model, path.statistics, prior, belief, report, path.completed)

    def search(self, problem: Incomplete, first: JointStatistics, *, or_mean: bool = False) -> Path:
        """Run EM from the mode given these statistics to a fixed point.

        With ``or_mean`` a step leads to the mean where there is no mode.
        """
        problem = replace(problem, prior=in_log_odds(problem.prior))
        least = self.tol * problem.augmentation.total_weight
        theta, objective, converged = _mode_or_mean(problem, first), [], False
        if self.estimate == "mle":
            problem = replace(problem, prior=flat(problem.prior))
        for _ in range(self.max_steps):
            expected = problem.augmentation.expected(theta)
            statistics = problem.known + expected.statistics
            value = problem.log_prior_and_known(theta) + expected.log_density
            objective.append(value - (float(problem.prior.log_prob(theta)) if self.estimate == "mle" else 0.0))
            converged = len(objective) > 1 and objective[-1] - objective[-2] <= least
            if converged:
                break
            theta = _mode_or_mean(problem, statistics) if or_mean else self._maximise(problem, statistics)
        return Path(theta, statistics, expected.statistics, np.asarray(objective), converged)

    def _maximise(self, problem: Incomplete, statistics: JointStatistics) -> Theta:
        if self.estimate == "map":
            return problem.prior.update(statistics).mode()
        extra = {name: problem.prior.parts[name].mle(statistics.parts[name]) for name in problem.extra_dims}
        return dict(ChainMap(problem.model.mle(problem.prior, statistics), *extra.values()))

    def _check(self) -> None:
        one_of("EM: estimate", self.estimate, get_args(Estimate))
        for name, least in (("restarts", 1), ("max_steps", 2)):
            whole(f"EM: {name}", getattr(self, name), least)
        real("EM: tol", self.tol, "be zero or more and finite", lambda tol: 0 <= tol < np.inf)


def _mode_or_mean(problem: Incomplete, statistics: JointStatistics) -> Theta:
    """Return the mode given these statistics, or the mean, where few rows have no mode."""
    belief = problem.prior.update(statistics)
    try:
        return belief.mode()
    except UndefinedEstimateError:
        return belief.mean()
