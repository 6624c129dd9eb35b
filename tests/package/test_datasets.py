"""Embedded data sets."""

import pandas as pd
import pytest

from bayesppl import datasets


@pytest.mark.parametrize(
    ("name", "shape", "n_classes"),
    [
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
        ("digits", (1797, 64), 10),
        ("digits_binary", (1797, 64), 10),
    ],
)
def test_data_sets_have_their_known_size(name, shape, n_classes):
    X, y = datasets.load(name)
    assert X.shape == shape
    assert len(y) == shape[0]
    assert y.nunique() == n_classes
    assert not X.isna().any().any()


def test_labels_are_names_where_there_are_names():
    assert sorted(datasets.load("breast_cancer").y.unique()) == ["benign", "malignant"]
    assert datasets.load("breast_cancer").y.value_counts().to_dict() == {"benign": 357, "malignant": 212}
    assert sorted(datasets.load("digits").y.unique()) == list(range(10))


def test_binary_digits_are_digits_cut_in_the_middle():
    X, X_binary = datasets.load("digits").X, datasets.load("digits_binary").X
    pd.testing.assert_frame_equal(X_binary == 1, X > 7)
    assert set(X_binary.to_numpy().ravel()) == {0, 1}


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no data set named 'irises' .did you mean 'iris'.*there are .*iris"):
        datasets.load("irises")
