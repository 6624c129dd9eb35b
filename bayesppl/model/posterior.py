"""Posteriors, which inference returns: estimates, draws and log joints, whether exact or sampled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from bayesppl.conjugate import Dirichlet, Joint
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.statistics import JointStatistics
from bayesppl.families.components import COMPONENT_WEIGHT
from bayesppl.kernels.arrays import Array, Theta
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import CLASS_WEIGHTS, CONFUSION, GenerativeModel
from bayesppl.model.drawn_factors import Factors
from bayesppl.model.rules import ESTIMATES, TABLE, RuleName, check_rule

# Largest number of (draw, row, class) cells worked on at once.
CHUNK_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class DrawsReport:
    """The origin of draws, and measures of their quality.

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


class Scorer(NamedTuple):
    """A rule at work: log p(y = k, x) of encoded rows x, and the class weights (n_classes,)."""

    log_joint: LogDensity
    class_weights: Array


@dataclass(frozen=True, eq=False, repr=False)
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

    #: Whether it is held in closed form, so that draws are independent and as many as are asked for.
    is_exact: ClassVar[bool]

    model: GenerativeModel
    statistics: JointStatistics
    prior: Joint

    def __repr__(self) -> str:
        """Name its kind, and its parameters with their dimensions."""
        dims = ", ".join(f"{name} ({', '.join(of)})" for name, of in self.model.dims.items())
        return f"{type(self).__name__} posterior of {dims}"

    def _repr_html_(self) -> str:
        """Show the parameters, their dimensions and their sizes as a table in a notebook."""
        sizes = {dim: len(labels) for dim, labels in self.model.coords.items()}
        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(' × '.join(f'{dim}: {sizes[dim]}' for dim in of))}</td></tr>"
            for name, of in self.model.dims.items()
        )
        return f"<p>{type(self).__name__} posterior</p><table>{rows}</table>"

    @property
    @abstractmethod
    def about_draws(self) -> DrawsReport:
        """The report about the draws."""

    @property
    @final
    def record(self) -> Mapping[str, Any]:
        """The inference that found the posterior, and its settings."""
        return self.about_draws.record

    @property
    @final
    def diagnosis(self) -> Diagnosis:
        """The convergence of the draws; empty where there are no chains to compare."""
        return self.about_draws.diagnosis

    @property
    @final
    def sample_stats(self) -> Mapping[str, Array]:
        """The reports of the sampler about each draw: arrays (chain, draw)."""
        return self.about_draws.sample_stats

    @abstractmethod
    def mode(self) -> Theta:
        """Find the joint mode of the posterior density in the natural parametrisation."""

    @abstractmethod
    def mean(self) -> Theta:
        """Return the posterior mean of every parameter."""

    @abstractmethod
    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        """Return posterior draws; axes (chain, draw) lead."""

    @abstractmethod
    def predictive_weights(self) -> Array:
        """Return E[π_k | data], the class weights of the predictive rule: (n_classes,)."""

    @abstractmethod
    def log_joint_predictive(self) -> LogDensity:
        """Return log p(y = k, x | data), parameters integrated out, as a function of encoded rows x."""

    @abstractmethod
    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """Return the Monte-Carlo standard error of the predictive class probabilities: (n_rows, n_classes).

        Parameters
        ----------
        parts : iterable of (power, encoded rows)
            What is seen of the rows where the density is taken to a power, as :meth:`Fitted.parts` has it.
        """

    @abstractmethod
    def factors(self, X: Any, codes: Array, weights: Array) -> Factors:
        """Return what is independent under the posterior, each with its part of the encoded rows of the fit."""

    @final
    def mle(self) -> Theta:
        """Maximise the likelihood; class weights that are known stay as they are."""
        return self.model.mle(self.prior, self.statistics)

    @final
    def theta(self, rule: RuleName) -> Theta:
        """Find the estimate that a plug-in rule uses.

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
                f"rule={rule!r} integrates the parameters out and has no estimate; use one of "
                f"{', '.join(ESTIMATES)}"
            )
        return estimate(self)

    @final
    def scorer(self, rule: RuleName) -> Scorer:
        """Return log p(y = k, x) under a rule, and the class weights of that rule.

        Made once for every rule: all that does not depend on the rows is kept.
        """
        check_rule(rule)
        if rule not in self._scorers:
            if TABLE[rule].is_plug_in:
                theta = self.theta(rule)
                self._scorers[rule] = Scorer(self.model.log_joint(theta), theta[CLASS_WEIGHTS])
            else:
                self._scorers[rule] = Scorer(self.log_joint_predictive(), self.predictive_weights())
        return self._scorers[rule]

    @cached_property
    def _scorers(self) -> dict[RuleName, Scorer]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Keep the fields: what follows from them is made anew."""
        return {member.name: getattr(self, member.name) for member in fields(self)}


@dataclass(frozen=True, eq=False, repr=False)
class InClosedForm(Posterior):
    """A posterior in closed form, given the statistics.

    Attributes
    ----------
    belief : Joint
    """

    is_exact: ClassVar[bool] = True

    belief: Joint

    @final
    def mean(self) -> Theta:
        return self.belief.mean()

    @final
    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        flat = self.belief.draw(chains * size, rng)
        return {name: values.reshape(chains, size, *values.shape[1:]) for name, values in flat.items()}

    @final
    def predictive_weights(self) -> Array:
        return np.asarray(self.belief.parts[CLASS_WEIGHTS].mean()[CLASS_WEIGHTS])

    @final
    def log_joint_predictive(self) -> LogDensity:
        return self.model.log_joint_predictive(self.belief)

    @final
    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        _, X = next(iter(parts))
        return np.zeros((X.shape[0], self.model.n_classes))

    @final
    def factors(self, X: Any, codes: Array, weights: Array) -> Factors:
        return Factors(self.belief.parts[CLASS_WEIGHTS], [(self, X)], [])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Exact(InClosedForm):
    """The posterior of rows all of which are known."""

    @classmethod
    def of(cls, model: GenerativeModel, statistics: JointStatistics, prior: Joint | None = None) -> Self:
        """Update a prior by statistics: by default that of the model, resolved from them."""
        prior = model.prior(statistics) if prior is None else prior
        return cls(model, statistics, prior, prior.update(statistics))

    def mode(self) -> Theta:
        return self.belief.mode()

    @property
    def about_draws(self) -> DrawsReport:
        return DrawsReport({"inference": "closed_form"}, {}, Diagnosis({}, []), {})


@final
@dataclass(frozen=True, eq=False, repr=False)
class Expected(InClosedForm):
    """The conjugate posterior given the expected statistics of all rows, those that are partly known too.

    An approximation: it takes the completed rows for observed ones, and so is too narrow.

    Attributes
    ----------
    report : DrawsReport
        How the expectations were found.
    completed : JointStatistics
        Of the rows that are known in part.
    """

    report: DrawsReport
    completed: JointStatistics

    def mode(self) -> Theta:
        return in_log_odds(self.belief).mode()

    @property
    def about_draws(self) -> DrawsReport:
        return self.report


def in_log_odds(belief: Joint) -> Joint:
    """Return the belief whose mode is that of the log odds, of weights of components and of wrong labels."""

    def shifted(part: Dirichlet) -> Dirichlet:
        is_shifted = part.parameter in (CONFUSION, COMPONENT_WEIGHT)
        return replace(part, concentration=part.concentration + is_shifted)

    return _with_simplices(belief, shifted)


def flat(belief: Joint) -> Joint:
    """Return the belief with the same density for all probabilities of outcomes, also where some are zero."""
    return _with_simplices(belief, lambda part: replace(part, concentration=np.ones_like(part.concentration)))


def _with_simplices(belief: Joint, change: Callable[[Dirichlet], Dirichlet]) -> Joint:
    def changed(part: Any) -> Any:
        if isinstance(part, Joint):
            return part.map(changed)
        return change(part) if isinstance(part, Dirichlet) else part

    return belief.map(changed)
