"""Dask collections give the posterior of the rows in memory, and lazy probabilities."""

import os
import threading
import time

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def rows(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n_rows)
    return rng.standard_normal((n_rows, 4)) + y[:, None], np.array(["x", "y", "z"])[y]


def assert_same_fit(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    for parameter, value in expected.posterior_.mean().items():
        np.testing.assert_allclose(found.posterior_.mean()[parameter], value, rtol=1e-10)


@pytest.mark.parametrize("estimator", [bp.GaussianNB, bp.QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("labels", ["dask", "numpy"])
def test_arrays(estimator, labels):
    X, y = rows()
    lazy_X = da.from_array(X, chunks=(190, 2))
    lazy_y = da.from_array(y, chunks=700) if labels == "dask" else y
    found, expected = estimator().fit(lazy_X, lazy_y), estimator().fit(X, y)
    assert_same_fit(found, expected)
    for method in ("predict_proba", "predict_log_proba", "predict"):
        lazy = getattr(found, method)(lazy_X)
        assert isinstance(lazy, da.Array)
        assert lazy.shape == getattr(expected, method)(X).shape
        computed = lazy.compute()
        if method == "predict":
            assert computed.tolist() == expected.predict(X).tolist()
        else:
            np.testing.assert_allclose(computed, getattr(expected, method)(X), rtol=1e-8, atol=1e-12)


def test_data_frames_with_empty_partitions_and_weights():
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y, weight=np.arange(len(y)) % 3)
    lazy = dd.from_pandas(frame, npartitions=7)
    lazy = dd.concat([lazy[lazy["a"] > 1e9], lazy])
    found = bp.GaussianNB().fit(lazy[list("abcd")], lazy["label"], lazy["weight"])
    expected = bp.GaussianNB().fit(frame[list("abcd")], frame["label"], frame["weight"])
    assert_same_fit(found, expected)
    assert found.feature_names_in_.tolist() == list("abcd")
    proba = found.predict_proba(lazy[list("abcd")], rule="mean").compute()
    np.testing.assert_allclose(
        proba, expected.predict_proba(frame[list("abcd")], rule="mean"), rtol=1e-8, atol=1e-12
    )


def test_refusals():
    X, y = rows(100)
    lazy = da.from_array(X, chunks=(10, 4))
    with pytest.raises(ValueError, match="same partitions"):
        bp.GaussianNB().fit(lazy, dd.from_pandas(pd.Series(y), npartitions=3))
    unknown = lazy[lazy[:, 0] > 0]
    with pytest.raises(TypeError, match="partitions of unknown length"):
        bp.GaussianNB().fit(unknown, y)
    with pytest.raises(ValueError, match="no row has a label"):
        bp.GaussianNB().fit(lazy[:0], y[:0])


@pytest.mark.slow
def test_a_worker_killed_during_the_fit_changes_nothing():
    distributed = pytest.importorskip("distributed")
    X, y = rows(40_000)
    expected = bp.GaussianNB().fit(X, y)

    def slowly(block):
        time.sleep(0.3)
        return block

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy_X = da.from_array(X, chunks=(1000, 4)).map_blocks(slowly)
        pids = client.run(os.getpid)
        victim = next(iter(pids.values()))
        timer = threading.Timer(3.0, lambda: os.kill(victim, 9))
        timer.start()
        found = bp.GaussianNB(classes=["x", "y", "z"]).fit(lazy_X, y)
        timer.join()
        assert victim not in client.run(os.getpid).values()
        assert_same_fit(found, expected)
        proba = found.predict_proba(lazy_X).compute()
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=1e-8, atol=1e-12)


def test_lazy_rows_come_go_and_merge() -> None:
    rng = np.random.default_rng(8)
    X, y, weights = rng.normal(size=(90, 3)), rng.integers(0, 2, 90), rng.uniform(0.5, 2, 90)
    lazy, labels, lazy_weights = (
        da.from_array(values, chunks=(20, *values.shape[1:])) for values in (X, y, weights)
    )
    for make in (bp.GaussianNB, bp.QuadraticDiscriminantAnalysis):
        expected = make().fit(X, y, weights).predict_log_proba(X)
        whole = make().fit(lazy, labels, lazy_weights)
        grown = make().fit(lazy[:40], labels[:40], lazy_weights[:40])
        merged = grown + make().fit(lazy[40:], labels[40:], lazy_weights[40:])
        grown.partial_fit(lazy[40:], labels[40:], sample_weight=lazy_weights[40:])
        for clf in (whole, grown, merged):
            np.testing.assert_allclose(clf.predict_log_proba(X), expected, rtol=1e-9)
        left = make().fit(X[60:], y[60:], weights[60:]).predict_log_proba(X)
        whole.forget(lazy[:60], labels[:60], lazy_weights[:60])
        np.testing.assert_allclose(whole.predict_log_proba(X), left, rtol=1e-9)


def test_labels_and_rows_of_one_frame_of_small_files(tmp_path):
    """The optimiser of dask reads several files at once where few of their columns are wanted."""
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    for i in range(10):
        frame[i * 300 : (i + 1) * 300].to_parquet(tmp_path / f"part{i}.parquet")
    lazy = dd.read_parquet(tmp_path)
    found = bp.GaussianNB(classes=["x", "y", "z"]).fit(lazy[list("abcd")], lazy["label"])
    assert_same_fit(found, bp.GaussianNB().fit(X, y))
    proba = found.predict_proba(lazy[list("abcd")]).compute()
    np.testing.assert_allclose(proba, found.predict_proba(X), rtol=1e-9)


def test_annotations_of_a_dask_table_are_refused():
    X, y = rows(30)
    lazy = da.from_array(X, chunks=(30, 4))
    with pytest.raises(TypeError, match=r"annotations are learned from a table in memory, .* pass X.compute\(\)"):
        bp.GaussianNB(inference="em").fit(lazy, annotations=y[:, None])
