"""Small real data sets that come with scikit-learn, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from bayesppl.data.names import meant

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
        raise ValueError(f"no data set named {name!r}{meant(name, LOADERS)}; there are {', '.join(LOADERS)}")
    return LOADERS[name]()


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
