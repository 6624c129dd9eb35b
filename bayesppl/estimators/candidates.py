"""Models that a table calls for, picked from what its columns hold; labels have no part in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.sparse import issparse

from bayesppl.data.columns import listed
from bayesppl.data.levels import factorize
from bayesppl.data.recoding import Column, Recoding, Unrecoded
from bayesppl.data.rows import Rows
from bayesppl.data.table import Table
from bayesppl.families import (
    Bernoulli,
    Categorical,
    ConditionalGaussian,
    DirichletMultinomial,
    Family,
    Gaussian,
    Multinomial,
    Product,
)

#: Fewer rows for each candidate than these cannot choose among them.
ROWS_PER_CANDIDATE = 15

# A covariance of more columns costs more than its correlations are worth
_MOST_CORRELATED = 400


@dataclass(frozen=True)
class Candidate:
    """A transformer that looks at no labels, and the family of the columns that it makes."""

    name: str
    recoding: Recoding | Unrecoded
    family: Family


_OF_COUNTS = (
    Candidate("presence", Unrecoded(presence=True), Bernoulli()),
    Candidate("counts", Unrecoded(), Multinomial()),
    Candidate("bursts", Unrecoded(), DirichletMultinomial()),
)


def propose(rows: Rows) -> tuple[list[Candidate], tuple[Column, ...]]:
    """Propose candidates, the most robust first, and the columns as read.

    Raises
    ------
    ValueError
        If no column has two different values, or one holds what no family takes, such as dates.
    """
    table = rows.counted().table
    matrix: Any = getattr(table, "matrix", None)
    if issparse(matrix) and (matrix.data >= 0).all() and (matrix.data == matrix.data.round()).all():
        return list(_OF_COUNTS), ()
    columns = Recoding().fit(table).columns_
    if not columns:
        raise ValueError(_why_nothing_varies(table))
    return _of_columns(columns), columns


def _why_nothing_varies(table: Table) -> str:
    several = [name for name in table.names if len(factorize(table.column(name), name)[0]) > 1]
    if not several:
        return "no column has two different values, so that nothing can be learned from them"
    return (
        f"nothing can be learned from columns without a value that occurs in two rows, and {listed(several)} "
        "hold texts that all differ, as names and identifiers do. Convert numbers that are written as text, group "
        "levels, or count the words of texts first, as in sklearn.pipeline.make_pipeline(CountVectorizer(), "
        "bayesppl.AutoClassifier())"
    )


def _of_columns(columns: tuple[Column, ...]) -> list[Candidate]:
    """The built-in candidates, those left out for which the columns give no reason."""
    has_numbers = any(column.is_number for column in columns)
    may_be_skewed = any(column.is_number and not column.may_be_levels for column in columns)
    has_gaps = any(column.has_gaps for column in columns)
    by_kind = Recoding("number", "code").adopt(columns)
    filled = Recoding("filled", "indicators", few="filled").adopt(columns)
    coded = Recoding("filled", "code_filled", few="filled").adopt(columns)
    binned = Recoding("bin", "code_of_gap").adopt(columns)
    steps = Recoding("steps", "indicators").adopt(columns)
    scores = Recoding("score", "indicators", few="score").adopt(columns)
    wanted = [
        ("columns", by_kind, _independent(by_kind)),
        ("linear", filled, _correlated(filled, "tied")),
        ("location", coded, _location(coded)),
        ("bins", binned, Categorical() if may_be_skewed or has_gaps else None),
        ("steps", steps, _correlated(steps, "tied") if has_numbers else None),
        ("quadratic", filled, _correlated(filled, "full")),
        ("linear, normal scores", scores, _correlated(scores, "tied") if may_be_skewed else None),
        ("quadratic, normal scores", scores, _correlated(scores, "full") if may_be_skewed else None),
        ("quadratic, regularised", filled, _correlated(filled, "full", "regularised")),
    ]
    return [Candidate(name, recoding, family) for name, recoding, family in wanted if family is not None]


def _independent(recoding: Recoding) -> Family:
    """A Gaussian for each column of numbers, probabilities for each of levels; gaps are skipped."""
    names: dict[str, list[Any]] = {"number": [], "code": []}
    for column in recoding.columns_:
        names[recoding.view(column)].append(column.name)
    blocks: dict[str, Any] = {}
    if names["number"]:
        blocks["gaussian"] = (tuple(names["number"]), Gaussian("diag"))
    if names["code"]:
        blocks["categorical"] = (tuple(names["code"]), Categorical())
    return Product(blocks)


def _correlated(recoding: Recoding, covariance: Any, prior: str = "hierarchical") -> Family | None:
    return Gaussian(covariance, prior) if 1 < sum(recoding.widths()) <= _MOST_CORRELATED else None


def _location(recoding: Recoding) -> Family | None:
    """Categories, and numbers whose mean depends on them; few whole numbers are numbers."""
    is_level: list[bool] = []
    for column, width in zip(recoding.columns_, recoding.widths(), strict=True):
        is_level += [not column.is_number] * width
    n_indicators = sum(len(column.levels) + 2 for column in recoding.columns_ if not column.is_number)
    if all(is_level) or not any(is_level) or len(is_level) + n_indicators > _MOST_CORRELATED:
        return None
    return ConditionalGaussian(categories=tuple(is_level))
