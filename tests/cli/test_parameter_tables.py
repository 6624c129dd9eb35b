"""Tables cut no number, and no name to that of another; they fit a line of 80 characters where that is enough."""

import re

import pytest

from bayesppl.cli.report import show
from bayesppl.cli.terminal import table

NUMBER = re.compile(r"-?[0-9.]+(e[-+][0-9]+)?|—")


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ("iris", "qda"),
        ("wine", "lda"),
        ("breast_cancer", "gaussian-nb"),
        *(
            pytest.param(data, model, marks=pytest.mark.slow)
            for data, model in (
                ("iris", "gaussian-nb"),
                ("iris", "lda"),
                ("wine", "gaussian-nb"),
                ("wine", "qda"),
                ("breast_cancer", "lda"),
                ("breast_cancer", "qda"),
            )
        ),
    ],
)
def test_every_number_is_whole(run, data, model):
    _, out, _ = run("compare", data, "--model", model, "--parameters", "--draws", 40)
    tables = out[out.index("class_weights") :].splitlines()
    assert max(map(len, tables)) <= 90
    lines = [line for line in tables if re.search(r"  -?[0-9]", line) and "%" not in line]
    assert len(lines) > 20
    for line in lines:
        assert all(NUMBER.fullmatch(cell) for cell in line.split()[-6:]), line


def test_names_that_need_the_room_have_a_table_for_every_class(run):
    _, out, _ = run("compare", "breast_cancer", "--parameters", "--draws", 40)
    assert "benign: mean" in out
    assert "mean fractal dimension  " in out
    assert "benign  " in out.split("class_weights")[1].split("benign: mean")[0]


def test_names_stay_apart(run):
    _, out, _ = run("compare", "wine", "--model", "lda", "--parameters", "--draws", 40)
    lines = out[out.index("covariance (each pair") :].splitlines()[3:43]
    pairs = [tuple(re.split(r"  +", line)[:2]) for line in lines]
    assert len(set(pairs)) == len(pairs) == 40


def test_narrow_terminals_cut_no_number(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a terminal
    numbers = [f"{i}.123456" for i in range(3)]
    show(
        [
            table("scores", {"rule": ["mle", "map", "mean"]}, dict.fromkeys(("a", "b", "c", "d"), numbers)),
            "x" * 40,
        ],
        [],
    )
    out = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert out.count("1.123456") == 4
    assert "x" * 31 not in out
