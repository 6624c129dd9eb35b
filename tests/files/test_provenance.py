"""Where a result comes from: the same rows have one fingerprint, others another; every file has the record."""

import hashlib
import json
from importlib.metadata import version

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.cli import main
from bayesppl.conjugate import Joint
from bayesppl.conjugate.declare import Direct
from bayesppl.files.provenance import in_words, prior_in_words
from bayesppl.files.saving import read_provenance

X, Y = load_iris(return_X_y=True)
MIXED = pd.DataFrame({"width": X[:, 0], "colour": np.where(X[:, 1] > 3, "red", "blue"), "round": X[:, 2] > 4})


def data_hash(clf, X, y=Y, **options):
    return clf.fit(X, y, **options).provenance()["data_hash"]


class TestFingerprint:
    @pytest.mark.parametrize(
        "same",
        [
            np.asfortranarray(X),
            X[::-1][::-1],
            X.astype(">f8"),
            X.tolist(),
            pd.DataFrame(X).to_numpy(),
        ],
        ids=["Fortran order", "strides", "byte order", "lists", "frame"],
    )
    def test_is_of_the_numbers_not_of_their_container(self, same):
        assert data_hash(bp.GaussianNB(), same) == data_hash(bp.GaussianNB(), X)

    def test_is_the_same_for_pandas_and_polars(self):
        frames = MIXED, pl.from_pandas(MIXED), MIXED.astype({"colour": "category"})
        assert len({data_hash(bp.MixedNB(), frame) for frame in frames}) == 1

    def test_is_the_same_for_whole_numbers_of_any_type(self):
        counts = np.rint(X).astype(int)
        found = {data_hash(bp.PoissonNB(), counts.astype(dtype)) for dtype in (int, np.uint8, np.float32, float)}
        assert len(found) == 1

    def test_is_the_same_for_sparse_rows_however_they_are_stored(self):
        counts = csr_array(np.rint(X) % 3)
        unsorted = csr_array(
            (
                counts.data[::-1].copy(),
                counts.indices[::-1].copy(),
                np.r_[0, np.cumsum(np.diff(counts.indptr)[::-1])],
            )
        )[::-1]
        with_zeros = counts.copy()
        with_zeros.data = np.where(np.arange(len(counts.data)) == 0, 0, counts.data)
        without = csr_array(with_zeros.toarray())
        assert data_hash(bp.MultinomialNB(), csc_array(counts)) == data_hash(bp.MultinomialNB(), counts)
        np.testing.assert_array_equal(unsorted.toarray(), counts.toarray())
        assert data_hash(bp.MultinomialNB(), unsorted) == data_hash(bp.MultinomialNB(), counts)
        assert data_hash(bp.MultinomialNB(), with_zeros) == data_hash(bp.MultinomialNB(), without)
        assert data_hash(bp.MultinomialNB(), without) != data_hash(bp.MultinomialNB(), counts)

    def test_zeros_and_gaps_have_one_sign(self):
        gaps = np.where(X > 6, np.nan, np.where(X < 0.3, 0.0, X))
        other = np.where(X > 6, -np.nan, np.where(X < 0.3, -0.0, X))
        assert data_hash(bp.GaussianNB(), gaps) == data_hash(bp.GaussianNB(), other)
        assert data_hash(bp.GaussianNB(), gaps) != data_hash(bp.GaussianNB(), np.nan_to_num(gaps))

    def test_tells_rows_order_labels_names_and_weights_apart(self):
        changed = X.copy()
        changed[77, 2] += 1e-12
        permuted, frame = np.random.default_rng(0).permutation(150), pd.DataFrame(X, columns=list("abcd"))
        labels = np.where(Y == 0, 1, np.where(Y == 1, 0, Y))
        hashes = [
            data_hash(bp.GaussianNB(), X),
            data_hash(bp.GaussianNB(), changed),
            data_hash(bp.GaussianNB(), X[permuted], Y[permuted]),
            data_hash(bp.GaussianNB(), frame),
            data_hash(bp.GaussianNB(), frame.rename(columns={"a": "e"})),
            data_hash(bp.GaussianNB(), X, labels),
            data_hash(bp.GaussianNB(), X, np.array(["u", "v", "w"])[Y]),
            data_hash(bp.GaussianNB(), X, sample_weight=1.0 + (Y == 0)),
        ]
        assert len(set(hashes)) == len(hashes)

    def test_the_number_of_each_row_counts_too(self):
        frame = pd.DataFrame({"events": np.rint(X[:, 0]), "years": 1.0 + X[:, 3]})
        one = data_hash(bp.PoissonNB(exposure="years"), frame)
        assert one != data_hash(bp.PoissonNB(exposure="years"), frame.assign(years=2.0))

    def test_is_of_all_cells_in_sequence(self):
        """However many rows are hashed at a time: here more than fit into one block."""
        rows, labels = np.random.default_rng(0).normal(size=(90_000, 4)), np.arange(90_000) % 2
        names = "{'class': ['0', '1'], 'feature': ['x0', 'x1', 'x2', 'x3']}['x0', 'x1', 'x2', 'x3'] (90000, 4)"
        numbers = [rows, labels.astype(float), np.ones(90_000)]
        expected = hashlib.sha256(names.encode() + b"".join(part.tobytes() for part in numbers))
        assert data_hash(bp.GaussianNB(), rows, labels) == expected.hexdigest()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("declare", "cell", "label"),
        [
            (lambda: bp.LinearDiscriminantAnalysis(inference="em"), np.nan, "setosa"),
            (lambda: bp.GaussianNB(inference="em", unlabelled="learn"), 3.0, None),
            (lambda: bp.GaussianNB(inference="em", label_noise=bp.LabelNoise()), 3.0, "setosa"),
            (lambda: bp.GenerativeClassifier(bp.Mixture(bp.Gaussian(), 2), inference="em"), 3.0, "setosa"),
        ],
        ids=["gap", "no label", "labels in doubt", "mixture"],
    )
    def test_is_of_rows_partly_known_too(self, declare, cell, label):
        rows, labels = X[::5].copy(), np.array(["setosa", "versicolor", "virginica"], dtype=object)[Y[::5]]
        rows[3, 0], labels[3] = cell, label
        other, relabelled = rows.copy(), labels.copy()
        other[3, 1] += 1.0
        relabelled[[0, -1]] = relabelled[[-1, 0]]
        clf = declare().fit(rows, labels)
        found = [data_hash(declare(), *given) for given in ((rows, labels), (other, labels), (rows, relabelled))]
        assert len(set(found)) == 3
        rows[3, 1] += 1.0  # of which the fit holds a copy
        assert clf.provenance()["data_hash"] == found[0]
        assert clf.provenance()["data_rows"] == len(rows)

    def test_is_of_the_labels_of_annotators(self):
        labels = np.random.default_rng(0).integers(0, 2, (30, 3))
        fits = [bp.dawid_skene(given, inference="em") for given in (labels, 1 - labels, labels[::-1])]
        assert len({clf.provenance()["data_hash"] for clf in fits}) == 3

    def test_says_what_it_is_of(self):
        found = bp.MixedNB().fit(MIXED, Y).provenance()
        assert found["data_rows"] == 150
        assert found["data_columns"] == 3
        assert "float64" in found["data_dtypes"]

    def test_rows_that_were_not_held_have_none(self):
        streamed = bp.GaussianNB().partial_fit(X[:80], Y[:80], classes=[0, 1, 2]).partial_fit(X[80:], Y[80:])
        assert streamed.provenance()["data_hash"].startswith("unknown")
        fitted = bp.GaussianNB().fit(X, Y)
        assert not fitted.provenance()["data_hash"].startswith("unknown")
        assert fitted.partial_fit(X[:1], Y[:1]).provenance()["data_hash"].startswith("unknown")


@pytest.mark.parametrize(
    "clf", [bp.GaussianNB(), bp.LinearDiscriminantAnalysis(), bp.QuadraticDiscriminantAnalysis()]
)
def test_sums_have_one_hash_whatever_the_layout_and_the_number_of_threads(clf):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60_000, 12)), rng.integers(3, size=60_000)
    hashes = {
        clf.set_params(n_jobs=n_jobs).fit(np.asarray(rows, order=order), labels).provenance()["statistics_hash"]
        for n_jobs, order in ((None, "C"), (2, "C"), (3, "F"))
    }
    assert len(hashes) == 1
    assert clf.fit(rows[1:], labels[1:]).provenance()["statistics_hash"] not in hashes


def of_my_own(name, dims):
    raise AssertionError("nobody needs this variable")


@pytest.fixture(scope="module")
def fitted():
    return bp.QuadraticDiscriminantAnalysis().fit(X, Y)


class TestRecord:
    def test_versions_are_those_installed(self, fitted):
        found = fitted.provenance()
        for name, library in {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}.items():
            assert found[f"{name}_version"] == version(library)

    def test_the_prior_is_in_words_with_its_numbers(self, fitted):
        weights, features = fitted.provenance()["prior"].split("; ")
        assert weights == "class_weights ~ Dirichlet(concentration=1.0)"
        mean = X.mean(axis=0)
        location = features.split("location=[")[1].split("]")[0]
        np.testing.assert_allclose([float(number) for number in location.split(", ")], mean, rtol=1e-12)
        kappa = fitted.posterior_.prior.parts["features"].kappa[0]
        assert float(features.split("kappa=")[1].split(",")[0]) == pytest.approx(kappa, rel=1e-12)

    def test_words_hold_no_addresses_and_long_arrays_only_their_range(self):
        assert " at 0x" not in in_words(lambda x: x)
        assert in_words(np.arange(1000.0).reshape(2, 500)) == "<2 x 500 numbers from 0 to 999>"
        assert in_words(np.full((3, 2), [0.1, 0.25])) == "[0.1, 0.25]"

    def test_a_very_long_prior_still_fits_into_netcdf(self, tmp_path):
        blocks = {f"block {i} of a very wide table": ([f"x{i}"], bp.Gaussian("diag")) for i in range(60)}
        rows = np.random.default_rng(0).normal(size=(8, 60))
        frame = pd.DataFrame(rows, columns=[f"x{i}" for i in range(60)])
        record = bp.MixedNB(blocks).fit(frame, list("aabbaabb")).provenance()
        assert "sha256 of all" in record["prior"]
        assert len(record["prior"].encode()) < 1 << 16
        xr.DataTree(xr.Dataset(attrs=record)).to_netcdf(tmp_path / "wide.nc", engine="h5netcdf")

    @pytest.mark.filterwarnings("ignore")  # zarr's, about its own format
    @pytest.mark.parametrize("kind", ["netcdf", "zarr"])
    def test_every_group_of_a_tree_carries_it_to_a_file_and_back(self, fitted, kind, tmp_path):
        tree = fitted.to_datatree(draws=4, chains=1, random_state=0, groups="all")
        if kind == "netcdf":
            tree.to_netcdf(tmp_path / "tree", engine="h5netcdf")
            read = xr.open_datatree(tmp_path / "tree", engine="h5netcdf")
        else:
            tree.to_zarr(tmp_path / "tree", mode="w")
            read = xr.open_datatree(tmp_path / "tree", engine="zarr")
        record = fitted.provenance()
        for node in read.subtree:
            assert {name: node.attrs[name] for name in record} == record
        read.close()

    def test_a_model_file_carries_it_and_a_loaded_model_still_knows_its_rows(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.nc")
        assert read_provenance(tmp_path / "m.nc") == fitted.provenance()
        loaded = bp.load(tmp_path / "m.nc")
        assert loaded.provenance() == fitted.provenance()
        assert loaded.partial_fit(X[:1], Y[:1]).provenance()["data_hash"].startswith("unknown")

    def test_a_prior_that_is_not_determined_yet_says_so(self, tmp_path):
        clf = bp.GaussianNB("jeffreys").partial_fit(X[:1], [0], classes=[0, 1, 2])
        clf.save(tmp_path / "m.nc")
        assert read_provenance(tmp_path / "m.nc")["prior"] == "not determined yet"

    @pytest.mark.parametrize(
        ("declare", "words"),
        [
            (lambda pm: pm.Beta.dist(2, pm.HalfNormal.dist(3)), "probability ~ Beta(2, HalfNormal(0, 3))"),
            (lambda pm: of_my_own, "probability ~ of_my_own(name, dims)"),
        ],
    )
    def test_a_prior_in_pymcs_words_is_printed_as_pymc_does(self, declare, words):
        import pymc as pm

        prior = Joint(
            {"features": Direct({"probability": declare(pm)}, {"probability": "unit"})}, {"features": ""}
        )
        assert prior_in_words(prior) == words

    def test_the_program_is_named_without_its_folder_and_arguments(self, fitted, monkeypatch):
        monkeypatch.setattr("sys.argv", ["/home/somebody/study/fit.py", "--password", "secret"])
        assert fitted.provenance()["command"] == "fit.py"


def test_a_run_of_the_command_line_is_recorded_as_it_was_typed(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["compare", "iris", "--json", "--draws", "16", "--out", "some results"]
    with pytest.raises(SystemExit):
        main(arguments)
    report = json.loads(capsys.readouterr().out)
    typed = "bayesppl compare iris --json --draws 16 --out 'some results'"
    assert report["provenance"]["command"] == typed
    assert report["provenance"]["data_rows"] == report["rows"]["train"]
    tree = xr.open_datatree(tmp_path / "some results" / "posterior.nc", engine="h5netcdf")
    assert tree.attrs["command"] == typed
    assert {name: tree.attrs[name] for name in report["provenance"] if not name.endswith("_version")} == {
        name: value for name, value in report["provenance"].items() if not name.endswith("_version")
    }
    assert str(tmp_path) not in repr(tree.attrs)
    tree.close()
    assert bp.GaussianNB().fit(X, Y).provenance()["command"] != typed


class TestRepr:
    def test_a_tuned_classifier_is_printed_in_a_few_short_lines(self):
        prior = bp.NormalInverseWishart(X.mean(0), 1.0, 6.0, np.cov(X.T))
        tuned = bp.QuadraticDiscriminantAnalysis(prior).fit(X, Y).tune_prior(max_steps=1)
        assert len(repr(tuned)) < 500
        assert "4 x 4 numbers from" in repr(tuned)

    def test_short_arrays_are_written_out(self):
        assert repr(bp.BernoulliNB(bp.Beta(np.array([1.0, 2.5]), 1.0))) == (
            "BernoulliNB(probability=Beta(alpha=[1.0, 2.5], beta=1.0))"
        )
