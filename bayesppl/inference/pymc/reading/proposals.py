"""Families that a likelihood could be, by its distribution, with the parameters they would have."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytensor.tensor as pt
from pytensor.tensor.random import basic

from bayesppl.families import (
    Bernoulli,
    Binomial,
    Categorical,
    Family,
    Gaussian,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from bayesppl.families._bases.known_variances import KnownVariances
from bayesppl.families.gamma_rate import GammaRate
from bayesppl.families.lognormal import LogGaussian
from bayesppl.inference.pymc.reading.natural_normals import Means, MeansAndCovariances, MeansAndVariances
from bayesppl.inference.pymc.reading.naturals import (
    Natural,
    Probabilities,
    Rates,
    Simplices,
    UnequalSimplices,
)
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.rows import same_values
from bayesppl.kernels.arrays import Array


@dataclass(frozen=True, eq=False)
class Proposal:
    """A family a block could be.

    Attributes
    ----------
    natural : Natural
    theta : mapping of str to graph
        Parameters of the family, of the inputs for the free variables.
    family : callable
        Of a prior and the names of the columns.
    support : {"real", "positive", "count", "binary", "level", "shares"}
        What rows to try densities at.
    levels : sequence of int
        Numbers of levels of the columns, where they hold levels.
    known : mapping of str to graph
        Further parameters of the rows, of the inputs, given which those of ``theta`` are looked at.
    rows : callable, optional
        Of the names of the columns: the family of the rows under ``theta`` and ``known``, where it is another than ``family``.
    alternative : Proposal, optional
        What the block could be where this is not proved.
    """

    natural: Natural
    theta: Mapping[str, Any]
    family: Callable[[Any, Sequence[Hashable]], Family]
    support: str
    levels: Sequence[int] = ()
    known: Mapping[str, Any] = field(default_factory=dict)
    rows: Callable[[Sequence[Hashable]], Family] | None = None
    alternative: Proposal | None = None

    @property
    def options(self) -> list[Proposal]:
        """This, and what the block could be instead, in order."""
        return [self, *(self.alternative.options if self.alternative else [])]

    def rows_family(self, belief: Any, columns: Sequence[Hashable]) -> Family:
        """The family of the rows under ``theta`` and ``known``."""
        return self.family(belief, columns) if self.rows is None else self.rows(columns)


@dataclass(frozen=True, eq=False)
class At:
    """Values of graphs of the inputs at points of the free variables."""

    coordinates: Coordinates
    points: Sequence[Array]

    def __call__(self, graph: Any) -> Array:
        return self.coordinates.evaluate(self.coordinates.of([graph]), self.points)[0]

    def constant(self, graph: Any) -> Array | None:
        """The value of a graph that depends on no variable and on no class, (n_features,); None of any other."""
        values = self(graph)
        first = np.asarray(values[0, 0])
        return first if same_values(values, np.broadcast_to(first, values.shape), 1e-15) else None


def _columns(parameters: Sequence[Sequence[Any]], place: int, n_core: int = 0) -> Any:
    """One parameter of all observed variables, (n_classes, n_features, ...)."""
    flat = [
        own[place].reshape(
            (own[place].shape[0], -1, *(own[place].shape[own[place].ndim - n_core + j] for j in range(n_core)))
        )
        for own in parameters
    ]
    return flat[0] if len(flat) == 1 else pt.concatenate(flat, axis=1)


def _shape(at: At, graph: Any) -> tuple[int, ...]:
    return at(graph).shape[1:]


def _bernoulli(parameters: Sequence[Any], at: At) -> Proposal | str:
    p = _columns(parameters, 0)
    return Proposal(
        Probabilities(_shape(at, p)), {"probability": p}, lambda prior, _: Bernoulli(probability=prior), "binary"
    )


def _binomial(parameters: Sequence[Any], at: At) -> Proposal | str:
    n, p = _columns(parameters, 0), _columns(parameters, 1)
    trials = at.constant(n)
    if trials is None:
        return "its numbers of trials differ between classes"
    numbers = [int(m) for m in trials]
    return Proposal(
        Probabilities(_shape(at, p)),
        {"probability": p},
        lambda prior, _: Binomial(numbers, probability=prior),
        "count",
    )


def _negative_binomial(parameters: Sequence[Any], at: At) -> Proposal | str:
    n, p = _columns(parameters, 0), _columns(parameters, 1)
    size = at.constant(n)
    if size is None:
        return "its size is learned, or differs between classes"
    known = size.tolist()
    return Proposal(
        Probabilities(_shape(at, p)),
        {"probability": p},
        lambda prior, _: NegativeBinomial(known, probability=prior),
        "count",
    )


def _poisson(parameters: Sequence[Any], at: At) -> Proposal | str:
    rate = _columns(parameters, 0)
    return Proposal(Rates(_shape(at, rate)), {"rate": rate}, lambda prior, _: Poisson(rate=prior), "count")


def _poisson_exposed(parameters: Sequence[Any], at: At, exposure: str) -> Proposal | str:
    rate = _columns(parameters, 0)
    natural = Rates(_shape(at, rate))
    return Proposal(natural, {"rate": rate}, lambda prior, _: Poisson(rate=prior, exposure=exposure), "count")


def _binomial_trials(parameters: Sequence[Any], at: At, trials: str) -> Proposal | str:
    p = _columns(parameters, 1)
    natural = Probabilities(_shape(at, p))
    return Proposal(natural, {"probability": p}, lambda prior, _: Binomial(trials, probability=prior), "count")


def _exponential(parameters: Sequence[Any], at: At) -> Proposal | str:
    rate = 1 / _columns(parameters, 0)
    return Proposal(
        Rates(_shape(at, rate)), {"rate": rate}, lambda prior, _: GammaRate(rate=prior, shape=1.0), "positive"
    )


def _gamma(parameters: Sequence[Any], at: At) -> Proposal | str:
    shape, rate = _columns(parameters, 0), 1 / _columns(parameters, 1)
    known = at.constant(shape)
    if known is None:
        return "its shape is learned, or differs between classes"
    shapes = known.tolist()
    return Proposal(
        Rates(_shape(at, rate)), {"rate": rate}, lambda prior, _: GammaRate(rate=prior, shape=shapes), "positive"
    )


def _gaussian(
    make: Callable[[Any, Any], Family], of_known: Callable[[KnownVariances], Family], support: str
) -> Callable[[Sequence[Any], At], Proposal | str]:
    def build(parameters: Sequence[Any], at: At) -> Proposal | str:
        mean, variance = _columns(parameters, 0), _columns(parameters, 1) ** 2
        values = at(variance)
        entries = values.shape[1:]
        means = Proposal(
            Means(values[0]), {"mean": mean}, lambda prior, _: of_known(KnownVariances(prior)), support
        )
        if same_values(values, np.broadcast_to(values[:1], values.shape), 1e-15):
            return means
        given = replace(means, known={"variance": variance}, rows=lambda _: make("diag", "jeffreys"))
        tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14)
        spherical = entries[1] > 1 and same_values(values, np.broadcast_to(values[..., :1], values.shape), 1e-14)
        if tied and spherical:
            return given
        shared: tuple[int, ...] | None
        if tied:
            structure, shared, own = "tied_diag", (-2,), variance[0]
        elif spherical:
            structure, shared, own = "spherical", (-1,), variance[:, 0]
        else:
            structure, shared, own = "diag", None, variance
        natural = MeansAndVariances(entries, shared or ())
        theta = {"mean": mean, "variance": own}
        return Proposal(natural, theta, lambda prior, _: make(structure, prior), support, alternative=given)

    return build


def _multivariate(parameters: Sequence[Any], at: At) -> Proposal | str:
    [(mean, covariance)] = parameters
    if mean.ndim != 2:
        return "its vectors are arranged in more than one dimension"
    values = at(covariance)
    n_classes, d = values.shape[1], values.shape[-1]
    covariance = pt.specify_shape(covariance, (n_classes, d, d))
    tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14)
    own = covariance[0] if tied else covariance
    natural = MeansAndCovariances(n_classes, d, tied)
    structure: Literal["tied", "full"] = "tied" if tied else "full"
    return Proposal(
        natural, {"mean": mean, "covariance": own}, lambda prior, _: Gaussian(structure, prior), "real"
    )


def _categorical(parameters: Sequence[Any], at: At) -> Proposal | str:
    tables = [_columns([own], 0, 1) for own in parameters]
    shapes = [_shape(at, table) for table in tables]
    levels = [n_levels for _, n_columns, n_levels in shapes for _ in range(n_columns)]
    n_classes = shapes[0][0]
    natural: Natural
    if len(set(levels)) == 1:
        natural = Simplices("probability", (n_classes, len(levels)), levels[0], tuple(levels))
        probability = pt.concatenate([t.reshape((n_classes, -1, levels[0])) for t in tables], axis=1)
    else:
        natural = UnequalSimplices(n_classes, tuple(levels))
        probability = pt.concatenate([t.reshape((n_classes, -1)) for t in tables], axis=1)
    probability = pt.specify_shape(probability, at(probability).shape[1:])
    return Proposal(
        natural,
        {"probability": probability},
        lambda prior, columns: _of_levels(prior, levels, columns),
        "level",
        levels,
    )


def _of_levels(prior: Any, levels: Sequence[int], columns: Sequence[Hashable]) -> Family:
    """Columns whose levels are numbered."""
    return Categorical(prior, levels={name: list(range(n)) for name, n in zip(columns, levels, strict=True)})


def _multinomial(parameters: Sequence[Any], at: At) -> Proposal | str:
    [(_, p)] = parameters
    if p.ndim != 2:
        return "its vectors are arranged in more than one dimension"
    n_classes, n_outcomes = _shape(at, p)
    natural = Simplices("probability", (n_classes,), n_outcomes)
    return Proposal(natural, {"probability": p}, lambda prior, _: Multinomial(prior), "shares")


ENTRYWISE: Mapping[type, Callable[[Sequence[Any], At], Proposal | str]] = {
    basic.NormalRV: _gaussian(lambda structure, prior: Gaussian(structure, prior), lambda known: known, "real"),
    basic.LogNormalRV: _gaussian(lambda structure, prior: LogNormal(structure, prior), LogGaussian, "positive"),
    basic.BernoulliRV: _bernoulli,
    basic.BinomialRV: _binomial,
    basic.NegBinomialRV: _negative_binomial,
    basic.PoissonRV: _poisson,
    basic.ExponentialRV: _exponential,
    basic.GammaRV: _gamma,
    basic.CategoricalRV: _categorical,
}
#: Families whose rows may come with an exposure, or a number of trials.
PER_ROW: Mapping[type, Callable[[Sequence[Any], At, str], Proposal | str]] = {
    basic.PoissonRV: _poisson_exposed,
    basic.BinomialRV: _binomial_trials,
}
BUILDERS: Mapping[type, Callable[[Sequence[Any], At], Proposal | str]] = {
    **ENTRYWISE,
    basic.MvNormalRV: _multivariate,
    basic.MultinomialRV: _multinomial,
}
