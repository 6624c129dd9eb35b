"""Files that somebody damaged or made up: every one is refused as no model file, soon and in little memory."""

import copy
import pickle
import random
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.files.saving import pack, read_provenance, unpack

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


def saved(clf: Any, path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of a saved fit."""
    clf.save(path)
    return unpack(path)


def archived(path: Path, members: dict[str, bytes], **options: Any) -> None:
    """A zip archive of any members, whose checksums are right."""
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def members_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def refused(path: Path) -> None:
    for read in (bp.load, read_provenance):
        with pytest.raises(bp.ModelFileError):
            read(path)


DAMAGE = """
import resource, sys
import numpy as np
import bayesppl as bp
from sklearn.datasets import load_iris

resource.setrlimit(resource.RLIMIT_CPU, (100, 100))
path = sys.argv[1]
content = open(path, "rb").read()
rng = np.random.default_rng(0)
rows = load_iris().data[::10]
expected = bp.load(path).predict_joint_log_proba(rows)
refused = 0
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
        found = bp.load(path)
    except bp.ModelFileError:
        refused += 1
    else:
        assert (found.predict_joint_log_proba(rows) == expected).all(), trial
print(refused)
"""


def test_damaged_files_are_refused_in_time(path: Path) -> None:
    """In a process of its own, for a library that hangs cannot be interrupted."""
    bp.QuadraticDiscriminantAnalysis().fit(IRIS, SPECIES).save(path)
    done = subprocess.run([sys.executable, "-c", DAMAGE, str(path)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 150


def test_compressed_members_are_not_expanded(path: Path) -> None:
    bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    members = members_of(path)
    archived(path, members)
    bp.load(path)
    archived(path, members, compression=zipfile.ZIP_DEFLATED)
    refused(path)


def test_pickles_are_not_opened(path: Path) -> None:
    bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    members = members_of(path)
    name = next(name for name in members if name.endswith(".npy"))
    archived(path, {**members, name: pickle.dumps(np.zeros(3))})
    refused(path)
    path.write_bytes(pickle.dumps(bp.GaussianNB()))
    refused(path)


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        ("<f8", [3]),
        ("<f8", [1 << 61]),
        ("<f8", [-2]),
        ("<f8", [2.0]),
        ("<f8", [1] * 65 + [2]),
        ("<f8", [0, 1 << 61, 1 << 61]),
        ("<f8", None),
        ("|O", [2]),
        ("<U2", [3]),
        ("<M8[s]", [2]),
        ("|V8", [2]),
        ([("a", "<f8")], [2]),
        ("no such type", [2]),
        (None, [2]),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_made_up_types_and_shapes_are_refused(descr: Any, shape: Any, path: Path) -> None:
    path.write_bytes(pack({}, {"a": np.zeros(2)}))
    members = members_of(path)
    dims = tuple(shape) if shape is not None else None
    header = repr({"descr": descr, "fortran_order": False, "shape": dims}).encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.zeros(2).tobytes()
    archived(path, {**members, "a.npy": content})
    refused(path)


def test_members_that_are_no_arrays_are_refused(path: Path) -> None:
    path.write_bytes(pack({}, {"a": np.zeros(2)}))
    archived(path, {**members_of(path), "b.npy": b"no array"})
    refused(path)


def test_a_member_that_claims_to_be_larger_than_the_file_is_refused(path: Path) -> None:
    """Before room is made for it."""
    path.write_bytes(pack({}, {"a": np.zeros(2)}))
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")  # of the last member in the directory: its two sizes
    content[entry + 20 : entry + 28] = (0x7FFF_FFFF).to_bytes(4, "little") * 2
    path.write_bytes(content)
    with pytest.raises(bp.ModelFileError, match="larger than the file"):
        bp.load(path)


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
    archived(path, {"document.json": text.encode("utf-8", "surrogatepass")})
    refused(path)


@pytest.mark.parametrize(
    "hostile",
    [
        {"$": "array", "name": "no such array"},
        {"$": "array", "name": []},
        {"$": "labels", "items": {"$": "number", "dtype": "int8", "value": 3}},
        {"$": "labels", "items": [[]]},
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
        path.write_bytes(pack(document, arrays))
        holder[key] = kept
        with pytest.raises(bp.ModelFileError, match="cannot build"):
            bp.load(path)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a document with every key into it."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [pair for key in keys for pair in places(value[key])]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesppl.errors.ImpossibleRowWarning")  # of a number that was exchanged
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
        path.write_bytes(pack(mutant, arrays))
        try:
            loaded = bp.load(path)
        except bp.ModelFileError:
            continue
        with suppress(ValueError):
            assert loaded.predict(X[:3]).shape == (3,)


@pytest.mark.parametrize("place", ["location", "kappa", "counts"])
def test_numbers_must_be_numbers(place: str, path: Path) -> None:
    document, arrays = saved(bp.GaussianNB().fit(IRIS, SPECIES), path)
    name = next(name for name in arrays if name.endswith(place))
    for text in (arrays[name].astype(str), arrays[name].astype(str).astype("U1000")):
        path.write_bytes(pack(document, {**arrays, name: text}))
        with pytest.raises(bp.ModelFileError, match="must be numbers"):
            bp.load(path)
