"""What is heavy is loaded when it is needed, and not before."""

import subprocess
import sys

import pytest

HEAVY = ("pymc", "arviz", "pytensor", "numba", "matplotlib", "nutpie")

FIT_EVERYTHING = """
import numpy as np, bayesppl as bp
rng = np.random.default_rng(0)
X, y = rng.integers(0, 2, (40, 3)).astype(float), np.arange(40) % 2
families = [
    getattr(bp, name) for name in bp.__all__
    if isinstance(getattr(bp, name), type) and issubclass(getattr(bp, name), bp.GaussianNB.__bases__[0])
]
assert len(families) >= 5, families
for estimator in families:
    if estimator is bp.GenerativeClassifier:
        clf = estimator(bp.Bernoulli())
    else:
        try:
            clf = estimator()
        except TypeError:
            continue  # needs a declaration of its own
    clf.fit(X, y).predict(X)
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
        "import sys\nfrom bayesppl.cli import main\ntry:\n    main(['compare', '--help'])\nexcept SystemExit: pass\n"
        "print(*[name for name in ('numpy', 'scipy', 'sklearn', 'pandas') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
    assert "--target" in done.stdout


def test_every_public_name_exists():
    import bayesppl as bp

    for name in bp.__all__:
        assert getattr(bp, name) is not None
    assert set(bp.__all__) <= set(dir(bp))


def test_an_unknown_name_is_refused():
    import bayesppl as bp

    with pytest.raises(AttributeError, match="no attribute 'RandomForest'"):
        bp.RandomForest  # noqa: B018
