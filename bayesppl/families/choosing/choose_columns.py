r"""A density for every column, chosen by evidence.

Columns are taken to be independent given the class, so that each is chosen by itself, with the evidence of all its
cells given their classes. Masses and densities compare on one measure: values are recorded in steps of a width δ,
so that what is observed is a cell of this width, and its probability is a mass. For a density this is
:math:`P = \int p(x + u)\,du` over the cell. Its logarithm is bounded from below by

.. math:: \log P(x) \ge n \log \delta + \mathrm E_u \log p(x + u), \qquad u_i \sim \mathrm U(-\delta/2, \delta/2)

(Jensen; Theis, van den Oord & Bethge 2016, "A note on the evaluation of generative models"), and places that are
spread evenly over the step, as many as equal values of a class weigh, take the place of the expectation. A density
at the recorded values instead would be unbounded: a column with a constant value in some class would get a
Gaussian, of no variance.

What was tried to find the best of a kind (shapes, sizes, bins, levels) is paid for with the logarithm of its
number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from bayesppl.conjugate.membership import Membership
from bayesppl.data.labels import one_hot
from bayesppl.data.table import MatrixTable, Table
from bayesppl.families import closed_forms
from bayesppl.families.choosing.bins import Ordered, best_bins, bounds_of
from bayesppl.families.choosing.column_cells import Cells, read_cells
from bayesppl.families.choosing.column_choice import ZERO, ColumnChoice
from bayesppl.families.choosing.infer_families import FAMILIES
from bayesppl.families.family import Family
from bayesppl.families.gamma_rate import Exponential, GammaRate
from bayesppl.families.gaussian import Gaussian
from bayesppl.families.histogram import Histogram
from bayesppl.families.lognormal import LogNormal
from bayesppl.families.negative_binomial import NegativeBinomial
from bayesppl.families.zero_inflated import ZeroInflated
from bayesppl.kernels.arrays import Array, Responsibilities

#: Shapes of gamma densities and sizes of negative binomials that are tried.
SHAPES = (0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 30.0)
SIZES = (0.25, 0.5, 1.0, 2.0, 5.0, 15.0)

#: Numbers are taken for levels only where there are no more than these.
MOST_LEVELS = 40

_JEFFREYS = 0.5


class KindOfDensity(NamedTuple):
    """A kind of density: the log evidence of its best member, and what distinguishes that member."""

    log_evidence: float
    detail: Any = None


def choose_columns(
    table: Table, classes: Sequence[Hashable], members: Membership
) -> tuple[dict[str, tuple[tuple[Hashable, ...], Family]], ColumnChoice]:
    """Choose the density of the highest evidence for every column; return blocks of columns, and the evidences.

    Parameters
    ----------
    table : Table
    classes : sequence
    members : Membership
        Class and weight of every row.
    """
    counted = np.flatnonzero(members.weights)
    table, members = table.take(counted), members[counted]
    responsibilities = one_hot(members.codes, len(classes), members.weights)
    tried: list[dict[str, KindOfDensity]] = []
    steps = []
    for name in table.names:
        if table.kind(name) in ("boolean", "category"):
            kind = "bernoulli" if table.kind(name) == "boolean" else "categorical"
            [log_evidence] = _evidence(_family(kind, {}), table.select([name]), responsibilities, classes)
            tried.append({kind: KindOfDensity(float(log_evidence))})
            steps.append(0.0)
        else:
            cells = read_cells(table, name, responsibilities, classes)
            tried.append(dict(_candidates(cells)))
            steps.append(cells.rounding)
    densities = tuple(dict.fromkeys(density for found in tried for density in found))
    evidence = np.asarray(
        [[found[d].log_evidence if d in found else np.nan for d in densities] for found in tried]
    )
    choice = ColumnChoice(table.names, densities, evidence, np.asarray(steps))
    by_density: dict[str, dict[Hashable, Any]] = {}
    for name, density, found in zip(table.names, choice.chosen, tried, strict=True):
        by_density.setdefault(density, {})[name] = found[density].detail
    blocks = {density: (tuple(details), _family(density, details)) for density, details in by_density.items()}
    return blocks, choice


def _family(density: str, details: Mapping[Hashable, Any], prior: str | None = None) -> Family:
    """Return the family of a block, from its columns and what was found out about the density of each.

    Parameters
    ----------
    density : str
    details : mapping of columns
    prior : str, optional
        Of normal densities, in place of their default.
    """
    if density.startswith(ZERO):
        return ZeroInflated(_family(density.removeprefix(ZERO), details, prior))
    families: dict[str, Callable[[], Family]] = {
        **FAMILIES,
        "gaussian": lambda: Gaussian(prior=prior),
        "lognormal": lambda: LogNormal(prior=prior),
        "exponential": Exponential,
        "gamma": lambda: GammaRate(dict(details)),
        "negative_binomial": lambda: NegativeBinomial(dict(details)),
        "histogram": lambda: Histogram(edges=dict(details)),
    }
    return families[density]()


def _candidates(cells: Cells) -> Iterator[tuple[str, KindOfDensity]]:
    """Yield every kind of density that can hold these cells and those to come."""
    x = cells.values
    levels = np.unique(x)
    if len(levels) <= MOST_LEVELS and cells.is_rounded:
        places = max(float(len(levels)), np.rint((levels[-1] - levels[0]) / cells.rounding) + 1)
        choices = gammaln(places + 1) - gammaln(len(levels) + 1) - gammaln(places - len(levels) + 1)
        yield _best("categorical", cells, extra=-choices)
    if len(levels) <= 2 and cells.is_rounded:
        return  # one or the other: there is nothing else to model
    yield from _densities(cells)
    is_count = bool(x.min() >= 0 and (x == np.floor(x)).all() and x.max() < 2**53)
    if is_count:
        yield from _counts(cells)
    zero = x == 0
    if zero.any() and len(levels) > 2:
        _, weight = _best("bernoulli", cells._replace(values=zero.astype(np.float64)))
        rest = cells.where(np.flatnonzero(~zero))
        found = list(_densities(rest))
        if is_count:
            found.extend(_counts(rest._replace(values=rest.values - 1)))
        for kind, (log_evidence, detail) in found:
            yield ZERO + kind, KindOfDensity(weight.log_evidence + log_evidence, detail)


def _densities(cells: Cells) -> Iterator[tuple[str, KindOfDensity]]:
    bounds, are_positive = bounds_of(cells.values, cells.rounding), cells.values.min() > 0
    cells = cells.spread()
    of_steps = float(cells.responsibilities.sum() * np.log(cells.rounding))
    yield _best("gaussian", cells, extra=of_steps)
    by_class = [_ordered(cells.values, cells.responsibilities, k) for k in range(len(cells.classes))]
    bins = best_bins(by_class, ["equal", "quantile"], _JEFFREYS, bounds, cells.rounding)
    yield _best("histogram", cells, [tuple(bins.edges.tolist())], of_steps - bins.log_choices)
    if are_positive:
        for kind, details in (("lognormal", (None,)), ("exponential", (None,)), ("gamma", SHAPES)):
            yield _best(kind, cells, details, of_steps)


def _counts(cells: Cells) -> Iterator[tuple[str, KindOfDensity]]:
    yield _best("poisson", cells)
    yield _best("negative_binomial", cells, SIZES)


def _best(
    kind: str, cells: Cells, details: Sequence[Any] = (None,), extra: float = 0.0
) -> tuple[str, KindOfDensity]:
    """Find the member of a kind of density with the highest evidence, which pays for being one of several.

    Parameters
    ----------
    kind : str
    cells : Cells
    details : sequence
        What distinguishes the members.
    extra : float
        What else belongs to the log evidence.
    """
    # a column for each, of the same cells: all of them take little longer than one
    names = (cells.name, *((cells.name, j) for j in range(1, len(details))))
    table = MatrixTable(names, np.repeat(cells.values[:, None], len(details), axis=1), True)
    # a κ chosen by evidence would be an advantage over densities of other kinds, whose priors are weak
    family = _family(kind, dict(zip(names, details, strict=True)), "columnwise")
    found = _evidence(family, table, cells.responsibilities, cells.classes)
    best = int(found.argmax())
    return kind, KindOfDensity(float(found[best]) + extra - np.log(len(found)), details[best])


def _evidence(
    family: Family, table: Table, responsibilities: Responsibilities, classes: Sequence[Hashable]
) -> Array:
    """Compute the log evidence of each column by itself: (n_columns,)."""
    bound = family.bind(table, classes)
    statistics = closed_forms.read_statistics(bound, table, responsibilities)
    [found] = closed_forms.log_evidence(bound, bound.resolve_prior(statistics), statistics).values()
    return np.asarray(found.values.reshape(-1, len(table.names)).sum(0))


def _ordered(x: Array, responsibilities: Responsibilities, k: int) -> Ordered:
    rows = np.flatnonzero(responsibilities.indices == k)
    return Ordered.of(x[rows], responsibilities.data[rows])
