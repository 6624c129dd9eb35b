"""What inference returns: estimates, draws and log joints, the same whether exact or sampled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import numpy as np

from bayesppl.arrays import Array, Theta
from bayesppl.conjugates import Joint
from bayesppl.model import CLASS_WEIGHTS, GenerativeModel
from bayesppl.rules import Rule, check_rule
from bayesppl.statistics import JointStatistics

# Largest number of (draw, row, class) cells worked on at once.
CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """The posterior of all parameters of a model.

    Attributes
    ----------
    model : GenerativeModel
    statistics : JointStatistics
        Of the rows the posterior has seen.
    prior : Joint
        The prior, resolved.
    """

    method: ClassVar[str]

    model: GenerativeModel
    statistics: JointStatistics
    prior: Joint

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
    def log_joint_predictive(self, X: Any) -> Array:
        """log p(y = k, x | data) of encoded rows, parameters integrated out."""

    @final
    def theta(self, rule: Rule) -> Theta:
        """The estimate that a plug-in rule uses."""
        estimates = {
            "mle": lambda: self.model.mle(self.prior, self.statistics),
            "map": self.mode,
            "mean": self.mean,
        }
        return estimates[rule]()

    @final
    def scorer(self, rule: Rule) -> tuple[Callable[[Any], Array], Array]:
        """The function from encoded rows to log p(y = k, x) under a rule, and the class weights of that rule."""
        check_rule(rule)
        if rule == "predictive":
            return self.log_joint_predictive, self.predictive_weights()
        theta = self.theta(rule)
        return partial(self.model.log_joint, theta), theta[CLASS_WEIGHTS]

    @final
    def log_joint(self, X: Any, rule: Rule) -> tuple[Array, Array]:
        """log p(y = k, x) of encoded rows under a rule, and the class weights of that rule.

        Returns
        -------
        log_joint : (n_rows, n_classes)
        class_weights : (n_classes,)
        """
        score, class_weights = self.scorer(rule)
        return score(X), class_weights


@dataclass(frozen=True, eq=False)
class Exact(Posterior):
    """A posterior in closed form."""

    method: ClassVar[str] = "conjugate"

    belief: Joint

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

    def log_joint_predictive(self, X: Any) -> Array:
        return self.model.log_joint_predictive(self.belief, X)


@dataclass(frozen=True, eq=False)
class Sampled(Posterior):
    """A posterior known by draws.

    Attributes
    ----------
    samples : Theta
        Axes (chain, draw) lead.
    reported : mapping of str to (chain, draw) arrays
        What the sampler reports of each draw.
    """

    method: ClassVar[str] = "nuts"

    samples: Theta
    reported: Mapping[str, Array]

    @property
    def sample_stats(self) -> Mapping[str, Array]:
        return self.reported

    def mode(self) -> Theta:
        # The declaration is the one the closed form solves, so the mode needs no draws.
        return self.prior.update(self.statistics).mode()

    def mean(self) -> Theta:
        return {name: values.mean((0, 1)) for name, values in self.samples.items()}

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        return self.samples

    def predictive_weights(self) -> Array:
        return self.mean()[CLASS_WEIGHTS]

    def log_joint_predictive(self, X: Any) -> Array:
        theta = {name: values.reshape(-1, *values.shape[2:]) for name, values in self.samples.items()}
        n_draws, n_classes = theta[CLASS_WEIGHTS].shape
        step = max(1, CHUNK_CELLS // (X.shape[0] * n_classes))
        total = np.full((X.shape[0], n_classes), -np.inf)
        for start in range(0, n_draws, step):
            chunk = {name: values[start : start + step] for name, values in theta.items()}
            total = np.logaddexp(total, np.logaddexp.reduce(self.model.log_joint(chunk, X), axis=0))
        return total - np.log(n_draws)
