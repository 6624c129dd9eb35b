"""Files that somebody damaged or made up: every one is refused as no model file, soon and in little memory."""

import copy
import hashlib
import json
import random
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.files import container
from bayesppl.files.saving import read_provenance

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.nc"


def saved(clf: Any, path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of a saved fit."""
    clf.save(path)
    text, arrays = container.read(path)
    return json.loads(text), arrays


def sealed(path: Path, body: bytes, index: Any) -> None:
    """A file with any content and index, whose checksum is right."""
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    head = struct.pack("<16sQQ", b"bayesppl model\r\n", container.SCHEMA_VERSION, len(text))
    content = body + text + head
    path.write_bytes(content + hashlib.sha256(content).digest())


def written(path: Path, document: Any, arrays: dict[str, np.ndarray]) -> None:
    """A file of any document, in JSON unless it is text."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    body, index = text, {"": [0, "|u1", [len(text)]]}
    for name, array in arrays.items():
        index[name] = [len(body), array.dtype.str, list(array.shape)]
        body += array.tobytes()
    sealed(path, body, index)


def refused(path: Path) -> None:
    for read in (bp.load, read_provenance):
        with pytest.raises(bp.ModelFileError):
            read(path)


DAMAGE = """
import resource, sys, time
import numpy as np
import bayesppl as bp

resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
path = sys.argv[1]
content = open(path, "rb").read()
rng = np.random.default_rng(0)
bp.load(path)
for trial in range(200):
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(changed)))
        match int(rng.integers(3)):
            case 0:
                changed[at] ^= 1 << int(rng.integers(8))
            case 1:
                del changed[at:]
                changed += b"\\0"
            case 2:
                changed[at:at] = rng.bytes(int(rng.integers(1, 9)))
    open(path, "wb").write(changed)
    try:
        bp.load(path)
    except bp.ModelFileError:
        continue
    sys.exit(f"trial {trial} was read")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_damaged_files_are_refused_in_time(path: Path) -> None:
    """In a process of its own, for a library that hangs cannot be interrupted."""
    bp.QuadraticDiscriminantAnalysis().fit(IRIS, SPECIES).save(path)
    done = subprocess.run([sys.executable, "-c", DAMAGE, str(path)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_what_a_netcdf_library_would_expand_is_not_touched(path: Path) -> None:
    """Compressed, external and virtual arrays are nothing that an index can name; only the bytes of the file are."""
    with h5py.File(path, "w") as file:
        file.create_dataset("document", data=np.zeros(1 << 22, np.uint8), compression="gzip", chunks=(1 << 20,))
        file.create_dataset("far", shape=(1 << 20,), dtype="u1", external=[("/etc/passwd", 0, 1 << 20)])
    refused(path)
    sealed(path, path.read_bytes(), {"": [0, "|u1", [1 << 22]]})  # an array larger than the file
    refused(path)


@pytest.mark.parametrize(
    "index",
    [
        {},
        [],
        None,
        b"\xff",
        b"[" * 100_000,
        b'{"": ' + b"9" * 5000 + b"}",
        {"": [0, "|u1", [1 << 61]]},
        {"": [-1, "|u1", [2]]},
        {"": [0, "|u1", [-1]]},
        {"": [0, "|u1", [2.0]]},
        {"": [0, "|u1", [True]]},
        {"": [0, "|O", [2]]},
        {"": [0, "<U9", [2]]},
        {"": [0, "|u1", [2], 4]},
        {"": [0, "|u1", [1] * 65]},
        {"": [0, "|u1", [2]], "a": [1, "|u1", [2]]},
        {"": [0, "|u1", [100]]},
        {"": [0, "|u1", [0, 1 << 61, 1 << 61]]},
        {"": [0, "|u1", [2]]},
    ],
    ids=lambda index: repr(index)[:40],
)
def test_a_made_up_index_is_refused(index: Any, path: Path) -> None:
    sealed(path, b"{}", index)
    refused(path)


def test_an_index_that_begins_before_the_file_is_refused(path: Path) -> None:
    head = struct.pack("<16sQQ", b"bayesppl model\r\n", container.SCHEMA_VERSION, 1 << 63)
    path.write_bytes(head + hashlib.sha256(head).digest())
    refused(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "[" * 200_000,
        '{"a":' * 100_000,
        '{"provenance": 3, "estimator": "GaussianNB", "parameters": {"$": "map", "items": []}}',
        "9" * 10_000,
        "\udcff",
    ],
    ids=lambda text: text[:12],
)
def test_a_made_up_document_is_refused(text: str, path: Path) -> None:
    written(path, text.encode("utf-8", "surrogatepass"), {})
    refused(path)


@pytest.mark.parametrize(
    "hostile",
    [
        {"$": "array", "dtype": "<U1000000000", "shape": [1000], "items": [""] * 1000},
        {"$": "array", "dtype": "|O", "shape": [-1], "items": {"$": "number", "dtype": "int8", "value": 3}},
        {"$": "array", "dtype": "float64", "shape": [1], "order": "Z", "name": "fitted.learned.classes"},
        {"$": "number", "dtype": "int8", "value": 1 << 80},
        {"$": "number", "dtype": "float64", "value": []},
        {"$": "map", "items": [[{"$": "map", "items": []}, 1]]},
        {"$": "map", "items": []},
        {"$": "tuple", "items": []},
        {"$": "Fitted", "fields": {}},
        {"$": "Learned", "fields": {}},
        {"$": []},
        {},
        [],
        "",
        None,
        1e400,
    ],
    ids=lambda value: repr(value)[:40],
)
def test_state_of_the_wrong_type_is_refused_wherever_it_stands(hostile: Any, path: Path) -> None:
    document, arrays = saved(bp.GaussianNB().fit(IRIS, SPECIES), path)
    fields = document["fitted"]["fields"]
    for holder, key in (
        (document, "fitted"),
        (document, "parameters"),
        (document, "estimator"),
        (fields, "learned"),
        (fields["learned"]["fields"], "classes"),
        (fields["learned"]["fields"], "model"),
        (fields["learned"]["fields"], "statistics"),
    ):
        if (holder[key], hostile) == (document["parameters"], {"$": "map", "items": []}):
            continue
        if key == "parameters" and hostile == {"$": "map", "items": []}:
            continue  # an estimator of default parameters
        kept, holder[key] = holder[key], hostile
        written(path, document, arrays)
        holder[key] = kept
        with pytest.raises(bp.ModelFileError, match="cannot build"):
            bp.load(path)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a document with every key into it."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [pair for key in keys for pair in places(value[key])]


@pytest.mark.parametrize(
    "clf",
    [bp.GaussianNB(), bp.LinearDiscriminantAnalysis(), bp.MixedNB(), bp.PoissonNB()],
    ids=lambda clf: type(clf).__name__,
)
def test_whatever_stands_in_a_document_gives_a_model_or_a_refusal(clf: Any, path: Path) -> None:
    """Values of a document are exchanged for others; what is read nevertheless predicts, or refuses in words."""
    X = np.rint(IRIS)
    document, arrays = saved(clf.fit(X, SPECIES), path)
    rng = random.Random(0)
    strange = [
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        float("nan"),
        "",
        "x" * 50,
        [],
        {},
        [[]],
        {"$": "tuple", "items": []},
    ]
    for _ in range(100):
        mutant = copy.deepcopy(document)
        spots = places(mutant)
        holder, key = rng.choice(spots)
        other, source = rng.choice(spots)
        holder[key] = rng.choice([rng.choice(strange), copy.deepcopy(other[source])])
        written(path, mutant, arrays)
        try:
            loaded = bp.load(path)
        except bp.ModelFileError:
            continue
        with suppress(ValueError):
            assert loaded.predict(X[:3]).shape == (3,)
