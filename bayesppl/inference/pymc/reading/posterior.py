"""A posterior some parts of which are known in closed form, and the others by draws."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, final

import numpy as np

from bayesppl.conjugate import Conjugate, Fixed
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.conjugate.membership import Membership
from bayesppl.conjugate.statistics import Statistics
from bayesppl.data.read_table import as_table
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.families import ConjugateFamily, closed_forms
from bayesppl.families.composite import BlockRows
from bayesppl.inference.pymc.reading.by_rows import ByRows
from bayesppl.kernels.arrays import Array, Theta, log_mean_exp
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import CLASS_WEIGHTS, GenerativeModel
from bayesppl.model.drawn_factors import DrawnFactor, Factors
from bayesppl.model.normalisation import normalise, powered
from bayesppl.model.posterior import Exact, Posterior, Report
from bayesppl.model.sampled import log_batch_means, variance_of_shares


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """A part of a model that is known in closed form: its family, None of the class weights, and its posterior."""

    family: Any
    belief: Conjugate


@dataclass(frozen=True, eq=False)
class DrawnPart(ABC):
    """Draws of one part of a model.

    Attributes
    ----------
    family : ByRows or None
        None of class weights that are sampled by themselves.
    samples : Theta
        Axes (chain, draw) lead; classes are in ascending order.
    weights : array, optional
        Class weights at each draw, (chain, draw, class), where the part determines them too.
    points : (n_chains, n_draws, n_coordinates), optional
        Where the sampler was, from which everything else follows; None of draws of the user's.
    without : callable, optional
        From the place of a row of the fit to the part learned from all others, sampled anew.
    """

    family: ByRows | None
    samples: Theta
    weights: Array | None
    report: Report
    points: Array | None = field(default=None, kw_only=True)
    without: Callable[[int], DrawnPart] | None = field(default=None, kw_only=True)

    @abstractmethod
    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        """Log density of rows at some draws of a chain: (n_draws, n_rows, n_classes)."""

    @abstractmethod
    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        """Log density of rows of the fit at the draws of a chain, given all data and given all but the row."""

    @final
    def as_factor(self, X: Any) -> DrawnFactor:
        """The part as a factor of the joint density of the rows of the fit."""
        n_chains, n_draws = next(iter(self.samples.values())).shape[:2]

        def densities(rows: Any, members: Membership) -> tuple[Array, Array]:
            found = [self.left_out(chain, rows, members) for chain in range(n_chains)]
            fitted, without = zip(*found, strict=True)
            return np.concatenate(fitted), np.concatenate(without)

        weights = None if self.weights is None else self.weights.reshape(n_chains * n_draws, -1)
        again = self.without
        anew = None if again is None else lambda row: again(row).as_factor(X)
        return DrawnFactor(X, densities, (n_chains, n_draws), weights, anew)


@final
@dataclass(frozen=True, eq=False)
class SampledPart(DrawnPart):
    """Draws of all variables of a part."""

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        theta = {name: values[chain, draws] for name, values in self.samples.items()}
        weights = np.ones((1, 1)) if self.weights is None else self.weights[chain, draws]
        log_density = 0.0 if self.family is None else self.family.log_likelihood(theta)(X)
        found = log_density + np.log(weights)[:, None, :]
        return np.broadcast_to(found, (len(found), len(X), found.shape[-1]))

    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        found = self.log_densities(chain, slice(None), X)
        return found, found


def in_class_order(family: ByRows, samples: Theta, report: Report) -> tuple[Theta, Report]:
    """Draws of variables of the model, and what is reported of them, with classes in ascending order."""
    diagnosis = replace(report.diagnosis, measures=family.from_model(report.diagnosis.measures))
    return family.from_model(samples), replace(report, diagnosis=diagnosis)


@final
@dataclass(frozen=True, eq=False)
class CollapsedPart(DrawnPart):
    """Draws of one part of a model whose parameters have a closed form given the other variables.

    Attributes
    ----------
    own : ConjugateFamily
        Bound to the columns of the part.
    columns : sequence
        Names of these columns.
    beliefs : sequence of sequences of Conjugate
        Posterior beliefs about the parameters, by chain and draw of the other variables.
    statistics : Statistics
        Of the rows of the fit.
    """

    own: ConjugateFamily
    columns: Sequence[Hashable]
    beliefs: Sequence[Sequence[Conjugate]]
    statistics: Statistics

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        rows = self.own.bound.encode(own_table(X, self.columns))
        return np.stack(
            [closed_forms.log_predictive(self.own, belief)(rows) for belief in self.beliefs[chain][draws]]
        )

    def left_out(self, chain: int, X: Any, members: Membership) -> tuple[Array, Array]:
        rows, beliefs = self.own.bound.encode(own_table(X, self.columns)), self.beliefs[chain]
        found = [closed_forms.leave_one_out(self.own, b, self.statistics, rows, members) for b in beliefs]
        fitted, without = zip(*found, strict=True)
        return np.stack(fitted), np.stack(without)


def own_table(X: BlockRows, columns: Sequence[Hashable]) -> Table:
    """Rows of a part as its own family reads them."""
    return as_table(np.column_stack(list(X.parts.values()))).renamed(columns)


@dataclass(frozen=True, eq=False, repr=False)
class PartlyExact(Posterior):
    """Parts that are independent given the labels: each is solved by itself, and predictives multiply.

    Attributes
    ----------
    solved, sampled : mappings of str to parts
        By block; class weights that are a part by themselves are the last one.
    """

    solved: Mapping[str, SolvedPart]
    sampled: Mapping[str, DrawnPart]

    @property
    def _lead(self) -> tuple[int, int]:
        """Numbers of chains and draws."""
        values = next(iter(next(iter(self.sampled.values())).samples.values()))
        return values.shape[0], values.shape[1]

    @property
    def _blocks(self) -> list[str]:
        """The parts with features."""
        return [block for block in (*self.solved, *self.sampled) if block != CLASS_WEIGHTS]

    @property
    def about_draws(self) -> Report:
        reports = {block: part.report for block, part in self.sampled.items()}
        first = next(iter(reports.values()))
        measures = self._named({block: report.diagnosis.measures for block, report in reports.items()})
        problems = [problem for report in reports.values() for problem in report.diagnosis.problems]
        own = {block: part.samples for block, part in self.sampled.items() if block == CLASS_WEIGHTS}
        named = self._named(own).items()
        dims = {name: tuple(f"{name}_dim_{axis}" for axis in range(values.ndim - 2)) for name, values in named}
        solved, sampled = ([b for b in parts if b != CLASS_WEIGHTS] for parts in (self.solved, self.sampled))
        record = {**first.record, "exact": solved, "sampled": sampled}
        return Report(record, first.sample_stats, Diagnosis(measures, problems), dims)

    @property
    def is_exact(self) -> bool:
        return False

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
        found |= {block: part.samples for block, part in self.sampled.items()}
        own = found.pop(CLASS_WEIGHTS, {}) if CLASS_WEIGHTS in self.solved else {CLASS_WEIGHTS: self._weights}
        found.pop(CLASS_WEIGHTS, None)
        return {**own, **self._named(found)}

    def predictive_weights(self) -> Array:
        if CLASS_WEIGHTS in self.solved:
            return self.solved[CLASS_WEIGHTS].belief.mean()[CLASS_WEIGHTS]
        return self._weights.mean((0, 1))

    def log_joint_predictive(self) -> LogDensity:
        def log_joint(X: Any) -> Array:
            total = self._log_weights(X)
            for values in self._batches(X, 1).values():
                total = total + log_mean_exp(values, axis=0)
            return total

        return LogDensity(log_joint)

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """By batch means, as for any sampled posterior; errors of independent parts add up.

        That of class weights which are sampled by themselves is not counted: it is small beside that of the
        features.
        """
        [(power, X)] = parts  # one, for rows of such a model are modelled as a whole
        batches = self._batches(X, int(np.sqrt(self._lead[1])))
        middle = {block: log_mean_exp(values, axis=0) for block, values in batches.items()}
        total = self._log_weights(X) + sum(middle.values())
        weights = self.predictive_weights()
        share = normalise(powered([(power, total)], weights), weights, log=False)[0]
        sampled = batches.keys() & self.sampled.keys()
        changes = (power * np.exp(batches[block] - middle[block]) for block in sampled)
        return np.sqrt(sum((variance_of_shares(share, change) for change in changes), np.zeros(share.shape)))

    def factors(self, X: Any, codes: Array, weights: Array) -> Factors:
        several = len(self._blocks) > 1
        rows = {block: X.parts[block] if several else X for block in self._blocks}
        exact = [(self._alone(block, several), rows[block]) for block in self.solved if block in rows]
        drawn = [part.as_factor(rows.get(block, X)) for block, part in self.sampled.items()]
        solved = self.solved.get(CLASS_WEIGHTS)
        return Factors(None if solved is None else solved.belief, exact, drawn)

    def _alone(self, block: str, several: bool) -> Exact:
        """A part in closed form as a posterior by itself, its classes of equal weight."""
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
        """Log class weights, (n_rows, n_classes), where they are a part by themselves; zeros otherwise."""
        total = np.zeros((X.shape[0], self.model.n_classes))
        if CLASS_WEIGHTS in self.solved or CLASS_WEIGHTS in self.sampled:
            with np.errstate(divide="ignore"):
                total = total + np.log(self.predictive_weights())
        return total

    def _batches(self, X: Any, per_chain: int) -> dict[str, Array]:
        """Log density of rows, averaged over batches of draws: (n_batches, n_rows, n_classes) for each block."""
        found, shape = {}, (X.shape[0], self.model.n_classes)
        for block in self._blocks:
            own = X.parts[block] if len(self._blocks) > 1 else X
            if block in self.solved:
                part = self.solved[block]
                found[block] = closed_forms.log_predictive(part.family, part.belief)(own)[None]
            else:
                log_density = partial(self.sampled[block].log_densities, X=own)
                found[block] = log_batch_means(log_density, *self._lead, per_chain, shape)
        return found

    @property
    def _weights(self) -> Array:
        """Draws of the class weights, where they are sampled."""
        [weights] = [part.weights for part in self.sampled.values() if part.weights is not None]
        return weights

    def _named(self, parts: Mapping[str, Theta]) -> Theta:
        """Values of parameters by names that differ from block to block."""
        named = {}
        for block, theta in parts.items():
            prefix = f"{block}_" if len(self._blocks) > 1 or block == CLASS_WEIGHTS else ""
            named.update({prefix + name: values for name, values in theta.items()})
        return named
