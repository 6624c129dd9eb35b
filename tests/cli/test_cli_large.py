"""Files of more rows than are held at a time: the same model as from all rows at once, in bounded memory."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import bayesppl as bp
from bayesppl.cli import file_rows
from bayesppl.cli.files import Dialect
from bayesppl.cli.options import Chosen


@pytest.fixture
def visitors(monkeypatch):
    """Rows for several batches, whose batches show neither all levels nor all classes nor all gaps."""
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 64)
    rng = np.random.default_rng(0)
    n = 300
    y = np.sort(rng.integers(0, 3, n))
    frame = pd.DataFrame(
        {
            "age": rng.normal(size=n) + y,
            "visits": rng.poisson(3 + y).astype(float),
            "zone": rng.integers(0, 4, n),
            "city": np.array(["bern", "oslo", "rome"])[(y + rng.integers(0, 2, n)) % 3],
            "member": rng.random(n) < 0.4,
            "kind": np.array(["a", "b", "c"])[y],
        }
    )
    frame.loc[[5, 250], "age"] = np.nan
    frame.loc[100:180, "city"] = np.nan  # a batch without any
    return frame


def test_labels_that_are_nan_are_missing_in_every_batch(run, visitors, tmp_path):
    path, model = tmp_path / "v.parquet", tmp_path / "m.npz"
    labels = np.where(np.arange(len(visitors)) % 7 == 3, np.nan, np.arange(len(visitors)) % 2)
    visitors = visitors.drop(columns="kind").assign(age=visitors["age"].fillna(0.0), label=labels)
    # polars writes NaN, pandas null
    pl.DataFrame({name: visitors[name].to_numpy() for name in ("age", "visits", "label")}).write_parquet(path)
    command = ("fit", path, "--target", "label", "--model", "gaussian-nb", "--save", model)
    status, _, err = run(*command)
    assert (status, "'label' is empty in row 3" in err) == (2, True)
    assert run(*command, "--unlabelled", "drop")[0] == 0
    expected = bp.GaussianNB(unlabelled="drop").fit(visitors[["age", "visits"]], labels)
    rows = visitors[["age", "visits"]][:9]
    np.testing.assert_allclose(bp.load(model).predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("fit",), ("fit", "--model", "auto", "--most-rows", "100")])
def test_text_that_is_no_level_is_remarked_on_in_batches_too(run, visitors, tmp_path, command):
    visitors["price"] = [f"{price:.2f}".replace(".", ",") for price in visitors["visits"] + 0.5]
    visitors["zone"] = visitors["zone"].astype(str).radd("z")
    path = write(visitors, tmp_path / "v.csv")
    options = ("--target", "kind", "--save", tmp_path / "m.npz")
    model = () if "auto" in command else ("--model", "mixed-nb")
    _, _, err = run(*command, path, *options, *model)
    assert "column 'price' is text, but all its cells are numbers" in " ".join(err.split())
    _, _, err = run(*command, path, *options, *model, "--categorical", "price")
    assert "'price'" not in err


def test_copies_that_begin_with_empty_cells_keep_their_type(run, tmp_path):
    path, model, out = tmp_path / "t.parquet", tmp_path / "m.npz", tmp_path / "out.parquet"
    table = pd.DataFrame({"a": np.arange(40.0), "kind": list("uv") * 20})
    write(table, path)
    assert run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", model)[0] == 0
    notes = [None] * 20 + [["x", None]] * 10 + [None] * 10
    words = [None] * 30 + ["late"] * 10
    write(table.assign(note=notes, word=words), path)
    keep = ("--keep", "note", "--keep", "word", "--keep", "kind")
    assert run("predict", model, path, *keep, "--rows", "10", "-o", out)[0] == 0
    found = pd.read_parquet(out)
    as_json = ['["x",null]' if note is not None else None for note in notes]
    assert [note if isinstance(note, str) else None for note in found["note"]] == as_json
    assert [word if isinstance(word, str) else None for word in found["word"]] == words


def write(frame, path):
    (frame.to_parquet if path.suffix == ".parquet" else frame.to_csv)(path, index=False)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("options", "make"),
    [
        (("--model", "mixed-nb", "--integers", "gaussian"), lambda: bp.MixedNB(integers="gaussian")),
        (("--model", "mixed-nb", "--categorical", "zone"), lambda: bp.MixedNB(integers="categorical")),
        (("--model", "gaussian-nb", "--drop", "city"), lambda: bp.GaussianNB()),
        (("--model", "lda", "--keep", "visits", "--keep", "zone"), lambda: bp.LinearDiscriminantAnalysis()),
    ],
)
def test_batches_make_the_model_of_all_rows_at_once(run, visitors, tmp_path, suffix, options, make):
    path = write(visitors, tmp_path / f"v{suffix}")
    status, out, err = run("fit", path, "--target", "kind", *options, "--save", tmp_path / "m.nc")
    assert (status, err) == (0, "")
    assert "300 rows" in out
    clf = bp.load(tmp_path / "m.nc")
    X = visitors[clf.feature_names_in_.tolist()]
    expected = make().fit(X, visitors["kind"])
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_levels_of_every_batch_count(run, visitors, tmp_path):
    frame = visitors[["city", "zone", "kind"]].dropna()
    path = write(frame, tmp_path / "v.csv")
    options = ("--model", "categorical-nb", "--save", tmp_path / "m.nc")
    assert run("fit", path, "--target", "kind", *options)[0] == 0
    X = frame.drop(columns="kind").reset_index(drop=True)
    expected = bp.CategoricalNB().fit(X, frame["kind"])
    np.testing.assert_allclose(bp.load(tmp_path / "m.nc").predict_proba(X), expected.predict_proba(X), rtol=1e-9)


@pytest.mark.slow
def test_a_stack_takes_rows_at_random_and_says_so(run, visitors, tmp_path):
    path = write(visitors, tmp_path / "v.csv")
    options = ("--target", "kind", "--save", tmp_path / "m.nc")
    status, out, err = run("fit", path, *options, "--most-rows", 120)
    assert status == 0
    assert "has 300 rows, of which 120 are drawn at random" in err
    assert "120 rows" in out
    status, out, err = run("fit", path, *options)
    assert (status, err) == (0, "")
    expected = bp.AutoClassifier().fit(visitors.drop(columns="kind"), visitors["kind"])
    X = visitors.drop(columns="kind")
    np.testing.assert_allclose(bp.load(tmp_path / "m.nc").predict_proba(X), expected.predict_proba(X), rtol=1e-9)


def test_every_row_is_drawn_as_often_as_another(visitors, tmp_path):
    visitors["row"] = np.arange(300.0)
    path = write(visitors, tmp_path / "v.csv")
    found = file_rows.Source(path, "kind", Dialect(), Chosen())
    drawn = np.concatenate([found.sample(150, seed).X["row"] for seed in range(10)])
    counts = np.bincount(drawn.astype(int), minlength=300)
    assert counts.sum() == 1500
    # 10 draws of one in two: mean 5, variance 5/2; chi-squared with 299 degrees of freedom, within five sd
    assert abs(((counts - 5) ** 2 / 2.5).sum() - 300) < 5 * np.sqrt(600)
    assert (np.diff(found.sample(60, 0).X["row"]) > 0).all()


def test_a_word_among_numbers_is_named_with_its_row(run, visitors, tmp_path):
    text = visitors.astype({"age": object})
    text.loc[222, "age"] = "n.a."
    path = write(text, tmp_path / "v.csv")
    arguments = ("fit", path, "--target", "kind", "--model", "mixed-nb", "--integers", "gaussian", "--save")
    status, _, err = run(*arguments, tmp_path / "m.nc")
    assert status == 2
    assert (
        "column 'age' holds numbers, but 'n.a.' in row 222; if that means a missing value, pass --na-values 'n.a.'"
        in err
    )
    assert not (tmp_path / "m.nc").exists()
    assert run(*arguments, tmp_path / "m.nc", "--na-values", "n.a.")[0] == 0


def test_a_refused_cell_is_named_with_its_row_in_the_file(run, visitors, tmp_path):
    visitors.loc[201, "visits"] = -1.0
    path = write(visitors[["visits", "kind"]], tmp_path / "v.csv")
    status, _, err = run("fit", path, "--target", "kind", "--model", "poisson-nb", "--save", tmp_path / "m.nc")
    assert status == 2
    assert "column 'visits' holds -1 in row 201" in err


def test_unlabelled_rows_and_gaps_are_named_with_their_row(run, visitors, tmp_path):
    visitors.loc[201, "kind"] = None
    path = write(visitors[["zone", "kind"]], tmp_path / "v.csv")
    arguments = ("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.nc")
    status, _, err = run(*arguments)
    assert (status, "is empty in row 201" in err) == (2, True)
    status, out, _ = run(*arguments, "--unlabelled", "drop")
    assert (status, "299 rows" in out) == (0, True)


@pytest.mark.parametrize("batch_rows", [64, 1000])
def test_a_refused_cell_is_named_with_its_row_where_rows_before_it_have_no_label(
    run, visitors, tmp_path, monkeypatch, batch_rows
):
    monkeypatch.setattr(file_rows, "BATCH_ROWS", batch_rows)
    visitors.loc[[3, 70, 195, 199], "kind"] = None  # in the batch of the refused cell, and in batches before it
    visitors.loc[201, "visits"] = -1.0
    path = write(visitors[["visits", "kind"]], tmp_path / "v.csv")
    arguments = ("--target", "kind", "--model", "poisson-nb", "--unlabelled", "drop")
    for command in (("fit", path, "--save", tmp_path / "m.nc"), ("compare", path)):
        status, _, err = run(*command, *arguments)
        assert status == 2
        assert "column 'visits' holds -1 in row 201" in err


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_target_without_any_label_is_refused(run, visitors, tmp_path, command):
    path = write(visitors[["age", "visits"]].assign(kind=np.nan), tmp_path / "v.csv")
    arguments = (command, path, "--target", "kind", "--unlabelled", "drop", "--model", "gaussian-nb")
    arguments += ("--save", tmp_path / "m.nc") if command == "fit" else ()
    status, _, err = run(*arguments)
    assert status == 2
    assert "the target column 'kind' holds no label at all" in err


def test_texts_that_identify_rows_are_no_levels(run, visitors, tmp_path, monkeypatch):
    monkeypatch.setattr(file_rows, "_MOST_LEVELS", 100)
    path = write(visitors.assign(name=[f"n{i}" for i in range(300)])[["age", "name", "kind"]], tmp_path / "v.csv")
    arguments = ("fit", path, "--target", "kind", "--model", "mixed-nb", "--save", tmp_path / "m.nc")
    status, _, err = run(*arguments)
    assert status == 2
    assert "column 'name' holds more than 100 different values" in err
    assert run(*arguments, "--drop", "name")[0] == 0


def test_integers_that_gaps_elsewhere_would_round_are_refused(run, visitors, tmp_path):
    visitors["id"] = pd.array([2**53 + 1, *range(299)], dtype="Int64")
    visitors.loc[280, "id"] = pd.NA
    path = write(visitors[["id", "zone", "kind"]], tmp_path / "v.csv")
    status, _, err = run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.nc")
    assert status == 2
    assert "beyond 2^53" in err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="resource is POSIX")
def test_memory_does_not_grow_with_the_file(tmp_path):
    rng = np.random.default_rng(0)
    code = (
        "import resource, sys\nfrom bayesppl.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as stop:\n"
        "    print(stop.code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )

    def peak(n_rows):
        path = tmp_path / "x.parquet"
        y = rng.integers(0, 2, n_rows)
        pd.DataFrame(rng.normal(size=(n_rows, 20)), columns=[f"x{j}" for j in range(20)]).assign(y=y).to_parquet(
            path
        )
        arguments = ["fit", str(path), "--target", "y", "--model", "gaussian-nb", "--save", str(tmp_path / "m.nc")]
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        status, kilobytes = done.stdout.split()[-2:]
        assert status == "0"
        return int(kilobytes) * (1 if sys.platform == "darwin" else 1024)

    few, many = 40_000, 400_000
    # 360,000 more rows of 21 columns are 60 MB
    assert peak(many) - peak(few) < 30e6


def test_codes_that_are_numbers_in_some_batches_and_text_in_others_are_one_set_of_levels(
    run, monkeypatch, tmp_path
):
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 50)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(300) < 0.5, "no", "yes")
    code = np.where(rng.random(300) < np.where(y == "no", 0.8, 0.3), "01", "2").astype(object)
    code[[120, 280]] = "x"
    flag = np.where(rng.random(300) < 0.5, "True", "False").astype(object)
    flag[[260, 261]] = "unknown"
    frame = pd.DataFrame({"code": code, "flag": flag, "kind": y})
    path = write(frame, tmp_path / "codes.csv")
    options = ("--target", "kind", "--categorical", "code", "--model", "mixed-nb", "--save", tmp_path / "m.nc")
    assert run("fit", path, *options)[::2] == (0, "")
    X = frame[["code", "flag"]]
    expected = bp.MixedNB().fit(X, frame["kind"]).predict_proba(X)
    np.testing.assert_allclose(bp.load(tmp_path / "m.nc").predict_proba(X), expected, rtol=1e-9)
    new = write(X.head(3), tmp_path / "new.csv")  # without the cells that made text of the columns
    status, out, err = run("predict", tmp_path / "m.nc", new)
    assert (status, err) == (0, "")
    found = [float(line.split(",")[2]) for line in out.splitlines()[1:]]
    np.testing.assert_allclose(found, expected[:3, 1], rtol=1e-9)


def test_labels_that_are_numbers_in_some_batches_are_text_in_all(run, monkeypatch, tmp_path):
    monkeypatch.setattr(file_rows, "BATCH_ROWS", 20)
    frame = pd.DataFrame({"size": np.arange(60) % 7 + 0.5, "kind": ["1", "2"] * 29 + ["x", "x"]})
    path = write(frame, tmp_path / "labels.csv")
    assert run("fit", path, "--target", "kind", "--model", "gaussian-nb", "--save", tmp_path / "m.nc")[::2] == (
        0,
        "",
    )
    assert bp.load(tmp_path / "m.nc").classes_.tolist() == ["1", "2", "x"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_with_gaps_are_truth_values_in_batches_too(run, visitors, tmp_path, suffix):
    frame = visitors[["member", "kind"]].astype({"member": "boolean"})
    frame.loc[::7, "member"] = pd.NA
    path = write(frame, tmp_path / f"v{suffix}")
    options = ("--target", "kind", "--model", "mixed-nb", "--save", tmp_path / "m.nc")
    assert run("fit", path, *options)[::2] == (0, "")
    clf, X = bp.load(tmp_path / "m.nc"), frame[["member"]]
    assert list(clf.families_) == ["bernoulli"]
    np.testing.assert_allclose(
        clf.predict_proba(X), bp.MixedNB().fit(X, frame["kind"]).predict_proba(X), rtol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_classes_that_the_draw_misses_are_named(run, visitors, tmp_path, command):
    visitors.loc[[7, 250], "kind"] = "rare"
    path = write(visitors, tmp_path / "v.csv")
    options = ("--target", "kind", *(("--save", tmp_path / "m.npz") if command == "fit" else ()))
    warned = []
    for seed in range(6):
        status, _, err = run(command, path, *options, "--most-rows", 100, "--seed", seed)
        warned.append("no row of the classes 'rare' was drawn" in err)
        assert status == 0 or "'rare'" in err
    assert len(set(warned)) == 2  # the draw is that of the seed: two of 300 rows are missed in four of nine draws
