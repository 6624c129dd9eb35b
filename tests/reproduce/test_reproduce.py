"""The published numbers: every row has a verdict, and the machinery that gives it can say no."""

import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import bayesppl as bp
from bayesppl.cli import main
from bayesppl.reproduce import CLAIMS, figures, reproduce, select
from bayesppl.reproduce import reproduction as report_module
from bayesppl.reproduce.claims import Claim, Erratum, Formula, Inputs, Printed, Verdict
from bayesppl.reproduce.studies import boundaries, study
from bayesppl.reproduce.studies import digits as mnist
from bayesppl.reproduce.studies.study import markdown

ROOT = Path(__file__).parents[2]

ROWS = {f"D{i}" for i in range(1, 13)} | {f"T{i}" for i in range(1, 5)}
ROWS |= {f"C{i}" for i in range(1, 5)} | {f"G{i}" for i in range(1, 7)}

#: Computed with scipy or by hand, to compare with what the package computes.
REFERENCE = {
    "D1": [norm.pdf(250, 2000, 800)],
    "D2": [norm.pdf(250, 200, 100)],
    "D5": [1.164650324084659e-11],
    "D7": [binom.pmf(5, 100, 0.08)],
    "D9": [150 / 1000],
    "T1": [2 / 3, 0, 1 / 3, 1 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3, 1 / 3],
    "T3": [3 / 5, 1 / 5, 2 / 5, 2 / 5, 3 / 5, 2 / 5, 1 / 3, 1 / 3, 1 / 3],
    "C1x": [60.0],
    "D8": [2782 / 100_000],
    "G1": [36 / 50],
    "G2": [16 / 50],
    "G3": [12 / 50],
    "G4": [0, 20 / 150, 17 / 150],
    "G5": [2.5],
    "G6": [1.6e9 / 2**30],
}


@pytest.fixture(scope="module")
def report():
    return reproduce()


def test_every_published_row_is_claimed_once():
    ids = [claim.id for claim in CLAIMS]
    assert len(set(ids)) == len(ids)
    assert set(ids) >= ROWS


def test_nothing_disagrees(report):
    assert [outcome.claim.id for outcome in report.failed] == []


@pytest.mark.parametrize("claim", REFERENCE)
def test_our_values_against_an_independent_computation(report, claim):
    ours = next(outcome.ours for outcome in report.outcomes if outcome.claim.id == claim)
    assert ours == pytest.approx(REFERENCE[claim], rel=1e-10)


def test_errata_are_the_rows_known_to_be_wrong(report):
    wrong = {outcome.claim.id for outcome in report.outcomes if outcome.verdict is Verdict.ERRATUM}
    assert wrong >= {"T2", "T4", "C2", "C3", "E1", "E2", "E4", "E8", "E9", "E10"}
    assert wrong.isdisjoint({"D1", "D2", "D3", "D9", "T1", "T3", "C1", "G5"})


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [
        (Printed(("0.72",)), [36 / 50], Verdict.AGREES),
        (Printed(("0.79",)), [0.7949], Verdict.ROUNDED),
        (Printed(("0.79",)), [0.7951], Verdict.DISAGREES),
        (Printed(("1.165e-11",)), [1.16465e-11], Verdict.ROUNDED),
        (Printed(("1.165e-11",)), [1.1660e-11], Verdict.DISAGREES),
        (Printed(("0.999",), truncated=True), [0.99999], Verdict.ROUNDED),
        (Printed(("0.999",), truncated=True), [0.9985], Verdict.DISAGREES),
        (Printed(("4/27", "0")), [4 / 27, 0.0], Verdict.AGREES),
        (Printed(("4/27",)), [0.1481], Verdict.DISAGREES),
        (Printed(("0.5", "0.5")), [0.5], Verdict.DISAGREES),
        (Formula("1 + 1", lambda: [2.0]), [2 + 1e-9], Verdict.DISAGREES),
        (Printed(("setosa",)), ["versicolor"], Verdict.DISAGREES),
        (Printed(("0.79",), spread=(0.004,)), [0.803], Verdict.SAMPLED),
        (Printed(("0.79",), spread=(0.004,)), [0.812], Verdict.DISAGREES),
        (Printed(("0.5",)), [float("nan")], Verdict.DISAGREES),
    ],
)
def test_comparison_to_the_printed_digits(printed, ours, verdict):
    assert printed.compare(ours) is verdict


def made_up(published, ours, erratum=None):
    return Claim("X", "nowhere", "a number", Printed((published,)), lambda inputs: [ours], erratum)


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        (made_up("0.5", 0.6), "the printed number is not ours"),
        (made_up("0.5", 0.5, Erratum("E0", "", Printed(("0.5",)))), "an erratum that is none"),
        (made_up("0.5", 0.6, Erratum("E0", "", Printed(("0.7",)))), "the corrected value is not ours"),
        (
            made_up("0.5", 0.6, Erratum("E0", "", Printed(("0.6",)), lambda inputs: [0.8])),
            "the slip does not explain what was printed",
        ),
    ],
)
def test_a_claim_that_should_agree_and_does_not_is_reported(claim, why):
    assert claim.check(Inputs()).verdict is Verdict.DISAGREES, why


def test_an_unknown_id_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"no claim is called 'D99'; known are D1, D2"):
        select(["D99"])


@pytest.mark.slow
def test_one_seed_gives_one_result():
    runs = [replace(reproduce(["C2", "C3"], seed=5)).to_dict() for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(tmp_path):
    only = [option for name in ("C2", "C3", "E9", "D12", "T4", "G4") for option in ("--only", name)]
    found = []
    for threads in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        command = [sys.executable, "-m", "bayesppl", "reproduce", *only, "--seed", "3", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout)["claims"])
    assert found[0] == found[1]


def test_provenance_names_versions_and_seed(report):
    provenance = report.provenance()
    assert provenance["seed"] == 0
    assert provenance["numpy_version"] == np.__version__


def test_text_and_markdown_name_every_claim_and_its_verdict(report):
    text, table = report.to_text(), report.to_markdown()
    for outcome in report.outcomes:
        assert f"\n{outcome.claim.id} " in "\n" + text
        assert f"| {outcome.claim.id} |" in table
    assert "E7: printed are positions in a list" in text


class TestCommand:
    @pytest.fixture
    def run(self, run):
        return partial(run, "reproduce")

    def test_it_prints_verdicts(self, run):
        code, out, _ = run("--only", "T2", "--only", "D3")
        assert code == 0
        assert "erratum (E5: the class weight 1/3 enters twice" in out
        assert out.endswith("1 agrees, 1 erratum\n")

    def test_json_is_the_report(self, run):
        code, out, _ = run("--only", "T1", "--json")
        assert code == 0
        assert json.loads(out)["claims"][0]["verdict"] == "agrees"
        assert run("--only", "T1", "--json")[1] == out

    def test_rows_without_their_data_are_not_run_and_no_number_is_shown(self, run):
        code, out, _ = run("--only", "D10")
        assert code == 0
        assert "here" not in out
        assert "not run (needs --mnist)" in out

    def test_a_disagreement_is_exit_status_1(self, run, monkeypatch):
        monkeypatch.setattr(report_module, "CLAIMS", (made_up("0.5", 0.6),))
        code, out, err = run()
        assert (code, err) == (1, "bayesppl: X should agree\n")
        assert "disagrees" in out

    def test_an_unknown_claim_is_exit_status_2(self, run):
        code, _, err = run("--only", "D99")
        assert code == 2
        assert "no claim is called 'D99'" in err

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--only", "T4", "--study", "iris"), "--only 'T4' is for claims"),
            (("--sms", "."), "--sms is for a --study"),
            (("--list", "--only", "T4"), "leave out --only"),
            (("--only", "T4", "--mnist", "nowhere"), "--mnist 'nowhere' is neither a file nor a folder"),
            (("--only", "T4", "--out", "nowhere/folder"), "there is no folder"),
        ],
    )
    def test_options_that_cannot_be_followed_are_refused_before_any_work(self, run, options, message):
        code, out, err = run(*options)
        assert (code, out) == (2, "")
        assert message in err


class TestDigits:
    def test_idx_files_are_read_plain_and_gzipped(self, tmp_path):
        labels = np.array([3, 1, 4], np.uint8)
        content = bytes([0, 0, 8, 1]) + np.array([3], ">i4").tobytes() + labels.tobytes()
        (tmp_path / "train-labels-idx1-ubyte").write_bytes(content)
        (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(content))
        for part in ("train", "t10k"):
            assert mnist.read_idx(tmp_path, f"{part}-labels-idx1-ubyte").tolist() == [3, 1, 4]

    def test_a_folder_without_them_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"holds neither train-images-idx3-ubyte nor"):
            mnist.load(tmp_path)

    def test_a_file_of_other_digits_is_refused(self, tmp_path):
        file = tmp_path / "small.csv"
        file.write_text("label,a,b\n1,0,0\n", encoding="utf-8")
        with pytest.raises(ValueError, match="holds 1 digits of 2 pixels; the MNIST digits have 784"):
            mnist.load(file)

    @pytest.fixture
    def digits(self, monkeypatch):
        """Seven digits, and a protocol that needs no more."""
        monkeypatch.setattr(mnist, "N_DIGITS", 6)
        mnist.load.cache_clear()
        yield np.random.default_rng(0).integers(0, 256, (7, 784)), np.array([5, 0, 4, 1, 9, 2, 1])
        mnist.load.cache_clear()

    @pytest.mark.parametrize("name", ["digits.csv", "digits.csv.gz"])
    def test_a_csv_file_is_read_plain_and_gzipped(self, digits, tmp_path, name):
        pixels, labels = digits
        names = ["label", *(f"pixel{i}" for i in range(784))]
        pd.DataFrame(np.column_stack([labels, pixels]), columns=names).to_csv(tmp_path / name, index=False)
        found, read = mnist.load(tmp_path / name)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, pixels)
        np.testing.assert_array_equal(read, labels)
        # the same digits are the same digits, in whatever file they are
        half = mnist.halves(Inputs(mnist=tmp_path / name))
        assert (len(half.y_train), len(half.y_test)) == (3, 3)
        assert half.X_train.max() <= 1

    def test_openml_is_asked_for_the_digits_by_name(self, digits, monkeypatch):
        pixels, labels = digits
        asked = []

        def fetch(*arguments, **options):
            asked.append((arguments, options))
            return pixels.astype(float), labels.astype(str).astype(object)  # as OpenML has them

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
        found, read = mnist.load("openml")
        assert asked == [(("mnist_784",), {"version": 1, "as_frame": False, "return_X_y": True})]
        np.testing.assert_array_equal(found, pixels)
        np.testing.assert_array_equal(read, labels)

    def test_the_command_runs_the_digits_of_a_csv_file(self, digits, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(mnist, "N_DIGITS", 60)
        pixels, labels = np.tile(digits[0], (10, 1)), np.tile(digits[1], 10)
        file = tmp_path / "digits.csv"
        pd.DataFrame(np.column_stack([labels, pixels])).to_csv(file, index=False)
        with pytest.raises(SystemExit):
            main(["reproduce", "--only", "D11t", "--mnist", str(file), "--json"])
        claim = json.loads(capsys.readouterr().out)
        assert claim["claims"][0]["verdict"] == "measured"
        assert claim["provenance"]["mnist"]["shape"] == [70, 784]

    def test_the_picture_of_the_digits_shows_every_class_twice(self, digits, tmp_path, monkeypatch):
        monkeypatch.setattr(mnist, "N_DIGITS", 60)
        file = tmp_path / "digits.csv"
        pd.DataFrame(np.tile(np.column_stack([digits[1], digits[0]]), (10, 1))).to_csv(file, index=False)
        means, variances, *_ = mnist.figure(Inputs(mnist=file)).axes
        assert len(means.images) == len(variances.images) == len(set(digits[1]))
        assert means.images[0].get_array().shape == (28, 28)

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("5," + ",".join(["300"] * 784), "pixel of 300"),
            ("5," + ",".join(["-1"] * 784), "pixel of -1"),
            ("ten," + ",".join(["0"] * 784), "'ten'"),
            ("11," + ",".join(["0"] * 784), "label of 11"),
            ("5," + ",".join(["0"] * 783) + ",", "nan"),
        ],
    )
    def test_what_is_no_digit_is_refused(self, digits, tmp_path, line, reason):
        head = ",".join(["label", *(f"p{i}" for i in range(784))])
        file = tmp_path / "digits.csv"
        file.write_text("\n".join([head, *[line] * 7]) + "\n", encoding="utf-8")
        with pytest.raises(ValueError, match=reason):
            mnist.load(file)

    @pytest.mark.slow
    def test_both_published_accuracies(self, shared_data):
        report = reproduce(["D10", "D11"], mnist=shared_data / "mnist")
        assert [outcome.verdict for outcome in report.outcomes] == [Verdict.SAMPLED] * 2

    @pytest.mark.slow
    def test_smoothed_variances_are_numpys(self, shared_data):
        data = mnist.halves(Inputs(mnist=shared_data / "mnist"))
        X, y = data.X_train[:, 300:340], data.y_train
        for structure, reference in (
            ("diag", lambda Z: {"variance": Z.var(0) + 0.01}),
            ("full", lambda Z: {"covariance": np.cov(Z.T) + 0.01 * np.eye(40)}),
        ):
            fitted = bp.GenerativeClassifier(bp.Gaussian(structure)).fit(X, y)
            theta = mnist.smoothed(structure, fitted)
            for name, value in reference(X[y == 7]).items():
                assert theta[name][7] == pytest.approx(value, rel=1e-9)


class TestPriorsOfDigits:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(0)
        centres = rng.integers(0, 4, (3, 6)) * 60
        y = np.repeat(np.arange(3), 40)
        X = np.clip(centres[y] + rng.integers(-60, 60, (120, 6)), 0, 255) / 255
        return mnist.dequantised(study.Halves(X[::2], y[::2], X[1::2], y[1::2]), seed=1)

    def test_pixels_are_spread_over_their_grey_level_only(self):
        X = np.arange(256)[None, :] / 255
        spread = mnist.dequantised(study.Halves(X, np.zeros(1), X, np.zeros(1)), seed=0)
        assert (np.floor(spread.X_train * 256) == np.arange(256)).all()
        assert (spread.X_train != spread.X_test).all()

    @pytest.mark.parametrize("structure", ["diag", "full"])
    def test_the_prior_has_the_variance_it_says(self, structure):
        prior = mnist.prior(structure, np.zeros(3), strength=40.0, variance=0.03)
        belief = prior.sized((2, 3)).mean()
        value = belief["variance"] if structure == "diag" else np.einsum("kdd->kd", belief["covariance"])
        np.testing.assert_allclose(value, 0.03, rtol=1e-12)

    @pytest.mark.parametrize("structure", ["diag", "full"])
    def test_the_tuned_priors_are_the_best_of_the_grid_on_the_training_half(self, data, structure):
        fits = mnist.tune(structure, data)
        table = {(row["prior"], row["rule"]): row for row in mnist.rows_of(structure, data)}
        best = max(fits, key=lambda fit: fit["evidence"])
        row = table[f"tuned by evidence: {best['strength']:g} rows of variance {best['variance']:g}", "predictive"]
        p = best["classifier"].predict_proba(data.X_test)
        assert row["accuracy"] == pytest.approx((p.argmax(1) == data.y_test).mean())
        assert row["log score"] == pytest.approx(np.log(p[np.arange(60), data.y_test]).mean())
        assert len(table) == 7

    def test_a_table_has_a_line_per_row(self):
        row = {"covariance": "full", "prior": "a | b", "accuracy": 0.51234567, "log score": -1.0}
        assert markdown(pd.DataFrame([row])).splitlines()[-1] == "| full | a \\| b | 0.5123 | -1 |"


class TestFigures:
    @pytest.mark.slow
    def test_those_of_a_text_are_written_beside_its_report(self, tmp_path):
        written = reproduce(["D2"]).write(tmp_path)
        names = {name for name in figures.FIGURES if name.startswith("dake")}
        assert {path.name for path in written} == {"report.json", "report.md", *names}
        assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)

    @pytest.mark.parametrize("name", sorted(name for name in figures.FIGURES if not name.startswith("dake")))
    def test_every_figure_can_be_drawn(self, name):
        figure = figures.FIGURES[name][1](Inputs(0))
        assert all(ax.has_data() for ax in figure.axes)

    def test_every_text_that_has_figures_has_claims(self):
        texts = {text for of_texts, _ in figures.FIGURES.values() for text in of_texts.split()}
        assert texts <= {claim.source.split()[0] for claim in CLAIMS}

    def test_the_page_lists_every_figure_and_no_other(self):
        page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
        assert set(re.findall(r"`(\w+\.png)`", page)) == set(figures.FIGURES)

    def test_the_boundaries_drawn_are_the_roots(self):
        _, equal, unequal = figures.two_gaussians(Inputs(0)).axes
        for ax, weight in ((equal, 0.5), (unequal, 0.8)):
            drawn = [line.get_xdata()[0] for line in ax.lines]
            np.testing.assert_allclose(sorted(drawn), boundaries.analytic_roots(weight), rtol=1e-12)

    def test_the_linear_rule_moves_with_the_weights(self):
        for ax, weight in zip(figures.linear_rule(Inputs(0)).axes, (0.5, 0.7, 0.9, 0.2), strict=True):
            # (μ₁ + μ₂)/2 + σ² log(π₁/π₂)/(μ₂ − μ₁)
            assert ax.lines[0].get_xdata()[0] == pytest.approx(2.5 + 0.75 * np.log(weight / (1 - weight)))

    def test_masses_are_scipys(self):
        _, die, loan, words = figures.mass_functions(Inputs(0)).axes
        np.testing.assert_allclose(die.lines[0].get_ydata(), 1 / 6)
        for line, p in zip(loan.lines, (0.08, 0.001), strict=True):
            np.testing.assert_allclose(line.get_ydata(), binom.pmf(np.arange(20), 20, p), rtol=1e-10)
        np.testing.assert_allclose(words.lines[0].get_ydata(), binom.pmf(np.arange(11), 10, 0.3), rtol=1e-10)

    def test_the_ellipses_are_as_far_as_they_say(self):
        _, two = figures.distances(Inputs(0)).axes
        first = [line.get_xydata() for line in two.lines[:3]]
        precision = np.linalg.inv([[4.0, 2.4], [2.4, 2.0]])
        for radius, ring in zip((1, 2, 3), first, strict=True):
            np.testing.assert_allclose(np.einsum("nd,de,ne->n", ring, precision, ring), radius**2)


def test_the_fingerprint_of_the_digits_changes_with_one_pixel(monkeypatch):
    pixels, labels = np.zeros((3, 784), np.uint8), np.arange(3)
    monkeypatch.setattr(mnist, "load", lambda source: (pixels, labels))
    before = mnist.fingerprint("here")
    pixels[1, 7] = 1
    after = mnist.fingerprint("here")
    assert before["shape"] == after["shape"] == [3, 784]
    assert before["sha256"] != after["sha256"]
