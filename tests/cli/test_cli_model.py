"""``bayesppl fit``, ``predict`` and ``summary``: what the files hold is what the estimator says."""

import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesppl as bp
from bayesppl.cli.reader import DataFile


@pytest.fixture(scope="module")
def iris() -> pd.DataFrame:
    bunch = load_iris(as_frame=True)
    return bunch.data.assign(species=bunch.target_names[bunch.target], plant=np.arange(150))


WRITERS = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
}


@pytest.fixture(params=WRITERS)
def data(request: pytest.FixtureRequest, iris: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / f"iris{request.param}"
    WRITERS[request.param](iris, path)
    return path


@pytest.fixture
def saved(run: Any, iris: pd.DataFrame, tmp_path: Path) -> Path:
    iris.to_csv(tmp_path / "train.csv", index=False)
    status, *_ = run(
        "fit",
        tmp_path / "train.csv",
        "--target",
        "species",
        "--drop",
        "plant",
        "--model",
        "qda",
        "--save",
        tmp_path / "m.nc",
    )
    assert status == 0
    return tmp_path / "m.nc"


def test_fit_saves_the_model_that_python_would_fit(
    run: Any, data: Path, iris: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "model.nc"
    status, out, err = run(
        "fit", data, "--target", "species", "--drop", "plant", "--model", "lda", "--rule", "map", "--save", path
    )
    assert (status, err) == (0, "")
    assert "150 rows, 4 columns, 3 classes" in out
    X = iris.drop(columns=["species", "plant"])
    expected = bp.LinearDiscriminantAnalysis(rule="map").fit(X, iris["species"])
    np.testing.assert_allclose(bp.load(path).predict_proba(X), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("rows", [1000, 37])
def test_predictions_do_not_depend_on_the_batches(
    run: Any, saved: Path, data: Path, iris: pd.DataFrame, tmp_path: Path, rows: int, suffix: str
) -> None:
    out = tmp_path / f"predictions{suffix}"
    status, printed, _ = run(
        "predict", saved, data, "--keep", "plant", "--drop", "species", "-o", out, "--rows", rows
    )
    assert (status, printed) == (0, "")
    found = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    X = iris.drop(columns=["species", "plant"])
    clf = bp.QuadraticDiscriminantAnalysis().fit(X, iris["species"])
    assert found.columns.tolist() == ["plant", "predicted", "p(setosa)", "p(versicolor)", "p(virginica)"]
    assert found["plant"].astype(int).tolist() == list(range(150))  # a text file has no types to keep
    assert found["predicted"].tolist() == clf.predict(X).tolist()
    np.testing.assert_allclose(found.filter(like="p("), clf.predict_proba(X), rtol=1e-9)


def test_intervals_and_standard_output(run: Any, saved: Path, iris: pd.DataFrame, tmp_path: Path) -> None:
    X = iris.drop(columns=["species", "plant"])[::-1]
    X[X.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)  # columns in another order
    command = (
        "predict",
        saved,
        tmp_path / "new.csv",
        "--interval",
        0.8,
        "--draws",
        200,
        "--seed",
        3,
        "--rule",
        "mean",
    )
    status, printed, err = run(*command, "--rows", 40)
    assert (status, err) == (0, "")
    (tmp_path / "printed.csv").write_text(printed)
    found = pd.read_csv(tmp_path / "printed.csv")
    clf = bp.load(saved)
    np.testing.assert_allclose(found["p(setosa)"], clf.predict_proba(X, "mean")[:, 0], rtol=1e-9)
    bounds = clf.predict_proba_interval(X, 0.8, 200, 3)
    np.testing.assert_allclose(found["lower(virginica)"], bounds["lower"].values[:, 2], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found["upper(virginica)"], bounds["upper"].values[:, 2], rtol=1e-6, atol=1e-12)


def test_summary(run: Any, saved: Path) -> None:
    status, out, _ = run("summary", saved)
    assert status == 0
    for part in (
        "QuadraticDiscriminantAnalysis()",
        "'setosa' (50)",
        "'sepal width (cm)'",
        "class_weights[setosa] ",
        "log evidence: -",
        "command: bayesppl fit ",
        f"data hash: {bp.load(saved).provenance()['data_hash']}",
    ):
        assert part in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(run: Any, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, _ = run("completion", shell)
    assert status == 0
    assert "_BAYESPPL_COMPLETE" in out


@pytest.mark.parametrize("command", ["fit", "predict", "summary", "completion"])
def test_help_teaches(run: Any, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "Example: bayesppl" in out or "eval" in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("predict", "{saved}", "{train}", "-o", "{folder}/out.csv"), "was not fitted to"),
        (("predict", "{saved}", "{train}", "--drop", "height", "-o", "{folder}/out.csv"), "no column 'height'"),
        (
            ("predict", "{saved}", "{train}", "--drop", "species", "--drop", "plant", "-o", "{folder}/out.txt"),
            ".csv",
        ),
        (("predict", "{saved}", "{saved}"), "must end in one of"),
        (("predict", "{train}", "{train}"), "not a model file"),
        (("predict", "{saved}", "{fake}"), "cannot be read as a parquet file"),
        (
            ("fit", "{train}", "--target", "kind", "--save", "{folder}/out.csv"),
            "the target column 'kind' is not in",
        ),
        (("fit", "{train}", "--target", "species", "--save", "{folder}/absent/m.nc"), "no folder"),
        (("summary", "{folder}/absent.nc"), "does not exist"),
    ],
)
def test_refusals_take_one_line_and_leave_no_file(
    run: Any, saved: Path, tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    (tmp_path / "fake.parquet").write_text("no parquet")
    places = {
        "saved": saved,
        "train": tmp_path / "train.csv",
        "folder": tmp_path,
        "fake": tmp_path / "fake.parquet",
    }
    before = sorted(tmp_path.iterdir())
    status, _, err = run(*(argument.format(**places) for argument in arguments))
    assert status == 2
    assert reason in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_an_interrupt_leaves_what_was_there(
    run: Any, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("before")
    calls = []

    def interrupted(*_: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return pd.DataFrame({"predicted": ["x"]})

    monkeypatch.setattr(sys.modules["bayesppl.cli.predict"], "_predictions", interrupted)
    before = sorted(tmp_path.iterdir())
    status, *_ = run(
        "predict", saved, tmp_path / "train.csv", "--drop", "species", "--drop", "plant", "-o", out, "--rows", 10
    )
    assert status == 130
    assert out.read_text() == "before"
    assert sorted(tmp_path.iterdir()) == before


def test_predictions_are_explained(run: Any, saved: Path, iris: pd.DataFrame, tmp_path: Path) -> None:
    iris.drop(columns="species").iloc[::40].to_csv(tmp_path / "new.csv", index=False)
    status, out, _ = run("predict", saved, tmp_path / "new.csv", "--drop", "plant", "--explain", 2)
    assert status == 0
    found = pd.read_csv(StringIO(out))
    X = iris.drop(columns=["species", "plant"]).iloc[::40]
    weights = bp.load(saved).explain(X, random_state=0)["weight"]
    for row, line in found.iterrows():
        own = weights.isel(row=row).sel({"class": line["predicted"]})
        first = own["feature"].values[np.abs(own.values).argmax()]
        assert line["reason 1"] == first
        assert line["weight 1"] == pytest.approx(float(own.sel(feature=first)), rel=1e-9)
    assert "reason 3" not in found


@pytest.mark.slow
def test_a_stack_is_explained(run: Any, iris: pd.DataFrame, tmp_path: Path) -> None:
    iris.to_csv(tmp_path / "iris.csv", index=False)
    path, model = tmp_path / "iris.csv", tmp_path / "stack.nc"
    assert run("fit", path, "--target", "species", "--drop", "plant", "--save", model)[0] == 0
    status, out, _ = run("predict", model, path, "--drop", "species", "--drop", "plant", "--explain", 2)
    assert status == 0
    assert pd.read_csv(StringIO(out))["reason 1"].str.startswith("petal").mean() > 0.5
    lines = run("summary", model)[1].splitlines()
    assert max(len(line) for line in lines if not line.startswith("command: ")) <= 80


def test_rows_of_a_small_file_are_fitted_all_at_once(
    run: Any, iris: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iris.to_csv(tmp_path / "iris.csv", index=False)
    read, frames = DataFile.read, []
    monkeypatch.setattr(DataFile, "read", lambda *given: (frames.append(part[0]) or part for part in read(*given)))
    options = ("--target", "species", "--model", "lda", "--save", tmp_path / "model.nc")
    assert run("fit", tmp_path / "iris.csv", *options)[0] == 0
    assert [len(frame) for frame in frames] == [150]


def test_columns_that_are_kept_are_copied_as_they_are_written(
    run: Any, saved: Path, iris: pd.DataFrame, tmp_path: Path
) -> None:
    new = iris.head(4).drop(columns=["species", "plant"])
    kept = {
        "zip": ["00123", "0", "9007199254740993", "4"],
        "country": ["NA", "DE", "", "null"],
        "n": ["1", "", "2.50", "-"],
    }
    new.assign(**kept).to_csv(tmp_path / "new.csv", index=False)
    options = [part for name in kept for part in ("--keep", name)]
    assert run("predict", saved, tmp_path / "new.csv", *options, "-o", tmp_path / "out.csv", "--rows", 3)[0] == 0
    found = pd.read_csv(tmp_path / "out.csv", dtype=str, na_filter=False)
    assert found[list(kept)].to_dict("list") == {
        **kept,
        "n": ["1", "", "2.50", "'-"],
    }  # no formula of a spreadsheet
    status, _, err = run("predict", saved, tmp_path / "new.csv", "--keep", "nowhere")
    assert status != 0
    assert "there is no column 'nowhere'" in err


def test_models_of_mixed_columns_and_of_words_in_bursts(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b"], 20)
    sex, numbers = rng.choice(["f", "m"], 40), rng.normal(size=40) + (y == "b")
    mixed = pd.DataFrame({"sex": sex, "mass": numbers, "age": rng.integers(1, 9, 40), "y": y})
    words = pd.DataFrame(rng.poisson(2.0, (40, 3)), columns=["u", "v", "w"]).assign(y=y)
    mixed.to_csv(tmp_path / "mixed.csv", index=False)
    words.to_csv(tmp_path / "words.csv", index=False)
    made = {
        ("location", "mixed", "--integers", "gaussian"): bp.LocationModel(integers="gaussian").fit(
            mixed.iloc[:, :3], y
        ),
        ("tree-nb", "mixed"): bp.TreeNB().fit(mixed.iloc[:, :3], y),
        ("dirichlet-multinomial-nb", "words"): bp.DirichletMultinomialNB().fit(words.iloc[:, :3], y),
    }
    for (model, data, *options), expected in made.items():
        path = tmp_path / f"{model}.npz"
        status, _, err = run(
            "fit", tmp_path / f"{data}.csv", "--target", "y", "--model", model, *options, "--save", path
        )
        assert status == 0, err
        rows = {"mixed": mixed, "words": words}[data].iloc[:, :3]
        np.testing.assert_allclose(bp.load(path).predict_proba(rows), expected.predict_proba(rows), rtol=1e-12)


@pytest.mark.parametrize("levels", [["m", "NA"], ["None", "null"], ["1", "2"], ["True", "False"], ["", "a"]])
def test_rows_are_verified_in_a_text_file_as_in_any_other(run: Any, tmp_path: Path, levels: list[str]) -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"c": rng.choice(levels, 40), "u": rng.normal(size=40)})
    y = rng.choice(["True", "False"], 40)
    bp.MixedNB().fit(X, y).forget(X[:4], y[:4]).save(tmp_path / "m.npz")
    left = X[4:].assign(label=y[4:])
    left.to_csv(tmp_path / "left.csv", index=False)
    left.to_parquet(tmp_path / "left.parquet")
    for suffix in ("csv", "parquet"):
        status, _, err = run("verify", tmp_path / "m.npz", tmp_path / f"left.{suffix}", "--target", "label")
        assert (status, err.strip()) == (0, "verified")
    left.assign(c=levels[0]).to_csv(tmp_path / "left.csv", index=False)
    assert run("verify", tmp_path / "m.npz", tmp_path / "left.csv", "--target", "label")[0] == 1


def test_rows_without_a_label_are_not_verified(run: Any, tmp_path: Path) -> None:
    X, y = pd.DataFrame({"u": [1.0, 2.0, 4.0, 5.0, 9.0]}), ["a", "a", "b", "b", "b"]
    bp.GaussianNB().fit(X, y).forget(X[4:], y[4:]).save(tmp_path / "m.npz")
    X.assign(label=[*y[:4], ""]).to_csv(tmp_path / "left.csv", index=False)
    status, _, err = run("verify", tmp_path / "m.npz", tmp_path / "left.csv", "--target", "label")
    assert (status, err.strip()) == (0, "verified")


@pytest.mark.filterwarnings("ignore:Numba will use object mode")  # of older versions of PyTensor
def test_an_inference_that_a_model_has_not_is_refused_in_a_line(
    run: Any, iris: pd.DataFrame, tmp_path: Path
) -> None:
    iris.drop(columns="plant").to_csv(tmp_path / "iris.csv", index=False)
    options = ("--target", "species", "--model", "lda", "--inference", "smc", "--save", tmp_path / "m.npz")
    status, _, err = run("fit", tmp_path / "iris.csv", *options)
    assert status == 2
    assert "error: particles begin as draws of the prior, and PyMC has none" in " ".join(err.split())


@pytest.mark.slow
def test_a_fit_by_draws_is_repeated_by_its_seed(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"u": rng.normal(size=60), "v": rng.normal(size=60)}).assign(kind=list("ab") * 30)
    rows.loc[:5, "u"] = np.nan
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = ("--target", "kind", "--model", "lda", "--inference", "gibbs")
    means = []
    for seed in ("1", "1", "2"):
        saved = tmp_path / f"m{len(means)}.npz"
        assert run("fit", tmp_path / "rows.csv", *options, "--seed", seed, "--save", saved)[0] == 0
        means.append(bp.load(saved).posterior_.mean()["mean"].tolist())
    assert means[0] == means[1] != means[2]
