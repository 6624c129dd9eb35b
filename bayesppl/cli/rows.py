"""From what the user named to rows for a fit, and for its scores: refused is what cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesppl import datasets
from bayesppl.cli import columns
from bayesppl.cli.files import Dialect, require_source
from bayesppl.cli.options import Chosen
from bayesppl.cli.reader import DataFile
from bayesppl.cli.terminal import counting
from bayesppl.data.columns import LARGEST_EXACT
from bayesppl.data.labels import encode_labels
from bayesppl.data.names import listed
from bayesppl.data.read_table import as_table
from bayesppl.errors import RowError
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from bayesppl.estimators.classifier import BayesClassifier

#: Rows held at a time.
BATCH_ROWS = 1 << 15

# More different texts than this are no levels, and more labels no classes.
_MOST_LEVELS = 100_000


class Rows(NamedTuple):
    """A data frame of features, the label of every row, and the name of the label column."""

    X: Any
    y: Any
    target: str


class Source:
    """The columns and rows of a file that are used.

    Parameters
    ----------
    path : path
    target : str
    dialect : Dialect
    chosen : Chosen
    unlabelled : {"refuse", "drop"}
    missing : {"skip", "refuse"}
    all_levels : bool
        Whether every column holds levels, numbers too.

    Raises
    ------
    ValueError
        If the target is not there, there are no rows, or a column that is used as a number holds an integer beyond
        2^53.
    """

    def __init__(
        self,
        path: Path,
        target: str,
        dialect: Dialect,
        chosen: Chosen,
        unlabelled: str = "refuse",
        missing: str = "skip",
        all_levels: bool = False,
    ) -> None:
        self.file = DataFile(path, dialect, target, None if all_levels else chosen.categorical)
        names = list(self.file.columns)
        if target not in names:
            raise ValueError(
                f"the target column {target!r} is not in {str(path)!r}; {_nearest(target, names)}its columns are "
                f"{listed(names)}"
            )
        self.n_rows = self.file.n_rows
        if not self.n_rows:
            raise ValueError(f"{str(path)!r} has a header line but no rows")
        coded = self.file.categories.intersection(chosen.keep or names) - {*chosen.drop, target}
        self.chosen = chosen._replace(categorical=(*chosen.categorical, *sorted(coded - set(chosen.categorical))))
        self.target = target
        self._unlabelled, self._missing = unlabelled, missing
        self._levels = set(names) if all_levels else set(self.chosen.categorical)
        self._refuse_rounding()

    def all(self) -> Rows:
        """Read all rows."""
        return self._used(self.file.read_all(), self.chosen)

    def batches(self, doing: str) -> Iterator[Rows]:
        """Read the rows a batch at a time, with the types and levels of the whole file."""
        first = next(self.file.read(1))[0]
        features = columns.choose(first.drop(columns=self.target), self.chosen).columns
        types = {
            name: _categories(self.file.distinct(name, _MOST_LEVELS))
            for name in features
            if name in self._levels or self._is_text(name)
        }
        chosen = self.chosen._replace(categorical=())
        for frame, _ in counting(self.file.read(BATCH_ROWS), doing, self.n_rows):
            rows = self._used(frame, chosen)
            yield rows._replace(X=rows.X.astype(types))

    def labels(self) -> list[Any]:
        """Find all labels, in ascending order."""
        labels = encode_labels(np.array(self.file.distinct(self.target, _MOST_LEVELS), dtype=object))[0].tolist()
        if len(labels) < 2:
            raise ValueError(
                f"the target column {self.target!r} holds one class only, {labels[0]!r}; a classifier needs at "
                f"least two"
            )
        return labels

    def sample(self, n_rows: int, seed: int) -> Rows:
        """Draw this many rows at random without replacement, in the order of the file."""
        import pandas as pd

        n_labelled = self.file.columns[self.target].n_present
        drawn = np.random.default_rng(seed).choice(n_labelled, min(n_rows, n_labelled), replace=False)
        is_drawn = np.zeros(n_labelled, bool)
        is_drawn[drawn] = True
        parts, start = [], 0
        for rows in self.batches("drawing rows"):
            parts.append(_pick(rows, is_drawn[start : start + len(rows.y)]))
            start += len(rows.y)
        return Rows(pd.concat([part.X for part in parts]), pd.concat([part.y for part in parts]), self.target)

    def _used(self, frame: Any, chosen: Chosen) -> Rows:
        rows = choose(Rows(frame.drop(columns=self.target), frame[self.target], self.target), chosen)
        rows = labelled(rows, self._unlabelled)
        if self._missing == "refuse":
            refuse_gaps(rows)
        return rows

    def _is_text(self, name: str) -> bool:
        """Whether a column holds texts; one that is mostly numbers is refused, whose levels would have no end."""
        column = self.file.columns[name]
        if (
            column.kind == "text"
            and columns.NUMBERS_SHARE * column.n_present < column.n_numbers < column.n_present
        ):
            row, cell = self.file.first(name, "odd") or (0, "")
            raise RowError(
                f"column {name!r} holds numbers, but {cell!r} in row ",
                row,
                f"; if that means a missing value, pass --na-values {cell!r}, otherwise leave the column out with "
                f"--drop {name!r}, or take all its values for levels with --categorical {name!r}",
            )
        return column.kind == "text"

    def _refuse_rounding(self) -> None:
        for name, column in self.file.columns.items():
            is_used = name in self.chosen.keep if self.chosen.keep else name not in self.chosen.drop
            is_number = column.kind == "whole" and name != self.target and name not in self._levels
            if is_used and is_number and column.largest >= LARGEST_EXACT:
                found = self.file.first(name, f"abs(whole) > {LARGEST_EXACT}", "whole")
                if found is not None:
                    raise RowError(
                        f"column {name!r} holds the integer {found[1]} in row ",
                        found[0],
                        ", beyond 2^53, where floating-point numbers round integers. If it identifies rows, "
                        f"leave it out with --drop {name!r}; if it is a code, pass --categorical {name!r}; "
                        "otherwise subtract an offset",
                    )


def _categories(levels: list[Any]) -> Any:
    import pandas as pd

    return pd.CategoricalDtype(levels)


def embedded(data: str) -> Rows:
    """Load an embedded data set by name."""
    require_source(data, None)
    X, y = datasets.load(data)
    return Rows(X, y, "target")


def _nearest(name: str, names: list[str]) -> str:
    """Ask about the column that was probably meant, if there is one."""
    lower = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), lower, n=1)
    return f"did you mean {lower[near[0]]!r}? " if near else ""


def labelled(rows: Rows, unlabelled: str) -> Rows:
    """Select the rows that have a label; one that has none is refused unless it may be left out."""
    absent = rows.y.isna().to_numpy()
    if not absent.any():
        return rows
    if unlabelled == "refuse":
        raise ValueError(
            f"the target column {rows.target!r} is empty in row {rows.y.index[absent.argmax()]} ({absent.sum()} "
            "such rows here); label these rows, or leave them out with --unlabelled drop"
        )
    return _pick(rows, ~absent)


def choose(rows: Rows, chosen: Chosen) -> Rows:
    """Select the columns of features that were asked for."""
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
            f"column {rows.X.columns[column]!r} has a missing value (NaN) in row {rows.X.index[row]} "
            f"({gaps.sum()} missing cells in all); fill it in, drop the row, or use --missing skip to leave "
            "missing cells out of the likelihood"
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
    """Turn cells into 1 above the threshold (or the column's mean over the training rows), and 0 otherwise."""
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
            f"the target column {rows.target!r} holds one class only, {classes.tolist()[0]!r}; a classifier needs "
            "at least two, choose another --target"
        )
    counts = np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(
            f"class {classes.tolist()[counts.argmin()]!r} of the target column {rows.target!r} has a single row; "
            "every class needs one row to fit and one to score. Drop the class, merge it with another, or choose "
            "another --target"
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
