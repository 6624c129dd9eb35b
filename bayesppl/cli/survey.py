"""Files of more rows than are held at a time: one pass finds out what the columns hold, later ones read batches of that."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayesppl.cli import batches
from bayesppl.cli.codes import codes_as_written, columns_as_written
from bayesppl.cli.columns import remarks
from bayesppl.cli.dialect import Chosen
from bayesppl.cli.rows import Rows, choose, divide, labelled, refuse_gaps
from bayesppl.cli.terminal import counting, is_number, say
from bayesppl.cli.text_files import Dialect
from bayesppl.data.columns import beyond_floats, refuse_rounding
from bayesppl.data.labels import encode_labels

#: Rows held at a time.
BATCH_ROWS = 1 << 15

# More different texts than this are no levels, and more labels no classes.
_MOST_LEVELS = 100_000


class Source(NamedTuple):
    """A file, and which of its columns and rows are used.

    Attributes
    ----------
    all_levels : bool
        Whether every column holds levels, numbers too.
    texts : frozenset of str
        Columns of text, numbers or truth values though they look like in some batches.
    """

    path: Path
    target: str
    dialect: Dialect
    chosen: Chosen
    unlabelled: str = "refuse"
    all_levels: bool = False
    missing: str = "skip"
    texts: frozenset[str] = frozenset()

    def small(self) -> Rows | None:
        """All rows of a file that has no more of them than are held at a time, read once."""
        first = list(islice(batches.read(self.path, BATCH_ROWS, self.dialect), 2))
        if len(first) > 1:
            return None
        frame = codes_as_written(first[0], self.path, self.dialect, self.is_code)
        return self.used(divide(frame, self.path, self.target), self.chosen)

    def read(self) -> Iterator[Rows]:
        """The rows of the file, a batch at a time, numbered as in the file; types are those that each batch suggests."""
        chosen = self.chosen._replace(categorical=())
        start = 0
        for frame in batches.read(self.path, BATCH_ROWS, self.dialect, self.texts):
            numbered = frame.set_axis(range(start, start + len(frame)))
            yield self.used(divide(numbered, self.path, self.target), chosen)
            start += len(frame)

    def used(self, rows: Rows, chosen: Chosen) -> Rows:
        """The columns and rows that are used, without cells or labels that are refused."""
        rows = labelled(choose(rows, chosen), self.unlabelled)
        if self.missing == "refuse":
            refuse_gaps(rows)
        return rows

    def is_of_levels(self, name: str) -> bool:
        """Whether numbers of this column are levels."""
        return self.all_levels or name in self.chosen.categorical

    def is_code(self, column: Any) -> bool:
        """Whether these numbers are labels or levels."""
        if column.name == self.target:  # fractions are no labels
            return bool((column.dropna() % 1 == 0).all())
        return self.is_of_levels(column.name)


class Survey(NamedTuple):
    """What the rows of a source have in common.

    Attributes
    ----------
    source : Source
    n_rows : int
    labels : list
        In ascending order.
    types : dict
        The type of every column of features, with all its levels if it has any.
    """

    source: Source
    n_rows: int
    labels: list[Hashable]
    types: dict[str, Any]

    def read(self, doing: str) -> Iterator[Rows]:
        """The rows of the source, a batch at a time, with these types."""
        for rows in counting(self.source.read(), lambda rows: len(rows.X), doing, self.n_rows):
            for name, dtype in self.types.items():
                column = rows.X[name]
                if dtype == np.float64 and column.dtype.kind in "iu" and beyond_floats(column.to_numpy()):
                    refuse_rounding(column.to_numpy(), name)
            yield rows._replace(X=rows.X.astype(self.types))

    def sample(self, n_rows: int, seed: int) -> Rows:
        """This many rows, drawn at random without replacement, in the order of the file."""
        import pandas as pd

        rng = np.random.default_rng(seed)
        held, keys = None, np.empty(0)
        for rows in self.read("drawing rows"):
            frame = rows.X.assign(**{self.source.target: rows.y})
            together = frame if held is None else pd.concat([held, frame])
            keys = np.append(keys, rng.random(len(frame)))
            kept = np.sort(
                np.argsort(keys, kind="stable")[:n_rows]
            )  # the smallest keys: each row is as likely as another
            held, keys = together.iloc[kept], keys[kept]
        return divide(held, self.source.path, self.source.target)


def survey(source: Source) -> Survey:
    """Read a file once, and find its labels, and the types and levels of its columns.

    Raises
    ------
    ValueError
        For a column of numbers here and text there, with the first such text, its row and the remedy; for more levels than
        can be; for a target of one class.
    """
    n_rows, labels = 0, set[Hashable]()
    columns: dict[str, _Column] = {}
    first_look = not source.texts
    for rows in counting(source.read(), lambda rows: len(rows.X), "surveying"):
        for remark in remarks(rows.X) if n_rows == 0 and first_look else ():
            say(f"bayesppl: warning: {remark}", err=True)
        for name in rows.X.columns:
            columns.setdefault(name, _Column(name, source.is_of_levels(name))).see(rows.X[name])
        labels.update(rows.y.unique().tolist())
        if len(labels) > _MOST_LEVELS:
            raise ValueError(
                f"the target column {source.target!r} holds more than {_MOST_LEVELS} different values, which are no classes; "
                "choose another --target"
            )
        n_rows += len(rows.X)
    # the type of a column is that of all its cells: what is text in one batch is text in the others
    texts = {name for name, column in columns.items() if column.is_text_in_part}
    if len({isinstance(label, str) for label in labels}) > 1:
        texts.add(source.target)
    numbers = {name for name, column in columns.items() if column.has_levels_that_are_numbers}
    if all(isinstance(label, int | float) and label % 1 == 0 for label in labels):
        numbers.add(source.target)
    texts |= columns_as_written(source.path, source.dialect, numbers - texts)
    if first_look and texts:
        return survey(source._replace(texts=frozenset(texts)))
    classes = encode_labels(np.array(list(labels), dtype=object))[0].tolist()
    if len(classes) < 2:
        raise ValueError(
            f"the target column {source.target!r} holds one class only, {classes[0]!r}; a classifier needs at least two"
        )
    return Survey(source, n_rows, classes, {name: column.dtype for name, column in columns.items()})


class _Column:
    """What one column has shown so far."""

    def __init__(self, name: str, is_of_levels: bool) -> None:
        self._name, self._is_of_levels = name, is_of_levels
        self._has_gaps = False
        self._number: Any = None
        self._levels: dict[Hashable, int] = {}  # and the first row of each

    def see(self, cells: Any) -> None:
        """Take notice of a batch of cells."""
        present = cells.dropna()
        self._has_gaps |= len(present) < len(cells)
        if present.empty:
            return
        if cells.dtype.kind in "iuf" and not self._is_of_levels:
            kind = getattr(cells.dtype, "numpy_dtype", cells.dtype)  # of integers beside gaps
            self._number = kind if self._number is None else np.result_type(self._number, kind)
        else:
            first = present.drop_duplicates()
            self._levels = {**dict(zip(first.tolist(), first.index.tolist(), strict=True)), **self._levels}
        if self._number is not None and self._levels:
            level, row = next(
                ((level, row) for level, row in self._levels.items() if not is_number(level)),
                next(iter(self._levels.items())),
            )
            raise ValueError(
                f"column {self._name!r} holds numbers, but {level!r} in row {row}; if that means a missing value, pass --na-values "
                f"{level!r}, otherwise leave the column out with --drop {self._name!r}"
            )
        if len(self._levels) > _MOST_LEVELS:
            raise ValueError(
                f"column {self._name!r} holds more than {_MOST_LEVELS} different texts; as levels they say nothing about new rows. "
                f"Leave it out with --drop {self._name!r}"
            )

    @property
    def is_text_in_part(self) -> bool:
        """Whether its levels are text in some batches and numbers or truth values in others."""
        return len({isinstance(level, str) for level in self._levels}) > 1

    @property
    def has_levels_that_are_numbers(self) -> bool:
        return any(isinstance(level, int | float) for level in self._levels)

    @property
    def dtype(self) -> Any:
        """Of numbers; or of these levels."""
        import pandas as pd

        if not self._levels:
            if self._number is None:
                return np.dtype(np.float64)
            return pd.Int64Dtype() if self._has_gaps and self._number.kind in "iu" else self._number
        if not self._is_of_levels and all(isinstance(level, bool) for level in self._levels):
            return pd.BooleanDtype() if self._has_gaps else np.dtype(bool)
        return pd.CategoricalDtype(sorted(self._levels, key=lambda level: (type(level).__name__, level)))
