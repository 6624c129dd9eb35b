"""The data frames in which class probabilities can be returned."""

from __future__ import annotations

from typing import Any, Literal, get_args

from bayesppl.kernels.arrays import Array

Container = Literal["default", "pandas", "polars"]


def check_container(container: str) -> None:
    """Refuse a container that does not exist."""
    if container not in get_args(Container):
        known = ", ".join(map(repr, get_args(Container)))
        raise ValueError(f"transform must be one of {known}, found {container!r}")


def in_container(probabilities: Array, classes: Array, X: Any, container: Container) -> Any:
    """Probabilities (n_rows, n_classes) as an array, or as a data frame whose columns are the classes.

    A pandas data frame keeps the index of ``X``, where it has one.
    """
    if container == "default":
        return probabilities
    if container == "polars":
        import polars as pl

        return pl.DataFrame(probabilities, schema=[str(label) for label in classes.tolist()])
    import pandas as pd

    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(probabilities, columns=classes.tolist(), index=index)
