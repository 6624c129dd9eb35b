"""What inference returns: estimates, draws and log joints, the same whether exact or sampled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from scipy.special import logsumexp

from bayesppl.beliefs import Joint
from bayesppl.beliefs.statistics import JointStatistics
from bayesppl.errors import NotConjugateError
from bayesppl.families._bases.log_density import LogDensity
from bayesppl.kernels.arrays import Array, Theta, log_mean_exp
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.normalisation import normalise, powered
from bayesppl.model.rules import ESTIMATES, TABLE, RuleName, check_rule

# Largest number of (draw, row, class) cells worked on at once.
CHUNK_CELLS = 1 << 20


class Scorer(NamedTuple):
    """A rule at work: log p(y = k, x) of encoded rows x, and the class weights (n_classes,)."""

    log_joint: LogDensity
    class_weights: Array


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """The posterior of all parameters of a model.

    Attributes
    ----------
    model : GenerativeModel
    statistics : JointStatistics
        Of the rows of the posterior.
    prior : Joint
        The prior, resolved.
    """

    model: GenerativeModel
    statistics: JointStatistics
    prior: Joint

    @property
    @abstractmethod
    def record(self) -> Mapping[str, Any]:
        """How the posterior was found: the inference and its settings."""

    @property
    @abstractmethod
    def is_exact(self) -> bool:
        """Whether the posterior is known in closed form, so that draws are independent."""

    @property
    @abstractmethod
    def diagnosis(self) -> Diagnosis:
        """Convergence of the draws; empty where there are no chains to compare."""

    @property
    @abstractmethod
    def hyper_dims(self) -> Mapping[str, tuple[str, ...]]:
        """Dimension names of parameters of the prior that were learned too."""

    @property
    @abstractmethod
    def sample_stats(self) -> Mapping[str, Array]:
        """What the sampler reports of each draw: arrays (chain, draw)."""

    @abstractmethod
    def mode(self) -> Theta:
        """Joint mode of the posterior density in the natural parametrisation."""

    @abstractmethod
    def mean(self) -> Theta:
        """Posterior mean of every parameter."""

    @abstractmethod
    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        """Posterior draws; axes (chain, draw) lead."""

    @abstractmethod
    def predictive_weights(self) -> Array:
        """E[π_k | data], the class weights of the predictive rule."""

    @abstractmethod
    def log_joint_predictive(self) -> LogDensity:
        """log p(y = k, x | data), parameters integrated out, as a function of encoded rows x."""

    @abstractmethod
    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """Monte-Carlo standard error of the predictive class probabilities: (n_rows, n_classes).

        Parameters
        ----------
        parts : iterable of (power, encoded rows)
            What is seen of the rows where the density is taken to a power, as :meth:`Fitted.parts` has it.
        """

    @final
    def mle(self) -> Theta:
        """Maximum likelihood; class weights that are known stay as they are."""
        return self.model.mle(self.prior, self.statistics)

    @final
    def theta(self, rule: RuleName) -> Theta:
        """The estimate that a plug-in rule uses.

        Raises
        ------
        ValueError
            If the rule does not exist, or has no estimate of its own.
        UndefinedEstimateError
            If the estimate does not exist for these data.
        """
        check_rule(rule)
        estimate = TABLE[rule].estimate
        if estimate is None:
            raise ValueError(
                f"rule={rule!r} integrates the parameters out and has no estimate; use one of {', '.join(ESTIMATES)}"
            )
        found: Theta = estimate(self)
        return found

    @final
    def scorer(self, rule: RuleName) -> Scorer:
        """log p(y = k, x) under a rule, and the class weights of that rule.

        Made once for every rule: all that does not depend on the rows is kept.
        """
        check_rule(rule)
        known = self._scorers.get(rule)
        if known is None:
            known = self._scorers[rule] = self._make_scorer(rule)
        return known

    def _make_scorer(self, rule: RuleName) -> Scorer:
        if not TABLE[rule].is_plug_in:
            return Scorer(self.log_joint_predictive(), self.predictive_weights())
        theta = self.theta(rule)
        return Scorer(self.model.log_joint(theta), theta[CLASS_WEIGHTS])

    @cached_property
    def _scorers(self) -> dict[RuleName, Scorer]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """The fields: what follows from them is made anew."""
        return {member.name: getattr(self, member.name) for member in fields(self)}


@dataclass(frozen=True, eq=False)
class Exact(Posterior):
    """A posterior in closed form."""

    belief: Joint

    @property
    def record(self) -> Mapping[str, Any]:
        return {"inference": "closed_form"}

    @property
    def is_exact(self) -> bool:
        return True

    @property
    def diagnosis(self) -> Diagnosis:
        return Diagnosis({}, [])

    @property
    def hyper_dims(self) -> Mapping[str, tuple[str, ...]]:
        return {}

    @property
    def sample_stats(self) -> Mapping[str, Array]:
        return {}

    def mode(self) -> Theta:
        return self.belief.mode()

    def mean(self) -> Theta:
        return self.belief.mean()

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        flat = self.belief.draw(chains * size, rng)
        return {name: values.reshape(chains, size, *values.shape[1:]) for name, values in flat.items()}

    def predictive_weights(self) -> Array:
        return self.belief.parts[CLASS_WEIGHTS].mean()[CLASS_WEIGHTS]

    def log_joint_predictive(self) -> LogDensity:
        return self.model.log_joint_predictive(self.belief)

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        _, X = next(iter(parts))
        return np.zeros((X.shape[0], self.model.n_classes))


@dataclass(frozen=True, eq=False)
class Report:
    """What is known about draws.

    Attributes
    ----------
    record : mapping
        The inference, its settings and versions.
    sample_stats : mapping of str to (chain, draw) arrays
        What the sampler reports of each draw.
    diagnosis : Diagnosis
        Of convergence; empty for approximations, which have no chains to compare.
    hyper_dims : mapping of str to dims
        Dimension names of parameters of the prior that were learned too.
    """

    record: Mapping[str, Any]
    sample_stats: Mapping[str, Array]
    diagnosis: Diagnosis
    hyper_dims: Mapping[str, tuple[str, ...]]


#: From model, prior, statistics and draws to the mode.
ModeFinder = Callable[[GenerativeModel, Joint, JointStatistics, Theta], Theta]


def _no_mode_finder(model: GenerativeModel, prior: Joint, statistics: JointStatistics, samples: Theta) -> Theta:
    raise NotConjugateError(
        "the mode under a prior declared in PyMC has to be searched for, and a file holds no code of it: use rule='mean' or "
        "'predictive'. Declare the model again, and fit it, for rule='map'"
    )


@dataclass(frozen=True, eq=False)
class Sampled(Posterior):
    """A posterior known by draws.

    Attributes
    ----------
    samples : Theta
        Axes (chain, draw) lead. Parameters of the prior that were learned too follow those of the model.
    report : Report
        What is known about the draws.
    find_mode : callable
        Searches the mode of (model, prior, statistics, samples) where it has no closed form. A file does not keep it.
    """

    samples: Theta
    report: Report
    find_mode: ModeFinder = field(default=_no_mode_finder, metadata={"stored": False})

    @property
    def record(self) -> Mapping[str, Any]:
        return self.report.record

    @property
    def diagnosis(self) -> Diagnosis:
        return self.report.diagnosis

    @property
    def hyper_dims(self) -> Mapping[str, tuple[str, ...]]:
        return self.report.hyper_dims

    @property
    def sample_stats(self) -> Mapping[str, Array]:
        return self.report.sample_stats

    @property
    def is_exact(self) -> bool:
        return False

    def mode(self) -> Theta:
        try:
            # what the closed form solves needs no draws
            return self.prior.update(self.statistics).mode()
        except NotConjugateError:
            return self.find_mode(self.model, self.prior, self.statistics, self.samples)

    def mean(self) -> Theta:
        return {name: values.mean((0, 1)) for name, values in self.samples.items()}

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        return self.samples

    def predictive_weights(self) -> Array:
        return self.mean()[CLASS_WEIGHTS]

    def log_joint_predictive(self) -> LogDensity:
        # terms that classes share depend on the draw, and weigh the draws
        return LogDensity(lambda X: log_mean_exp(self._batches(X, 1), axis=0))

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """By batch means: batches of √draws consecutive draws are nearly independent (Flegal, Haran & Jones 2008).

        The probability is a function of averages over draws, the joint densities of all classes, whose error is taken to
        first order (delta method).
        """
        n_chains, n_draws = self.samples[CLASS_WEIGHTS].shape[:2]
        per_chain = int(np.sqrt(n_draws))
        if n_chains * per_chain < 4:
            raise ValueError(f"{n_chains} x {n_draws} draws are too few to estimate their Monte-Carlo error")
        averages, change = [], np.zeros(())
        for power, X in parts:
            batches = self._batches(X, per_chain)
            average = log_mean_exp(batches, axis=0)
            averages.append((power, average))
            change = change + power * np.exp(batches - np.where(np.isneginf(average), 0.0, average))
        weights = self.predictive_weights()
        share = normalise(powered(averages, weights), weights, log=False)[0]
        influence = share * (change - (share * change).sum(-1, keepdims=True))
        return np.asarray(np.sqrt((influence**2).sum(0) / (len(change) - 1) / len(change)))

    def _batches(self, X: Any, per_chain: int) -> Array:
        """log p(y = k, x) averaged over batches of consecutive draws: (n_batches, n_rows, n_classes).

        Chains are cut into ``per_chain`` batches of equal length. Draws are taken in portions, so that nothing as
        large as (draws, rows, classes) is ever held.
        """
        n_chains, n_draws, n_classes = self.samples[CLASS_WEIGHTS].shape
        length = n_draws // per_chain
        portion = max(1, CHUNK_CELLS // max(1, X.shape[0] * n_classes))
        batches = []
        for chain in range(n_chains):
            for batch in range(per_chain):
                # the first batch takes what is left over
                first = 0 if batch == 0 else n_draws - (per_chain - batch) * length
                last = n_draws - (per_chain - batch - 1) * length
                total = np.full((X.shape[0], n_classes), -np.inf)
                for start in range(first, last, portion):
                    stop = min(start + portion, last)
                    theta = {name: values[chain, start:stop] for name, values in self.samples.items()}
                    total = np.logaddexp(total, logsumexp(self.model.log_joint(theta)(X), axis=0))
                batches.append(total - np.log(last - first))
        return np.asarray(batches)
