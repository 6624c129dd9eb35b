"""A posterior some parts of which are known in closed form, and the others by draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from bayesppl.conjugate import Conjugate
from bayesppl.conjugate.log_density import LogDensity
from bayesppl.data.read_table import as_table
from bayesppl.data.table import Table
from bayesppl.errors import NotConjugateError
from bayesppl.families import ConjugateFamily, closed_forms
from bayesppl.families.composite import BlockRows
from bayesppl.inference.pymc.reading.by_rows import ByRows
from bayesppl.kernels.arrays import Array, Theta, log_mean_exp
from bayesppl.model.convergence import Diagnosis
from bayesppl.model.declaration import CLASS_WEIGHTS
from bayesppl.model.normalisation import normalise, powered
from bayesppl.model.posterior import Posterior, Report
from bayesppl.model.sampled import log_batch_means


@dataclass(frozen=True, eq=False)
class SampledPart:
    """Draws of one part of a model.

    Attributes
    ----------
    family : ByRows
    samples : Theta
        Axes (chain, draw) lead; classes are in ascending order.
    weights : array, optional
        Class weights at each draw, (chain, draw, class), where the part determines them too.
    """

    family: ByRows
    samples: Theta
    weights: Array | None
    report: Report

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        """Log density of rows at some draws of a chain: (n_draws, n_rows, n_classes)."""
        log_density = self.family.log_likelihood({k: v[chain, draws] for k, v in self.samples.items()})(X)
        return (
            log_density if self.weights is None else log_density + np.log(self.weights[chain, draws])[:, None, :]
        )


def in_class_order(family: ByRows, samples: Theta, report: Report) -> tuple[Theta, Report]:
    """Draws of variables of the model, and what is reported of them, with classes in ascending order."""
    diagnosis = replace(report.diagnosis, measures=family.from_model(report.diagnosis.measures))
    return family.from_model(samples), replace(report, diagnosis=diagnosis)


@dataclass(frozen=True, eq=False)
class CollapsedPart(SampledPart):
    """Draws of one part of a model whose parameters have a closed form given the other variables.

    Attributes
    ----------
    own : ConjugateFamily
        Bound to the columns of the part.
    columns : sequence
        Names of these columns.
    beliefs : sequence of sequences of Conjugate
        Posterior beliefs about the parameters, by chain and draw of the other variables.
    """

    own: ConjugateFamily
    columns: Sequence[Hashable]
    beliefs: Sequence[Sequence[Conjugate]]

    def log_densities(self, chain: int, draws: slice, X: Any) -> Array:
        """Log predictive density of rows, the parameters integrated out, at some draws of a chain."""
        rows = self.own.bound.encode(own_table(X, self.columns))
        return np.stack(
            [closed_forms.log_predictive(self.own, belief)(rows) for belief in self.beliefs[chain][draws]]
        )


def own_table(X: BlockRows, columns: Sequence[Hashable]) -> Table:
    """Rows of a part as its own family reads them."""
    return as_table(np.column_stack(list(X.parts.values()))).renamed(columns)


@dataclass(frozen=True, eq=False)
class SampledLabel:
    """Draws of what the class weights are computed from, and of the weights: (chain, draw, class)."""

    samples: Theta
    weights: Array
    report: Report


@dataclass(frozen=True, eq=False, repr=False)
class PartlyExact(Posterior):
    """Parts that are independent given the labels: each is solved by itself, and predictives multiply.

    Attributes
    ----------
    exact : mapping of str to (family, belief)
        Families and posterior beliefs by block.
    exact_weights : Conjugate or None
        Posterior belief about the class weights; None where they are sampled with a part.
    sampled : mapping of str to SampledPart
    label : SampledLabel or None
        Where the class weights are sampled by themselves.
    """

    exact: Mapping[str, tuple[Any, Conjugate]]
    exact_weights: Conjugate | None
    sampled: Mapping[str, SampledPart]
    label: SampledLabel | None

    @property
    def _parts(self) -> dict[str, SampledPart | SampledLabel]:
        return {**self.sampled, **({} if self.label is None else {CLASS_WEIGHTS: self.label})}

    @property
    def _lead(self) -> tuple[int, int]:
        """Numbers of chains and draws."""
        values = next(iter(next(iter(self._parts.values())).samples.values()))
        return values.shape[0], values.shape[1]

    @property
    def about_draws(self) -> Report:
        reports = {block: part.report for block, part in self._parts.items()}
        first = next(iter(reports.values()))
        measures = {
            self._prefix(block) + name: values
            for block, report in reports.items()
            for name, values in report.diagnosis.measures.items()
        }
        problems = [problem for report in reports.values() for problem in report.diagnosis.problems]
        own = {} if self.label is None else self.label.samples
        named = {self._prefix(CLASS_WEIGHTS) + name: values.ndim - 2 for name, values in own.items()}
        dims = {name: tuple(f"{name}_dim_{axis}" for axis in range(ndim)) for name, ndim in named.items()}
        record = {**first.record, "exact": list(self.exact), "sampled": list(self.sampled)}
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
        return self._collect(
            {block: belief.mean() for block, (_, belief) in self.exact.items()},
            {block: {k: v.mean((0, 1)) for k, v in part.samples.items()} for block, part in self.sampled.items()},
            self.predictive_weights(),
        )

    def draws(self, chains: int, size: int, rng: np.random.Generator) -> Theta:
        lead = self._lead
        n = lead[0] * lead[1]
        exact = {
            block: {k: v.reshape(*lead, *v.shape[1:]) for k, v in belief.draw(n, rng).items()}
            for block, (_, belief) in self.exact.items()
        }
        if self.exact_weights is not None:
            flat = self.exact_weights.draw(n, rng)[CLASS_WEIGHTS]
            weights = flat.reshape(*lead, -1)
        else:
            weights = self._sampled_weights()
        return self._collect(exact, {block: part.samples for block, part in self.sampled.items()}, weights)

    def predictive_weights(self) -> Array:
        if self.exact_weights is not None:
            return self.exact_weights.mean()[CLASS_WEIGHTS]
        return self._sampled_weights().mean((0, 1))

    def log_joint_predictive(self) -> LogDensity:
        def log_joint(X: Any) -> Array:
            total = self._exact_part(X)
            for block, part in self.sampled.items():
                total = total + log_mean_exp(_batches(part, self._rows(X, block), 1), axis=0)
            return total

        return LogDensity(log_joint)

    def predictive_mcse(self, parts: Iterable[tuple[float, Any]]) -> Array:
        """By batch means, as for any sampled posterior; errors of independent parts add up.

        That of class weights which are sampled by themselves is not counted: it is small beside that of the
        features.
        """
        [(power, X)] = parts  # one, for rows of such a model are modelled as a whole
        exact = self._exact_part(X)
        per_chain = int(np.sqrt(self._lead[1]))
        batches = {b: _batches(part, self._rows(X, b), per_chain) for b, part in self.sampled.items()}
        middle = {block: log_mean_exp(values, axis=0) for block, values in batches.items()}
        total = exact + sum(middle.values())
        weights = self.predictive_weights()
        share = normalise(powered([(power, total)], weights), weights, log=False)[0]
        variance = np.zeros(share.shape)
        for block, values in batches.items():
            relative = power * np.exp(values - middle[block])
            influence = share * (relative - (share * relative).sum(-1, keepdims=True))
            variance += (influence**2).sum(0) / (len(values) - 1) / len(values)
        return np.sqrt(variance)

    def _exact_part(self, X: Any) -> Array:
        shape = (X.shape[0], self.model.n_classes)
        total = np.zeros(shape)
        if self.exact_weights is not None or self.label is not None:
            with np.errstate(divide="ignore"):
                total = total + np.log(self.predictive_weights())
        for block, (family, belief) in self.exact.items():
            total = total + closed_forms.log_predictive(family, belief)(self._rows(X, block))
        return total

    def _rows(self, X: Any, block: str) -> Any:
        return X.parts[block] if len(self.exact) + len(self.sampled) > 1 else X

    def _sampled_weights(self) -> Array:
        if self.label is not None:
            return self.label.weights
        [weights] = [part.weights for part in self.sampled.values() if part.weights is not None]
        return weights

    def _prefix(self, block: str) -> str:
        """What the names of a block's parameters have before them."""
        several = len(self.exact) + len(self.sampled) > 1
        return f"{block}_" if several or block == CLASS_WEIGHTS else ""

    def _collect(self, exact: Mapping[str, Theta], sampled: Mapping[str, Theta], weights: Array) -> Theta:
        return {CLASS_WEIGHTS: weights} | {
            self._prefix(block) + name: values
            for block, theta in {**exact, **sampled}.items()
            for name, values in theta.items()
        }


def _batches(part: SampledPart, X: Any, per_chain: int) -> Array:
    """Log density of rows, averaged over batches of consecutive draws: (n_batches, n_rows, n_classes)."""
    n_chains, n_draws = next(iter(part.samples.values())).shape[:2]
    edges = np.linspace(0, n_draws, per_chain + 1).astype(int).tolist()

    def log_density(chain: int, draws: slice) -> Array:
        return part.log_densities(chain, draws, X)

    return log_batch_means(log_density, n_chains, edges, (X.shape[0], len(part.family.classes)))
