"""Small real data sets that come with scikit-learn, by name, and CSV files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Labelled(NamedTuple):
    """A data frame of features and the label of every row."""

    X: pd.DataFrame
    y: pd.Series


def load(name: str) -> Labelled:
    """Load an embedded data set.

    Parameters
    ----------
    name : {"breast_cancer", "digits", "digits_binary", "iris", "wine"}
        ``digits_binary`` are the digits with pixels of 8 and more (of 16) as 1, others as 0.

    Returns
    -------
    Labelled
        ``X``, a pandas data frame, and ``y``, a series of labels.

    Raises
    ------
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> X, y = load("iris")
    >>> X.shape, sorted(set(y))
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """
    if name not in LOADERS:
        raise ValueError(f"no data set named {name!r}; there are {', '.join(LOADERS)}")
    return LOADERS[name]()


def read_csv(path: str | Path, target: str) -> Labelled:
    """Read a CSV file with a header line; all columns but ``target`` are features.

    Parameters
    ----------
    path : str or Path
    target : str
        Column that holds the labels.

    Raises
    ------
    ValueError
        If the file is empty, is no CSV file, or lacks the target column.
    FileNotFoundError
        If there is no such file.
    """
    import pandas as pd

    try:
        frame = pd.read_csv(path)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{str(path)!r} is not a CSV file in UTF-8 (it holds the byte {error.object[error.start]:#04x}); save it as "
            "UTF-8 with commas, or read it with pandas.read_csv(..., encoding=...) and use the library"
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{str(path)!r} is not a CSV file with a header line: {error}") from None
    if len(frame.columns) == 1:
        found = [mark for mark in (";", "\t", "|") if mark in str(frame.columns[0])]
        if found:
            raise ValueError(
                f"the header of {str(path)!r} is separated by {found[0]!r}; save the file with commas between columns (and "
                "points in numbers), or read it with pandas.read_csv(..., sep=...) and use the library"
            )
    if target not in frame.columns:
        known = ", ".join(map(repr, frame.columns[:12])) + (", …" if len(frame.columns) > 12 else "")
        raise ValueError(f"the target column {target!r} is not in {str(path)!r}; its columns are {known}")
    if len(frame.columns) < 2:
        raise ValueError(f"{str(path)!r} has no column besides the target {target!r}; features are needed")
    if frame.empty:
        raise ValueError(f"{str(path)!r} has a header line but no rows")
    return Labelled(frame.drop(columns=target), frame[target])


def _bundled(loader: str) -> Labelled:
    from sklearn import datasets

    bunch: Any = getattr(datasets, loader)(as_frame=True)
    names = bunch.target_names
    labels = bunch.target if names.dtype.kind in "iu" else bunch.target.map(dict(enumerate(names.tolist())))
    return Labelled(bunch.data, labels)


def _digits_binary() -> Labelled:
    X, y = _bundled("load_digits")
    return Labelled((X >= 8).astype(int), y)


#: Loaders by name. A later data set is one more entry.
LOADERS: dict[str, Callable[[], Labelled]] = {
    "breast_cancer": lambda: _bundled("load_breast_cancer"),
    "digits": lambda: _bundled("load_digits"),
    "digits_binary": _digits_binary,
    "iris": lambda: _bundled("load_iris"),
    "wine": lambda: _bundled("load_wine"),
}
