"""Type checkers find misspelled arguments and methods, although the base classes of scikit-learn have no types."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from bayesppl import estimators
from bayesppl.estimators import sklearn_bases

FOLDER = Path(estimators.__file__).parent

MISTAKES = """\
import bayesppl as bp
bp.GaussianNB(rulle="map")
bp.GaussianNB(rule="mapp")
bp.LinearDiscriminantAnalysis(priorr="jeffreys")
bp.AutoClassifier(model=[])
bp.BinomialNB()
bp.MixedNB(integers="poison")
bp.TreeNB(rulle="map")
bp.GenerativeClassifier(bp.Bernoulli(prbability=bp.Beta()))
bp.PyMCClassifier(lable="y")
bp.GaussianNB().predict_probability([[1.0]])
bp.GaussianNB(rule="map").fit([[1.0], [2.0]], [0, 1]).predict_proba([[1.0]])
bp.GaussianNB().set_params(rule="map").get_params()
bp.LinearDiscriminantAnalysis().fit_transform([[1.0], [2.0]], [0, 1])
raise bp.errors.ImproperError(str(bp.ImproperError))
"""
RIGHT = 4


def test_estimators_take_the_bases_of_scikit_learn_from_the_file_that_types_them():
    for path in FOLDER.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "sklearn.base"
            for alias in node.names
        }
        assert path.stem == "sklearn_bases" or not {name for name in imported if name[0].isupper()}, path


def test_the_stub_describes_what_is_there():
    tree = ast.parse((FOLDER / "sklearn_bases.pyi").read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert {cls.name for cls in classes} == set(sklearn_bases.__all__)
    for cls in classes:
        for method in cls.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__sklearn_tags__":
                assert hasattr(getattr(sklearn_bases, cls.name), method.name), method.name


@pytest.mark.slow
def test_mypy_finds_every_mistake_and_nothing_else(tmp_path):
    file = tmp_path / "mistakes.py"
    file.write_text(MISTAKES, encoding="utf-8")
    options = ["--ignore-missing-imports", "--no-error-summary", f"--cache-dir={tmp_path}"]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(file)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    numbers = [int(line.removeprefix(str(file)).split(":")[1]) for line in lines]
    assert numbers == list(range(2, len(MISTAKES.splitlines()) + 1 - RIGHT)), done.stdout
