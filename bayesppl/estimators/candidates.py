"""Models that a table calls for, picked from what its columns hold; labels have no part in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy.sparse import issparse

from bayesppl.data.recoding import AsTheyAre, Column, Presence, Recoding, View, read_columns
from bayesppl.data.rows import Rows
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
    """A family for recoded columns."""

    name: str
    recoding: Recoding | Presence | AsTheyAre
    family: Family


_OF_COUNTS = (
    Candidate("presence", Presence(), Bernoulli()),
    Candidate("counts", AsTheyAre(), Multinomial()),
    Candidate("bursts", AsTheyAre(), DirichletMultinomial()),
)


def propose(rows: Rows) -> tuple[list[Candidate], tuple[Column, ...]]:
    """Candidates, the most robust first, and the columns as read.

    Raises
    ------
    ValueError
        If no column has two different values, or one holds what no family takes, such as dates.
    """
    table = rows.counted().table
    matrix: Any = getattr(table, "matrix", None)
    if issparse(matrix) and (matrix.data >= 0).all() and (matrix.data == matrix.data.round()).all():
        return list(_OF_COUNTS), ()
    columns = read_columns(table)
    if not columns:
        raise ValueError("no column has two different values, so that nothing can be learned from them")
    return [c for c in _of_columns(columns, len(table)) if c is not None], columns


def _of_columns(columns: tuple[Column, ...], n_rows: int) -> list[Candidate | None]:
    numbers = any(column.is_number for column in columns)
    skewed = any(column.is_number and not column.may_be_levels for column in columns)
    by_kind = _views(columns, "number", "code")
    return [
        _columns("columns", columns, by_kind),
        _correlated("linear", columns, _views(columns, "filled", "indicators", few="filled"), "tied"),
        _location(columns),
        _bins(columns) if skewed or any(column.has_gaps for column in columns) else None,
        _correlated("steps", columns, _views(columns, "steps", "indicators"), "tied") if numbers else None,
        _correlated("quadratic", columns, _views(columns, "filled", "indicators", few="filled"), "full"),
        _correlated("linear, normal scores", columns, _views(columns, "score", "indicators", few="score"), "tied")
        if skewed
        else None,
        _correlated(
            "quadratic, normal scores", columns, _views(columns, "score", "indicators", few="score"), "full"
        )
        if skewed
        else None,
        _correlated(
            "quadratic, regularised",
            columns,
            _views(columns, "filled", "indicators", few="filled"),
            "full",
            "regularised",
        ),
    ]


def _views(columns: tuple[Column, ...], number: View, level: View, few: View | None = None) -> Recoding:
    """Numbers recoded one way, levels another; few whole numbers as levels, unless ``few`` is given."""
    few = level if few is None else few
    return Recoding(
        columns,
        tuple(few if c.is_number and c.may_be_levels else number if c.is_number else level for c in columns),
    )


def _columns(name: str, columns: tuple[Column, ...], recoding: Recoding) -> Candidate:
    """A Gaussian for each column of numbers, probabilities for each of levels; gaps are skipped."""
    gaussian = tuple(c.name for c, view in zip(columns, recoding.views, strict=True) if view == "number")
    levels = tuple(c.name for c, view in zip(columns, recoding.views, strict=True) if view == "code")
    blocks: dict[str, Any] = {}
    if gaussian:
        blocks["gaussian"] = (gaussian, Gaussian("diag"))
    if levels:
        blocks["categorical"] = (levels, Categorical())
    return Candidate(name, recoding, Product(blocks))


def _bins(columns: tuple[Column, ...]) -> Candidate:
    return Candidate("bins", _views(columns, "bin", "code_of_gap"), Categorical())


def _correlated(
    name: str, columns: tuple[Column, ...], recoding: Recoding, covariance: Any, prior: str = "hierarchical"
) -> Candidate | None:
    width = recoding.width
    return Candidate(name, recoding, Gaussian(covariance, prior)) if 1 < width <= _MOST_CORRELATED else None


def _location(columns: tuple[Column, ...]) -> Candidate | None:
    """Categories, and numbers whose mean depends on them; few whole numbers are numbers."""
    recoding = _views(columns, "filled", "code_filled", few="filled")
    is_level: list[bool] = []
    for column, view in zip(columns, recoding.views, strict=True):
        is_level += [view == "code_filled"] * Recoding((column,), (view,)).width
    n_indicators = sum(len(column.levels) + 2 for column in columns if not column.is_number)
    if all(is_level) or not any(is_level) or len(is_level) + n_indicators > _MOST_CORRELATED:
        return None
    return Candidate("location", recoding, ConditionalGaussian(categories=tuple(is_level)))
