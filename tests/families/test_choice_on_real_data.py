"""Densities chosen by evidence against those by dtype, on tables that are skewed, zero-heavy and mixed; skipped
where the data are absent."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

import bayesppl as bp

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "class",
]


def read(shared_data, name):
    if name == "penguins":
        table = pd.read_csv(shared_data / "penguins" / "penguins.csv").rename(columns={"species": "class"})
    elif name == "adult":
        path = shared_data / "adult" / "adult.data.gz"
        table = pd.read_csv(path, header=None, names=ADULT, skipinitialspace=True, na_values="?")
        table = table.sample(6000, random_state=0)
    else:
        table = pd.read_csv(shared_data / "panel" / f"{name}.csv.gz")
    return table.drop(columns="class"), table["class"].to_numpy().astype(str)


@pytest.mark.filterwarnings("ignore::bayesppl.errors.UnseenLevelWarning")
@pytest.mark.parametrize(
    ("name", "is_skewed"),
    [
        ("titanic", True),
        *(
            pytest.param(name, True, marks=pytest.mark.slow)
            for name in ("credit_approval", "wa_churn", "hpc_data", "adult")
        ),
        pytest.param("mlc_churn", False, marks=pytest.mark.slow),
        ("penguins", False),
    ],
)
def test_chosen_densities_beat_those_by_dtype_where_columns_are_skewed_and_lose_nowhere(
    shared_data, name, is_skewed
):
    X, y = read(shared_data, name)
    by_dtype = X.astype(dict.fromkeys(X.select_dtypes("integer"), float))
    gains, errors = [], []
    for train, test in StratifiedShuffleSplit(5, test_size=0.5, random_state=0).split(X, y):
        own = [
            clf.fit(table.iloc[train], y[train]).predict_log_proba(table.iloc[test])[
                np.arange(len(test)), np.searchsorted(clf.classes_, y[test])
            ]
            for clf, table in ((bp.MixedNB(columns="evidence"), X), (bp.MixedNB(), by_dtype))
        ]
        gain = own[0] - own[1]
        gains.append(gain.mean())
        errors.append(gain.std(ddof=1) / np.sqrt(len(gain)))
    least = np.mean(errors) if is_skewed else -2 * np.mean(errors)
    assert np.mean(gains) > least
