"""The commands of the pages on real data: what is compared, on which sets, and what is printed."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.model_selection import StratifiedShuffleSplit

import bayesppl as bp
from benchmarks import location_study
from benchmarks.study import study
from benchmarks.trees import Aode


def run(*arguments):
    done = CliRunner().invoke(study, [str(argument) for argument in arguments])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def few(monkeypatch):
    """Two models only."""
    kept = ("location, tied", "MixedNB")
    monkeypatch.setattr(location_study, "MODELS", {name: location_study.MODELS[name] for name in kept})


@pytest.fixture
def animals(tmp_path):
    """A file of numbers and categories with gaps, and one of numbers alone."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 2
    size = rng.normal(size=60) + kind
    table = pd.DataFrame({"size": size, "mass": 2 * size + rng.normal(size=60)})
    table.assign(kind=kind).rename(columns={"kind": "class"}).to_csv(tmp_path / "numbers.csv", index=False)
    table["sex"] = rng.choice(["f", "m"], 60)
    table["tagged"] = rng.integers(0, 2, 60)
    table.loc[::7, "mass"] = np.nan
    table.loc[::9, "sex"] = None
    table["class"] = np.where(kind, "owl", "bat")
    table.to_csv(tmp_path / "animals.csv", index=False)
    return tmp_path


def test_sets_of_both_kinds_are_scored_on_held_out_halves(few, animals):
    status, out, err = run("location", animals, "--splits", 1, "--seed", 3, "--out", animals / "report")
    assert (status, err.splitlines()[0][:8]) == (0, "animals:")
    table = pd.read_csv(animals / "report" / "location.csv")
    assert table["set"].tolist() == ["animals"] * 2
    assert table.loc[0, ["less the first", "±"]].tolist() == [0.0, 0.0]
    assert (animals / "report" / "location.md").read_text().strip() == out.strip()

    data = pd.read_csv(animals / "animals.csv")
    y = data.pop("class").to_numpy()
    [(train, test)] = StratifiedShuffleSplit(1, test_size=0.5, random_state=3).split(data, y)
    data = data.assign(
        mass=data["mass"].fillna(data["mass"].iloc[train].median()),
        sex=data["sex"].fillna("(missing)"),
        tagged=data["tagged"].astype(str),
    )
    for row, model in enumerate((bp.LocationModel(), bp.MixedNB())):
        log_proba = model.fit(data.iloc[train], y[train]).predict_log_proba(data.iloc[test])
        own = log_proba[np.arange(30), (y[test] == "owl").astype(int)]
        np.testing.assert_allclose(table.loc[row, "log score"], own.mean(), rtol=1e-9)
        np.testing.assert_allclose(
            table.loc[row, "accuracy"], (log_proba.argmax(1) == (y[test] == "owl")).mean(), rtol=1e-12
        )


def test_sets_of_one_kind_are_refused(few, animals):
    status, _, err = run("location", animals / "numbers.csv")
    assert status == 2
    assert "none of these sets has both numbers and categories" in err


@pytest.mark.slow
def test_a_study_of_calibration_prints_as_much_as_a_terminal_holds(tmp_path):
    folder = tmp_path / "report"
    status, out, err = run("calibration", "wine", "--splits", 1, "--most-rows", 60, "--out", folder)
    assert status == 0, err
    table = [line for line in out.splitlines() if line.startswith("| wine")]
    assert len(table) == 1
    assert table[0].count("|") == 7
    assert len(table[0]) <= 80
    whole = (folder / "calibration.md").read_text(encoding="utf-8")
    assert next(line for line in whole.splitlines() if line.startswith("| wine")).count("|") > 15


@pytest.mark.parametrize("least", [1, 30, 1000])
def test_one_dependence_estimators_are_counts_by_hand(least):
    rng = np.random.default_rng(0)
    levels = (2, 3, 4)
    X, y = np.column_stack([rng.integers(0, n, 80) for n in levels]), rng.integers(0, 2, 80)
    X[:, 1] = np.where(rng.random(80) < 0.5, X[:, 0], X[:, 1])
    found = np.exp(Aode(least).fit(X, y).predict_log_proba(X[:5]))
    for row, x in enumerate(X[:5]):
        same = x == X
        parents = [u for u in range(3) if same[:, u].sum() >= least]
        expected = []
        for k in (0, 1):
            total = 0.0
            for u in parents:
                own = (y == k) & same[:, u]
                others = [(sum(own & same[:, v]) + 1) / (sum(own) + levels[v]) for v in range(3) if v != u]
                total += (sum(own) + 1) / (80 + 2 * levels[u]) * np.prod(others)
            if not parents:
                alone = [(sum((y == k) & same[:, v]) + 1) / (sum(y == k) + levels[v]) for v in range(3)]
                total = (sum(y == k) + 1) / 82 * np.prod(alone)
            expected.append(total)
        np.testing.assert_allclose(found[row], expected / np.sum(expected), rtol=1e-12)
