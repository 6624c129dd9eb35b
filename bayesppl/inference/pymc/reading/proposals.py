"""Families that a likelihood could be, by its distribution, with the parameters per class that they would have."""

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
from bayesppl.families.gamma_rate import GammaRate
from bayesppl.families.gaussian_diagonal import KnownVariances
from bayesppl.families.gaussian_full import KnownCovariances
from bayesppl.families.lognormal import LogGaussian
from bayesppl.families.negative_binomial import Geometric
from bayesppl.inference.pymc.reading.cloning import parameters_by_class
from bayesppl.inference.pymc.reading.natural_normals import (
    Means,
    MeansAndCovariances,
    MeansAndVariances,
    MeansOfVectors,
)
from bayesppl.inference.pymc.reading.naturals import Natural, ProbabilitiesOrRates, Simplices
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.rows import Observed, same_values
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
        Of the names of the columns: the family of the rows under ``theta`` and ``known``, where it is another
        than ``family``.
    """

    natural: Natural
    theta: Mapping[str, Any]
    family: Callable[[Any, Sequence[Hashable]], Family]
    support: str
    levels: Sequence[int] = ()
    known: Mapping[str, Any] = field(default_factory=dict)
    rows: Callable[[Sequence[Hashable]], Family] | None = None

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


#: Of the parameters of the distribution of each variable, and the column given for each row by the setting of the
#: family that it is: proposals, in order, or why there is none.
Build = Callable[[Sequence[Any], At, Mapping[str, str]], list[Proposal] | str]


def _cells(
    family_of: type[Any],
    place: int,
    support: str,
    *,
    is_scale: bool = False,
    known: str = "",
    number: type = float,
    refusal: str = "",
    **fixed: Any,
) -> Build:
    """A distribution of single cells, one of whose parameters has a conjugate prior.

    Parameters
    ----------
    family_of : type
    place : int
        Of that parameter among those of the distribution.
    is_scale : bool
        Whether the distribution has one over the rate.
    known : str
        Setting of the family that the first parameter of the distribution must be, if it is not given for each
        row; a ``number``, or else ``refusal`` is the reason.
    **fixed
        Other settings of the family.
    """

    def build(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
        own = _columns(parameters, place)
        [graph], cells = _different([1 / own if is_scale else own], at)
        settings: dict[str, Any] = {**fixed, **given}
        if known and not given:
            value = at.constant(_columns(parameters, 0))
            if value is None:
                return refusal
            settings[known] = [number(n) for n in value.tolist()]

        def family(prior: Any, columns: Sequence[Hashable]) -> Family:
            made: Family = family_of(**settings, **{natural.pair.parameter: prior})
            return made

        natural = ProbabilitiesOrRates(at(graph).shape[1:], pair=family_of.pair, cells=cells)
        return [Proposal(natural, {natural.pair.parameter: graph}, family, support)]

    return build


def _columns(parameters: Sequence[Sequence[Any]], place: int, n_core: int = 0) -> Any:
    """One parameter of all observed variables, (n_classes, n_features, ...)."""
    flat = [
        own[place].reshape(
            (own[place].shape[0], -1, *(own[place].shape[own[place].ndim - n_core + j] for j in range(n_core)))
        )
        for own in parameters
    ]
    return flat[0] if len(flat) == 1 else pt.concatenate(flat, axis=1)


def _different(graphs: Sequence[Any], at: At) -> tuple[list[Any], Array | None]:
    """The different parameters among those of all cells, (1, n_different), and which each cell has.

    Where no cells have the same, all of them, (n_classes, n_features), and None.
    """
    values = [at(graph) for graph in graphs]
    shape = values[0].shape[1:]
    flat = np.concatenate([v.reshape(len(v), -1) for v in values])
    _, first, cells = np.unique(flat, axis=1, return_index=True, return_inverse=True)
    if len(first) == flat.shape[1]:
        return list(graphs), None
    return [graph.reshape((1, -1))[:, first] for graph in graphs], cells.reshape(shape)


def _gaussian(
    make: Callable[[Any, Any], Family], of_known: Callable[[KnownVariances], Family], support: str
) -> Build:
    def build(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
        [mean, variance], cells = _different([_columns(parameters, 0), _columns(parameters, 1) ** 2], at)
        values = at(variance)
        entries = values.shape[1:]
        means = Proposal(
            Means(entries, variance=values[0], cells=cells),
            {"mean": mean},
            lambda prior, _: of_known(KnownVariances(prior)),
            support,
        )
        if same_values(values, np.broadcast_to(values[:1], values.shape), 1e-15):
            return [means]
        of_means = replace(means, known={"variance": variance}, rows=lambda _: make("diag", "jeffreys"))
        tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14)
        spherical = entries[1] > 1 and same_values(values, np.broadcast_to(values[..., :1], values.shape), 1e-14)
        if cells is None and tied and spherical:
            return [of_means]
        shared: tuple[int, ...] | None
        if cells is not None:
            structure, shared, own = "diag", None, variance
        elif tied:
            structure, shared, own = "tied_diag", (-2,), variance[0]
        elif spherical:
            structure, shared, own = "spherical", (-1,), variance[:, 0]
        else:
            structure, shared, own = "diag", None, variance
        natural = MeansAndVariances(entries, shared or (), cells=cells)
        theta = {"mean": mean, "variance": own}
        return [Proposal(natural, theta, lambda prior, _: make(structure, prior), support), of_means]

    return build


#: Columns of vectors whose means are integrated out beside a learned covariance. Elimination column by column
#: makes a graph that at three columns compiles as fast as that of the rows, and at eight takes half as long again.
_FEW = 3


def _multivariate(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
    [(mean, covariance)] = parameters
    if mean.ndim != 2:
        return "its vectors are arranged in more than one dimension"
    values = at(covariance)
    n_classes, d = values.shape[1], values.shape[-1]
    covariance = pt.specify_shape(covariance, (n_classes, d, d))
    means = Proposal(
        MeansOfVectors((n_classes, d), (-1,), covariance=values[0]),
        {"mean": mean},
        lambda prior, _: KnownCovariances(prior),
        "real",
    )
    if same_values(values, np.broadcast_to(values[:1], values.shape), 1e-15):
        return [means]
    of_means = replace(means, known={"covariance": covariance}, rows=lambda _: Gaussian("full", "jeffreys"))
    tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14)
    own = covariance[0] if tied else covariance
    natural = MeansAndCovariances((n_classes, d), (-2, -1) if tied else (-1,))
    structure: Literal["tied", "full"] = "tied" if tied else "full"
    theta = {"mean": mean, "covariance": own}
    found = Proposal(natural, theta, lambda prior, _: Gaussian(structure, prior), "real")
    return [found, of_means] if d <= _FEW else [found]


def _categorical(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
    tables = [_columns([own], 0, 1) for own in parameters]
    shapes = [at(table).shape[1:] for table in tables]
    levels = [n_levels for _, n_columns, n_levels in shapes for _ in range(n_columns)]
    n_classes = shapes[0][0]
    # columns of different lengths stand on one axis
    entries, own = ((n_classes, len(levels)), levels[:1]) if len(set(levels)) == 1 else ((n_classes,), [])
    natural = Simplices(entries, sizes=tuple(levels))
    probability = pt.concatenate([table.reshape((n_classes, -1, *own)) for table in tables], axis=1)
    probability = pt.specify_shape(probability, at(probability).shape[1:])

    def family(prior: Any, columns: Sequence[Hashable]) -> Family:
        return Categorical(prior, levels={name: list(range(n)) for name, n in zip(columns, levels, strict=True)})

    return [Proposal(natural, {"probability": probability}, family, "level", levels)]


def _multinomial(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
    [(_, p)] = parameters
    if p.ndim != 2:
        return "its vectors are arranged in more than one dimension"
    natural = Simplices(at(p).shape[1:2])
    return [Proposal(natural, {"probability": p}, lambda prior, _: Multinomial(prior), "shares")]


_LEARNED = "is learned, or differs between classes"
ENTRYWISE: Mapping[type, Build] = {
    basic.NormalRV: _gaussian(lambda structure, prior: Gaussian(structure, prior), lambda known: known, "real"),
    basic.LogNormalRV: _gaussian(lambda structure, prior: LogNormal(structure, prior), LogGaussian, "positive"),
    basic.BernoulliRV: _cells(Bernoulli, 0, "binary"),
    basic.BinomialRV: _cells(
        Binomial,
        1,
        "count",
        known="trials",
        number=int,
        refusal="its numbers of trials differ between classes",
    ),
    basic.NegBinomialRV: _cells(NegativeBinomial, 1, "count", known="size", refusal=f"its size {_LEARNED}"),
    basic.GeometricRV: _cells(Geometric, 0, "count"),
    basic.PoissonRV: _cells(Poisson, 0, "count"),
    basic.ExponentialRV: _cells(GammaRate, 0, "positive", is_scale=True, shape=1.0),
    basic.GammaRV: _cells(GammaRate, 1, "positive", is_scale=True, known="shape", refusal=f"its shape {_LEARNED}"),
    basic.CategoricalRV: _categorical,
}

#: Settings of families that may be a column, given for each row.
PER_ROW: Mapping[type, str] = {basic.BinomialRV: "trials", basic.PoissonRV: "exposure"}
VECTORS: Mapping[type, Build] = {basic.MvNormalRV: _multivariate, basic.MultinomialRV: _multinomial}


def propose(
    observed: Sequence[Observed], n_classes: int, coordinates: Coordinates, rng: np.random.Generator
) -> list[Proposal] | str:
    """The families that observed variables of one block could be, in order, or the reason why there is none."""
    kinds = {type(x.clone.owner.op) for x in observed}
    if len(kinds) > 1:
        return "variables of different distributions share parameters"
    [kind] = kinds
    build = ENTRYWISE.get(kind, VECTORS.get(kind))
    if build is None:
        return f"{_words(observed[0])} is no family with a closed form"
    if len(observed) > 1 and kind in VECTORS:
        return "several vectors share parameters"
    given = {name: values for x in observed for name, values in x.held.items()}
    parameters = [parameters_by_class(x, n_classes) for x in observed]
    at = At(coordinates, coordinates.draw(3, rng))
    if not given:
        return build(parameters, at, {})
    if kind not in PER_ROW or len(given) > 1 or next(iter(given.values())).size != len(observed[0].observed):
        return f"its rows depend on {', '.join(map(repr, given))}, given for each row"
    return build(parameters, at, {PER_ROW[kind]: next(iter(given))})


def _words(observed: Observed) -> str:
    op = observed.variable.owner.op
    name = getattr(op, "_print_name", None)
    return str(name[0] if name else op.name or type(op).__name__)
