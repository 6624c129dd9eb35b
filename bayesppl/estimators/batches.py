"""Fits on more rows than memory holds: batches of an iterable, or the files of a Parquet data set.

Sufficient statistics are sums, so that only one batch is held at a time, and the posterior is that of all rows at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from bayesppl.data.labels import encode_labels

if TYPE_CHECKING:
    from bayesppl.estimators.learner import Learner

# Rows of a batch, and how many batches pyarrow reads ahead: memory of a few batches
_BATCH_ROWS, _READ_AHEAD = 1 << 16, 4


def fit_batches[T: "Learner"](
    clf: T, batches: Iterable[Sequence[Any]], classes: Sequence[Hashable] | None = None, progress: bool = False
) -> T:
    """Fit an estimator on rows that come in batches; what it had learned before is dropped.

    Parameters
    ----------
    clf : estimator
        Fitted in place, once all batches have been read; an error in one of them leaves it as it was.
    batches : iterable of (X, y) or (X, y, sample_weight)
        As ``fit`` takes them. Each is read once, in turn, and not kept.
    classes : sequence, optional
        All labels that can occur; required unless the estimator was constructed with ``classes``.
    progress : bool
        Show how many rows have been read.

    Returns
    -------
    clf

    Raises
    ------
    ValueError
        If there is no batch, or for a batch that ``fit`` would refuse.

    Examples
    --------
    >>> import bayesppl as bp
    >>> batches = (([[x], [x + 4.0]], ["a", "b"]) for x in (0.0, 1.0, 1.5))
    >>> clf = bp.fit_batches(bp.GaussianNB(), batches, classes=["a", "b"])
    >>> clf.class_count_.tolist()
    [3.0, 3.0]
    """
    learner = clone(clf).set_params(inference="conjugate")  # once per batch; the rest waits for the last one
    total = None
    with _progress(progress, None) as advance:
        for X, y, *rest in batches:
            weights = rest[0] if rest else None
            if total is None:
                total = learner.partial_fit(X, y, classes=classes, sample_weight=weights)._statistics
                learned = learner._among(learner.classes_)
            else:
                total = total + learned.summed(learner._aligned(X), y, weights, n_jobs=clf.n_jobs)
            advance(len(y))
    if total is None:
        raise ValueError("batches is empty; give at least one (X, y)")
    return adopt(clf, learner, total)


def adopt[T: "Learner"](clf: T, learner: Learner, statistics: Any) -> T:
    """Give ``clf`` what ``learner`` has learned, with these statistics of all rows."""
    learner.set_params(inference=clf.inference)
    learner._settle(learner._among(learner.classes_)._replace(statistics=statistics))
    learner._fitted()
    clf._restore(learner._state())
    return clf


def fit_parquet[T: "Learner"](
    clf: T,
    path: str | Path | Sequence[str] | Any,
    target: str,
    columns: Sequence[str] | None = None,
    sample_weight: str | None = None,
    progress: bool = False,
) -> T:
    """Fit an estimator on Parquet files; see :meth:`bayesppl.GenerativeClassifier.fit_parquet`."""
    dataset = _open(path)
    others = (target,) if sample_weight is None else (target, sample_weight)
    names = [name for name in dataset.schema.names if name not in others] if columns is None else list(columns)
    absent = [name for name in (*others, *names) if name not in dataset.schema.names]
    if absent:
        raise ValueError(f"missing column {absent[0]!r}; the files have {dataset.schema.names}")
    classes = _labels(dataset, target) if clf.classes is None else clf.classes
    n_rows = dataset.count_rows() if progress else None

    def batches() -> Iterator[tuple[Any, ...]]:
        with _progress(progress, n_rows) as advance:
            for batch in _scan(dataset, [*names, *others]):
                weights = () if sample_weight is None else (batch[sample_weight].to_numpy(),)
                yield (batch.select(names), batch[target], *weights)
                advance(len(batch))

    return fit_batches(clf, batches(), classes)


def _open(path: Any) -> Any:
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install 'bayesppl[parquet]'") from None
    return path if isinstance(path, ds.Dataset) else ds.dataset(path, format="parquet")


def _scan(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of rows as pyarrow tables, without empty ones."""
    import pyarrow as pa

    batches = dataset.to_batches(
        columns=list(columns), batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
    )
    return (pa.Table.from_batches([batch]) for batch in batches if len(batch))


def _labels(dataset: Any, target: str) -> list[Hashable]:
    """All labels of the target column, in ascending order; reads that column only."""
    found = [encode_labels(batch[target])[0] for batch in _scan(dataset, [target])]
    if not found:
        raise ValueError("the files hold no rows; there is nothing to learn from")
    return encode_labels(np.concatenate(found))[0].tolist()


@contextmanager
def _progress(show: bool, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that adds to a count of rows, shown on the terminal if wanted."""
    if not show:
        yield lambda n_rows: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn("rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda n_rows: bar.advance(task, n_rows)
