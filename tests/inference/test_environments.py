"""NUTS works, and draws the same, wherever Python runs: scripts, children, event loops, read-only homes."""

import asyncio
import hashlib
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import bayesppl as bp
from bayesppl.errors import ConvergenceWarning
from bayesppl.inference.progress import announce_if_slow, counted

SETTINGS = bp.NUTS(draws=500, tune=300, chains=2, random_state=3)
SCRIPT = """
import hashlib
import numpy as np
import bayesppl as bp

def digest(cores=2):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(30, 2)), np.array(list("abb"))[rng.integers(0, 3, size=30)]
    settings = bp.NUTS(draws=500, tune=300, chains=2, cores=cores, random_state=3)
    samples = bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=settings).fit(X, y).posterior_.samples
    return hashlib.sha256(b"".join(values.tobytes() for values in samples.values())).hexdigest()
"""
IN_CHILDREN = """
import multiprocessing
import sys
from script import digest

if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    print(digest())
    with multiprocessing.Pool(1) as pool:
        print(pool.apply(digest))
"""


def _digest(settings=SETTINGS):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(30, 2)), np.array(list("abb"))[rng.integers(0, 3, size=30)]
    samples = bp.BernoulliNB(bp.Beta(2.0, 0.7), inference=settings).fit(X, y).posterior_.samples
    return hashlib.sha256(b"".join(values.tobytes() for values in samples.values())).hexdigest()


def _run(folder, *arguments, **environment):
    """Output of a Python process; what it says on standard error is kept apart."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "unguarded.py").write_text(SCRIPT + "\nprint(digest())\n")
    (tmp_path / "children.py").write_text(IN_CHILDREN)
    return tmp_path


@pytest.mark.slow
def test_draws_do_not_depend_on_cores_or_an_event_loop():
    async def fit():
        return _digest()

    expected = _digest()
    assert _digest(replace(SETTINGS, cores=1)) == expected
    assert _digest(replace(SETTINGS, chains=2, cores=8)) == expected
    assert asyncio.run(fit()) == expected


@pytest.mark.slow
def test_an_unguarded_script_draws_the_same_with_a_cold_and_a_warm_cache(script):
    flags = f"base_compiledir={script / 'compiled'}"
    for _ in range(2):
        done = _run(script, "unguarded.py", PYTENSOR_FLAGS=flags)
        assert done.stdout.strip() == _digest()
        assert done.stderr == ""  # nobody watches


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_children_draw_the_same(script, method):
    assert _run(script, "children.py", method).stdout.split() == [_digest()] * 2


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["home", "flags"])
def test_caches_that_cannot_be_written_are_replaced_with_a_word(script, setting):
    """A file where a folder should be: that stops the superuser too."""
    (script / "file").write_text("")
    nowhere = str(script / "file" / "below")
    environment = {"PYTENSOR_FLAGS": f"floatX=float64,base_compiledir={nowhere}"}
    if setting == "home":
        environment = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTENSOR_FLAGS": ""}
    done = _run(script, "unguarded.py", NUMBA_CACHE_DIR=nowhere, MPLCONFIGDIR=str(script), **environment)
    assert done.stdout.strip() == _digest()
    assert "below" in done.stderr
    assert "set PYTENSOR_FLAGS=base_compiledir=... to a folder that lasts" in done.stderr


def test_words_come_where_somebody_waits_and_watches(monkeypatch, capsys):
    monkeypatch.setattr("bayesppl.inference.progress._SHORT", 0.01)
    with announce_if_slow("sampling", wanted=True):
        time.sleep(0.2)
    assert capsys.readouterr().err == "bayesppl: sampling ...\n"
    with announce_if_slow("sampling", wanted=False):
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("progressbar", "terminal", "expected"), [(None, False, 0), (None, True, 1), (False, True, 0)]
)
def test_compilation_is_announced_in_a_terminal(monkeypatch, capsys, progressbar, terminal, expected):
    """Where a function is not known yet, and has to be compiled; what is compiled here is left out."""
    from bayesppl.inference.pymc import model_density, native

    def compile_anew(key, source, name, signature, inner):
        return native.FUNCTIONS["expand"] if name == "expand" else inner()

    def draw(self, density, function):
        rng = np.random.default_rng(0)
        return rng.normal(size=(self.chains, self.draws, len(density.centre))), {}

    native.expand_function()
    monkeypatch.setattr(native, "_compiled", compile_anew)
    monkeypatch.setattr(model_density.Density, "_numba_function", lambda self: None)
    monkeypatch.setattr(bp.NUTS, "run", draw)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    _digest(replace(SETTINGS, progressbar=progressbar))
    assert capsys.readouterr().err.count("compiling this model for the first time") == expected


def test_steps_that_take_long_are_counted(monkeypatch, capsys):
    assert list(counted("ab", "fitting")) == ["a", "b"]
    monkeypatch.setattr("bayesppl.inference.progress._SHORT", -1.0)
    monkeypatch.setattr("bayesppl.inference.progress.is_watched", lambda: True)
    assert list(counted("ab", "fitting")) == ["a", "b"]
    assert capsys.readouterr().err == "bayesppl: fitting, 1 of 2 ...\nbayesppl: fitting, 2 of 2 ...\n"


def test_draws_by_gibbs_sampling_that_take_long_are_counted(monkeypatch, capsys):
    monkeypatch.setattr("bayesppl.inference.progress._SHORT", -1.0)
    monkeypatch.setattr("bayesppl.inference.progress.is_watched", lambda: True)
    gibbs = bp.Gibbs(draws=2, tune=1, chains=2, random_state=0)
    clf = bp.GenerativeClassifier(bp.families.MultivariateT(), inference=gibbs, rule="mean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        clf.fit([[0.0], [0.4], [0.9], [5.0], [5.2], [4.7]], [0, 0, 0, 1, 1, 1])
    assert capsys.readouterr().err.endswith("bayesppl: Gibbs sampling, chain 2 of 2, 3 of 3 ...\n")
