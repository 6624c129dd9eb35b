"""From what the user named to training and test rows, refusing what cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesppl import datasets
from bayesppl.cli import batches, columns
from bayesppl.cli.dialect import Chosen
from bayesppl.cli.source import require_source
from bayesppl.cli.text_files import Dialect
from bayesppl.data.columns import listed
from bayesppl.data.labels import encode_labels
from bayesppl.data.read_table import as_table
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from bayesppl.estimators.classifier import BayesClassifier


class Rows(NamedTuple):
    """A data frame of features, the label of every row, and the name of the label column."""

    X: Any
    y: Any
    target: str


def embedded(data: str) -> Rows:
    """An embedded data set, by name."""
    require_source(data, None)
    X, y = datasets.load(data)
    return Rows(X, y, "target")


def read_file(path: Path, target: str, dialect: Dialect, is_code: Callable[[Any], bool]) -> Rows:
    """Features and labels of a file; all columns but the target are features."""
    return divide(batches.read_all(path, dialect, is_code), path, target)


def divide(frame: Any, path: Path, target: str) -> Rows:
    """Rows of a file as features and labels."""
    if target not in frame.columns:
        raise ValueError(
            f"the target column {target!r} is not in {str(path)!r}; {_nearest(target, list(map(str, frame.columns)))}its columns are "
            f"{listed(frame.columns)}"
        )
    if len(frame) == 0:
        raise ValueError(f"{str(path)!r} has a header line but no rows")
    return Rows(frame.drop(columns=target), frame[target], target)


def _nearest(name: str, names: list[str]) -> str:
    """A question about the column that was probably meant, if there is one."""
    lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[near[0]]!r}? " if near else ""


def labelled(rows: Rows, unlabelled: str) -> Rows:
    """The rows that have a label; one that has none is refused unless it may be left out."""
    absent = rows.y.isna().to_numpy()
    if not absent.any():
        return rows
    if unlabelled == "refuse":
        raise ValueError(
            f"the target column {rows.target!r} is empty in row {rows.y.index[absent.argmax()]} ({absent.sum()} such rows here); "
            "label these rows, or leave them out with --unlabelled drop"
        )
    return _pick(rows, ~absent)


def choose(rows: Rows, chosen: Chosen) -> Rows:
    """The columns of features that were asked for."""
    X = columns.choose(rows.X, chosen)
    if X.columns.empty:
        raise ValueError(f"no column is left besides the target {rows.target!r}; features are needed")
    return rows._replace(X=X)


def check(rows: Rows, missing: str, *, of_numbers: bool) -> None:
    """Refuse labels and cells that no classifier of the kind could use, naming column, value and remedy."""
    _check_labels(rows)
    if of_numbers:
        require_numbers(rows)
    if missing == "refuse":
        refuse_gaps(rows)


def require_numbers(rows: Rows) -> None:
    """Refuse text for a model of numbers, with what may be done about it."""
    try:
        as_table(rows.X).numeric()
    except ValueError as error:
        remark = next(
            columns.remarks(rows.X), None
        )  # the cell that is no number, rather than the first that is text
        raise ValueError(
            f"{remark or error}. Here: --drop COLUMN leaves a column out; --model mixed-nb takes text for levels."
        ) from None


def refuse_gaps(rows: Rows) -> None:
    """Refuse rows with an empty cell, naming the first."""
    gaps = rows.X.isna().to_numpy()
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise ValueError(
            f"column {rows.X.columns[column]!r} has a missing value (NaN) in row {rows.X.index[row]} ({gaps.sum()} missing cells in "
            "all); fill it in, drop the row, or use --missing skip to leave missing cells out of the likelihood"
        )


def split(rows: Rows, test_size: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out the same share of every class, at least one row and never all, chosen by the seed."""
    if not 0 < test_size < 1:
        raise ValueError(f"--test-size must lie between 0 and 1, found {test_size:g}")
    codes = encode_labels(rows.y)[1]
    rng = np.random.default_rng(seed)
    held_out = np.zeros(len(codes), bool)
    for k in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == k))
        held_out[members[: int(np.clip(round(test_size * len(members)), 1, len(members) - 1))]] = True
    return _pick(rows, ~held_out), _pick(rows, held_out)


def binarized(train: Rows, test: Rows, threshold: float | str) -> tuple[Rows, Rows]:
    """1 above the threshold (or the column's mean over the training rows), 0 otherwise; missing cells stay missing."""
    cut = train.X.mean() if threshold == "mean" else threshold

    def apply(rows: Rows) -> Rows:
        return rows._replace(X=(cut < rows.X.astype(float)).astype(float).where(rows.X.notna()))

    return apply(train), apply(test)


def _pick(rows: Rows, mask: Array) -> Rows:
    return rows._replace(X=rows.X[mask], y=rows.y[mask])


def _check_labels(rows: Rows) -> None:
    try:
        classes, codes = encode_labels(rows.y)
    except ValueError as error:
        raise ValueError(f"column {rows.target!r}: {error}") from None
    if len(classes) < 2:
        raise ValueError(
            f"the target column {rows.target!r} holds one class only, {classes.tolist()[0]!r}; a classifier needs at "
            "least two, choose another --target"
        )
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(
            f"class {classes.tolist()[counts.argmin()]!r} of the target column {rows.target!r} has a single row; every "
            "class needs one row to fit and one to score. Drop the class, merge it with another, or choose another "
            "--target"
        )


def check_support(rows: Rows, classifier: BayesClassifier) -> None:
    """Refuse cells that the family of the classifier cannot hold."""
    # once on all rows, so that the message counts rows as the file does
    table = as_table(rows.X)
    family = classifier.declare_family()
    try:
        family.bind(table, tuple(encode_labels(rows.y)[0].tolist())).bound.encode(table)
    except ValueError as error:
        if family.name != "bernoulli":
            raise
        raise ValueError(f"{error} Here: --binarize THRESHOLD or --binarize mean.") from None
