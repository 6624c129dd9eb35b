"""Fitted estimators as files: netCDF, no pickle, nothing executed on reading.

A file holds the declaration, the sufficient statistics and the posterior as plain values (see
:mod:`bayesppl.files.serialize`): a JSON text in the variable ``document``, and one netCDF variable for every array in the group
``arrays``, under the name of its place in the document. Any netCDF reader can look inside.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesppl.errors import ModelFileError
from bayesppl.files.atomic import replacing
from bayesppl.files.serialize import Speller, build
from bayesppl.kernels.arrays import Array

if TYPE_CHECKING:
    from bayesppl.estimators.classifier import BayesClassifier

FORMAT = "bayesppl model"
SCHEMA_VERSION = 1

#: Dimensions are named by their length; no array is named like that, for its name begins with its place.
_LENGTH = "length_"


def save(estimator: BayesClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to ``path``; see :meth:`bayesppl.GenerativeClassifier.save`."""
    estimator._require_fitted()
    speller = Speller()
    try:
        document = {
            "estimator": _name_of(type(estimator)),
            "provenance": estimator._provenance(),
            "parameters": speller.spell(estimator.get_params(deep=False), "parameters"),
            "state": speller.spell(estimator._state(), "state"),
        }
    except TypeError as error:
        raise TypeError(f"this {type(estimator).__name__} cannot be saved: {error}") from None
    text = json.dumps(document, ensure_ascii=True).encode()
    arrays = {name: _storable(array) for name, array in speller.arrays.items()}
    with replacing(path) as work:
        _write(work, text, arrays)


def load(path: str | os.PathLike[str]) -> BayesClassifier:
    """Read a fitted estimator that ``save`` wrote.

    Predictions are bit for bit those of the estimator that was saved, and ``partial_fit`` continues where it stood. A
    file can describe estimators of this package and nothing else; reading one executes nothing that is in it.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is no model, is damaged, was changed after it was written, or was written by a newer version.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayesppl as bp
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.nc"
    >>> bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], list("aabb")).save(path)
    >>> bp.load(path).predict([[0.2]]).tolist()
    ['a']
    """
    text, arrays = _read(Path(path))
    try:
        document = json.loads(text)
        estimator = _estimators()[document["estimator"]](**build(document["parameters"], arrays))
        estimator._restore(build(document["state"], arrays))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{str(path)!r} holds a model that this version of bayesppl ({version('bayesppl')}) cannot build: {error!r}"
        ) from error
    return estimator


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Versions, command, prior and data of the model in a file that ``save`` wrote, as they were then.

    Empty for files of versions that wrote none.

    Raises
    ------
    FileNotFoundError, ModelFileError
        As :func:`load`.
    """
    return dict(json.loads(_read(Path(path))[0]).get("provenance", {}))


def _estimators() -> Mapping[str, type[BayesClassifier]]:
    import bayesppl
    from bayesppl.estimators.classifier import BayesClassifier

    public = {name: getattr(bayesppl, name) for name in bayesppl.__all__}
    return {
        name: value
        for name, value in public.items()
        if isinstance(value, type) and issubclass(value, BayesClassifier)
    }


def _name_of(cls: type) -> str:
    if _estimators().get(cls.__name__) is not cls:
        raise TypeError(f"{cls.__qualname__} is not an estimator of bayesppl; pickle it instead")
    return cls.__name__


def _storable(array: Array) -> Array:
    """The array in a type that netCDF has, in the byte order every machine reads."""
    array = array.astype(np.uint8) if array.dtype.kind == "b" else array
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def _checksum(text: bytes, arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {SCHEMA_VERSION} {len(text)}\n".encode() + text)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _write(path: Path, text: bytes, arrays: Mapping[str, Array]) -> None:
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.attrs["format"] = FORMAT
        file.attrs["schema_version"] = SCHEMA_VERSION
        file.attrs["checksum"] = _checksum(text, arrays)
        file.dimensions["document_bytes"] = len(text)
        file.create_variable("document", ("document_bytes",), data=np.frombuffer(text, np.uint8))
        group = file.create_group("arrays")
        for name, array in arrays.items():
            dims = tuple(f"{_LENGTH}{length}" for length in array.shape)
            for dim, length in zip(dims, array.shape, strict=True):
                if dim not in group.dimensions:
                    group.dimensions[dim] = length
            group.create_variable(name, dims, data=array)


def _read(path: Path) -> tuple[bytes, dict[str, Array]]:
    """The document and the arrays of a file whose checksum is right."""
    import h5py

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with h5py.File(path, "r") as file:  # netCDF-4 is HDF5
            attrs = dict(file.attrs)
            if attrs.get("format") != FORMAT:
                raise ModelFileError(
                    f"{str(path)!r} is a netCDF or HDF5 file, but not one that bayesppl's save wrote"
                )
            schema = int(np.ravel(attrs["schema_version"])[0])
            if schema > SCHEMA_VERSION:
                raise ModelFileError(
                    f"{str(path)!r} was written by a newer version of bayesppl (schema {schema}; this is "
                    f"bayesppl {version('bayesppl')}, which reads schemas up to {SCHEMA_VERSION}); upgrade bayesppl to "
                    "read it"
                )
            text = np.asarray(file["document"], np.uint8).tobytes()
            group = file["arrays"]
            arrays = {name: np.asarray(group[name]) for name in group if not name.startswith(_LENGTH)}
            expected = attrs["checksum"]
    except ModelFileError:
        raise
    except Exception as error:  # whatever a damaged file makes of the library
        raise ModelFileError(
            f"{str(path)!r} is not a model file, or it is truncated or damaged ({type(error).__name__}: {error})"
        ) from error
    if _checksum(text, arrays) != expected:
        raise ModelFileError(
            f"{str(path)!r} is damaged or was changed after it was written: its checksum is wrong"
        )
    return text, arrays
