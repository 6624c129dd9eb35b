"""Parquet files, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from bayesppl.data.labels import encode_labels

# Rows of a batch, and how many batches pyarrow reads ahead: memory of a few batches
_BATCH_ROWS, _READ_AHEAD = 1 << 16, 4


def open_parquet(path: Any) -> Any:
    """A ``pyarrow.dataset.Dataset`` of a file, a folder or several files."""
    try:
        import pyarrow.dataset as ds
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow: pip install 'bayesppl[parquet]'") from None
    return path if isinstance(path, ds.Dataset) else ds.dataset(path, format="parquet")


def scan(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of rows as pyarrow tables, without empty ones."""
    import pyarrow as pa

    batches = dataset.to_batches(
        columns=list(columns), batch_size=_BATCH_ROWS, batch_readahead=_READ_AHEAD, fragment_readahead=1
    )
    return (pa.Table.from_batches([batch]) for batch in batches if len(batch))


def labels_of(dataset: Any, target: str) -> list[Hashable]:
    """All labels of the target column, in ascending order; reads that column only."""
    found = [encode_labels(batch[target])[0] for batch in scan(dataset, [target])]
    if not found:
        raise ValueError("the files hold no rows; there is nothing to learn from")
    return encode_labels(np.concatenate(found))[0].tolist()
