"""Families with another prior than the one that they declare."""

from dataclasses import replace

from bayesppl.families import CellFamily, ConditionalGaussian, Family, Histogram, ZeroInflated
from bayesppl.families.composite import CompositeFamily
from bayesppl.families.transformed import Transformed


def with_prior(family: Family, prior) -> Family:
    """The bound family with an explicit prior, such as a resolved one, which reads nothing off other rows."""
    if isinstance(family, CompositeFamily):
        blocks = {name: (at, with_prior(part, prior.parts[name])) for name, (at, part) in family.blocks.items()}
        return replace(family, blocks=blocks)
    if isinstance(family, ConditionalGaussian):
        parts = prior.parts
        inner = with_prior(family.inner, prior)
        return replace(family, prior=parts["numbers"], probability=parts["categories"], inner=inner)
    if isinstance(family, ZeroInflated):
        inner = with_prior(family.inner, prior)
        return replace(family, family=inner.parts["rest"], probability=prior.parts["zero"], inner=inner)
    if isinstance(family, Histogram):  # a prior of bins is about these bins
        edges = dict(zip(family.columns, family.places, strict=True))
        return replace(family, edges=edges, probability=prior)
    if isinstance(family, Transformed):
        return replace(family, inner=with_prior(family.inner, prior))
    if isinstance(family, CellFamily):
        return replace(family, **{family.pair.parameter: prior})
    return replace(family, **{"probability" if hasattr(family, "probability") else "prior": prior})
