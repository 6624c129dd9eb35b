"""Labels and levels that are written like numbers, but would be written otherwise as such, are text."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesppl as bp
from bayesppl.cli import file_rows as rows_of_files

TEXTS = {
    "leading zeros": ["01", "1", "02", "2"],
    "postal codes": ["01234", "1234", "20099", "80331"],
    "versions": ["1.1", "1.10", "1.2", "1.3"],
    "exponents": ["1e3", "1000", "7", "8"],
}
NUMBERS = {
    "codes": ["1", "2", "3", "40"],
    "fractions": ["0.5", "1.5", "-2.25", "10.125"],
    "whole fractions": ["1.0", "2.0", "3.0", "4.0"],
    "signs": ["+1", "-1", "+2", "3"],
}


@pytest.fixture(params=[1 << 15, 16])
def batch_rows(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_of_files, "BATCH_ROWS", request.param)


def rows(cells: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 40)
    code = np.array(cells)[(y + rng.integers(0, 3, 80)) % 4]
    return pd.DataFrame({"code": code, "size": rng.normal(y).round(3), "kind": np.array(["u", "v"])[y]})


@pytest.mark.usefixtures("batch_rows")
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("leading zeros", "kind"),
        ("postal codes", "code"),
        ("versions", "kind"),
        ("exponents", "code"),
        *(
            pytest.param(name, target, marks=pytest.mark.slow)
            for name, target in (("leading zeros", "code"), ("postal codes", "kind"), ("exponents", "kind"))
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*written as text")  # of versions, which are meant
def test_they_are_read_as_text(run: Any, tmp_path: Any, name: str, target: str) -> None:
    cells = TEXTS[name]
    frame = rows(cells)
    frame.to_csv(tmp_path / "t.csv", index=False)
    if target == "kind":
        options = ["--model", "mixed-nb", "--categorical", "code"]
    else:
        options = ["--model", "gaussian-nb", "--drop", "kind"]
    status, _, err = run("fit", tmp_path / "t.csv", "--target", target, *options, "--save", tmp_path / "m.nc")
    assert status == 0, err
    clf = bp.load(tmp_path / "m.nc")
    if target == "kind":
        expected = bp.MixedNB().fit(frame[["code", "size"]], frame["kind"])
        assert list(clf.levels_of_columns()["code"])[:4] == sorted(cells)
    else:
        expected = bp.GaussianNB().fit(frame[["size"]], frame["code"])
        assert clf.classes_.tolist() == sorted(cells)
    X = frame[clf.feature_names_in_.tolist()]
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    X.to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", tmp_path / "m.nc", tmp_path / "new.csv", "-o", tmp_path / "p.csv")[0] == 0
    written = pd.read_csv(tmp_path / "p.csv", dtype={"predicted": str})
    assert written["predicted"].tolist() == clf.predict(X).tolist()
    assert [f"p({label})" for label in clf.classes_] == list(written.columns[1:])


@pytest.mark.usefixtures("batch_rows")
@pytest.mark.parametrize("cells", NUMBERS.values(), ids=NUMBERS)
def test_other_numbers_are_numbers(run: Any, tmp_path: Any, cells: list[str]) -> None:
    frame = rows(cells)
    frame.to_csv(tmp_path / "t.csv", index=False)
    options = ["--model", "mixed-nb", "--categorical", "code", "--save", tmp_path / "m.nc"]
    status, _, err = run("fit", tmp_path / "t.csv", "--target", "kind", *options)
    assert status == 0, err
    levels = list(bp.load(tmp_path / "m.nc").levels_of_columns()["code"])
    assert levels[:4] == sorted(map(float, cells))
    assert not any(isinstance(level, str) for level in levels[:4])


def test_marks_of_decimals_and_thousands_are_no_codes(run: Any, tmp_path: Any) -> None:
    frame = rows(["1,5", "2_000", "0,25", "3"])
    frame["size"] = frame["size"].astype(str).str.replace(".", ",")
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    options = ["--model", "mixed-nb", "--categorical", "code", "--sep", ";", "--decimal", ",", "--thousands", "_"]
    assert run("fit", tmp_path / "t.csv", "--target", "kind", *options, "--save", tmp_path / "m.nc")[0] == 0
    assert list(bp.load(tmp_path / "m.nc").levels_of_columns()["code"])[:4] == [0.25, 1.5, 3, 2000]


def test_compare_counts_them_apart(run: Any, tmp_path: Any) -> None:
    rows(TEXTS["leading zeros"]).to_csv(tmp_path / "t.csv", index=False)
    options = ["--model", "mixed-nb", "--categorical", "code"]
    status, out, err = run("compare", tmp_path / "t.csv", "--target", "kind", *options)
    assert status == 0, err
    [line] = [line for line in out.splitlines() if line.strip().startswith("code ")]
    assert " 4 " in line


@pytest.mark.parametrize("model", ["mixed-nb", "categorical-nb"])
def test_compare_learns_levels_from_the_training_rows_only(run: Any, tmp_path: Any, model: str) -> None:
    frame = rows(["p", "q", "r", "s"]).drop(columns="size")
    frame.loc[::9, "code"] = [f"rare {i}" for i in range(len(frame.loc[::9]))]
    frame.to_csv(tmp_path / "t.csv", index=False)
    scores = []
    for options in ([], ["--categorical", "code"]):
        status, out, _ = run(
            "compare", tmp_path / "t.csv", "--target", "kind", "--model", model, "--json", *options
        )
        assert status == 0
        scores.append(json.loads(out)["scores"])
    assert scores[0] == scores[1]
