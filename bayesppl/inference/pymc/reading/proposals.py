"""Families that a likelihood could be, by its distribution."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
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
from bayesppl.inference.pymc.pieces import has_pieces
from bayesppl.inference.pymc.reading.cloning import parameters_by_class
from bayesppl.inference.pymc.reading.natural_normals import (
    Means,
    MeansAndCovariances,
    MeansAndVariances,
    MeansOfVectors,
)
from bayesppl.inference.pymc.reading.naturals import ProbabilitiesOrRates, Simplices
from bayesppl.inference.pymc.reading.observed import Observed, same_values
from bayesppl.inference.pymc.reading.points import Coordinates
from bayesppl.inference.pymc.reading.proposal import At, Build, Proposal, columns_of, different


def _cells(
    family_of: type[Any],
    place: int,
    *,
    is_scale: bool = False,
    known: str = "",
    number: type = float,
    refusal: str = "",
    **fixed: Any,
) -> Build:
    """Propose a family of single cells for a distribution of which one parameter has a conjugate prior.

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
        own = columns_of(parameters, place)
        [graph], cells = different([1 / own if is_scale else own], at)
        settings: dict[str, Any] = {**fixed, **given}
        if known and not given:
            value = at.constant(columns_of(parameters, 0))
            if value is None:
                return refusal
            settings[known] = [number(n) for n in value.tolist()]

        def family(prior: Any, columns: Sequence[Hashable]) -> Family:
            return family_of(**settings, **{natural.pair.parameter: prior})

        natural = ProbabilitiesOrRates(at(graph).shape[1:], pair=family_of.pair, cells=cells)
        return [Proposal(natural, {natural.pair.parameter: graph}, family)]

    return build


def _gaussian(make: Callable[[Any, Any], Family], of_means: Callable[[Any], Family]) -> Build:
    """Propose normals of single cells, or a family that is normal after a transformation.

    Parameters
    ----------
    make : callable
        Of the structure of variances and the prior.
    of_means : callable
        Of the prior of means whose variances are known.
    """

    def build(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
        [mean, variance], cells = different([columns_of(parameters, 0), columns_of(parameters, 1) ** 2], at)
        values = at(variance)
        entries = values.shape[1:]
        means = Proposal(
            Means(entries, variance=values[0], cells=cells),
            {"mean": mean},
            lambda prior, _: of_means(prior),
        )
        if same_values(values, np.broadcast_to(values[:1], values.shape), 1e-15, 0.0):
            return [means]
        given_variances = replace(means, known={"variance": variance}, rows=lambda _: make("diag", "jeffreys"))
        tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14, 0.0)
        spherical = entries[1] > 1 and same_values(
            values, np.broadcast_to(values[..., :1], values.shape), 1e-14, 0.0
        )
        shared: tuple[int, ...] = ()
        structure, own = "diag", variance
        if cells is None and tied and spherical:
            return [given_variances]
        if cells is None and tied:
            structure, shared, own = "tied_diag", (-2,), variance[0]
        elif cells is None and spherical:
            structure, shared, own = "spherical", (-1,), variance[:, 0]
        natural = MeansAndVariances(entries, shared, cells=cells)
        theta = {"mean": mean, "variance": own}
        return [Proposal(natural, theta, lambda prior, _: make(structure, prior)), given_variances]

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
    least = float(np.diagonal(values, axis1=-2, axis2=-1).min())
    if not same_values(values, values.swapaxes(-2, -1), least=least):
        return "its covariance is not symmetric, of which PyMC takes the lower triangle (pm.LKJCorr is a root)"
    means = Proposal(
        MeansOfVectors((n_classes, d), (-1,), covariance=values[0]),
        {"mean": mean},
        lambda prior, _: KnownCovariances(prior),
    )
    if same_values(values, np.broadcast_to(values[:1], values.shape), 1e-15, least):
        return [means]
    of_means = replace(means, known={"covariance": covariance}, rows=lambda _: Gaussian("full", "jeffreys"))
    tied = same_values(values, np.broadcast_to(values[:, :1], values.shape), 1e-14, least)
    own = covariance[0] if tied else covariance
    natural = MeansAndCovariances((n_classes, d), (-2, -1) if tied else (-1,))
    structure: Literal["tied", "full"] = "tied" if tied else "full"
    theta = {"mean": mean, "covariance": own}
    found = Proposal(natural, theta, lambda prior, _: Gaussian(structure, prior))
    return [found, of_means] if d <= _FEW else [found]


def _categorical(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
    tables = [columns_of([own], 0, 1) for own in parameters]
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

    return [Proposal(natural, {"probability": probability}, family)]


def _multinomial(parameters: Sequence[Any], at: At, given: Mapping[str, str]) -> list[Proposal] | str:
    [(_, p)] = parameters
    if p.ndim != 2:
        return "its vectors are arranged in more than one dimension"
    natural = Simplices(at(p).shape[1:2])
    return [Proposal(natural, {"probability": p}, lambda prior, _: Multinomial(prior))]


_LEARNED = "is learned, or differs between classes"
ENTRYWISE: Mapping[type, Build] = {
    basic.NormalRV: _gaussian(Gaussian, KnownVariances),
    basic.LogNormalRV: _gaussian(LogNormal, lambda prior: LogGaussian(KnownVariances(prior))),
    basic.BernoulliRV: _cells(Bernoulli, 0),
    basic.BinomialRV: _cells(
        Binomial,
        1,
        known="trials",
        number=int,
        refusal="its numbers of trials differ between classes",
    ),
    basic.NegBinomialRV: _cells(NegativeBinomial, 1, known="size", refusal=f"its size {_LEARNED}"),
    basic.GeometricRV: _cells(Geometric, 0),
    basic.PoissonRV: _cells(Poisson, 0),
    basic.ExponentialRV: _cells(GammaRate, 0, is_scale=True, shape=1.0),
    basic.GammaRV: _cells(GammaRate, 1, is_scale=True, known="shape", refusal=f"its shape {_LEARNED}"),
    basic.CategoricalRV: _categorical,
}

#: Settings of families that may be a column, given for each row.
PER_ROW: Mapping[type, str] = {basic.BinomialRV: "trials", basic.PoissonRV: "exposure"}
VECTORS: Mapping[type, Build] = {basic.MvNormalRV: _multivariate, basic.MultinomialRV: _multinomial}


def propose(
    observed: Sequence[Observed], n_classes: int, coordinates: Coordinates, rng: np.random.Generator
) -> list[Proposal] | str:
    """Return the families that observed variables of a block could be, in order, or why there is none."""
    kinds = {type(x.clone.owner.op) for x in observed}
    if len(kinds) > 1:
        return "variables of different distributions share parameters"
    [kind] = kinds
    build = ENTRYWISE.get(kind, VECTORS.get(kind))
    if build is None:
        return f"{_words(observed[0].variable)} is no family with a closed form"
    if len(observed) > 1 and kind in VECTORS:
        return "several vectors share parameters"
    given = {name: values for x in observed for name, values in x.held.items()}
    parameters = [parameters_by_class(x, n_classes) for x in observed]
    at = At(coordinates, coordinates.draw(3, rng))
    if not given:
        return build(parameters, at, {})
    in_words = f"its rows depend on {', '.join(map(repr, given))}, given for each row"
    is_column = len(given) == 1 and next(iter(given.values())).size == len(observed[0].observed)
    if kind not in PER_ROW or not is_column or {v.name for v in coordinates.model.observed_RVs} & set(given):
        return in_words
    for x in observed:
        if has_pieces(x.clone.owner.op.dist_params(x.clone.owner), x.given.values()):
            return f"{in_words}, which it compares or rounds"
    return build(parameters, at, {PER_ROW[kind]: next(iter(given))})


def _words(variable: Any) -> str:
    """Return the name by which PyMC calls the distribution of a variable."""
    op = variable.owner.op
    name = getattr(op, "_print_name", None)
    own = str(name[0] if name else op.name or type(op).__name__)
    components = [_words(v) for v in variable.owner.inputs if hasattr(getattr(v.owner, "op", None), "_print_name")]
    # a count with further zeros is a mixture like any other
    return "ZeroInflated" + components[1] if own == "Mixture" and components[0] == "DiracDelta" else own
