"""Tables of parameters fit a line of 80 characters without cutting a number."""

import re

import pytest

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
    assert max(map(len, tables)) <= 80
    lines = [line for line in tables if re.search(r"  -?[0-9]", line) and "%" not in line]
    assert len(lines) > 20
    for line in lines:
        assert all(NUMBER.fullmatch(cell) for cell in line.split()[-6:]), line


def test_names_that_need_the_room_have_a_table_for_every_class(run):
    _, out, _ = run("compare", "breast_cancer", "--parameters", "--draws", 40)
    assert "benign: mean" in out
    assert "mean fractal dimension  " in out
    assert "benign  " in out.split("class_weights")[1].split("benign: mean")[0]
