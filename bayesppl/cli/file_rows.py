"""From what the user named to rows for a fit, and for its scores: refused is what cannot be used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayesppl import datasets
from bayesppl.cli import frame_columns
from bayesppl.cli.files import PLAIN, Dialect
from bayesppl.cli.options import Chosen
from bayesppl.cli.reader import DataFile
from bayesppl.cli.terminal import say, shown, warn
from bayesppl.data.labels import encode_labels
from bayesppl.data.names import listed, meant
from bayesppl.data.read_table import as_table
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from bayesppl.estimators.declared import DeclaredClassifier

#: Rows held at a time.
BATCH_ROWS = 1 << 15

# More different texts than this are no levels, and more labels no classes.
_MOST_LEVELS = 100_000


class FileRows(NamedTuple):
    """Features, the label of every row, the name of the label column, and how numbers are written in the file."""

    X: Any
    y: Any
    target: str
    dialect: Dialect = PLAIN


class Source:
    """The columns and rows of a file that are used.

    Parameters
    ----------
    path : path
    target : str
    dialect : Dialect
    chosen : Chosen
    unlabelled : {"refuse", "drop", "learn"}
    missing : {"skip", "refuse"}
    all_levels : bool
        Whether every column holds levels, numbers too.
    known : mapping of str to collection, optional
        As for :class:`bayesppl.cli.reader.DataFile`.

    Raises
    ------
    ValueError
        If the target is not there, or there are no rows.
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
        known: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        self.file = DataFile(path, dialect, target, None if all_levels else chosen.categorical, known)
        names = list(self.file.columns)
        if target not in names:
            raise ValueError(
                f"the target column {target!r} is not in {str(path)!r}{meant(target, names)}; its columns are "
                f"{listed(names)}"
            )
        if self.file.columns[target].kind == "other":
            raise ValueError(
                f"the target column {target!r} of {str(path)!r} holds neither text nor numbers nor truth "
                "values, but dates, lists or the like; write its classes as text, or choose another --target"
            )
        coded = self.file.categories.intersection(chosen.keep or names) - {*chosen.drop, target}
        self.chosen = chosen._replace(categorical=(*chosen.categorical, *sorted(coded - set(chosen.categorical))))
        self.target = target
        self._unlabelled, self._missing = unlabelled, missing
        self._levels = set(names) if all_levels else set(self.chosen.categorical)

    def remarks(self) -> list[str]:
        """Describe the rows that are left out."""
        absent = self.file.n_rows - self.file.columns[self.target].n_present
        if self._unlabelled != "drop" or not absent:
            return []
        return [f"{absent} of {self.file.n_rows} rows have no label, and are left out"]

    def rows(self, most: int | None = None, seed: int = 0) -> FileRows:
        """Read all rows, or draw so many of them at random where there are more, and warn of lost classes."""
        if most is None or self.file.n_rows <= most:
            return self._used(self.file.read_all(), self.chosen)
        say(
            f"bayesppl: {str(self.file.path)!r} has {self.file.n_rows} rows, of which {most} are drawn at random "
            "(--most-rows)",
            err=True,
        )
        drawn = self.sample(most, seed)
        seen = set(encode(drawn.y.dropna(), self.target)[0].tolist())
        if lost := [label for label in self.labels() if label not in seen]:
            warn(
                [
                    f"no row of the classes {listed(lost)} was drawn, and what is fitted to the others takes such "
                    "rows for theirs; pass a larger --most-rows, or another --seed"
                ]
            )
        return drawn

    def batches(self, doing: str) -> Iterator[FileRows]:
        """Read the rows a batch at a time, with the types and levels of the whole file."""
        import pandas as pd

        first = next(self.file.read(1))[0]
        features = frame_columns.choose(first.drop(columns=self.target), self.chosen, self.target).columns
        levels = [name for name in features if name in self._levels or self._is_text(name)]
        found = self.file.distinct(levels, _MOST_LEVELS)
        types = {name: pd.CategoricalDtype(values) for name, values in found.items()}
        chosen = self.chosen._replace(categorical=())
        for frame, _ in shown(self.file.read(BATCH_ROWS), doing, self.file.n_rows):
            rows = self._used(frame, chosen)
            yield rows._replace(X=rows.X.astype(types))

    def labels(self) -> list[Any]:
        """Find all labels, in ascending order."""
        found = self.file.distinct([self.target], _MOST_LEVELS)[self.target]
        labels = encode(np.array(found, dtype=object), self.target)[0].tolist()
        _refuse_spaces(labels, self.target)
        return labels

    def sample(self, n_rows: int, seed: int) -> FileRows:
        """Draw this many rows at random without replacement, in the order of the file."""
        import pandas as pd

        n_labelled = self.file.columns[self.target].n_present
        drawn = np.random.default_rng(seed).choice(n_labelled, min(n_rows, n_labelled), replace=False)
        is_drawn = iter(np.isin(np.arange(n_labelled), drawn))
        batches = self.batches("drawing rows")
        parts = [_pick(rows, np.fromiter(islice(is_drawn, len(rows.y)), bool)) for rows in batches]
        return parts[0]._replace(X=pd.concat([part.X for part in parts]), y=pd.concat([part.y for part in parts]))

    def _used(self, frame: Any, chosen: Chosen) -> FileRows:
        X = frame_columns.choose(frame.drop(columns=self.target), chosen, self.target)
        rows = FileRows(X, frame[self.target], self.target, self.file.dialect)
        absent = rows.y.isna().to_numpy()
        if absent.any() and self._unlabelled == "refuse":
            raise ValueError(
                f"the target column {rows.target!r} is empty in row "
                f"{rows.y.index[absent.argmax()]} ({absent.sum()} "
                "such rows here); label these rows, or leave them out with --unlabelled drop"
            )
        _refuse_spaces(rows.y[~absent].unique(), self.target)
        if self._unlabelled != "learn":
            rows = _pick(rows, ~absent)
        if self._missing == "refuse":
            refuse_gaps(rows)
        return rows

    def _is_text(self, name: str) -> bool:
        """Return whether a column holds texts; refuse one of numbers for the most part."""
        column = self.file.columns[name]
        if column.kind == "text" and column.are_mostly_numbers and column.n_numbers < column.n_present:
            row, cell = self.file.odd_cell(name) or (0, "")
            raise ValueError(
                f"column {name!r} holds numbers, but {cell!r} in row {row}; if that means a missing value, pass "
                f"--na-values {cell!r}, otherwise leave the column out with --drop {name!r}, or take all its "
                f"values for levels with --categorical {name!r}"
            )
        return column.kind == "text"


def embedded(data: str) -> FileRows:
    """Load an embedded data set by name."""
    return FileRows(*datasets.load(data), "target")


def check(rows: FileRows, *, of_numbers: bool, binarizes: bool = False) -> None:
    """Refuse labels and cells that no classifier of the kind could use, naming column, value and remedy."""
    classes, codes = encode(rows.y, rows.target)
    labels, counts = classes.tolist(), np.bincount(codes)
    if counts.min() < 2:
        raise ValueError(
            f"class {labels[counts.argmin()]!r} of the target column {rows.target!r} has a single row; every "
            "class needs one row to fit and one to score. Drop the class, merge it with another, or choose "
            "another --target"
        )
    if binarizes:
        require_numbers(rows, "--binarize cuts numbers only")
    elif of_numbers:
        require_numbers(rows)


def encode(y: Any, target: str) -> tuple[Array, Array]:
    """Turn the labels of a target into two classes at least, and codes."""
    try:
        classes, codes = encode_labels(y)
    except ValueError as error:
        raise ValueError(f"column {target!r}: {error}") from None
    if len(classes) < 2:
        found = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no label at all"
        raise ValueError(
            f"the target column {target!r} holds {found}; a classifier needs at least two classes, choose another "
            "--target"
        )
    return classes, codes


def _refuse_spaces(labels: Iterable[Any], target: str) -> None:
    """Refuse labels that are spaces, or differ only in the spaces around them: no class that anybody means."""
    alike: dict[str, str] = {}
    for label in sorted(label for label in labels if isinstance(label, str)):
        if not (word := label.strip()):
            raise ValueError(
                f"the target column {target!r} holds {label!r}, a label of spaces alone; leave such cells "
                "empty where there is no label"
            )
        if (other := alike.setdefault(word, label)) != label:
            raise ValueError(
                f"the labels {other!r} and {label!r} of the target column {target!r} differ only in the spaces "
                "around them, and would be two classes; write them alike"
            )


def require_numbers(rows: FileRows, instead: str = "--model mixed-nb takes text for levels") -> None:
    """Refuse text for a model of numbers, with what may be done about it."""
    try:
        as_table(rows.X).numeric()
    except ValueError as error:
        # the cell that is no number, rather than the first that is text
        remark = next(frame_columns.remarks(rows.X.select_dtypes(exclude="number"), rows.dialect), None)
        raise ValueError(f"{remark or error}. Here: --drop COLUMN leaves a column out; {instead}.") from None


def refuse_gaps(rows: FileRows) -> None:
    """Refuse rows with an empty cell, naming the first."""
    gaps = rows.X.isna().to_numpy()
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise ValueError(
            f"column {rows.X.columns[column]!r} has a missing value (NaN) in row {rows.X.index[row]} "
            f"({gaps.sum()} such cells here); fill it in, drop the row, or use --missing skip to leave "
            "missing cells out of the likelihood"
        )


def split(rows: FileRows, test_size: float, seed: int) -> tuple[FileRows, FileRows]:
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


def binarized(train: FileRows, test: FileRows, threshold: float | str) -> list[FileRows]:
    """Turn cells into 1 above the threshold (or the column's mean over the training rows), and 0 otherwise."""
    cut = train.X.mean() if threshold == "mean" else threshold
    return [
        rows._replace(X=(cut < rows.X.astype(float)).astype(float).where(rows.X.notna())) for rows in (train, test)
    ]


def _pick(rows: FileRows, mask: Array) -> FileRows:
    return rows._replace(X=rows.X[mask], y=rows.y[mask])


def check_support(rows: FileRows, classifier: DeclaredClassifier) -> None:
    """Refuse cells that the family of the classifier cannot hold."""
    table = as_table(rows.X)
    family = classifier.declaration.family
    try:
        family.bind(table, tuple(encode_labels(rows.y)[0].tolist())).bound.encode(table)
    except ValueError as error:
        if family.name != "bernoulli":
            raise
        raise ValueError(f"{error} Here: --binarize THRESHOLD or --binarize mean.") from None
