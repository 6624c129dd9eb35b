"""Where a result comes from: versions, command, prior in words, and a fingerprint of the rows.

The record is a flat mapping of text and whole numbers, so that netCDF, zarr and JSON all hold it. It has no time
and no path but those in the command line, so that the same run writes the same file.
"""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse import issparse

from bayesppl.conjugate import Joint
from bayesppl.conjugate import declared_priors as priors
from bayesppl.data.names import listed
from bayesppl.data.rows import Rows
from bayesppl.errors import ChangedRowsError
from bayesppl.files import command
from bayesppl.files.serialize import Encoder, same
from bayesppl.kernels.arrays import Array, brief_arrays, leaves
from bayesppl.kernels.ranges import row_blocks
from bayesppl.model.declaration import GenerativeModel
from bayesppl.model.fitted import Fitted
from bayesppl.model.learned import Learned
from bayesppl.model.training_rows import training_rows

#: Distribution of every module whose version is recorded if it has been loaded: what was not loaded took no part.
_LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "xarray": "xarray",
    "pymc": "pymc",
    "pytensor": "pytensor",
    "nutpie": "nutpie",
    "arviz": "arviz",
    "dask": "dask",
}

#: Read once in a process: it takes longer than a fit.
version = cache(metadata.version)

#: Arrays of up to this many numbers are written out.
_WRITTEN_OUT = 64

#: netCDF holds 64 kB in an attribute; a prior of thousands of blocks needs more words than anybody reads.
_MOST_WORDS = 8000

#: Of rows that were not held: they came in batches, or were merged, forgotten or discounted later.
UNKNOWN: Mapping[str, Any] = {"data_hash": "unknown, the rows were not held (of batches, of files, or of a stack)"}

#: Of rows that the caller changed after the fit.
CHANGED: Mapping[str, Any] = {"data_hash": "unknown, the rows were changed after the fit"}

# A fingerprint that was taken stays that of the fit, whatever happens to the rows later.
_TAKEN: WeakKeyDictionary[Any, Mapping[str, Any]] = WeakKeyDictionary()


def environment() -> dict[str, str]:
    """Record the versions of Python and of the libraries in use, and the command."""
    loaded = {name: version(library) for name, library in _LIBRARIES.items() if name in sys.modules}
    return {
        "bayesppl_version": version("bayesppl"),
        "python_version": platform.python_version(),
        **{f"{name}_version": found for name, found in loaded.items()},
        "command": command(),
    }


def provenance(fitted: Fitted) -> dict[str, Any]:
    """Record where a fit comes from.

    Returns
    -------
    dict
        :func:`environment`, ``prior`` in words, ``statistics_hash`` and :func:`fingerprint`. The sums of the same
        rows are the same to the last bit whatever the container, the layout in memory and the number of threads.
        Batches of other sizes may change last bits, and with them this hash.
    """
    return {
        **environment(),
        "prior": "not determined yet" if fitted.inferred is None else prior_in_words(fitted.inferred.prior),
        "statistics_hash": hash_of_statistics(fitted.learned.statistics),
        **fingerprint(fitted),
    }


def in_words(value: Any) -> str:
    """Write ``repr``, with all numbers of short arrays and no addresses in memory."""
    with brief_arrays(_WRITTEN_OUT):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def fingerprint(fitted: Fitted) -> Mapping[str, Any]:
    """Describe what distinguishes the rows of a fit from others.

    Returns
    -------
    dict
        ``data_rows``, ``data_columns``: their numbers. ``data_dtypes``: of the encoded columns. ``data_hash``:
        SHA-256 of the names of columns, levels and classes, and of all cells, labels and weights, row after row,
        and of what is known of the classes of rows whose label is missing or in doubt.
        Numbers count by their value: the container, the layout in memory and the type of a number do not matter.
        The order of the rows does. Sparse rows are hashed by the cells they store, and differ from dense ones.
    """
    if fitted.fingerprint is not None:
        return fitted.fingerprint
    if fitted.rows is not None and fitted.rows in _TAKEN:
        return _TAKEN[fitted.rows]
    try:
        rows = training_rows(fitted)
    except ChangedRowsError:
        return CHANGED
    if rows is None:
        return UNKNOWN
    _TAKEN[rows] = described(fitted.model, rows)
    return _TAKEN[rows]


def described(model: GenerativeModel, rows: Rows) -> dict[str, Any]:
    """Find number, types and hash of rows, as :func:`fingerprint` has them."""
    digest = hashlib.sha256()
    names = {dim: [str(label) for label in labels] for dim, labels in model.coords.items()}
    digest.update(f"{names}{list(map(str, model.family.bound.measures))}".encode())
    dtypes, (table, weights), partly = [], rows.whole, rows.partly
    for place, part in leaves(model.family.bound.encode(table)):
        digest.update(f"{place} {part.shape}".encode())
        dtypes.append(part.dtype.name)
        for piece in _stored_cells(part) if issparse(part) else _blocks(part):
            digest.update(piece.data)
    digest.update(_number(rows.codes).data)
    digest.update(_number(weights).data)
    if partly is not None:
        votes = partly.votes
        given = () if votes is None else (votes.rows, votes.annotators, votes.labels)
        digest.update(f"{partly.is_informative}{() if votes is None else votes.names}".encode())
        for values in (partly.places, partly.log_prior, *given):
            digest.update(b"" if values is None else _number(values).data)
    return {
        "data_rows": len(table),
        "data_columns": len(model.family.bound.measures),
        "data_dtypes": " | ".join(dtypes),
        "data_hash": digest.hexdigest(),
    }


def _blocks(cells: Array) -> Iterator[Array]:
    """Yield all rows, a few at a time: their bytes in sequence are those of the whole."""
    for rows in row_blocks(len(cells), max(1, cells.size // max(1, len(cells)))):
        yield _number(cells[rows])


def _stored_cells(matrix: Any) -> Iterator[Array]:
    if not matrix.has_canonical_format or not matrix.data.all():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    yield from (_number(part) for part in (matrix.indptr, matrix.indices, matrix.data))


def _number(values: Array) -> Array:
    """Convert numbers to one type, in the order of rows; all zeros become one, and all NaN."""
    numbers = np.array(values, dtype="<f8", order="C") + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def hash_of_statistics(statistics: Any) -> str:
    """Compute SHA-256 of sums, and of what tracks their rounding."""
    encoder = Encoder()
    digest = hashlib.sha256(repr(encoder.spell(statistics, "statistics")).encode())
    for name in sorted(encoder.arrays):
        digest.update(np.ascontiguousarray(encoder.arrays[name]).data)
    return digest.hexdigest()


def prior_in_words(prior: Joint) -> str:
    words = "; ".join(_part_in_words(prefix, part) for prefix, part in prior.leaves())
    if len(words) <= _MOST_WORDS:
        return words
    return f"{words[:_MOST_WORDS]} … (sha256 of all: {hashlib.sha256(words.encode()).hexdigest()})"


def _part_in_words(prefix: str, part: Any) -> str:
    if part.has_closed_form:
        return f"{', '.join(prefix + name for name in part.parameters)} ~ {in_words(part)}"
    return "; ".join(f"{prefix}{name} ~ {priors.in_words(value)}" for name, value in part.declarations.items())


def difference(one: Learned, other: Learned) -> str:
    """Say in what two models of the same classes differ, which nobody can add up."""
    names, others = one.columns.names, other.columns.names
    here, there = _apart(names, others)
    if here or there:
        return f"only the first has the columns [{here}], only the second [{there}]"
    if names != others:
        return (
            f"the columns are in another order, {listed(names)} and {listed(others)}; fit both to X[names], "
            "with names in one order"
        )
    coords, its = one.model.family.bound.coords, other.model.family.bound.coords
    for dim in coords:
        if dim in its and coords[dim] != its[dim]:
            here, there = _apart(coords[dim], its[dim])
            if not here and not there:
                return (
                    f"the {dim} is in another order, {listed(coords[dim])} and {listed(its[dim])}; declare levels "
                    "in one order for both"
                )
            return f"only the first has the {dim} [{here}], only the second [{there}]; declare it for both"
    if not same(one.model.class_weights, other.model.class_weights):
        return f"class_weights are {one.model.class_weights!r} and {other.model.class_weights!r}"
    families = [in_words(learned.model.family) for learned in (one, other)]
    if families[0] == families[1]:
        return (
            "what their rows chose (bins, blocks, transformations, factors of tune_prior) differs, and should be "
            "declared; or equal arguments were made twice, as a prior of PyMC or as a list and an array: give "
            "both the same object"
        )
    return f"the families or their priors differ, {families[0]} and {families[1]}"


def _apart(one: Sequence[Any], other: Sequence[Any]) -> tuple[str, str]:
    """Write what is in one of two sequences only."""
    return (
        listed([name for name in one if name not in other]),
        listed([name for name in other if name not in one]),
    )
