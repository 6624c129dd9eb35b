"""The command line, as a user meets it: what it prints, writes and refuses."""

import csv
import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

import bayesppl as bp
from bayesppl.cli import main
from bayesppl.cli.file_rows import Source, split
from bayesppl.cli.files import Dialect
from bayesppl.cli.options import Chosen


def refuse_constants(name):
    raise AssertionError(f"{name} is not JSON")


def strict_json(text):
    return json.loads(text, parse_constant=refuse_constants)


@pytest.fixture
def flowers(tmp_path):
    """A CSV file with a text target, a text column and columns of numbers."""
    path = tmp_path / "flowers.csv"
    rng = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("height,width,kind,colour\n")
        for kind, centre in (("lily", 3.0), ("rose", 5.0)):
            for height, width in centre + rng.standard_normal((12, 2)):
                file.write(f"{height:.3f},{width:.3f},{kind},red\n")
    return path


class TestTables:
    def test_iris_prints_parameters_scores_and_differences(self, run):
        status, out, err = run("compare", "iris", "--parameters")
        assert (status, err) == (0, "")
        for words in ("class_weights", "mean", "variance", "5.5%", "94.5%", "log score", "ECE", "predictive", "±"):
            assert words in out
        assert "fitted to 75 rows, scored on 75 others" in out

    def test_an_undefined_rule_is_named_with_its_reason(self, run):
        status, out, _ = run("compare", "digits", "--draws", 16, "--parameters")
        assert status == 0
        assert "mle is undefined: column 'pixel_0_0' is constant" in " ".join(out.split())
        assert "more lines" in out

    def test_impossible_rows_and_infinite_scores_are_shown(self, run):
        status, out, _ = run("compare", "digits_binary", "--model", "bernoulli-nb", "--draws", 16)
        assert status == 0
        assert "-inf" in out
        assert "mle: a true label got probability zero" in " ".join(out.split())
        assert (
            "rows have probability zero under every class and were classified by class weights alone"
            in " ".join(out.split())
        )

    @pytest.mark.parametrize("model", ["gaussian-nb", "lda", "qda"])
    def test_every_gaussian_model_runs(self, run, model):
        assert run("compare", "wine", "--model", model, "--draws", 16)[0] == 0

    def test_a_file_with_a_text_target(self, run, flowers):
        status, out, _ = run(
            "compare", flowers, "--target", "kind", "--drop", "colour", "--parameters", "--model", "gaussian-nb"
        )
        assert status == 0
        assert "lily" in out
        assert "fitted to 12 rows, scored on 12 others" in " ".join(out.split())


class TestMixedColumns:
    def test_they_are_modelled_each_in_its_own_way(self, run, flowers):
        _, out, err = run("compare", flowers, "--target", "kind", "--model", "mixed-nb", "--json")
        assert err == ""
        train, test = split(Source(flowers, "kind", Dialect(), Chosen()).rows(), 0.5, 0)
        expected = bp.compare(bp.MixedNB(), train.X, train.y, test.X, test.y)
        found = strict_json(out)["scores"]["predictive"]["log_score"]["value"]
        assert found == pytest.approx(float(expected.scores["log_score"].sel(rule="predictive")), rel=1e-12)

    def test_whole_numbers_must_be_decided(self, run, tmp_path):
        path = tmp_path / "counts.csv"
        path.write_text("n,colour,kind\n1,red,a\n2,blue,a\n7,red,b\n9,blue,b\n")
        arguments = ("compare", path, "--target", "kind", "--model", "mixed-nb")
        status, out, err = run(*arguments)
        assert (status, out) == (2, "")
        assert "which these columns hold: 'n'" in err
        assert "--integers n=gaussian" in err
        assert "--integers gaussian, poisson or categorical" in err
        _, _, of_fit = run("fit", path, "--target", "kind", "--model", "mixed-nb", "--save", tmp_path / "model.nc")
        assert of_fit == err
        assert run(*arguments, "--integers", "poisson")[0] == 0

    def test_they_are_decided_one_by_one(self, run, tmp_path):
        path = tmp_path / "counts.csv"
        path.write_text("n,age,kind\n1,10,a\n2,13,a\n7,31,b\n9,30,b\n")
        arguments = ("compare", path, "--target", "kind", "--model", "mixed-nb", "--json", "--draws", 16)
        status, out, err = run(*arguments, "--integers", "n=poisson", "--integers", "age=gaussian")
        assert (status, err) == (0, "")
        assert {record["parameter"] for record in strict_json(out)["parameters"]} == {
            "class_weights",
            "poisson_rate",
            "gaussian_mean",
            "gaussian_variance",
        }

    @pytest.mark.parametrize(
        ("choices", "message"),
        [
            (["n=poisson"], "hold: 'age'"),
            (["n=poisson", "age=gamma"], "--integers age=gamma names none of gaussian, poisson, categorical"),
            (["n"], "--integers n names none of gaussian, poisson, categorical; write one of them"),
            (["n=poisson", "height=gaussian"], "integers names 'height', which is no integer column"),
            (["n=poisson", "gaussian"], "--integers gaussian names no column; write COLUMN=gaussian"),
            (["poisson", "gaussian"], "--integers gaussian after --integers poisson"),
            (["n=poisson", "n=gaussian"], "--integers n=poisson --integers n=gaussian names a column twice"),
        ],
    )
    def test_half_a_decision_is_refused(self, run, tmp_path, choices, message):
        path = tmp_path / "counts.csv"
        path.write_text("n,age,kind\n1,10,a\n2,13,a\n7,31,b\n9,30,b\n")
        options = [word for choice in choices for word in ("--integers", choice)]
        status, out, err = run("compare", path, "--target", "kind", "--model", "mixed-nb", *options)
        assert (status, out) == (2, "")
        assert message in err

    def test_only_a_mixed_model_has_a_choice_for_whole_numbers(self, run):
        status, _, err = run("compare", "iris", "--integers", "poisson")
        assert status == 2
        assert "--integers poisson is for --model mixed-nb or location, found --model gaussian-nb" in err


class TestJson:
    def test_it_holds_the_numbers_of_the_library(self, run):
        status, out, err = run("compare", "iris", "--json", "--seed", 3)
        assert (status, err) == (0, "")
        report = strict_json(out)

        from bayesppl.cli import file_rows

        train, test = file_rows.split(file_rows.embedded("iris"), 0.5, 3)
        result = bp.compare(bp.GaussianNB(), train.X, train.y, test.X, test.y, random_state=3)
        for rule, scores in report["scores"].items():
            one = result.scores.sel(rule=rule)
            for score in ("accuracy", "log_score", "brier", "ece"):
                assert scores[score]["value"] == float(one[score])
                assert scores[score]["difference"] == float(one[f"{score}_difference"])
                assert scores[score]["standard_error"] == float(one[f"{score}_difference_se"])
        assert len(report["parameters"]) == 3 + 12 + 12
        for record in report["parameters"]:
            place = {dim: record[dim] for dim in ("class", "feature") if dim in record}
            found = result.parameters[record["parameter"]].sel(place)
            for estimate in ("mle", "map", "mean", "sd", "lower", "upper"):
                assert record[estimate] == float(found.sel(estimate=estimate))
        assert report["rows"] == {"train": 75, "test": 75}
        assert report["classes"] == ["setosa", "versicolor", "virginica"]

    def test_what_is_not_finite_is_text_or_null(self, run):
        _, out, _ = run("compare", "digits_binary", "--model", "bernoulli-nb", "--json", "--draws", 16)
        log_score = strict_json(out)["scores"]["mle"]["log_score"]
        assert log_score == {"value": "-inf", "difference": "-inf", "standard_error": None}

    def test_an_undefined_rule_is_null_with_its_reason(self, run):
        _, out, _ = run("compare", "digits", "--json", "--draws", 16)
        report = strict_json(out)
        assert report["scores"]["mle"]["accuracy"] == {"value": None, "difference": None, "standard_error": None}
        assert "pixel_0_0" in report["undefined"]["mle"]

    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_bytes_in_another_process(self):
        # not this one, in which other tests may have loaded libraries that the record names
        command = [sys.executable, "-m", "bayesppl", "compare", "iris", "--json", "--seed", "5"]
        first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
        assert first == second
        assert strict_json(first)["settings"]["seed"] == 5

    def test_another_seed_gives_another_split(self, run):
        a, b = (run("compare", "iris", "--json", "--seed", seed)[1] for seed in (1, 2))
        assert strict_json(a)["scores"] != strict_json(b)["scores"]


class TestSplit:
    def test_every_class_gives_its_share_and_keeps_a_row(self, run):
        from bayesppl.cli import file_rows

        source = file_rows.embedded("wine")
        for size in (0.001, 0.3, 0.999):
            train, test = file_rows.split(source, size, 0)
            assert sorted([*train.X.index, *test.X.index]) == list(range(178))
            for label, total in source.y.value_counts().items():
                held_out = (test.y == label).sum()
                assert held_out == np.clip(round(size * total), 1, total - 1)

    def test_it_depends_on_the_seed_only(self):
        from bayesppl.cli import file_rows

        source = file_rows.embedded("iris")
        a, b, c = (file_rows.split(source, 0.5, seed)[1].X.index.tolist() for seed in (0, 0, 1))
        assert a == b != c


class TestBinarize:
    def test_the_mean_is_that_of_the_training_rows(self):
        from bayesppl.cli import file_rows

        train, test = file_rows.split(file_rows.embedded("iris"), 0.4, 0)
        low, high = file_rows.binarized(train, test, "mean")
        np.testing.assert_array_equal(high.X, 1.0 * (train.X.mean() < test.X))
        np.testing.assert_array_equal(low.X, 1.0 * (train.X.mean() < train.X))

    def test_bernoulli_runs_on_numbers_cut_in_two(self, run):
        assert run("compare", "iris", "--model", "bernoulli-nb", "--binarize", "mean")[0] == 0
        assert run("compare", "digits", "--model", "bernoulli-nb", "--binarize", 8, "--draws", 16)[0] == 0

    def test_missing_cells_stay_missing(self, flowers):
        import pandas as pd

        from bayesppl.cli import file_rows

        X = pd.DataFrame({"a": [1.0, np.nan, 3.0]})
        piece = file_rows.FileRows(X, pd.Series([0, 1, 0]), "y")
        assert file_rows.binarized(piece, piece, 2.0)[0].X["a"].tolist()[0::2] == [0.0, 1.0]
        assert file_rows.binarized(piece, piece, 2.0)[0].X["a"].isna().tolist() == [False, True, False]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What one run with ``--out`` wrote."""
    path = tmp_path_factory.mktemp("out") / "results"
    with pytest.raises(SystemExit) as stop:
        main(["compare", "iris", "--out", str(path), "--draws", "400"])
    assert stop.value.code == 0
    return path


class TestOut:
    def test_the_files_are_there_and_nothing_else(self, folder):
        names = {"parameters.csv", "posterior.nc", "probabilities.png", "scores.csv", "suspicious.csv"}
        assert {path.name for path in folder.iterdir()} == names
        assert list(folder.parent.iterdir()) == [folder]

    def test_csv_files_hold_the_numbers_of_the_json(self, folder, run):
        report = strict_json(run("compare", "iris", "--json", "--draws", 400)[1])
        with (folder / "parameters.csv").open() as file:
            parameters = list(csv.DictReader(file))
        assert [float(row["sd"]) for row in parameters] == [row["sd"] for row in report["parameters"]]
        assert parameters[0] | {"feature": ""} == parameters[0]
        with (folder / "scores.csv").open() as file:
            scores = {row["rule"]: row for row in csv.DictReader(file)}
        assert {rule: float(row["brier"]) for rule, row in scores.items()} == {
            rule: row["brier"]["value"] for rule, row in report["scores"].items()
        }

    @pytest.mark.parametrize("model", ["gaussian-nb", "lda", "qda"])
    def test_every_number_of_every_parameter_is_a_line(self, run, tmp_path, model):
        """The tied covariance of lda has no class, the means have no second feature: no parameter has all
        columns."""
        status, _, err = run("compare", "iris", "--model", model, "--draws", 16, "--out", tmp_path / "results")
        assert (status, "error" in err) == (0, False)
        with (tmp_path / "results" / "parameters.csv").open() as file:
            header, *lines = csv.reader(file)
        dims = ["class", "feature"] + ["other_feature"] * (model != "gaussian-nb")
        assert header[: len(dims) + 1] == ["parameter", *dims]
        cells = {"gaussian-nb": 3 * 4, "lda": 4 * 4, "qda": 3 * 4 * 4}[model]
        assert len(lines) == 3 + 3 * 4 + cells

    def test_whole_numbers_stay_what_they_are_beside_gaps(self, run, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text("a,b,kind\n" + "".join(f"{i % 7},{i % 5},{1 + i % 2}\n" for i in range(40)))
        status, _, _ = run("compare", path, "--target", "kind", "--model", "lda", "--out", tmp_path / "results")
        assert status == 0
        with (tmp_path / "results" / "parameters.csv").open() as file:
            assert {row["class"] for row in csv.DictReader(file)} == {"1", "2", ""}

    def test_suspicious_rows_of_the_fit_are_those_of_the_file(self, folder):
        import pandas as pd

        X, y = bp.datasets.load("iris")
        found = pd.read_csv(folder / "suspicious.csv")
        fit = y.loc[found["row"].sort_values()]
        expected = bp.GaussianNB().fit(X.loc[fit.index], fit).suspicious_rows()
        assert found["row"].tolist() == fit.index[expected.index].tolist()
        assert found["label"].tolist() == y.loc[found["row"]].tolist()
        np.testing.assert_allclose(found["wrong"], expected["wrong"], rtol=1e-9)

    def test_the_picture_is_a_png(self, folder):
        assert (folder / "probabilities.png").read_bytes().startswith(b"\x89PNG")

    def test_arviz_opens_the_posterior(self, folder):
        import arviz as az
        import matplotlib.pyplot as plt
        import xarray as xr

        tree = az.from_netcdf(folder / "posterior.nc")
        assert tree["posterior"].sizes["chain"] == 4
        assert tree["posterior"].sizes["draw"] == 100
        assert tree["posterior"]["class"].values.tolist() == ["setosa", "versicolor", "virginica"]
        assert list(tree["posterior"].attrs["sample_dims"]) == ["chain", "draw"]
        summary = az.summary(tree)
        assert len(summary) == 27
        assert "mean[setosa, petal width (cm)]" in summary.index
        az.plot_forest(tree, backend="matplotlib")
        plt.close("all")
        opened = xr.open_datatree(folder / "posterior.nc", engine="h5netcdf")
        opened.close()
        tree.close()

    def test_an_existing_directory_keeps_its_other_files(self, run, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        (tmp_path / "scores.csv").write_text("old")
        assert run("compare", "iris", "--draws", 16, "--out", tmp_path)[0] == 0
        assert (tmp_path / "notes.txt").read_text() == "mine"
        assert (tmp_path / "scores.csv").read_text().startswith("rule,")
        assert len(list(tmp_path.iterdir())) == 6

    def test_a_failure_while_writing_leaves_nothing(self, run, tmp_path, monkeypatch):
        from bayesppl.cli import compare_rules

        def fail(*arguments):
            raise OSError("disk full")

        monkeypatch.setattr(compare_rules, "_save_picture", fail)
        status, out, err = run("compare", "iris", "--draws", 16, "--out", tmp_path / "results")
        assert (status, out, err) == (2, "", "bayesppl: error: disk full\n")
        assert list(tmp_path.iterdir()) == []

    def test_a_full_disk_is_named_with_the_file(self, run, tmp_path, monkeypatch):
        from pathlib import Path

        def full(work, content):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        status, _, err = run("compare", "iris", "--draws", 16, "--out", tmp_path / "results")
        assert status == 2
        assert err.endswith(f"No space left on device: '{tmp_path / 'results' / 'posterior.nc'}'\n")
        assert list(tmp_path.iterdir()) == []


def text(old, new):
    return lambda path: path.write_text(path.read_text().replace(old, new, 1))


REFUSALS = {
    "no such file": (None, ["nowhere.csv", "--target", "kind"], ["'nowhere.csv'", "iris"]),
    "no target": (None, ["{file}"], ["--target"]),
    "unknown column": (None, ["{file}", "--target", "species"], ["'species'", "'height'", "'kind'"]),
    "one class": (None, ["{file}", "--target", "colour"], ["'colour'", "one class", "'red'"]),
    "text for a number": (
        None,
        ["{file}", "--target", "kind", "--model", "gaussian-nb"],
        ["'colour'", "'red'", "row 0", "number", "--drop"],
    ),
    "dropping what is not there": (
        None,
        ["iris", "--drop", "colour"],
        ["--drop", "'colour'", "'sepal length (cm)'"],
    ),
    "dropping everything": (
        None,
        ["{file}", "--target", "kind", "--drop", "height", "--drop", "width", "--drop", "colour"],
        ["no column is left besides the target", "'kind'"],
    ),
    "a word among numbers": (
        text("\n", "\ntall,1,rose,red\n"),
        ["{file}", "--target", "kind", "--model", "gaussian-nb"],
        ["'height'", "'tall'"],
    ),
    "a missing cell": (
        "gap",
        ["{file}", "--target", "kind", "--missing", "refuse"],
        ["'width'", "NaN", "row 24", "--missing skip"],
    ),
    "a target left out": (None, ["{file}", "--target", "kind", "--drop", "kind"], ["'kind' is the target"]),
    "a missing label": ("label gap", ["{file}", "--target", "kind"], ["'kind'", "row 24", "--unlabelled drop"]),
    "parameters of several models": (
        None,
        ["{file}", "--target", "kind", "--parameters"],
        ["--parameters", "name a --model"],
    ),
    "an infinite cell": ("inf", ["{file}", "--target", "kind"], ["'width'", "inf", "row 24"]),
    "continuous target": (None, ["{file}", "--target", "height"], ["'height'", "continuous"]),
    "a class of one row": ("single", ["{file}", "--target", "kind"], ["'tulip'", "'kind'", "single row"]),
    "negative counts": (
        "negative",
        ["{file}", "--target", "kind", "--model", "bernoulli-nb"],
        ["'n'", "-1", "row 2", "0 and 1", "--binarize"],
    ),
    "not binary": (
        None,
        ["iris", "--model", "bernoulli-nb"],
        ["'sepal length (cm)'", "5.1", "row 0", "--binarize"],
    ),
    "empty file": ("empty", ["{file}", "--target", "kind"], ["not a CSV file"]),
    "header only": ("header", ["{file}", "--target", "kind"], ["no rows"]),
    "binary file": ("binary", ["{file}", "--target", "kind"], ["not text in utf-8", "--encoding"]),
    "target only": ("target only", ["{file}", "--target", "kind"], ["no column is left besides"]),
    "target of a data set": (None, ["iris", "--target", "kind"], ["'kind'", "'iris'", "leave --target out"]),
    "incomplete rows for QDA": (
        "gap",
        ["{file}", "--target", "kind", "--model", "qda", "--missing", "skip"],
        ["'width'", "missing", "gaussian-nb"],
    ),
    "test size": (None, ["iris", "--test-size", "1.5"], ["--test-size", "1.5", "between 0 and 1"]),
    "test size nan": (None, ["iris", "--test-size", "nan"], ["--test-size", "nan", "between 0 and 1"]),
    "test size text": (None, ["iris", "--test-size", "half"], ["--test-size", "'half'"]),
    "draws": (None, ["iris", "--draws", "3"], ["--draws", "3", "16"]),
    "seed": (None, ["iris", "--seed", "-1"], ["--seed", "-1"]),
    "model": (None, ["iris", "--model", "forest"], ["--model", "'forest'", "gaussian-nb"]),
    "inference": (None, ["iris", "--inference", "vi"], ["--inference", "'vi'", "nuts"]),
    "threshold": (None, ["iris", "--binarize", "high"], ["--binarize", "'high'", "mean"]),
    "threshold nan": (None, ["iris", "--binarize", "nan"], ["--binarize", "'nan'", "finite"]),
    "unknown option": (None, ["iris", "--fast"], ["--fast"]),
    "no data": (None, [], ["DATA"]),
}

BYTES = {
    "gap": b"height,width,kind\n" + b"1.5,2,a\n2,3,a\n" * 6 + b"3,4,b\n1,2,b\n" * 6 + b"1,,b\n",
    "label gap": b"height,width,kind\n" + b"1.5,2,a\n2,3,a\n" * 6 + b"3,4,b\n1,2,b\n" * 6 + b"1,3,\n",
    "inf": b"height,width,kind\n" + b"1.5,2,a\n2,3,a\n" * 6 + b"3,4,b\n1,2,b\n" * 6 + b"1,inf,b\n",
    "single": b"height,kind\n1,a\n2,a\n3,b\n4,b\n5,tulip\n",
    "negative": b"n,kind\n0,a\n1,a\n-1,b\n1,b\n",
    "empty": b"",
    "header": b"height,width,kind\n",
    "binary": bytes(range(128, 256)) * 4,
    "target only": b"kind\na\nb\n",
}


@pytest.mark.parametrize(("change", "arguments", "words"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_take_one_line_and_leave_nothing(run, flowers, change, arguments, words):
    if callable(change):
        change(flowers)
    elif change is not None:
        flowers.write_bytes(BYTES[change])
    arguments = [argument.format(file=flowers) for argument in arguments]
    folder = flowers.parent / "results"
    status, out, err = run("compare", *arguments, "--out", folder)
    assert status == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("bayesppl: error: ")
    for word in words:
        assert word in err
    assert list(flowers.parent.iterdir()) == [flowers]


@pytest.mark.parametrize(
    ("place", "words"),
    [("file", "is a file"), ("nowhere/results", "create it first")],
)
def test_refused_places_to_write(run, tmp_path, place, words):
    (tmp_path / "file").write_text("mine")
    status, out, err = run("compare", "iris", "--out", tmp_path / place)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_missing_cells_are_skipped_or_refused_by_both_commands(run, flowers, tmp_path, command):
    flowers.write_bytes(BYTES["gap"])
    arguments = (command, flowers, "--target", "kind", "--model", "gaussian-nb")
    arguments += ("--save", tmp_path / "m.nc") if command == "fit" else ()
    assert run(*arguments)[0] == 0
    status, _, err = run(*arguments, "--missing", "refuse")
    assert status == 2
    assert "column 'width' has a missing value (NaN) in row 24" in err


@pytest.mark.parametrize("command", ["compare", "fit"])
def test_rows_without_a_label_are_left_out_if_asked(run, flowers, tmp_path, command):
    flowers.write_bytes(BYTES["label gap"])
    arguments = (command, flowers, "--target", "kind", "--unlabelled", "drop", "--model", "gaussian-nb")
    arguments += ("--save", tmp_path / "m.nc") if command == "fit" else ()
    status, out, err = run(*arguments)
    assert status == 0
    assert "1 of 25 rows have no label, and are left out" in err
    assert ("24 rows" if command == "fit" else "fitted to 12 rows, scored on 12 others") in " ".join(out.split())


class TestStacks:
    """``compare FILE`` compares what the automatic classifier combines."""

    @pytest.fixture
    def petals(self, tmp_path):
        X, y = bp.datasets.load("iris")
        path = tmp_path / "petals.csv"
        X.assign(kind=y).to_csv(path, index=False)
        return path

    def test_scores_are_those_of_the_classifier(self, run, petals):
        status, out, err = run("compare", petals, "--target", "kind", "--json")
        assert (status, err) == (0, "")
        found = strict_json(out)["scores"]
        train, test = split(Source(petals, "kind", Dialect(), Chosen()).rows(), 0.5, 0)
        clf = bp.AutoClassifier().fit(train.X, train.y)
        assert list(found) == ["all together", *clf.weights_["model"].values]
        truth = clf.predict_proba(test.X)[range(len(test.y)), clf.classes_.searchsorted(test.y)]
        assert found["all together"]["accuracy"] == pytest.approx(clf.score(test.X, test.y))
        assert found["all together"]["log_score"] == pytest.approx(np.log(truth).mean(), rel=1e-9)
        for name, weight in clf.weights_.to_series().items():
            assert found[name]["weight"] == pytest.approx(weight)

    def test_the_screen_is_80_columns_wide_and_names_the_columns(self, run, petals):
        status, out, _ = run("compare", petals, "--target", "kind")
        assert status == 0
        assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
        assert "all together" in out
        assert "sepal length (cm)" in out
        assert "number" in out

    def test_the_command_of_a_report_prints_the_report_again(self, run, petals):
        _, out, _ = run("compare", petals, "--target", "kind", "--json")
        program, *arguments = shlex.split(strict_json(out)["provenance"]["command"])
        assert program == "bayesppl"
        assert run(*arguments)[1] == out

    def test_all_files_are_written(self, run, petals, tmp_path):
        assert run("compare", petals, "--target", "kind", "--out", tmp_path / "results")[0] == 0
        assert sorted(path.name for path in (tmp_path / "results").iterdir()) == [
            "model.npz",
            "scores.csv",
            "weights.png",
        ]
        assert bp.load(tmp_path / "results" / "model.npz").classes_.size == 3


def test_without_a_command_the_help_is_printed(run):
    status, _, err = run()
    assert status == 2
    assert "compare" in err


def test_the_help_names_every_data_set(run):
    from bayesppl.datasets import LOADERS

    text = run("compare", "--help")[1]
    assert all(name in text for name in LOADERS)


def test_the_version_is_printed(run):
    assert run("--version")[:2] == (0, f"bayesppl, version {bp.__version__}\n")


@pytest.mark.slow
def test_nuts_agrees_with_the_closed_form_on_the_command_line(run, tmp_path):
    exact = strict_json(run("compare", "iris", "--json")[1])
    status, out, err = run("compare", "iris", "--json", "--inference", "nuts", "--out", tmp_path / "results")
    assert status == 0
    assert "compiling" in err
    sampled = strict_json(out)
    for a, b in zip(exact["parameters"], sampled["parameters"], strict=True):
        assert abs(a["mean"] - b["mean"]) < 6 * a["sd"] / np.sqrt(1000)  # at least 1000 effective draws of 4000
