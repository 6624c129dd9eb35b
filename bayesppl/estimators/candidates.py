"""Models that a table calls for, picked from what its columns hold; labels have no part in it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from scipy.sparse import issparse

from bayesppl.conjugate import Dirichlet
from bayesppl.data.column_facts import Column
from bayesppl.data.curves import MOST_CURVED, Curves
from bayesppl.data.leaves import Leaves
from bayesppl.data.levels import factorize
from bayesppl.data.names import listed
from bayesppl.data.preprocessing import AnyRecoding
from bayesppl.data.recoding import Recoding, Unrecoded
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.families import (
    AveragedTree,
    Bernoulli,
    Categorical,
    ConditionalGaussian,
    DirichletMultinomial,
    Family,
    Gaussian,
    Multinomial,
    Product,
)
from bayesppl.families.choosing.choose_columns import MOST_LEVELS
from bayesppl.model.calibration import Calibration, Option
from bayesppl.model.member import Guest, Member
from bayesppl.model.stack import Stack

#: What each candidate looks at, for readers who do not program.
MEANINGS = {
    "presence": "which words a text has",
    "counts": "how often a text has each word",
    "bursts": "how often a text has each word, where words come in bursts; words of at least two texts",
    "bursts of all words": "how often a text has each word, where words come in bursts",
    "columns": "each column by itself, and adds up what they say",
    "means": "each column by itself, and believes most those whose averages differ between the classes",
    "components": "the few directions in which rows differ most",
    "linear": "all columns together: how far a row is from the average row of each class",
    "linear, normal scores": "all columns together, numbers by their ranks",
    "steps": "all columns together, numbers by the range that they fall in",
    "quadratic": "the average row of each class, and how columns vary together in each",
    "quadratic, normal scores": "the average of each class and how columns vary together, numbers by their ranks",
    "quadratic, regularised": "the average row of each class, and half of how columns vary together in each",
    "curves": "squares and products of the columns, and how they vary together in each class",
    "chosen columns": "each column by itself, with a distribution and a weight of its own",
    "location": "the combination of categories, and how far the numbers are from its average in each class",
    "trees": "pairs of columns that depend on each other",
    "leaves": "groups of similar rows that decision trees have found",
    "leaves, many tried": "groups of similar rows that trees have found which try more columns",
}

#: Fewer rows for each candidate than these cannot choose among them.
ROWS_PER_CANDIDATE = 15

#: Candidates that are tried however few the rows are.
LEAST_CANDIDATES = 3

# With more rows than these, more than the least number of candidates is tried
_SEVERAL_ROWS = ROWS_PER_CANDIDATE * LEAST_CANDIDATES

# Principal components of fewer rows each than these are mostly chance
_ROWS_PER_COMPONENT = 4

# Columns whose densities are chosen and weighed one by one: more take longer than all other candidates
_MOST_WEIGHED = 200

# Cells of squares and products that are held at once, a quarter of a gigabyte
_MOST_PRODUCTS = 1 << 25

# The time of a prediction grows with the cube of the columns that trees connect
_MOST_IN_TREES = 40

# Of more rows than these, components of as many columns take long, and covariances are determined well enough
_FEW_ROWS = 1000

# A covariance of more columns costs more than its correlations are worth
_MOST_CORRELATED = 400


class Candidate(NamedTuple):
    """A transformer that looks at no labels, the family of the columns that it makes, and how it is calibrated.

    By one temperature, where nothing else is said.
    """

    name: str
    recoding: AnyRecoding
    family: Any
    calibration: Option | None = None


def propose(rows: Rows) -> tuple[Iterator[Candidate], tuple[Column, ...]]:
    """Propose candidates one after the other, the most robust first, and the columns as read.

    Raises
    ------
    ValueError
        If no column has two different values, or one holds what no family takes, such as dates.
    """
    table = rows.table
    matrix = table.matrix
    if issparse(matrix) and (matrix.data >= 0).all() and (matrix.data == matrix.data.round()).all():
        present, counts = Unrecoded(presence=True).fit(table), Unrecoded().fit(table)
        of_counts = [
            Candidate("presence", present, Bernoulli()),
            Candidate("counts", counts, Multinomial()),
            Candidate("bursts", counts, DirichletMultinomial()),
            Candidate("bursts of all words", Unrecoded(), DirichletMultinomial()),
        ]
        return iter(of_counts), ()
    columns = Recoding().fit(table).columns_
    if not columns:
        raise ValueError(_why_nothing_varies(table))
    return _of_columns(columns, table), columns


def _why_nothing_varies(table: Table) -> str:
    several = [name for name in table.names if len(factorize(table.column(name), name)[0]) > 1]
    if not several:
        return "no column has two different values, so that nothing can be learned from them"
    column = several[0] if table.is_named else table.names.index(several[0])
    return (
        "nothing can be learned from texts that all differ, as names and identifiers do, found in "
        f"{listed(several)}. Convert numbers that are written as text, group "
        "levels, or count the words of texts first, as by sklearn.compose.make_column_transformer(("
        f"CountVectorizer(), {column!r}))"
    )


def _of_columns(columns: tuple[Column, ...], table: Table) -> Iterator[Candidate]:
    """Yield the built-in candidates for which the columns give a reason."""
    has_numbers = any(column.is_number for column in columns)
    may_be_skewed = any(column.is_number and not column.levels for column in columns)
    by_kind = Recoding("number", "code").adopt(columns)
    filled = Recoding("filled", "indicators", few="filled").adopt(columns)
    coded = Recoding("filled", "code_filled", few="filled").adopt(columns)
    steps = Recoding("steps", "indicators").adopt(columns)
    scores = Recoding("score", "indicators", few="score").adopt(columns)
    cells = Recoding("bin_filled", "code_filled").adopt(columns)
    ordered = Recoding("score", "code_filled", few="score").adopt(columns)
    n_ordered, of_leaves = sum(ordered.widths()), Categorical(Dirichlet(0.1))
    means = Candidate("means", filled, Gaussian("tied_diag", "sparse"))
    n_rows, width = len(table), sum(filled.widths())
    has_few_rows = n_rows <= min(width, _FEW_ROWS)
    if has_few_rows:
        yield means
        components = Curves(filled, max(2, n_rows // _ROWS_PER_COMPONENT), with_products=False)
        yield Candidate("components", components.adopt(table), Gaussian("tied", "hierarchical"))
    found = [
        Candidate("columns", by_kind, _independent(by_kind)),
        # what fewer rows than columns choose or weigh predicts each of them too well, left out or not
        Candidate("linear", filled, None if has_few_rows else _correlated(filled, "tied")),
        # of the levels of some columns there is no indicator, where only one of them occurs beside gaps
        means._replace(
            family=means.family if not has_few_rows and width > 0 and n_rows <= _SEVERAL_ROWS else None
        ),
        Candidate("chosen columns", by_kind, None if has_few_rows else _chosen(columns), "weights"),
        Candidate("location", coded, _location(coded)),
        Candidate("trees", cells, _trees(columns)),
        Candidate("leaves", Leaves(ordered), of_leaves),
        Candidate("steps", steps, _correlated(steps, "tied") if has_numbers else None),
        Candidate("quadratic", filled, _correlated(filled, "full")),
        Candidate("leaves, many tried", Leaves(ordered, tries_half=True), of_leaves if n_ordered > 5 else None),
        Candidate("linear, normal scores", scores, _correlated(scores, "tied") if may_be_skewed else None),
        Candidate("quadratic, normal scores", scores, _correlated(scores, "full") if may_be_skewed else None),
        Candidate("quadratic, regularised", filled, _correlated(filled, "full", "regularised")),
    ]
    yield from (candidate for candidate in found if candidate.family is not None)
    has_room = len(table) * MOST_CURVED**2 <= _MOST_PRODUCTS
    if may_be_skewed and len(columns) > 1 and has_room:  # last: finding directions passes over the table
        yield Candidate("curves", Curves(scores).adopt(table), Gaussian("full"))


def _chosen(columns: tuple[Column, ...]) -> Family | None:
    """Propose a density for each column, chosen by evidence."""
    return Product(columns="evidence") if 1 < len(columns) <= _MOST_WEIGHED else None


def _trees(columns: tuple[Column, ...]) -> Family | None:
    """Propose columns of few levels that depend on each other along trees."""
    has_few_levels = all(len(column.levels) <= MOST_LEVELS for column in columns)
    return AveragedTree("per_class") if 2 < len(columns) <= _MOST_IN_TREES and has_few_levels else None


def _independent(recoding: Recoding) -> Family:
    """Propose a Gaussian for each column of numbers, probabilities for each of levels; gaps are skipped."""
    names: dict[str, list[Any]] = {"number": [], "code": []}
    for column in recoding.columns_:
        names[recoding.view(column)].append(column.name)
    blocks: dict[str, Any] = {}
    if names["number"]:
        # what is tempered by rows left out had better not learn from them how alike the classes are
        blocks["gaussian"] = (tuple(names["number"]), Gaussian("diag", "columnwise"))
    if names["code"]:
        blocks["categorical"] = (tuple(names["code"]), Categorical())
    return Product(blocks)


def _correlated(recoding: Recoding, covariance: Any, prior: str = "hierarchical") -> Family | None:
    # every column becomes one at least, and to count those of a hundred thousand takes seconds
    is_small = len(recoding.columns_) <= _MOST_CORRELATED and 1 < sum(recoding.widths()) <= _MOST_CORRELATED
    return Gaussian(covariance, prior) if is_small else None


def _location(recoding: Recoding) -> Family | None:
    """Propose categories, and numbers whose mean depends on them; few whole numbers are numbers."""
    if len(recoding.columns_) > _MOST_CORRELATED:
        return None
    is_level = [
        not column.is_number
        for column, width in zip(recoding.columns_, recoding.widths(), strict=True)
        for _ in range(width)
    ]
    n_indicators = sum(len(column.levels) + 2 for column in recoding.columns_ if not column.is_number)
    if all(is_level) or not any(is_level) or len(is_level) + n_indicators > _MOST_CORRELATED:
        return None
    return ConditionalGaussian(categories=tuple(is_level))


# Pairs of candidates that differ in one assumption: the words for which of the two predicts better
_CONTRASTS = (
    (
        "linear",
        "columns",
        "columns depend on each other within the classes",
        "a model of independent columns predicts better than a linear one",
    ),
    ("quadratic", "linear", "each class has a covariance of its own", "classes share one covariance"),
    ("linear, normal scores", "linear", "numbers are skewed or heavy-tailed", "numbers are close to normal"),
    ("steps", "linear", "classes differ in other ways than by shifted means", ""),
)


def facts_about(rows: Rows, columns: tuple[Column, ...], members: Mapping[str, Member | Guest]) -> tuple[str, ...]:
    """Describe the table, and what candidates that differ in one assumption show about it.

    Parameters
    ----------
    rows : Rows
    columns : tuple of Column
        Those that vary; none of a sparse matrix of counts.
    members : mapping of str to Member or Guest
        All candidates.
    """
    names = rows.table.names
    size = f"{len(rows)} rows, {len(names)} column{'s' * (len(names) != 1)}, {len(rows.classes)} classes"
    if columns:
        known = {column.name for column in columns}
        kinds = [
            (sum(c.is_number and not c.levels for c in columns), "numeric"),
            (sum(c.is_number and bool(c.levels) for c in columns), "of few whole numbers"),
            (sum(not c.is_number for c in columns), "categorical"),
            (sum(c.has_gaps for c in columns), "with missing cells"),
        ]
        size += ": " + ", ".join(f"{count} {words}" for count, words in kinds if count)
        constant = [name for name in names if name not in known]
        if constant:
            size += f"; nothing to learn from {listed(constant)}"
    found = []
    for one, other, better, worse in _CONTRASTS:
        if one in members and other in members:
            gain = members[one].log_score - members[other].log_score
            error = max(members[one].log_score_se, members[other].log_score_se)
            words = better if gain > error else worse if gain < -error else ""
            found += [words] if words else []
    return (size, "; ".join(found) or "no assumption of the candidates stands out as right or wrong")


def summarise(stack: Stack) -> str:
    """Summarise a stack in five lines at most."""
    how = {name: "" if how == "exactly" else f" ({how})" for name, how in stack.left_out.items()}
    weighted = ", ".join(
        f"{m.name}{how[m.name]} {w:.2f}" for m, w in zip(stack.members, stack.weights.tolist(), strict=True)
    )
    best = max(stack.candidates, key=lambda name: stack.candidates[name][1])
    return "\n".join(
        [
            *stack.facts,
            f"weights: {weighted}",
            *(f"{m.name!r} by itself {_trust(m)} (T = {m.temperature:.2f})" for m in assuming_members(stack)[:1]),
            f"left-out labels: log score {stack.log_score:.3f}{_plus_minus(stack.log_score_se)}, accuracy "
            f"{stack.accuracy:.3f}; best of {len(stack.candidates)} candidates {best!r} "
            f"{stack.candidates[best][1]:.3f}, which looks better than it is; choosing weights cost "
            f"{stack.cost_of_choosing:.4f} a row",
        ]
    )


def _plus_minus(error: float) -> str:
    return f" ± {error:.3f}" if math.isfinite(error) else ""  # of minus infinity there is none


def assuming_members(stack: Stack) -> list[Member]:
    """Select members whose temperature says how well their assumptions hold: not guests, and not leaves.

    Every row is in a leaf of each of a hundred trees, which count the same rows whatever the data are. Weights of
    columns are low where columns have no part in the classes, too.
    """
    return [
        m
        for m in stack.members
        if isinstance(m, Member)
        and not isinstance(m.recoding, Leaves)
        and isinstance(m.fitted.calibration, Calibration)
    ]


def _trust(member: Member) -> str:
    """Put the temperature into words, where it is two standard errors from one."""
    assert member.fitted.calibration is not None
    far = max(1.2, math.exp(2 * member.fitted.calibration.overall_log_sd))
    if member.temperature > far:
        return "is too sure: the model is wrong somewhere"
    return "is not sure enough" if member.temperature < 1 / far else "is about as sure as it should be"
