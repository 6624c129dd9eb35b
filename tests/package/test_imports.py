"""What is heavy is loaded when it is needed, and not before."""

import subprocess
import sys

import pytest

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
    ["import bayesppl", "import bayesppl.cli", FIT_EVERYTHING],
    ids=["import", "command line", "closed-form fits"],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_by(code) == []


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
