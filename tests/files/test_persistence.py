"""Saving and loading: what comes back is what was saved, and nothing else gets in."""

import dataclasses
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.compose import make_column_selector
from sklearn.datasets import load_iris
from support.examples import EXAMPLES, some_quick

import bayesppl as bp
from bayesppl.files import replacing
from bayesppl.files.saving import SCHEMA, pack, read_provenance, unpack
from bayesppl.files.serialize import Encoder, build, same
from bayesppl.inference import ClosedForm
from bayesppl.model.convergence import diagnose
from bayesppl.model.posterior import DrawsReport
from bayesppl.model.sampled import Sampled

IRIS, SPECIES = load_iris(return_X_y=True)

#: A fit that is none.
FITTED = {"$": "map", "items": []}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.npz"


def saved(clf: Any, path: Path) -> Any:
    clf.save(path)
    return bp.load(path)


@pytest.mark.parametrize("name", some_quick(EXAMPLES))
def test_predictions_come_back_bit_for_bit(name: str, path: Path) -> None:
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family, class_weights=bp.Dirichlet([1.0, 2.0, 3.0])).fit(
        example.X, example.y
    )
    loaded = saved(clf, path)
    for rule in ("predictive", "mean"):
        np.testing.assert_array_equal(
            loaded.predict_joint_log_proba(example.X, rule), clf.predict_joint_log_proba(example.X, rule)
        )
    assert loaded.predict(example.X).tolist() == clf.predict(example.X).tolist()
    xr.testing.assert_identical(loaded.estimates(["mean"]), clf.estimates(["mean"]))
    xr.testing.assert_identical(loaded.log_evidence(), clf.log_evidence())
    permuted = example.X[example.X.columns[::-1]]
    np.testing.assert_allclose(loaded.predict_proba(permuted), clf.predict_proba(example.X), rtol=1e-12)


@pytest.mark.parametrize("name", some_quick(EXAMPLES))
def test_a_loaded_model_goes_on_learning(name: str, path: Path) -> None:
    example = EXAMPLES[name]
    clf = bp.GenerativeClassifier(example.family).fit(example.X, example.y)
    loaded = saved(clf, path)
    for one in (clf, loaded):
        one.partial_fit(example.X, example.y).discount(0.5).forget(example.X[:3], example.y[:3], np.full(3, 0.5))
    np.testing.assert_array_equal(loaded.predict_proba(example.X), clf.predict_proba(example.X))


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "ü", "a"],
        np.array(["a", "b", "a"], dtype=object),
        [3, -1, 3],
        np.array([2**63 + 5, 1, 1], dtype=np.uint64),
        [True, False, True],
        np.array([1.0, 2.0, 1.0]),
        pd.Series(["x", "y", "x"], dtype="category"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("default::DeprecationWarning")
def test_labels_keep_their_type(labels: Any, path: Path) -> None:
    clf = bp.GaussianNB(class_weights="uniform").fit([[0.0], [1.0], [2.0]], labels)
    loaded = saved(clf, path)
    assert loaded.classes_.dtype == clf.classes_.dtype
    assert loaded.classes_.tolist() == clf.classes_.tolist()
    assert loaded.partial_fit([[1.0]], labels[:1]).class_count_.sum() == 4


def test_parameters_come_back(path: Path) -> None:
    clf = bp.QuadraticDiscriminantAnalysis(
        bp.NormalInverseWishart(np.arange(4.0), 0.3, 7.25, np.diag([1.0, 2, 3, 4])),
        class_weights={2: 0.5, 0: 0.25, 1: 0.25},
        rule="map",
        classes=[2, 0, 1],
    ).fit(IRIS, SPECIES)
    loaded = saved(clf, path)
    assert loaded.get_params().keys() == clf.get_params().keys()
    for name, value in clf.get_params().items():
        assert same(loaded.get_params()[name], value)
    assert loaded.rule == "map"
    np.testing.assert_array_equal(loaded.fit(IRIS, SPECIES).predict_proba(IRIS), clf.predict_proba(IRIS))


def test_draws_of_a_sampled_posterior_come_back(path: Path) -> None:
    """Exact draws stand in for those of NUTS: what is saved is the same object."""
    clf = bp.LinearDiscriminantAnalysis(inference=bp.NUTS(draws=50, chains=2)).set_params(inference="closed_form")
    exact = clf.fit(IRIS, SPECIES).posterior_
    draws = exact.draws(2, 50, np.random.default_rng(0))
    report = DrawsReport(
        {"inference": "nuts", "draws": 50}, {"diverging": np.zeros((2, 50), bool)}, diagnose(draws, {}), {}
    )
    sampled = Sampled(exact.model, exact.statistics, exact.prior, draws, report)
    clf._adopt(dataclasses.replace(clf.fitted_, inferred=sampled))
    clf.set_params(inference=bp.NUTS(draws=50, chains=2, options={"adaptation": "low_rank"}))
    loaded = saved(clf, path)
    assert loaded.posterior_.record == clf.posterior_.record
    assert loaded.inference == clf.inference
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), clf.predict_proba(IRIS))
    xr.testing.assert_identical(loaded.to_datatree().to_dataset(), clf.to_datatree().to_dataset())
    assert loaded.posterior_.sample_stats["diverging"].dtype == bool


def test_an_undetermined_posterior_waits_in_the_file_too(path: Path) -> None:
    clf = bp.GaussianNB("jeffreys").partial_fit(IRIS[:1], [0], classes=[0, 1, 2])
    loaded = saved(clf, path)
    with pytest.raises(bp.ImproperError):
        loaded.predict(IRIS)
    np.testing.assert_allclose(
        loaded.partial_fit(IRIS[1:], SPECIES[1:]).predict_proba(IRIS),
        bp.GaussianNB("jeffreys").fit(IRIS, SPECIES).predict_proba(IRIS),
    )


def test_numpy_can_look_inside(path: Path) -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.save(path)
    with np.load(path, allow_pickle=False) as archive:
        document = json.loads(archive["document.json"])
        name = next(name for name in archive.files if name.endswith("class_weights.counts"))
        np.testing.assert_array_equal(archive[name], clf.class_count_)
    assert document["format"] == "bayesppl model"
    assert document["estimator"] == "GaussianNB"
    assert document["provenance"]["bayesppl_version"] == bp.__version__


@pytest.mark.parametrize("name", ["model", "model.nc", "model.bayes", "model.with.dots"])
def test_the_name_of_a_file_is_free(name: str, tmp_path: Path) -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.save(tmp_path / name)
    clf.save(str(tmp_path / name))
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    np.testing.assert_array_equal(bp.load(tmp_path / name).predict_proba(IRIS), clf.predict_proba(IRIS))


def test_the_same_model_makes_the_same_file(path: Path) -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.save(path)
    first = path.read_bytes()
    bp.load(path).save(path)
    assert path.read_bytes() == first


def test_arrays_come_back_as_they_lie_in_memory(path: Path) -> None:
    arrays = {
        "transposed": np.arange(6.0).reshape(2, 3).T,
        "strided": np.arange(24.0).reshape(4, 6)[::2, ::3],
        "reversed": np.arange(5)[::-1],
        "scalar": np.array(3.0),
        "empty": np.zeros((3, 0)),
        "bits": np.array([[True], [False]]),
        "text": np.array(["ü", ""]),
        "big": np.arange(3.0, dtype=">f8"),
    }
    path.write_bytes(pack({}, arrays))
    _, found = unpack(path)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array, strict=True)
        assert found[name].flags.writeable
    assert found["transposed"].flags.f_contiguous


@pytest.mark.parametrize("keep", [0, 10, 100, 2000, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(keep: float, path: Path) -> None:
    bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep >= 1 or keep == 0 else keep * len(content))])
    with pytest.raises(bp.ModelFileError, match="truncated or damaged"):
        bp.load(path)


def test_what_is_no_archive_is_refused_without_a_word_about_pickles(path: Path) -> None:
    path.write_text("length,width,kind\n1,2,a\n")
    with pytest.raises(bp.ModelFileError, match=r"it is no \.npz archive") as refused:
        bp.load(path)
    assert "pickle" not in str(refused.value)


def test_no_flipped_bit_changes_an_answer(path: Path) -> None:
    """Almost all are refused; some are in what zip states twice, or in times that nobody reads."""
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.save(path)
    content, expected, origin = path.read_bytes(), clf.predict_joint_log_proba(IRIS), clf.provenance()
    n_read = 0
    rng = np.random.default_rng(0)
    for at in [*rng.choice(len(content), 250, replace=False), *range(len(content) - 100, len(content))]:
        changed = bytearray(content)
        changed[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        try:
            loaded, found = bp.load(path), read_provenance(path)
        except bp.ModelFileError:
            continue
        n_read += 1
        np.testing.assert_array_equal(loaded.predict_joint_log_proba(IRIS), expected)
        assert found == origin
    assert n_read < 70  # of 350


def test_tampered_numbers_are_refused(path: Path) -> None:
    bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    content = bytearray(path.read_bytes())
    at = content.index(np.full(3, 50.0).tobytes())
    content[at + 6] ^= 1
    path.write_bytes(content)
    with pytest.raises(bp.ModelFileError, match=r"damaged: .*CRC"):
        bp.load(path)


def test_foreign_files_are_refused(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file"):
        bp.load(path)
    path.write_text("height,width\n1,2\n")
    with pytest.raises(bp.ModelFileError, match="not a model file"):
        bp.load(path)
    xr.Dataset({"x": ("row", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(bp.ModelFileError, match="not a model file that bayesppl"):
        bp.load(path)
    np.savez(path, x=[1.0, 2.0])
    with pytest.raises(bp.ModelFileError, match="not a model file that bayesppl"):
        bp.load(path)
    path.write_bytes(pack({"format": "another"}, {}))
    with pytest.raises(bp.ModelFileError, match="it is of the format 'another'"):
        bp.load(path)


def test_newer_files_are_refused(path: Path) -> None:
    bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    document, _ = unpack(path)
    for schema, age in ((SCHEMA + 1, "a newer version"), (1, "an older version")):
        path.write_bytes(pack({**document, "schema": schema}, {}))
        with pytest.raises(bp.ModelFileError, match=age):
            bp.load(path)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("os.system", {"$": "map", "items": []}),
        ("GenerativeClassifier", {"$": "map", "items": [["family", {"$": "Popen", "fields": {"args": "true"}}]]}),
        ("GaussianNB", {"$": "map", "items": [["prior", {"$": "Gaussian", "fields": {}}]]}),
        ("GaussianNB", {"$": "map", "items": [["no such parameter", 1]]}),
        ("GaussianNB", {"$": "map"}),
        ("GaussianNB", {}),
        ("GaussianNB", None),
    ],
)
def test_a_forged_file_can_build_nothing_else(estimator: str, parameters: Any, path: Path) -> None:
    path.write_bytes(pack({"estimator": estimator, "parameters": parameters, "fitted": FITTED}, {}))
    with pytest.raises(bp.ModelFileError, match="cannot build"):
        bp.load(path)


def test_what_cannot_be_stored_is_refused_by_name(path: Path) -> None:
    class OwnClosedForm(ClosedForm):
        pass

    clf = bp.GaussianNB(inference=OwnClosedForm()).fit(IRIS, SPECIES)
    with pytest.raises(TypeError, match=r"parameters.inference is a .*OwnClosedForm"):
        clf.save(path)

    class OwnNB(bp.GaussianNB):
        pass

    with pytest.raises(TypeError, match=r"OwnNB is not an estimator of bayesppl"):
        OwnNB().fit(IRIS, SPECIES).save(path)
    with pytest.raises(ValueError, match="not fitted"):
        bp.GaussianNB().save(path)
    assert not path.exists()


def test_a_failed_save_leaves_the_file_before_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clf = bp.GaussianNB().fit(IRIS, SPECIES)
    clf.save(path)
    before = path.read_bytes()

    def interrupted(work: Path, content: bytes) -> None:
        work.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(IRIS, SPECIES).save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["model.npz"]


def test_a_file_that_cannot_be_written_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(work: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*model\.npz'"):
        bp.GaussianNB().fit(IRIS, SPECIES).save(path)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    "name", ["os:path", "subprocess:Popen", "dataclasses:dataclass", "sys:modules", ":", "a:b.c"]
)
def test_no_other_class_is_built(name: str) -> None:
    with pytest.raises(TypeError, match="there is no class"):
        build({"$": name, "fields": {}}, {})


def test_classes_in_files_have_names_of_their_own() -> None:
    found: dict[str, type] = {}
    for module in [module for name, module in sys.modules.items() if name.startswith("bayesppl.")]:
        for cls in [c for c in vars(module).values() if isinstance(c, type) and dataclasses.is_dataclass(c)]:
            if cls.__module__.split(".")[1] in ("conjugate", "data", "families", "inference", "kernels", "model"):
                assert found.setdefault(cls.__name__, cls) is cls


OWN = """
from dataclasses import dataclass
import bayesppl as bp

@dataclass(frozen=True, eq=False)
class OwnPoisson(bp.Poisson):
    scale: float = 1.0
"""

ANOTHER_PROCESS = """
import json, pathlib, sys
import bayesppl as bp

folder = pathlib.Path(sys.argv[1])
found = {"loaded": [bp.load(path).classes_.tolist() for path in (folder / "models").iterdir()]}
found["pymc"] = "pymc" in sys.modules
sys.path.insert(0, str(folder))
try:
    bp.load(folder / "own")
except bp.ModelFileError as error:
    found["refusal"] = str(error)
found["imported"] = "own_family" in sys.modules
import own_family
own = bp.load(folder / "own")
found["own"] = own.predict_proba([[1.0], [7.0]]).ravel().tolist()
found["errors"] = []
if sys.platform != "win32":
    import resource
    for room in (0, 100, 2000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        for name in ("new", "old"):
            try:
                own.save(folder / "full" / name)
            except OSError as error:
                found["errors"].append(str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
own.save(folder / "full" / "afterwards")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, dict[str, Any]]:
    """What a process found that has fitted nothing: the folder of its files, the fit of a user's family, and its
    findings."""
    folder = tmp_path_factory.mktemp("another")
    (folder / "models").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "old").write_bytes(b"before")
    (folder / "own_family.py").write_text(OWN)
    for k, example in enumerate(EXAMPLES.values()):
        bp.GenerativeClassifier(example.family).fit(example.X, example.y).save(folder / "models" / str(k))
    for name, inference in {
        "nuts": bp.NUTS(),
        "advi": bp.ADVI(),
        "smc": bp.SMC(),
        "laplace": bp.Laplace(),
    }.items():
        bp.GaussianNB().fit(IRIS, SPECIES).set_params(inference=inference).save(folder / "models" / name)
    bp.AutoClassifier().fit(IRIS, SPECIES).save(folder / "models" / "auto")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        import own_family  # type: ignore[import-not-found]

        clf = bp.GenerativeClassifier(own_family.OwnPoisson(scale=2.0))
        clf.fit([[1.0], [2.0], [8.0], [9.0]], list("aabb")).save(folder / "own")
        assert bp.load(folder / "own").family.scale == 2.0
    command = [sys.executable, "-c", ANOTHER_PROCESS, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder, clf, json.loads(done.stdout)


def test_every_model_is_loaded_by_a_process_that_has_fitted_none(another: Any) -> None:
    _, _, found = another
    assert len(found["loaded"]) == len(EXAMPLES) + 5
    assert not found["pymc"]


def test_a_family_of_a_user_is_loaded_if_it_is_imported(another: Any) -> None:
    _, clf, found = another
    assert "'own_family:OwnPoisson' here; import the module that defines it" in found["refusal"]
    assert not found["imported"]
    assert found["own"] == clf.predict_proba([[1.0], [7.0]]).ravel().tolist()


@pytest.mark.skipif(sys.platform == "win32", reason="limits are those of POSIX")
def test_a_limit_of_the_size_of_files_is_an_error_that_names_the_file(another: Any) -> None:
    """As a full disk is; the process survives it."""
    full = another[0] / "full"
    assert another[2]["errors"] == 3 * [
        f"[Errno 27] File too large: {str(full / name)!r}" for name in ("new", "old")
    ]
    assert {entry.name for entry in full.iterdir()} == {"old", "afterwards"}
    assert (full / "old").read_bytes() == b"before"


def test_files_get_the_usual_permissions_and_folders_must_exist(tmp_path: Path) -> None:
    plain, careful = tmp_path / "plain", tmp_path / "careful"
    plain.write_text("x")
    with replacing(careful) as work:
        work.write_text("x")
    assert plain.stat().st_mode == careful.stat().st_mode
    with pytest.raises(FileNotFoundError, match="create it first"), replacing(tmp_path / "absent" / "file"):
        pass


def test_spelling_is_reversible() -> None:
    value = {
        "nothing": None,
        3: (1, [2.5, "x"], {"deep": np.float32(0.1)}),
        "limits": [np.inf, -0.0, 5e-324, 2**70],
        "arrays": (np.eye(2)[::-1], np.zeros((2, 0)), np.array(3.0), np.array([[True], [False]])),
        "numbers": [np.float64(0.1), np.int8(-3), np.bool_(True), np.float32(1) / 3],
        "labels": np.array([["ü", ""]]),
    }
    encoder = Encoder()
    spelt = json.loads(json.dumps(encoder.spell(value, "value")))
    assert same(build(spelt, encoder.arrays), value)
    assert not same(build(spelt, encoder.arrays), {**value, "nothing": False})
    assert build(spelt, encoder.arrays)["numbers"][3].dtype == np.float32
    assert np.signbit(build(spelt, encoder.arrays)["limits"][1])


def test_one_array_in_several_places_is_stored_once() -> None:
    shared = np.arange(5.0)
    encoder = Encoder()
    encoder.spell([shared, shared, shared.copy()], "value")
    assert len(encoder.arrays) == 2


@dataclasses.dataclass(frozen=True)
class Beta:
    """Not the one of this package."""

    alpha: float = 1.0


def test_a_class_of_the_same_name_is_another_class() -> None:
    with pytest.raises(TypeError, match="cannot be stored"):
        Encoder().spell(Beta(), "value")


def test_labels_that_are_dates_are_refused_with_the_remedy(tmp_path):
    X, days = np.arange(6.0)[:, None], pd.to_datetime(["2020-01-01", "2020-01-02"] * 3)
    for labels in (days, days.date):
        with pytest.raises(TypeError, match=r"fitted\.learned\.classes.* fit to (its )?text"):
            bp.GaussianNB().fit(X, labels).save(tmp_path / "days.npz")
    assert not list(tmp_path.iterdir())
    bp.GaussianNB().fit(X, days.astype(str)).save(tmp_path / "days.npz")


@pytest.mark.parametrize("calibration", [None, "temperature"])
@pytest.mark.parametrize("tuning", ["evidence", "loo"])
def test_a_tuned_model_comes_back_bit_for_bit(tuning: Any, calibration: Any, path: Path) -> None:
    clf = bp.GaussianNB(tuning=tuning, calibration=calibration).fit(IRIS, SPECIES)
    loaded = saved(clf, path)
    np.testing.assert_array_equal(loaded.predict_proba(IRIS), clf.predict_proba(IRIS))
    xr.testing.assert_identical(loaded.log_evidence(), clf.log_evidence())
    assert loaded.tuning_.equals(clf.tuning_)


@pytest.mark.parametrize("given", [None, 7, io.BytesIO(), b"model.npz"])
def test_what_is_no_path_is_refused(given: Any) -> None:
    clf = bp.GaussianNB().fit([[0.0], [1.0], [4.0], [5.5]], list("aabb"))
    for use in (clf.save, bp.load):
        with pytest.raises(TypeError, match=r"a file is named by its path, text or a pathlib\.Path; found"):
            use(given)


@pytest.mark.parametrize("levels", [np.array(["u", "v"]), pd.Index(["u", "v"]), pd.Series(["u", "v"]).unique()])
@pytest.mark.parametrize("make", [bp.CategoricalNB, bp.TreeNB])
def test_levels_of_all_columns_in_an_array_are_loaded(make: Any, levels: Any, path: Path) -> None:
    X, y = [["u"], ["v"], ["u"], ["v"]], list("abab")
    expected = make(levels=["u", "v"]).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(saved(make(levels=levels).fit(X, y), path).predict_proba(X), expected)


def test_loaded_fits_with_levels_in_arrays_merge(path: Path) -> None:
    X, y = [["u"], ["v"], ["u"], ["v"]], list("abab")
    clf = bp.CategoricalNB(levels={"x0": np.array(["u", "v"])}).fit(X, y)
    loaded = saved(clf, path)
    for one, other in ((loaded, clf), (clf, loaded), (loaded, loaded)):
        assert (one + other).class_count_.tolist() == [4.0, 4.0]
    with pytest.raises(ValueError, match="different models"):
        loaded + bp.CategoricalNB(levels={"x0": np.array(["u", "w"])}).fit([["u"], ["w"]], list("ab"))


def test_a_selector_of_columns_is_not_stored(path: Path) -> None:
    X = pd.DataFrame({"size": [0.0, 1.0, 3.0, 4.0], "kind": list("uvuv")})
    numbers = make_column_selector(dtype_include="number")
    blocks = {"sizes": (numbers, bp.Gaussian("diag")), "kinds": (["kind"], bp.Categorical())}
    clf = bp.MixedNB(blocks).fit(X, list("aabb"))
    loaded = saved(clf, path)
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    with pytest.raises(TypeError, match=r"by the function make_column_selector, .*set_params\(blocks=…\)"):
        loaded.fit(X, list("aabb"))
    named = {name: (columns, family) for name, (columns, family) in loaded.families_.items()}
    again = loaded.set_params(blocks=named).fit(X, list("aabb"))
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X))


GAPPY = np.where(np.arange(600).reshape(150, 4) % 29 == 1, np.nan, IRIS)
IN_DOUBT = np.where(np.arange(150)[:, None] % 10 == 0, [0.5, 0.3, 0.2], np.eye(3)[SPECIES])


@pytest.mark.parametrize(
    ("clf", "X", "y"),
    [
        (bp.LinearDiscriminantAnalysis(inference="em"), GAPPY, SPECIES),
        (
            bp.QuadraticDiscriminantAnalysis(inference=bp.Gibbs(draws=60, tune=5, chains=1, random_state=0)),
            GAPPY,
            SPECIES,
        ),
        (bp.GaussianNB(inference="em", classes=[0, 1, 2]), IRIS, IN_DOUBT),
    ],
    ids=["gaps", "gaps, draws", "labels in doubt"],
)
@pytest.mark.filterwarnings("ignore::bayesppl.ConvergenceWarning")  # of few draws
def test_rows_partly_known_are_passed_again(clf, X, y, path: Path) -> None:
    clf.fit(X, y)
    expected = clf.loo()
    for fit in (clf, saved(clf, path)):
        found = fit.loo(X, y)
        assert found.log_score == expected.log_score
        np.testing.assert_array_equal(found.log_proba, expected.log_proba)
    with pytest.raises(ValueError, match="these are not the rows of the fit"):
        clf.loo(IRIS + 1, y)


def test_a_loaded_mixture_has_no_rows_to_leave_out(path: Path) -> None:
    clf = bp.GenerativeClassifier(bp.Mixture(bp.Gaussian("diag"), 2), inference="em").fit(IRIS, SPECIES)
    for ask in (clf.loo, saved(clf, path).loo, lambda: bp.load(path).loo(IRIS, SPECIES)):
        with pytest.raises(bp.NotConjugateError, match="every row of the fit is known only in part"):
            ask()
