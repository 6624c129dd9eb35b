"""What is heavy is loaded when it is needed, and not before."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

HEAVY = ("pymc", "arviz", "pytensor", "numba", "matplotlib", "nutpie")

FIT_EVERYTHING = """
import numpy as np, bayesppl as bp
from bayesppl.estimators.classifier import BayesClassifier

X, y = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float), np.arange(40) % 2
declared = {"GenerativeClassifier": [bp.Bernoulli()], "BinomialNB": [3]}  # what needs a declaration of its own
public = {name: getattr(bp, name) for name in bp.__all__}
estimators = {n: c for n, c in public.items() if isinstance(c, type) and issubclass(c, BayesClassifier)}
del estimators["PyMCClassifier"]  # fits a model that is written in PyMC
assert len(estimators) >= 7, estimators
for name, estimator in estimators.items():
    clf = estimator(*declared.get(name, []))
    if name == "LocationModel":  # which needs columns of both kinds
        clf.set_params(categories=[0])
    clf.fit(X, y)
    for rule in ("mle", "map", "mean", "predictive"):
        if name != "TreeNB" or rule == "predictive":  # no estimate is a single tree
            clf.predict(X, rule=rule)
    clf.log_evidence()
"""


def loaded_by(code: str) -> list[str]:
    check = f"import sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    "code",
    ["import bayesppl.cli", FIT_EVERYTHING],
    ids=["command line", "closed-form fits"],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_by(code) == []


WITHOUT_THE_REST = """
import sys, tempfile
sys.modules.update(dict.fromkeys(LEFT_OUT))  # importing one of these is an ImportError now
import numpy as np, bayesppl as bp
from bayesppl.datasets import load
from bayesppl.kernels import numba_loops

X, y = load("iris")
train = X.index % 2 == 0
for clf in (bp.GaussianNB(), bp.MixedNB(columns="evidence")):
    assert clf.fit(X[train], y[train]).score(X[~train], y[~train]) > 0.9
bp.AutoClassifier().fit(X[::6], y[::6]).predict(X)
clf = bp.LinearDiscriminantAnalysis().fit(X[train], y[train])
result = bp.compare(clf, X[train], y[train], X[~train], y[~train])
assert set(result.scores["rule"].values) >= {"mle", "predictive"}
clf.loo(), clf.summary(), clf.estimates(), clf.log_evidence(), clf.explain(X[:1])
clf.predict_proba_interval(X[:1], random_state=0)
numba_loops.PRICE = numba_loops.PRICE_IF_LOADED = 0  # numba's turn, and it is not there
np.testing.assert_array_equal(clf.predict_proba(X), clf.predict_proba(X))
with tempfile.TemporaryDirectory() as folder:
    clf.save(f"{folder}/model")
    np.testing.assert_array_equal(bp.load(f"{folder}/model").predict_proba(X), clf.predict_proba(X))
"""


def test_fit_predict_and_compare_need_only_what_the_installation_page_calls_the_core():
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    (core,) = re.findall(r"^pip install (numpy.*)$", page, re.M)
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {Requirement(line).name for line in required}
    assert set(core.split()) < names
    brought_by_joblib = {"cloudpickle"}
    others = names - set(core.split()) - brought_by_joblib
    left_out = sorted(others | {"h5py", "llvmlite", "arviz_stats", "arviz_base"})
    code = WITHOUT_THE_REST.replace("LEFT_OUT", repr(left_out))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_fit_of_an_array_loads_nothing_of_scikit_learn_but_its_base():
    code = (
        "import sys, numpy as np, sklearn.base\n"
        "before = set(sys.modules)\n"
        "import bayesppl as bp\n"
        "X, y = np.random.default_rng(0).standard_normal((150, 4)), np.arange(150) % 3\n"
        "for name in ('GaussianNB', 'LinearDiscriminantAnalysis', 'QuadraticDiscriminantAnalysis'):\n"
        "    getattr(bp, name)().fit(X, y).predict_proba(X)\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bayesppl" in done.stdout.split()
    assert not {"sklearn", "rich", "duckdb", "xarray"} & set(done.stdout.split())


def test_help_loads_no_numerics():
    code = (
        "import sys\nfrom bayesppl.cli import main\ntry:\n    main(['compare', '--help'])\nexcept SystemExit: "
        "pass\n"
        "print(*[name for name in ('numpy', 'scipy', 'sklearn', 'pandas') if name in sys.modules], "
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    assert "--target" in done.stdout


def test_every_public_name_exists():
    import bayesppl as bp

    for name in bp.__all__:
        assert getattr(bp, name) is not None
    assert set(bp.__all__) <= set(dir(bp))


@pytest.mark.slow
def test_priors_are_loaded_on_first_use():
    code = (
        "import sys, bayesppl as bp\n"
        "assert 'bayesppl.priors' not in sys.modules\n"
        "assert bp.priors.Beta is bp.Beta and 'bayesppl.priors' in sys.modules"
    )
    assert loaded_by(code) == []


def test_an_unknown_name_is_refused():
    import bayesppl as bp

    with pytest.raises(AttributeError, match="module 'bayesppl' has no attribute 'RandomForest'"):
        bp.RandomForest  # noqa: B018
