"""A first batch that is unlike the others."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesppl as bp

X = pd.DataFrame({"length": np.random.default_rng(0).normal(np.repeat([0.0, 3.0], 30))})
Y = np.repeat(["a", "b"], 30)
BATCHES = [(X[:30], Y[:30]), (X[30:], Y[30:])]
FIXING = [bp.TreeNB(), bp.MixedNB(columns="evidence"), bp.GenerativeClassifier(bp.Histogram())]


@pytest.mark.parametrize("clf", FIXING, ids=lambda clf: type(clf).__name__)
def test_bins_and_densities_of_a_first_batch_without_a_class_are_pointed_out(clf):
    message = "the first batch has no rows of 'b', and what it shows is kept for all"
    with pytest.warns(UserWarning, match=message):
        bp.fit_batches(clf, BATCHES, classes=["a", "b"])
    with pytest.warns(UserWarning, match=message):
        clone(clf).partial_fit(*BATCHES[0], classes=["a", "b"])


@pytest.mark.parametrize(
    "clf", [bp.GaussianNB(), bp.GenerativeClassifier(bp.Histogram(edges=[-3, 0, 3, 6]))], ids=["sums", "declared"]
)
def test_sums_do_not_depend_on_the_first_batch(clf):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bp.fit_batches(clf, BATCHES, classes=["a", "b"])


def test_partitions_of_dask_are_batches():
    dask = pytest.importorskip("dask.array")
    cells = dask.from_array(X.to_numpy(), chunks=(30, 1))
    with pytest.warns(UserWarning, match="the first batch has no rows of 'b'"):
        bp.TreeNB(classes=["a", "b"]).fit(cells, dask.from_array(Y, chunks=30))
