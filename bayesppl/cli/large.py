"""Classifiers fitted to files: to all rows in memory, to some of them, or to sums over batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayesppl.cli import columns
from bayesppl.cli.rows import Rows, read_file, require_numbers
from bayesppl.cli.survey import Source, survey
from bayesppl.cli.terminal import say
from bayesppl.errors import RowError
from bayesppl.estimators.batches import fit_batches

__all__ = ["Source", "all_rows", "fit_rows", "fit_sums", "some_rows"]

# Seed of the rows drawn from a large file, so that the same command fits the same model.
_SEED = 0


def all_rows(source: Source) -> Rows:
    """Every row, in memory."""
    return source.used(read_file(source.path, source.target, source.dialect, source.is_code), source.chosen)


def some_rows(source: Source, most_rows: int) -> Rows:
    """Every row of a file that has no more than these, otherwise so many of them at random."""
    small = source.small()
    if small is not None:
        return small
    found = survey(source)
    if found.n_rows <= most_rows:
        return found.sample(found.n_rows, _SEED)
    say(
        f"bayesppl: {str(source.path)!r} has {found.n_rows} rows, of which {most_rows} are drawn at random (--most-rows)",
        err=True,
    )
    return found.sample(most_rows, _SEED)


def fit_rows(classifier: Any, rows: Rows, *, of_numbers: bool = False) -> int:
    """Fit to these rows, which may have to be numbers, and return how many they are."""
    for remark in columns.remarks(rows.X):
        say(f"bayesppl: warning: {remark}", err=True)
    if of_numbers:
        require_numbers(rows)
    classifier.fit(rows.X, rows.y)
    return len(rows.X)


def fit_sums(classifier: Any, source: Source, *, of_numbers: bool) -> int:
    """Fit to all rows of a file, a batch at a time, and return their number."""
    small = source.small()
    if small is not None:
        return fit_rows(classifier, small, of_numbers=of_numbers)
    found = survey(source)
    given = dropped = 0

    def batches() -> Iterator[tuple[Any, Any]]:
        nonlocal given, dropped
        for rows in found.read("fitting"):
            if len(rows.X):
                dropped = int(rows.X.index[0]) - given  # rows of the file before this batch that are not fitted
                given += len(rows.X)
                yield rows.X, rows.y

    try:
        fit_batches(classifier, batches(), found.labels)
    except RowError as error:
        raise error.shifted(dropped) from None
    return found.n_rows
