"""A posterior some parts of which are known in closed form, and the others by draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np

from bayesppl.conjugate import Conjugate, Fixed
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.errors import NotConjugateError
from bayesppl.families import closed_forms
from bayesppl.inference.pymc.reading.parts import DrawnPart, SolvedPart
from bayesppl.kernels.arrays import Array, Theta, log_mean_exp, logarithm
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.drawn_factors import Factors
from bayesppl.model.normalisation import normalise, powered
from bayesppl.model.posterior import DrawsReport, Exact, Posterior
from bayesppl.model.sampled import log_batch_means, relative, variance_of_shares, weights_by_batches


@dataclass(frozen=True, eq=False, repr=False)
class PartlyExact(Posterior):
    """Parts that are independent given the labels: each is solved by itself, and predictives multiply.

    Attributes
    ----------
    labels : Conjugate or None
        Posterior belief about the class weights, where these are a part in closed form.
    solved, sampled : mappings of str to parts
        By block; class weights that are sampled by themselves are the last one.
    """

    is_exact: ClassVar[bool] = False

    labels: Conjugate | None
    solved: Mapping[str, SolvedPart]
    sampled: Mapping[str, DrawnPart]

    @property
    def _lead(self) -> tuple[int, int]:
        """Return the numbers of chains and draws."""
        values = next(iter(next(iter(self.sampled.values())).samples.values()))
        return values.shape[0], values.shape[1]

    @property
    def _blocks(self) -> list[str]:
        """List the parts with features."""
        return [block for block in (*self.solved, *self.sampled) if block != CLASS_WEIGHTS]

    @property
    def about_draws(self) -> DrawsReport:
        reports = {block: part.report for block, part in self.sampled.items()}
        first = next(iter(reports.values()))
        measures = self._named({block: report.diagnosis.measures for block, report in reports.items()})
        problems = [problem for report in reports.values() for problem in report.diagnosis.problems]
        own = {block: part.samples for block, part in self.sampled.items() if block == CLASS_WEIGHTS}
        named = self._named(own).items()
        dims = {name: tuple(f"{name}_dim_{axis}" for axis in range(values.ndim - 2)) for name, values in named}
        sampled = [block for block in self.sampled if block != CLASS_WEIGHTS]
        record = {**first.record, "exact": list(self.solved), "sampled": sampled}
        return DrawsReport(record, first.sample_stats, Diagnosis(measures, problems), dims)

    def mode(self) -> NoReturn:
        raise NotConjugateError(
            "rule='map' is not defined here: parts of the model were sampled in the variables of its user, whose "
            "mode depends on how they were chosen; use rule='mean' or 'predictive'"
        )

    def mean(self) -> Theta:
        found = {block: part.belief.mean() for block, part in self.solved.items()}
        found |= {b: {k: v.mean((0, 1)) for k, v in part.samples.items()} for b, part in self.sampled.items()}
        found.pop(CLASS_WEIGHTS, None)
        return {CLASS_WEIGHTS: self.predictive_weights(), **self._named(found)}

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        lead = self._lead
        found: dict[str, Theta] = {}
        for block, part in self.solved.items():
            drawn = part.belief.draw(lead[0] * lead[1], rng)
            found[block] = {name: values.reshape(*lead, *values.shape[1:]) for name, values in drawn.items()}
        found |= {block: part.samples for block, part in self.sampled.items() if block != CLASS_WEIGHTS}
        if self.labels is None:
            weights = self._weights
        else:
            weights = self.labels.draw(lead[0] * lead[1], rng)[CLASS_WEIGHTS].reshape(*lead, -1)
        return {CLASS_WEIGHTS: weights, **self._named(found)}

    def predictive_weights(self) -> Array:
        return self._weights.mean((0, 1)) if self.labels is None else self.labels.mean()[CLASS_WEIGHTS]

    def log_joint_predictive(self) -> LogDensity:
        def log_joint(X: Any) -> Array:
            total = self._log_weights(X)
            for values in self._batches(X, 1).values():
                total = total + log_mean_exp(values)
            return total

        return LogDensity(log_joint)

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """Compute the errors by batch means, as for any sampled posterior; those of independent parts add up."""
        [(power, X)] = parts  # one, for rows of such a model are modelled as a whole
        per_chain = int(np.sqrt(self._lead[1]))
        batches = self._batches(X, per_chain)
        middle = {block: log_mean_exp(values) for block, values in batches.items()}
        total, weights = self._log_weights(X) + sum(middle.values()), self.predictive_weights()
        share = normalise(powered([(power, total)], weights), weights, log=False)[0]
        changes = {block: power * relative(batches[block], middle[block]) for block in self.sampled}
        for block, part in self.sampled.items():
            if part.weights is not None:  # they have the power one, whatever that of the densities
                of_weights = weights_by_batches(part.weights, per_chain)
                changes[block] = changes[block] + (1.0 - power) * relative(of_weights, log_mean_exp(of_weights))
        return np.sqrt(sum(variance_of_shares(share, change) for change in changes.values()))

    def factors(self, X: Any, codes: Array, weights: Array) -> Factors:
        several = len(self._blocks) > 1
        rows = {block: X.parts[block] if several else X for block in self._blocks}
        exact = [(self._alone(block, several), rows[block]) for block in self.solved]
        drawn = [part.as_factor(rows.get(block, X)) for block, part in self.sampled.items()]
        return Factors(self.labels, exact, drawn)

    def _alone(self, block: str, several: bool) -> Exact:
        """Return a part in closed form as a posterior by itself, its classes of equal weight."""
        part, labels = self.solved[block], np.full(self.model.n_classes, 1 / self.model.n_classes)
        statistics, prior = self.statistics.parts["features"], self.prior.parts["features"]
        if several:
            statistics, prior = statistics.parts[block], prior.parts[block]
        known = Fixed(labels, CLASS_WEIGHTS)
        return Exact(
            GenerativeModel(part.family, labels, self.model.classes),
            replace(self.statistics, parts={**self.statistics.parts, "features": statistics}),
            replace(self.prior, parts={CLASS_WEIGHTS: known, "features": prior}),
            replace(self.prior, parts={CLASS_WEIGHTS: known, "features": part.belief}),
        )

    def _log_weights(self, X: Any) -> Array:
        """Return log class weights, (n_rows, n_classes), where they are in closed form; zeros otherwise."""
        total = np.zeros((X.shape[0], self.model.n_classes))
        return total if self.labels is None else total + logarithm(self.predictive_weights())

    def _batches(self, X: Any, per_chain: int) -> dict[str, Array]:
        """Average what the draws of each block give, by batches: logs, (n_batches, n_rows or 1, n_classes)."""
        found, shape = {}, (X.shape[0], self.model.n_classes)
        for block in self._blocks:
            own = X.parts[block] if len(self._blocks) > 1 else X
            if block in self.solved:
                part = self.solved[block]
                found[block] = closed_forms.log_predictive(part.family, part.belief)(own)[None]
            else:
                log_density = partial(self.sampled[block].log_densities, X=own)
                found[block] = log_batch_means(log_density, *self._lead, per_chain, shape)
        if CLASS_WEIGHTS in self.sampled:
            found[CLASS_WEIGHTS] = weights_by_batches(self._weights, per_chain)
        return found

    @property
    def _weights(self) -> Array:
        """Return the draws of the class weights, where they are sampled."""
        [weights] = [part.weights for part in self.sampled.values() if part.weights is not None]
        return weights

    def _named(self, parts: Mapping[str, Theta]) -> Theta:
        """Give values of parameters names that differ from block to block."""
        several = len(self._blocks) > 1
        prefixes = {block: f"{block}_" if several or block == CLASS_WEIGHTS else "" for block in parts}
        return {prefixes[block] + name: values for block, own in parts.items() for name, values in own.items()}
